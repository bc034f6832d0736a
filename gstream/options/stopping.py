"""When a run is kept: how often it writes a checkpoint, and that it was asked to stop. Loads nothing heavy."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from gstream.options.wording import say_in_python
from pagestore.errors import GstreamError, UsageError

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
LINGERING = 1 / 16  # of the vertices: more are active for long where paths are long; random graphs end soon after
AT_MOST = 16  # times a run's patience it goes on with fewer


class Every(NamedTuple):
    """An interval in supersteps or in seconds; neither: the default."""

    supersteps: int | None = None
    seconds: float | None = None


def parse_every(given: int | str | None) -> Every:
    """`10`: supersteps; `30s`, `5m`, `1.5h`: time; None: the default. Raises UsageError for anything else."""
    if given is None:
        return Every()
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)([smh]?)", str(given).strip())
    if found is None or isinstance(given, bool):
        raise UsageError(f"--checkpoint-every {given}: must be supersteps, as 10, or a time, as 30s, 5m or 1h.")
    number, unit = found.groups()
    if unit:
        return Every(seconds=float(number) * UNITS[unit])
    if "." in number or int(number) == 0:
        raise UsageError(f"--checkpoint-every {given}: supersteps are a whole number of at least 1. A time has a unit: "
                         f"{given}s.")  # fmt: skip
    return Every(supersteps=int(number))


@dataclass(frozen=True)
class Asked:
    """What a run is in its user's words: an algorithm, or a program of the user's own, and its options by name.

    options: None where they are the program's parameters. exactly: as many supersteps as its limit says, though nothing
    may change any more. kept: whether it reads and writes the checkpoints that the options ask for. patience:
    supersteps after which a run without a limit ends if many vertices are still active; its caller does the rest.
    rounds: of further pushes over a batch that is in memory (gstream.engine.rounds), at most.
    """

    name: str
    options: dict[str, Any] | None = None
    exactly: bool = False
    kept: bool = True
    patience: int | None = None
    rounds: int = 0

    def most_supersteps(self, limit: int | None) -> int | None:
        """The superstep after which a run ends, converged or not; None: no limit."""
        return AT_MOST * self.patience if limit is None and self.patience is not None else limit

    def gives_up(self, supersteps: int, active: float) -> bool:
        """Whether patience is gone, with such a share of the vertices active."""
        return self.patience is not None and supersteps >= self.patience and active > LINGERING


class RunStopped(GstreamError):
    """A run that was asked to end has done so after a superstep, and left a checkpoint."""

    def __init__(self, superstep: int, folder: object) -> None:
        super().__init__(f"{folder}: holds the run's checkpoint after superstep {superstep}. Go on with --resume.")
        self.superstep = superstep


class StopRequest:
    """What a signal handler tells a run: end after this superstep. `ask` is for handlers, the rest for the driver.

    under_way: called once supersteps begin whose end is waited for; the checkpoint is then the run's own to write.
    others: whether a process that waits for this one was asked.
    """

    def __init__(
        self, under_way: Callable[[], None] = lambda: None, others: Callable[[], bool] = lambda: False
    ) -> None:
        self._asked = self.heeded = False
        self._under_way, self._others = under_way, others

    @property
    def asked(self) -> bool:
        """Whether the run is to end."""
        return self._asked or self._others()

    @asked.setter
    def asked(self, asked: bool) -> None:
        self._asked = asked

    def heed(self, heeded: bool) -> None:
        """Whether a superstep is under way whose end is waited for."""
        self.heeded = heeded
        if heeded:
            self._under_way()

    def ask(self) -> bool:
        """Ask; False if no superstep is under way whose end could be waited for: the handler raises then. What it
        raises may be lost (in a callback while Python imports), so a run that begins then ends at once."""
        self.asked = True
        return self.heeded


@contextmanager
def interrupts_keep(stop: StopRequest) -> Iterator[None]:
    """For a call from Python: Ctrl-C in a superstep ends it, keeps the run, and becomes KeyboardInterrupt; a second
    Ctrl-C does so at once. Only if Python's own handler would have had it, and in the main thread."""
    stop.asked = False
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not own or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: Any) -> None:
        if stop.asked or not stop.ask():
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    except RunStopped as stopped:
        raise KeyboardInterrupt(say_in_python(stopped.line)) from None
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
