"""`make bench-papers`: the experiments of the four papers on our engine, and one page with their claims beside ours.

python bench/papers.py                                     # everything, on all GPUs, or on the cores without one
python bench/papers.py --suites garaph simd --devices host --scale 18      # some of it; bench/scratch/results
python bench/papers.py --devices cuda:0 --scale 20 --sources 2 --seconds 0.5 --limit 60 --out A     # in minutes
python bench/papers.py --page                              # measure nothing: write the page of what was measured

Each suite (thesis.py, edge_vertex.py, simd.py, garaph.py) writes results of its own; papers.md names what each paper
says of each figure and table, and what these results say.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/papers.py` puts bench/ there, not the project

from bench import harness  # noqa: E402
from bench.figures import Figure  # noqa: E402
from bench.report import number  # noqa: E402

SUITES = ("thesis", "edge_vertex", "simd", "garaph")
RESULTS, SCRATCH = ROOT / "bench" / "results", ROOT / "bench" / "scratch" / "results"
NOT_MEASURED = "not measured"
Ours = Callable[[Sequence[Figure]], str]


def span(values: Sequence[float], unit: str) -> str:
    """Least to most of some figures, in words."""
    if not values:
        return NOT_MEASURED
    least, most = number(min(values)), number(max(values))
    return f"{least} {unit}" if least == most else f"{least} to {most} {unit}, {len(values)} rows"


def chosen(figures: Sequence[Figure], begins: str, ends: str = "") -> list[Figure]:
    """Those whose name begins and ends so."""
    return [figure for figure in figures if figure.what.startswith(begins) and figure.what.endswith(ends)]


def value(begins: str, ends: str = "", unit: str = "") -> Ours:
    """What figures are."""

    def say(figures: Sequence[Figure]) -> str:
        found = chosen(figures, begins, ends)
        return span([figure.value for figure in found], unit or (found[0].unit if found else ""))

    return say


def ratio(begins: str, ends: str = "", against: str = "", unit: str = "times as fast") -> Ours:
    """How many times better figures are than what they stand against."""

    def say(figures: Sequence[Figure]) -> str:
        found = [figure for figure in chosen(figures, begins, ends) if figure.against.startswith(against)]
        return span([figure.ratio for figure in found if figure.ratio], unit)

    return say


def quotient(slow: str, fast: str, unit: str = "times as fast") -> Ours:
    """Times of figures whose names begin with `slow`, over those of the same graph and place that begin with `fast`."""

    def say(figures: Sequence[Figure]) -> str:
        others = {(figure.what.removeprefix(fast), figure.graph): figure.value for figure in chosen(figures, fast)}
        pairs = [
            figure.value / other
            for figure in chosen(figures, slow)
            if (other := others.get((figure.what.removeprefix(slow), figure.graph)))
        ]
        return span(pairs, unit)

    return say


def micro(program: str) -> Ours:
    """How much faster the hybrid technique is than the edge-centric one, at all densities."""

    def say(figures: Sequence[Figure]) -> str:
        times = {(figure.graph, figure.what.rpartition(", ")[2]): figure.value
                 for figure in chosen(figures, "Figure 11, ") if f": {program}, " in figure.what}  # fmt: skip
        pairs = [times[graph, "edge"] / found for (graph, name), found in times.items()
                 if name == "hybrid" and (graph, "edge") in times]  # fmt: skip
        return span(pairs, "times as fast")

    return say


def hits(program: str) -> Ours:
    """Hit rates of half the pages, by either policy, once pages are where they belong."""

    def say(figures: Sequence[Figure]) -> str:
        found = chosen(figures, f"Figure 10, cache 50 %: hit rate, {program}")
        return span([figure.value for figure in found if not figure.what.endswith("first run")], "%")

    return say


def said(text: str) -> Ours:
    """What no suite measures anew."""
    return lambda figures: text


@dataclass(frozen=True)
class Claim:
    """What a paper says of a figure or table, and how our results say it."""

    suite: str
    where: str
    paper: str
    ours: Ours


CLAIMS = (
    Claim("thesis", "Figure 7: elapsed time", "up to 7.64 (BFS) and 4.28 times (PageRank) as fast as TOTEM",
          value("Figure 7: PageRank, streamed", unit="s, PageRank streamed; TOTEM was not run")),
    Claim("thesis", "Figure 8: two GPUs, BFS", "1.07 to 1.89 times one", value("Figure 8: BFS")),
    Claim("thesis", "Figure 8: two GPUs, PageRank", "1.63 to 1.77 times one", value("Figure 8: PageRank")),
    Claim("thesis", "Figure 9: streams", "time falls with each, up to 32",
          quotient("Figure 9, streams: 1:", "Figure 9, streams: 32:", "times as fast with 32 as with 1")),
    Claim("thesis", "Figure 10: hit rate of half the pages, BFS", "grows linearly with the cache (LRU)",
          hits("BFS")),
    Claim("thesis", "Figure 10: hit rate of half the pages, PageRank", "LRU alone",
          hits("PageRank")),
    Claim("thesis", "Figure 10: time with half the pages, PageRank", "LRU alone",
          quotient("Figure 10, cache 50 %: PageRank, scale", "Figure 10, cache 0 %: PageRank, scale",
                   "times that without a cache")),
    Claim("thesis", "Figure 11: hybrid lanes, BFS", "up to 6 % faster than edge-centric", micro("BFS")),
    Claim("thesis", "Figure 11: hybrid lanes, PageRank", "up to 24 % faster than edge-centric", micro("PageRank")),
    Claim("thesis", "Table 1: copies to kernels, BFS", "0.33 to 2", value("Table 1: BFS")),
    Claim("thesis", "Table 1: copies to kernels, PageRank", "0.05 to 0.25", value("Table 1: PageRank")),
    Claim("edge_vertex", "Figure 10: sort, PageRank", "8 to 20 % faster",
          ratio("Figure 10: PageRank iteration on the GPU, by in-degree, one bucket")),
    Claim("edge_vertex", "Figure 11: sort against radix and merge", "6.1 to 21.7 times as fast",
          ratio("Figure 11: sort by in-degree on the GPU, 1,000 buckets")),
    Claim("edge_vertex", "Figure 12: 10 buckets", "less than with more", value("Figure 12: by in-degree, 10 buckets")),
    Claim("edge_vertex", "Figure 12: a bucket a degree", "more buckets, less time",
          value("Figure 12: by in-degree, one bucket")),
    Claim("edge_vertex", "Figure 13: column pages", "10 to 25 % faster",
          ratio("Figure 13: PageRank iteration with column pages")),
    Claim("edge_vertex", "Figure 14: extra memory", "grows with Per_Group_Num",
          value("Figure 14: extra memory of column pages")),
    Claim("edge_vertex", "Table 4: preprocessing", "10 to 50 times as fast as Medusa",
          ratio("Table 4: preprocessing, exact order, columns", against="natural",
                unit="times as fast as without sort and columns; Medusa was not run")),
    Claim("edge_vertex", "Table 6: approximate sort, whole run", "5.1 to 25.1 % faster than by radix sort",
          ratio("Table 6: approximate sort")),
    Claim("simd", "Figure 2: frontiers", "most edges in a few levels of small worlds",
          value("Figure 2: edges in the three largest levels")),
    Claim("simd", "Figure 3: out-degrees, median", "2 or 3 in road maps, 10 to 14 and 47 to 53 in RMAT",
          value("Figure 3: out-degree, 50 %")),
    Claim("simd", "Figure 5: S chosen by page, pull", "the best S depends on the graph",
          ratio("PageRank pull, iteration, S chosen by page")),
    Claim("simd", "Figure 6: ME, S = 1", "UA rises with S, UR falls", value("Figure 6: ME, S = 1")),
    Claim("simd", "Figure 6: ME, S = 32", "the same", value("Figure 6: ME, S = 32")),
    Claim("simd", "Figure 6 by level: a size a level", "one size a run",
          ratio("Figure 6 by level: ME, a size", unit="times the ME of the best single size")),
    Claim("garaph", "Table 2: cores and GPU, pages streamed", "1.04 to 4.19 times the better of the two alone",
          ratio("Table 2: ", "both, streamed")),
    Claim("garaph", "Table 2: the same, pages in GPU memory", "no graph is so small", ratio("Table 2: ", "both")),
    Claim("garaph", "Table 3: from disk", "5.1 to 16.3 times as fast as GraphChi",
          ratio("Table 3: ", "from disk", "the same in memory", "times as fast as in memory; GraphChi was not run")),
    Claim("garaph", "Table 4: preprocessing", "3.8 to 4.4 M edges/s, by its rounded edge counts",
          value("Table 4: preprocessing")),
    Claim("garaph", "Figures 8 and 9: replication", "4.84 times as fast a page, on average",
          said("within 2 % of atomics on L2, so blocks keep no copies")),
    Claim("garaph", "Figure 10: directions as chosen", "the better one in each iteration",
          ratio("Figure 10: ", "directions as chosen")),
    Claim("garaph", "Figure 11: cores and GPU, pages streamed", "less than either alone",
          ratio("Figure 11: ", "both, streamed")),
)  # fmt: skip
PAPERS = {
    "thesis": "GStream, thesis (2015)",
    "edge_vertex": "Edge-Vertex model and approximate sort",
    "simd": "SIMD efficiency of traversal",
    "garaph": "Garaph (ATC 2017)",
}


def page(folder: Path) -> str:
    """The page of what lies in a folder of results."""
    lines = [
        "# The papers' claims beside ours",
        "",
        "Made by `make bench-papers` from the results of four suites. Ours is least to most over graphs and options.",
        "The page of each suite has every row, with machine and spread.",
    ]
    for suite in SUITES:
        path = folder / f"{suite}.json"
        lines += ["", f"## {PAPERS[suite]}", ""]
        if not path.exists():
            lines.append(f"Not measured yet: `python bench/{suite}.py`.")
            continue
        result, figures = harness.load(path)
        machine = result["machine"]
        gpus = "; ".join(line.split(",")[0] for line in machine.get("gpus", [])) or "no GPU"
        later = {f"{run['cores']} cores, {run['gpus']} GPUs" for run in result.get("runs", [])[1:]}
        others = f" Later runs: {'; '.join(sorted(later))}." if later else ""
        lines += [f"{machine['cpu']}, {machine['cores']} cores; {gpus}; commit {machine['commit'][:12]}.{others}", ""]
        lines += ["| figure | the paper | ours |", "|---|---|---|"]
        rows = [claim for claim in CLAIMS if claim.suite == suite]
        lines += [f"| {claim.where} | {claim.paper} | {claim.ours(figures)} |" for claim in rows]
    return "\n".join(lines) + "\n"


def parse(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="bench/papers.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=SUITES, help="of " + ", ".join(SUITES))
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page")
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--devices", help="as suites take them; default: all GPUs, else host")
    return parser.parse_known_args(arguments)


def devices_here() -> str:
    """All GPUs, or the cores where none can be used."""
    from bench.link import ALL_GPUS, Devices
    from pagestore.errors import GstreamError

    try:
        Devices.parse(ALL_GPUS).check()
    except (GstreamError, ImportError):
        return "host"
    return ALL_GPUS


def main(arguments: Sequence[str] | None = None) -> int:
    options, others = parse(arguments)
    whole = not others and options.devices is None and len(options.suites) == len(SUITES)
    folder = options.out or (RESULTS if whole or options.page else SCRATCH)
    code = 0
    if not options.page:
        devices = options.devices or devices_here()
        for suite in options.suites:
            command = [sys.executable, str(ROOT / "bench" / f"{suite}.py"), "--devices", devices, "--out", str(folder)]
            code |= subprocess.run([*command, *others], cwd=ROOT).returncode
    (folder / "papers.md").write_text(page(folder))
    return code


if __name__ == "__main__":
    sys.exit(main())
