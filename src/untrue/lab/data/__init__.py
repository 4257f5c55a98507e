"""Data sets by name: built in, from files, or downloaded with their checksums held.

>>> data = load("mnist-5k")
>>> data.train_images.shape, data.test_images.shape
((4000, 1, 28, 28), (1000, 1, 28, 28))
"""

from __future__ import annotations

from untrue.lab.data.dataset import Dataset, load
from untrue.lab.data.facts import DatasetFacts, facts
from untrue.lab.data.inventory import DatasetCheck, LocalDataset, check, get, listing
from untrue.lab.data.sources import IMAGES, NAMES, TABLES

__all__ = [
    "IMAGES",
    "NAMES",
    "TABLES",
    "Dataset",
    "DatasetCheck",
    "DatasetFacts",
    "LocalDataset",
    "check",
    "facts",
    "get",
    "listing",
    "load",
]
