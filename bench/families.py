"""The graphs of edge_vertex.py and simd.py: RMAT, uniform, grid, and real ones, each as stores in any order.

The papers' graphs are RMAT, uniformly random ones, meshes, road maps, and social, citation and web graphs. Real ones
come from a folder (../shared/data/graphs beside some checkouts; --data names another) as NAME.el.xz or NAME.wel.xz,
text, or as CSR, NAME/indptr.xz and NAME/indices.xz (raw `<u8` and `<u4`); those that are missing are left out.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import stores
from bench.graphs import EDGE_FACTOR, SEED
from bench.harness import SkippedError
from bench.machine import ROOT

WARM_SCALE = 10
KINDS = ("rmat", "uniform", "grid")
GRAPHS = (
    f"rmat-S, uniform-S: 2^S vertices, {EDGE_FACTOR} directed edges a vertex, duplicates and self-loops kept, RMAT "
    f"with Graph500's parameters (.57, .19, .19), scrambled IDs, seed {SEED}; grid-S: undirected, 2^S vertices, to the "
    "right and down, row by row; cnr_2000: web; slashdot0902_d: social; cit_hepph: citations; road_5cities: roads, "
    "undirected; git_dag_5repos: objects of version control"
)
DATA_FOLDER = ROOT.parent / "shared" / "data" / "graphs"


@dataclass(frozen=True)
class Real:
    """vertices: 0..V-1; undirected edges stand once in the file."""

    vertices: int
    directed: bool


REAL: Mapping[str, Real] = {
    "cit_hepph": Real(34_546, True),
    "slashdot0902_d": Real(82_168, True),
    "cnr_2000": Real(325_557, True),
    "road_5cities": Real(1_094_325, False),
    "git_dag_5repos": Real(3_406_472, True),
}


class Edges(NamedTuple):
    """Of a real graph as its file has them; weight: None where it has none."""

    vertices: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None


@dataclass(frozen=True)
class Family:
    """One graph. source: makes its edges (an EdgeSource, without weights), anew each time; edges: of a real graph."""

    name: str
    directed: bool
    source: Callable[[], Any]
    edges: Callable[[], Edges] | None = None

    def store(
        self, path: Path, order: str = "natural", buckets: int | None = None, topology: str = "both", columns: int = 1
    ) -> Path:
        """Convert it to `path`, unless it is there already (bench.stores)."""
        from pagestore.convert import ConvertOptions, convert

        what = f"{self.name} {self.directed} {order} {buckets} {topology} {columns}"
        if not stores.is_kept(path, what):
            path.parent.mkdir(parents=True, exist_ok=True)
            options = ConvertOptions(
                directed=self.directed,
                order=order,
                order_buckets=buckets,
                topology=topology if self.directed else "both",
                columns=columns,
            )
            convert(self.source(), path, options)
            stores.keep(path, what)
        return path

    def ordered(self, folder: Path, order: str) -> Path:
        """Its store in an order, both page sets, kept from run to run."""
        return self.store(folder / f"{self.name}-{order}.gs", order)

    def natural(self, folder: Path) -> Path:
        """Its store in natural order."""
        return self.ordered(folder, "natural")


def warm_up(folder: Path) -> None:
    """Convert a tiny graph, rows and columns: what a process compiles or loads first is no part of what is timed."""
    path = folder / "warm-up.gs"
    try:
        for columns in (1, 32):
            path.unlink(missing_ok=True)
            generated("rmat", WARM_SCALE).store(path, "in", None, columns=columns)
    finally:
        path.unlink(missing_ok=True)


def generated(kind: str, scale: int) -> Family:
    """A graph of one of KINDS."""
    from pagestore import generate

    if kind == "grid":
        return Family(f"grid-{scale}", False, lambda: generate.grid(scale, SEED))
    make = {"rmat": generate.rmat, "uniform": generate.uniform}[kind]
    return Family(f"{kind}-{scale}", True, lambda: make(scale, EDGE_FACTOR, SEED, scramble=True))


def real(folder: Path | None) -> Iterator[Family]:
    """Those of REAL that are in `folder`, or in the usual one. Raises SkippedError where there is none."""
    folder, found = folder or DATA_FOLDER, 0
    for name, facts in REAL.items():
        if places := _files(folder, name):
            found += 1
            yield _real(name, facts, places[0])
    if not found:
        names = ", ".join(f"{name}.el.xz" for name in REAL)
        raise SkippedError(f"none of {names} (or .wel.xz) in {folder}: --data names their folder")


def _files(folder: Path, name: str) -> list[Path]:
    names = (f"{name}.el.xz", f"{name}.wel.xz", f"{name}/indices.xz")
    return [folder / each for each in names if (folder / each).exists()]


def _real(name: str, facts: Real, path: Path) -> Family:
    kept: list[Edges] = []  # read once, when first asked for

    def edges() -> Edges:
        if not kept:
            columns = _csr(path.parent) if path.name == "indices.xz" else _text(path)
            kept.append(Edges(facts.vertices, *columns))
        return kept[0]

    def source() -> Any:
        from pagestore.memory import ArraySource

        return ArraySource(edges().source, edges().target, None, facts.vertices, name=name)

    return Family(name, facts.directed, source, edges)


def _text(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Sources and targets, int64[edges], of text columns; weights where there are any."""
    from pyarrow import csv

    with lzma.open(path) as file:
        blank = "\t" if b"\t" in file.readline() else " "
        file.seek(0)
        table = csv.read_csv(file, csv.ReadOptions(autogenerate_column_names=True), csv.ParseOptions(delimiter=blank))
    columns = [column.to_numpy() for column in table.columns]
    return columns[0], columns[1], columns[2] if len(columns) > 2 else None


def _csr(folder: Path) -> tuple[np.ndarray, np.ndarray, None]:
    """Sources and targets, u4[edges]; no weights."""
    with lzma.open(folder / "indptr.xz") as file:
        indptr = np.frombuffer(file.read(), "<u8")
    with lzma.open(folder / "indices.xz") as file:
        targets = np.frombuffer(file.read(), "<u4")
    lengths = np.diff(indptr).astype(np.int64)
    return np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths), targets, None
