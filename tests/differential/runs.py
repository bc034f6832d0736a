"""How a call is run, drawn from a seed: devices, threads, memory, chunks, directions, checkpoints; and the run itself.

A `Run` has RunOptions by name and `knobs`, module constants that small graphs would never meet. `Runner` keeps one
store open for many calls.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from cases import Case

import gstream
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.support import blocks
from gstream.engine import delta_stepping as near
from gstream.engine import small_frontier as small
from gstream.options.stopping import RunStopped, StopRequest
from pagestore.errors import GstreamError, ResourceError

NEEDED = re.compile(r"(host_memory|device_memory) .*?(\d+) bytes are needed at least")
MOST_RAISES = 6  # of a cap, each to what the last message named


@dataclass
class Run:
    """options: of RunOptions. knobs: "small", "near", "room". stop: supersteps after which the run is stopped and gone
    on with from its checkpoint, as `others` say; None: it is not."""

    options: dict[str, Any]
    knobs: dict[str, Any]
    stop: int | None = None
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def as_dict(self) -> dict[str, Any]:
        """What makes it again."""
        return {"options": self.options, "knobs": self.knobs, "stop": self.stop, "others": self.others}

    def copy(self) -> Run:
        """One whose options are its own."""
        return Run(dict(self.options), self.knobs, self.stop, dict(self.others))

    def kinds(self) -> list[str]:
        """What counts are kept of."""
        options = self.options
        found = [f"devices {options['devices'][0].split(':')[0]}" + (" several" if several(options) else "")]
        found += [name.replace("_", " ") for name in ("host_memory", "device_memory", "chunk_vertices")
                  if options.get(name) is not None]  # fmt: skip
        found += [f"direction {options['direction']}", f"threads {options['threads']}", f"cache {options['cache']}"]
        return found + (["stopped and resumed"] if self.stop is not None else [])


def several(options: dict[str, Any]) -> bool:
    """Whether the run has more than one device."""
    kind, *numbers = options["devices"][0].split(":")
    return "," in options["devices"][0] or (kind == "host" and numbers not in ([], ["1"])) or len(numbers) > 1


def draw(random: Random, page_bytes: int, devices: tuple[str, ...] = ()) -> Run:
    """Any run on a store with pages of so many bytes."""
    knobs = {
        "small": random.choice([0, 0, 16, None]), "near": random.choice([0, 0, None]),
        "room": random.choice([None, None, None, 400, 2000]),
    }  # fmt: skip
    return Run(_options(random, page_bytes, devices), knobs)


def _options(random: Random, page_bytes: int, devices: tuple[str, ...]) -> dict[str, Any]:
    fake = f"fake:{random.randrange(1000)}"
    usual = (*["host"] * 6, "host:2", "host:3", fake, fake, f"{fake}:2", f"{fake}:3")
    caps = [None, None, None, None, 1000, 5 * page_bytes, 9 * page_bytes, 30 * page_bytes]
    return {
        "devices": [random.choice(devices or usual)],
        "threads": random.choice([1, 1, 1, 2, 3]),
        "host_memory": random.choice(caps),
        "device_memory": random.choice(caps),
        "chunk_vertices": random.choice([None, None, None, None, 1, 64, 200]),
        "direction": random.choice(["auto", "auto", "auto", "push", "pull"]),
        "cache": random.choice(["auto", "auto", "lru", "pinned", "0"]),
        "batch_bytes": random.choice([None, None, 1, page_bytes, 3 * page_bytes]),
        "streams": random.choice([None, None, 1, 2, 5]),
        "use_heads": random.random() < 0.7,
        "read_threads": random.choice([1, 2, 3]),
    }


def stopped(random: Random, run: Run, page_bytes: int, devices: tuple[str, ...] = ()) -> Run:
    """The same, stopped after some supersteps and gone on with in another way."""
    return Run(run.options, run.knobs, random.choice([1, 1, 2, 3, 5]), _options(random, page_bytes, devices))


@contextmanager
def turned(knobs: dict[str, Any]) -> Iterator[None]:
    """While the block lasts the constants are those of the knobs; None: the usual ones."""
    before = small.MOST_EDGES, near.FEWEST_EDGES, blocks.Blocks._cut
    if knobs["small"] is not None:
        small.MOST_EDGES = knobs["small"]
    if knobs["near"] is not None:
        near.FEWEST_EDGES = knobs["near"]
    if knobs["room"] is not None:
        blocks.Blocks._cut = _cut_small(blocks.Blocks._cut, knobs["room"])  # type: ignore[method-assign]
    try:
        yield
    finally:
        small.MOST_EDGES, near.FEWEST_EDGES, blocks.Blocks._cut = before  # type: ignore[method-assign]


def _cut_small(cut: Any, room: int) -> Any:
    """Blocks of so many bytes at most, where the longest list fits these."""

    def small_cut(self: Any, given: int) -> Any:
        try:
            return cut(self, min(given, room))
        except ResourceError:
            return cut(self, given)

    return small_cut


class CapNotEnough(Exception):
    """A cap that a message named as enough was refused by the next."""


class Runner:
    """An open store; a context manager. names: of the vertices, ascending. strict: a cap that a message names must be
    enough, else those that were not are counted."""

    def __init__(self, path: Path, names: np.ndarray, strict: bool = True) -> None:
        self.strict = strict
        self.graph, self.names, self._folder = gstream.open(path), names, path.with_suffix(".kept")
        self.raised = 0  # caps that were refused again

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: object) -> None:
        self.graph.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, case: Case, run: Run) -> Any:
        """The Result. Caps that are too small are raised, for later calls of the run, too, to what is said to be
        needed. Raises what the call raises, and CapNotEnough."""
        whole = {"room": None} if case.name in ("leiden", "louvain") else {}  # they take small graphs whole, or not
        with turned(run.knobs | whole):
            if run.stop is not None and ALGORITHMS[case.name].kept and not case.own.get("undirected"):
                return self._stop_and_go_on(case, run)
            return self._capped(case, run.options)

    def _capped(self, case: Case, options: dict[str, Any], **more: Any) -> Any:
        asked = case.asked(self.names)
        named: dict[str, int] = {}
        for _ in range(MOST_RAISES):
            try:
                return self.graph.execute(case.name, asked, case.certify, **options, **more)
            except ResourceError as error:
                found = NEEDED.search(str(error))
                if found is None or options[found[1]] is None:
                    raise
                name, need = found[1], int(found[2])
                if need <= options[name]:
                    raise CapNotEnough(f"{name}={options[name]} is refused, though it says: {error}") from error
                if name in named and self.strict:
                    raise CapNotEnough(f"{name}={named[name]} was said to be enough; now: {error}") from error
                self.raised += name in named
                options[name] = named[name] = need
        raise CapNotEnough(f"refused {MOST_RAISES} times")

    def _stop_and_go_on(self, case: Case, run: Run) -> Any:
        """Stop the run after some supersteps, and go on from the checkpoint on other devices."""
        shutil.rmtree(self._folder, ignore_errors=True)
        stop, kept = StopRequest(), {"checkpoint": str(self._folder), "checkpoint_every": 1000}

        def ask(superstep: int, figures: Any) -> None:
            if superstep >= run.stop:  # type: ignore[operator]
                stop.ask()

        try:
            return self._capped(case, run.options, stop=stop, progress=ask, **kept)
        except RunStopped:
            return self._capped(case, run.others, resume=True, **kept)


def is_refused(error: GstreamError, run: Run) -> bool:
    """Whether the run's options, and no fault, may be why a call was refused."""
    said, given = str(error), [run.options, *([run.others] if run.others else [])]
    pulls = any(options["direction"] != "auto" for options in given)
    chunks = any(options["chunk_vertices"] is not None for options in given)
    capped = any(options["device_memory"] is not None or options["host_memory"] is not None for options in given)
    return (
        (pulls and said.startswith("direction "))
        or (chunks and said.startswith("chunk_vertices "))
        or (pulls and capped and isinstance(error, ResourceError) and "needed at least" in said)
    )
