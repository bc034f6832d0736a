"""Checkpoint and restart (Garaph 2.2): between two sweeps a call is some arrays of all vertices and a few numbers.

    with open_keeper(options, meta, identity) as keeper:     the folder is locked, what is in it is checked
        keeper.adopt          takes what an algorithm keeps (gstream.engine.sweep_state), and fills it
        keeper.pass_boundary  after the algorithm's sweeps
        keeper.enter          a program runs, alone or beside what the algorithm keeps
        Run.begin             goes on from what keeper.take gives, where it gives any
        Run.go                calls keeper.between after every superstep

Both of the latter write when it is time, and end the run if asked. The folder and its two slots are
gstream.engine.checkpoint_slots'. A run that was long enough to be kept once is kept at its end, too: what follows
(predecessors, writing the answer) can fail, and is then made from the final values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gstream.devices.ranks import Ranks
from gstream.engine import checkpoint_checks as checks
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.program_state import State, ends_of, hash_of, say, shapes_of, shown, state_of
from gstream.engine.rank_slots import RankSlots
from gstream.engine.slot_files import Saved
from gstream.engine.sweep_state import SweepState, names_in
from gstream.language.program import Program
from gstream.options.stopping import Asked, Every, RunStopped, StopRequest, parse_every
from gstream.telemetry.stats import Kept
from gstream.telemetry.trace import Trace, timed
from gstream.version import __version__

DEFAULT_SECONDS = 60.0
TRIAL_BYTES = 16 << 20  # written and synced to see how fast the folder's disk is
MOMENT = 0.1  # seconds; calls that make several supersteps (gstream.engine.small_frontier) take less
SHARE = 0.05  # of a run's time, at most, goes into checkpoints if the options give no interval
NO_PROGRAM: dict[str, Any] = {"program": "", "hash": "", "parameters": {}}


@dataclass
class Keeper:
    """Keeps one call's checkpoints. found: the slot that the call goes on from, until all of it is taken; saved: the
    program's state of it; again: reads the newest anew. bytes: of the arrays of one checkpoint. ranks: of a run of
    several processes, which all keep it.

    own: what the algorithm keeps; program: what tells the program that runs from others. passed: supersteps and
    boundaries of the call so far, but for those of the program that runs. failed: a checkpoint could not be written.
    """

    slots: SlotFolder | RankSlots
    identity: dict[str, Any]
    every: Every
    stop: StopRequest | None
    trace: Trace | None = None
    ranks: Ranks | None = None
    again: Callable[[], State | None] = lambda: None
    found: Saved | None = None
    saved: State | None = None
    bytes: int = 0
    passed: int = 0
    failed: bool = False
    own: SweepState | None = None
    program: dict[str, Any] = field(default_factory=NO_PROGRAM.copy)
    kept: Kept = field(init=False)

    def __post_init__(self) -> None:
        self.kept = Kept(str(self.slots.folder))
        self._began = self._last = time.monotonic()
        self._begun = self._own_taken = False  # whether time counts; whether the algorithm has its state of `found`
        self._rewinds = False  # whether the newest slot is of the program that runs
        self._last_superstep = self._reached = 0  # of the call; of the program
        self._expected_s: float | None = None

    def heed(self, heeded: bool) -> None:
        """Whether requests to stop wait for the end of a superstep."""
        if self.stop is not None:
            self.stop.heed(heeded)

    def find(self) -> None:
        """Look for the slot to go on from. Raises as open_keeper does."""
        self.found = found = self.slots.newest()
        if found is None:
            return
        checks.check_slot(self._where, found, self.identity)
        said = found.description
        self.kept.resumed, self.kept.slot, self.kept.damaged = said["superstep"], found.path.name, found.older
        self.kept.holds = [*names_in(found), *([f"{said['program']}'s values"] if said["state"] is not None else [])]

    @property
    def awaited(self) -> set[str]:
        """Names that an algorithm's state has in the checkpoint, until it is taken: they say how far it came."""
        own = None if self.found is None or self._own_taken else self.found.description["own"]
        return set() if own is None or self.found is None else {*own["numbers"], *names_in(self.found)}

    def number(self, name: str, otherwise: Any) -> Any:
        """What the algorithm's state in the checkpoint has by that name; `otherwise` where there is none to take."""
        if name not in self.awaited or self.found is None:
            return otherwise
        return self.found.description["own"]["numbers"].get(name, otherwise)

    def adopt(self, state: SweepState) -> None:
        """Keep this from now on, filled from the checkpoint if that has it. Raises InputError for one that this
        algorithm did not write, UsageError for one of other input, ResourceError (no room for a checkpoint)."""
        self.own, self.program = state, NO_PROGRAM.copy()
        if self.awaited and self.found is not None:
            said = self.found.description
            if said["own"]["of"] != state.of:
                raise checks.changed_since(self._where, said, checks.FILE)
            with self._span("read", said["superstep"]):
                state.restore(self.found)
            self.passed, self._own_taken = said["own"]["boundaries"], True
        elif self.found is not None and not self._own_taken:  # of a program, which other options lead to
            checks.check_options(self._where, self.found.description["options"], self.identity["options"])
        self.bytes = sum(array.nbytes for array in state.arrays().values())
        self.slots.check_room(self.bytes)
        self.begin(0)

    def enter(self, program: Program, vertices: int, limit: int | None) -> None:
        """This program runs now. limit: supersteps that it may make.

        Raises UsageError (a checkpoint of another program or parameter, or whose supersteps a limit can't count),
        InputError (damaged), ResourceError (no room for a checkpoint).
        """
        ends = ends_of(type(program))
        parameters = {name: shown(getattr(program, name)) for name in type(program).parameters if name not in ends}
        self.program = {"program": type(program).__name__, "hash": hash_of(type(program)), "parameters": parameters}
        own = 0 if self.own is None else sum(array.nbytes for array in self.own.arrays().values())
        self.bytes = own + sum(count * dtype.itemsize for dtype, count in shapes_of(program, vertices).values())
        self._rewinds, self._reached = False, 0
        self.again = lambda: self._rewind(program, vertices)
        if self.found is not None and self.found.description["state"] is not None:
            found, self.found = self.found, None
            checks.check_program(self._where, found.description, self.identity, self.program)
            with self._span("read", found.description["superstep"]):
                self.saved = state_of(found, program, vertices)
            checks.check_limit(self._where, self.saved, limit)
            self._rewinds = True
        self.slots.check_room(self.bytes)

    def leave(self) -> None:
        """The program is over; its supersteps count."""
        self.passed += self._reached
        self.program, self.saved, self.again = NO_PROGRAM.copy(), None, lambda: None

    def take(self) -> State | None:
        """The state to go on from, for the caller to drop: values of all vertices are large. None: there is none.

        Another attempt of the same run, with less memory, goes on from the last checkpoint.
        """
        saved, self.saved = self.saved, None
        return self.again() if saved is None and self._rewinds else saved

    def _rewind(self, program: Program, vertices: int) -> State | None:
        """The newest state, which this run wrote or has checked before; what the algorithm keeps goes back with it."""
        found = self.slots.newest()
        if found is not None and self.own is not None:
            self.own.restore(found)
        return None if found is None else state_of(found, program, vertices)

    def begin(self, superstep: int) -> None:
        """Supersteps, and time, count from the first of these calls; requests to stop are heeded."""
        if not self._begun:
            self._begun = True
            self._began = self._last = time.monotonic()
            self._last_superstep = self.passed + superstep
        self.heed(True)

    def between(self, run: Any, superstep: int, ended: bool) -> None:
        """Between two supersteps of a program, or at its end: write a checkpoint if one is due.

        Raises RunStopped, once it is written, where the run was asked to stop; ResourceError or UsageError where it
        can't be written: the one before is then still there.
        """
        self._reached = superstep
        if ended and self.own is not None and not self.own.final:
            return  # the algorithm goes on, and has a boundary soon
        self._between(lambda: run.state(superstep), self.passed + superstep, ended)

    def pass_boundary(self, rounds: int, bring: Callable[[], None] | None, ended: bool) -> None:
        """`rounds` sweeps of the algorithm are over; as `between`. bring: has its arrays up to date."""
        self.passed += rounds

        def take() -> None:
            if bring is not None:
                bring()

        self._between(take, self.passed, ended)
        if ended:
            self.own = None

    def _between(self, take: Callable[[], State | None], superstep: int, ended: bool) -> None:
        if ended:
            self.heed(False)
        stop = self.stop is not None and self.stop.asked
        fresh = superstep > self._last_superstep
        stop, due = self._agreed(stop, lambda: fresh and (self._worth_an_end() if ended else self._due(superstep)))
        if stop or due:
            self.write(take, superstep)
        if stop:
            raise RunStopped(superstep, self.slots.folder)

    def _agreed(self, stop: bool, due: Callable[[], bool]) -> tuple[bool, bool]:
        """(whether a rank was asked to stop, whether a checkpoint is due by the first rank's clock)."""
        if self.ranks is None:
            return stop, not stop and due()
        told = self.ranks.everybody((stop, self.ranks.first and due()))
        return any(stop for stop, _ in told), told[0][1]

    def supersteps_left(self, superstep: int) -> int | None:
        """How many may be made after that one before a checkpoint is due; None: as many as a moment allows."""
        if self.every.supersteps is not None:
            return max(1, self._last_superstep + self.every.supersteps - self.passed - superstep)
        return 1 if self.every.seconds is not None and self.every.seconds < MOMENT else None

    def _due(self, superstep: int) -> bool:
        if self.every.supersteps is not None:
            return superstep - self._last_superstep >= self.every.supersteps
        waited = time.monotonic() - self._last
        if self.every.seconds is not None:
            return waited >= self.every.seconds
        return waited >= DEFAULT_SECONDS and waited >= self._one() / SHARE

    def _worth_an_end(self) -> bool:
        """Whether the end is kept, from which more supersteps could go on: by a run that went on from a checkpoint, or
        wrote some; but by default only if all of these still take no more than their share of the time."""
        if self.kept.resumed is not None:
            return True
        usual = self.every.supersteps is None and self.every.seconds is None
        spent = self.kept.seconds + self._one() if self.kept.written else 0.0
        return self.kept.written > 0 and (not usual or spent <= SHARE * (time.monotonic() + self._one() - self._began))

    def _one(self) -> float:
        """Seconds that a checkpoint takes: as those before did; the first as its bytes at the speed of a trial."""
        if self.kept.written:
            return self.kept.seconds / self.kept.written
        if self._expected_s is None:
            self._expected_s = self.bytes / self.slots.write_speed(min(self.bytes, TRIAL_BYTES))
        return self._expected_s

    def write(self, take: Callable[[], State | None], superstep: int) -> None:
        """Write a checkpoint into the older slot. take: what brings the state, which devices may have."""
        began = time.monotonic()
        with self._span("write", superstep):
            state, own = take(), None
            arrays: dict[str, Any] = {}
            if self.own is not None:
                arrays = self.own.arrays()
                own = {"boundaries": self.passed, "numbers": self.own.numbers(), "of": self.own.of}
                own["gstream"] = __version__
            if state is not None:
                arrays |= state.arrays()
            described = {"version": checks.VERSION, **self.identity, **self.program, "superstep": superstep, "own": own}
            described["state"] = None if state is None else state.numbers()
            try:
                self.kept.bytes += self.slots.write(described, arrays)
            except BaseException:
                self.failed = True
                raise
        self.kept.written += 1
        self._rewinds = state is not None
        self._last, self._last_superstep = time.monotonic(), superstep
        self.kept.seconds += self._last - began

    @property
    def _where(self) -> str:
        return f"--checkpoint {self.slots.folder}"

    def _span(self, what: str, superstep: int) -> Any:
        return timed(self.trace, "disk", "checkpoints", f"{what} a checkpoint, superstep {superstep}")


@contextmanager
def open_keeper(options: Any, meta: Any, identity: dict[str, Any]) -> Iterator[Keeper]:
    """The keeper of a call whose options ask for one. identity: its `run` and `options`, as messages name them.

    meta: the store's. Raises UsageError (the folder; it has a checkpoint and the options don't resume; a checkpoint of
    another store, algorithm or options), InputError (damaged).
    """
    folder, ranks = options.checkpoint, options.ranks
    with SlotFolder(folder) if ranks is None else RankSlots(folder, ranks) as slots:
        every = parse_every(options.checkpoint_every)
        keeper = Keeper(slots, {"store": meta.uuid, **identity}, every, options.stop, options.trace, ranks)
        if options.resume:
            keeper.find()
        elif options.replace_checkpoint:
            slots.clear()
        else:
            checks.check_unfinished(slots)
        try:
            yield keeper
        finally:
            keeper.heed(False)


@contextmanager
def make_keeper(
    options: Any, meta: Any, code: Any, limit: int | None, asked: Asked, keeper: Keeper | None = None
) -> Iterator[Keeper | None]:
    """The keeper of one run of a program, None where the options ask for none. keeper: the call's, if it has one.

    code: the compiled program. limit: supersteps that the run may make. asked: what the run is, for messages. Raises
    as open_keeper and Keeper.enter do.
    """
    if options.checkpoint is None or not asked.kept:
        yield None
        return
    program: Program = code.program
    if keeper is not None:
        keeper.enter(program, meta.vertices, limit)
        yield keeper
        keeper.leave()
        return
    ends = ends_of(type(program))
    parameters = {name: shown(getattr(program, name)) for name in type(program).parameters if name not in ends}
    with open_keeper(options, meta, {"run": asked.name, "options": parameters}) as own:
        own.enter(program, meta.vertices, limit)
        yield own


def identity_of(asked: Asked) -> dict[str, Any]:
    """What tells an algorithm's call from others."""
    return {"run": asked.name, "options": {name: say(value) for name, value in (asked.options or {}).items()}}
