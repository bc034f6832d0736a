"""When a run is kept: how often it writes a checkpoint, and that it was asked to stop. Loads nothing heavy."""

from __future__ import annotations

import re
from typing import NamedTuple

from pagestore.errors import GstreamError, UsageError

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Every(NamedTuple):
    """How often: after so many supersteps, or seconds; neither: the default."""

    supersteps: int | None = None
    seconds: float | None = None


def parse_every(given: int | str | None) -> Every:
    """`10`: supersteps; `30s`, `5m`, `1.5h`: time; None: the default. Raises UsageError for anything else."""
    if given is None:
        return Every()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(given).strip())
    if found is None or isinstance(given, bool):
        raise UsageError(f"--checkpoint-every {given}: must be supersteps, as 10, or a time, as 30s, 5m or 1h.")
    number, unit = found.groups()
    if unit:
        return Every(seconds=float(number) * UNITS[unit])
    if "." in number or int(number) == 0:
        raise UsageError(f"--checkpoint-every {given}: supersteps are a whole number of at least 1. A time has a unit: "
                         f"{given}s.")  # fmt: skip
    return Every(supersteps=int(number))


class RunStopped(GstreamError):
    """A run that was asked to end has done so after a superstep, and left a checkpoint."""

    def __init__(self, superstep: int, folder: object) -> None:
        super().__init__(f"{folder}: holds the run's checkpoint after superstep {superstep}. Go on with --resume.")
        self.superstep = superstep


class StopRequest:
    """What a signal handler tells a run: end after this superstep. `ask` is for handlers, the rest for the driver."""

    def __init__(self) -> None:
        self.asked = self.heeded = False

    def ask(self) -> bool:
        """Ask; False where no superstep is under way whose end could be waited for: the handler raises then.

        What it raises may be lost (in a callback of Python's own, as it imports): a run that begins then ends at once.
        """
        self.asked = True
        return self.heeded
