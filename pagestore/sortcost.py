"""What numbering a store's vertices by degree took, in an extended attribute of its file.

Seconds can't stand in the store itself: its bytes follow from edges and options alone, so that a resumed conversion
gives the same file. The attribute goes where the file goes by rename, `cp -a`, `rsync -X` and the like; a store that
lost it, or whose file system takes none, says nothing.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ATTRIBUTE = "user.gstream.sort"


@dataclass(frozen=True)
class SortCost:
    """Seconds of wall clock. sort_seconds: finding every vertex's place (paper 000, 4.1: "the degree sort");
    renumber_seconds: sorting the edges again under their new numbers, 0 where the sort was off."""

    sort_seconds: float
    renumber_seconds: float

    def keep(self, path: str | os.PathLike) -> None:
        """Note it with the store at `path`, where the file system has room for that."""
        try:
            os.setxattr(path, ATTRIBUTE, json.dumps(asdict(self)).encode())
        except OSError:
            pass  # a figure less in `gstream info`; the store is whole


def read_sort_cost(path: str | os.PathLike) -> SortCost | None:
    """What is noted with the store at `path`; None where nothing is, or nothing that can be read."""
    try:
        found = json.loads(os.getxattr(Path(path), ATTRIBUTE))
        cost = SortCost(**{entry.name: float(found[entry.name]) for entry in fields(SortCost)})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    seconds = (cost.sort_seconds, cost.renumber_seconds)
    return cost if all(math.isfinite(each) and each >= 0 for each in seconds) else None
