"""Compressed sparse rows read forward: the source of every edge, from offsets that needn't fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pagestore.errors import InputError

OFFSETS_AT_ONCE = 1 << 18  # rows whose offsets are held: 2 MiB


def csr_rows(
    name: str, take_offsets: Callable[[int], np.ndarray], vertices: int, edges: int, chunk_edges: int
) -> Iterator[tuple[np.ndarray, slice]]:
    """Yield (source uint64[n], slice of n edges) for all `edges` in order, n up to `chunk_edges`.

    `take_offsets(k)` returns the next k of the vertices + 1 offsets. Raises InputError when they don't rise from 0 to
    `edges`.
    """
    last = int(take_offsets(1)[0])
    if last != 0:
        raise InputError(f"{name}: the first row begins at edge {last}, not at 0. The file is damaged: write it again.")
    for row in range(0, vertices, OFFSETS_AT_ONCE):
        count = min(OFFSETS_AT_ONCE, vertices - row)
        bounds = np.empty(count + 1, dtype=np.int64)
        bounds[0] = last
        bounds[1:] = take_offsets(count)
        wrong = (bounds[1:] < bounds[:-1]) | (bounds[1:] > edges)  # differences wrap
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(
                f"{name}: row {row + at} runs from edge {bounds[at]} to {bounds[at + 1]} of {edges}. "
                f"The file is damaged: write it again."
            )
        sources = np.arange(row, row + count, dtype=np.uint64)
        for begin in range(int(bounds[0]), int(bounds[-1]), chunk_edges):
            end = min(begin + chunk_edges, int(bounds[-1]))
            inside = np.clip(bounds, begin, end)
            yield np.repeat(sources, np.diff(inside)), slice(begin, end)
        last = int(bounds[-1])
    if last != edges:
        raise InputError(
            f"{name}: the rows end at edge {last}, the file holds {edges}. The file is damaged: write it again."
        )
