"""The papers' suites: shares of lanes by the paper's equations, what the page says of results, stages on the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import garaph_figures, harness, levels, papers, remapping
from bench.families import generated
from bench.figures import Figure
from bench.gpu_setup import Setup
from bench.harness import SkippedError
from bench.link import Devices
from pagestore.layout import GROUP_SIZES


def setup_of(folder: Path) -> Setup:
    return Setup(Devices(("host",)), 10, folder, 10, (1,), 2, least_seconds=0.0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 200), max_size=100), st.sampled_from(GROUP_SIZES))
def test_shares_of_lanes_are_the_papers_equations(lengths: list[int], group: int) -> None:
    shares = levels.lane_shares(np.array(lengths, np.int64), group)
    across = 32 // group
    padded = lengths + [0] * (-len(lengths) % across)
    warps = [padded[first : first + across] for first in range(0, len(padded), across)]
    steps = [[-(-length // group) for length in warp] for warp in warps]
    lanes = sum(32 * max(warp) for warp in steps)
    if lanes == 0:
        assert shares == {"UA": 0, "UR": 0, "ME": 0}
        return
    intra = sum(group * step - length for warp, own in zip(warps, steps, strict=True)
                for length, step in zip(warp, own, strict=True))  # fmt: skip
    inter = sum(group * (max(own) - step) for own in steps for step in own)
    assert np.allclose([shares["UA"], shares["UR"], shares["ME"]], np.array([intra, inter, sum(lengths)]) / lanes)


def test_levels_hold_every_edge_that_is_reached(tmp_path: Path) -> None:
    name, frontiers, degree = levels.by_level(generated("grid", 10), setup_of(tmp_path))
    assert (
        name == "grid-10" and sum(map(len, frontiers)) == 1024 and sum(each.sum() for each in frontiers) == degree.sum()
    )
    figures = list(levels.levels(setup_of(tmp_path), generated("rmat", 10)))
    assert {figure.point["plot"] for figure in figures if figure.point} == {"simd-2", "simd-3", "simd-levels"}


@pytest.mark.long
def test_stages_run_on_the_host(tmp_path: Path) -> None:
    setup = setup_of(tmp_path)
    found = [*garaph_figures.table_2(setup), *garaph_figures.table_3(setup), *garaph_figures.figure_10(setup)]
    with pytest.raises(SkippedError, match="take a GPU"):
        for figure in garaph_figures.figure_11(setup):
            found.append(figure)
    names = {figure.what for figure in found}
    assert {f"Table 2: {name}, cores" for name in garaph_figures.APPLICATIONS} <= names
    assert "Figure 10: SSSP, directions as chosen" in names and "Figure 11: SSSP, cores" in names
    remapped = {figure.what for figure in remapping.remapping(setup, generated("rmat", 10))}
    assert "Figure 13: PageRank iteration with column pages, host" in remapped
    assert "Table 6: approximate sort and 50 iterations, host" in remapped


def test_the_page_has_claims_beside_results(tmp_path: Path) -> None:
    speedups = [Figure(f"Figure 8: BFS, streamed, {n} GPUs", "g", n / 2, "times as fast") for n in (1, 3)]
    streams = [Figure(f"Figure 9, streams: {n}: PageRank, x", "g", 64 / n, "s") for n in (1, 32)]
    facts = {"command": "c", "seconds": 1.0, "failures": [], "graphs": "",
             "machine": {"cpu": "a processor", "cores": 2, "commit": "0" * 40, "gpus": ["a GPU, 80 GB"]}}  # fmt: skip
    harness.save(tmp_path / "thesis.json", facts, [*speedups, *streams])
    page = papers.page(tmp_path)
    assert "| Figure 8: two GPUs, BFS | 1.07 to 1.89 times one | 0.5 to 1.5 times as fast, 2 rows |" in page
    assert "| time falls with each, up to 32 | 32.00 times as fast with 32 as with 1 |" in page
    assert "| Figure 8: two GPUs, PageRank | 1.63 to 1.77 times one | not measured |" in page
    assert "Not measured yet: `python bench/garaph.py`." in page and "a processor, 2 cores; a GPU;" in page


def test_every_claim_stands_once() -> None:
    places = {(claim.suite, claim.where) for claim in papers.CLAIMS}
    assert len(places) == len(papers.CLAIMS) and {suite for suite, _ in places} == set(papers.SUITES)
