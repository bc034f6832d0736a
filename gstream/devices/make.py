"""The devices of an engine, as its options name them."""

from __future__ import annotations

import os
from importlib import import_module

from gstream.devices.base import Device
from gstream.devices.host import HostDevice
from gstream.options import TEST_DEVICES, DeviceSpec, RunOptions


def make_devices(specs: list[DeviceSpec], options: RunOptions) -> list[Device]:
    """One device a spec. Raises DeviceMissingError where a GPU, or what drives it, is missing."""
    hosts = sum(spec.kind == "host" for spec in specs)
    threads = max(1, options.host_threads // max(1, hosts))
    made: list[Device] = []
    for number, spec in enumerate(specs):
        name = f"{spec.kind}:{number}"
        if spec.kind == "cuda":
            from gstream.devices.gpu import GpuDevice

            made.append(GpuDevice(f"cuda:{spec.seed}", spec.seed, options.host_threads, options.trace))
        elif spec.kind == "host":
            made.append(HostDevice(name, threads, options.trace))
        else:
            module, _, factory = os.environ[TEST_DEVICES].partition(":")
            made.append(getattr(import_module(module), factory)(name, spec.seed))
    return made
