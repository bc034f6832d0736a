"""A graph of WebGraph by the documented pipe: a stand-in writes the arcs of a graph as `webgraph to arcs` does."""

from __future__ import annotations

import os
import subprocess
import sys

import gstream as library
from tests.cli.command import ROOT

STAND_IN = """#!{python}
import sys

assert sys.argv[1:3] == ["to", "arcs"], sys.argv
nodes = int(open(sys.argv[3] + ".properties").read().split("nodes=")[1].split()[0])
for source in range(nodes):
    for target in range(source + 1, nodes, source + 2):
        print(source, target, sep="\\t")
"""


def test_arcs_from_a_pipe(tmp_path):
    (tmp_path / "webgraph").write_text(STAND_IN.format(python=sys.executable))
    (tmp_path / "webgraph").chmod(0o755)
    (tmp_path / "g.properties").write_text("#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes=40\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = f"set -o pipefail; webgraph to arcs g | {sys.executable} -m gstream convert - web.gs --num-vertices 40"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    graph = library.open(tmp_path / "web.gs")
    due = [(u, v) for u in range(40) for v in range(u + 1, 40, u + 2)]
    assert len(graph) == 40 and [(u, v) for u in range(40) for v in sorted(graph.neighbors(u))] == due


def test_the_graph_itself_is_refused_with_the_pipe(tmp_path, gstream):
    (tmp_path / "g.properties").write_text("#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nnodes=40\n")
    (tmp_path / "g.graph").write_bytes(b"\x9c\x01\x02\x03")
    for name in ("g.properties", "g.graph"):
        done = gstream("convert", tmp_path / name, "web.gs")
        assert done.returncode == 4 and "webgraph to arcs NAME | gstream convert - STORE" in done.stderr, done.stderr
