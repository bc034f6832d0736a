"""Garaph's own experiments on our engine: Tables 2 to 4 and Figures 10 and 11, on our graphs, with plots.

python bench/garaph.py --devices host --scale 18                      # the cores' rows
python bench/garaph.py --devices cuda:0 --scale 22                    # and those of a GPU alone, and of both at once
python bench/garaph.py --only slow-link --link-limit 12 --devices cuda:0 --scale 24   # copies are throttled
python bench/garaph.py --only table-2 --scale 20 --devices cuda:0 --out A
python bench/garaph.py --join A/garaph.json B/garaph.json             # into bench/results/garaph.*

Its Figures 8 and 9 compare copies of hubs in shared memory, which our pushes keep none of: bench/README.md has the
measurement.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/garaph.py` puts bench/ there, not the project

from bench import garaph_figures, hybrid, needs  # noqa: E402

needs.check()

from bench.figures import Wanted  # noqa: E402
from bench.garaph_figures import SIDES, STORE  # noqa: E402
from bench.gpu_setup import making  # noqa: E402
from bench.suite import Suite  # noqa: E402

STAGES = {
    "make": making(STORE),
    "table-2": garaph_figures.table_2,
    "table-3": garaph_figures.table_3,
    "table-4": garaph_figures.table_4,
    "figure-10": garaph_figures.figure_10,
    "figure-11": garaph_figures.figure_11,
    "hybrid": hybrid.hybrid,
    "slow-link": hybrid.slow_link,
}
WANTED = (
    *(Wanted(f"Table 2: {name}, {side}") for name in garaph_figures.APPLICATIONS for side in SIDES),
    *(Wanted(f"Table 3: {name}") for name in garaph_figures.OF_DISK),
    Wanted("Table 4: preprocessing"),
    *(Wanted(f"Figure 10: {name}") for name in garaph_figures.TRAVERSALS),
    *(Wanted(f"Figure 11: {name}, {side}") for name in garaph_figures.TRAVERSALS for side in SIDES),
    *(Wanted(f"{name} {place}") for name in hybrid.PROGRAMS for place in (*hybrid.PLACES, "from disk", "streamed")),
)
SUITE = Suite(
    name="garaph", script="bench/garaph.py", stages=STAGES, once=frozenset(), scales=(20,),
    about="Garaph's tables and figures on our engine: cores, a GPU, and both.", wanted=WANTED, devices="host",
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
