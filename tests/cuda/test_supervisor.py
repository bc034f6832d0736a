"""`gstream run` on GPUs that fail: which worker goes on where, from what, and what is said of it."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import time
from pathlib import Path

import failing
import numpy as np
import pytest
import standin
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

from gstream.cli import supervisor
from gstream.cli.commands import run_command_line
from gstream.devices.gpu import driver as cuda
from gstream.engine import make_devices
from gstream.options import auto_devices
from pagestore.errors import DeviceMissingError, StoreError

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE, SUPERSTEPS = 2000, 12_000, 4096, 8
COMMAND = ["run", "pagerank", "graph.gs", "--iterations", str(SUPERSTEPS), "-o", "out.csv", "--json"]
KEPT = ["--checkpoint", "kept", "--checkpoint-every", "1"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    source, target = skewed_edges(V, E, 31)
    make_store(folder, source, target, vertices=V, page_bytes=PAGE).close()
    return next(folder.glob("*.gs"))


@pytest.fixture
def command(made, tmp_path, monkeypatch, capfd):
    """Runs a command in a folder with the store; exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)
    os.symlink(made, "graph.gs")

    def run(*arguments):
        capfd.readouterr()
        code = run_command_line([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def at_supersteps(tmp_path, monkeypatch):
    (tmp_path / "marks").mkdir()
    return lambda deeds: failing.at_supersteps(deeds, tmp_path / "marks", monkeypatch.setattr)


def ranks(path="out.csv"):
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, 1]


@pytest.fixture
def expected(command):
    assert command(*COMMAND)[0] == 0
    found = ranks()
    Path("out.csv").unlink()
    return found


def only(pattern, text):
    found = re.fullmatch(pattern, text)
    assert found, text
    return found


DIED, LOST = r"cuda:0,2: its process was ended by SIGKILL\. ", r"cuda:2 \(stand-in\)[^:]*: cuCtxPush[^.]*of the test\. "
CASES = {  # what happens at which superstep, what is said of each loss, and the losses of the summary
    "killed": (
        {3: failing.die()},
        [DIED + r"The run goes on on cuda:0,2, from its last checkpoint if it kept one\."],
        [("worker", "cuda:0,2")], 2,
    ),
    "killed twice": (
        {3: failing.die(), 5: failing.die(signal.SIGSEGV)},
        [DIED + r"The run goes on on cuda:0,2, .*", r"cuda:0,2: .* ended by SIGSEGV\. .* on on the host's cores, .*"],
        [("worker", "cuda:0,2"), ("worker", "host")], 4,
    ),
    "a GPU": (
        {3: failing.lose_gpu(2)},  # whose values of that superstep the other one may have by then, or not
        [LOST + r"The run goes on on cuda:0, from its last checkpoint if it kept one\."],
        [("cuda:2", "cuda:0")], {2, 3},
    ),
    "all GPUs": (
        {3: failing.lose_gpu(2), 6: failing.lose_gpu(0)},
        [LOST + r"The run goes on on cuda:0, .*", r"cuda:0 \(stand-in\).* goes on on the host's cores, .*"],
        [("cuda:2", "cuda:0"), ("cuda:0", "host")], 5,
    ),
    "a GPU, then a worker": (
        {3: failing.lose_gpu(0), 5: failing.die()},
        [r"cuda:0 .* goes on on cuda:2, .*", r"cuda:2: its process was ended by SIGKILL\. .* on on cuda:2, .*"],
        [("cuda:0", "cuda:2"), ("worker", "cuda:2")], 4,
    ),
    "a worker, then a GPU, then a worker": (
        {2: failing.die(), 4: failing.lose_gpu(0), 6: failing.die()},
        [DIED + ".*", r"cuda:0 .* goes on on cuda:2, .*", r"cuda:2: its process was ended by SIGKILL\. .* host's .*"],
        [("worker", "cuda:0,2"), ("cuda:0", "cuda:2"), ("worker", "host")], 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_run_goes_on(command, expected, at_supersteps, case):
    deeds, said, losses, resumed = CASES[case]
    at_supersteps(deeds)
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda:0,2")
    assert code == 0, err
    assert len(err.splitlines()) == len(said)
    for line, pattern in zip(err.splitlines(), said, strict=True):
        only(pattern, line)
    summary = json.loads(out)
    assert [(loss["lost"], loss["devices"]) for loss in summary["lost"]] == losses
    assert summary["stats"]["kept"]["resumed"] in (resumed if isinstance(resumed, set) else {resumed})
    assert summary["supersteps"] == SUPERSTEPS
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)
    assert sorted(os.listdir()) == ["graph.gs", "kept", "marks", "out.csv"]


@pytest.mark.parametrize("devices", [["--devices", "host,cuda:0,2", "--dispatch", "fixed"], []], ids=["named", "auto"])
def test_cores_beside_gpus_stay_with_the_others(command, expected, at_supersteps, monkeypatch, usual_rates, devices):
    """Without a name it is the first GPU that the work is for, and then another one."""
    monkeypatch.setattr(auto_devices, "gpus_there", lambda: 3)
    monkeypatch.setattr(auto_devices, "is_worth_a_gpu", lambda *given, **named: True)
    monkeypatch.setattr(make_devices, "gpus_there", lambda: 3)
    monkeypatch.setattr(make_devices, "is_worth_a_gpu", lambda *given: True)
    at_supersteps({3: failing.lose_gpu(0)})
    code, out, err = command(*COMMAND, *KEPT, *devices)
    summary, left = json.loads(out), "host,cuda:2" if devices else "host,cuda:1"
    assert code == 0 and f"The run goes on on {left}, from its last checkpoint" in err
    assert [(loss["lost"], loss["devices"]) for loss in summary["lost"]] == [("cuda:0", left)]
    assert (summary["stats"]["cores_pages"] > 0) == bool(devices)  # with free shares a GPU that holds all pages has all
    np.testing.assert_allclose(ranks(), expected, rtol=1e-5)


def test_without_checkpoints_it_begins_again(command, expected, at_supersteps):
    at_supersteps({5: failing.lose_gpu(0)})
    text = [part for part in COMMAND if part != "--json"]
    code, out, err = command(*text, "--gpus", "1", "--device-memory", "1MiB")
    assert code == 0
    only(
        r"cuda:0 \(stand-in\).* of the test\. The run begins again on the host's cores; with --checkpoint FOLDER it "
        r"would go on from there\.\n",
        err,
    )
    assert re.search(r"^lost +cuda:0, on to host: cuda:0 \(stand-in\).* of the test$", out, re.MULTILINE)
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)


def test_a_run_without_losses_says_so(command):
    code, out, err = command(*COMMAND, "--devices", "cuda")
    assert (code, err) == (0, "") and json.loads(out)["lost"] == []


def test_a_worker_on_the_cores_has_a_second_try_too(command, expected, at_supersteps):
    at_supersteps({2: failing.lose_gpu(1), 4: failing.die()})
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda:1")
    assert code == 0 and "host: its process was ended by SIGKILL. The run goes on on the host's cores, " in err
    assert [loss["devices"] for loss in json.loads(out)["lost"]] == ["host", "host"]
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)


def test_components_begin_again(command, monkeypatch, tmp_path):
    """No supersteps, so no checkpoints: the forest is made anew."""
    assert command("run", "wcc", "graph.gs", "-o", "expected.csv")[0] == 0
    launch = standin.Function.prepared_async_call

    def launched(function, *arguments, **given):
        if function.name == "make_trees_kernel" and not Path("mark").exists():
            Path("mark").touch()
            failing.lose_gpu(1)()
        launch(function, *arguments, **given)

    monkeypatch.setattr(standin.Function, "prepared_async_call", launched)
    code, out, err = command("run", "wcc", "graph.gs", "--devices", "cuda:1", "-o", "out.csv", "--json")
    assert code == 0 and "The run begins again on the host's cores" in err
    assert [loss["lost"] for loss in json.loads(out)["lost"]] == ["cuda:1"]
    assert Path("out.csv").read_text() == Path("expected.csv").read_text()


def test_a_gpu_that_is_gone_for_new_processes(command, expected, at_supersteps, monkeypatch):
    """The driver finds one GPU less, and numbers the others anew: the last is not there, the first two are."""

    def lose():
        failing.lose_gpu(0)()
        Path("gone").touch()

    monkeypatch.setattr(standin.Device, "count", staticmethod(lambda: 3 - Path("gone").exists()))
    at_supersteps({3: lose})
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda:0,1,2")
    assert code == 0
    assert [(loss["lost"], loss["devices"]) for loss in json.loads(out)["lost"]] == [
        ("cuda:0", "cuda:1,2"), ("cuda:2", "cuda:1"),
    ]  # fmt: skip
    assert "cuda:2 is not there any more. The run goes on on cuda:1, " in err
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)


def test_a_driver_that_is_gone(command, expected, at_supersteps, monkeypatch):
    def driver():
        if Path("gone").exists():
            raise DeviceMissingError("--devices cuda: CUDA does not start here.")
        return standin.DRIVER

    def lose():
        Path("gone").touch()
        failing.lose_gpu(0)()

    monkeypatch.setattr(cuda, "driver", driver)
    at_supersteps({3: lose})
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda:0,1,2")
    assert code == 0
    assert [loss["devices"] for loss in json.loads(out)["lost"]] == ["cuda:1,2", "host"]
    assert "no GPU can be used any more. The run goes on on the host's cores" in err
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)


def test_a_run_that_the_system_ends_everywhere(command, at_supersteps):
    at_supersteps({number: failing.die() for number in (2, 3, 4)})
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 3
    assert err.splitlines()[-1] == (
        "host: its process was ended by SIGKILL. There is no answer. Run it again, with less memory if it ran out."
    )
    assert sorted(os.listdir()) == ["graph.gs", "kept", "marks"]


def refuse():
    raise StoreError("page 3 is damaged. Convert again.")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--source", "77777"], 2, "source 77777 is not a vertex of graph.gs"),
        (["--source", "3", "--devices", "cuda:9"], 3, "--devices cuda:9: there is no such GPU"),
        (["--source", "3", "--host-memory", "1KiB"], 5, "--host-memory 1024 bytes: too little"),
        (["--source", "3", "-o", "graph.gs", "--force"], 2, "graph.gs: "),
    ],
)
def test_what_is_no_gpus_fault_is_not_tried_again(command, arguments, code, said):
    given = [] if "--devices" in arguments else ["--devices", "cuda"]
    found, out, err = command("run", "bfs", "graph.gs", *given, *arguments)
    assert (found, out) == (code, "") and err.startswith(said) and len(err.splitlines()) == 1


def test_a_damaged_page_is_not_tried_again(command, at_supersteps):
    at_supersteps({3: refuse})
    assert command(*COMMAND, "--devices", "cuda") == (4, "", "page 3 is damaged. Convert again.\n")


def test_without_a_supervisor_a_failing_gpu_is_an_error(command, at_supersteps, monkeypatch):
    push = standin.Context.push
    monkeypatch.setattr(standin.Context, "push", push)  # what the run puts there, in this process, goes
    monkeypatch.setattr(standin, "GONE", set())
    at_supersteps({3: failing.lose_gpu(0)})
    code, out, err = command(*COMMAND, "--devices", "cuda", "--no-restart")
    standin.LIVE.clear()
    assert (code, out) == (1, "")
    assert "of the test. There is no answer. Run it again in a new process; " in err


def test_files_of_others_are_not_replaced(command, monkeypatch):
    """A worker that dies before it has looked at its files is followed by one that does."""
    Path("out.csv").write_text("mine")
    monkeypatch.setattr(
        "gstream.cli.run.check_asked",
        lambda *given: not failing.first_at(Path("mark")) or failing.die(signal.SIGABRT)(),
    )
    code, _, err = command(*COMMAND, "--devices", "cuda")
    assert code == 2 and "out.csv: exists." in err and "ended by SIGABRT" in err
    assert Path("out.csv").read_text() == "mine"


def test_a_checkpoint_of_others_is_not_gone_on_from(command, at_supersteps, monkeypatch):
    """As long as no worker has begun, --resume is for the user to ask for."""
    assert command(*COMMAND, *KEPT)[0] == 0
    Path("out.csv").unlink()
    monkeypatch.setattr(
        "gstream.cli.run.check_plot", lambda *given: not failing.first_at(Path("mark")) or failing.die(signal.SIGABRT)()
    )
    code, _, err = command(*COMMAND, *KEPT, "--devices", "cuda")
    assert code == 2 and "--checkpoint kept: holds a checkpoint of pagerank" in err


def test_a_worker_that_dies_as_it_writes(command, expected, monkeypatch):
    """What it left half-written goes; the checkpoint of the end is gone on from."""
    replace = os.replace

    def dying(source, target):
        if str(target) == "out.csv" and failing.first_at(Path("mark")):
            failing.die()()
        replace(source, target)

    monkeypatch.setattr(os, "replace", dying)
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda")
    assert code == 0 and json.loads(out)["stats"]["kept"]["resumed"] == SUPERSTEPS
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)
    assert sorted(os.listdir()) == ["graph.gs", "kept", "mark", "out.csv"]


def test_what_was_written_may_be_written_again(command, expected, monkeypatch):
    """A worker that dies with its answer written, but nothing shown."""
    monkeypatch.setattr(
        "gstream.cli.run.apart", lambda *given: failing.first_at(Path("mark")) and failing.die()() or given[0]
    )
    code, out, err = command(*COMMAND, "--devices", "cuda")
    assert code == 0, err
    assert json.loads(out)["lost"]
    np.testing.assert_allclose(ranks(), expected, rtol=1e-6)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_handed_on(command, at_supersteps, number, code):
    """To a supervisor in its own process: the run is kept, and both end."""

    def ask():
        os.kill(os.getppid(), number)
        failing.wait_until_asked()

    at_supersteps({3: ask})
    found, out, err = command(*COMMAND, *KEPT, "--devices", "cuda")
    assert (found, out) == (code, "")
    assert (
        err == f"stopped by {number.name}; kept: holds the run's checkpoint after superstep 3. Go on with --resume.\n"
    )


def test_a_run_that_was_asked_to_stop_is_not_begun_again(command, at_supersteps):
    def ask():
        os.kill(os.getppid(), signal.SIGTERM)
        failing.wait_until_asked()
        failing.die()()

    at_supersteps({3: ask})
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda")
    assert (code, out) == (143, "")
    assert err == "cuda:0: its process was ended by SIGKILL. It was asked to stop, so the run does not go on.\n"


@pytest.mark.parametrize("word", ["lost", "done"])
def test_a_worker_that_does_not_end(command, at_supersteps, monkeypatch, word):
    """After its last word it has a while, and is killed: what it told holds."""
    monkeypatch.setattr(supervisor, "ENDING_SECONDS", 0.2)
    tell = supervisor.Link.tell

    def telling(link, said, text=""):
        tell(link, said, text)
        if said == word and failing.first_at(Path("mark")):
            time.sleep(60)

    monkeypatch.setattr(supervisor.Link, "tell", telling)
    at_supersteps({3: failing.lose_gpu(0)} if word == "lost" else {})
    code, out, err = command(*COMMAND, *KEPT, "--devices", "cuda")
    assert code == 0, err
    assert [loss["lost"] for loss in json.loads(out)["lost"]] == (["cuda:0"] if word == "lost" else [])


def test_the_worker_ends_with_its_supervisor(command, tmp_path, at_supersteps):
    def kill():
        Path("worker").write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    at_supersteps({3: kill})
    process = os.fork()
    if process == 0:
        run_command_line([*COMMAND, "--devices", "cuda"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    worker, until = int(Path("worker").read_text()), time.monotonic() + failing.WAITED_S
    while Path(f"/proc/{worker}/stat").exists() and time.monotonic() < until:
        if Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break  # nobody waits for it here
        time.sleep(0.02)
    assert time.monotonic() < until
    assert not Path("out.csv").exists()


def test_a_worker_that_can_not_be_started(command, monkeypatch):
    def fork():
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    monkeypatch.setattr(os, "fork", fork)
    code, out, err = command(*COMMAND, "--devices", "cuda")
    assert (code, out) == (5, "") and err.startswith("no further process or thread can be started. Raise the limit ")
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == blocked
