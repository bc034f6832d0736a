"""One side of bench/natural.py: converts and runs with the gstream that PYTHONPATH names, which may be an older one.

Requests come on standard input, a JSON object a line, and each gets one as its answer; the process ends with its input.
It imports nothing of bench/, and asks for no more than gstream.open and convert_arrays had when they were new.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gstream
import pagestore


def convert(edges: str, store: str, vertices: int, directed: bool) -> dict[str, Any]:
    """Write the store of the edges source.npy[i] -> target.npy[i] in the folder `edges`, weights weight.npy[i], in
    natural order."""
    arrays = [np.load(Path(edges) / f"{name}.npy", mmap_mode="r") for name in ("source", "target", "weight")]
    pagestore.convert_arrays(store, *arrays, directed=directed, vertices=vertices)
    return {}


class Side:
    """What is open."""

    graph: Any = None

    def open(self, store: str, options: dict[str, Any]) -> dict[str, Any]:
        self.graph = gstream.open(store, devices=["host"], **options)
        return {}

    def run(self, algorithm: str, given: list[dict[str, Any]], column: str, answers: str = "") -> dict[str, Any]:
        """Seconds of a call, the mean over all that are given; answers: a prefix of files for them, column[vertices]
        in the order of vertices, PREFIX0.npy and so on."""
        seconds = 0.0
        for number, own in enumerate(given):
            start = time.perf_counter()
            result = getattr(self.graph, algorithm)(**own)
            seconds += time.perf_counter() - start
            if answers:
                np.save(f"{answers}{number}.npy", result.to_numpy()[column])
        return {"seconds": seconds / len(given)}

    def calls(self) -> dict[str, Callable[..., dict[str, Any]]]:
        return {"convert": convert, "open": self.open, "run": self.run}


def main() -> int:
    calls = Side().calls()
    print(json.dumps({"package": gstream.__file__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(calls[request.pop("call")](**request)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
