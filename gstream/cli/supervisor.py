"""A run on GPUs is done by a worker, a forked process: errors of CUDA stick to a process, so that a new one goes on.

    supervisor      forks before anything heavy is loaded, waits, and hands on SIGINT and SIGTERM
      worker 1      on cuda:0,1; tells "checked", "stepped" and then "lost 1 ..." (a GPU fails), or dies by a signal
      worker 2      on cuda:0, from the last checkpoint of worker 1 where it kept one, else from the start
      worker 3      on the host's cores, where no GPU is left

A GPU that an error names is not used again. A worker that dies by a signal (the driver's library crashes, the system
has no memory left) names none: the next one has the same devices, once. So a run has at most GPUs + 2 workers. What is
no GPU's fault (options, stores, memory, a certificate) ends the run.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from gstream.cli.failures import EXIT_INTERNAL, SECOND_SIGNAL_SECONDS, exit_code_of, install_signals, show_traceback
from gstream.cli.terminal import note
from pagestore.errors import DeviceMissingError, GstreamError
from pagestore.replacing import remove_leftovers

ENDING_SECONDS = 10.0  # that a worker has to end in after its last word, or after SIGKILL
MOST_READ = 1 << 16
HANDED_ON = (signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1


class Loss(NamedTuple):
    """A worker that was lost. lost: "cuda:1", or "worker"; why: in words; devices: those of the next worker."""

    lost: str
    why: str
    devices: str


@dataclass(frozen=True)
class Task:
    """What a worker is to do. numbers: its GPUs, as often as they were named; none: the host's cores. beside: the cores
    take part in what GPUs do. auto: the worker takes the first GPU, if the work is worth it; after a loss the next one.
    resume: go on from what an earlier worker kept; replace: files that an earlier worker may
    have written may be replaced."""

    numbers: tuple[int, ...]
    resume: bool = False
    replace: bool = False
    losses: tuple[Loss, ...] = ()
    beside: bool = False
    auto: bool = False

    @property
    def devices(self) -> str:
        if self.auto and not self.losses:
            return "auto"
        return devices_of(self.numbers, self.beside)


def devices_of(numbers: tuple[int, ...], beside: bool) -> str:
    """GPUs, the host's cores, or both, as --devices takes them."""
    if not numbers:
        return "host"
    return f"{'host,' if beside else ''}cuda:{','.join(map(str, numbers))}"


class Link:
    """What a worker tells its supervisor, each word once; without a pipe nobody listens."""

    def __init__(self, pipe: int | None = None) -> None:
        self._pipe = pipe
        self._told: set[str] = set()

    def tell(self, word: str, text: str = "") -> None:
        """One of "checked" (its files are its own to write), "stepped" (so is the checkpoint), "lost", "done"."""
        if self._pipe is not None and word not in self._told:
            self._told.add(word)
            os.write(self._pipe, f"{word} {' '.join(text.split())}\n".encode())


Work = Callable[[Task, Link], None]


class Ended(NamedTuple):
    """How a worker ended: its exit code, or minus a signal; None: not even SIGKILL ended it. told: text by word."""

    process: int
    code: int | None
    told: dict[str, str]

    @property
    def lost(self) -> bool:
        """Whether it can't have been the command that failed."""
        return "done" not in self.told and ("lost" in self.told or self.code is None or self.code < 0)

    @property
    def gpu(self) -> int | None:
        """The GPU that failed, if that is known."""
        number = self.told.get("lost", "").partition(" ")[0]
        return int(number) if number.isdecimal() else None

    @property
    def why(self) -> str:
        """In words, without a full stop."""
        if "lost" in self.told:
            return self.told["lost"].partition(" ")[2]
        if self.code is None:
            return "its process does not end, not even by SIGKILL"
        return f"its process was ended by {signal.Signals(-self.code).name}"

    def loss(self, devices: str) -> Loss:
        """What is said of it in the summary. devices: of the next worker."""
        return Loss("worker" if self.gpu is None else f"cuda:{self.gpu}", self.why, devices)


def supervise(task: Task, files: list[Path], keeps: bool, work: Work) -> int:
    """Have `work` done by a worker on a task's GPUs, after a loss by others on the remaining ones; the exit code of the
    last. files: those that `work` writes; keeps: whether it writes checkpoints."""
    again = True
    with Signals().taken() as signals:
        while True:
            ended = _have_done(task, work, signals)
            if not ended.lost:
                return 0 if "done" in ended.told else int(ended.code or 0)
            for path in files:
                remove_leftovers(path)
            if signals.number:
                note(f"{task.devices}: {ended.why}. It was asked to stop, so the run does not go on.")
                return 128 + signals.number
            if ended.code is None or not (task.numbers or again):
                note(f"{task.devices}: {ended.why}. There is no answer. Run it again, with less memory if it ran out.")
                return EXIT_INTERNAL
            left = _left(task.numbers, ended, again)
            again = again and "lost" in ended.told
            kept, checked = keeps and (task.resume or "stepped" in ended.told), "checked" in ended.told
            left = left[:1] if task.auto else left
            losses = (*task.losses, ended.loss(devices_of(left, task.beside)))
            following = Task(left, kept, task.replace or checked, losses, task.beside, task.auto)
            _say(task, ended, following, keeps)
            task = following


def _left(numbers: tuple[int, ...], ended: Ended, again: bool) -> tuple[int, ...]:
    """GPUs of the next worker. again: after a death without a word it may have the same devices."""
    if "lost" not in ended.told:
        return numbers if again else ()
    left = tuple(number for number in numbers if number != ended.gpu)
    return left if len(left) < len(numbers) else ()  # none was named: none can be trusted


def _say(task: Task, ended: Ended, following: Task, keeps: bool) -> None:
    """One line on standard error: what was lost, and where the run goes on."""
    what = ended.why if "lost" in ended.told else f"{task.devices}: {ended.why}"
    where = following.devices if following.numbers else "the host's cores"
    if following.resume:
        note(f"{what}. The run goes on on {where}, from its last checkpoint if it kept one.")
    elif keeps:
        note(f"{what}. The run begins again on {where}.")
    else:
        note(f"{what}. The run begins again on {where}; with --checkpoint FOLDER it would go on from there.")


class Signals:
    """SIGINT and SIGTERM of the supervisor: handed on to the worker; a second one, 2 s later, ends both at once."""

    def __init__(self) -> None:
        self.number = self.worker = 0
        self._first_s = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self.number:
            self.number, self._first_s = number, now
        impatient = now - self._first_s > SECOND_SIGNAL_SECONDS
        if self.worker:
            os.kill(self.worker, signal.SIGKILL if impatient else number)
        if impatient:  # a worker that waits for a GPU that hangs may not even die
            os._exit(128 + number)

    @contextmanager
    def taken(self) -> Iterator[Signals]:
        before = {number: signal.signal(number, self) for number in HANDED_ON}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _have_done(task: Task, work: Work, signals: Signals) -> Ended:
    """Fork a worker and wait for its end. A signal that came before ends it at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    reads, writes = os.pipe()
    supervisor = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON)  # until both processes have their handlers
    try:
        process = os.fork()
        if process == 0:
            os.close(reads)
            _be_worker(lambda link: work(task, link), Link(writes), bool(task.losses), supervisor)
        signals.worker = process
        if signals.number:
            os.kill(process, signals.number)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
        os.close(writes)
    try:
        told, over = _listen(reads, process)
    finally:
        os.close(reads)
    if not over:
        return Ended(process, None, told)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    signals.worker = 0  # ahead of the system, which may give its number to another
    return Ended(process, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), told)


def _listen(pipe: int, process: int) -> tuple[dict[str, str], bool]:
    """What a worker tells until it has ended; False with it where it does not end: killed, after its last word."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    text, killed = b"", False
    while True:
        told = dict(line.partition(" ")[::2] for line in text.decode(errors="replace").splitlines())
        last = killed or not told.keys().isdisjoint(("lost", "done"))
        if not poll.poll(ENDING_SECONDS * 1e3 if last else None):
            if killed:
                return told, False
            os.kill(process, signal.SIGKILL)
            killed = True
        elif not (read := os.read(pipe, MOST_READ)):
            return told, True
        else:
            text += read


def _be_worker(work: Callable[[Link], None], link: Link, again: bool, supervisor: int) -> NoReturn:
    """A worker's life. It ends without Python's own end, in which what a lost GPU left may hang or crash. again: an
    earlier worker was lost."""
    code = EXIT_INTERNAL
    try:
        atexit._clear()  # what is registered is the supervisor's to do
        install_signals()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
        _die_with(supervisor)
        code = exit_code_of(lambda: _telling(work, link, again))
        if code == 0:
            link.tell("done")
        atexit._run_exitfuncs()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else EXIT_INTERNAL
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


def _telling(work: Callable[[Link], None], link: Link, again: bool) -> int:
    """Do the work. That a GPU fails is left to the supervisor to say."""
    try:
        work(link)
        return 0
    except GstreamError as error:
        from gstream.devices.gpu.driver import DeviceError

        gpu = getattr(error, "gpu", None)
        if isinstance(error, DeviceError):
            what = error.what
        elif isinstance(error, DeviceMissingError) and again:  # at first it is the command line's fault
            what = "no GPU can be used any more" if gpu is None else f"cuda:{gpu} is not there any more"
        else:
            raise
        show_traceback(error)
        link.tell("lost", f"{'-' if gpu is None else gpu} {what}")
        return EXIT_INTERNAL


def _die_with(supervisor: int) -> None:
    """SIGKILL to the supervisor is one to the worker, too: nothing would wait for it, and it holds the GPUs."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != supervisor:  # it has died meanwhile
        os._exit(EXIT_INTERNAL)
