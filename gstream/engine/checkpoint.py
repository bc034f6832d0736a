"""Checkpoint and restart (Garaph 2.2): between two supersteps a run is its values, its frontier and a few numbers.

    with make_keeper(options, meta, code, ...) as keeper:    the folder is locked, what is in it is checked
        Run.begin     goes on from what keeper.take gives, where it gives any
        Run.go        calls keeper.between after every superstep: it writes when it is time, and ends the run if asked

What is kept does not depend on devices: vertices that are held back (gstream.engine.delta_stepping) are in the
frontier's bitmap, and are found again by their values, as are those that wait (gstream.engine.small_frontier); open
bits, messages and caches are made again. So a run goes on on other devices. The folder and its two slots are
gstream.engine.checkpoint_slots'. A run that was long enough to be kept once is kept at its end, too: what follows
(predecessors, writing the answer) can fail, and is then made from the final values.
"""

from __future__ import annotations

import ast
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gstream.engine.checkpoint_slots import Saved, SlotFolder
from gstream.hostcode.generate import BLOCK
from gstream.language.program import Program
from gstream.options.stopping import Asked, Every, RunStopped, StopRequest, parse_every
from gstream.telemetry.stats import Kept
from pagestore.errors import InputError, UsageError, plain

DEFAULT_SECONDS = 60.0
TRIAL_BYTES = 16 << 20  # written and synced to see how fast the folder's disk is
MOMENT = 0.1  # seconds; calls that make several supersteps (gstream.engine.small_frontier) take less
SHARE = 0.05  # of a run's time, at most, goes into checkpoints if the options give no interval
MOST_SHOWN = 80  # characters of a parameter; longer ones are told apart by their hash
VERSION = 4


@dataclass
class State:
    """A run between two supersteps.

    value: value[V] in store order; active: uint64[ceil(V / 64)], those held back too; partials: float64[blocks,
    totals]; near_step: what the frontier was cut with, None where it was not; in_place: values may have come farther
    than an edge a superstep (gstream.language.relaxing); order_step, order_limit: of a frontier whose least values
    send first (gstream.engine.small_frontier), else None; the rest is gstream.engine.direction's.
    """

    value: np.ndarray
    active: np.ndarray
    partials: np.ndarray
    superstep: int
    near_step: float | None
    unexplored: int
    pulled: bool
    last_vertices: int
    in_place: bool
    order_step: float | None
    order_limit: float | None

    def numbers(self) -> dict[str, Any]:
        """Everything but the arrays, for JSON."""
        return {name: value for name, value in vars(self).items() if name not in ARRAYS}


ARRAYS = ("value", "active", "partials")
NONE = type(None)
WRITTEN = {  # types of a state's numbers
    "superstep": (int,), "near_step": (float, int, NONE), "unexplored": (int,), "pulled": (bool,),
    "last_vertices": (int,), "in_place": (bool,), "order_step": (float, NONE), "order_limit": (float, NONE),
}  # fmt: skip


@dataclass
class Keeper:
    """Keeps one run's checkpoints. saved: what it goes on from, until it is taken; again: reads the newest anew.

    bytes: of the arrays of one.
    """

    slots: SlotFolder
    identity: dict[str, Any]
    every: Every
    stop: StopRequest | None
    again: Callable[[], State | None] = lambda: None
    saved: State | None = None
    bytes: int = 0
    kept: Kept = field(init=False)

    def __post_init__(self) -> None:
        self.kept = Kept(str(self.slots.folder))
        self._began = self._last = time.monotonic()
        self._last_superstep = 0
        self._expected_s: float | None = None

    def heed(self, heeded: bool) -> None:
        """Whether requests to stop wait for the end of a superstep."""
        if self.stop is not None:
            self.stop.heeded = heeded

    def take(self) -> State | None:
        """The state to go on from, for the caller to drop: values of all vertices are large. None: there is none.

        Another attempt of the same run, with less memory, goes on from the last checkpoint.
        """
        saved, self.saved = self.saved, None
        if saved is None and (self.kept.written or self.kept.resumed is not None):
            return self.again()
        return saved

    def begin(self, superstep: int) -> None:
        """Supersteps, and time, count from now; requests to stop are heeded."""
        self._began = self._last = time.monotonic()
        self._last_superstep = superstep
        self.heed(True)

    def between(self, run: Any, superstep: int, ended: bool) -> None:
        """Between two supersteps, or at the end: write a checkpoint if one is due.

        Raises RunStopped, once it is written, where the run was asked to stop; ResourceError or UsageError where it
        can't be written: the one before is then still there.
        """
        if ended:
            self.heed(False)
        stop = self.stop is not None and self.stop.asked
        fresh = superstep > self._last_superstep
        if stop or fresh and (self._worth_an_end() if ended else self._due(superstep)):
            self.write(lambda: run.state(superstep))
        if stop:
            raise RunStopped(superstep, self.slots.folder)

    def supersteps_left(self, superstep: int) -> int | None:
        """How many may be made after that one before a checkpoint is due; None: as many as a moment allows."""
        if self.every.supersteps is not None:
            return max(1, self._last_superstep + self.every.supersteps - superstep)
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

    def write(self, take: Callable[[], State]) -> None:
        """Write a checkpoint into the older slot. take: what gives the state, which devices may have to bring."""
        began = time.monotonic()
        state = take()
        arrays = {name: getattr(state, name) for name in ARRAYS}
        described = {"version": VERSION, **self.identity, "state": state.numbers()}
        self.kept.bytes += self.slots.write(described, arrays)
        self.kept.written += 1
        self._last, self._last_superstep = time.monotonic(), state.superstep
        self.kept.seconds += self._last - began


@contextmanager
def make_keeper(options: Any, meta: Any, code: Any, limit: int | None, asked: Asked) -> Iterator[Keeper | None]:
    """The keeper that the options ask for, None where they ask for none.

    meta: the store's. code: the compiled program. limit: supersteps that the run may make. asked: what the run is, for
    messages. Raises UsageError (the folder; it has a checkpoint and the options don't resume; a checkpoint of
    another store, program or parameter, or whose supersteps a limit can't count), InputError (damaged), ResourceError
    (no room for a checkpoint).
    """
    if options.checkpoint is None or not asked.kept:
        yield None
        return
    program: Program = code.program
    ends = ends_of(type(program))
    parameters = {name: shown(getattr(program, name)) for name in type(program).parameters if name not in ends}
    said = parameters if asked.options is None else {name: say(value) for name, value in asked.options.items()}
    identity = {
        "store": meta.uuid, "run": asked.name, "options": said, "program": type(program).__name__,
        "hash": hash_of(type(program)), "parameters": parameters,
    }  # fmt: skip
    with SlotFolder(options.checkpoint) as slots:
        keeper = Keeper(slots, identity, parse_every(options.checkpoint_every), options.stop)
        keeper.bytes = sum(count * dtype.itemsize for dtype, count in _shapes(program, meta.vertices).values())
        keeper.again = lambda: _read(slots, program, meta.vertices)
        if options.resume:
            keeper.saved = _go_on(keeper, program, meta.vertices, limit)
        elif options.replace_checkpoint:
            slots.clear()
        else:
            _refuse_unfinished(slots)
        slots.check_room(keeper.bytes)
        try:
            yield keeper
        finally:
            keeper.heed(False)


def _go_on(keeper: Keeper, program: Program, vertices: int, limit: int | None) -> State | None:
    """The state to go on from, None where the folder holds none. Raises as make_keeper does."""
    found = keeper.slots.newest()
    if found is None:
        return None
    _check_described(found)
    where = f"--checkpoint {keeper.slots.folder}"
    _refuse_others(where, found.description, keeper.identity)
    saved = _state_of(found, program, vertices)
    if limit is not None and saved.superstep > limit:
        raise UsageError(
            f"{where}: its checkpoint is of superstep {saved.superstep}, and this run is to end after {limit}. Raise "
            "that limit, or start afresh: pass --force instead of --resume."
        )
    if limit is not None and saved.in_place:
        raise UsageError(
            f"{where}: its checkpoint is of a run without a limit of supersteps, whose values may have come farther "
            f"than {saved.superstep} edges in {saved.superstep} supersteps. Resume without a limit, or start afresh: "
            "pass --force instead of --resume."
        )
    keeper.kept.resumed, keeper.kept.slot, keeper.kept.damaged = saved.superstep, found.path.name, found.older
    return saved


def _check_described(found: Saved) -> None:
    """Raise InputError for a description of this version that no run wrote: its checksum may be right all the same."""
    said = found.description
    if said.get("version") != VERSION:
        return  # which is refused as such
    state = said.get("state")
    whole = all(isinstance(said.get(name), str) for name in ("store", "run", "program", "hash"))
    whole = whole and all(isinstance(said.get(name), dict) for name in ("options", "parameters"))
    if not isinstance(state, dict) or state.keys() != WRITTEN.keys():
        whole = False
    elif any(type(state[name]) not in types for name, types in WRITTEN.items()):
        whole = False
    if not whole:
        raise InputError(f"{found.path}: is no checkpoint of gstream's. Start afresh: pass --force.")


def _refuse_others(where: str, found: dict[str, Any], identity: dict[str, Any]) -> None:
    """Raise UsageError where a checkpoint is of another version, store, program or parameter."""
    start = "Name another folder, or start afresh: pass --force instead of --resume."
    if found.get("version") != VERSION:
        raise UsageError(f"{where}: its checkpoint is of another version of gstream. {start}")
    if found["store"] != identity["store"]:
        raise UsageError(
            f"{where}: its checkpoint is of the store with UUID {plain(found['store'])}; this one's is "
            f"{identity['store']} (gstream info shows it). {start}"
        )
    if found["run"] != identity["run"]:
        raise UsageError(
            f"{where}: its checkpoint is of {plain(found['run'])}; this run is of {identity['run']}. {start}"
        )
    same = all(found["parameters"].get(name) == value for name, value in identity["parameters"].items())
    if same and all(found[what] == identity[what] for what in ("program", "hash")):
        return  # options may differ that say when the run ends
    before, now = found["options"], identity["options"]
    others = [name for name in now if before.get(name) != now[name]]
    if others:
        raise UsageError(
            f"{where}: its checkpoint is of a run with {_list(before, others)}; this one has {_list(now, others)}. "
            "Pass the same, or start afresh: pass --force instead of --resume."
        )
    changed = "text has changed" if found["hash"] != identity["hash"] else "input, a file that it reads, has changed"
    raise UsageError(f"{where}: its checkpoint is of {plain(found['run'])}, whose {changed} since. {start}")


def _list(options: dict[str, str | None], names: list[str]) -> str:
    """Options with their values, for a message."""
    said = [f"no {name}" if options.get(name) is None else f"{name}={plain(options[name])}" for name in names]
    return " and ".join(said) if len(said) < 3 else ", ".join(said)


def _read(slots: SlotFolder, program: Program, vertices: int) -> State | None:
    """The newest state, which this run wrote or has checked before."""
    found = slots.newest()
    return None if found is None else _state_of(found, program, vertices)


def _state_of(found: Saved, program: Program, vertices: int) -> State:
    """The state that a slot holds. Raises InputError if it is of a graph of another size."""
    shapes, blocks = _shapes(program, vertices), -(-vertices // BLOCK)
    if {name: (array.dtype, len(array)) for name, array in found.arrays.items()} != shapes:
        raise InputError(f"{found.path}: is no checkpoint of this graph and program. Start afresh: pass --force.")
    if vertices % 64 and int(found.arrays["active"][-1]) >> vertices % 64:
        raise InputError(f"{found.path}: has vertices past the graph's last. Start afresh: pass --force.")
    partials = found.arrays["partials"].reshape(blocks, len(program.totals))
    return State(found.arrays["value"], found.arrays["active"], partials, **found.description["state"])


def _shapes(program: Program, vertices: int) -> dict[str, tuple[np.dtype, int]]:
    """Type and length of each array of a state."""
    blocks, words = -(-vertices // BLOCK), -(-vertices // 64)
    return {
        "value": (type(program).value.dtype, vertices), "active": (np.dtype(np.uint64), words),
        "partials": (np.dtype(np.float64), blocks * len(program.totals)),
    }  # fmt: skip


def _refuse_unfinished(slots: SlotFolder) -> None:
    """Raise UsageError where a folder holds a checkpoint that a run would replace."""
    found = slots.description()
    if found is not None:
        state = found.get("state")
        superstep = state.get("superstep") if isinstance(state, dict) else None
        raise UsageError(
            f"--checkpoint {slots.folder}: holds a checkpoint of {plain(found.get('run'))} after superstep "
            f"{plain(superstep)}. Pass --resume to go on from it, --force to start afresh, or name another folder."
        )


def hash_of(program: type[Program]) -> str:
    """What a program computes, as 32 hexadecimal digits: its algebra and its methods, comments and layout apart."""
    text = [program.combine.name, program.value.name, str(program.backward)]
    text += [f"{p.name}: {p.kind}" for p in program.parameters.values()]
    text += [ast.unparse(program.methods[name].tree) for name in sorted(program.methods)]
    return hashlib.blake2b("\n".join(text).encode(), digest_size=16).hexdigest()


def ends_of(program: type[Program]) -> set[str]:
    """Parameters that say only when a run ends, as a tolerance: those that `halt` reads and no other method."""
    read = {name: _parameters_read(method.tree) for name, method in program.methods.items()}
    return read.get("halt", set()) - set().union(*(names for name, names in read.items() if name != "halt"))


def _parameters_read(method: ast.AST) -> set[str]:
    """Names of the attributes of `self` in a method."""
    return {
        node.attr for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }  # fmt: skip


def shown(value: Any) -> str:
    """A parameter as text that is equal for equal values only: long ones by their hash."""
    if isinstance(value, np.ndarray):
        return f"array {hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()}"
    text = repr(tuple(map(str, value)) if isinstance(value, tuple) else value)  # vertices: 7 is "7"
    return text if len(text) <= MOST_SHOWN else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def say(value: Any) -> str | None:
    """An option as a message says it, None for one that was left out: the same text for equal values only."""
    if value is None or isinstance(value, np.ndarray):
        return None if value is None else shown(value)
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple, set, range)) else str(value)
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN // 2]}... ({hashlib.blake2b(text.encode(), digest_size=4).hexdigest()})"
