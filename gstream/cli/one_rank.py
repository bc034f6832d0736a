"""Ranks of one machine on one store: the first does the run as one process, with the cores and GPUs of all of them.

By the cost model (equations 1 and 2) the ranks of a machine take as long for their pages as one process with the same
cores and GPUs, and what they hand each other comes on top: devices of one process read each other's memory. So the
others only wait, and leave it their cores. `--ranks share` lets all of them work.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gstream.cli.failures import stops_when_kept
from pagestore.cores import MAX_THREADS, usable_cores

if TYPE_CHECKING:
    from gstream.devices.ranks import Ranks


def one_for_all(ranks: Ranks, store: Path, options: dict[str, Any]) -> dict[str, Any] | None:
    """The engine's options of the first rank where it does the run for all; None where ranks share it: on several
    machines or a graph in parts, under a cap of a rank's memory, where they see different files, and where the first
    can't have all cores and GPUs of the others. All ranks make this call, and get the same."""
    from pagestore.manifest import is_parts

    if ranks.local_size < ranks.size or options.get("host_memory") is not None:
        return None
    if len(set(ranks.everybody(_file(store)))) > 1:  # which is refused when they open them
        return None
    if is_parts(store):  # the same to all, as they see the same file
        return None
    devices = _devices_of_all(ranks, store, options)
    if devices is None or not _takes_all_cores(ranks):
        return None
    threads = options.get("threads")
    more = {} if threads is None else {"threads": min(threads * ranks.size, max(MAX_THREADS, usable_cores()))}
    return {**options, **more, **devices}


def _file(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to; None: to none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _devices_of_all(ranks: Ranks, store: Path, options: dict[str, Any]) -> dict[str, Any] | None:
    """{"devices": all GPUs that ranks would share}, {} where the options stay as they are; None where GPUs are wanted
    and ranks see different ones."""
    from gstream.options.auto_devices import AUTO, file_may_be_worth, gpus_there, is_auto

    names = options.get("devices", [AUTO])
    auto = is_auto(names)
    wanted = file_may_be_worth(store, options.get("threads") or usable_cores()) if auto else "cuda" in ",".join(names)
    if not ranks.any(bool(wanted and gpus_there())):
        return {}
    from gstream.engine.rank_devices import seen_gpus

    seen = seen_gpus(ranks, None)
    if ranks.any(len(seen.sharing) < ranks.size):
        return None
    several = auto and len(seen.numbers) > 1
    return {"devices": [f"cuda:{','.join(map(str, seen.numbers))}"]} if several else {}


def _takes_all_cores(ranks: Ranks) -> bool:
    """Let the first rank have the cores that launchers bound the others to; False where it may not."""
    if not hasattr(os, "sched_getaffinity"):
        return True
    own = os.sched_getaffinity(0)
    everybody = set[int]().union(*ranks.everybody(own))
    has_all = own == everybody
    if ranks.first and not has_all:
        try:
            os.sched_setaffinity(0, everybody)
            has_all = os.sched_getaffinity(0) == everybody
        except OSError:
            has_all = False
        if not has_all:
            os.sched_setaffinity(0, own)
    return bool(ranks.of_first(has_all))


def wait_for_first(ranks: Ranks, keeps: bool) -> None:
    """Wait, in a rank but the first, until that has done the run. keeps: signals ask it to end once the run is kept."""
    told = False
    with stops_when_kept(keeps) as stop:
        stop.heed(keeps)

        def hand_on() -> None:
            nonlocal told
            if stop.asked and not told:
                told = True
                ranks.ask_first_to_stop()

        ranks.wait(hand_on)
