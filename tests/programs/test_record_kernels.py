"""Record kernels of users: what they give, and refusals that name the line of the user's file."""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gstream
import gstream.hostcode
from gstream.engine.checkpoint import Keeper
from gstream.hostcode import casts, intrinsics, page_words
from gstream.language.loading import load_program
from gstream.records.accepted import TAKEN
from pagestore.errors import GstreamError
from pagestore.memory import convert_arrays

HEAD = "import numpy as np\nimport gstream\nfrom gstream import *\nTHREE, FAR = 3, float('inf')\n"  # four lines
VERTICES = 500
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """500 vertices, IDs 0 to 499, with hubs, stored by degree so that store IDs are others; pages of 4 KiB."""
    source, target = np.random.default_rng(3).integers(0, VERTICES, (2, 6000))
    source[:1500] = 7
    path = tmp_path_factory.mktemp("records") / "g.gs"
    convert_arrays(path, source, target, vertices=VERTICES, order="degree", page_bytes=4096)
    return path, source, target


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    (folder / name).write_text(HEAD + text)
    return str(folder / name)


def values(result, column):
    return result.to_pandas().set_index("vertex")[column]


HOPS = """
@record_kernel(level="uint32[] min")
def hops(record, frontier, superstep, level, next_frontier):
    v = record.vertex
    if not is_set(frontier, v):
        return
    if superstep == 0:
        lower(level, v, 0)
    for u in record.neighbours():
        if lower(level, u, superstep + 1):
            set_bit(next_frontier, u)
"""
RUNS = [{}, {"devices": "host:3"}, {"host_memory": "120KiB", "batch_bytes": 4096}, {"threads": 1}]


@pytest.mark.parametrize("options", RUNS)
def test_a_kernel_with_a_frontier_is_a_search(tmp_path, store, options):
    path, _, _ = store
    with gstream.open(path, **options) as graph:
        found = graph.run(written(tmp_path, HOPS), source=7)
        right = graph.bfs(source=7, predecessors=False)
    assert values(found, "level").equals(values(right, "distance").rename("level"))
    assert found.summary["supersteps"] >= right.summary["supersteps"] and found.summary["converged"]


def test_supersteps_may_be_limited(tmp_path, store):
    with gstream.open(store[0]) as graph:
        found = graph.run(written(tmp_path, HOPS), source=7, max_supersteps=1)
    assert values(found, "level").max() == 1 and not found.summary["converged"]


ALL_KINDS = """
@record_kernel("in", least="int64[] min", most="float32[] max", weight="sum", edges="uint64[1] sum", odd="bits or")
def kinds(record, share, least, most, weight, edges, odd, limit: int, factor=0.5):
    v = record.vertex
    for u in record.neighbours():
        atomic_add(edges, 0, u64(1))
        if u & u64(1):
            set_bit(odd, v)
        if share[u] < limit:
            atomic_add(weight, v, u64(1))
            lower(least, v, i64(share[u]))
            raise_to(most, v, f32(share[u] * factor))
"""


@pytest.mark.parametrize("options", RUNS)
def test_arrays_of_all_kinds(tmp_path, store, options):
    path, source, target = store
    share = np.arange(VERTICES) * 3 % 100
    with gstream.open(path, **options) as graph:
        found = graph.run(written(tmp_path, ALL_KINDS), share=share.astype(np.float64), limit=60)
        with pytest.raises(GstreamError, match="parameter limit is not given"):
            graph.run(written(tmp_path, ALL_KINDS), share=share.astype(np.float64))
        with pytest.raises(GstreamError, match="mine.py:7: kinds is not given share; it is an array"):
            graph.run(written(tmp_path, ALL_KINDS), limit=60)
    table = found.to_pandas().set_index("vertex")
    inside = share[source] < 60
    assert found.summary["edges"] == len(source)
    counted = np.bincount(target[inside], minlength=VERTICES)
    assert (table["weight"] == counted).all()
    for v in np.flatnonzero(counted)[:50]:
        shares = share[source[inside & (target == v)]]
        assert table["least"][v] == shares.min() and table["most"][v] == shares.max() / 2
    assert table["least"].isna().sum() == (counted == 0).sum()
    assert set(table["odd"]) == {0, 1}


NUMBERS = """
@gstream.helper
def halved(x):
    return x / 2

@record_kernel(found="float64[] sum")
def adds(record, degree, found):
    for u in record.neighbours():
        atomic_add(found, record.vertex, halved(degree[u]) + THREE / 2)

@algorithm
def twice(sweeps, times: int = 2, of: Vertices = ()):
    found = sweeps.array(np.float64)
    for _ in range(times):
        sweeps.sweep(adds, found=found)
    return {"found": found, "sum": found.sum(), "named": len(sweeps.store_ids(of))}
"""


@pytest.mark.parametrize("options", RUNS)
def test_an_algorithm_sweeps_as_often_as_it_likes(tmp_path, store, options):
    path, source, target = store
    degree = np.bincount(source, minlength=VERTICES)
    wanted = 2 * np.bincount(source, degree[target] / 2 + 1.5, VERTICES)
    with gstream.open(path, **options) as graph:
        found = graph.run(written(tmp_path, NUMBERS), of=[1, 2])
    assert (values(found, "found") == wanted).all()
    assert found.summary["sum"] == wanted.sum() and found.summary["named"] == 2 and found.summary["supersteps"] == 2


WEIGHED = """
@record_kernel(total="float64[] sum", heaviest="weight[] max")
def weighed(record, total, heaviest):
    for u in record.neighbours():
        atomic_add(total, record.vertex, f64(record.weight()))
        raise_to(heaviest, u, record.weight())
"""


@pytest.mark.parametrize("weights", ["<f4", "<u1"])
def test_weights_are_read(tmp_path, store, weights):
    source, target = np.random.default_rng(4).integers(0, 300, (2, 3000))
    weight = np.random.default_rng(5).integers(1, 200, 3000).astype(weights)
    convert_arrays(tmp_path / "w.gs", source, target, weight, vertices=300, page_bytes=4096)
    with gstream.open(tmp_path / "w.gs") as graph:
        table = graph.run(written(tmp_path, WEIGHED)).to_pandas()
    assert (table["total"] == np.bincount(source, weight, 300)).all()
    heaviest = np.zeros(300)
    np.maximum.at(heaviest, target, weight)
    met = np.unique(target)
    assert (table["heaviest"].to_numpy()[met] == heaviest[met]).all()
    with gstream.open(store[0]) as graph, pytest.raises(GstreamError, match="the store has no weights"):
        graph.run(written(tmp_path, WEIGHED))


LIST = (
    "@record_kernel(found='uint64[] sum')\ndef k(record, degree, found):\n    for u in record.neighbours():\n        "
)
PLAIN = "@record_kernel(found='uint64[] sum')\ndef k(record, found):\n    v = record.vertex\n    "
REFUSED = [  # text, line in it, what the message says
    (LIST + "found[u] += 1", 4, "is not atomic"),
    (LIST + "degree[u] = 1", 4, "does not say how copies of it become one"),
    (LIST + "atomic_add(degree, u, 1)", 4, "does not say how copies"),
    (LIST + "lower(degree, u, 1)", 4, "does not say how copies"),
    (LIST + "for w in record.neighbours():\n            pass", 4, "stands in another loop"),
    (LIST + "return", 4, "leaves a loop"),
    (LIST + "found[u] = f'{u}'", 4, "has no twin on GPUs"),
    (LIST + "found[u] = u % 2", 4, "operator without a twin"),
    (LIST + "found[u] = 1 < u < 3", 4, "more than one comparison"),
    (LIST + "found[u] = np.sqrt(u)", 4, "without a twin"),
    (LIST + "found[u] = print(u)", 4, "is no helper"),
    (LIST + "found[u] = missing(u)", 4, "does not have"),
    (LIST + "found[u] = mising", 4, "is no parameter"),
    (LIST + "found[u] = FAR", 4, "is inf"),
    (LIST + "found[u] = record.edges", 4, "nothing that a record has"),
    (PLAIN + "for u in record.distinct(found, found):\n        pass", 4, "nothing to loop over"),
    (LIST + "del u", 4, "no statement that GPUs run"),
    (LIST + "template = u", 4, "C++ uses itself"),
    (LIST + "record_k = u", 4, "uses itself"),
    (LIST + "a = b = u", 4, "several names"),
    (LIST + "found[u:] = 1", 4, "more than an element"),
    (PLAIN + "found[v] = record.weight()", 4, "no loop over neighbours"),
    (PLAIN + "x = 0\n    x = v / 2", 5, "gets a fraction"),
    (PLAIN + "if v > 2:\n        x = v\n    found[v] = x", 6, "block that has ended"),
    (PLAIN + "return v", 4, "returns a value"),
    (PLAIN + "for i in range(0, 9, 2):\n        pass", 4, "has a step"),
    (PLAIN + "for i in found:\n        pass", 4, "nothing to loop over"),
    (PLAIN + "v = 1\n    found = v", 5, "is a parameter"),
    ("@record_kernel\ndef k(rec):\n    pass", 2, "does not take a record"),
    ("@record_kernel(other='sum')\ndef k(record, found):\n    pass", 2, "has no parameter other"),
    ("@record_kernel(found='add')\ndef k(record, found):\n    pass", 2, "says 'add'"),
    ("@record_kernel(found='uint16[] sum')\ndef k(record, found):\n    pass", 2, "says 'uint16[]'"),
    ("@record_kernel('both')\ndef k(record):\n    pass", 2, "says 'both'"),
    ("@record_kernel\ndef k(record, counter):\n    pass", 2, "uses itself"),
    ("@record_kernel\ndef k(record, x: str):\n    pass", 2, "is of type str"),
    ("@record_kernel\ndef k(record, frontier):\n    pass", 2, "does not look at its frontier"),
    ("@helper\ndef h(x):\n    return x ** 2\n@record_kernel\ndef k(record):\n    h(record.vertex)", 3, "operator"),
    ("@helper\ndef h(a):\n    a[0] = 1\n@record_kernel\ndef k(record, a):\n    h(a)", 6, "how copies of it become"),
    ("@algorithm\ndef k():\n    pass", 2, "takes no sweeps"),
]


@pytest.mark.parametrize(("text", "line", "says"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_name_the_line(tmp_path, text, line, says):
    with pytest.raises(GstreamError) as refused:
        load_program(written(tmp_path, text + "\n"))
    said = str(refused.value)
    assert f"mine.py:{line + HEAD.count(chr(10))}: " in said
    assert says in said and said.endswith((".", "return`."))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (LIST + "if found[u] > 0:\n            atomic_or(found, degree, u64(1))\n", 5),
        ("@helper\ndef h(x, y):\n    z = x\n    return x + y\n\n" + LIST + "atomic_add(found, u, h(u, degree))\n", 9),
    ],
)
def test_what_numba_refuses_names_the_line(tmp_path, store, text, line):
    with gstream.open(store[0]) as graph, pytest.raises(GstreamError) as refused:
        graph.run(written(tmp_path, text))
    assert f"mine.py:{line + HEAD.count(chr(10))}: `" in str(refused.value)
    assert "has no machine code: " in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"nothing": 1}, "k has no parameter 'nothing'"),
        ({"checkpoint": "folder"}, "checkpoint: k sweeps once, so there is nothing to go on from"),
        ({"max_supersteps": 3}, "max_supersteps: k has no frontier"),
        ({"found": np.zeros((2, 2), np.uint64)}, "is given found of 2 dimensions"),
    ],
)
def test_wrong_calls_are_refused(tmp_path, store, arguments, says):
    with gstream.open(store[0]) as graph, pytest.raises(GstreamError) as refused:
        graph.run(written(tmp_path, LIST + "pass\n"), **arguments)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "call", "says"),
    [
        (
            "uint8[] sum",
            "atomic_add(found, record.vertex, 1)",
            "adds to found by an atomic; its uint8 must be of 4 or 8",
        ),
        ("uint32[] or", "atomic_or(found, record.vertex, u64(1))", "by atomic_or; its uint32 must be uint64"),
        ("float32[] or", "found[record.vertex] = 1", "joins copies of found by or, and it holds floats"),
    ],
)
def test_elements_that_gpus_have_no_atomic_for_are_refused(tmp_path, store, kind, call, says):
    text = f"@record_kernel(found={kind!r})\ndef k(record, found):\n    {call}\n"
    with gstream.open(store[0]) as graph, pytest.raises(GstreamError, match=f"mine.py:6: k .*{says}"):
        graph.run(written(tmp_path, text))


@pytest.mark.parametrize(
    ("line", "says"),
    [("found[u] = degree", "mine.py:8: `found[u] = degree` has no machine code"), ("pass", "mine.py:6: k: x.cu: nvcc")],
)
def test_what_nvcc_refuses_names_the_line_that_numba_knows(tmp_path, store, monkeypatch, line, says):
    def refuse(*given):
        raise GstreamError("x.cu: nvcc does not compile it for sm_90: error.")

    monkeypatch.setattr("gstream.algorithms.support.session.Session.sweep_among", refuse)
    with gstream.open(store[0]) as graph, pytest.raises(GstreamError) as refused:
        graph.run(written(tmp_path, LIST + line + "\n"))
    assert says in str(refused.value)


def test_which_of_a_file(tmp_path):
    assert load_program(written(tmp_path, NUMBERS)).name == "twice"
    assert load_program(written(tmp_path, NUMBERS) + ":adds").name == "adds"
    with pytest.raises(GstreamError, match=r"defines 2 programs \(hops, kinds\). Name one"):
        load_program(written(tmp_path, HOPS + ALL_KINDS))
    with pytest.raises(GstreamError, match="halved is not a program of this file; its programs are: adds, twice"):
        load_program(written(tmp_path, NUMBERS) + ":halved")


def test_names_around_a_kernel_are_refused():
    """Those of the walk, and of the functions that its module imports by *."""
    walk = ast.parse((Path(gstream.hostcode.__file__).parent / "templates/walk.py").read_text())
    own = {node.name for node in walk.body if isinstance(node, ast.FunctionDef)} - {"kernel"}
    own |= {alias.name for node in walk.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    own |= set(page_words.__all__)
    public = {*intrinsics.__all__, *casts.__all__, "annotations"}
    text = (ROOT / "gstream" / "cudacode" / "scalar_text.py").read_text()
    called = {name for name in re.findall(r"[^.\w](\w+)\(\{", text) if not name.startswith(("u", "2"))}
    assert called - {"decltype"} == {"divided", "wide"} and {*called, "min2", "max2"} - {"decltype"} <= TAKEN
    assert own - public <= TAKEN
    assert not TAKEN & (set(dir(builtins)) | set(keyword.kwlist)) - {"bool", "class", "float", "int"}


PARTS = """
@record_kernel(found="float64[] sum")
def adds(record, found):
    for u in record.neighbours():
        atomic_add(found, u, 1.0)

@algorithm
def times(sweeps, often: int = 5):
    found, seen = sweeps.array(np.float64), sweeps.array(np.bool_)
    kept = sweeps.keep(found=found, seen=seen, done=0)
    while kept.done < often:
        sweeps.sweep(adds, found=found)
        seen |= found > 3
        kept.done += 1
        kept.boundary()
    kept.end()
    return {"found": found, "seen": seen}
"""


@pytest.mark.parametrize(("text", "name", "given"), [(HOPS, "hops", {"source": 7}), (PARTS, "times", {})])
def test_they_go_on_from_checkpoints(tmp_path, store, text, name, given, monkeypatch):
    """After each of their sweeps; others of another text or number are refused."""
    file, between, left = written(tmp_path, text), Keeper._between, [0]

    def passed(self, *arguments):
        between(self, *arguments)
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("killed")

    with gstream.open(store[0], devices="host") as graph:
        expected = graph.run(file, **given)
        for boundary in (1, 2, 3):
            kept = {"checkpoint": tmp_path / str(boundary), "checkpoint_every": 1}
            left[0] = boundary
            with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
                patch.setattr(Keeper, "_between", passed)
                graph.run(file, **given, **kept)
            for _ in range(2):
                found = graph.run(file, **given, resume=True, **kept)
                assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()
            assert found.summary["supersteps"] == expected.summary["supersteps"]
        with pytest.raises(GstreamError, match=f"its checkpoint is of {name}, whose input, .* has changed since"):
            graph.run(written(tmp_path, text.replace("superstep == 0", "superstep < 1").replace("> 3", "> 4"), "b.py"),
                      **given, resume=True, **kept)  # fmt: skip
        other = {"source": 8} if given else {"often": 6}
        with pytest.raises(GstreamError, match="its checkpoint is of a run with .*; this one has .* Pass the same"):
            graph.run(file, **other, resume=True, **kept)


def test_names_that_a_state_has_itself(tmp_path, store):
    text = "@algorithm\ndef k(sweeps):\n    sweeps.keep(boundary=3)\n    return {}\n"
    with gstream.open(store[0]) as graph, pytest.raises(GstreamError, match="keep: boundary is a name of its own"):
        graph.run(written(tmp_path, text))


def test_what_a_kernel_writes_is_an_array(tmp_path):
    path = written(tmp_path, '@record_kernel(big="uint32 sum")\ndef mine(record, big):\n    big[record.vertex] = 1\n')
    with pytest.raises(GstreamError, match=r'mine.py:6: the decorator says .uint32 sum.*: big="uint32\[\] ...". Use'):
        load_program(path)


def test_tracebacks_of_mistakes_end_at_the_user_s_line(tmp_path):
    kernel = '@record_kernel(big="uint32 sum")\ndef mine(record, big):\n    big[0] = 1\n'
    for text in (kernel, "class Mine(Program):\n    combine = 3\n", "mine = Program()\n"):
        run = [sys.executable, written(tmp_path, text)]
        done = subprocess.run(run, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.count('File "') == 1, done.stderr
        assert 'mine.py", line 5' in done.stderr


def test_a_kernel_that_sweeps_once_is_planned_for_one_superstep(store, tmp_path):
    once = '@record_kernel(found="float64[] sum")\ndef adds(record, degree, found):\n    atomic_add(found, 0, 1.0)\n'
    path = written(tmp_path, HOPS + once)
    with gstream.open(store[0]) as graph:
        planned = {name: graph.plan(f"{path}:{name}") for name in ("adds", "hops")}
        assert graph.engine().options.direction == "auto", "a plan leaves the options of runs alone"
    assert {name: (one["supersteps"], one["supersteps_are"]) for name, one in planned.items()} == {
        "adds": (1, "exact"), "hops": (1, "assumed"),
    }  # fmt: skip
    assert planned["adds"]["bytes_moved"] == planned["adds"]["bytes_a_superstep"] > 0
