"""How long `gstream --help` takes, as a user sees it: a fresh process each time, median of five."""

from __future__ import annotations

import sys

from bench.child import gstream, run
from bench.context import Context
from bench.figures import Figure, Samples, check

RUNS = 5
LIMIT_SECONDS = 0.3


def measure(context: Context) -> list[Figure]:
    seconds = []
    for _ in range(RUNS + 1):  # the first one fills the page cache and the .pyc files
        done = run(gstream("--help"))
        check("convert" in done.output, "gstream --help does not mention convert")
        seconds.append(done.seconds)
    samples = Samples(tuple(seconds[1:]))
    bare = Samples(tuple(run([sys.executable, "-c", "pass"]).seconds for _ in range(RUNS)))
    limit = Figure(
        what="gstream --help",
        graph="",
        value=samples.median,
        unit="s",
        against="the limit",
        against_value=LIMIT_SECONDS,
        need=1.0,
        target="under 0.3 s",
        spread=samples.spread(),
        checked="the help names the commands",
    )
    floor = Figure(
        what="gstream --help", graph="", value=samples.median, unit="s",
        against="python -c pass", against_value=bare.median,
    )  # fmt: skip
    return [limit, floor]
