"""What GPUs compile for each algorithm: programs, record and item kernels, and the union-find of components.

"programs.bfs: BFS BFSBack" are classes of gstream.programs.bfs, "components.strong: mark_ends" a kernel of
gstream.algorithms.components.strong. What options, kinds of graphs or numbers of GPUs alone ask for is among them; of
programs that differ by the type of their numbers, the one for the weights and IDs that are asked for. `gstream show
--cuda` prints the units, and tests hold what runs compile against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from textwrap import wrap
from typing import Any

import numpy as np

from gstream.cudacode.generate import Unit, UnitShape, unit_of, unit_of_components
from gstream.cudacode.records import usual_unit
from gstream.records import ItemKernel, RecordKernel

WIDTH = 120  # of a comment's line
COMPONENTS = "cuda: components"
SEARCHES = "centrality.levelcounts: begin_searches count_fresh pass_on"
LISTS = "density.joins: count_higher gather_higher"
TWO_SETS = "subgraphs.extract: sum_edges sum_plain_edges"
RANKS = ("centrality.residual_proofs: spread_rank",)
STEPS = ("centrality.step_proofs: spread_weights",)
BACKWARD = ("programs.bfs: BFSBack",)
WATCHED = ("density.triangle_proofs: mark_near", "support.simple: note_ends", "density.triangle_proofs: count_between")

RUNS: dict[str, tuple[str, ...]] = {
    "bfs": ("programs.bfs: BFS", "traversal.nearest: nearest_by_hops"),
    "pagerank": ("programs.pagerank: PageRank PersonalizedPageRank",),
    "sssp": ("programs.sssp: SSSP", "traversal.nearest: nearest_by_weight spread_hops"),
    "wcc": (COMPONENTS,),
    "rwr": ("programs.pagerank: PersonalizedPageRank",),
    "katz": ("programs.katz: Katz",),
    "eigenvector": ("programs.eigenvector: Eigenvector",),
    "hits": ("programs.hits: Authorities Hubs",),
    "degrees": (),
    "khop": ("programs.bfs: BFS", "traversal.bothways: step_both"),
    "hcc": ("programs.wcc: WCC", COMPONENTS),
    "widest": ("programs.widest: Widest",),
    "levels": ("traversal.dag: take_level peel reach_out find_above",),
    "closeness": ("programs.reach: Reach", SEARCHES),
    "harmonic": ("programs.reach: Reach", SEARCHES),
    "radius": ("programs.sketches: Sketches",),
    "heat": ("programs.inflow: Inflow", "programs.heat: Heat"),
    "circuit": ("programs.inflow: Inflow", "programs.circuit: Circuit"),
    "neural": ("programs.neural: Neural",),
    "subgraph": ("subgraphs.extract: count_edges",),
    "egonet": ("programs.bfs: BFS", "traversal.bothways: step_both", "subgraphs.extract: count_edges"),
    "cross": ("subgraphs.extract: count_edges",),
    "kcore": ("support.simple: note_ends count_simple", "density.peeling: settle find_next open_next peel"),
    "cdlp": ("labelling.labels: gather_labels",),
    "triangles": (LISTS, "density.joins: close_triangles"),
    "betweenness": (
        "support.simple: note_ends",
        "centrality.paths: begin_source step_on count_paths find_level add_dependencies close_source",
    ),
    "mis": ("labelling.independent: block push_out",),
    "coloring": ("labelling.palette: count_ahead give_colors tell_behind",),
    "scc": (COMPONENTS, "programs.bfs: BFS BFSBack", "components.strong: mark_ends spread_colors collect"),
    "msf": ("components.boruvka: scan_lists settle_shared",),
    "ktruss": (LISTS, "density.truss: count_supports mark_dying mark_next list_dying lose_triangles take_dying"),
    "lcc": (LISTS, "density.joins: close_triangles"),
}
PROOFS: dict[str, tuple[str, ...]] = {  # what certificates compile beside what their runs do
    "bfs": ("traversal.distance_proof_kernels: check_hops",),
    "pagerank": RANKS,
    "sssp": (
        "traversal.distance_proof_kernels: check_paths",
        "programs.sssp: SSSP64",
        "traversal.distance_proof_kernels: check_lengths",
    ),
    "rwr": RANKS,
    "katz": RANKS,
    "eigenvector": RANKS,
    "hits": RANKS,
    "degrees": RANKS,
    "khop": (
        "traversal.nearest: nearest_by_hops",
        "traversal.distance_proof_kernels: check_hops",
        "traversal.bothways: check_both",
    ),
    "widest": ("traversal.width_proof: check_widths bear_widths",),
    "levels": ("traversal.dag: levels_again distances_again",),
    "closeness": BACKWARD,
    "harmonic": BACKWARD,
    "heat": STEPS,
    "circuit": STEPS,
    "neural": STEPS,
    "subgraph": (TWO_SETS,),
    "egonet": (
        "traversal.nearest: nearest_by_hops",
        "traversal.distance_proof_kernels: check_hops",
        "traversal.bothways: check_both",
        TWO_SETS,
    ),
    "cross": (TWO_SETS,),
    "kcore": ("density.peeling: count_not_below take_layers",),
    "triangles": WATCHED,
    "betweenness": ("centrality.path_weighing: weigh_paths close_weighing",),
    "mis": ("labelling.independent: check_set",),
    "coloring": ("labelling.palette: check_colors",),
    "scc": ("components.strong: check_reach count_entries take_off",),
    "msf": ("components.spanning_proof: check_edges",),
    "ktruss": ("support.simple: note_ends count_simple", "density.truss_proof: copy_lists"),
    "lcc": WATCHED,
}
WHOLE = {"SSSP": "SSSPInteger", "Widest": "WidestInteger"}  # where weights are whole numbers
WIDE = {"WCC": "WCC64"}  # where IDs have 8 bytes


def units_of(algorithm: str, id_dtype: np.dtype, weight_dtype: np.dtype) -> Iterator[tuple[str, Unit]]:
    """(comment that says what the unit is, unit) of an algorithm, in the order that a run with --certify needs them."""
    named = [(part, "") for part in _apart(RUNS[algorithm])]
    named += [(part, ", of the certificate") for part in _apart(PROOFS.get(algorithm, ()))]
    for number, ((module, name), whose) in enumerate(named, 1):
        place = f"unit {number} of {len(named)}{whose}"
        if f"{module}: {name}" == COMPONENTS:
            said = "the kernels of cuda/unionfind.cu\nComponents by union-find: trees are linked and labelled."
            unit = unit_of_components(UnitShape(id_dtype))
        else:
            what = _find(module, name, id_dtype, weight_dtype)
            said = _described(what)
            if isinstance(what, RecordKernel):
                unit = usual_unit(what, id_dtype, weight_dtype)
            else:
                unit = unit_of(what, UnitShape(id_dtype, weight_dtype))
        yield _comment(f"{algorithm}, {place}: {said}"), unit


def _apart(groups: Sequence[str]) -> list[tuple[str, str]]:
    """(module, name) of each."""
    split = (group.split(": ") for group in groups)
    return [(module, name) for module, names in split for name in names.split()]


def _find(module: str, name: str, id_dtype: np.dtype, weight_dtype: np.dtype) -> Any:
    """A program's class for these types, or a kernel."""
    if not module.startswith("programs."):
        return getattr(import_module(f"gstream.algorithms.{module}"), name)
    if weight_dtype.kind != "f":
        name = WHOLE.get(name, name)
    if id_dtype.itemsize == 8:
        name = WIDE.get(name, name)
    return getattr(import_module(f"gstream.{module}"), name)


def _described(what: Any) -> str:
    """What it is and where; then what it's for, by its docstring."""
    is_kernel = isinstance(what, RecordKernel)
    kind = "item kernel" if isinstance(what, ItemKernel) else "record kernel" if is_kernel else "program"
    name, module = (what.name, what.module) if is_kernel else (what.__name__, what.__module__)
    about = " ".join((what.__doc__ or "").partition("\n\n")[0].split())
    return f"{kind} {name} of {module.replace('.', '/')}.py\n{about}"


def _comment(text: str) -> str:
    lines = [line for part in text.splitlines() for line in wrap(part, WIDTH - len("// "))]
    return "".join(f"// {line}\n" for line in lines)
