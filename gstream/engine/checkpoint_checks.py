"""Whether a checkpoint is of the run that would go on from it; one that is not is refused, and the error says why."""

from __future__ import annotations

from typing import Any

from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.program_state import WRITTEN, State
from gstream.engine.rank_slots import RankSlots
from gstream.engine.slot_files import Saved
from gstream.version import __version__
from pagestore.errors import InputError, UsageError, plain

VERSION = 5  # of what is written
OWN = {"boundaries": int, "numbers": dict, "of": str, "gstream": str}  # of an algorithm's state
FILE = "input, a file that it reads,"
START = "Name another folder, or start afresh: pass --force instead of --resume."


def check_slot(where: str, found: Saved, identity: dict[str, Any]) -> None:
    """Raise InputError for a slot that no run wrote, UsageError for one of another version, store or run, or of an
    algorithm's other options. where: the option and its folder."""
    _check_described(found)
    _refuse_others(where, found, identity)


def _check_described(found: Saved) -> None:
    """Raise InputError for a description of this version that no run wrote: its checksum may be right all the same."""
    said = found.description
    if said.get("version") != VERSION:
        return  # which is refused as such
    state, own = said.get("state"), said.get("own")
    whole = all(isinstance(said.get(name), str) for name in ("store", "run", "program", "hash"))
    whole = whole and all(isinstance(said.get(name), dict) for name in ("options", "parameters"))
    whole = whole and type(said.get("superstep")) is int and (state is not None or own is not None)
    if state is not None and (not isinstance(state, dict) or state.keys() != WRITTEN.keys()):
        whole = False
    elif state is not None and any(type(state[name]) not in types for name, types in WRITTEN.items()):
        whole = False
    if own is not None and not (isinstance(own, dict) and {name: type(own.get(name)) for name in own} == OWN):
        whole = False
    if not whole:
        raise InputError(f"{found.path}: is no checkpoint of gstream's. Start afresh: pass --force.")


def _refuse_others(where: str, found: Saved, identity: dict[str, Any]) -> None:
    """Raise UsageError where a checkpoint is of another version, store or run, or of an algorithm's other options."""
    said = found.description
    if said.get("version") != VERSION or said["own"] is not None and said["own"]["gstream"] != __version__:
        raise UsageError(f"{where}: its checkpoint is of another version of gstream. {START}")
    if said["store"] != identity["store"]:
        raise UsageError(
            f"{where}: its checkpoint is of the store with UUID {plain(said['store'])}; this one's is "
            f"{identity['store']} (gstream info shows it). {START}"
        )
    if said["run"] != identity["run"]:
        raise UsageError(
            f"{where}: its checkpoint is of {plain(said['run'])}; this run is of {identity['run']}. {START}"
        )
    if said["own"] is not None:  # a program says itself whether its parameters are the same
        check_options(where, said["options"], identity["options"])


def check_program(where: str, said: dict[str, Any], identity: dict[str, Any], program: dict[str, Any]) -> None:
    """Raise UsageError where a checkpoint is of another program or parameter."""
    same = all(said["parameters"].get(name) == value for name, value in program["parameters"].items())
    if same and all(said[what] == program[what] for what in ("program", "hash")):
        return  # options may differ that say when the run ends
    check_options(where, said["options"], identity["options"])
    raise changed_since(where, said, "text" if said["hash"] != program["hash"] else FILE)


def changed_since(where: str, said: dict[str, Any], what: str) -> UsageError:
    """The error of a run that would not be the same: it rests on something else."""
    return UsageError(f"{where}: its checkpoint is of {plain(said['run'])}, whose {what} has changed since. {START}")


def check_options(where: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise UsageError where a checkpoint is of a run with other options."""
    others = [name for name in now if before.get(name) != now[name]]
    if others:
        raise UsageError(
            f"{where}: its checkpoint is of a run with {_list(before, others)}; this one has {_list(now, others)}. "
            "Pass the same, or start afresh: pass --force instead of --resume."
        )


def check_limit(where: str, saved: State, limit: int | None) -> None:
    """Raise UsageError for a state that a run with this limit of supersteps never has."""
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


def _list(options: dict[str, str | None], names: list[str]) -> str:
    """Options with their values, for a message."""
    said = [f"no {name}" if options.get(name) is None else f"{name}={plain(options[name])}" for name in names]
    return " and ".join(said) if len(said) < 3 else ", ".join(said)


def check_unfinished(slots: SlotFolder | RankSlots) -> None:
    """Raise UsageError where a folder holds a checkpoint that a run would replace."""
    found = slots.description()
    if found is not None:
        raise UsageError(
            f"--checkpoint {slots.folder}: holds a checkpoint of {plain(found.get('run'))} after superstep "
            f"{plain(found.get('superstep'))}. Pass --resume to go on from it, --force to start afresh, or name "
            "another folder."
        )
