"""The GStream thesis's own experiments on our engine: Figures 7 to 11 and Table 1, with plots.

python bench/thesis.py --devices cuda:0,1 --scales 24 25 26            # everything; bench/results/thesis.*
python bench/thesis.py --only make figure-7-8 --scales 29 --sources 2  # the largest of the thesis: 50 GB
python bench/thesis.py --only figure-9 --scales 24 --out A             # one of them; A/thesis.json
python bench/thesis.py --join A/thesis.json B/thesis.json              # into one table and one set of plots
GSTREAM_TEST_DEVICES=tests.fakes.device:FakeDevice python bench/thesis.py --devices fake:1 --scales 12 --sources 2
    # does everything still run?
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/thesis.py` puts bench/ there, not the project

from bench import needs  # noqa: E402

needs.check()

from bench import thesis_figures  # noqa: E402
from bench.figures import Wanted  # noqa: E402
from bench.gpu_setup import making  # noqa: E402
from bench.suite import Suite  # noqa: E402
from bench.thesis_figures import STORE  # noqa: E402

STAGES = {
    "make": making(STORE),
    "figure-7-8": thesis_figures.figure_7_and_8,
    "figure-9": thesis_figures.figure_9,
    "figure-10": thesis_figures.figure_10,
    "figure-11": thesis_figures.figure_11,
    "table-1": thesis_figures.table_1,
}
LEAST_SCALE, MOST_SCALE = 24, 29  # of the thesis's RMAT graphs
WANTED = (
    *(
        Wanted(f"Figure {what}", f"rmat-{scale}, {STORE}")
        for scale in range(LEAST_SCALE, MOST_SCALE + 1)
        for what in ("7: PageRank, streamed, 1 GPU", "8: PageRank, streamed, 2 GPUs")  # BFS runs beside it
    ),
    *(Wanted(what) for what in ("Figure 9", "Figure 10", "Figure 11", "Table 1: BFS", "Table 1: PageRank")),
)
SUITE = Suite(
    name="thesis", script="bench/thesis.py", stages=STAGES, once=frozenset({"figure-11"}), scales=(24, 25, 26),
    about="The GStream thesis's own experiments on our engine.", wanted=WANTED,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
