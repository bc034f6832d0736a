"""Certificate of components: no edge joins two labels, there are as many labels as trees of an independent union-find
over all edges, and each label is the least member of its class."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gstream.algorithms.components.forest import compress, join_trees
from gstream.algorithms.support.part_sweeps import check_part_edges, own_part, refuse_own
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import BLOCK, note
from gstream.devices.host.rank_values import RankValues
from gstream.hostcode.bitmaps import bitmap, set_bits
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, slots_of, vertex_of
from gstream.results.column import Column
from pagestore.sizes import show_things

DIFFERENT = "an edge joins vertices {u} and {v}, which have different components"
PATIENCE = 64  # rounds of marks, after which a forest of all vertices proves sooner that classes are connected


def certify_wcc(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove components (labels are natural indices); returns what was proven. Raises CertificateError."""
    held = columns[0].held
    if isinstance(held, RankValues) and held.of_ranks and (proof := _certify_slices(session, held, found)) is not None:
        return proof
    label = columns[0].values
    natural = session.store.natural_ids()
    refuse_vertices(session, label > natural, "the component of vertex {} is named by a greater one")
    tree = np.arange(len(label), dtype=session.id_dtype)
    session.reserve(label, tree)
    across = partial(join_trees, session, tree)
    check_edges(session, session.meta.topologies[0], check_labels, (label, tree), DIFFERENT, across=across)
    used = np.zeros(len(label), np.bool_)
    used[label] = True
    named = label == natural
    trees = int(np.count_nonzero(tree == np.arange(len(tree))))
    if np.count_nonzero(used) != np.count_nonzero(named):
        raise refuse("a component is named by a vertex outside it")
    if np.count_nonzero(used) != trees:
        raise refuse(f"there are {np.count_nonzero(used)} labels and {trees} components")
    return _proved(found, trees)


def _proved(found: dict[str, Any], trees: int) -> dict[str, Any]:
    check_said(found, components=trees)
    return {"holds": True, "proves": f"{show_things(trees, 'component')}, each connected and named by its least vertex"}


def _certify_slices(session: Session, held: RankValues, found: dict[str, Any]) -> dict[str, Any] | None:
    """The same where ranks have slices; None: it takes too many rounds. That each class is connected follows from marks
    that spread from the vertices that name one, over trees of the ranks' parts and mirrors, to all."""
    name, _ = session.gathers()
    part = own_part(session, name)
    if part is None:
        return None
    natural = held.naturals(session.store).astype(session.id_dtype)
    said = "the component of vertex {} is named by a greater one"
    refuse_own(session, part, held.own > natural, said)
    named = held.own == natural
    label, tree = part.spread(held.own), np.arange(part.count, dtype=session.id_dtype)
    session.reserve(label, tree)
    check_part_edges(session, part, name, check_labels, (label, tree), DIFFERENT)
    session.release(label)
    del label
    session.each(compress, tree)
    marks = part.spread(named.astype(np.uint8))
    session.reserve(marks)
    for _ in range(PATIENCE):
        changed = _spread_marks(tree, marks)
        if not part.ranks.any(bool(changed.any())):
            refuse_own(session, part, marks[part.own] == 0, "vertex {} is not connected with what names its component")
            return _proved(found, sum(part.ranks.everybody(int(np.count_nonzero(named)))))
        part.mirrors.reduce(marks, np.maximum, changed)
        part.mirrors.gather(marks, changed, all_values=False)
    session.begin_again()
    return None


def _spread_marks(tree: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """All vertices of a tree with a marked one are marked; bits of those that were not. Trees are compressed."""
    changed, first_ones = bitmap(len(tree)), range(0, len(tree), BLOCK)
    for to_root in (True, False):
        for first in first_ones:
            here = slice(first, first + BLOCK)
            above = tree[here]
            one, other = (marks[here], marks[above]) if to_root else (marks[above], marks[here])
            fresh = np.flatnonzero(one > other)
            numbers = above[fresh] if to_root else fresh + first
            marks[numbers] = 1
            set_bits(changed, numbers.astype(np.uint64))
    return changed


@helper
def find_root(tree, v):
    """Root of v's tree, halving the path on the way; any thread may halve, so the step is a compare-and-swap."""
    while True:
        above = tree[v]
        if u64(above) == v:
            return v
        higher = tree[above]
        if higher == above:
            return u64(above)
        compare_and_swap(tree, v, above, higher)
        v = u64(higher)


@kernel
def check_labels(words, parts, counter, label, tree, failure):
    """Components: both ends of every edge have one label; `tree` (id[V], 0..V-1 at first) unites them."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        first_slot, end_slot = slots_of(begin, end, large)
        for slot in range(first_slot, end_slot):
            owner = vertex_of(words, row, slot)
            first, count = list_of(words, row, slot, begin, end, large, stride)
            edges += count
            word, stop = first, first + count * stride
            while word != stop:  # one counter: with two, the registers don't do, and rows took 15 % longer
                other = u64(words[row, word])
                word += stride
                if label[owner] != label[other]:
                    note(failure, owner, other)
                while True:
                    one, two = find_root(tree, owner), find_root(tree, other)
                    if one == two:
                        break
                    low, high = min(one, two), max(one, two)
                    written, _ = compare_and_swap(tree, high, tree.dtype.type(high), tree.dtype.type(low))
                    if written:
                        break
