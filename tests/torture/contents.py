"""All that a reader of a store can get, as one digest: what damage must not change unnoticed."""

from __future__ import annotations

import hashlib
import os

from pagestore import open_store
from pagestore.store import Store


def everything(path: str | os.PathLike) -> str:
    """Of the store at `path`. Raises StoreError where any of it is refused."""
    with open_store(path) as store:
        return everything_of(store)


def everything_of(store: Store) -> str:
    """Of an open store: its description, arrays, pages and weights."""
    digest = hashlib.blake2b(repr(store.meta).encode())
    for name in sorted(store.array_names):
        digest.update(name.encode() + store.array(name).read().tobytes())
    for name in store.meta.topologies:
        topology = store.topology(name)
        with topology.reader() as reader:
            digest.update(reader.read(0, topology.pages).tobytes())
            if topology.weight_dtype is not None:
                digest.update(reader.read_weights(0, topology.pages).tobytes())
    return digest.hexdigest()
