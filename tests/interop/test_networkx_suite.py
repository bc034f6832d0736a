"""NetworkX's own suite through the backend: no test fails, and as many as were counted reach gstream.

FOLDERS: the least number of tests of each folder in which a function of ours ran, with NetworkX 3.6.1. Left out are
`algorithms/isomorphism`, whose searches over all trees call NetworkX for minutes while few of them reach gstream, and
`drawing` and `algorithms/operators`, of which no test does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import choice
import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]
NETWORKX = Path(nx.__file__).parent
COUNTED = nx.__version__.startswith("3.6.")  # a version that FOLDERS counts; the tests of others are others
ELSEWHERE = 0.9  # part of these numbers that other versions reach: flow 19 of 21 with 3.7
# In "some": of the version that the rest of the tests goes by little, of others what calls functions of ours most.
SHARE = ("algorithms/traversal",) if COUNTED else (
    "algorithms/traversal", "algorithms/components", "algorithms/link_analysis", "algorithms/coloring",
    "algorithms/centrality", "algorithms/shortest_paths", "algorithms/tests", "linalg",
)  # fmt: skip
# There without tests that take minutes, while others call the same functions.
LONG = "use_bounds_on_off_consistency or smallworld or asteroidal or chordal"
FOLDERS = {
    "algorithms/components": 29, "algorithms/link_analysis": 15, "algorithms/traversal": 6,
    "algorithms/assortativity": 16, "algorithms/bipartite": 99, "algorithms/centrality": 220,
    "algorithms/coloring": 2, "algorithms/community": 37, "algorithms/shortest_paths": 31, "algorithms/tree": 95,
    "algorithms/tests": 1019, "algorithms/flow": 21, "algorithms/minors": 1, "algorithms/connectivity": 95,
    "algorithms/approximation": 44, "linalg": 88, "tests": 55, "utils": 3, "generators": 114, "readwrite": 31,
    "classes": 20,
}  # fmt: skip


LEAST = 1985  # of all together
LEAST_OF_SHARE = 500  # of algorithms/tests without LONG


def run_suite(path: str, folder: Path, left_out: str = "") -> tuple[subprocess.CompletedProcess, int]:
    """(the run, tests that reached gstream) of a folder of NetworkX, by this checkout's code. left_out: what names of
    tests that are not run have, as pytest's -k takes it."""
    counted, settings = folder / "reached", folder / "pytest.ini"
    settings.write_text("[pytest]\n")  # those of a checkout above NetworkX's folder would put its code first
    environment = os.environ | {
        "NETWORKX_TEST_BACKEND": "gstream", "NETWORKX_FALLBACK_TO_NX": "1", "GSTREAM_REACHED": str(counted),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "reached", "-p", "no:cacheprovider", "-n", "0"]
    command += ["-c", str(settings), f"--rootdir={folder}", str(NETWORKX / path)]
    command += ["-k", f"not ({left_out})"] if left_out else []
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return run, int(counted.read_text().split()[1]) if counted.exists() else 0


@pytest.mark.timeout(2400)  # algorithms/tests has 500 cases of one test: 900 s on two busy cores are too few
@pytest.mark.parametrize(
    "folder", [folder if folder in SHARE else pytest.param(folder, marks=pytest.mark.long) for folder in FOLDERS]
)
def test_networkx_s_own_suite(folder: str, tmp_path: Path) -> None:
    installed = [point.name for point in entry_points(group="networkx.backends")]
    assert "gstream" in installed, "NetworkX finds backends by entry points. Install gstream, as `make test` does."
    left_out = LONG if choice.MODE == "some" and folder == "algorithms/tests" else ""
    run, reached = run_suite(folder, tmp_path, left_out)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    least = LEAST_OF_SHARE if left_out else FOLDERS[folder]
    assert reached >= least * (1 if COUNTED else ELSEWHERE)


def test_the_whole_suite_reaches_gstream_often_enough() -> None:
    assert sum(FOLDERS.values()) >= LEAST
