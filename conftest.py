"""Adapters of frameworks hold no doctests, and `make test` does not install what they import."""

collect_ignore = [
    f"src/untrue/{name}.py"
    for name in ("jax", "keras", "lightning", "torchmetrics", "transformers")
]
