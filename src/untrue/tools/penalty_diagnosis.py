"""What to know about a penalty before training by it: `untrue penalty check`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from untrue.array_types import FloatArray
from untrue.errors import listed
from untrue.penalty import Penalty, RulesPenalty, TreePenalty
from untrue.penalty.dense import off_diagonal

# Up to here a k x k matrix is small beside everything else (32 MB).
SMALL = 2000
# Beyond this ratio of the greatest to the least cost, the least hardly counts in a gradient.
WIDE_SCALE = 1000.0
# Asymmetric pairs that are listed.
MOST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class AsymmetricPair:
    """Predicting `predicted` for `true` costs `there`, the other way round only `back`."""

    true: str
    predicted: str
    there: float
    back: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A penalty, looked at.

    least, greatest   of the costs of mistakes that cost something
    mean              cost of a mistake drawn at random from all kinds
    free_mistakes     how many kinds of mistake cost nothing, of k (k - 1); None: too many classes
    free_classes      classes that cost nothing to predict
    asymmetric        the most asymmetric pairs, most first; there are `n_asymmetric` in all
    constant          (class, expected cost of always predicting it) with all classes equally
                      frequent, cheapest first
    remarks           what is likely to disappoint, in sentences
    """

    n_classes: int
    form: str
    least: float
    greatest: float
    mean: float
    free_mistakes: int | None
    free_classes: tuple[str, ...]
    asymmetric: tuple[AsymmetricPair, ...]
    n_asymmetric: int | None
    constant: tuple[tuple[str, float], ...]
    remarks: tuple[str, ...]


def diagnose(penalty: Penalty) -> Diagnosis:
    """Look at a penalty."""
    k = penalty.n_classes
    uniform = np.full((1, k), 1.0 / k)
    constant = penalty.expected(uniform)[0]
    order = np.argsort(constant, kind="stable")
    matrix = penalty.matrix() if k <= SMALL else None
    off = off_diagonal(matrix) if matrix is not None else None
    pairs = _asymmetric_pairs(penalty, matrix)
    found = Diagnosis(
        n_classes=k,
        form=penalty.form,
        least=penalty.cheapest,
        greatest=float(penalty.greatest),
        # A uniform truth and a uniform answer: right once in k, which costs nothing.
        mean=float(constant.mean() * k / (k - 1)) if k > 1 else 0.0,
        free_mistakes=None if off is None else int((off == 0).sum()),
        free_classes=penalty.free_classes(),
        asymmetric=() if pairs is None else pairs[:MOST_PAIRS],
        n_asymmetric=None if pairs is None else len(pairs),
        constant=tuple((penalty.classes[j], float(constant[j])) for j in order.tolist()),
        remarks=(),
    )
    return replace(found, remarks=_remarks(found))


def _asymmetric_pairs(
    penalty: Penalty, matrix: FloatArray | None
) -> tuple[AsymmetricPair, ...] | None:
    """All asymmetric pairs, most asymmetric first; None where looking would need k x k numbers."""
    if matrix is not None:
        i, j = np.nonzero(np.triu(matrix != matrix.T))
    elif isinstance(penalty, RulesPenalty) and np.ptp(penalty.default) == 0:
        both = np.sort(np.stack([penalty.true, penalty.predicted], axis=1), axis=1)
        i, j = np.unique(both, axis=0).T
    elif isinstance(penalty, TreePenalty) and np.ptp(penalty.row_scale) == 0:
        return ()
    else:
        return None
    there, back = penalty.cost(i, j), penalty.cost(j, i)
    swap = there < back
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    gap = np.abs(there - back)
    order = [n for n in np.argsort(-gap, kind="stable").tolist() if gap[n] > 0]
    high, low, names = np.maximum(there, back), np.minimum(there, back), penalty.classes
    return tuple(
        AsymmetricPair(names[i[n]], names[j[n]], float(high[n]), float(low[n])) for n in order
    )


def _remarks(found: Diagnosis) -> tuple[str, ...]:
    remarks = []
    if found.greatest == 0:
        remarks.append("No mistake costs anything: training by it is plain cross-entropy.")
    elif found.free_classes:
        remarks.append(
            f"Predicting {listed(found.free_classes)} never costs anything: at a high alpha "
            "training may end up predicting nothing else, and a decision by least expected cost "
            "will. Give those mistakes some cost, or keep alpha below .9."
        )
    elif found.constant[0][1] < 0.2 * found.constant[found.n_classes // 2][1]:
        name, cost = found.constant[0]
        remarks.append(
            f"Always predicting {name!r} costs only {cost:g} per answer when all classes are "
            "equally frequent, far less than other constants: look for it in the predictions."
        )
    if found.least > 0 and found.greatest / found.least > WIDE_SCALE:
        remarks.append(
            f"The costliest mistake costs {found.greatest / found.least:,.0f} times the cheapest: "
            "the cheap ones will hardly count."
        )
    if found.greatest > 0 and not 0.1 <= found.mean <= 10:
        remarks.append(
            f"A mistake costs {found.mean:g} on average, far from 1, which shifts what a given "
            "alpha means; `normalized('max')` or a common factor brings the scale back."
        )
    return tuple(remarks)
