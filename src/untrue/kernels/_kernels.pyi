"""The extension: addresses and sizes in, numbers out. Sizes and types are the caller's to check."""

def loss(
    logits: int,
    target: int,
    gradient: int,
    weight: int,
    value: int,
    n: int,
    k: int,
    ignore_index: int,
    threads: int,
    is_double: bool,
    costs_double: bool,
    is_log: bool,
    alpha: float,
    smoothing: float,
    scale: float,
    reduction: str,
    form: int,
    costs: tuple[int, ...],
    /,
) -> None: ...
def newton(
    scores: int,
    target: int,
    costs: int,
    weight: int,
    gradient: int,
    bound: int,
    n: int,
    k: int,
    threads: int,
    by_example: bool,
    is_log: bool,
    alpha: float,
    scale: float,
    least: float,
    /,
) -> None: ...
def total_weight(target: int, n: int, k: int, ignore_index: int, weight: int, /) -> float: ...
def number(address: int, is_double: bool, /) -> float: ...
def exponential(source: int, result: int, n: int, precision: int, /) -> None: ...
def minus_log1m(source: int, result: int, n: int, precision: int, /) -> None: ...
def instruction_sets() -> list[str]: ...
def use(name: str, /) -> None: ...
def join_team(address: int, /) -> None: ...
