"""Class names in files turned into positions in the list of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError, nearest
from untrue.metrics.inputs import IntArray
from untrue.tools.reading.tables import listed, where

# How a prediction says that it gives none; `untrue predict --abstain-cost` writes it.
ABSTAINED = "(abstained)"


@dataclass(frozen=True, slots=True)
class LabelReader:
    """Knows the classes, and whether a file has their names or their positions."""

    classes: tuple[str, ...]
    by_position: bool = False

    @classmethod
    def for_labels(cls, classes: Sequence[str], labels: Iterable[str]) -> LabelReader:
        """Positions are meant when every label is one ("0" to "k - 1") and none is a name."""
        known = set(classes)
        given = [label for label in labels if label != ABSTAINED]
        numbered = bool(given) and all(
            label not in known and label.isascii() and label.isdigit() and int(label) < len(classes)
            for label in given
        )
        return cls(tuple(classes), numbered)

    def positions(
        self,
        codes: npt.NDArray[np.int32],
        labels: Sequence[str],
        *,
        column: str,
        source: str,
        may_abstain: bool = False,
    ) -> IntArray:
        """The class of each row, (N,); -1 where it abstains. An unknown label is an error."""
        position = {name: i for i, name in enumerate(self.classes)}
        found = np.empty(len(labels), dtype=np.int64)
        for code, label in enumerate(labels):
            if self.by_position:
                found[code] = -1 if label == ABSTAINED else int(label)
            elif label in position:
                found[code] = position[label]
            elif label == ABSTAINED and may_abstain:
                found[code] = -1
            else:
                row = int(np.argmax(codes == code))
                hint = nearest(label, self.classes) or f"; known are {listed(self.classes)}."
                raise DataError(
                    f"{source}: {where(row, column)} holds an unknown label {label!r}{hint}"
                )
        return found[codes]
