"""Which store a rank opens: its own part of a graph in parts, else the one that all ranks read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gstream.devices.ranks import Ranks
from pagestore import Store, open_store
from pagestore.errors import StoreError, UsageError
from pagestore.manifest import is_parts
from pagestore.parts import open_part


def open_for(path: str | os.PathLike, folders: Sequence[str | os.PathLike], ranks: Ranks | None) -> Store:
    """The store of this rank, or of a process that works alone. Raises as open_store and open_part do."""
    if ranks is not None and is_parts(path):
        part = open_part(path, ranks.rank, ranks.size)
        part.call(os.fspath(path))
        return part
    return open_store(path, folders)


def check_store(store: Store, ranks: Ranks | None) -> None:
    """Raise UsageError for a part that stands alone, or is not this rank's; StoreError where ranks have stores of
    different graphs. All ranks make this call."""
    meta, path = store.meta, store.path
    if ranks is None:
        if meta.parts:
            raise UsageError(
                f"{path}: is part {meta.part} of {meta.parts}. Run all of them: mpiexec -n {meta.parts} gstream run "
                f"ALGORITHM {os.path.dirname(path) or '.'}. Or take the store that was split."
            )
        return
    opened = ranks.everybody((meta.uuid, meta.vertices, meta.edges, meta.parts, meta.part))
    expected = (*opened[0][:3], ranks.size if meta.parts else 0)
    for rank, found in enumerate(opened):
        if found[:4] != expected or found[4] != (rank if meta.parts else 0):
            raise StoreError(
                f"{path}: rank {rank} has another store, or another part of it, than rank 0. Give all ranks one store, "
                "or the folder that gstream split made."
            )
