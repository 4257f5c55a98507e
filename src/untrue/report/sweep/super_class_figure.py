"""Confusion matrices with the classes of a super-class beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from untrue.lab.records import DatasetInfo
from untrue.report.document.confusion_figure import ConfusionFigure, Panel


def super_class_figure(
    info: DatasetInfo, title: str, see: str, panels: Iterable[Panel]
) -> ConfusionFigure:
    """The super-classes are outlined: blocks on the diagonal. panels: by the classes of `info`."""
    order = [index for _, members in info.groups for index in members]
    square = np.ix_(order, order)
    group = info.group_of()[order]
    starts = accumulate((len(members) for _, members in info.groups), initial=0)
    return ConfusionFigure(
        title=title,
        see=see,
        classes=tuple(info.classes[index] for index in order),
        panels=tuple(Panel(panel.title, panel.values[square]) for panel in panels),
        zone=group[:, None] == group[None, :],
        zone_name="right super-class",
        unit="test images",
        blocks=tuple(
            (name, start, start + len(members))
            for (name, members), start in zip(info.groups, starts, strict=False)
        ),
    )
