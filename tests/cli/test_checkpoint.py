"""`gstream run --checkpoint`: what is said, what is refused, and what signals leave."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import choice
import pytest

from gstream.cli import failures
from gstream.options.stopping import StopRequest
from tests.cli.command import ENDLESS, PROGRAM, Command, start

WAIT_SECONDS = 600.0
TOLERANT = """from gstream import SUM, Program, f64, total

class Sums(Program):
    combine, value = SUM, f64
    share: float = 0.1
    enough: float = 1e-3

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return 1 + self.share * got

    def halt(self, g):
        return g.moved < self.enough

    @total
    def moved(self, v):
        return abs(v.value - v.before)
"""


def test_resume_says_where_it_went_on(tmp_path: Path, store: Path, gstream: Command) -> None:
    command = ["run", "pagerank", store, "--checkpoint", "kept", "--checkpoint-every", "2"]
    done = gstream(*command, "--iterations", "5")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^checkpoints +3 in kept, [\d.]+ KiB in ", done.stdout, re.MULTILINE)
    assert "resumed" not in done.stdout
    assert sorted(os.listdir("kept")) == ["slot-0", "slot-1"]
    done = gstream(*command, "--iterations", "9", "--resume", "--devices", "fake:1:2", "--json")
    found, expected = (
        json.loads(done.stdout),
        json.loads(gstream("run", "pagerank", store, "--iterations", "9", "--json").stdout),
    )
    assert found["stats"]["kept"]["resumed"] == 5
    assert found["supersteps"] == 9 and len(found["stats"]["per_superstep"]) == 4
    for row, wanted in zip(found["top"], expected["top"], strict=True):
        assert row == {"vertex": wanted["vertex"], "pagerank": pytest.approx(wanted["pagerank"], rel=1e-6)}
    done = gstream(*command, "--iterations", "9", "--resume")
    resumed = r"\nresumed +after superstep 9, from kept/slot-\d, which holds PageRank's values; times, pages and edges "
    resumed += "are of what came then\n"
    assert re.search(resumed, done.stdout) and "\ncheckpoints " not in done.stdout
    newest = re.search(r"kept/slot-\d", done.stdout).group()  # type: ignore[union-attr]
    Path(newest).write_bytes(b"")
    done = gstream(*command, "--iterations", "9", "--resume")
    assert f"; the newer one was damaged: {newest} is cut or no checkpoint" in done.stdout
    for name in os.listdir("kept"):
        Path("kept", name).write_bytes(b"")
    done = gstream(*command, "--iterations", "9", "--resume")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("--checkpoint kept: no checkpoint can be read: kept/slot-0 is cut or no checkpoint; ")
    done = gstream(*command, "--iterations", "9", "--force")
    assert done.returncode == 0 and "resumed" not in done.stdout


@pytest.mark.long
@pytest.mark.longer
def test_a_run_that_is_gone_on_with_may_end_elsewhere(tmp_path: Path, store: Path, gstream: Command) -> None:
    """--tol, --iterations and --max-iter may be others, or left out; what the answer means may not."""
    cases = (
        ("pagerank", (["--tol", "1e-3"], [], ["--iterations", "40"], ["--tol", "1e-9", "--max-iter", "90"])),
        ("katz", (["--tol", "1e-3"], ["--max-iter", "900"], ["--tol", "1e-8"])),
        ("eigenvector", (["--tol", "1e-3"], ["--max-iter", "900"])),
    )
    for algorithm, ends in choice.few(cases[:1], cases):
        folder, supersteps = f"kept-{algorithm}", [0]
        for given in ends:
            command = ["run", algorithm, store, "--checkpoint", folder, "--checkpoint-every", "1", "--json", *given]
            done = gstream(*command, *(["--resume"] if supersteps[1:] else []))
            assert done.returncode == 0, (given, done.stderr)
            found = json.loads(done.stdout)
            assert supersteps[1:] == [] or found["stats"]["kept"]["resumed"] == supersteps[-1]
            alone = json.loads(gstream("run", algorithm, store, "--json", *given).stdout)
            assert found["supersteps"] == max(supersteps[-1], alone["supersteps"]), given
            supersteps.append(found["supersteps"])
    done = gstream("run", "pagerank", store, "--checkpoint", "kept-pagerank", "--alpha", "0.5", "--resume")
    assert "its checkpoint is of a run with alpha=0.85; this one has alpha=0.5. " in done.stderr
    (tmp_path / "sums.py").write_text(TOLERANT)
    command = ["run", "sums.py:Sums", store, "--checkpoint", "own", "--checkpoint-every", "1", "--resume", "--param"]
    for given in ("enough=0.1", "enough=1e-6"):
        assert gstream(*command, given).returncode == 0
    assert "its checkpoint is of a run with share=0.1; this one has share=0.2." in gstream(*command, "share=0.2").stderr


def test_nothing_to_go_on_from_is_said(store: Path, gstream: Command) -> None:
    done = gstream("run", "bfs", store, "--source", "1", "--checkpoint", "kept", "--resume", "-o", "a.csv")
    assert done.returncode == 0
    assert "--resume: kept held no checkpoint; the run began at its start.\n" in done.stderr


def test_a_folder_that_nothing_was_kept_in_goes_if_it_was_made(store: Path, gstream: Command) -> None:
    command = ["run", "bfs", store, "--source", "1", "--checkpoint", "kept"]
    assert gstream(*command).returncode == 0
    assert gstream(*command, "--source", "77").returncode == 2
    assert not os.path.exists("kept")
    os.mkdir("kept")
    assert gstream(*command).returncode == 0
    assert os.listdir("kept") == []


def test_force_replaces_a_file_and_resume_still_resumes(store: Path, gstream: Command) -> None:
    command = ["run", "bfs", store, "--source", "1", "--checkpoint", "kept", "--checkpoint-every", "1", "-o", "a.csv"]
    assert gstream(*command).returncode == 0
    done = gstream(*command)
    assert (done.returncode, done.stderr) == (2, "a.csv: exists. Pass --force to replace it, or another name.\n")
    answer = Path("a.csv").read_text()
    done = gstream(*command, "--force", "--resume")
    assert done.returncode == 0 and "resumed" in done.stdout
    assert Path("a.csv").read_text() == answer
    done = gstream(*command, "--force")
    assert done.returncode == 0 and "resumed" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bfs", "--source", "1", "--resume"], "--resume: is about checkpoints. Pass --checkpoint FOLDER too.\n"),
        (
            ["bfs", "--checkpoint-every", "5"],
            "--checkpoint-every: is about checkpoints. Pass --checkpoint FOLDER too.\n",
        ),
        (
            ["bfs", "--checkpoint", "kept", "--checkpoint-every", "soon"],
            "--checkpoint-every soon: must be supersteps, as 10, or a time, as 30s, 5m or 1h.\n",
        ),
        (["bfs", "--source", "1", "--checkpoint", "edges.txt"], "--checkpoint edges.txt: File exists. Name a folder, "),
        (["bfs", "--source", "1", "--checkpoint", "no/such"], "--checkpoint no/such: No such file or directory. Name "),
        (["degrees", "--checkpoint", "kept"], "--checkpoint: degrees has nothing between two sweeps from which it"),
        (["least.py:Least", "--checkpoint", ""], "--checkpoint: names no folder. Pass one, as --checkpoint kept.\n"),
    ],
)
def test_refusals(tmp_path: Path, store: Path, gstream: Command, arguments: list[str], message: str) -> None:
    (tmp_path / "least.py").write_text(PROGRAM)
    before = sorted(os.listdir(tmp_path))
    done = gstream("run", arguments[0], store, *arguments[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before


def test_a_program_of_ones_own(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "least.py").write_text(PROGRAM)
    command = ["run", "least.py:Least", store, "--checkpoint", "kept", "--checkpoint-every", "1", "--resume"]
    assert gstream(*command, "--param", "bias=2").returncode == 0
    done = gstream(*command, "--param", "bias=3")
    assert "its checkpoint is of a run with bias=2; this one has bias=3." in done.stderr
    (tmp_path / "least.py").write_text(PROGRAM.replace("v.id + self.bias", "v.id + self.bias + 0 * v.id"))
    done = gstream(*command, "--param", "bias=2")
    assert "its checkpoint is of Least, whose text has changed since. Name another folder, or " in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), *choice.also((signal.SIGINT, 130))])
def test_a_signal_ends_the_superstep_and_keeps_the_run(
    tmp_path: Path, store: Path, gstream: Command, number: signal.Signals, code: int
) -> None:
    (tmp_path / "count.py").write_text(ENDLESS)
    command = ["run", "count.py", store, "--checkpoint", "kept"]
    process = start(*command, "--checkpoint-every", "1", cwd=tmp_path)
    until = time.monotonic() + WAIT_SECONDS
    while not (tmp_path / "kept/slot-0").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, out) == (code, ""), err
    found = re.fullmatch(
        rf"stopped by {number.name}; kept: holds the run's checkpoint after superstep (\d+). Go on with --resume.\n",
        err.splitlines(keepends=True)[-1],  # where a superstep takes a minute, it is told before
    )
    assert found, err
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["slot-0", "slot-1"]
    superstep = int(found.group(1))
    done = json.loads(gstream(*command, "--resume", "--max-supersteps", superstep + 3, "--json").stdout)
    assert done["stats"]["kept"]["resumed"] == superstep
    assert [row["value"] for row in done["top"]] == [superstep + 3] * 7


def test_the_second_signal_quits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is a second one: `timeout` delivers one signal twice."""
    now, left = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(os, "_exit", left.append)
    signals = failures.Signals()
    signals.stop = StopRequest()
    signals.stop.heeded = True
    signals(signal.SIGTERM, None)
    assert signals.stop.asked
    now[0] += 0.1
    signals(signal.SIGTERM, None)
    assert left == []
    now[0] += failures.SECOND_SIGNAL_SECONDS
    signals(signal.SIGINT, None)
    assert left == [130]


def test_without_a_superstep_to_wait_for_a_signal_ends_at_once() -> None:
    for stop in (None, StopRequest()):
        signals = failures.Signals()
        signals.stop = stop
        with pytest.raises(failures.Interrupted) as caught:
            signals(signal.SIGTERM, None)
        assert caught.value.code == 143


@pytest.mark.parametrize("keeps", [False, True])
def test_who_wants_checkpoints_hears_that_there_is_none(keeps: bool) -> None:
    with pytest.raises(failures.Interrupted) as caught, failures.stops_when_kept(keeps):
        failures.SIGNALS(signal.SIGINT, None)
    failures.SIGNALS.number = 0
    said = "no superstep was under way, and nothing more was kept; " * keeps
    assert (caught.value.code, caught.value.left) == (130, f"{said}temporary files are removed.")
    assert failures.SIGNALS.left == "temporary files are removed."


def test_a_run_that_ended_before_a_checkpoint_was_due_says_so(tmp_path: Path, store: Path, gstream: Command) -> None:
    said = gstream("run", "pagerank", store, "--checkpoint", tmp_path / "kept").stdout
    assert "checkpoints     none in " in said and "kept: the run ended first\n" in said
    assert not (tmp_path / "kept").exists()


def test_a_signal_without_checkpoints_ends_the_run(tmp_path: Path, store: Path) -> None:
    (tmp_path / "count.py").write_text(f"open('begun', 'w')\n{ENDLESS}")
    process = start("run", "count.py", store, cwd=tmp_path)
    until = time.monotonic() + WAIT_SECONDS
    while not (tmp_path / "begun").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    time.sleep(1)  # at any moment of the run
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert (process.returncode, err) == (143, "stopped by SIGTERM; temporary files are removed.\n")
