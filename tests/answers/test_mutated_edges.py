"""Certificates of edges between chosen vertices refuse every row, set, number and figure that was changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gstream
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.subgraphs.edge_table import EdgeTable
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import StoreError
from tests.answers.graphs import Example

VERTICES, EDGES = 24, 90
SOME, OTHERS = [0, 2, 3, 5, 7, 8, 12, 20], [2, 4, 5, 9, 13, 23]
ASKED = [
    ("subgraph", {"nodes": SOME}),
    ("egonet", {"source": 3, "radius": 1}),
    ("egonet", {"source": [3, 5], "radius": 2, "center": False}),
    ("cross", {"nodes": SOME, "targets": OTHERS}),
    ("cross", {"nodes": SOME}),
]
STORES = [
    {"order": "degree", "topology": "both"},
    {"weight": None, "topology": "out"},
    {"weight": None, "topology": "in"},
    {"directed": False, "order": "degree"},
    {"directed": False, "weight": None},
]


def example(options):
    """A graph with repeated edges and self-loops."""
    random = np.random.default_rng(2)
    source, target = (VERTICES * random.random((2, EDGES)) ** 1.3).astype(np.int64)
    weight = random.integers(1, 9, EDGES) / 4
    return Example(VERTICES, source, target, **({"weight": weight} | options))


def columns_of(store, chosen):
    return [np.concatenate(part) for part in zip(*EdgeTable(store, chosen, {})._parts(), strict=True)]


def rows_of(store, chosen):
    return sorted(zip(*(column.tolist() for column in columns_of(store, chosen)), strict=True))


def changed_rows(parts):
    """The parts of a table with one row left out, twice there, or changed in one place, each in turn."""
    for at in range(len(parts[0])):
        yield [np.delete(column, at) for column in parts]
        yield [np.insert(column, at, column[at]) for column in parts]
        for place, column in enumerate(parts):
            for value in {column.dtype.type(column[at] + 1), column[at - 1]} - {column[at]}:
                other = column.copy()
                other[at] = value
                if place > 1 or value < VERTICES:
                    yield [*parts[:place], other, *parts[place + 1 :]]
        if parts[0][at] != parts[1][at]:
            ends = [column.copy() for column in parts[:2]]
            ends[0][at], ends[1][at] = parts[1][at], parts[0][at]
            yield [*ends, *parts[2:]]


def changed_choices(chosen):
    """One vertex more or less in a set, one edge more or less of a page, each in turn; other pages' lists, once."""
    for name in ("near", "far"):
        for v in range(VERTICES):
            bits = getattr(chosen, name).copy()
            bits[v >> 6] ^= np.uint64(1) << np.uint64(v & 63)
            yield replace(chosen, **{name: bits})
    for page in range(len(chosen.counts)):
        for step in (-1, 1, 100):
            counts = chosen.counts.copy()
            counts[page] += step
            if counts[page] >= 0:
                yield replace(chosen, counts=counts)
    yield replace(chosen, pull=not chosen.pull)
    yield replace(chosen, once=not chosen.once)
    yield replace(chosen, natural=chosen.natural[::-1].copy())


@pytest.mark.covering(1)
@pytest.mark.parametrize("stored", STORES, ids=str)
@pytest.mark.parametrize(("name", "options"), ASKED, ids=str)
def test_every_change_is_refused(name, options, stored, tmp_path, monkeypatch):
    algorithm = ALGORITHMS[name]
    runs, proves = algorithm.load(f"run_{name}"), algorithm.load(algorithm.proof)
    with gstream.open(example(stored).stored(tmp_path)) as graph, Session(graph.engine(), name) as session:
        if name == "egonet" and "out" not in session.meta.topologies:
            return
        chosen, found = runs(session, **options)
        right = rows_of(session.store, chosen)
        assert right and proves(session, chosen, options, found)["holds"]

        def is_refused(given, said=found):
            try:
                proves(session, given, options, said)
            except (CertificateError, StoreError):
                return True
            return False

        tried = 0
        for other in changed_choices(chosen):
            try:
                same = rows_of(session.store, other) == right
            except StoreError:
                same = False
            tried += not same
            assert same or is_refused(other)
        for key in {"chosen_edges", "chosen_vertices"} & found.keys():
            for step in (-1, 1):
                assert is_refused(chosen, found | {key: found[key] + step})
        for rows in changed_rows(columns_of(session.store, chosen)):
            if sorted(zip(*(column.tolist() for column in rows), strict=True)) == right:
                continue
            tried += 1
            with monkeypatch.context() as patch:
                patch.setattr(EdgeTable, "_parts", lambda table, rows=rows: iter([rows]))
                assert is_refused(chosen), rows
        assert tried > 3 * len(right)
