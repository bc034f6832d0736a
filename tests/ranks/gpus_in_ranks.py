"""Run by mpiexec: the cases' runs by stand-ins for GPUs in each rank, against one process on the cores.

mpiexec -n 2 python gpus_in_ranks.py FOLDER GPUS LINK NAME...    GPUS: of a rank; LINK: "mpi" or "nccl";
                                                                 FOLDER/gpus-RANK.json: the outcome
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import compilers
import instead
import standin
from in_ranks import by_each, difference, run
from kept_in_ranks import end_after
from rank_cases import CASES, Case

from gstream.devices.gpu import rank_links
from gstream.devices.ranks import Ranks
from tests import quick

GPUS = {1: "cuda:0,1,2", 2: "cuda:0,2,1,3"}  # of two ranks, each of which reads all memory of its own GPUs


def compared(case: Case, ranks: Ranks, folder: Path, devices: str) -> tuple[str, list[int]]:
    """How a case's answers by ranks, on the store and on parts, differ from the one by the cores; and the bytes that
    this rank gave to others in each."""
    alone = by_each(ranks, lambda: run(folder, case, None))
    on_gpus, told, sent = case._replace(run={**case.run, "devices": devices}), "", []
    for in_parts in (False, True)[: 1 + case.in_parts]:
        before = ranks.bytes_sent
        told += difference(alone, run(folder, on_gpus, ranks, in_parts=in_parts))
        sent.append(ranks.bytes_sent - before)
    return told, sent


def kept(ranks: Ranks, folder: Path, devices: str, link: str) -> str:
    """What goes wrong where runs end after two checkpoints, and go on: on the GPUs, from the GPUs' on the cores, from
    the cores' on the GPUs; "" if nothing does."""
    told = ""
    for name in ("pagerank by blocks", "bfs by blocks"):
        case, alone = CASES[name], run(folder, CASES[name], None)
        for first, then in ((devices, devices), (devices, "host"), ("host", devices)):
            slots = {"checkpoint": folder / f"{name} {link} {first} {then}", "checkpoint_every": 1}
            begun = case._replace(run={**case.run, **slots, "devices": first})
            assert end_after(2, lambda begun=begun: run(folder, begun, ranks)), "it writes fewer checkpoints"
            found = run(folder, case._replace(run={**case.run, **slots, "devices": then, "resume": True}), ranks)
            if found.summary["stats"]["kept"]["resumed"] is None:
                told += f"{name}, {first} to {then}: it began afresh; "
            told += difference(alone, found)
    return told


def main() -> None:
    quick.go_on()
    folder, gpus, link, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    instead.install(compilers.compile_unit)
    if link == "nccl":
        import standin_nccl

        rank_links._load_nccl = lambda: standin_nccl
    else:
        rank_links._load_nccl = lambda: None
    ranks, found = Ranks(), dict[str, Any]()
    found["kept"] = kept(ranks, folder, GPUS[gpus], link) if "sssp" in names else ""
    for name in names:
        standin.WORK.seed(f"{name} {ranks.rank}")
        found[name], found[f"bytes of {name}"] = compared(CASES[name], ranks, folder, GPUS[gpus])
        standin.WORK.drain()
        assert not standin.LIVE, f"{name}: GPU memory that nobody freed"
    (folder / f"gpus-{ranks.rank}.json").write_text(json.dumps(found))
    ranks.wait()
    ranks.finish()


if __name__ == "__main__":
    main()
