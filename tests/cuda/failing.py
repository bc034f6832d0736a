"""GPUs and workers that fail as a run goes on: what supervised commands meet, in the processes that they fork."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import standin

from gstream.cli import failures
from gstream.cli.run import StepLine

WAITED_S = 600.0


def at_supersteps(deeds: dict[int, Callable[[], None]], folder: Path, put: Callable[..., None] = setattr) -> None:
    """Each deed is done at the end of its superstep, before that is kept, by the first process that gets there."""
    usual = StepLine.__call__

    def shown(line: StepLine, number: int, step: Any) -> None:
        usual(line, number, step)
        if number in deeds and first_at(folder / f"superstep-{number}"):
            deeds[number]()

    put(StepLine, "__call__", shown)


def wait_until_asked() -> None:
    """Until the supervisor has handed a signal on to this worker, which ends the run after this superstep."""
    until = time.monotonic() + WAITED_S
    while not failures.SIGNALS.number and time.monotonic() < until:
        time.sleep(0.01)


def first_at(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
        return True
    except FileExistsError:
        return False


def die(number: int = signal.SIGKILL) -> Callable[[], None]:
    """The process ends by a signal, and nothing in it hears of it."""

    def deed() -> None:
        faulthandler.disable()  # pytest's
        os.kill(os.getpid(), number)

    return deed


def lose_gpu(index: int) -> Callable[[], None]:
    """Every call of CUDA for that GPU fails from now on, in this process."""

    def deed() -> None:
        push = standin.Context.push

        def failing(context: standin.Context) -> None:
            if context.index == index:
                raise standin.LogicError("cuCtxPushCurrent failed: an uncorrectable ECC error, of the test")
            push(context)

        standin.GONE.add(index)
        standin.Context.push = failing  # type: ignore[method-assign]

    return deed
