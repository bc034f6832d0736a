"""Translation units: every shipped program compiles for a GPU, with nothing left to call where edges are; the cache."""

from __future__ import annotations

import shutil
import subprocess

import choice
import numpy as np
import pytest
from compilers import CUDA, needs_nvcc
from ptx import read_too_early
from sass import calls, text_sections
from written import VARIED, program

from gstream.cudacode import generate
from gstream.cudacode.generate import UnitShape, sources, unit_of
from gstream.hostcode import GraphShape, compile_host
from gstream.programs import (
    bfs,
    circuit,
    eigenvector,
    heat,
    hits,
    inflow,
    katz,
    neural,
    pagerank,
    reach,
    sketches,
    sssp,
    wcc,
    widest,
)
from pagestore.errors import DeviceMissingError, GstreamError, UsageError

SHIPPED = [bfs.BFS, pagerank.PageRank, pagerank.PageRank64, pagerank.PersonalizedPageRank]
SHIPPED += [pagerank.PersonalizedPageRank64, sssp.SSSP, sssp.SSSP64, sssp.SSSPInteger, sssp.SSSPLong]
SHIPPED += [wcc.WCC, wcc.WCC64, katz.Katz, eigenvector.Eigenvector, hits.Authorities, hits.Hubs]
SHIPPED += [widest.Widest, widest.WidestInteger, reach.Reach, sketches.Sketches]
SHIPPED += [inflow.Inflow, neural.Neural, heat.Heat, circuit.Circuit]
EDGE_KERNELS = ("push_kernel", "pull_kernel", "pull_heads_kernel")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of this test's own."""
    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A folder that nvcc leaves the PTX of the last unit in."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setattr(generate, "OPTIONS", (*generate.OPTIONS, "-keep", "-keep-dir", str(folder)))
    return folder


def check(unit, cache, kept):
    cubin = unit.compile("sm_90")
    assert cubin.parent == cache and set(text_sections(cubin)) == set(unit.kernels)
    assert read_too_early((kept / "unit.ptx").read_text()) == {name: [] for name in unit.kernels}
    return {name: count for name, count in calls(cubin).items() if count}


@needs_nvcc
@pytest.mark.parametrize("k", choice.seeds(1, range(len(SHIPPED))), ids=[cls.__name__ for cls in SHIPPED])
def test_shipped_programs(cache, kept, k):
    weights = {"SSSP64": "f4", "SSSPInteger": "u1", "SSSPLong": "u4", "WidestInteger": "i4"}.get(
        SHIPPED[k].__name__, "f4"
    )
    ids = "u8" if SHIPPED[k].__name__.endswith(("64", "Long")) else "u4"
    unit = unit_of(SHIPPED[k], UnitShape(np.dtype(ids), np.dtype(weights), np.dtype("u8" if k % 4 == 3 else "u4")))
    called = check(unit, cache, kept)
    # what start, message and apply call is CUDA's own slow path of a division, and no method of the program
    assert not set(called) & set(EDGE_KERNELS), called


@needs_nvcc
@pytest.mark.parametrize("key", ["joined", *choice.also("max_floats", "sum_weights")])
def test_other_monoids(cache, kept, tmp_path, key):
    declared, weights = VARIED[key]
    called = check(unit_of(program(tmp_path, **declared), UnitShape(np.dtype("u4"), np.dtype(weights))), cache, kept)
    assert key == "sum_weights" or not set(called) & set(EDGE_KERNELS), called  # that one divides at every edge


@needs_nvcc
@pytest.mark.skipif(shutil.which("cuobjdump") is None, reason="no cuobjdump: install the CUDA toolkit's")
def test_calls_are_what_cuobjdump_shows(cache):
    cubin = unit_of(pagerank.PageRank, UnitShape(np.dtype("u4"))).compile("sm_90")
    shown = subprocess.run(["cuobjdump", "-sass", str(cubin)], capture_output=True, text=True, check=True).stdout
    blocks = {block.split()[0]: block for block in shown.split("Function : ")[1:]}
    assert calls(cubin) == {name: block.count("CALL.") for name, block in blocks.items()}
    assert sum(calls(cubin).values()) > 0


LOOP = """.entry turns(
\t.param .u64 words
)
{
\t.reg .b32 %r<4>;
\tmov.u32 %r1, 0;
\tmov.u32 %r2, %tid.x;
$L_turn:
\t@%p1 st.global.u32 [%rd1], %r3;
\tadd.s32 %r3, %r2, 4;
\tsetp.lt.u32 %p1, %r3, %r1;
\t@%p1 bra $L_turn;
\tret;
}
"""


def test_what_is_read_before_it_is_written_is_found():
    assert read_too_early(LOOP) == {"turns": ["@%p1 st.global.u32 [%rd1], %r3;"]}
    before = LOOP.replace(
        "$L_turn:", "ld.param.u64 %rd1, [words]; \n\tadd.s32 %r3, %r1, 1;\n\tsetp.eq.u32 %p1, %r3, 1;\n$L_turn:"
    )
    assert read_too_early(before) == {"turns": []}


@needs_nvcc
def test_second_compilation_is_the_cache(cache, monkeypatch):
    unit = unit_of(bfs.BFS, UnitShape(np.dtype("u4")))
    first = unit.compile("sm_90")
    monkeypatch.setattr(generate, "_run_nvcc", None)
    assert unit.compile("sm_90") == first and [path.suffix for path in cache.iterdir()] == [".cubin"]


@needs_nvcc
def test_text_that_nvcc_refuses(cache):
    unit = unit_of(bfs.BFS, UnitShape(np.dtype("u4")))
    broken = generate.Unit(unit.program, unit.text + "\nint nonsense = undeclared;\n", unit.kernels, unit.context_bytes)
    with pytest.raises(GstreamError, match=r"\.cu: nvcc does not compile it for sm_90: .*undeclared") as caught:
        broken.compile("sm_90")
    assert not list(cache.glob("*.cubin")) and "report this file" in str(caught.value)


def test_without_nvcc(cache, monkeypatch):
    generate.find_nvcc.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(DeviceMissingError, match="nvcc: not found, .*Install the CUDA toolkit") as caught:
        unit_of(bfs.BFS, UnitShape(np.dtype("u4"))).compile("sm_90")
    assert caught.value.exit_code == 3
    generate.find_nvcc.cache_clear()


def test_weights_are_needed():
    with pytest.raises(UsageError, match="SSSP: reads e.weight, but the graph has no weights. Convert"):
        unit_of(sssp.SSSP, UnitShape(np.dtype("u4")))


def test_units_are_self_contained_and_of_their_graph():
    small = unit_of(pagerank.PageRank, UnitShape(np.dtype("u4")))
    wide = unit_of(pagerank.PageRank, UnitShape(np.dtype("u8"), np.dtype("f4")))
    assert '#include "' not in small.text and "typedef u32 Word;" in small.text and "typedef u64 Word;" in wide.text
    assert "typedef u8 Weight;" in wide.text  # what a program does not read makes no other code
    assert small.text.index("namespace program") < small.text.index("push_kernel")
    assert "pull_heads_kernel" not in small.kernels
    assert "pull_heads_kernel" in unit_of(bfs.BFS, UnitShape(np.dtype("u4"))).kernels
    assert sources() == CUDA


def test_arguments_are_eight_bytes_and_context_is_the_hosts():
    unit = unit_of(pagerank.PageRank, UnitShape(np.dtype("u4")))
    code = compile_host(pagerank.PageRank(), GraphShape(10, 20, np.dtype("u4")))
    assert unit.context_bytes == code.ints.nbytes + code.floats.nbytes
    for kernel in unit.kernels.values():
        assert all(kind.endswith("*") or kind in ("u64", "Context") for kind, _ in kernel.arguments), kernel
        assert "Context" not in [kind for kind, _ in kernel.arguments[:-1]]
    assert unit.kernels["message_kernel"].packing(56) == "PQPPQQQ56s"
    assert [unit.kernels[f"{name}_kernel"].threads for name in ("push", "apply")] == [256, 512]
    assert unit.kernels["push_kernel"].arguments[0] == ("const Word*", "words")
