"""Union-find where each rank has its own slice and mirrors alone, on a graph in parts.

Each rank unites the vertices of its part's lists. A label of each vertex, the store ID of one of its component that is
no greater, is at first the least of its tree here. Then, by rounds until no label changes on any rank:

    owners take the least label of a vertex on all ranks, and mirrors take the owners'
    hook: a tree takes x, the least label of its vertices; where one of these had another label y, vertex y gets x, too
    shortcut: a tree whose label is vertex x takes the label of x

In the end all vertices of a tree have one label, and a vertex has one on all ranks. So has a component, and it is the
least member: labels are members, and none is greater than its vertex. The owners of y and x do the last two steps.
These save rounds, as in FastSV (Zhang, Azad, Hu 2020): without them a label would go by one tree a round.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gstream.algorithms.components.forest import compress, link_pages, relabel
from gstream.algorithms.support.part_sweeps import sweep_part
from gstream.algorithms.support.session import Session
from gstream.devices.host.rank_values import RankValues
from gstream.engine.part_arrays import PartArrays
from gstream.engine.slot_files import Share
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, set_bits
from gstream.planning.memory_fit import Graph, mirror_bytes

AT_ONCE = 1 << 16  # vertices that a rank looks at before it sends labels to their owners


def held_by_slices(session: Session, graph: Graph) -> dict[str, int]:
    """What `labels_of_slices` and `named_by_least` hold at most beside pages, by name. graph: of a plan of slices."""
    id_bytes, labels = session.id_dtype.itemsize, graph.slice * session.id_dtype.itemsize
    trees = 2 * id_bytes * graph.vertices + bitmap_bytes(graph.vertices)
    names = 0 if session.meta.order == "natural" else 2 * labels
    return {
        "bitmaps of mirrors": mirror_bytes(graph.whole, graph.vertices),
        "trees and labels": max(trees, names),
        "labels of the slice": labels,
    }


def fits_slices(session: Session, part: PartArrays) -> bool:
    """Whether all ranks have the memory for that."""
    held = held_by_slices(session, part.graph(session.engine.graph))
    return part.fits(session.engine, sum(held.values()) + session.least_pages())


def labels_of_slices(session: Session, part: PartArrays, name: str, before: int) -> tuple[RankValues, int]:
    """(store ID of the least vertex of each vertex's component, by rank; supersteps). name: of the topology, all lists
    of which are read. before: supersteps that came to nothing.

    Labels are kept as trees of the whole graph's forest are (wcc.py), of which no page was swept: a label is of the
    vertex's component and no greater than the vertex. So either goes on from what the other one kept.
    """
    dtype, begin = session.id_dtype, part.ids.own[0]
    own = part.store_ids(dtype)[part.own].copy()
    session.reserve(own)
    kept = session.keep(
        parent=Share(own, begin, part.ids.slices[-1][1]), giant=0, whole=True, swept=0, page=0, before=before, sweeps=0
    )
    goes_on = part.ranks.any(bool((own != np.arange(begin, begin + len(own), dtype=dtype)).any()))
    parent, changed = np.arange(part.count, dtype=dtype), bitmap(part.count)
    session.reserve(parent, parent, changed)  # labels take as much
    sweep_part(session, part, name, link_pages, (parent, dtype.type(0), False, not session.meta.directed))
    session.each(compress, parent)
    label = part.store_ids(dtype)
    session.each(relabel, parent, label, label)
    if goes_on:
        np.minimum(label[part.own], own, out=label[part.own])
    changed[:] = ~np.uint64(0)
    while True:
        part.mirrors.reduce(label, np.minimum, changed)
        part.mirrors.gather(label, changed, all_values=False)
        changed[:] = 0
        _tell(part, parent, label, changed)
        own[:] = label[part.own]
        if not part.ranks.any(bool(changed.any())):
            break
        kept.boundary()
    kept.end()
    session.release(parent, label, changed)
    return part.values(own), kept.before + 1


def _tell(part: PartArrays, parent: np.ndarray, label: np.ndarray, changed: np.ndarray) -> None:
    """One round of hooks and shortcuts, batch by batch. changed: gets the vertices whose label became less."""
    batches, own = _batches(part, parent, label, changed), label[part.own]
    none, none_told = np.empty(0, np.int64), label[:0]
    goes_on = True
    while goes_on:
        batch = next(batches, None)
        vertices, values, roots, names = batch or (none_told, none_told, none, none_told)
        told, fell = part.lowered(own, vertices, values)
        found = told[np.searchsorted(vertices, names)]
        less = found < label[roots]
        label[roots[less]] = found[less]
        _note(changed, roots[less])
        _note(changed, fell + part.own.start)
        goes_on = part.ranks.any(batch is not None)


def _batches(
    part: PartArrays, parent: np.ndarray, label: np.ndarray, changed: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """(vertices, ascending; the least label that is sent to each; roots of trees; the vertex whose label each root asks
    for), some at a time. First roots take the least label of their trees, then trees that of their roots."""
    pieces = [slice(first, min(first + AT_ONCE, part.count)) for first in range(0, part.count, AT_ONCE)]
    vertices, values, roots, names = _nothing(label), _nothing(label), [np.empty(0, np.int64)], _nothing(label)

    def batch() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        found = *_least(np.concatenate(vertices), np.concatenate(values)), np.concatenate(roots), np.concatenate(names)
        for some in (vertices, values, roots, names):
            del some[1:]
        return found

    for rising, here in [*((True, piece) for piece in pieces), *((False, piece) for piece in pieces)]:
        above, had = parent[here], label[here]
        takes = label[above]
        if rising:
            other = np.flatnonzero(had < takes)
            vertices.append(takes[other])
            values.append(had[other])
            _note(changed, above[other])
            np.minimum.at(label, above[other], had[other])
        else:
            other = np.flatnonzero(had != takes)
            asks = np.flatnonzero(above == np.arange(here.start, here.stop, dtype=parent.dtype))
            asks = asks[part.ids.numbers(takes[asks]) != asks + here.start]
            vertices += had[other], takes[asks]
            values += takes[other], takes[asks]
            roots.append(asks + here.start)
            names.append(takes[asks])
            _note(changed, other + here.start)
            label[here] = takes
        if sum(map(len, vertices)) >= AT_ONCE:
            yield batch()
    yield batch()


def _nothing(like: np.ndarray) -> list[np.ndarray]:
    return [like[:0]]


def _least(vertices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct vertices, ascending, and the least value of each."""
    order = np.lexsort((values, vertices))
    found, first = np.unique(vertices[order], return_index=True)
    return found, values[order[first]]


def _note(changed: np.ndarray, numbers: np.ndarray) -> None:
    set_bits(changed, numbers.astype(np.uint64))


def named_by_least(session: Session, part: PartArrays, labels: RankValues) -> RankValues:
    """The natural index of the least vertex of each vertex's component, by rank. labels: store IDs, as of
    `labels_of_slices`."""
    if session.meta.order == "natural":
        return labels
    own, dtype = labels.own, session.id_dtype
    natural = labels.naturals(session.store).astype(dtype)
    least = np.full(len(own), session.none, dtype)
    longest = max(last - first for first, last in part.ids.slices)
    session.reserve(natural, least)
    pieces = [slice(first, first + AT_ONCE) for first in range(0, longest, AT_ONCE)]
    for piece in pieces:
        part.lowered(least, *_least(own[piece], natural[piece]))
    for piece in pieces:
        vertices, at = np.unique(own[piece], return_inverse=True)
        natural[piece] = part.lowered(least, vertices, np.full(len(vertices), session.none, dtype))[0][at]
    session.release(natural, least)
    return labels.alike(natural)


def count_components(labels: RankValues) -> int:
    """How many vertices are their own labels, as of `labels_of_slices`."""
    begin, end = labels.part
    ones = int(np.count_nonzero(labels.own == np.arange(begin, end, dtype=labels.dtype)))
    return int(sum(labels.ranks.everybody(ones)))
