"""Ranks that make different calls hear of it, where they would wait for each other for ever."""

from __future__ import annotations

import json
from pathlib import Path

from rank_processes import mpiexec

END_SECONDS = 60.0  # of a launcher that hangs
SCRIPT = """
import json
import sys
from pathlib import Path

import numpy as np

from gstream.cli.one_rank import one_for_all
from gstream.cli.ranks import share_of_machine
from gstream.devices.ranks import Ranks
from gstream.engine.rank_sweeps import merge
from pagestore.errors import GstreamError

ranks, none = Ranks(), np.zeros(3, np.uint8)
shares = lambda: share_of_machine(ranks, {})["threads"]
once = lambda: one_for_all(ranks, Path(sys.argv[0]), {})
ends = lambda: ranks.wait()
merges = lambda: merge(ranks, "or", none, none)
alike, unlike = [(shares, shares), (merges, merges)], [(shares, once), (ends, shares), (shares, ends), (shares, merges)]
for first, second in alike + unlike:
    try:
        (first if ranks.first else second)()
        print(json.dumps([ranks.rank, ""]), flush=True)
    except GstreamError as error:
        print(json.dumps([ranks.rank, error.line]), flush=True)
"""


def test_ranks_that_make_different_calls_are_told_which(tmp_path: Path):
    """Calls with plain values, at the work's end and, on the side that has not sent arrays, with these."""
    (tmp_path / "calls.py").write_text(SCRIPT)
    done = mpiexec(2, "calls.py", cwd=tmp_path, seconds=END_SECONDS)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    of = [[said for rank, said in told if rank == number] for number in range(2)]
    end, share, once = "the end of its work", "ranks.share_of_machine", "one_rank.one_for_all"
    for found in of:
        assert found[:2] == ["", ""]
        for said, (first, second) in zip(found[2:], ((share, once), (end, share), (share, end)), strict=False):
            assert first in said.partition("rank 1 is at")[0] and second in said.partition("rank 1 is at")[2]
    assert "rank_sweeps.merge" in of[0][5] and len(of[1]) >= 5
