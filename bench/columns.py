"""Extra memory of column pages by Per_Group_Num, for edge_vertex.py (Edge-Vertex paper, section 5.6, Figure 14).

The paper pads every group of vertices to its longest list. Here only pages that waste little are laid in columns
(pagestore/planning.py), so the padding is bounded, and the figure has two halves: the padding, and how many pages are
column pages. Padding is a share of the words that pages use without it, as `gstream info` has it. A directed graph's
out-pages are sorted by --order degree, its in-pages by --order in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.families import Family
from bench.figures import Figure, check
from bench.gpu_setup import Setup
from pagestore.info import column_pages, store_info, used_bytes
from pagestore.layout import COLUMN_WIDTHS, PageLayout
from pagestore.planning import plan_pages

WIDTHS = (1, *COLUMN_WIDTHS)  # 1: off
PAPER_WIDTH = 32
ORDERS = {"degree": "degree order", "in": "in-degree order", "natural": "natural order"}
SORTED_BY = {"out": "degree", "in": "in"}  # the order that brings lists of like length together, of each page set
PLOT = "edge_vertex-14"
CHECKED = f"the plan's pages and padding are those of the store that was converted with --columns {PAPER_WIDTH}"


@dataclass(frozen=True)
class Padding:
    """Of one page set. share: padding over the other words in use."""

    share: float
    column_pages: int
    pages: int

    @classmethod
    def planned(cls, layout: PageLayout, lengths: np.ndarray, width: int) -> Padding:
        """Of the pages that lists of these lengths (in store order) would have; nothing is written."""
        plan = plan_pages(layout, lengths, width)
        used = used_bytes(plan.directory, layout)
        share = plan.padding_words * layout.id_bytes / used if used else 0.0
        return cls(share, column_pages(plan.directory), plan.pages)

    @classmethod
    def told(cls, facts: Mapping[str, Any]) -> Padding:
        """By `gstream info`."""
        return cls(facts["padding"], facts["column_pages"], facts["pages"])


def columns(setup: Setup, family: Family) -> Iterator[Figure]:
    """Both halves of Figure 14 for each page set in each order, worked out of the store with PAPER_WIDTH."""
    import pagestore

    path = setup.folder / f"{family.name}-columns.gs"
    for order in ORDERS if family.directed else ("degree", "natural"):
        try:
            with pagestore.open_store(family.store(path, order, columns=PAPER_WIDTH)) as store:
                for topology, facts in store_info(store)["topologies"].items():
                    lengths = np.array(store.out_degree() if topology == "out" else store.in_degree())
                    found = {width: Padding.planned(store.layout, lengths, width) for width in WIDTHS}
                    planned, told = found[PAPER_WIDTH], Padding.told(facts)
                    where = f"{topology}-pages, {ORDERS[order]}"
                    check(planned == told, f"{family.name}, {where}: {planned} by the plan, {told} in the store")
                    row, *points = figure_14(family.name, where, found)
                    yield row.versus("all lists padded, as by the paper", 100 * all_padded(store.layout, lengths))
                    yield from points if order in ("natural", SORTED_BY[topology]) else ()
        finally:
            path.unlink(missing_ok=True)


def all_padded(layout: PageLayout, lengths: np.ndarray) -> float:
    """The padding if every PAPER_WIDTH vertices with edges, in their order, lay in columns; over the same words."""
    listed = lengths[lengths > 0].astype(np.int64)
    groups = np.append(listed, np.zeros(-len(listed) % PAPER_WIDTH, np.int64)).reshape(-1, PAPER_WIDTH)
    padding = int(groups.max(axis=1, initial=0).sum()) * PAPER_WIDTH - int(listed.sum())
    used = used_bytes(plan_pages(layout, lengths).directory, layout)
    return padding * layout.id_bytes / used if used else 0.0


def figure_14(graph: str, where: str, found: dict[int, Padding]) -> Iterator[Figure]:
    """A row for the paper's width, and a point for each; where: which pages, in what order."""
    rows, paper = found[1], found[PAPER_WIDTH]
    yield Figure(
        f"Figure 14: extra memory of column pages, {PAPER_WIDTH} lists a group", f"{graph}, {where}",
        100 * paper.share, "% more", counted=True, checked=CHECKED,
        note=f"{paper.column_pages:,} of {paper.pages:,} pages are column pages; {rows.pages:,} pages in rows alone",
    )  # fmt: skip
    for width, each in found.items():
        share = each.column_pages / each.pages if each.pages else 0.0
        for what, value, unit in (("padding", each.share, "% more"), ("column pages", share, "%")):
            point = {"plot": PLOT, "panel": f"{what}, {where}", "series": graph, "x": width}
            yield Figure(
                f"Figure 14: {what} of {where}, {width} lists a group", graph, 100 * value, unit, point=point,
                counted=True,
            )  # fmt: skip
