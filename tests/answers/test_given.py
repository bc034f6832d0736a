"""What calls from Python may give for an option: numbers of NumPy's, and nothing that would be taken for another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import gstream
from gstream.algorithms.declaration import NUMBER, SWITCH, WHOLE
from gstream.algorithms.registry import ALGORITHMS, OPTIONS
from pagestore.errors import UsageError
from tests.answers.graphs import hub_example


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with gstream.open(hub_example().stored(tmp_path_factory.mktemp("store"))) as opened:
        yield opened


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.bfs(1, depth_limit="two"), "depth_limit 'two': must be a whole number. Pass one, as 3."),
        (lambda g: g.bfs(1, depth_limit="1.5"), "depth_limit '1.5': must be a whole number."),
        (lambda g: g.bfs(1, depth_limit=1.5), "depth_limit 1.5: must be a whole number."),
        (lambda g: g.bfs(1, depth_limit=True), "depth_limit True: must be a whole number."),
        (lambda g: g.bfs(1, predecessors="no"), "predecessors 'no': must be True or False. Pass one of them."),
        (lambda g: g.pagerank(alpha="half"), "alpha 'half': must be a number. Pass one, as 0.5."),
        (lambda g: g.pagerank(tol=None), "tol None: must be a number."),
        (lambda g: g.katz(beta=10**400), "beta: is past 1.8e308, the largest number. Pass a smaller one."),
        (lambda g: g.kcore(k=1.5), "k 1.5: must be a whole number."),
        (lambda g: g.cdlp(iterations=float("nan")), "iterations nan: must be a whole number."),
        (lambda g: g.bfs(1.0), "source 1.0 is no vertex ID: those are whole numbers or names. Pass source=ID."),
        (lambda g: g.bfs([1, [2]]), "source [2] is no vertex ID"),
        (lambda g: g.bfs(b"1"), "source b'1' is no vertex ID"),
        (lambda g: g.egonet(True), "source True is no vertex ID"),
        (lambda g: g.bfs(1, threads="four"), "threads 'four': must be a whole number."),
        (lambda g: g.bfs(1, streams=2.5), "streams 2.5: must be a whole number."),
        (
            lambda g: g.bfs(1, devices=2),
            'devices 2: is no name of a device, and no list of names. Pass one, as devices="',
        ),
        (lambda g: g.bfs(1, devices=["host", 2]), "devices ['host', 2]: is no name of a device"),
        (lambda g: g.bfs(1, trace="run.json"), "trace 'run.json': must have a method span"),
        (lambda g: g.bfs(1, checkpoint=5), 'checkpoint 5: is no folder\'s name. Pass one, as checkpoint="kept".'),
        (lambda g: g.run(int), "int: is no program; inherit from gstream.Program."),
        (lambda g: g.run(gstream.Program), "Program is the base of programs; it runs nothing. Subclass it."),
        (lambda g: gstream.open(5), '5: is no path of a store. Pass one, as gstream.open("web.gs").'),
        (lambda g: g.wcc().top("a"), "count 'a': must be a whole number. Pass one, as 3."),
        (lambda g: g.degrees().top("a"), "count 'a': must be a whole number. Pass one, as 3."),
        (lambda g: g.run(5), "5: is no program. Pass a class that inherits from gstream.Program."),
    ],
)
def test_other_types_are_refused(graph, call, message):
    with pytest.raises(UsageError) as caught:
        call(graph)
    assert str(caught.value).startswith(message)


def test_numbers_of_any_kind_are_taken(graph):
    found = graph.pagerank(alpha=np.float32(0.5), iterations=np.uint8(3), float64=np.bool_(True), threads=np.int64(1))
    assert found.to_numpy()["pagerank"].dtype == np.float64
    assert found.summary["options"]["iterations"] == found.summary["supersteps"] == 3
    assert graph.katz(alpha=Fraction(1, 1000), beta=1, max_iter="5.0").summary["options"]["beta"] == 1.0
    assert graph.bfs("+3").top(9) == graph.bfs("003").top(9) == graph.bfs(3).top(9)
    assert graph.bfs(np.array([3, 4])).summary["reached"] == graph.bfs(("3", "4")).summary["reached"]


def test_an_iterator_of_vertices_is_certified_too(graph):
    assert graph.bfs(iter([3, 4]), certify=True).top(9) == graph.bfs([3, 4]).top(9)
    assert len(graph.cross(iter([3, 4]), iter([5, 6, 7]), certify=True)) == len(graph.cross([3, 4], [5, 6, 7]))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_option_refuses_other_types(graph, name):
    wrong = {WHOLE: ("1.5", "a whole number"), NUMBER: ("half", "a number"), SWITCH: ("no", "True or False")}
    for option in ALGORITHMS[name].options:
        if option.kind in wrong:
            value, said = wrong[option.kind]
            with pytest.raises(UsageError) as caught:
                getattr(graph, name)(**{option.name: value})
            assert str(caught.value).startswith(f"{option.name} '{value}': must be {said}. Pass one")


def test_options_that_no_kind_reads_are_vertices():
    unread = {name for name, option in OPTIONS.items() if option.kind.read is None}
    assert unread == {"source", "nodes", "targets", "personalization", "initial", "partition", "start"}
