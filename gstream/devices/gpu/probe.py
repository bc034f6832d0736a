"""How fast one GPU's link, peers and calls are, measured through `Gpu` in well under a second.

    pin_rate       bytes/s at which touched host memory is pinned
    to_device      bytes/s of pinned copies of 16 MiB, one stream; from_device: of copies of 64 MiB
    call_s         seconds of one call: a copy of a few bytes and its event, issued from Python (issue = done)
    list_seconds   of a short list that a kernel reads in host memory, a slot and a size before it
    kernel_rates   edges/s of a pull and of a push with no pages; memory: bytes/s of copies within the GPU's own
    peer_rate      bytes/s at which a GPU copies from another one's memory

Each rate is that of the fastest round: what else the machine does slows some. `python -m gstream.devices.gpu.probe`
prints what the GPUs are and these figures as lines of JSON, each as soon as it is known, so that their reader
keeps those that came before a GPU failed or hung.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape, unit_of_page_kernels
from gstream.devices.gpu.driver import Gpu, found
from gstream.devices.gpu.prestart import cuda_version
from pagestore.errors import GstreamError
from pagestore.io import aligned_empty

PIN_BYTES = 128 << 20  # pinning costs about 0.1 ms beside its rate of 30 to 60 GB/s
COPY_BYTES = 16 << 20  # a batch of pages: 55.0 of the 55.4 GB/s of a PCIe 5 link
WHOLE_BYTES = 64 << 20  # copies that the host waits for, 10 µs each
LISTS = 1 << 16  # 2 ms of a PCIe 5 link
EDGES = 1 << 24  # 0.2 ms of an H200
TARGETS = 1 << 20  # vertices that these lead to: values of 4 MiB lie in L2, as those of hubs do
LARGE_BYTES = 256 << 20  # larger than L2
CALLS = 64  # queued at once; a driver takes 1,024
ROUNDS = 8
PART_SECONDS = 0.1  # no round begins later: slow links take fewer


@dataclass(frozen=True)
class Probe:
    """Figures of one GPU; rates in bytes/s, call_s in seconds."""

    pin_rate: float
    to_device: float
    from_device: float
    call_s: float


def probe(gpu: Gpu) -> Probe:
    """Measure `gpu`. Frees what it took, also on errors. Raises ResourceError (memory), DeviceError (CUDA's)."""
    with gpu, ExitStack() as held:
        host = aligned_empty(PIN_BYTES)
        host[:] = 1  # memory is taken as it is touched, and only memory that is there is pinned at the full rate
        gpu.pin(host[:COPY_BYTES])()  # what the first call sets up is not pinning
        began = time.perf_counter()
        unpin = gpu.pin(host)
        pin_seconds = time.perf_counter() - began
        held.callback(unpin)
        device = gpu.empty(WHOLE_BYTES, np.uint8)
        held.callback(device.free)
        stream, event = gpu.stream(), gpu.event()
        held.callback(gpu.synchronize)  # comes first at the end: copies may be on their way when an error is raised

        def copy_in() -> None:
            for first in range(0, PIN_BYTES, COPY_BYTES):
                gpu.write(device.address + first % WHOLE_BYTES, host[first : first + COPY_BYTES], stream)

        def copy_out() -> None:
            for first in range(0, PIN_BYTES, WHOLE_BYTES):
                gpu.read(device.address, host[first : first + WHOLE_BYTES], stream)

        def call() -> None:
            for _ in range(CALLS):
                gpu.write(device.address, host[:64], stream)
                event.record(stream)

        return Probe(
            pin_rate=PIN_BYTES / max(pin_seconds, 1e-9),
            to_device=PIN_BYTES / least_seconds(gpu, copy_in),
            from_device=PIN_BYTES / least_seconds(gpu, copy_out),
            call_s=least_seconds(gpu, call) / CALLS,
        )


def peer_rate(gpu: Gpu, other: Gpu) -> float | None:
    """Bytes/s of copies from `other`'s memory into `gpu`'s; None where it can't reach it. Raises as `probe`.

    Leaves peer access enabled, as runs on several GPUs do.
    """
    with gpu:
        if not gpu.reaches(other):
            return None
    with other, ExitStack() as theirs:
        there = other.empty(WHOLE_BYTES, np.uint8)
        theirs.callback(there.free)
        with gpu, ExitStack() as ours:
            here = gpu.empty(WHOLE_BYTES, np.uint8)
            ours.callback(here.free)
            stream = gpu.stream()
            ours.callback(gpu.synchronize)
            return WHOLE_BYTES / least_seconds(gpu, lambda: gpu.copy(here.address, there.address, WHOLE_BYTES, stream))


def list_seconds(gpu: Gpu) -> float | None:
    """Seconds that a short list takes which kernels read in place in pinned host memory; None where they can't.

    Compiles a kernel at its first call on a machine. Raises as `probe`, and DeviceMissingError without nvcc.
    """
    if not gpu.reads_host:
        return None
    with gpu, ExitStack() as held:
        read = _kernels(gpu)["read_lists_kernel"]
        host = aligned_empty(PIN_BYTES).view(np.uint64)
        host[:] = 1
        held.callback(gpu.pin(host))
        total = gpu.empty(1, np.uint64)
        held.callback(total.free)
        stream = gpu.stream()
        held.callback(gpu.synchronize)
        blocks = 8 * gpu.processors

        def read_all() -> None:
            read(stream, blocks, host.ctypes.data, len(host), LISTS, total.address)

        return least_seconds(gpu, read_all) / LISTS


def kernel_rates(gpu: Gpu) -> dict[str, float]:
    """pull_edges and push_edges (edges/s), memory (bytes/s): of sums of 4-byte values at random places, and atomic
    additions there; of copies, which read and write. What runs do later differs: they read pages, tiles save reads.

    Compiles and raises as `list_seconds`.
    """
    with gpu, ExitStack() as held:
        kernels = _kernels(gpu)
        targets = gpu.upload(np.random.default_rng(1).integers(0, TARGETS, EDGES, dtype=np.uint32))
        held.callback(targets.free)
        values, total = gpu.empty(TARGETS, np.uint32), gpu.empty(1, np.uint64)
        held.callback(values.free)
        held.callback(total.free)
        stream, blocks = gpu.stream(), 8 * gpu.processors
        held.callback(gpu.synchronize)
        given = (stream, blocks, targets.address, EDGES, values.address)
        pull = EDGES / least_seconds(gpu, lambda: kernels["gather_edges_kernel"](*given, total.address))
        push = EDGES / least_seconds(gpu, lambda: kernels["scatter_edges_kernel"](*given))
    with gpu, ExitStack() as held:
        here, there = gpu.empty(LARGE_BYTES, np.uint8), gpu.empty(LARGE_BYTES, np.uint8)
        held.callback(here.free)
        held.callback(there.free)
        held.callback(gpu.synchronize)
        seconds = least_seconds(gpu, lambda: gpu.copy(here.address, there.address, LARGE_BYTES, stream))
    return {"pull_edges": pull, "push_edges": push, "memory": LARGE_BYTES / seconds}


def _kernels(gpu: Gpu) -> dict[str, Any]:
    shape = UnitShape(np.dtype(np.uint32), None, np.dtype(np.uint32))
    return gpu.load(unit_of_page_kernels("probe", ("probe.cu",), shape))


def least_seconds(gpu: Gpu, call: Callable[[], None], rounds: int | None = None) -> float:
    """Seconds of the fastest of up to `rounds` calls (default: ROUNDS), all that they queued done; one warms up."""
    call()
    gpu.synchronize()
    least, until = float("inf"), time.perf_counter() + PART_SECONDS
    for _ in range(rounds or ROUNDS):
        began = time.perf_counter()
        call()
        gpu.synchronize()
        ended = time.perf_counter()
        least = min(least, ended - began)
        if ended > until:
            break
    return max(least, 1e-9)


def say(**facts: Any) -> None:
    """One line of JSON."""
    print(json.dumps(facts), flush=True)


def main() -> None:
    """Print {"cuda": version}, {"gpu": N, name...} of each GPU and its figures, or {"error": text}.

    A GPU that fails does not keep the others from being measured.
    """
    say(cuda=cuda_version())
    try:
        listed = found()
    except GstreamError as error:
        say(error=_said(error))
        return
    for number, facts in enumerate(listed):
        say(gpu=number, **facts)
    taken: dict[int, Gpu] = {}
    for number in range(len(listed)):
        try:
            taken[number] = Gpu(number)
            say(gpu=number, **asdict(probe(taken[number])))
        except Exception as error:  # whatever it is, it is this GPU's line
            taken.pop(number, None)
            say(gpu=number, error=_said(error))
    for number, gpu in taken.items():
        try:
            rates = {other: peer_rate(gpu, taken[other]) for other in taken if other != number}
            say(gpu=number, peer_rates={other: rate for other, rate in rates.items() if rate is not None})
        except Exception as error:
            say(gpu=number, error=_said(error))


def _said(error: BaseException) -> str:
    """One line: CUDA's own words where there are any, since the remedies in gstream's errors are those of runs."""
    told = error.__cause__ or error
    text = " ".join(str(told).split()) or type(told).__name__
    return f"pycuda can't be imported: {text}" if isinstance(told, ImportError) else text


if __name__ == "__main__":
    main()
