"""The part of a scrub that needs no pages: all arrays are read, and the ID tables and degrees make sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pagestore.arrays import BLOCK_BYTES
from pagestore.errors import StoreError
from pagestore.store import Store

STEP_ROWS = BLOCK_BYTES  # rows read at once: at most 8 MiB of an ID table


def check_tables(store: Store, advance: Callable[[int], None]) -> Iterator[str]:
    """One plain line for each array that fails its checksum or contradicts the description in /meta.

    `advance` is told how many bytes were read since it was last called.
    """
    whole = True
    for name in store.array_names:
        array = store.array(name)
        try:
            for first in range(0, array.rows, STEP_ROWS):
                advance(array.read(first, min(first + STEP_ROWS, array.rows)).nbytes)
        except StoreError as error:
            whole = False
            yield str(error)
    if whole:
        yield from _check_degrees(store)
        yield from _check_ids(store)
        yield from _check_order(store)
        yield from _check_heads(store)


def _check_degrees(store: Store) -> Iterator[str]:
    meta = store.meta
    for name, longest in (("out_degree", meta.max_out_degree), ("in_degree", meta.max_in_degree)):
        if f"vertices/{name}" not in store.array_names:
            continue
        total, most = 0, 0
        for degrees in _steps(store, f"vertices/{name}"):
            total += int(degrees.sum(dtype=np.uint64))
            most = max(most, int(degrees.max()))
        if total != meta.edges or most != longest:
            yield (
                f"{store.path}: {name} sums to {total} with maximum {most}; "
                f"the description says {meta.edges} and {longest}."
            )


def _check_ids(store: Store) -> Iterator[str]:
    if store.meta.id_kind == "integers":
        last = -1
        for ids in _steps(store, "vertices/ids"):
            if ids[0] <= last or np.any(ids[1:] <= ids[:-1]):
                yield f"{store.path}: vertices/ids don't ascend from 0 up."
                return
            last = int(ids[-1])
    if store.meta.id_kind == "strings":
        before: str | None = None
        for first in range(0, store.meta.vertices, STEP_ROWS // 8):
            try:
                names = store.user_ids(first, min(first + STEP_ROWS // 8, store.meta.vertices)).to_pylist()
            except StoreError as error:
                yield str(error)
                return
            ordered = all(a < b for a, b in zip(names, names[1:], strict=False))
            if not ordered or (before is not None and names[0] <= before):
                yield f"{store.path}: names don't ascend, vertices {first} to {first + len(names)}."
                return
            before = names[-1]


def _check_order(store: Store) -> Iterator[str]:
    """store_of is a permutation: every store ID occurs (one byte a vertex of memory)."""
    if store.meta.order == "natural":
        return
    seen = np.zeros(store.meta.vertices, bool)
    for ids in _steps(store, "vertices/store_of"):
        if int(ids.max()) >= len(seen):
            yield f"{store.path}: vertices/store_of holds {ids.max()}; the last vertex is {len(seen) - 1}."
            return
        seen[ids] = True
    if not seen.all():
        yield f"{store.path}: vertices/store_of is no permutation; store ID {int(np.argmin(seen))} is missing."


def _check_heads(store: Store) -> Iterator[str]:
    """Vertices without edges have empty heads, and vertices past the heads' last row have no edges."""
    for name in store.meta.topologies:
        topology = store.topology(name)
        if not store.meta.heads:
            continue
        degree_of = store.out_degree if name == "out" else store.in_degree
        for first in range(0, store.meta.vertices, STEP_ROWS):
            last = min(first + STEP_ROWS, store.meta.vertices)
            degrees = degree_of(first, last)
            kept = max(0, min(last, topology.head_rows) - first)
            heads = (
                topology.heads(first, first + kept, check=False) if kept else np.empty((0, 4), topology.layout.id_dtype)
            )
            if np.any(degrees[kept:]) or np.any(heads[degrees[:kept] == 0] != topology.layout.none):
                yield f"{store.path}: heads of topology {name} don't fit the degrees of vertices {first} to {last}."


def _steps(store: Store, name: str) -> Iterator[np.ndarray]:
    array = store.array(name)
    for first in range(0, array.rows, STEP_ROWS):
        yield array.read(first, min(first + STEP_ROWS, array.rows))
