"""The GPU's kernels, run on the CPU with whole warps, give what the host's kernels give; MIN and MAX bit for bit."""

from __future__ import annotations

import shutil
import subprocess
import sys

import choice
import compilers
import numpy as np
import pytest
from compilers import needs_gxx
from emulated import EmulatedRun, Launcher, compile_units, hub_sums, parts_of, unit_shape
from stepping import WAYS, Graph, Run
from test_kernels import hub_graph
from written import VARIED, program

from gstream.hostcode import bitmap, count_pages, set_bits
from gstream.paging import gpu_parts as worklists
from gstream.paging.gpu_parts import COLUMNS, DENSE, SHARES_SHIFT, SPLIT, WARP_LANES, carried
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP, SSSPLong
from gstream.programs.wcc import WCC

pytestmark = needs_gxx
NOWHERE = np.zeros(0, np.uint64)  # no slices of peers
SOME = ("bfs", "sssp", "pagerank", "max_floats", "sum_signed", "joined")  # one of each monoid: tests name them


def graph_of(key, columns=1):
    n, source, target, weight = hub_graph(weights=VARIED[key][1] if key in VARIED else "f4")
    weighted = key.startswith("sssp") or key in VARIED
    return Graph(n, source, target, weight if weighted else None, 4096, 8 if key.endswith("_wide") else 4, columns)


def programs_in(folder):
    shipped = {"bfs": BFS, "sssp": SSSP, "sssp_wide": SSSPLong, "wcc": WCC, "pagerank": PageRank}
    return shipped | {key: program(folder, **declared) for key, (declared, _) in VARIED.items()}


@pytest.fixture(scope="module")
def units(request, tmp_path_factory):
    """{key: (program with parameters, graph, launcher)}: units of SOME, and of what chosen tests have as `key`,
    compiled in one call."""
    here = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    asked = {*SOME, *(item.callspec.params.get("key") for item in here)}
    classes = {key: cls for key, cls in programs_in(tmp_path_factory.mktemp("units")).items() if key in asked}
    graphs = {key: graph_of(key) for key in classes}
    library, made = compile_units(classes, {key: unit_shape(graph.shape()) for key, graph in graphs.items()})
    given = {"bfs": {"source": (3, 11)}, "sssp": {"source": (3, 11)}, "sssp_wide": {"source": 3}}
    given["pagerank"] = {"tolerance": 1e-3}
    return {
        key: (classes[key](**given.get(key, {})), graphs[key], Launcher(library, key, made[key])) for key in classes
    }


def pairs():
    """Programs and ways, with group sizes and launches that change from one to the next."""
    found = []
    for k, key in enumerate([*("bfs", "sssp", "sssp_wide", "wcc", "pagerank"), *VARIED]):
        sums = key == "pagerank" or VARIED.get(key, ({},))[0].get("combine") == "SUM"
        for w, way in enumerate(("push", "pull") if sums else WAYS):  # heads are not made for SUM
            found.append((key, way, (1, 2, 4, 8, 16, 32)[(k + 2 * w) % 6], 1 + (k + w) % 5))
    some = [("bfs", "push"), ("max_floats", "push_records"), ("sum_signed", "pull"), ("joined", "pull_heads")]
    return [
        *(case for case in found if case[:2] in some),
        *choice.also(*(case for case in found if case[:2] not in some)),
    ]


@pytest.mark.parametrize(("key", "way", "group", "grid"), pairs())
def test_every_program_and_way(units, key, way, group, grid):
    given, graph, launcher = units[key]
    host = Run(given, graph, way)
    mine = EmulatedRun(launcher, given, graph, way, group, grid, (1, 40, 300)[grid % 3], grid % 2 == 0, far=grid == 4)
    limit = 6 if given.combine.name == "SUM" else 1000
    wanted, got = host.run(limit), mine.run(limit)
    if given.combine.name == "SUM" and wanted.dtype.kind == "f":
        np.testing.assert_allclose(got, wanted, rtol=2e-6 if wanted.dtype == np.float32 else 1e-12)
    else:
        np.testing.assert_array_equal(got.view(np.uint8), wanted.view(np.uint8))
    np.testing.assert_allclose(list(mine.totals.values()), list(host.totals.values()), rtol=1e-6)
    if not mine.code.in_place:
        assert (mine.supersteps, mine.converged) == (host.supersteps, host.converged)
        np.testing.assert_array_equal(mine.active, host.active)
        assert int(mine.edges[0]) == host.edges or given.combine.idempotent
        assert (mine.got == mine.code.identity).all()


@pytest.mark.covering(1)
@pytest.mark.parametrize("columns", [8, 32])
@pytest.mark.parametrize("key", ["bfs", "sssp", "pagerank", *choice.also("sssp_wide", "wcc", *VARIED)])
def test_pages_of_columns(units, key, columns):
    """Every second page is one of columns: what the host makes of rows alone."""
    given, graph, launcher = units[key]
    mixed = graph_of(key, columns)
    limit = 6 if given.combine.name == "SUM" else 1000
    for k, way in enumerate(("push", "pull")):
        wanted = Run(given, graph, way).run(limit)
        mine = EmulatedRun(launcher, given, mixed, way, 8, 2 + k, (1, 40)[k], shuffled=k == 0)
        groups = {int(group) for parts in mine.parts.values() for group in parts[:, 3]}
        assert {COLUMNS + columns, 8, 0} == {group & ~(DENSE | SPLIT) for group in groups}
        got = mine.run(limit)
        if given.combine.name == "SUM" and wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=2e-6 if wanted.dtype == np.float32 else 1e-12)
        else:
            np.testing.assert_array_equal(got.view(np.uint8), wanted.view(np.uint8))


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", ["push", "pull"])
@pytest.mark.parametrize("key", ["sssp", "pagerank", *choice.also("bfs", "wcc")])
def test_lists_that_several_warps_share(units, key, way, monkeypatch):
    monkeypatch.setattr(worklists, "SHARE_PARTS", 1)
    given, graph, launcher = units[key]
    limit = 6 if given.combine.name == "SUM" else 1000
    mine = EmulatedRun(launcher, given, graph, way, WARP_LANES, 5, edges_a_part=1)
    shared = [parts[parts[:, 3] >> SHARES_SHIFT & 255 > 1] for parts in mine.parts.values()]
    assert all(len(parts) for parts in shared)
    if way == "pull" and limit == 6:  # their sums are carried
        pages = graph.into
        assert (mine.parts[id(pages)][carried(mine.parts[id(pages)], pages.first_vertex)[0], 0] < pages.small).any()
    np.testing.assert_allclose(mine.run(limit), Run(given, graph, way).run(limit), rtol=2e-6)


def test_sums_do_not_depend_on_launches_or_cuts_between_slots(units):
    """Blocks, order of parts and batches change nothing: totals and float sums of a pull have the same bits."""
    given, graph, launcher = units["pagerank"]
    runs = [EmulatedRun(launcher, given, graph, "pull", 8, grid, edges_a_part=300) for grid in (1, 2, 7)]
    order = np.random.default_rng(3).permutation(len(runs[2].parts[id(graph.into)]))
    small = runs[2].parts[id(graph.into)][:, 0] < graph.into.small
    order = np.concatenate([order[small[order]], np.flatnonzero(~small)])  # hubs are added up in page order
    runs[2].parts[id(graph.into)] = runs[2].parts[id(graph.into)][order]
    values = {run.run(4).tobytes() for run in runs}
    assert len(values) == 1 and len({tuple(run.totals.values()) for run in runs}) == 1


@pytest.mark.parametrize("way", ["pull", "push"])
def test_slices_and_chunks(units, way):
    """A pull or push by chunks of dst writes only inside, and together they give the whole."""
    given, graph, launcher = units["pagerank"]
    whole, run = (EmulatedRun(launcher, given, graph, way, 4) for _ in range(2))
    whole.run(1)
    run.run(0)
    run.code.set_superstep(1)
    run.bind()
    n, pages = graph.vertices, graph.into if way == "pull" else graph.out
    work = run.parts[id(pages)]
    middle = len(work) // 3  # a launch of some of the parts, then one of the others
    launcher("message_kernel", 2, run.value, 0, run.degrees[0], run.msg, 0, 0, n)
    guarded = np.full(n + 20, 77.0)
    for first in range(0, n, 300):
        last = min(first + 300, n)
        dst, carry = guarded[10 + first : 10 + last], np.zeros(len(work))
        places = np.arange(len(work), dtype=np.uint32)
        dst[:] = 0
        pool = (pages.words, run.code.no_weights, pages.layout.words, 0, 0, 0, pages.first_vertex, work)
        rest = (run.msg, 0, run.degrees[0], run.active, dst, first, last, run.next)
        for some in ((0, middle), (middle, len(work) - middle)):
            assert not run.claims.any()
            if way == "push":
                launcher("push_kernel", 3, *pool, *some, run.claims, *rest, run.edges)
            else:
                only = (run.open, carry, places, first // 3, NOWHERE, 0)
                launcher("pull_kernel", 3, *pool, *some, run.claims, *rest, *only, run.edges)
        if way == "push":
            continue
        launcher("add_hub_sums_kernel", 1, *hub_sums(pages, work, carry), dst, first, last, 0)
    assert (guarded[:10] == 77).all() and (guarded[-10:] == 77).all()
    got = guarded[10:-10].copy()
    arrays = (*run.degrees, run.code.own, run.next, run.partials)
    launcher("apply_kernel", 1, run.value, 0, got, 0, *arrays, NOWHERE, 0, NOWHERE, 0, n, 0, n)
    if way == "pull":
        np.testing.assert_array_equal(run.value, whole.value)
    np.testing.assert_allclose(run.value, whole.value, rtol=1e-6)
    assert not got.any()


def test_sums_go_to_the_owners_of_their_slices(units):
    """Three owners, one of them of nothing: each sum is where its slice is, and nowhere else."""
    given, graph, launcher = units["pagerank"]
    run, n, pages = EmulatedRun(launcher, given, graph, "pull", 4), graph.vertices, graph.into
    run.run(0)
    run.code.set_superstep(1)
    run.bind()
    work = run.parts[id(pages)]
    launcher("message_kernel", 2, run.value, 0, run.degrees[0], run.msg, 0, 0, n)
    pool = (pages.words, run.code.no_weights, pages.layout.words, 0, 0, 0, pages.first_vertex, work, 0, len(work))
    places, cuts, sums = np.arange(len(work), dtype=np.uint32), [n // 3, n // 3, n], []
    for owners in (0, 3):
        got = [np.zeros(n) for _ in range(4)]  # dst, and what the owners have
        slices = np.array([(end, mine.ctypes.data) for end, mine in zip(cuts, got[1:], strict=True)], np.uint64)
        head = (run.msg, 0, run.degrees[0], run.active, got[0], 0, n, run.next, run.open, np.zeros(len(work)))
        launcher("pull_kernel", 3, *pool, run.claims, *head, places, 0, slices, owners, run.edges)
        sums.append(got)
    (whole, *none), (empty, first, nothing, last) = sums
    assert whole[: cuts[0]].any() and whole[cuts[0] :].any()
    assert not any(array.any() for array in (*none, empty, nothing, first[cuts[0] :], last[: cuts[0]]))
    np.testing.assert_array_equal(first + last, whole)


def test_apply_sends_to_all(units):
    """What message_kernel would make of the new values, of those that send, everywhere."""
    given, graph, launcher = units["pagerank"]
    run, n = EmulatedRun(launcher, given, graph, "pull", 4), graph.vertices
    run.run(1)
    run.bind()
    senders, got = n // 2, np.random.default_rng(3).random(n)
    everywhere = [np.full(n, -1, run.msg.dtype) for _ in range(3)]
    addresses, found = np.array([there.ctypes.data for there in everywhere], np.uint64), np.full(1, 7, np.uint64)
    arrays = (*run.degrees, run.code.own, run.next, run.partials, addresses, len(addresses), found, senders)
    before = run.value.copy()
    launcher("apply_kernel", 1, run.value, 0, got, 0, *arrays, n, 64, n)
    assert found[0] - 7 == np.count_nonzero(run.value != before) > 0
    launcher("message_kernel", 1, run.value, 0, run.degrees[0], run.msg, 0, 0, n)
    for there in everywhere:
        np.testing.assert_array_equal(there[64:senders], run.msg[64:senders])
        assert (there[:64] == -1).all() and (there[senders:] == -1).all()


def test_totals_of_several_blocks(units):
    """More than one BLOCK of vertices: partials by block."""
    given, _, launcher = units["pagerank"]
    n = 20_000
    graph = Graph(n, np.arange(n - 1), np.arange(1, n), None)
    host, mine = Run(given, graph, "pull"), EmulatedRun(launcher, given, graph, "pull")
    host.run(1), mine.run(1)
    np.testing.assert_allclose(mine.partials, host.partials, rtol=1e-9)
    np.testing.assert_array_equal(mine.active, host.active)


def test_bitmaps(units):
    _, graph, launcher = units["bfs"]
    rng = np.random.default_rng(5)
    for n, share in ((64, 0.5), (1000, 0.01), (70_000, 0.3), (300_000, 1.0)):
        wanted = np.flatnonzero(rng.random(n) < share).astype(np.uint64)
        bits, count = bitmap(n), np.zeros(2, np.uint64)
        set_bits(bits, wanted)
        launcher("frontier_kernel", 2, bits, len(bits), count, 0, count)
        assert count.tolist() == [len(wanted), 0]
        degree, found, taken = rng.integers(0, 9, n).astype(np.uint32), np.zeros(2, np.uint64), np.empty(2, np.uint64)
        launcher("frontier_kernel", 2, bits, len(bits), degree, 1, found)
        launcher("take_words_kernel", 1, found, taken, 2)
        assert taken.tolist() == [len(wanted), degree[wanted].sum()] and found.tolist() == [0, 0]
    for share in (0.0005, 0.01):
        bits, pages = bitmap(1000), graph.out
        set_bits(bits, np.flatnonzero(rng.random(1000) < share).astype(np.uint64))
        lists, same = (np.zeros(len(pages.words), kind) for kind in (np.uint32, np.int64))
        launcher("count_pages_kernel", 2, bits, pages.first_vertex, pages.last_vertex, len(lists), lists)
        count_pages(bits, pages.first_vertex, pages.last_vertex, same)
        np.testing.assert_array_equal(lists, same)


def test_peers(units):
    for key, merge in (
        ("bfs", np.minimum),
        ("max_floats", np.maximum),
        ("sum_signed", np.add),
        ("joined", np.bitwise_or),
    ):
        given, _, launcher = units[key]
        dtype = EmulatedRun(launcher, given, units[key][1]).code.got_dtype
        copies = [np.random.default_rng(k).integers(0, 1000, 700).astype(dtype) for k in range(3)]
        addresses, mine = np.array([copy.ctypes.data for copy in copies], np.uint64), np.zeros(700, dtype)
        launcher("reduce_kernel", 2, mine, addresses, 3, 700)
        np.testing.assert_array_equal(mine, merge(merge(copies[0], copies[1]), copies[2]))
        launcher("reset_kernel", 2, mine, 700)
        assert (mine == given.identity()).all()
    bits = [np.random.default_rng(k).integers(0, 2**63, 50).astype(np.uint64) for k in range(3)]
    addresses, mine = np.array([copy.ctypes.data for copy in bits], np.uint64), np.zeros(50, np.uint64)
    launcher("merge_bits_kernel", 1, mine, addresses, 3, 50)
    np.testing.assert_array_equal(mine, bits[0] | bits[1] | bits[2])


def test_parts_cover_every_edge_once():
    _, source, target, _ = hub_graph()
    for id_bytes in (4, 8):
        pages = Graph(1000, source, target, None, id_bytes=id_bytes).out
        for edges_a_part in (1, 33, 500, 10**6):
            parts, covered = parts_of(pages, 4, edges_a_part), np.zeros(pages.words.shape, int)
            for row, first, end, _ in parts.tolist():
                if row >= pages.small:
                    covered[row, first:end] += 1
                    continue
                for slot in range(first, end):
                    record = int(pages.words[row, -2 * slot - 1])
                    covered[row, record + 1 : record + 1 + int(pages.words[row, record])] += 1
            assert covered.sum() == len(source) and covered.max() == 1


def test_lanes_of_a_list_by_its_length():
    """Lists that are alike have as many lanes as were measured, others those of the directory, and more if long."""
    alike = {1: 1, 3: 1, 7: 1, 8: 4, 15: 4, 16: 8, 31: 8, 64: 16, 127: 16, 128: 32, 5000: 32}
    records, edges = np.full(len(alike), 10, np.uint32), np.array([10 * mean for mean in alike], np.uint64)
    rows, span = np.zeros(len(alike), np.uint8), np.full(len(alike), 99, np.uint64)

    def given(micro: str, group: int) -> list[int]:
        groups = np.full(len(alike), group, np.uint8)
        return (worklists.micro_groups(micro, records, edges, groups, rows, span) & (DENSE - 1)).tolist()

    assert given("hybrid", 1) == list(alike.values())
    assert given("hybrid", 16) == [max(16, 32 if mean >= 128 else 0) for mean in alike]
    assert given("hybrid", 8) == [8] * 7 + [16, 16, 32, 32]
    assert given("vertex", 1) == [1] * len(alike)


def test_a_compiler_that_fortifies(tmp_path, monkeypatch):
    """As Ubuntu's does unasked: glibc would take it for an attack that fibers jump between stacks, and abort."""
    real, text = shutil.which("g++"), """
        #include "emulate.h"
        __global__ void turns(unsigned* counts) {
            for (unsigned turn = 0; turn < 3; turn++) {
                counts[threadIdx.x] += 1;
                __syncthreads();
            }
        }
        extern "C" unsigned run() {
            unsigned counts[64] = {}, sum = 0;
            const unsigned long long given[] = {(unsigned long long)counts};
            emulated::call(turns, 1, 64, given);
            for (unsigned count : counts) sum += count;
            return sum;
        }"""  # fmt: skip
    (tmp_path / "g++").write_text(f'#!/bin/sh\nexec {real} -D_FORTIFY_SOURCE=2 "$@"\n')
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setattr(compilers, "GXX", (str(tmp_path / "g++"), *compilers.GXX[1:]))
    library = compilers.built_library(text, "-O1")
    call = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).run())"
    done = subprocess.run([sys.executable, "-c", call, library], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "192\n"), done.stderr
