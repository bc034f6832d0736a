"""`gstream show`: the generated code on the terminal, which is what devices compile."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from entry_runs import make_path as make_acyclic
from record_graphs import ASKED, make_path
from test_record_units import shipped

import gstream
from gstream.algorithms.cuda_units import units_of
from gstream.algorithms.registry import ALGORITHMS
from gstream.cli.commands import run_command_line
from gstream.cudacode.generate import unit_of_rows
from gstream.devices.gpu import driver as cuda

MINE = """from gstream.language.program import *

class Twice(Program):
    combine, value = MAX, u32
    factor: int = 2
    def start(self, v, g): return v.id
    def send(self, u, e, g): return u.value * self.factor
"""
EITHER = ("betweenness", "cdlp", "coloring", "cross", "degrees", "hyperball", "kcore", "lcc", "mis",
          "modularity", "scc", "stats", "subgraph")  # fmt: skip
OF_RUNS = {"wcc", "hcc", "leiden", "louvain", "stats"}  # whose proofs are the cores', or sweep with the kernels of runs
USUAL = dict.fromkeys(("hyperball", "stats"), {"log2m": 7})  # other counters are other vectors, so other units
CASES = {  # kinds of graphs, all of 4-byte IDs: (algorithm, what it is asked beside ASKED)
    "directed": [
        *((name, USUAL.get(name, {})) for name in (*EITHER, "bfs", "sssp", "egonet")),
        ("khop", {"source": 3, "radius": 2, "undirected": True}),
        ("closeness", {"k": 3}),
        ("widest", {"source": 3}),
        ("cross", {"targets": range(1, 400, 5)}),
    ],
    "columns": [
        *((name, USUAL.get(name, {})) for name in (*EITHER, "triangles", "msf", "ktruss")),
        ("kcore", {"k": 3}),
        ("ktruss", {"k": 9}),
    ],
    "acyclic": [("levels", {}), ("levels", {"weighted": True})],
}


def shown(capsys, *arguments):
    capsys.readouterr()
    code = run_command_line(["show", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("algorithm", [name for name, entry in ALGORITHMS.items() if entry.program])
def test_every_program(capsys, algorithm):
    for option, words in (("--host", ("def send(", "def pull_kernel(")), ("--cuda", ("u32 send(", "pull_kernel("))):
        code, out, _ = shown(capsys, algorithm, option)
        assert code == 0 and words[1] in out and words[0].split()[-1] in out
    assert shown(capsys, algorithm)[1] == shown(capsys, algorithm, "--host")[1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("types", [(), ("--id-bytes", "8", "--weights", "u1")])
def test_every_algorithm_for_gpus(capsys, algorithm, types):
    """Each unit below its comment, as it is."""
    code, out, error = shown(capsys, algorithm, "--cuda", *types)
    units = list(
        units_of(ALGORITHMS[algorithm], np.dtype("<u8" if types else "<u4"), np.dtype("u1" if types else "f4"))
    )
    assert code == 0 and error == "" and units
    for number, (said, unit) in enumerate(units, 1):
        assert said.startswith(f"// {algorithm}, unit {number} of {len(units)}") and said.count("\n") > 1
        assert all(line.startswith("// ") and len(line) <= 120 for line in said.splitlines())
        assert out.startswith(said + unit.text)
        out = out.removeprefix(said + unit.text).removeprefix("\n")
    assert out == ""


def test_every_kernel_is_shown():
    proved = {name for name, entry in ALGORITHMS.items() if entry.proof_units}
    assert proved == {name for name, entry in ALGORITHMS.items() if entry.proof} - OF_RUNS
    said = ""
    for name, entry in ALGORITHMS.items():
        units = list(units_of(entry, np.dtype("<u4"), np.dtype("f4")))
        assert len({unit.text for _, unit in units}) == len(units), name
        said += " ".join("".join(comment for comment, _ in units).replace("\n// ", " ").split()) + " "
    for kernel in shipped():
        assert f" kernel {kernel.name} of {kernel.module.replace('.', '/')}.py " in said


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Path of a store of each kind, all of 4-byte IDs."""
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in CASES}
    return {
        kind: make_acyclic(folder, kind, 1500, 9000) if kind == "acyclic" else make_path(folder, kind, 400, 7000, 4096)
        for kind, folder in folders.items()
    }


@pytest.mark.long
@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize(("kind", "name", "own"), [(kind, *case) for kind, cases in CASES.items() for case in cases])
def test_what_runs_compile_is_shown(paths, kind, name, own, monkeypatch):
    compiled, load = set(), cuda.Gpu.load

    def loaded(gpu, unit):
        compiled.add(unit.text)
        return load(gpu, unit)

    monkeypatch.setattr(cuda.Gpu, "load", loaded)
    with gstream.open(paths[kind]) as graph:
        weight = graph.engine().graph.tables["out"].weight_dtype
        units = {unit.text for _, unit in units_of(ALGORITHMS[name], np.dtype("<u4"), weight)} | {unit_of_rows().text}
        graph.execute(name, ASKED.get(name, {}) | own, certify=bool(ALGORITHMS[name].proof), devices="cuda")
    assert compiled and compiled <= units


def test_own_program(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    code, out, _ = shown(capsys, f"{tmp_path}/mine.py:Twice", "--cuda", "--id-bytes", "8")
    assert code == 0 and "typedef u64 Word;" in out and "wrap_mul(i64(u_value), ctx.p_factor)" in out
    code, out, _ = shown(capsys, "sssp", "--cuda", "--weights", "u1")
    assert "typedef u8 Weight;" in out and "program SSSPInteger " in out


@pytest.mark.parametrize("algorithm", [name for name, entry in ALGORITHMS.items() if not entry.program])
def test_page_kernels_are_no_programs(capsys, algorithm):
    code, out, err = shown(capsys, algorithm)
    assert code == 2 and out == "" and f"{algorithm}: runs no program whose code could be shown" in err


def test_components_show_their_page_kernels(capsys):
    assert "link_pages_kernel(" in shown(capsys, "wcc", "--cuda")[1]


def test_what_it_refuses(capsys):
    assert shown(capsys, "bfs", "--id-bytes", "5")[0] == 2
    code, _, error = shown(capsys, "sssp", "--weights", "f8")
    assert code == 2 and error.startswith("--weights f8: stores have weights of u1, i4, u4, f4.")
    code, _, error = shown(capsys, "degrees")
    assert code == 2 and error.startswith("degrees: runs no program whose code could be shown.")
    code, _, error = shown(capsys, "nonsense", "--cuda")
    assert code == 2 and "no such algorithm" in error
