"""Adapters of frameworks hold no doctests, and `make test` does not install what they import.

The programs that the tests of frameworks start hold none either, and choose a backend when started.
"""

collect_ignore = [
    *(
        f"src/untrue/{name}.py"
        for name in ("jax", "keras", "lightning", "torchmetrics", "transformers")
    ),
    *(
        f"tests/frameworks/{name}.py"
        for name in ("keras_program", "two_process_lightning", "two_process_metrics", "ray_cluster")
    ),
]
