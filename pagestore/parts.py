"""Opening a graph in parts: a rank its own part, or all parts as one store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from pagestore.errors import StoreError, UsageError, plain
from pagestore.manifest import Manifest, is_parts, read_manifest
from pagestore.meta import REBUILD
from pagestore.spread import Spread
from pagestore.store import Store, open_store
from pagestore.stripes import Stripe
from pagestore.topology import open_topology


class JoinedStore(Store):
    """All parts as one store: arrays are those of the first, pages lie in all. parts: the open stores."""

    def __init__(self, path: str, parts: list[Store]) -> None:
        first = parts[0]
        vars(self).update(vars(first))
        spread = Spread(first.meta.parts, first.meta.part_stretch, mixed=False)
        self.call(path)
        self.parts = parts
        self.meta = replace(first.meta, part=0, parts=0, part_stretch=0)
        self.stripes = [Stripe(part.file, part.extents, part.file_bytes) for part in parts]
        self.file_bytes = sum(part.file_bytes for part in parts)
        self._topologies = {
            name: open_topology(path, name, self.meta, self._arrays, self.stripes, self._ids.names, spread)
            for name in self.meta.topologies
        }


def open_whole(path: str | os.PathLike, stripes: Sequence[str | os.PathLike] = ()) -> Store:
    """The store at `path`, or all parts of the folder there as one store. Raises as open_store does."""
    if not is_parts(path):
        return open_store(path, stripes)
    name, manifest, parts = os.fspath(path), read_manifest(path), list[Store]()
    try:
        for number in range(len(manifest.parts)):
            parts.append(_open_part(name, manifest, number))
        return JoinedStore(name, parts)
    except BaseException:
        for part in parts:
            part.close()
        raise


def open_part(path: str | os.PathLike, number: int, parts: int) -> Store:
    """Part `number` of the folder at `path`, for one of `parts` ranks.

    Raises UsageError where the graph is in another number of parts; StoreError where the part is missing, damaged or of
    another split.
    """
    manifest, shown = read_manifest(path), plain(os.fspath(path))
    count = len(manifest.parts)
    if count != parts:
        raise UsageError(
            f"{shown}: is a graph in {count} parts, and there are {parts} ranks. Start {count}, or split it again: "
            f"gstream split {plain(manifest.source)} {shown} --parts {parts} --force."
        )
    return _open_part(os.fspath(path), manifest, number)


def _open_part(path: str, manifest: Manifest, number: int) -> Store:
    said, count = manifest.parts[number], len(manifest.parts)
    file, shown = os.path.join(path, said.file), plain(os.fspath(path))
    again = f"gstream split {plain(manifest.source)} {shown} --parts {count} --force"
    if not os.path.lexists(file):
        raise StoreError(
            f"{plain(file)}: no such file: it is part {number} of {count} of {shown}. Copy it there, or split the "
            f"store again: {again}."
        )
    try:
        store = open_store(file)
    except StoreError as error:
        what, remedy, _ = error.line.partition(REBUILD if REBUILD in error.line else "Convert it: ")
        if not remedy:
            raise
        raise StoreError(f"{what}Copy the part again, or split the store again: {again}.") from error
    if store.file.seal != said.seal.encode() or (store.meta.part, store.meta.parts) != (number, count):
        store.close()
        raise StoreError(
            f"{store.path}: is not the part {number} of {count} that {os.path.join(path, 'manifest.json')} names. "
            f"Split the store again: {again}."
        )
    return store
