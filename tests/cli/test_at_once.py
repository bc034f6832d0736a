"""Commands that are given at once: on one store, or to one name. Each is right, or says what is in its way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gstream
from pagestore import open_store
from pagestore.edgelist import write_edge_list
from pagestore.export import export_edges
from pagestore.generate import rmat
from pagestore.verify import verify
from tests.cli.command import Done, run, start

WAITED_S = 600
GRAPHS = {"a": (400, 3000), "b": (300, 9000)}  # vertices, edges


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two graphs as text and as stores of several pages; c, long to convert."""
    folder = tmp_path_factory.mktemp("inputs")
    for seed, (name, (vertices, edges)) in enumerate(GRAPHS.items()):
        ends = np.random.default_rng(seed).integers(0, vertices, (edges, 2))
        np.savetxt(folder / f"{name}.txt", ends, "%d")
        assert run("convert", f"{name}.txt", f"{name}.gs", "--page-size", "4KiB", cwd=folder).returncode == 0
    np.save(folder / "c.npy", np.random.default_rng(9).integers(0, 1 << 20, (1 << 20, 2)))
    return folder


@pytest.fixture
def folder(tmp_path: Path, inputs: Path) -> Path:
    for path in inputs.iterdir():
        os.link(path, tmp_path / path.name)
    return tmp_path


def ends(processes: list[subprocess.Popen[str]]) -> list[Done]:
    """Wait for all; their codes and what they said."""
    told = [process.communicate(timeout=WAITED_S) for process in processes]
    return [Done(process.returncode, *said) for process, said in zip(processes, told, strict=True)]


def edges_in(store: Path) -> int:
    """Edges of a store that is whole."""
    assert verify(store).ok
    with open_store(store) as opened:
        return opened.meta.edges


def appears(folder: Path, pattern: str, process: subprocess.Popen[str]) -> None:
    """Wait for a file that a process makes."""
    until = time.monotonic() + WAITED_S
    while not list(folder.glob(pattern)):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)


def partial_in(folder: Path) -> list[str]:
    """What an unfinished command has left."""
    return [name for name in os.listdir(folder) if "partial" in name]


@pytest.mark.long
def test_runs_on_one_store(folder: Path) -> None:
    """The same answers as one after the other; of two that are written to one file it holds one, whole."""
    before = (folder / "a.gs").read_bytes()
    commands = [("wcc", "0.csv"), ("wcc", "1.csv"), ("degrees", "2.csv"), ("wcc", "one.csv"), ("degrees", "one.csv")]
    with gstream.open(folder / "a.gs") as graph:
        graph.wcc().write(folder / "wcc.csv")
        graph.degrees().write(folder / "degrees.csv")
    done = ends([start("run", name, "a.gs", "-o", out, "--force", cwd=folder) for name, out in commands])
    assert [ended.returncode for ended in done] == [0] * len(commands), done
    wcc, degrees = (folder / "wcc.csv").read_bytes(), (folder / "degrees.csv").read_bytes()
    assert [(folder / f"{number}.csv").read_bytes() for number in range(3)] == [wcc, wcc, degrees]
    assert (folder / "one.csv").read_bytes() in (wcc, degrees)
    assert (folder / "a.gs").read_bytes() == before and not partial_in(folder)


@pytest.mark.parametrize("cache", ["auto", "0"])
def test_a_store_that_is_replaced_under_a_run(folder: Path, cache: str) -> None:
    """The run ends with the old graph's answer, from pages that it reads after the store has lost its name, too."""
    done = []

    def replaces(number: int, step: Any) -> None:
        if not done:
            done.append(run("convert", "b.txt", "a.gs", "--force", "--page-size", "4KiB", cwd=folder))

    answers = []
    for progress in (None, replaces, None):
        with gstream.open(folder / "a.gs", progress=progress, cache=cache) as graph:
            answers.append((graph.pagerank(iterations=5).to_numpy(), graph.degrees().to_numpy()))
    assert done[0].returncode == 0, done
    (rank, degrees), (late_rank, late_degrees), (_, new_degrees) = answers
    np.testing.assert_allclose(late_rank["pagerank"], rank["pagerank"], rtol=1e-6)
    assert late_degrees.tobytes() == degrees.tobytes() != new_degrees.tobytes()
    assert edges_in(folder / "a.gs") == 9000


def test_conversions_to_one_name_that_start_at_once(folder: Path) -> None:
    """One makes the store; the other says that it is there, or that it is being written."""
    done = ends([start("convert", f"{name}.txt", "new.gs", "--json", cwd=folder) for name in GRAPHS])
    won = [ended for ended in done if ended.returncode == 0]
    lost = [ended for ended in done if ended.returncode == 2]
    assert (len(won), len(lost)) == (1, 1), done
    said = ("new.gs: exists. Pass --force", "new.gs: another conversion is writing it now. Wait for it to end")
    assert lost[0].stderr.startswith(said) and lost[0].stderr.count("\n") == 1
    assert json.loads(won[0].stdout)["out_edges"] == edges_in(folder / "new.gs")
    assert not partial_in(folder)


def test_a_store_that_is_made_while_a_conversion_waits_to_begin(folder: Path) -> None:
    """What was not there when it was asked for is not replaced without --force either."""
    slow = start("convert", "-", "new.gs", "--format", "text", cwd=folder)
    appears(folder, "new.gs.*.reading.partial.d", slow)  # it has found no store there, and reads
    assert run("convert", "a.txt", "new.gs", cwd=folder).returncode == 0
    told = slow.communicate("1 2\n", timeout=WAITED_S)
    assert (slow.returncode, *told) == (2, "", "new.gs: exists. Pass --force to replace it, or another name.\n")
    assert edges_in(folder / "new.gs") == 3000 and not partial_in(folder)


def test_a_conversion_to_a_name_that_is_being_written(folder: Path) -> None:
    slow = start("convert", "c.npy", "new.gs", cwd=folder)
    appears(folder, "new.gs.partial.d/lock", slow)
    inode = (folder / "new.gs.partial.d/lock").stat().st_ino
    while f":{inode} " not in Path("/proc/locks").read_text():  # the file is there a moment before its lock
        assert slow.poll() is None
    os.kill(slow.pid, signal.SIGSTOP)
    try:
        second = run("convert", "a.txt", "new.gs", "--force", cwd=folder)
    finally:
        os.kill(slow.pid, signal.SIGCONT)
    said = "new.gs: another conversion is writing it now. Wait for it to end, or write to another name.\n"
    assert (second.returncode, second.stdout, second.stderr) == (2, "", said)
    assert ends([slow])[0].returncode == 0
    assert edges_in(folder / "new.gs") == 1 << 20 and not partial_in(folder)


@pytest.mark.long
def test_exports_to_one_name_that_start_at_once(folder: Path) -> None:
    """The file is one of the two, whole; each says how many edges it wrote itself."""
    whole = []
    for name in GRAPHS:
        with open_store(folder / f"{name}.gs") as store:
            export_edges(store, str(folder / f"{name}.csv"))
        whole.append((folder / f"{name}.csv").read_bytes())
    done = ends([start("export", f"{name}.gs", "one.csv", "--force", "--json", cwd=folder) for name in GRAPHS])
    assert [json.loads(ended.stdout)["edges"] for ended in done] == [3000, 9000], done
    assert (folder / "one.csv").read_bytes() in whole and not partial_in(folder)


def test_edge_lists_to_one_name_that_start_at_once(folder: Path) -> None:
    whole = []
    for scale in (8, 10):
        write_edge_list(rmat(scale), folder / f"{scale}.npy")
        whole.append((folder / f"{scale}.npy").read_bytes())
    given = ("generate", "rmat", "one.npy", "--force", "--json", "--scale")
    done = ends([start(*given, scale, cwd=folder) for scale in (8, 10)])
    assert [json.loads(ended.stdout)["bytes"] for ended in done] == [len(data) for data in whole], done
    assert (folder / "one.npy").read_bytes() in whole and not partial_in(folder)
