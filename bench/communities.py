"""The modularity that `louvain` and `leiden` find of every graph of ../shared/data, beside igraph's and leidenalg's.

    python -m bench.communities                     # all graphs that peers can hold, one after the other
    python -m bench.communities pgp slashdot0902_d  # some: their rows are put in place of older ones

Results go to bench/results/communities.json and communities.md. Edges count in either direction, repeated ones each;
graphs with weights are taken twice. Peers make two iterations of Leiden, as gstream makes two passes. Where leidenalg
is not installed its figures stay those of the last time. tests/answers/test_real_communities.py takes some graphs.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import gstream
from tests.shared_data import DATA, edges, manifest

RESULTS = Path(__file__).resolve().parent / "results"
LEAST = 0.99  # of the best peer's modularity
MOST_EDGES = 10_000_000  # that peers hold in some GiB
ROUNDS = {"n_iterations": 2}
HEAD = """# Communities of real graphs

Modularity, of edges in either direction. `louvain` stands beside igraph's `community_multilevel`, `leiden` beside the
better one of igraph's `community_leiden` and leidenalg, of two iterations each. Made by `python -m bench.communities`.
{verdict}

| graph | vertices | edges | weights | louvain | igraph multilevel | leiden | igraph leiden | leidenalg |
|---|---|---|---|---|---|---|---|---|
"""


def rows_of(name: str, before: dict[tuple[str, bool], dict[str, Any]]) -> list[dict[str, Any]]:
    """A row of a graph, and another one with its weights. before: rows of earlier runs."""
    import igraph

    table, facts = edges(name), manifest()[name]
    source, target = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    weight = table[:, 2] if table.shape[1] > 2 else None
    peer = igraph.Graph(n=facts["V"], edges=np.stack([source, target], 1), directed=False)
    found = []
    with gstream.from_edges(source, target, weight, num_vertices=facts["V"], directed=facts["directed"]) as graph:
        for weighted in (False, True) if weight is not None else (False,):
            heavy = None if weight is None or not weighted else weight.tolist()
            row = {"graph": name, "vertices": facts["V"], "edges": len(source), "weighted": weighted}
            row["multilevel"] = peer.community_multilevel(weights=heavy).modularity
            clustered = peer.community_leiden(objective_function="modularity", weights=heavy, **ROUNDS)
            row["igraph"] = clustered.modularity
            row["leidenalg"] = by_leidenalg(peer, heavy, before.get((name, weighted), {}))
            for own in ("louvain", "leiden"):
                row[own] = graph.execute(own, {"weighted": weighted}).summary["modularity"]
            found.append(row)
    return found


def by_leidenalg(peer: Any, weights: list[float] | None, before: dict[str, Any]) -> float | None:
    """leidenalg's modularity, if it is installed."""
    try:
        leidenalg = importlib.import_module("leidenalg")
    except ImportError:
        return before.get("leidenalg")
    kind = leidenalg.ModularityVertexPartition
    return float(leidenalg.find_partition(peer, kind, weights=weights, seed=1, **ROUNDS).quality())


def shares(row: dict[str, Any]) -> dict[str, float]:
    """What `louvain` and `leiden` have of the best peer's modularity."""
    best = max(row["igraph"], row["leidenalg"] or 0.0)
    return {"louvain": row["louvain"] / row["multilevel"], "leiden": row["leiden"] / best}


def page(rows: list[dict[str, Any]]) -> str:
    """The table as a page."""
    least = {own: min(rows, key=lambda row: shares(row)[own]) for own in ("louvain", "leiden")}
    told = [f"`{own}` has {shares(row)[own]:.2%} of a peer's at least, of {row['graph']}" for own, row in least.items()]
    columns = ("louvain", "multilevel", "leiden", "igraph", "leidenalg")
    lines = []
    for row in rows:
        numbers = ["" if row[name] is None else f"{row[name]:.4f}" for name in columns]
        said = [row["graph"], f"{row['vertices']:,}", f"{row['edges']:,}", "yes" if row["weighted"] else "no", *numbers]
        lines.append(f"| {' | '.join(said)} |")
    return HEAD.format(verdict=f"{'; '.join(told)}.") + "\n".join(lines) + "\n"


def main() -> int:
    """Exit code 1 where a graph's modularity is less than LEAST of a peer's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="GRAPH")
    chosen = parser.parse_args().names
    if not DATA.is_dir():
        parser.error(f"{DATA}: is not there")
    stored = RESULTS / "communities.json"
    kept = json.loads(stored.read_text()) if stored.exists() else []
    rows = {(row["graph"], row["weighted"]): row for row in kept}
    for name in chosen or [name for name, facts in manifest().items() if facts["E"] <= MOST_EDGES]:
        for row in rows_of(name, rows):
            rows[name, row["weighted"]] = row
            print(name, *(f"{own} {share:.4f}" for own, share in shares(row).items()), flush=True)
    found = [rows[key] for key in sorted(rows)]
    stored.write_text(json.dumps(found, indent=1) + "\n")
    stored.with_suffix(".md").write_text(page(found))
    return int(any(min(shares(row).values()) < LEAST for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
