"""This machine as a Machine: its cores and GPUs measured, or as measured before (gstream.planning.calibration)."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from gstream.devices.host.threads import Workers
from gstream.options.auto_devices import gpus_there
from gstream.options.memory import total_memory
from gstream.planning import calibration
from gstream.planning.machines import RATES, Machine
from pagestore.cores import usable_cores
from pagestore.errors import GstreamError

NS_AN_EDGE = {
    "text": 115.0,
    "binary": 65.0,
    "generate": 65.0,
}  # of a core, to a store of both topologies (bench/convert)
MEASURED_HERE = "measured here"


def this_machine(disk: float | None = None) -> Machine:
    """The machine at hand. disk: bytes/s, where it was measured. A GPU that can't be used is left out."""
    cores = usable_cores()
    workers = Workers(cores, "measure")
    try:
        rates = _plain(calibration.constants(workers))
    finally:
        workers.close()
    known = {name: value for name, value in calibration.known(cores).items() if name.startswith("takes ")}
    found: dict[str, Any] = {
        "core_rates": rates,
        "convert": {kind: cores * 1e9 / ns for kind, ns in NS_AN_EDGE.items()},
        "sources": {"core_rates": MEASURED_HERE, "convert": "reckoned from two measured cores", "disk": "a usual one"},
        "core_factors": known,
    }  # fmt: skip
    if disk is not None:
        found["disk"] = disk
        found["sources"]["disk"] = MEASURED_HERE
    if gpus_there():
        with suppress(GstreamError):
            found |= _gpus(found["sources"])
    return Machine(
        platform.node() or "this", cores, total_memory(), about=f"{platform.machine()}, {cores} cores", **found
    )


def _plain(constants: Any) -> dict[str, float]:
    known = RATES["gpu_rates"] - {"disk", "disk_apart", "load"}
    return {name: value for name, value in asdict(constants).items() if name in known}


def _gpus(sources: dict[str, str]) -> dict[str, Any]:
    """What a Machine says of the GPUs, which are taken to be alike."""
    from gstream.devices.gpu.driver import Gpu, found

    gpus = [Gpu(number) for number in range(len(found()))]
    with gpus[0]:
        memory = gpus[0].free_bytes()
    sources["gpu_rates"] = sources["gpu_memory"] = MEASURED_HERE
    factors = {name: value for name, value in calibration.known(gpus[0].name).items() if name.startswith("takes ")}
    return {
        "gpus": len(gpus), "gpu": gpus[0].name, "gpu_memory": memory,
        "gpu_rates": _plain(calibration.gpu_constants(gpus)), "gpu_factors": factors,
    }  # fmt: skip
