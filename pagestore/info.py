"""The facts behind `gstream info`: what a store holds, where its bytes go, how well its pages use SIMD lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pagestore.layout import GROUP_SIZES, ROW, SLOT_WORDS, PageLayout
from pagestore.meta import FORMAT
from pagestore.store import Store
from pagestore.topology import Topology

SIMD_PAGES = 1024  # pages whose lanes are summed by one call
ETA_VERTICES = 1 << 22  # whose degrees are looked at by one call
ETA_DEGREE = 2  # eta: in-degrees from here on


def store_info(store: Store, simd: bool = False) -> dict[str, Any]:
    """Facts as nested dicts of plain numbers and strings (ready for JSON); sizes in bytes.

    With `simd` each topology gets "simd": lanes, edges, UA, UR and ME of all its pages for each group size, and under
    "chosen" for the size that the directory gives each page.
    """
    meta = store.meta
    facts: dict[str, Any] = {
        "path": store.path,
        "file_bytes": store.file_bytes,
        "stripes": [{"path": stripe.file.path, "bytes": stripe.nbytes} for stripe in store.stripes],
        "stripe_pages": meta.stripe_pages,
        "format": FORMAT,
        "version": meta.version,
        "uuid": meta.uuid,
        "vertices": meta.vertices,
        "edges": meta.graph_edges,
        "stored_edges": meta.edges,
        "directed": meta.directed,
        "weights": None,
        "ids": _id_facts(store),
        "order": meta.order,
        "order_reason": meta.provenance.get("order_reason", ""),
        "page_bytes": meta.page_bytes,
        "id_bytes": meta.id_bytes,
        "columns": meta.columns,
        "compressed": meta.compressed,
        "longest_small_list": store.layout.longest_list,
        "mean_degree": meta.edges / meta.vertices if meta.vertices else 0.0,
        "max_out_degree": meta.max_out_degree,
        "max_in_degree": meta.max_in_degree if meta.directed else meta.max_out_degree,
        "eta": eta(store),
        "self_loops": meta.self_loops,
        "duplicates": meta.duplicates,
        "dropped": {
            "self_loops": meta.dropped_self_loops,
            "duplicates": meta.dropped_duplicates,
            "lines": meta.dropped_lines,
        },
        "topologies": {name: _topology_facts(store, store.topology(name)) for name in meta.topologies},
        "array_bytes": {name: store.extents[name].nbytes for name in store.array_names},
        "provenance": meta.provenance,
    }
    if meta.weighted:
        facts["weights"] = {"dtype": meta.weight_dtype, "least": meta.min_weight, "greatest": meta.max_weight}
        facts["weights"]["rounding"] = meta.provenance.get("weight_rounding", {})
    if simd:
        for name in meta.topologies:
            facts["topologies"][name]["simd"] = simd_facts(store, store.topology(name))
    return facts


def eta(store: Store) -> float:
    """Share of all vertices with an in-degree of 2 or more (Edge-Vertex paper, section 5.1, beside Max(d)).

    An undirected graph's in-degrees are its degrees. 0 without vertices.
    """
    vertices = store.meta.vertices
    several = 0
    for first in range(0, vertices, ETA_VERTICES):
        degrees = store.in_degree(first, min(first + ETA_VERTICES, vertices))
        several += int(np.count_nonzero(degrees >= ETA_DEGREE))
    return several / vertices if vertices else 0.0


def simd_facts(store: Store, topology: Topology) -> dict[str, dict[str, float | int]]:
    """UA, UR and ME of a topology for each group size, and for the sizes chosen page by page (SIMD paper)."""
    degree_of = store.out_degree if topology.name == "out" else store.in_degree
    return lane_rates(topology.directory, topology.small_pages, topology.layout.longest_list, degree_of)


def lane_rates(
    rows: np.ndarray, small_pages: int, longest_list: int, degree_of: Callable[[int, int], np.ndarray]
) -> dict[str, dict[str, float | int]]:
    """The same of the pages in a directory (DIRECTORY[pages], CRCs don't matter), of a store or of a plan.

    degree_of: degrees (u4 or u8[n]) of the store IDs [first, last), which the pages list.
    """
    from pagestore.simd import SIZES, page_sums, rates

    lanes = np.zeros((len(rows), SIZES), np.uint64)
    intra = np.zeros((len(rows), SIZES), np.uint64)
    for begin in range(0, small_pages, SIMD_PAGES):
        end = min(begin + SIMD_PAGES, small_pages)
        first = rows["first_vertex"][begin:end].astype(np.int64)
        last = rows["last_vertex"][begin:end].astype(np.int64)
        degrees = degree_of(int(first[0]), int(last[-1]) + 1)
        page_sums(degrees, first[0], first, last, np.uint64(longest_list), lanes[begin:end], intra[begin:end])
    hubs = rows["edges"][small_pages:]
    for i, size in enumerate(GROUP_SIZES):
        steps = -(-hubs.astype(np.int64) // size)
        lanes[small_pages:, i] = 32 * steps
        intra[small_pages:, i] = size * steps - hubs.astype(np.int64)
    edges = int(rows["edges"].sum())
    facts: dict[str, dict[str, float | int]] = {
        str(size): rates(int(lanes[:, i].sum()), int(intra[:, i].sum()), edges) for i, size in enumerate(GROUP_SIZES)
    }
    chosen = np.searchsorted(np.array(GROUP_SIZES), rows["group"])
    every = np.arange(len(rows))
    facts["chosen"] = rates(int(lanes[every, chosen].sum()), int(intra[every, chosen].sum()), edges)
    return facts


def _id_facts(store: Store) -> dict[str, Any]:
    meta = store.meta
    facts: dict[str, Any] = {"kind": meta.id_kind, "first": None, "last": None}
    if meta.vertices:
        for key, index in (("first", 0), ("last", meta.vertices - 1)):
            value = store.user_ids(index, index + 1)[0]
            facts[key] = str(value) if meta.id_kind == "strings" else int(value)
    return facts


def used_bytes(rows: np.ndarray, layout: PageLayout) -> int:
    """Of the pages in a directory (DIRECTORY[pages], of a store or of a plan): headers, sizes, slots and neighbours."""
    records, edges = (int(rows[name].astype(np.uint64).sum()) for name in ("records", "edges"))
    return len(rows) * 32 + (records * (1 + SLOT_WORDS) + edges) * layout.id_bytes


def column_pages(rows: np.ndarray) -> int:
    """How many pages of a directory are column pages."""
    return int(np.count_nonzero(rows["layout"] != ROW))


def _topology_facts(store: Store, topology: Topology) -> dict[str, Any]:
    rows, layout, meta = topology.directory, topology.layout, store.meta
    records = int(rows["records"].astype(np.uint64).sum())
    used = used_bytes(rows, layout)
    padding = meta.padding_words.get(topology.name, 0) * layout.id_bytes
    pages_bytes = len(rows) * layout.page_bytes
    sizes, counts = np.unique(rows["group"], return_counts=True)
    extents = store.extents
    base = f"topology/{topology.name}"
    return {
        "pages": topology.pages,
        "small_pages": topology.small_pages,
        "large_pages": topology.pages - topology.small_pages,
        "column_pages": column_pages(rows),
        "hubs": len(np.unique(rows["first_vertex"][topology.small_pages :])),
        "records": records,
        "bytes": pages_bytes,
        "bytes_per_edge": pages_bytes / topology.edges if topology.edges else 0.0,
        "stored_bytes": meta.stored_bytes.get(topology.name, pages_bytes),
        "stored_bytes_per_edge": meta.stored_bytes.get(topology.name, pages_bytes) / max(1, topology.edges),
        "fill": used / pages_bytes if pages_bytes else 1.0,
        "padding_bytes": padding,
        "padding": padding / used if used else 0.0,  # the extra memory of the Edge-Vertex paper, section 5.6
        "weights_bytes": meta.stored_weights.get(topology.name, topology.pages * topology.weight_page_bytes),
        "heads_bytes": extents[f"{base}/heads"].nbytes if f"{base}/heads" in extents else 0,
        "directory_bytes": extents[f"{base}/directory"].nbytes,
        "group_sizes": {str(size): int(count) for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)},
    }
