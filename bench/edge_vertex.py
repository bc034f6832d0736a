"""The Edge-Vertex paper's approximate sort against exact ones, by the number of buckets, and what it buys PageRank;
and what its column pages cost in memory.

python bench/edge_vertex.py --scale 20 22                              # on the host's cores
python bench/edge_vertex.py --devices cuda:0 --scale 22 24             # the same, and on a GPU
python bench/edge_vertex.py --only rmat-sort real-sort --scale 20 --data /path/to/graphs --out A
python bench/edge_vertex.py --only rmat-remap --scale 20 --devices cuda:0    # Figure 13, Tables 4 and 6
python bench/edge_vertex.py --only rmat-columns real-columns --scale 16 20                # padding; nothing is timed
python bench/edge_vertex.py --join A/edge_vertex.json B/parts/*.json   # into bench/results/edge_vertex.*
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/edge_vertex.py` puts bench/ there, not the project

from bench import needs  # noqa: E402

needs.check()

from bench.columns import columns  # noqa: E402
from bench.families import GRAPHS, KINDS  # noqa: E402
from bench.figures import Wanted  # noqa: E402
from bench.remapping import remapping  # noqa: E402
from bench.sorting import of_kind, of_real, pagerank, sorts  # noqa: E402
from bench.suite import Suite  # noqa: E402

STAGES = {
    **{f"{kind}-sort": of_kind(kind, sorts) for kind in KINDS},
    "real-sort": of_real(sorts),
    **{f"{kind}-pagerank": of_kind(kind, pagerank) for kind in KINDS},
    "real-pagerank": of_real(pagerank),
    **{f"{kind}-columns": of_kind(kind, columns) for kind in KINDS},
    "real-columns": of_real(columns),
    **{f"{kind}-remap": of_kind(kind, remapping) for kind in KINDS},
    "real-remap": of_real(remapping),
}
WANTED = (
    *(Wanted(f"Figure {what} on the {where}") for what in ("11: sort by in-degree", "10: PageRank iteration")
      for where in ("host", "GPU")),
    Wanted("Figure 14: extra memory of column pages"),
    Wanted("Figure 13: PageRank iteration with column pages, GPU"),
    Wanted("Table 4: preprocessing"),
    Wanted("Table 6: approximate sort and 50 iterations, GPU"),
)  # fmt: skip
SUITE = Suite(
    name="edge_vertex", script="bench/edge_vertex.py", stages=STAGES,
    once=frozenset(stage for stage in STAGES if stage.startswith("real-")), scales=(20, 22),
    about="The approximate sort of the Edge-Vertex paper against exact ones, and what it buys; column pages' padding.",
    wanted=WANTED, devices="host", graph="scale {}", graphs=GRAPHS,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
