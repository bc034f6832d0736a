"""What a report shows of a run, gathered while it runs and after it: plain values, which a trace can hold as well."""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gstream.reporting.distributions import distributions
from gstream.telemetry.plain_values import plain_values
from gstream.telemetry.trace import ChromeTrace, Trace
from gstream.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from gstream.telemetry.stats import StepStats

TOP_ROWS = 20
MOST_SAMPLES = 1024  # of memory: every other one goes where there would be more
LIBRARIES = ("numpy", "numba", "h5py", "pyarrow", "pycuda")
ENVIRONMENT = ("GSTREAM_", "NUMBA_", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")


class RunRecorder:
    """Takes the spans and supersteps of one run: it is `trace` and `progress` of its RunOptions.

    following: is called after each superstep. also: takes each span. within, rounds: those attributes of `following`,
    which are called with what is done (gstream.telemetry.progress.WorkDone); None: it has none.
    """

    def __init__(self, following: Callable[[int, StepStats], None] | None = None, also: Trace | None = None) -> None:
        self.trace, self._also = ChromeTrace(), also
        self.samples: list[tuple[float, int]] = []
        self.within, self.rounds = getattr(following, "within", None), getattr(following, "rounds", None)
        self._following, self._began, self._every, self._seen = following, 0.0, 1, 0

    def __call__(self, number: int, step: StepStats) -> None:
        self._began = self._began or time.perf_counter() - step.seconds
        self._seen += 1
        if self._seen % self._every == 0:
            self.samples.append((time.perf_counter() - self._began, held_bytes()))
        if len(self.samples) >= MOST_SAMPLES:
            self.samples, self._every = self.samples[1::2], 2 * self._every
        if self._following is not None:
            self._following(number, step)

    def span(self, process: str, track: str, name: str, start_s: float, end_s: float) -> None:
        """Note a span; called from several threads."""
        self.trace.span(process, track, name, start_s, end_s)
        if self._also is not None:
            self._also.span(process, track, name, start_s, end_s)

    def facts(
        self, result: Any, summary: dict[str, Any], graph: dict[str, Any], *, command: str, title: str = "",
        settings: dict[str, Any] | None = None, plan: dict[str, Any] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """All that a report shows, as JSON's types.

        summary: of the result; graph: Graph.info; settings: options of the driver that were given; plan: as
        `gstream plan --json`, None for algorithms without one.
        """
        stats = summary["stats"]
        told = {name: value for name, value in summary.items() if name not in ("stats", "lost")}
        return plain_values(
            {
                "format": 1,
                "command": command,
                "title": title,
                "graph": {name: graph.get(name) for name in GRAPH_FACTS},
                "summary": told,
                "stats": stats,
                "rows": len(result),
                "top": result.top(TOP_ROWS),
                "distributions": [one.as_dict() for one in distributions(result)],
                "samples": self.samples,
                "settings": settings or {},
                "plan": plan,
                "machine": machine(),
                "written": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )


GRAPH_FACTS = (
    "path", "vertices", "edges", "stored_edges", "directed", "weighted", "order", "page_bytes", "id_bytes",
    "file_bytes", "uuid",
)  # fmt: skip


def held_bytes() -> int:
    """Memory that this process has in RAM."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def machine() -> dict[str, str]:
    """What a run stands on: system, processor, cores, memory, versions and variables that change how runs go."""
    from importlib.metadata import PackageNotFoundError, version

    from gstream.options.memory import memory
    from pagestore.cores import usable_cores
    from pagestore.sizes import show_bytes

    found = {
        "gstream": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(usable_cores()),
        "memory": show_bytes(memory()[0]),
    }
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found |= {name: value for name, value in sorted(os.environ.items()) if name.startswith(ENVIRONMENT)}
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


def python_call(name: str, given: dict[str, Any], program: bool = False) -> str:
    """A call of a Graph as it is typed; large values by their types. program: `name` is what `Graph.run` was given,
    a FILE.py:CLASS or a class's name."""
    shown = [repr(name) if ":" in name else name] if program else []
    for key, value in given.items():
        text = repr(value)
        shown.append(f"{key}={text if len(text) <= 60 else f'<{type(value).__name__}>'}")
    return f"graph.{'run' if program else name}({', '.join(shown)})"
