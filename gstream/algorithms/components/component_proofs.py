"""Certificate of components: no edge joins two labels, there are as many labels as trees of an independent union-find
over all edges, and each label is the least member of its class."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gstream.algorithms.components.forest import join_trees
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import note
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, slots_of, vertex_of
from gstream.results.column import Column
from pagestore.sizes import show_things


def certify_wcc(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove components (labels are natural indices); returns what was proven. Raises CertificateError."""
    label = columns[0].values
    natural = session.store.natural_ids()
    refuse_vertices(session, label > natural, "the component of vertex {} is named by a greater one")
    tree = np.arange(len(label), dtype=session.id_dtype)
    session.reserve(label, tree)
    said = "an edge joins vertices {u} and {v}, which have different components"
    across = partial(join_trees, session, tree)
    check_edges(session, session.meta.topologies[0], check_labels, (label, tree), said, across=across)
    used = np.zeros(len(label), np.bool_)
    used[label] = True
    named = label == natural
    trees = int(np.count_nonzero(tree == np.arange(len(tree))))
    if np.count_nonzero(used) != np.count_nonzero(named):
        raise refuse("a component is named by a vertex outside it")
    if np.count_nonzero(used) != trees:
        raise refuse(f"there are {np.count_nonzero(used)} labels and {trees} components")
    check_said(found, components=trees)
    return {"holds": True, "proves": f"{show_things(trees, 'component')}, each connected and named by its least vertex"}


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
