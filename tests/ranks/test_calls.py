"""Ranks that make different calls hear of it, where they would wait for each other for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from rank_processes import mpiexec

from tests import choice

END_SECONDS = 60.0  # of a launcher that hangs
SCRIPT = """
import sys
import time
from pathlib import Path

import numpy as np

from gstream.cli.one_rank import one_for_all
from gstream.cli.ranks import share_of_machine
from gstream.devices.rank_calls import LOOK_SECONDS
from gstream.devices.ranks import Ranks
from gstream.engine.rank_sweeps import merge
from pagestore.errors import GstreamError

ranks, none = Ranks(), np.zeros(3, np.uint8)
shares = lambda: share_of_machine(ranks, {})["threads"]
once = lambda: one_for_all(ranks, Path(sys.argv[0]), {})
ends = lambda: ranks.wait()
merges = lambda: merge(ranks, "or", none, none)
ways = {"alike": [(shares, shares), (merges, merges)], "plain": [(shares, once)], "end": [(ends, shares)]}
for first, second in (ways | {"arrays": [(shares, merges)]})[sys.argv[1]]:
    time.sleep(2.5 * LOOK_SECONDS)  # the thread tells the calls so far
    try:
        (first if ranks.first else second)()
    except GstreamError as error:
        print(error.line, flush=True)
ranks.finish()
"""


@pytest.mark.parametrize("way, first, second", [
    ("plain", "ranks.share_of_machine", "one_rank.one_for_all"),
    ("arrays", "ranks.share_of_machine", "rank_sweeps.merge"),
    *choice.also(("end", "the end of its work", "ranks.share_of_machine")),
])  # fmt: skip
def test_ranks_that_make_different_calls_are_told_which(tmp_path: Path, way: str, first: str, second: str):
    """Calls with plain values are; where the first rank waits at its work's end; and one that hands over arrays."""
    (tmp_path / "calls.py").write_text(SCRIPT)
    done = mpiexec(2, "calls.py", way, cwd=tmp_path, seconds=END_SECONDS)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "ranks make different calls: " in line]
    assert 0 < len(said) <= (3 if way == "plain" else 1), done.stderr  # each rank, and who watches
    assert all(first in line.partition("rank 1 is at")[0] for line in said)
    assert all(second in line.partition("rank 1 is at")[2] for line in said)


def test_ranks_that_make_the_same_calls_hear_nothing(tmp_path: Path):
    (tmp_path / "calls.py").write_text(SCRIPT)
    done = mpiexec(2, "calls.py", "alike", cwd=tmp_path, seconds=END_SECONDS)
    assert (done.returncode, done.stderr) == (0, "") and not done.stdout
