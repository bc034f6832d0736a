"""What a run may use and how it is made to go: the options of the driver, the same for the command line and Python."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any

from gstream.options.auto_devices import AUTO, is_auto
from gstream.options.memory import total_memory
from gstream.options.stopping import StopRequest, parse_every
from gstream.options.values import switch, whole
from gstream.options.wording import KEYWORDS, in_python
from gstream.telemetry.progress import ShowSteps
from gstream.telemetry.trace import Trace
from pagestore.cores import checked_threads, usable_cores
from pagestore.errors import UsageError, plain
from pagestore.sizes import parse_size, show_bytes

READ_THREADS = 3  # a disk, where none is given and none is measured, as of pages that stay in memory
BATCH_BYTES = 16 << 20  # at 16 MiB a link reaches 55.0 of its 55.4 GB/s
CACHE_POLICIES = ("auto", "lru", "pinned", "0")
DIRECTIONS = ("auto", "push", "pull")
DISPATCH = ("auto", "fixed")
MICRO = ("vertex", "edge", "hybrid", "1", "2", "4", "8", "16", "32")  # numbers: of pagestore.layout, which takes NumPy
SIZES = ("device_memory", "host_memory", "batch_bytes")
SWITCHES = ("use_heads", "zero_copy", "resume", "replace_checkpoint")
LEAST = {
    "device_memory": 1, "host_memory": 1, "batch_bytes": 1, "streams": 1, "chunk_vertices": 1, "max_supersteps": 0,
    "read_threads": 1,
}  # fmt: skip
MOST = {
    "batch_bytes": 1 << 30,  # a stretch, to which batches are cut, is 16 MiB a few times
    "streams": 128,  # kernels that a GPU runs at a time, at most
    "read_threads": 64,  # a disk has that many requests in its queue
}
MOST_DIGITS = 18  # of a number in --devices
MOST_DEVICES = 16  # that share the host's cores, or one a core where there are more
MOST_NUMBERS = {"host": 1, "cuda": 1}  # after a kind of device
TEST_DEVICES = "GSTREAM_TEST_DEVICES"  # MODULE:FACTORY, which makes devices of a kind more: "fake:SEED:N"


def times_longer(devices: int) -> int:
    """How many times as long as for one device stretches and batches are. One thread feeds all devices: with a batch of
    16 MiB it is busy for some 75 us, and the device's link for 300 us."""
    return max(1, devices // 2)


def coded_batch(devices: int) -> int:
    """Bytes of a batch of coded pages as it crosses the link: these become some three times as many, and queueing what
    decodes them takes as long as queueing a copy and a launch."""
    return 2 * BATCH_BYTES * times_longer(devices)


@dataclass
class RunOptions:
    """Options of one engine. Raises UsageError on a value outside its limits.

    devices: "auto" (the first GPU and the cores beside it where they are worth it, else the cores:
        gstream.options.auto_devices), "host", "host:N" (N devices that share the cores), "cuda" (the first GPU),
        "cuda:N" (GPU number N), "cuda:0,1" (several), "host,cuda:0" (the cores beside GPUs); a list joins them. A GPU
        may be named twice, to try out two
    device_memory, host_memory: caps in bytes, or text as the command line takes it ("8GB", "1GiB"; so may batch_bytes
        be); None is what the machine has
    batch_bytes: pages of one copy and one launch, at most one stretch of them; None: 16 MiB, more on many devices
    streams: streams of a device that copies (host devices read pages where they lie); None: as many as keep a link busy
        with batches of that size, up to 32
    cache: policy of both page caches, host memory over disk and device memory over the link; "auto" pins, 0 has none
    direction: "auto" chooses in every superstep
    dispatch: of cores beside GPUs. "auto" gives pages to whoever is free, and leaves the cores out where that is
        slower; "fixed" gives both calibrated shares of every superstep, so that sums repeat bit by bit
    micro: lanes of a GPU that share a vertex's list (thesis 4.1): one ("vertex"), a warp ("edge"), a number ("1", "2",
        "4", "8", "16", "32"), or "hybrid": what was measured to be best for each page; lists of column pages have one
    use_heads: hold the first neighbours of each vertex where programs with `done` gain by it
    zero_copy: where few lists of a page are wanted, GPUs read these in host memory instead of copying the page
    chunk_vertices: the most vertices of WA resident at once; None: as many as fit
    threads: host threads in all; None is the cores this process may use
    read_threads: threads that read ahead, for each disk that the store lies on; None or "auto": the fewest that are as
        fast as more, measured once a disk
    checkpoint: folder for checkpoints of a program's run (gstream.engine.checkpoint); None: none. checkpoint_every: so
        many supersteps (10), or a time ("30s", "5m"); None: a minute. resume: go on from the checkpoint that is there,
        on any devices; replace_checkpoint: start afresh though there is one; stop: gstream.options.stopping.StopRequest
    trace: takes what happened when; no device makes supersteps by itself then (gstream.engine.autonomous)
    ranks: gstream.devices.ranks.Ranks where a launcher started several processes that share the run; None: one does it
    progress: called after each superstep with its number, from 1, and its StepStats; True shows them on standard error
    """

    devices: list[str] = field(default_factory=lambda: [AUTO])
    device_memory: int | None = None
    host_memory: int | None = None
    batch_bytes: int | None = None
    streams: int | None = None
    cache: str = "auto"
    direction: str = "auto"
    dispatch: str = "auto"
    micro: str = "hybrid"
    use_heads: bool = True
    zero_copy: bool = True
    max_supersteps: int | None = None
    chunk_vertices: int | None = None
    threads: int | None = None
    read_threads: int | str | None = None
    checkpoint: str | os.PathLike | None = None
    checkpoint_every: int | str | None = None
    resume: bool = False
    replace_checkpoint: bool = False
    stop: StopRequest | None = None
    trace: Trace | None = None
    ranks: Any = None
    progress: Any = None

    @in_python()
    def __post_init__(self) -> None:
        if self.read_threads == "auto":
            self.read_threads = None
        for name in SIZES:
            setattr(self, name, parse_size(getattr(self, name), _flag(name)))
        for name, least in LEAST.items():
            if getattr(self, name) is not None:
                setattr(self, name, whole(_flag(name), getattr(self, name)))
            _check_limits(_flag(name), getattr(self, name), least, MOST.get(name), name in SIZES)
        self.threads = None if self.threads is None else whole("--threads", self.threads)
        checked_threads(self.threads)
        self._check_devices()
        if self.host_memory is not None and self.host_memory > (total := total_memory()):
            raise UsageError(
                f"--host-memory {show_bytes(self.host_memory)}: more than the {show_bytes(total)} that this machine, "
                "or its container, has. Pass less, or leave it out: a run takes most of what is free."
            )
        for name in SWITCHES:
            setattr(self, name, switch(_flag(name), getattr(self, name)))
        for name in ("cache", "micro"):  # their numbers may be given as numbers
            value = getattr(self, name)
            if isinstance(value, Integral) and not isinstance(value, bool):
                setattr(self, name, str(int(value)))
        _check_choice("--cache", self.cache, CACHE_POLICIES)
        _check_choice("--direction", self.direction, DIRECTIONS)
        _check_choice("--micro", self.micro, MICRO)
        _check_choice("--dispatch", self.dispatch, DISPATCH)
        self._check_checkpoint()
        self._check_progress()

    def _check_progress(self) -> None:
        if self.progress is True:
            self.progress = ShowSteps()
        elif self.progress is False:
            self.progress = None
        elif self.progress is not None and not callable(self.progress):
            raise UsageError(f"progress {self.progress!r}: must be True, or a function of a superstep's number and "
                             "figures.")  # fmt: skip
        if self.trace is not None and not callable(getattr(self.trace, "span", None)):
            raise UsageError(
                f"trace {self.trace!r}: must have a method span, as a gstream.telemetry.trace.ChromeTrace has, which "
                "writes a file, too. From the shell, --trace FILE does both."
            )

    def _check_devices(self) -> None:
        if isinstance(self.devices, str):
            self.devices = [self.devices]
        if not isinstance(self.devices, (list, tuple)) or not all(isinstance(name, str) for name in self.devices):
            raise UsageError(f"--devices {self.devices!r}: is no name of a device, and no list of names. Pass one, as "
                             "--devices host.")  # fmt: skip

    def _check_checkpoint(self) -> None:
        if not isinstance(self.checkpoint, (str, os.PathLike, type(None))):
            raise UsageError(f"--checkpoint {self.checkpoint!r}: is no folder's name. Pass one, as --checkpoint kept.")
        if self.checkpoint is None:
            asked = {"--checkpoint-every": self.checkpoint_every is not None, "--resume": self.resume}
            for flag in (name for name, given in asked.items() if given):
                raise UsageError(f"{flag}: is about checkpoints. Pass --checkpoint FOLDER too.")
        elif not os.fspath(self.checkpoint):
            raise UsageError("--checkpoint: names no folder. Pass one, as --checkpoint kept.")
        if self.resume and self.replace_checkpoint:
            raise UsageError("resume and replace_checkpoint: one goes on, the other starts afresh. Drop one of them.")
        parse_every(self.checkpoint_every)

    def batch_on(self, devices: int, coded: bool = False) -> int:
        """Bytes of a batch as it crosses the link, by the number of devices."""
        return self.batch_bytes or (coded_batch(devices) if coded else BATCH_BYTES * times_longer(devices))

    @property
    def host_threads(self) -> int:
        return checked_threads(self.threads)

    @property
    def cache_policy(self) -> str | None:
        """Policy of the page caches, None for none. Sweeps larger than host memory's cache give LRU no hits: pin."""
        return {"auto": "pinned", "0": None}.get(self.cache, self.cache)


@dataclass(frozen=True)
class DeviceSpec:
    """One device that was asked for: `kind` is "host", "cuda" or, in tests, "fake"; a fake's seed, a GPU's number."""

    kind: str
    seed: int = 0


def parse_devices(names: list[str]) -> list[DeviceSpec]:
    """DeviceSpecs of `RunOptions.devices`, the host's cores last; of "auto" the cores alone. Raises UsageError for an
    unknown name, or devices that can't be joined. Whether a GPU is there shows when the engine makes its device."""
    joined = "host" if is_auto(names) else ",".join(names)
    specs: list[DeviceSpec] = []
    for name in joined.split(",") if joined else []:
        kind, *numbers = name.split(":")
        if name.isdecimal() and specs and specs[-1].kind == "cuda":  # cuda:0,1
            kind, numbers = "cuda", [name]
        most = 2 if kind == "fake" and os.environ.get(TEST_DEVICES) else MOST_NUMBERS.get(kind)
        if most is None or len(numbers) > most:
            raise UsageError(
                f"--devices {name}: not a device; known are auto, host, host:N, cuda, cuda:N and cuda:N,M."
            )
        if not all(number.isdecimal() and len(number) <= MOST_DIGITS for number in numbers):
            raise UsageError(f"--devices {name}: after a colon comes a number, as in host:2.")
        values = [int(number) for number in numbers]
        if kind == "host":
            specs += [DeviceSpec("host")] * _shared(name, values[0] if values else 1)
        elif kind == "cuda":
            specs.append(DeviceSpec("cuda", values[0] if values else 0))
        else:
            seed, count = (values + [0, 1][len(values) :])[:2]
            specs += [DeviceSpec("fake", seed + offset) for offset in range(_shared(name, count))]
    others = [spec for spec in specs if spec.kind != "host"]
    if len({spec.kind for spec in others}) > 1:
        raise UsageError(f"--devices {joined}: devices beside the cores are all of one kind. Name one kind.")
    if others and len(specs) > len(others) + 1:
        raise UsageError(f"--devices {joined}: beside others the cores are one device. Pass host once.")
    if not specs:
        raise UsageError(f"--devices {joined}: names no device. Pass --devices host.")
    return others + [spec for spec in specs if spec.kind == "host"]


def split_cores(specs: list[DeviceSpec]) -> tuple[list[DeviceSpec], bool]:
    """The devices that hold a run's values; whether the cores stand beside them."""
    others = [spec for spec in specs if spec.kind != "host"]
    return (others, len(others) < len(specs)) if others else (specs, False)


KEYWORDS.update(entry.name for entry in fields(RunOptions))


def _shared(name: str, count: int) -> int:
    """`count` devices that share the host's cores, each with threads of its own. Raises UsageError for too many."""
    most = max(MOST_DEVICES, usable_cores())
    if count > most:
        raise UsageError(
            f"--devices {name}: {count} devices would share {usable_cores()} cores; the limit is {most}. "
            "Pass fewer: one takes all cores."
        )
    return count


def _flag(name: str) -> str:
    return "--" + name.removesuffix("_bytes").replace("_", "-")


def _check_limits(flag: str, value: int | None, least: int, most: int | None, is_size: bool) -> None:
    if value is not None and value < least:
        raise UsageError(f"{flag}: {value} is too small; the least is {least}. Leave it out for the default.")
    if value is not None and most is not None and value > most:
        show = show_bytes if is_size else str
        raise UsageError(
            f"{flag}: {show(value)} is too large; the limit is {show(most)}. Leave it out for the default."
        )


def _check_choice(flag: str, value: str, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise UsageError(f"{flag}: {plain(repr(value))} is unknown; it must be one of {', '.join(choices)}.")
