"""Which order of a store's vertices runs faster: processor time of one thread, natural and degree order in turns.

python bench/orders.py FOLDER                   # of edge lists NAME.el.xz and NAME.wel.xz: bench/results/orders.json
python bench/orders.py FOLDER --only cnr_2000 rmat18 --turns 9

longer or shorter each call takes in degree order. `rmat`, `uniform` and `grid` with a scale are made, not read.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/orders.py` puts bench/ there, not the project

import numpy as np  # noqa: E402

import gstream  # noqa: E402

RESULT = Path(__file__).parent / "results" / "orders.json"
MADE = ("rmat14", "rmat16", "rmat17", "rmat18", "rmat19", "rmat20", "uniform16", "uniform18", "uniform20", "grid18")
TURNS, SHORTEST_S = 5, 0.1  # a turn repeats a call until it has taken so long
ORDERS = ("natural", "degree")
CALLS = ("bfs", "distances", "pagerank", "wcc", "sssp")


def edges_of(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of a graph."""
    if (folder / name).is_dir():
        first, targets = (
            np.frombuffer(lzma.decompress((folder / name / f"{part}.xz").read_bytes()), kind)
            for part, kind in (("indptr", "<u8"), ("indices", "<u4"))
        )
        return np.repeat(np.arange(len(first) - 1), np.diff(first).astype(np.int64)), targets.astype(np.int64)
    (path,) = folder.glob(f"{name}.*el.xz")
    width = 3 if path.name.endswith(".wel.xz") else 2
    values = np.array(lzma.decompress(path.read_bytes()).split(), np.float64).reshape(-1, width)
    return values[:, 0].astype(np.int64), values[:, 1].astype(np.int64)


def graphs(folder: Path, wanted: list[str]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(name, open graphs by order, figures) of one graph after the other."""
    manifest = {row["name"]: row for row in json.loads((folder.parent / "manifest.json").read_text())}
    for name in wanted or [*MADE, *sorted(manifest, key=lambda name: manifest[name]["E"])]:
        made = re.fullmatch(r"(rmat|uniform|grid)(\d+)(d?)", name)
        options: dict[str, Any] = {"threads": 1, "memory": "8GiB"}
        if made:
            options |= {"scale": int(made[2]), "weights": True, "directed": bool(made[3])}
            opened = {order: gstream.generate(made[1], order=order, **options) for order in (*ORDERS, "auto")}
        else:
            source, target = edges_of(folder, name)
            weight = 1 + ((source * 73856093) ^ (target * 19349663)) % 64
            options |= {"directed": manifest[name]["directed"], "num_vertices": manifest[name]["V"]}
            opened = {o: gstream.from_edges(source, target, weight, order=o, **options) for o in (*ORDERS, "auto")}
        chosen = opened.pop("auto")
        auto = {key: chosen.conversion[key] for key in ("order", "order_reason")}
        chosen.close()
        yield name, opened, auto
        for graph in opened.values():
            graph.close()


def calls(graph: Any, hub: int) -> dict[str, Any]:
    """What is timed, by name. hub: the source."""
    one = {"threads": 1, "devices": "host"}
    return {
        "bfs": lambda: graph.bfs(source=hub, **one),
        "distances": lambda: graph.bfs(source=hub, predecessors=False, **one),
        "pagerank": lambda: graph.pagerank(iterations=10, **one),
        "wcc": lambda: graph.wcc(**one),
        "sssp": lambda: graph.sssp(source=hub, **one),
    }


def ratios(opened: dict[str, Any], turns: int) -> dict[str, dict[str, float]]:
    """By call: milliseconds in natural order, and how many times as long it takes in degree order."""
    hub = int(opened["natural"].store.out_degree().argmax())
    asked = {order: calls(graph, hub) for order, graph in opened.items()}
    found = {}
    for name in CALLS:
        repeats = 1
        for order in ORDERS:
            asked[order][name]()  # compiles, and brings the pages
            began = time.process_time()
            asked[order][name]()
            repeats = max(1, min(50, int(SHORTEST_S / max(time.process_time() - began, 1e-4))))
        times: dict[str, list[float]] = {order: [] for order in ORDERS}
        for turn in range(turns):
            for order in ORDERS if turn % 2 else ORDERS[::-1]:
                began = time.process_time()
                for _ in range(repeats):
                    asked[order][name]()
                times[order].append((time.process_time() - began) / repeats)
        least = {order: min(taken) for order, taken in times.items()}
        found[name] = {"natural_ms": 1e3 * least["natural"], "degree_times": least["degree"] / least["natural"]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    rows = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for name, opened, auto in graphs(asked.folder, asked.only):
        meta = opened["natural"].info
        rows[name] = {"vertices": meta["vertices"], "edges": meta["edges"], "auto": auto, **ratios(opened, asked.turns)}
        times = {key: row["degree_times"] for key, row in rows[name].items() if key in CALLS}
        shown = " ".join(f"{key} {one:.2f}" for key, one in times.items())
        print(f"{name:24} {auto['order']:8} {shown}", flush=True)
        asked.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
