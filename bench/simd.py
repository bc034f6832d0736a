"""The SIMD-efficiency paper's Figures 2, 3, 5 and 6 on our pages: UA, UR and ME by group size, beside measured speed.

python bench/simd.py --scale 20 22                            # the model's figures; nothing is run
python bench/simd.py --devices cuda:0 --scale 22 24           # and PageRank and BFS on a GPU, with each size forced
python bench/simd.py --only rmat real --scale 22 --devices cuda:0 --data /path/to/graphs --out A
python bench/simd.py --only rmat-levels --scale 20            # frontiers, degrees and lanes by level; nothing is timed
python bench/simd.py --only counters --scale 20 --devices cuda:0    # what Nsight Compute counts (Tables 5 and 7)
python bench/simd.py --join A/simd.json B/parts/*.json        # into bench/results/simd.*
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/simd.py` puts bench/ there, not the project

from bench import needs  # noqa: E402

needs.check()

from bench import levels  # noqa: E402
from bench.counters import counters  # noqa: E402
from bench.families import GRAPHS, KINDS  # noqa: E402
from bench.figures import Wanted  # noqa: E402
from bench.lanes import of_kind, of_real  # noqa: E402
from bench.suite import Suite  # noqa: E402

STAGES = {
    **{kind: of_kind(kind) for kind in KINDS},
    "real": of_real,
    **{f"{kind}-levels": levels.of_kind(kind) for kind in KINDS},
    "real-levels": levels.of_real,
    "counters": counters,
}
WANTED = (
    *(Wanted(f"Figure 6: ME, S = {size}") for size in (1, 32)),
    Wanted("Figure 2: edges in the three largest levels"),
    Wanted("Figure 3: out-degree"),
    Wanted("Figure 6 by level: ME"),
    *(Wanted(what) for what in ("PageRank pull, iteration", "BFS push, expansion rate")),
    *(Wanted(what) for what in ("Table 5: warp execution efficiency", "Table 7: global load efficiency")),
)
SUITE = Suite(
    name="simd", script="bench/simd.py", stages=STAGES, once=frozenset({"real", "real-levels", "counters"}),
    scales=(20, 22),
    about="UA, UR and ME by group size, after the SIMD-efficiency paper, beside measured speed.", wanted=WANTED,
    devices="host", graph="scale {}", graphs=GRAPHS,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
