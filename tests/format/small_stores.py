"""Small stores for the format tests, made in memory: numpy lexsort, plan, pack, write. No converter involved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.layout import PageLayout
from pagestore.meta import Meta
from pagestore.pack import Lists, pack_heads, pack_large, pack_small
from pagestore.planning import PagePlan, plan_pages
from pagestore.writer import StoreWriter, column_facts


@dataclass
class Edges:
    """A graph as arrays: source, target u8[m], weight (store's dtype)[m] or None, number of vertices."""

    source: np.ndarray
    target: np.ndarray
    vertices: int
    weight: np.ndarray | None = None

    def sorted(self) -> Edges:
        weight = np.zeros(len(self.source)) if self.weight is None else self.weight
        order = np.lexsort((weight, self.target, self.source))
        return Edges(
            self.source[order], self.target[order], self.vertices, None if self.weight is None else self.weight[order]
        )

    def turned(self) -> Edges:
        return Edges(self.target, self.source, self.vertices, self.weight)

    def rows(self) -> list[tuple]:
        """Sorted (source, target, weight) tuples, for comparing multisets."""
        weight = np.zeros(len(self.source)) if self.weight is None else self.weight
        return sorted(zip(self.source.tolist(), self.target.tolist(), weight.tolist(), strict=True))


def random_edges(
    seed: int = 1, vertices: int = 300, edges: int = 3000, hub: int = 0, weight: str | None = None
) -> Edges:
    """Random edges, with one vertex of `hub` more edges; weights are whole numbers that every dtype holds."""
    rng = np.random.default_rng(seed)
    source = np.concatenate([rng.integers(0, vertices, edges), np.full(hub, vertices // 3)]).astype(np.uint64)
    target = rng.integers(0, vertices, edges + hub).astype(np.uint64)
    values = None if weight is None else rng.integers(0, 200, edges + hub).astype(weight)
    return Edges(source, target, vertices, values)


@dataclass
class Packed:
    """Pages of a vertex range, their weights, and its heads."""

    small: np.ndarray
    large: np.ndarray
    small_weights: np.ndarray | None
    large_weights: np.ndarray | None
    heads: np.ndarray


def new_pages(plan: PagePlan, begin: int, end: int, weight_dtype: np.dtype | None = None) -> np.ndarray:
    """Zeroed pages begin..end-1, or those of their weights."""
    layout = plan.layout
    width = layout.page_bytes if weight_dtype is None else layout.weight_page_bytes(weight_dtype.itemsize)
    return np.zeros((end - begin, width), np.uint8)


def short_lists(
    plan: PagePlan, first: int, degrees: np.ndarray, target: np.ndarray, weight: np.ndarray | None
) -> Lists:
    """The lists of vertices from `first` on that go to small pages."""
    short = (degrees > 0) & (degrees <= plan.layout.longest_list)
    kept = np.repeat(short, degrees)
    return Lists(first + np.flatnonzero(short), degrees[short], target[kept], None if weight is None else weight[kept])


def pack_range(
    plan: PagePlan, first: int, last: int, degrees: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None
) -> Packed:
    """Pack vertices [first, last), which share no page with others, into new buffers."""
    small, large = plan.small_range(first, last), plan.large_range(first, last)
    dtype = None if weight is None else weight.dtype
    pages = [new_pages(plan, *small), new_pages(plan, *large)]
    weights = [None, None] if dtype is None else [new_pages(plan, *small, dtype), new_pages(plan, *large, dtype)]
    lists = short_lists(plan, first, degrees, target, weight)
    pack_small(plan, *small, lists, pages[0], weights[0])
    ends = np.cumsum(degrees, dtype=np.int64)
    heads = np.empty((last - first, 4), plan.layout.id_dtype)
    pack_heads(lists, first, heads)
    for vertex in np.unique(plan.directory["first_vertex"][slice(*large)]).astype(np.int64).tolist():
        part = slice(int(ends[vertex - first]) - int(degrees[vertex - first]), int(ends[vertex - first]))
        pack_large(
            plan, vertex, 0, target[part], pages[1], large[0], None if weight is None else weight[part], weights[1]
        )
        heads[vertex - first] = target[part][:4]
    return Packed(pages[0], pages[1], weights[0], weights[1], heads)


def write_store(
    path: str,
    edges: Edges,
    *,
    page_bytes: int = 4096,
    id_bytes: int = 4,
    topologies: tuple[str, ...] = ("out", "in"),
    directed: bool = True,
    ids: np.ndarray | list[str] | None = None,
    store_of: np.ndarray | None = None,
    heads: bool = True,
    split: int | None = None,
    incoming: Edges | None = None,
    finish: bool = True,
    columns: int = 1,
) -> StoreWriter:
    """Write `edges` (already in store IDs) to `path`; `ids`: user IDs, `store_of`: natural index -> store ID.

    `incoming`: other edges for the in-pages, to make a store that contradicts itself.
    """
    layout = PageLayout(page_bytes, id_bytes)
    parts = {"out": edges.sorted(), "in": (incoming or edges).turned().sorted()}
    degrees = {
        name: np.bincount(part.source.astype(np.int64), minlength=edges.vertices).astype(np.uint32)
        for name, part in parts.items()
    }
    names = [name.encode() for name in ids] if isinstance(ids, list) else []
    kind = "range" if ids is None else "strings" if isinstance(ids, list) else "integers"
    plans = {name: plan_pages(layout, degrees[name], columns) for name in topologies}
    meta = Meta(
        vertices=edges.vertices, edges=len(edges.source), directed=directed, page_bytes=page_bytes, id_bytes=id_bytes,
        weighted=edges.weight is not None, weight_dtype=None if edges.weight is None else edges.weight.dtype.str[1:],
        order="natural" if store_of is None else "degree", topologies=topologies, id_kind=kind, heads=heads,
        max_out_degree=int(degrees["out"].max(initial=0)), max_in_degree=int(degrees["in"].max(initial=0)),
        uuid="0" * 32, provenance={"made_by": "tests"}, **column_facts(plans),
    )  # fmt: skip
    writer = StoreWriter(path, meta, plans, names_bytes=sum(map(len, names)))
    for name, plan in plans.items():
        part, ends = parts[name], np.concatenate([[0], np.cumsum(degrees[name].astype(np.int64))])
        rows = writer.datasets[f"topology/{name}/heads"][1][0] if heads else 0
        for piece in plan.split(split or len(edges.source) + 1):
            a, b = piece.first, piece.last
            weight = None if part.weight is None else part.weight[ends[a] : ends[b]]
            packed = pack_range(plan, a, b, degrees[name][a:b], part.target[ends[a] : ends[b]], weight)
            writer.write_pages(name, piece.small[0], packed.small, packed.small_weights)
            writer.write_pages(name, piece.large[0], packed.large, packed.large_weights)
            if heads:
                writer.write_array(f"topology/{name}/heads", a, packed.heads[: max(0, min(b, rows) - a)])
    writer.write_array("vertices/out_degree", 0, degrees["out"])
    if directed:
        writer.write_array("vertices/in_degree", 0, degrees["in"])
    if kind == "integers":
        writer.write_array("vertices/ids", 0, np.asarray(ids))
    if kind == "strings":
        writer.write_array("vertices/names/offsets", 0, np.cumsum([0, *map(len, names)]))
        writer.write_array("vertices/names/bytes", 0, np.frombuffer(b"".join(names), np.uint8))
    if store_of is not None:
        writer.write_array("vertices/store_of", 0, store_of)
    if finish:
        writer.finish()
    return writer
