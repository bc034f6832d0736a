"""The GStream thesis's own experiments on our engine: Figures 7 to 11 and Table 1, with plots.

python bench/thesis.py --devices cuda:0,1 --scales 24 25 26            # everything; bench/results/thesis.*
python bench/thesis.py --only figure-9 --scales 24 --out A             # one of them; A/thesis.json
python bench/thesis.py --join A/thesis.json B/thesis.json              # into one table and one set of plots
python bench/thesis.py --devices fake:1 --scales 12 --sources 2        # does everything still run?
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/thesis.py` puts bench/ there, not the project

from bench import thesis_figures  # noqa: E402
from bench.suite import Suite  # noqa: E402

STAGES = {
    "figure-7-8": thesis_figures.figure_7_and_8,
    "figure-9": thesis_figures.figure_9,
    "figure-10": thesis_figures.figure_10,
    "figure-11": thesis_figures.figure_11,
    "table-1": thesis_figures.table_1,
}
SUITE = Suite(
    name="thesis", script="bench/thesis.py", stages=STAGES, once=frozenset({"figure-11"}), scales=(24, 25, 26),
    about="The GStream thesis's own experiments on our engine.",
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(SUITE.main())
