"""What a run may use and how it is made to go: the options of the driver, the same for the command line and Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gstream.stats import StepStats
from gstream.trace import Trace
from pagestore.cores import usable_cores
from pagestore.errors import UsageError

BATCH_BYTES = 16 << 20  # at 16 MiB a link reaches 55.0 of its 55.4 GB/s
CACHE_POLICIES = ("auto", "lru", "pinned", "0")
DIRECTIONS = ("auto", "push", "pull")
MICRO = ("vertex", "edge", "hybrid")
LIMITS = ("device_memory", "host_memory", "max_supersteps", "chunk_vertices", "threads", "streams", "batch_bytes")
MOST_NUMBERS = {"host": 1, "cuda": 1, "fake": 2}  # after a kind of device


def times_longer(devices: int) -> int:
    """How many times as long as for one device stretches and batches are.

    One thread feeds all devices: with a batch of 16 MiB it is busy for some 75 us, and the device's link for 300 us.
    """
    return max(1, devices // 2)


@dataclass
class RunOptions:
    """Options of one engine. Raises UsageError on a value outside its limits.

    devices: "host", "host:N" (N devices that share the cores), "cuda" (the first GPU), "cuda:N" (GPU number N),
        "cuda:0,1" (several), "fake:SEED", "fake:SEED:N"; a list joins them. A GPU may be named twice, to try out two
    device_memory, host_memory: caps in bytes; None is what the machine has
    batch_bytes: pages of one copy and one launch, at most one stretch of them; None: 16 MiB, more on many devices
    streams: streams of a device that copies (host devices read pages where they lie); None: as many as keep a link busy
        with batches of that size, up to 32
    cache: policy of both page caches, host memory over disk and device memory over the link; "auto" pins
    direction: "auto" chooses in every superstep
    micro: lanes of a GPU that share a vertex's list (thesis 4.1): one ("vertex"), a warp ("edge"), or what each page's
        directory entry says; lists of column pages have one whatever it is
    chunk_vertices: at most so many vertices of WA resident at once; None is what fits
    threads: host threads in all; None is the cores this process may use
    read_threads: threads that read ahead from disk
    trace: takes what happened when; progress: called after each superstep with its number, from 1, and figures
    """

    devices: list[str] = field(default_factory=lambda: ["host"])
    device_memory: int | None = None
    host_memory: int | None = None
    batch_bytes: int | None = None
    streams: int | None = None
    cache: str = "auto"
    direction: str = "auto"
    micro: str = "hybrid"
    use_heads: bool = True
    max_supersteps: int | None = None
    chunk_vertices: int | None = None
    threads: int | None = None
    read_threads: int = 3
    trace: Trace | None = None
    progress: Callable[[int, StepStats], None] | None = None

    def __post_init__(self) -> None:
        for name in LIMITS:
            value = getattr(self, name)
            if value is not None and value < (0 if name == "max_supersteps" else 1):
                raise UsageError(
                    f"{_flag(name)}: {value} is too small; it must be positive. Leave it out for the default."
                )
        if self.read_threads < 1:
            raise UsageError(f"{_flag('read_threads')}: {self.read_threads} is too small; it must be at least 1.")
        _check_choice("--cache", self.cache, CACHE_POLICIES)
        _check_choice("--direction", self.direction, DIRECTIONS)
        _check_choice("--micro", self.micro, MICRO)

    def batch_on(self, devices: int) -> int:
        """Bytes of a batch on so many devices."""
        return self.batch_bytes or BATCH_BYTES * times_longer(devices)

    @property
    def host_threads(self) -> int:
        return self.threads or usable_cores()

    @property
    def cache_policy(self) -> str | None:
        """Policy of the page caches, None for no cache. A sweep larger than the cache gives LRU no hits: pin."""
        return {"auto": "pinned", "0": None}.get(self.cache, self.cache)


@dataclass(frozen=True)
class DeviceSpec:
    """One device that was asked for: `kind` is "host", "cuda" or "fake"; a fake device's seed, a GPU's number."""

    kind: str
    seed: int = 0


def parse_devices(names: list[str]) -> list[DeviceSpec]:
    """DeviceSpecs of `RunOptions.devices`. Raises UsageError for a name that is none, or devices that can't be joined.

    Whether a GPU is there shows when the engine makes its device.
    """
    joined = ",".join(names)
    specs: list[DeviceSpec] = []
    for name in joined.split(",") if joined else []:
        kind, *numbers = name.split(":")
        if name.isdecimal() and specs and specs[-1].kind == "cuda":  # cuda:0,1
            kind, numbers = "cuda", [name]
        if kind not in MOST_NUMBERS or len(numbers) > MOST_NUMBERS[kind]:
            raise UsageError(
                f"--devices {name}: not a device; known are host, host:N, cuda, cuda:N, cuda:N,M, fake:SEED and "
                "fake:SEED:N."
            )
        if not all(number.isdecimal() for number in numbers):
            raise UsageError(f"--devices {name}: after a colon comes a number, as in host:2.")
        values = [int(number) for number in numbers]
        if kind == "host":
            specs += [DeviceSpec("host")] * (values[0] if values else 1)
        elif kind == "cuda":
            specs.append(DeviceSpec("cuda", values[0] if values else 0))
        else:
            seed, count = (values + [0, 1][len(values) :])[:2]
            specs += [DeviceSpec("fake", seed + offset) for offset in range(count)]
    if len({spec.kind for spec in specs}) > 1:
        raise UsageError(f"--devices {joined}: devices of one run are all of one kind. Name one kind.")
    if not specs:
        raise UsageError(f"--devices {joined}: names no device. Pass --devices host.")
    return specs


def _flag(name: str) -> str:
    return "--" + name.removesuffix("_bytes").replace("_", "-")


def _check_choice(flag: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{flag}: {value!r} is unknown; it must be one of {', '.join(choices)}.")
