"""The supervisor of GPU runs by itself: impatience, and workers that do not end. No GPU, and no process, is needed."""

from __future__ import annotations

import os
import signal

import pytest

from gstream.cli import supervisor
from gstream.cli.failures import EXIT_INTERNAL, SECOND_SIGNAL_SECONDS
from gstream.cli.run import task_of
from gstream.cli.supervisor import Ended, Loss, Signals, Task, supervise
from gstream.options import auto_devices

WORKER = 4321


class Gone(BaseException):
    """What stands for the end of this process."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(process, signal) of what would have been sent; this process does not end either."""
    found: list[tuple[int, int]] = []

    def leave(code: int) -> None:
        raise Gone(code)

    monkeypatch.setattr(os, "kill", lambda process, number: found.append((process, number)))
    monkeypatch.setattr(os, "_exit", leave)
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its first element."""
    now = [100.0]
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now[0])
    return now


def test_signals_are_handed_on_and_a_late_second_one_ends_both(sent: list, clock: list[float]) -> None:
    """`timeout` and terminals may send one twice: that is no impatience."""
    signals = Signals()
    signals.worker = WORKER
    signals(signal.SIGINT, None)
    clock[0] += SECOND_SIGNAL_SECONDS
    signals(signal.SIGTERM, None)
    assert sent == [(WORKER, signal.SIGINT), (WORKER, signal.SIGTERM)] and signals.number == signal.SIGINT
    clock[0] += 0.1
    with pytest.raises(Gone) as gone:
        signals(signal.SIGINT, None)
    assert gone.value.args == (130,) and sent[2:] == [(WORKER, signal.SIGKILL)]


def test_a_signal_between_two_workers_is_remembered(sent: list, clock: list[float]) -> None:
    signals = Signals()
    signals(signal.SIGTERM, None)
    assert signals.number == signal.SIGTERM and sent == []
    clock[0] += SECOND_SIGNAL_SECONDS + 0.1
    with pytest.raises(Gone) as gone:
        signals(signal.SIGINT, None)
    assert gone.value.args == (130,) and sent == []


def test_handlers_are_those_of_before_when_it_is_over() -> None:
    before = [signal.getsignal(number) for number in supervisor.HANDED_ON]
    with Signals().taken() as signals:
        assert all(signal.getsignal(number) is signals for number in supervisor.HANDED_ON)
    assert [signal.getsignal(number) for number in supervisor.HANDED_ON] == before


def test_a_worker_that_does_not_end_is_killed_once_and_given_up(sent: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said its last word, then hung in the driver: not even SIGKILL ends it."""
    monkeypatch.setattr(supervisor, "ENDING_SECONDS", 0.01)
    reads, writes = os.pipe()
    os.write(writes, b"checked \nlost 1 cuda:1 fell off the bus\n")
    assert supervisor._listen(reads, WORKER) == ({"checked": "", "lost": "1 cuda:1 fell off the bus"}, False)
    assert sent == [(WORKER, signal.SIGKILL)]
    os.close(writes)
    assert supervisor._listen(reads, WORKER) == ({}, True), "its end is seen by the pipe's"
    os.close(reads)


ENDS = {  # how a worker ended -> what is said of it, and the exit code
    "stuck": (Ended(WORKER, None, {}), "cuda:0: its process does not end, not even by SIGKILL. There is no answer."),
    "killed": (Ended(WORKER, -9, {}), "cuda:0: its process was ended by SIGKILL. The run begins again on cuda:0; with"),
}


@pytest.mark.parametrize("how", ENDS)
def test_what_is_said_of_a_worker_that_is_lost(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that may still run is not followed by another, which would want its GPUs; of others the next one tells."""
    ended, said = ENDS[how]
    ends, tasks = [ended, Ended(WORKER + 1, 0, {"done": ""})], []

    def have_done(task: Task, work: object, signals: Signals) -> Ended:
        tasks.append(task)
        return ends.pop(0)

    monkeypatch.setattr(supervisor, "_have_done", have_done)
    code = supervise(Task((0,)), [], False, lambda task, link: None)
    assert said in capsys.readouterr().err
    if how == "stuck":
        assert code == EXIT_INTERNAL and len(tasks) == 1
    else:
        assert code == 0 and tasks[1].losses == (Loss("worker", "its process was ended by SIGKILL", "cuda:0"),)


def test_two_deaths_without_a_word_take_the_gpus_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GPUs once more, then the host's cores, then an end: no crash repeats itself for ever."""
    devices = []

    def have_done(task: Task, work: object, signals: Signals) -> Ended:
        devices.append(task.devices)
        return Ended(WORKER + len(devices), -signal.SIGSEGV, {})

    monkeypatch.setattr(supervisor, "_have_done", have_done)
    assert supervise(Task((0, 2)), [], False, lambda task, link: None) == EXIT_INTERNAL
    assert devices == ["cuda:0,2", "cuda:0,2", "host"]
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("host: its process was ended by SIGSEGV. There is no answer. Run it again")


def test_asked_to_stop_it_does_not_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker that a signal's handling killed is not replaced."""

    def have_done(task: Task, work: object, signals: Signals) -> Ended:
        signals.number = signal.SIGTERM
        return Ended(WORKER, -signal.SIGKILL, {})

    monkeypatch.setattr(supervisor, "_have_done", have_done)
    assert supervise(Task((0,)), [], False, lambda task, link: None) == 143
    assert "It was asked to stop, so the run does not go on." in capsys.readouterr().err


def test_of_auto_the_next_gpu_goes_on_and_then_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = []

    def have_done(task: Task, work: object, signals: Signals) -> Ended:
        devices.append(task.devices)
        if len(devices) == 3:
            return Ended(WORKER, 0, {"done": ""})
        return Ended(WORKER, EXIT_INTERNAL, {"lost": f"{len(devices) - 1} cuda:{len(devices) - 1} fell off the bus"})

    monkeypatch.setattr(supervisor, "_have_done", have_done)
    assert supervise(Task((0, 1), beside=True, auto=True), [], False, lambda task, link: None) == 0
    assert devices == ["auto", "host,cuda:1", "host"]


@pytest.mark.parametrize(
    ("options", "numbers", "devices"),
    [({}, (0, 1), "auto"), ({"devices": ["host"]}, (), "host"), ({"devices": ["host,cuda:1"]}, (1,), "host,cuda:1"),
     ({"devices": ["cuda:0,1"]}, (0, 1), "cuda:0,1")],
)  # fmt: skip
def test_what_a_worker_is_for(options: dict, numbers: tuple, devices: str, tmp_path, monkeypatch) -> None:
    """A GPU is looked for where files are, without CUDA: a fork follows."""
    monkeypatch.setattr(auto_devices, "gpus_there", lambda: 2)
    monkeypatch.setattr(auto_devices, "file_may_be_worth", lambda store, threads: store == tmp_path)
    task = task_of(options, tmp_path)
    assert (task.numbers, task.devices) == (numbers, devices)
    assert task_of({}, tmp_path / "small").devices == "host"
