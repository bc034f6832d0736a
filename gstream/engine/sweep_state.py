"""What an algorithm keeps at the boundary between two sweeps: arrays and numbers by name, nothing of files.

    kept = session.keep(state=state, rounds=0)      filled from the checkpoint, if the call goes on from one
    while ...:
        sweep the pages
        kept.rounds += 1
        kept.boundary()                             writes a checkpoint if one is due; the call may end here
    kept.end()                                      the work is done: what follows needs no sweep

Arrays are those of the algorithm, or Shares of ranks, which a checkpoint fills in place. They must not depend on
devices, threads or caps. Without --checkpoint, a state only holds what the algorithm put into it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gstream.engine.slot_files import Saved, Share
from pagestore.errors import InputError, UsageError

PREFIX = "own/"  # of an algorithm's arrays in a slot, beside those of a program
KINDS: dict[type, tuple[type, ...]] = {  # what JSON may hold for a number of that type
    bool: (bool,), int: (int,), float: (float, int), list: (list,), type(None): (type(None), int, float),
}  # fmt: skip


class Brings(Protocol):
    """What may have arrays elsewhere than in host memory."""

    def bring(self, *arrays: np.ndarray) -> None:
        """Have the host's arrays up to date."""


class Keeps(Protocol):
    """What writes the state where that is due (gstream.engine.checkpoint.Keeper)."""

    def pass_boundary(self, rounds: int, bring: Any, ended: bool) -> None: ...


class Counts(Protocol):
    """Counts rounds, for progress (gstream.telemetry.progress.WorkDone)."""

    def count_rounds(self, rounds: int, sources: int, total: int) -> None: ...


class SweepState:
    """See the module. Each name of `given` is an attribute: an array or Share, a list of arrays, or what JSON holds.

    source_count: of which `done` are done; 0: the state counts none.
    """

    source_count = 0

    def __init__(
        self, keeper: Keeps | None, given: dict[str, Any], of: str = "", final: bool = False,
        work: Counts | None = None,
    ) -> None:  # fmt: skip
        """of: a hash of what the work rests on beside the graph and the options. final: a program that runs with this
        state is the last of the call. work: counts its rounds."""
        self._keeper, self._names, self.of, self.final, self._work = keeper, tuple(given), of, final, work
        vars(self).update(given)

    def __getattr__(self, name: str) -> Any:  # this one and the next for type checkers, which don't know the names
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)

    def boundary(self, resident: Brings | None = None, rounds: int = 1) -> None:
        """`rounds` sweeps are over since the last boundary. resident: what has some of the arrays.

        Raises RunStopped where the run was asked to stop, ResourceError where a checkpoint can't be written.
        """
        if self._work is not None:
            self._work.count_rounds(rounds, self.done if self.source_count else 0, self.source_count)
        if self._keeper is not None:
            self._keeper.pass_boundary(rounds, None if resident is None else lambda: self._bring(resident), False)

    def end(self, resident: Brings | None = None) -> None:
        """All sweeps are over; as `boundary`."""
        if self._keeper is not None:
            self._keeper.pass_boundary(0, None if resident is None else lambda: self._bring(resident), True)

    def check_limit(self, done: int, limit: int) -> None:
        """Raise UsageError if the call that this one goes on from came farther than this one may."""
        if done > limit:
            raise UsageError(
                f"--checkpoint: its checkpoint is of superstep {done}, and this run is to end after {limit}. Raise "
                "that limit, or start afresh: pass --force instead of --resume."
            )

    def _bring(self, resident: Brings) -> None:
        resident.bring(*(array for array in self.arrays().values() if isinstance(array, np.ndarray)))

    def arrays(self) -> dict[str, np.ndarray | Share]:
        """The arrays by their names in a slot."""
        found: dict[str, np.ndarray | Share] = {}
        for name in self._names:
            value = getattr(self, name)
            if isinstance(value, np.ndarray | Share):
                found[PREFIX + name] = _plain(value)
            elif _is_arrays(value):
                found |= {f"{PREFIX}{name}/{place}": array for place, array in enumerate(value)}
        return found

    def numbers(self) -> dict[str, Any]:
        """What is no array, for JSON; of a list of arrays its length."""
        values = {name: getattr(self, name) for name in self._names}
        return {
            name: len(value) if _is_arrays(value) else value
            for name, value in values.items()
            if not isinstance(value, np.ndarray | Share)
        }

    def restore(self, found: Saved) -> None:
        """Be what a slot holds. Raises InputError for one that this algorithm did not write on this graph."""
        numbers = found.description["own"]["numbers"]
        into: dict[str, np.ndarray | Share] = {}
        for name in self._names:
            value = getattr(self, name)
            if isinstance(value, np.ndarray | Share):
                into[PREFIX + name] = _plain(value)
            elif isinstance(value, Arrays):
                own = {key: shape for key, shape in found.shapes.items() if key.startswith(f"{PREFIX}{name}/")}
                setattr(self, name, Arrays(np.empty(count, dtype) for dtype, count in own.values()))
                into |= {f"{PREFIX}{name}/{place}": array for place, array in enumerate(getattr(self, name))}
            elif name in numbers and type(numbers[name]) in KINDS[type(value)]:
                setattr(self, name, numbers[name])
            else:
                raise _no_checkpoint(found)
        shapes_now = {name: _shape_of(array) for name, array in into.items()}
        if shapes_now != {name: shape for name, shape in found.shapes.items() if name.startswith(PREFIX)}:
            raise _no_checkpoint(found)
        found.read(into)


class Arrays(list[np.ndarray]):
    """A list of arrays that a state keeps; how many there are may change."""


def names_in(found: Saved) -> list[str]:
    """Names of an algorithm's arrays in a slot."""
    return list(dict.fromkeys(name.split("/")[1] for name in found.shapes if name.startswith(PREFIX)))


def _plain(array: np.ndarray | Share) -> np.ndarray | Share:
    """An array of bool as bytes, which slots hold."""
    return array.view(np.uint8) if isinstance(array, np.ndarray) and array.dtype.kind == "b" else array


def _shape_of(array: np.ndarray | Share) -> tuple[np.dtype, int]:
    """Type and length of an array in a slot."""
    return (array.values.dtype, array.total) if isinstance(array, Share) else (array.dtype, len(array))


def _is_arrays(value: Any) -> bool:
    return isinstance(value, Arrays)


def _no_checkpoint(found: Saved) -> InputError:
    return InputError(f"{found.path}: is no checkpoint of this graph and algorithm. Start afresh: pass --force.")
