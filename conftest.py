"""Adapters of frameworks that `make test` does not install have no doctests to collect."""

from importlib.util import find_spec

FRAMEWORKS = {"torchmetrics": "torchmetrics"}

collect_ignore = [
    f"src/untrue/{adapter}.py"
    for adapter, framework in FRAMEWORKS.items()
    if find_spec(framework) is None
]
