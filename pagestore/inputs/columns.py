"""Edges that come as arrays: the checks that every binary format shares, and compressed sparse rows read forward.

Rows are counted from 0 in messages, as the tools that wrote such files count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.base import MAX_ID, EdgeChunk, InputOptions
from pagestore.inputs.decimals import LEAST_DOUBLE
from pagestore.sizes import show_row

ROW_REMEDY = "Correct the row."
EXACT_FLOAT = 1 << 53
OFFSETS_AT_ONCE = 1 << 18  # rows whose offsets are held: 2 MiB


@dataclass(frozen=True)
class IdRange:
    """IDs that a source takes, low..high, and what says so."""

    low: int = 0
    high: int = MAX_ID
    limit: str = "IDs run from 0 to 2^63-1"


def option_range(options: InputOptions) -> IdRange:
    """The range that --num-vertices allows, or all IDs."""
    if options.num_vertices is None:
        return IdRange()
    base = options.id_base or 0
    high = base + options.num_vertices - 1
    return IdRange(base, high, f"--num-vertices {options.num_vertices} lets IDs run from {base} to {high}")


def wrong_ids(values: np.ndarray, ids: IdRange) -> np.ndarray:
    """bool[n]: which of `values` (integers or floats) are no IDs of the range."""
    if values.dtype.kind != "f":
        return (values < ids.low) | (values > ids.high)
    with np.errstate(invalid="ignore"):
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) <= EXACT_FLOAT)
        return ~whole | (values < ids.low) | (values > ids.high)


def checked_ids(name: str, what: str, first_row: int, values: np.ndarray, ids: IdRange) -> np.ndarray:
    """`values` (any integers, or floats that are whole) as uint64[n]; InputError names the first row that is no ID."""
    if values.dtype.kind == "f":
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) <= EXACT_FLOAT)
        if not whole.all():
            row = int(np.argmin(whole))
            found = values[row]
            if np.isfinite(found) and found == np.floor(found):
                raise InputError(
                    f"{name}: {show_row(first_row + row)}: {what} {found} is past 2^53, where floating point rounds "
                    "integers: it may be another ID. Write the column as 64-bit integers."
                )
            raise InputError(
                f"{name}: {show_row(first_row + row)}: {what} {found} is not an integer; {ids.limit}. {ROW_REMEDY}"
            )
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise InputError(f"{name}: {what} is of type {values.dtype}; vertex IDs are integers. Convert the column.")
    if len(values) and (int(values.min()) < ids.low or int(values.max()) > ids.high):
        wide = values.astype(object) if values.dtype == np.uint64 else values.astype(np.int64)
        bad = (wide < ids.low) | (wide > ids.high)
        row = int(np.argmax(bad))
        reason = (
            "is negative" if wide[row] < 0 else "is past the limit" if wide[row] > ids.high else "is below the limit"
        )
        raise InputError(f"{name}: {show_row(first_row + row)}: {what} {wide[row]} {reason}; {ids.limit}. {ROW_REMEDY}")
    if values.dtype == np.int64 and values.dtype.isnative:
        return np.ascontiguousarray(values).view(np.uint64)
    return values.astype(np.uint64)


def checked_ids_into(name: str, what: str, first_row: int, values: np.ndarray, ids: IdRange, out: np.ndarray) -> None:
    """The same into `out` uint64[n], without memory of its own where `values` are integers."""
    if values.dtype.kind in "iu":
        np.copyto(out, values, casting="unsafe")  # a negative ID becomes one past every limit
        if not len(out) or (int(out.min()) >= ids.low and int(out.max()) <= ids.high):
            return
    out[:] = checked_ids(name, what, first_row, values, ids)


def checked_weights(name: str, first_row: int, values: np.ndarray) -> np.ndarray:
    """`values` as float64[n]; InputError names the first row whose weight is not finite."""
    if values.dtype.kind not in "iufb":
        raise InputError(
            f"{name}: the weight is of type {values.dtype}; weights are real numbers. Convert the column, "
            f"or pass --no-weights."
        )
    weights = values.astype(np.float64)
    if values.dtype.itemsize > weights.itemsize:  # long double has numbers that doubles make 0
        lost = (weights == 0) & (values != 0)
        weights[lost] = np.copysign(LEAST_DOUBLE, values[lost])
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        raise InputError(
            f"{name}: {show_row(first_row + row)}: weight {weights[row]} is not finite; weights are finite numbers. "
            f"Correct the row, or pass --no-weights."
        )
    return weights


def checked_chunk(
    name: str, first_row: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ids: IdRange
) -> EdgeChunk:
    """Rows first_row.. of an input as a chunk; raises InputError at the first row that is no edge."""
    return EdgeChunk(
        checked_ids(name, "source", first_row, source, ids),
        checked_ids(name, "target", first_row, target, ids),
        None if weight is None else checked_weights(name, first_row, weight),
    )


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
                f"{name}: {show_row(row + at)} runs from edge {bounds[at]} to {bounds[at + 1]} of {edges}. "
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
