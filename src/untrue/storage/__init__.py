"""Results in one SQLite file: what is in it survives a kill or a power cut, and damage is found.

An `Entry` has a kind, a key, a label for people, facts (plain JSON) and arrays, and is written
whole or not at all. Each carries a checksum: an entry with a damaged cell comes back as `Damaged`,
never as a wrong answer. `repair` drops those. The runs of the lab and what `untrue tune` has
trained are entries of such files. No torch, no pickle.
"""

from __future__ import annotations

from untrue.storage.database import Storage, StorageError
from untrue.storage.entries import Damaged, Entry, entry_id
from untrue.storage.lock import locked, owner
from untrue.storage.repairing import Repaired, repair

__all__ = [
    "Damaged",
    "Entry",
    "Repaired",
    "Storage",
    "StorageError",
    "entry_id",
    "locked",
    "owner",
    "repair",
]
