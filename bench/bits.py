"""Bits an edge in coded pages by the order of the vertices, and what each order adds to a conversion.

python bench/bits.py FOLDER                     # of edge lists NAME.el.xz: bench/results/bits.json
python bench/bits.py FOLDER --only cnr_2000 cnr_2000~ rmat16

A name with ~ is the graph with its vertices numbered at random. `rmat` with a scale is made, not read. Bits are of all
page sets, over the edges that they hold. Times are processor time of all threads, the least of three conversions of
arrays in memory.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/bits.py` puts bench/ there, not the project

import numpy as np  # noqa: E402

import gstream  # noqa: E402
from bench.orders import edges_of  # noqa: E402
from pagestore.generate import rmat  # noqa: E402

RESULT = Path(__file__).parent / "results" / "bits.json"
GRAPHS = (
    "cnr_2000", "cnr_2000~", "uk_2007_100k", "uk_2007_100k~", "cit_hepph", "ego_twitter_u", "fb_new_sites",
    "deezer_hu", "musae_github", "slashdot0902_u", "luxembourg_osm", "rmat16",
)  # fmt: skip
ORDERS, TURNS = ("natural", "degree", "llp"), 3


def made(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Sources, targets and options of a graph."""
    if scale := re.fullmatch(r"rmat(\d+)", name):
        edges = rmat(int(scale[1]), scramble=True)
        chunks = [edges.chunk(number) for number in range(edges.chunk_count)]
        source, target = (np.concatenate([getattr(chunk, end) for chunk in chunks]) for end in ("source", "target"))
        options = {"directed": False, "num_vertices": 1 << int(scale[1]), "dedupe": True, "drop_self_loops": True}
        return source.astype(np.int64), target.astype(np.int64), options
    manifest = {row["name"]: row for row in json.loads((folder.parent / "manifest.json").read_text())}
    row = manifest[name.rstrip("~")]
    source, target = edges_of(folder, name.rstrip("~"))
    if name.endswith("~"):
        shuffled = np.random.default_rng(1).permutation(row["V"])
        source, target = shuffled[source], shuffled[target]
    return source, target, {"directed": row["directed"], "num_vertices": row["V"]}


def measured(source: np.ndarray, target: np.ndarray, options: dict[str, Any]) -> dict[str, Any]:
    """By order: bits an edge of the pages, coded, and seconds of a conversion; bits of pages as they are."""
    row: dict[str, Any] = {}
    for order in ORDERS:
        seconds = []
        for _ in range(TURNS):
            began = time.process_time()
            with gstream.from_edges(source, target, order=order, compress="on", **options) as graph:
                seconds.append(time.process_time() - began)
                meta, report = graph.store.meta, graph.conversion
        edges = meta.edges * len(meta.topologies)
        row[order] = {"bits": 8 * report["coded_bytes"] / edges, "cpu_seconds": min(seconds)}
        row |= {"vertices": meta.vertices, "edges": meta.edges, "raw_bits": 8 * report["raw_bytes"] / edges}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=GRAPHS)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    rows = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for name in asked.only:
        rows[name] = measured(*made(asked.folder, name))
        shown = ", ".join(f"{order} {rows[name][order]['bits']:.2f}" for order in ORDERS)
        times = ", ".join(f"{rows[name][order]['cpu_seconds']:.2f} s" for order in ORDERS)
        print(f"{name:16} raw {rows[name]['raw_bits']:.1f}; {shown}; {times}", flush=True)
        asked.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
