"""The devices of an engine, as its options name them."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from gstream.devices.base import Device, Exchange
from gstream.devices.host.beside import BesideDevice
from gstream.devices.host.device import HostDevice
from gstream.options.auto_devices import cuda_has_started, gpus_there, is_auto, is_worth_a_gpu
from gstream.options.run_options import TEST_DEVICES, DeviceSpec, RunOptions, parse_devices
from gstream.paging.kept_memory import FRESH, MEMORY, KeptMemory
from pagestore.errors import GstreamError


def make_devices(specs: list[DeviceSpec], options: RunOptions) -> list[Device]:
    """One device a spec. Raises DeviceMissingError where a GPU, or what drives it, is missing."""
    hosts = len(specs)  # if there are any
    threads = max(1, options.host_threads // max(1, hosts))
    made: list[Device] = []
    try:
        for number, spec in enumerate(specs):
            made.append(_make(spec, f"{spec.kind}:{number}", threads, options))
    except BaseException:
        for device in made:  # they have threads, or memory of a GPU
            device.close()
        raise
    return made


def choose_devices(options: RunOptions, edges: int) -> tuple[list[Device], str, list[DeviceSpec]]:
    """Devices of a run on a store of so many edges: those that are made already, what is to be noted, and all specs."""
    if options.ranks is not None:
        from gstream.engine.rank_devices import specs_of_rank

        specs, note = specs_of_rank(options, edges)
        return [], note, specs
    found, note = first_gpu(options, edges) if is_auto(options.devices) else ([], "")
    return found, note, parse_devices(["host,cuda:0"] if found else options.devices)


def first_gpu(options: RunOptions, edges: int) -> tuple[list[Device], str]:
    """The first GPU for a store of so many edges, where it is worth it. Without one nothing, and what is to be noted:
    why a GPU that seems to be there could not be used."""
    if not gpus_there() or not is_worth_a_gpu(edges, options.host_threads, cuda_has_started()):
        return [], ""
    made: list[Device] = []
    try:
        made = make_devices([DeviceSpec("cuda", 0)], options)
        made[0].capacity()
        return made, ""
    except GstreamError as error:
        for device in made:
            device.close()
        why = getattr(error, "what", str(error)).removeprefix("--devices cuda: ").partition(". ")[0].rstrip(".")
        return [], f"the host's cores did the work, as the GPU could not be used: {why}"


def make_beside(devices: list[Device], options: RunOptions) -> BesideDevice:
    """The cores beside devices with memory of their own: all but one, which feeds these."""
    pin = devices[0].pin if devices[0].pins else None
    return BesideDevice(max(1, options.host_threads - 1), pin, options.host_memory is None, options.trace)


def memory_for(options: RunOptions) -> KeptMemory:
    """Where arrays of a call lie: in memory that is kept from call to call, but under a cap."""
    return MEMORY if options.host_memory is None else FRESH


def make_exchange(devices: list[Device], ranks: Any = None, part: Any = None) -> Exchange:
    """How they agree: devices that hold values are all of one kind, which says so. ranks: of a run of several
    processes. part: which vertices its part of the graph reads and writes (gstream.engine.own_slices).
    """
    if ranks is not None:
        from gstream.engine.rank_devices import exchange_of_ranks

        return exchange_of_ranks(devices, ranks, part)
    return devices[0].exchange(devices)


def alone(exchange: Exchange) -> Exchange:
    """The first device of one process alone; all of them where there is no other, and under ranks."""
    several = len(exchange.devices) > 1 and exchange.ranks is None
    return make_exchange(list(exchange.devices[:1])) if several else exchange


def _make(spec: DeviceSpec, name: str, threads: int, options: RunOptions) -> Device:
    """The device of one spec; threads: of a host."""
    if spec.kind == "cuda":
        from gstream.devices.gpu.device import GpuDevice

        return GpuDevice(
            f"cuda:{spec.seed}", spec.seed, options.host_threads, options.trace, keeps=options.host_memory is None
        )
    if spec.kind == "host":
        return HostDevice(name, threads, options.trace, memory_for(options))
    module, _, factory = os.environ[TEST_DEVICES].partition(":")
    made: Device = getattr(import_module(module), factory)(name, spec.seed)
    return made
