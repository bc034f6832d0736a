"""Machine code is made once: a second process compiles nothing; a folder that can't be written still works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import choice
import numpy as np
import pytest

from gstream.hostcode import GraphShape, compile_host
from gstream.programs.wcc import WCC

SCRIPT = """
import sys
import numpy as np
from stepping import Graph, Run
from gstream.hostcode.generate import cache_folder
from gstream.programs.pagerank import PageRank
graph = Graph(50, np.arange(49), np.arange(1, 50), None)
run = Run(PageRank(), graph, "pull")
run.run(int(sys.argv[1]))
print(run.code.compiled(), cache_folder(), run.value.sum())
"""


def start(folder: Path, supersteps: int = 0) -> subprocess.Popen:
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parents[1])])
    given = {**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONPATH": paths}
    given.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", SCRIPT, str(supersteps)]
    return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen):
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    compiled, folder, total = out.split()
    return int(compiled), Path(folder), float(total)


def test_second_process_compiles_nothing(tmp_path):
    first, second = finish(start(tmp_path, 1)), finish(start(tmp_path, 1))
    assert first[0] == 4 and second[0] == 0  # start, message, pull, apply
    assert first[1] == second[1] == tmp_path / "gstream" / "programs" and first[2] == second[2]
    assert len(list(second[1].glob("*.py"))) == 1 and not list(second[1].glob("*.tmp"))
    path = next(second[1].glob("*.py"))
    path.write_text(path.read_text()[:1000])  # damaged: written again
    assert finish(start(tmp_path))[2] == pytest.approx(1) and len(path.read_text()) > 1000


@pytest.mark.long
def test_two_processes_at_once(tmp_path):
    results = [finish(process) for process in [start(tmp_path), start(tmp_path)]]
    assert results[0][2] == results[1][2]


@pytest.mark.parametrize("kind", ["read-only", *choice.also("file")])
def test_cache_folder_that_cannot_be_written(tmp_path, kind):
    folder = tmp_path / "cache"
    if kind == "file":
        folder.write_text("in the way")
    else:
        folder = Path("/proc/self")  # where root can make nothing either
    compiled, used, _ = finish(start(folder))
    assert compiled == 1 and tmp_path not in used.parents
    assert not used.exists()  # the temporary folder goes with the process


def test_same_program_same_module():
    shape = GraphShape(10, 10, np.dtype("u4"))
    assert compile_host(WCC(), shape).module is compile_host(WCC(), GraphShape(99, 5, np.dtype("u8"))).module
