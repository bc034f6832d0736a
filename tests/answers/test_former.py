"""Runs that go on from an earlier answer: the answers of whole runs, for less work. What is not sound is refused."""

from __future__ import annotations

import json
import re

import choice
import numpy as np
import pyarrow.parquet as pq
import pytest

import gstream
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example
from tests.answers.simple_graphs import SCHEDULES

VERTICES, EDGES, ADDED = 3000, 12_000, 120
CALLS = {
    "bfs": {"source": 7}, "sssp": {"source": [7, 11]}, "wcc": {},
    "pagerank": {"float64": True, "tol": 1e-10, "max_iter": 300},
}  # fmt: skip


def written(path, ends, weight):
    rows = zip(*ends.tolist(), weight.tolist(), strict=True)
    path.write_text("".join(f"{u}\t{v}\t{w}\n" for u, v, w in rows))
    return path


def updated(folder, directed=True, floats=False, add=True, remove=False, **stored):
    """(paths of a store and of what an update made of it); new edges lead to new vertices, too."""
    random = np.random.default_rng(4)
    ends = (VERTICES * random.random((2, EDGES)) ** 2).astype(np.int64)
    weight = random.random(EDGES).astype(np.float32) if floats else random.integers(1, 200, EDGES)
    example = Example(VERTICES, *ends, weight.astype(np.float64), directed=directed, **stored)
    store, new = example.stored(folder), folder / "new.gs"
    more = random.integers(0, VERTICES + 5, (2, ADDED))
    given = {"add": written(folder / "more.txt", more, random.integers(1, 9, ADDED)), "weight_column": 3} if add else {}
    given |= {"remove": written(folder / "gone.txt", ends[:, :9], weight[:9])} if remove else {}
    gstream.update(store, new, **given).close()
    return store, new


def answer(store, name, folder):
    with gstream.open(store) as graph:
        result = graph.execute(name, CALLS[name])
        result.write(folder / f"{name}.parquet", force=True)
    return result


STORES = {
    "directed": {}, "undirected": {"directed": False, "order": "degree"}, "out": {"topology": "out"},
    "in": {"topology": "in", "order": "degree"}, "floats": {"floats": True},
}  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("stored", ["directed", "undirected", *choice.also("out", "in", "floats")])
def test_answers_are_those_of_whole_runs(name, stored, tmp_path):
    store, new = updated(tmp_path, **STORES[stored])
    former = answer(store, name, tmp_path)
    with gstream.open(new) as graph:
        whole = graph.execute(name, CALLS[name])
        for start in (former, tmp_path / f"{name}.parquet"):
            later = graph.execute(name, CALLS[name] | {"start": start}, certify=True)
            mine, theirs = later.to_numpy(), whole.to_numpy()
            if name == "pagerank":
                np.testing.assert_allclose(mine["pagerank"], theirs["pagerank"], atol=1e-9)
                assert later.summary["supersteps"] < whole.summary["supersteps"]
            else:
                assert np.array_equal(mine, theirs)
            if name == "sssp":
                visited = [one.summary["stats"]["edges_visited"] for one in (later, whole)]
                assert visited[0] < visited[1]
        same = graph.execute(name, CALLS[name] | {"start": whole})
        assert same.summary["supersteps"] <= 2


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", SCHEDULES)
@pytest.mark.parametrize("name", CALLS)
def test_schedules_change_nothing(name, options, tmp_path):
    store, new = updated(tmp_path)
    former = answer(store, name, tmp_path)
    options = options | ({"host_memory": 500_000} if "host_memory" in options else {})
    with gstream.open(new) as graph:
        whole = graph.execute(name, CALLS[name])
        later = graph.execute(name, CALLS[name] | {"start": former}, **options)
    if name == "pagerank":
        np.testing.assert_allclose(later.to_numpy()["pagerank"], whole.to_numpy()["pagerank"], atol=1e-9)
    else:
        assert np.array_equal(later.to_numpy(), whole.to_numpy())
    assert later.summary["stats"]["peak_memory_bytes"] <= options.get("host_memory", 1 << 40)


@pytest.mark.parametrize(
    "own", [{"personalization": {3: 1.0, 9: 2.0}}, *choice.also({"weighted": True}, {"active_above": 1e-9})]
)
def test_ranks_of_every_kind_go_on_after_removals_too(own, tmp_path):
    store, new = updated(tmp_path, remove=True)
    own = own | CALLS["pagerank"]
    with gstream.open(store) as graph:
        graph.pagerank(**own).write(tmp_path / "ranks.csv")
    with gstream.open(new) as graph:
        whole, later = graph.pagerank(**own), graph.pagerank(**own, start=tmp_path / "ranks.csv", certify=True)
    np.testing.assert_allclose(later.to_numpy()["pagerank"], whole.to_numpy()["pagerank"], atol=1e-5)
    assert later.summary["supersteps"] < whole.summary["supersteps"]


def test_vertex_0_and_whole_ranks_are_begun_with(tmp_path):
    with gstream.open(Example(4, np.array([0, 1, 3]), np.array([1, 2, 3])).stored(tmp_path)) as graph:
        former = graph.bfs(0)
        former.write(tmp_path / "bfs.parquet")
        for start in (former, tmp_path / "bfs.parquet"):
            assert np.array_equal(graph.bfs(np.int64(0), start=start).to_numpy(), former.to_numpy())
        with pytest.raises(UsageError, match="start: had source 0, and this run has 1"):
            graph.bfs(1, start=former)
        ranks = graph.pagerank(start={0: 1, 1: 2, 2: 1, 3: 0}, tol=1e-9, max_iter=300).to_numpy()["pagerank"]
        np.testing.assert_allclose(ranks, graph.pagerank(tol=1e-9, max_iter=300).to_numpy()["pagerank"], atol=1e-6)


def test_sources_are_begun_with_in_any_order_and_graphs_without_vertices(tmp_path):
    with gstream.open(Example(4, np.array([0, 1, 3]), np.array([1, 2, 3])).stored(tmp_path)) as graph:
        assert graph.bfs([3, 0], start=graph.bfs([0, 3])).summary["reached"] == 4
    none = np.zeros(0, np.int64)
    with gstream.from_edges(none, none) as graph:
        assert graph.wcc(start=graph.wcc()).summary["components"] == 0
        assert graph.pagerank(start=graph.pagerank()).summary["converged"]


def test_components_of_names_are_begun_with(tmp_path):
    (tmp_path / "names.txt").write_text("ann bob\ncid dan\n")
    (tmp_path / "more.txt").write_text("bob cid\n")
    gstream.convert(tmp_path / "names.txt", tmp_path / "names.gs", string_ids=True).close()
    gstream.update(tmp_path / "names.gs", tmp_path / "more.gs", add=tmp_path / "more.txt").close()
    with gstream.open(tmp_path / "names.gs") as graph:
        former = graph.wcc()
        former.write(tmp_path / "wcc.parquet")
    with gstream.open(tmp_path / "more.gs") as graph:
        for start in (former, tmp_path / "wcc.parquet"):
            assert graph.wcc(start=start, certify=True).summary["components"] == 1
            refused(lambda start=start: graph.pagerank(start=start), "is an answer of wcc, not of pagerank. Leave")


def chain(folder, weights, name="old"):
    """A store of a path whose edges have these weights."""
    ends = np.arange(len(weights))
    written(folder / f"{name}.txt", np.stack([ends, ends + 1]), np.array(weights))
    gstream.convert(folder / f"{name}.txt", folder / f"{name}.gs", weight_column=3).close()
    return folder / f"{name}.gs"


@pytest.mark.long  # a kernel of its own
@pytest.mark.filterwarnings("ignore:2 integer weights are stored rounded")
def test_sums_of_whole_numbers_go_on_where_weights_become_fractions(tmp_path):
    """Equal to the last bit where floats count them one by one, else refused; answers without weights go on."""
    more = written(tmp_path / "more.txt", np.array([[0, 3], [2, 1]]), np.array([3.3, 0.7]))
    for name, weights, said in (("small", [1, 2, 5], ""), ("large", [1 << 23] * 3, "a distance past 16777216, up to")):
        store, new = chain(tmp_path, weights, name), tmp_path / f"{name}er.gs"
        with gstream.open(store) as graph:
            former, hops = graph.sssp(0), graph.bfs(0)
        gstream.update(store, new, add=more, weight_column=3).close()
        with gstream.open(new) as graph:
            assert graph.bfs(0, start=hops).to_numpy()["distance"].tolist() == [0, 1, 1, 2]
            if said:
                refused(lambda graph=graph, former=former: graph.sssp(0, start=former), said)
            else:
                later, whole = graph.sssp(0, start=former, certify=True), graph.sssp(0)
                assert later.to_numpy().tobytes() == whole.to_numpy().tobytes()
                assert graph.sssp(0, start=whole).to_numpy().tobytes() == whole.to_numpy().tobytes()
    with gstream.open(chain(tmp_path, [0.5, 3e38, 3e38])) as graph:
        wide = graph.sssp(0)  # float32 does not hold the sums
        refused(lambda: graph.sssp(0, start=wide), "has sums in float64, and this run has float32. Leave start out.")


def test_rows_in_any_order_are_begun_with(tmp_path):
    store, _ = updated(tmp_path)
    former = answer(store, "wcc", tmp_path)
    table = pq.read_table(tmp_path / "wcc.parquet")
    rows = np.random.default_rng(5).permutation(len(table))
    pq.write_table(table.take(rows), tmp_path / "mixed.parquet", row_group_size=700)
    twice = np.append(np.arange(len(table)), 0)
    pq.write_table(table.take(twice), tmp_path / "twice.parquet", row_group_size=700)
    with gstream.open(store) as graph:
        assert np.array_equal(graph.wcc(start=tmp_path / "mixed.parquet").to_numpy(), former.to_numpy())
        refused(lambda: graph.wcc(start=tmp_path / "twice.parquet"), "has a row before. Drop one.")


def refused(call, said):
    with pytest.raises((UsageError, InputError), match=re.escape(said)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_what_is_not_sound_is_refused(tmp_path):
    store, new = updated(tmp_path)
    former = {name: answer(store, name, tmp_path) for name in CALLS}
    former["bfs"].write(tmp_path / "bfs.csv")
    with gstream.open(new) as graph:
        refused(lambda: graph.bfs(7, start=tmp_path / "bfs.csv"), "does not say which run it is of")
        foreign = pq.read_table(tmp_path / "bfs.parquet").replace_schema_metadata({"gstream": json.dumps(["theirs"])})
        pq.write_table(foreign, tmp_path / "foreign.parquet")
        refused(lambda: graph.bfs(7, start=tmp_path / "foreign.parquet"), "does not say which run it is of")
        refused(lambda: graph.bfs(7, start=former["sssp"]), "is an answer of sssp, not of bfs. Leave start out.")
        refused(lambda: graph.bfs(8, start=former["bfs"]), "had source 7, and this run has 8. Leave start out.")
        refused(lambda: graph.sssp([7, 11], float64=True, start=former["sssp"]), "had float64 none, and this run has")
        refused(lambda: graph.bfs(7, depth_limit=3, start=former["bfs"]), "start: needs a search of the whole graph.")
        refused(lambda: graph.pagerank(execution="async", start=former["pagerank"]), "start: is for supersteps")
        refused(
            lambda: graph.pagerank(start=dict.fromkeys(range(9), 0.0) | {9: -1.0}), "a rank is negative or no number"
        )
        refused(lambda: graph.pagerank(start={0: 1, 1: None}), "start: a rank is negative or no number")
        refused(lambda: graph.pagerank(start={0: "one", 1: "two"}), "start: can't be read: ")
        for start in (former["wcc"], tmp_path / "wcc.parquet"):
            refused(lambda start=start: graph.pagerank(start=start), "is an answer of wcc, not of pagerank. Leave")
    (tmp_path / "other").mkdir()
    _, other = updated(tmp_path / "other", remove=True)
    with gstream.open(other) as graph:
        refused(lambda: graph.bfs(7, start=former["bfs"]), "9 edges were removed since, so bfs must begin anew.")
        refused(lambda: graph.wcc(start=former["wcc"]), "9 edges were removed since, so wcc must begin anew.")
    with gstream.open(Example(4, np.array([0, 7 % 4]), np.array([1, 2])).stored(tmp_path)) as graph:
        refused(lambda: graph.wcc(start=graph.bfs(0)), "is an answer of bfs, not of wcc.")
        stranger = graph.wcc()
    with gstream.open(new) as graph:
        refused(lambda: graph.wcc(start=stranger), "is of another store, from which")


def test_the_command_line_calls_it_from(tmp_path, capsys):
    from gstream.cli.commands import run_command_line

    store, new = updated(tmp_path)
    answer(store, "wcc", tmp_path)
    assert run_command_line(["run", "wcc", str(new), "--from", str(tmp_path / "wcc.parquet"), "--certify"]) == 0
    assert "certificate" in capsys.readouterr().out
    assert run_command_line(["run", "bfs", str(new), "--source", "7", "--from", str(tmp_path / "wcc.parquet")]) == 2
    assert "--from " in capsys.readouterr().err
