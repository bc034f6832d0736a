"""Which vertices the graph has and what the user calls them (architecture, section 7), also for --resume."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pagestore.convert.presence import ids_of_table
from pagestore.convert.scan import Scan, Tally
from pagestore.convert.storage import save_array
from pagestore.convert.workfolder import WorkFolder
from pagestore.errors import InputError

ID_WINDOW = 1 << 20


@dataclass
class Identity:
    """`vertices` dense IDs 0..V-1. A chunk's ID becomes dense by its rank in `table`, or by subtracting `base`.

    `kind`: "range" (user ID = id_base + dense), "integers" (`ids`, or the table's IDs) or "strings" (`names`).
    """

    vertices: int
    base: int
    table: np.ndarray | None
    kind: str
    id_base: int = 0
    ids: Any = None
    names: Any = None

    def user_ids(self) -> Iterator[np.ndarray]:
        """Int64 arrays of all user IDs, ascending (kind "integers")."""
        if self.ids is None:
            assert self.table is not None
            yield from ids_of_table(self.table)
            return
        for first in range(0, self.vertices, ID_WINDOW):
            yield np.asarray(self.ids[first : first + ID_WINDOW], np.int64)

    def digest(self) -> str:
        """Hash of the names of all vertices, for the store's UUID."""
        text = hashlib.sha256(f"{self.kind} {self.vertices} {self.id_base}".encode())
        if self.kind == "integers":
            for window in self.user_ids():
                text.update(np.ascontiguousarray(window, "<i8").data)
        elif self.kind == "strings":
            for first in range(0, len(self.names.data), ID_WINDOW):
                text.update(np.ascontiguousarray(self.names.data[first : first + ID_WINDOW]).data)
        return text.hexdigest()


def given_identity(source: Any, vertices: int, id_base: int) -> Identity:
    """The vertices that a header, --num-vertices or a dictionary promised."""
    if getattr(source, "names", None) is not None:
        return Identity(vertices, 0, None, "strings", names=source.names)
    if getattr(source, "ids", None) is not None:
        ids = source.ids
        if vertices and int(ids[-1]) - int(ids[0]) == vertices - 1:
            return Identity(vertices, 0, None, "range", id_base=int(ids[0]))
        return Identity(vertices, 0, None, "integers", ids=ids)
    return Identity(vertices, id_base, None, "range", id_base=id_base)


def found_identity(scan: Scan) -> Identity:
    """The vertices that occur in edges and in the vertex file."""
    presence, least, most = scan.presence, scan.tally.min_id, scan.tally.max_id
    assert presence is not None
    if most < 0:
        return Identity(0, 0, None, "range")
    count = presence.count(most + 1)
    if count == most - least + 1:
        return Identity(count, least, None, "range", id_base=least)
    return Identity(count, 0, presence.table(most + 1), "integers")


def check_range(source: Any, tally: Any, identity: Identity) -> None:
    """Raise InputError when an edge names a vertex outside the promised range."""
    first, last = identity.base, identity.base + identity.vertices - 1
    for found in (tally.min_id, tally.max_id):
        if tally.edges and not first <= found <= last:
            raise InputError(
                f"{source.name}: an edge names vertex {found}; the {identity.vertices} vertices promised run from "
                f"{first} to {last}. Correct the file's header or --num-vertices."
            )


def save_scan(work: WorkFolder, tally: Tally, identity: Identity, spill: list | None, compacted: bool) -> None:
    """Note the scan in the manifest. `spill`: segments of the spill log; `compacted`: a dictionary made IDs dense."""
    save_array(work.file("counts.npy"), tally.counts)
    if identity.table is not None:
        save_array(work.file("table.npy"), identity.table)
    if compacted and identity.ids is not None:
        save_array(work.file("ids.npy"), np.asarray(identity.ids))
    numbers = {entry.name: getattr(tally, entry.name) for entry in fields(Tally) if entry.name != "counts"}
    work.manifest["scan"] = {
        "tally": numbers,
        "identity": [identity.vertices, identity.base, identity.kind, identity.id_base],
        "table": identity.table is not None,
        "spill": spill,
        "compacted": compacted,
    }
    work.save()


def restore_scan(work: WorkFolder, source: Any, first_shuffle: str) -> tuple[Tally, Identity, list | None] | None:
    """Tally, identity and the spill log's segments of an earlier run, None when the scan has to be done (again)."""
    saved = work.manifest.get("scan")
    if saved is None:
        return None
    dealt = "sizes" in work.manifest.get("shuffles", {}).get(first_shuffle, {})
    if saved["compacted"] and not dealt:
        return None  # the dictionary's dense edges are gone
    tally = Tally(**saved["tally"], counts=np.load(work.file("counts.npy")))
    vertices, base, kind, id_base = saved["identity"]
    identity = Identity(vertices, base, None, kind, id_base)
    if saved["table"]:
        identity.table = np.load(work.file("table.npy"))
    elif kind == "strings":
        identity.names = source.names
    elif kind == "integers":
        identity.ids = np.load(work.file("ids.npy"), mmap_mode="r") if saved["compacted"] else source.ids
    return tally, identity, saved["spill"]
