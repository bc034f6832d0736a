"""How every algorithm's time grows on long, flat, dense and lopsided graphs, and how it stands beside its peers there.

python bench/cliffs.py                                  # all of it, for hours: bench/results/cliffs.{json,md}
python bench/cliffs.py --only bfs sssp --shapes path grid-undirected --sizes 10000 100000 --out A
python bench/cliffs.py --busy                           # beside other work: the lesser of wall and CPU time
python bench/cliffs.py --budget 2 --sizes 10000 100000 --numberings permuted      # in minutes; the table says the limit

`--budget`: seconds that a run may take. A size, a certificate or a peer that would take longer by the growth so far is
skipped; what turns out to say nothing for LATE budgets and COMPILING_S more is ended. The table names both.

Two bounds hold a row. Growth: from one size to the next the time, with a certificate and without, grows by no more than
SLACK times what the bound of the algorithm allows (n log n in the edges, or the one that BOUNDS names) or what a linear
walk of the same graph by scipy takes more, as caches are outgrown; or the run is below SOON, or within TIMES the best
peer. Peers, on long diameters, from PEERS_FROM edges on: at most TIMES the best of igraph, networkit and scipy, or
below SOON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `python bench/cliffs.py` puts bench/ there, not the project

import numpy as np  # noqa: E402

from bench import cliff_table, machine, ours  # noqa: E402
from bench.child import lines_within  # noqa: E402
from bench.cliff_clock import Clock  # noqa: E402
from bench.cliff_graphs import CYCLIC, NUMBERINGS, SHAPES, Cliff  # noqa: E402
from bench.cliff_peers import PEERS  # noqa: E402
from bench.graphs import WORK  # noqa: E402

SIZES = (10_000, 100_000, 1_000_000)
BUDGET_S = 20.0  # a run; a size that would take longer by the row's growth is skipped
ENOUGH_S = 1.0  # a first run that takes longer is not repeated
RUNS = 3
LATE, COMPILING_S = 3.0, 30.0  # what is measured at once are up to RUNS runs
SMALLER = 10  # times, of rows whose bound is n m
FAR = 1 << 30  # a limit that no search reaches


@dataclass(frozen=True)
class Asked:
    """A row's algorithm with options that depend on the graph; shapes: those that it can run on."""

    algorithm: str
    options: Callable[[Cliff], dict[str, Any]] = lambda cliff: {}
    shapes: tuple[str, ...] = tuple(SHAPES)
    bound: str = cliff_table.USUAL


def _source(cliff: Cliff) -> dict[str, Any]:
    return {"source": cliff.made[3]}


def _half(cliff: Cliff) -> np.ndarray:
    return np.arange(cliff.made[0] // 2)


def _katz(cliff: Cliff) -> dict[str, Any]:
    """alpha below 1 / the greatest degree."""
    return {"alpha": 1 / (int(cliff.csr.degree.max(initial=0)) + int(np.bincount(cliff.csr.indices).max()) + 1)}


def _heated(cliff: Cliff) -> dict[str, Any]:
    return {"initial": {cliff.made[3]: 1.0}}


UNDIRECTED = tuple(shape for shape in SHAPES if shape.endswith("-undirected"))
ACYCLIC = tuple(shape for shape in SHAPES if shape not in CYCLIC)
ASKED = {
    "bfs": Asked("bfs", _source),
    "bfs with a limit": Asked("bfs", lambda cliff: _source(cliff) | {"depth_limit": FAR}),
    "khop": Asked("khop", lambda cliff: _source(cliff) | {"radius": 3}),
    "khop with a limit": Asked("khop", lambda cliff: _source(cliff) | {"radius": FAR}),
    "sssp": Asked("sssp", _source),
    "widest": Asked("widest", _source),
    "wcc": Asked("wcc"),
    "hcc": Asked("hcc", shapes=UNDIRECTED),
    "scc": Asked("scc"),
    "levels": Asked("levels", shapes=ACYCLIC),
    "levels weighted": Asked("levels", lambda cliff: {"weighted": True}, ACYCLIC),
    "kcore": Asked("kcore"),
    "mis": Asked("mis"),
    "coloring": Asked("coloring"),
    "msf": Asked("msf", shapes=UNDIRECTED),
    "ktruss": Asked("ktruss", shapes=UNDIRECTED, bound="m^1.5"),
    "triangles": Asked("triangles", shapes=UNDIRECTED, bound="m^1.5"),
    "lcc": Asked("lcc", bound="m^1.5"),
    "pagerank": Asked("pagerank", bound="iterations m"),
    "rwr": Asked("rwr", _source, bound="iterations m"),
    "katz": Asked("katz", _katz, bound="iterations m"),
    "eigenvector": Asked("eigenvector", bound="iterations m"),
    "hits": Asked("hits", bound="iterations m"),
    "heat": Asked("heat", _heated),
    "circuit": Asked("circuit", _heated),
    "neural": Asked("neural", _heated),
    "cdlp": Asked("cdlp"),
    "leiden": Asked("leiden"),
    "louvain": Asked("louvain"),
    "degrees": Asked("degrees"),
    "stats": Asked("stats", bound="hops m"),
    "modularity": Asked("modularity", lambda cliff: {"partition": {v: v % 100 for v in range(cliff.made[0])}}),
    "radius": Asked("radius", bound="hops m"),
    "hyperball": Asked("hyperball", bound="hops m"),
    "betweenness": Asked("betweenness", bound="n m"),
    "betweenness of a source": Asked("betweenness", lambda cliff: _source(cliff) | {"normalized": False}),
    "closeness": Asked("closeness", bound="n m"),
    "closeness of 16": Asked("closeness", lambda cliff: {"k": 16}),
    "harmonic": Asked("harmonic", bound="n m"),
    "harmonic of 16": Asked("harmonic", lambda cliff: {"k": 16}),
    "subgraph": Asked("subgraph", lambda cliff: {"nodes": _half(cliff)}),
    "egonet": Asked("egonet", lambda cliff: _source(cliff) | {"radius": 3}),
    "cross": Asked("cross", lambda cliff: {"nodes": _half(cliff), "targets": cliff.made[0] - 1 - _half(cliff)}),
}


@dataclass
class Size:
    """One size of a row: milliseconds of the best run, of it with a certificate, of each peer, and of a linear walk."""

    vertices: int
    edges: int
    ms: float
    supersteps: int
    edges_visited: int
    certified_ms: float | None = None
    peers_ms: dict[str, float] = field(default_factory=dict)
    walk_ms: float | None = None


@dataclass
class Row:
    """One algorithm on one shape and numbering.

    skipped, uncertified, unmet: why larger sizes, their certificates, or peers, are not there; refused: what gstream
    says of them; doing: what is measured now.
    """

    what: str
    shape: str
    numbering: str
    bound: str
    sizes: list[Size] = field(default_factory=list)
    skipped: str = ""
    uncertified: str = ""
    unmet: str = ""
    refused: str = ""
    wrong: str = ""
    doing: str = ""

    @property
    def key(self) -> list[str]:
        return [self.what, self.shape, self.numbering]


def timed(call: Callable[[], Any], busy: bool) -> tuple[float, Any]:
    """(seconds, answer) of the quickest of up to RUNS runs; busy: of all cores' time where that is less."""
    best = math.inf
    for number in range(RUNS):
        answer = None
        cpu, wall = time.process_time(), time.perf_counter()
        answer = call()
        taken = time.perf_counter() - wall
        best = min(best, taken, time.process_time() - cpu if busy else taken)
        if number and taken > ENOUGH_S:  # the first may compile what smaller graphs did not need
            break
    return best, answer


@lru_cache(maxsize=2 * len(SIZES))
def graph_of(shape: str, edges: int, numbering: str) -> tuple[Cliff, Any]:
    """(the graph, as peers hold it): rows of one shape follow each other."""
    from bench.cliff_peers import Theirs

    cliff = Cliff(shape, edges, numbering)
    return cliff, Theirs(cliff, machine.cores())


def measure(
    row: Row, sizes: Sequence[int], budget_s: float, folder: Path, peers: bool = True, busy: bool = False,
    tell: Callable[[Row], None] = lambda row: None,
) -> Row:  # fmt: skip
    """Fill a row, smallest size first; tell: called before each thing that is measured, with `doing`."""
    from pagestore.errors import GstreamError

    clock = Clock(budget_s, busy, row.bound)
    for edges in [size // SMALLER for size in sizes] if row.bound == "n m" else sizes:
        if not clock.allows("ours", edges):
            row.skipped = f"{edges} edges would take more than {budget_s:g} s"
            break
        try:
            _measure_size(row, edges, clock, folder, peers, tell)
        except GstreamError as error:
            row.refused = f"{edges} edges: {error}"
            break
    row.doing = ""
    return row


def _measure_size(row: Row, edges: int, clock: Clock, folder: Path, peers: bool, tell: Callable[[Row], None]) -> None:
    from gstream.algorithms.registry import ALGORITHMS

    def begin(name: str) -> None:
        row.doing = f"{edges} edges, {name}"
        tell(row)

    begin("the graph")
    asked, (cliff, theirs) = ASKED[row.what], graph_of(row.shape, edges, row.numbering)
    own = asked.options(cliff)
    with ours.opened(cliff.store(folder)) as session:
        begin("ours")
        if not row.sizes:
            session.execute(asked.algorithm, own)  # compiles
        seconds, answer = timed(lambda: session.execute(asked.algorithm, own), clock.busy)
        clock.note("ours", seconds, cliff.edges)
        stats = answer.summary["stats"]
        size = Size(cliff.made[0], cliff.edges, seconds * 1e3, answer.summary["supersteps"], stats["edges_visited"])
        size.walk_ms = walk_ms(row.shape, edges, row.numbering, clock.busy)
        row.sizes.append(size)
        if ALGORITHMS[asked.algorithm].proof and not row.uncertified:
            if clock.allows("certified", cliff.edges):
                begin("certified")
                if len(row.sizes) == 1:
                    session.execute(asked.algorithm, own, certify=True)  # compiles
                seconds, _ = timed(lambda: session.execute(asked.algorithm, own, certify=True), clock.busy)
                clock.note("certified", seconds, cliff.edges)
                size.certified_ms = seconds * 1e3
            else:
                row.uncertified = f"certified, {edges} edges would take more than {clock.budget_s:g} s"
    for name in PEERS.get(row.what, {}) if peers else ():
        _ask_peer(row, size, name, theirs, clock, answer, begin)


@lru_cache(maxsize=2 * len(SIZES))
def walk_ms(shape: str, edges: int, numbering: str, busy: bool) -> float:
    """Milliseconds that scipy takes to find the weak components: linear by its definition, so that caches show."""
    theirs = graph_of(shape, edges, numbering)[1]
    return timed(lambda: PEERS["wcc"]["scipy"].call(theirs), busy)[0] * 1e3


def _ask_peer(
    row: Row, size: Size, name: str, theirs: Any, clock: Clock, answer: Any, begin: Callable[[str], None]
) -> None:
    peer, cliff = PEERS[row.what][name], theirs.cliff
    if not clock.allows(name, cliff.edges) or (cliff.directed and not peer.directed):
        return
    begin(name)
    peer.call(theirs)  # builds its graph
    seconds, found = timed(lambda: peer.call(theirs), clock.busy)
    clock.note(name, seconds, cliff.edges)
    size.peers_ms[name] = seconds * 1e3
    if peer.column is not None:
        _compare(row, name, answer, np.asarray(peer.column(found), dtype=np.float64))


def _compare(row: Row, name: str, answer: Any, expected: np.ndarray) -> None:
    mine = answer.to_numpy()[answer.columns[1]]
    if mine.dtype.kind == "f":
        mine = np.where(np.isinf(mine), -1.0, mine)
    if not np.allclose(mine.astype(np.float64), expected, rtol=1e-5, atol=1e-9):
        row.wrong = f"differs from {name}'s"


def rows_of(only: Sequence[str], shapes: Sequence[str], numberings: Sequence[str]) -> Iterator[Row]:
    """Graph by graph, as these take long to be built."""
    for shape in shapes:
        for numbering in numberings:
            for name in only:
                if shape in ASKED[name].shapes:
                    yield Row(name, shape, numbering, ASKED[name].bound)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/cliffs.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ASKED, default=list(ASKED), metavar="ROW", help="these rows only")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="on these shapes only")
    parser.add_argument("--numberings", nargs="+", choices=NUMBERINGS, default=list(NUMBERINGS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="edges, ascending; of n m a tenth")
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS", help="of a run")
    parser.add_argument("--busy", action="store_true", help="others share the cores: take CPU time where it is less")
    parser.add_argument("--no-peers", action="store_true", help="measure growth alone")
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--join", type=Path, nargs="+", metavar="JSON", help="measure nothing: join results into one")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure_apart(rows: list[Row], options: argparse.Namespace) -> list[Row]:
    """Rows as a process of its own measures them; one that says nothing for too long is ended at that row."""
    done: list[Row] = []
    part = WORK / "cliffs" / f"rows-{os.getpid()}.jsonl"
    part.parent.mkdir(parents=True, exist_ok=True)
    while left := rows[len(done) :]:
        part.write_text("".join(json.dumps(row.key) + "\n" for row in left))
        command = [sys.executable, __file__, "--child", str(part), "--budget", str(options.budget)]
        command += ["--sizes", *map(str, options.sizes)] + ["--no-peers"] * options.no_peers + ["--busy"] * options.busy
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
        done += take(child, left, LATE * options.budget + COMPILING_S)
    part.unlink()
    return done


def take(child: subprocess.Popen[bytes], left: list[Row], limit_s: float) -> list[Row]:
    """Rows of a child until it ends, or says nothing for so long: the last one then tells what it was at."""
    assert child.stdout is not None
    done: list[Row] = []
    row = left[0]
    try:
        for line in lines_within(child.stdout, limit_s):
            if line:
                found = json.loads(line)
                row = Row(**found | {"sizes": [Size(**size) for size in found["sizes"]]})
            else:
                ended = f"not done after {limit_s:g} s" if line is None else f"its process ended: {child.wait()}"
                row = row if row.doing else left[len(done)]
                why = f"{row.doing or 'the first size'}: {ended}"
                if row.doing.rpartition(", ")[2] in PEERS.get(row.what, {}):
                    row.unmet = why
                else:
                    row.skipped = why
                row.doing = ""
            if not row.doing:
                done.append(row)
                print(cliff_table.line(asdict(row)), file=sys.stderr, flush=True)
            if not line or len(done) == len(left):
                break
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    return done


def measure_here(options: argparse.Namespace) -> int:
    """The child's side: rows from a file, a line of JSON on standard output for each thing that it begins, and at the
    end of a row."""

    def tell(row: Row) -> None:
        print(json.dumps(asdict(row)), flush=True)

    for text in options.child.read_text().splitlines():
        what, shape, numbering = json.loads(text)
        row = Row(what, shape, numbering, ASKED[what].bound)
        tell(measure(row, options.sizes, options.budget, WORK / "cliffs", not options.no_peers, options.busy, tell))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.child:
        return measure_here(options)
    words = " ".join(["python bench/cliffs.py", *(arguments if arguments is not None else sys.argv[1:])])
    whole = {"command": words, "machine": machine.facts(), "budget_s": options.budget}
    whole["limit_s"] = LATE * options.budget + COMPILING_S
    if options.join:
        whole |= cliff_table.join([json.loads(file.read_text()) for file in options.join])
        whole["rows"] = [row | {"bound": ASKED[row["what"]].bound} for row in whole["rows"]]
    else:
        rows = list(rows_of(options.only, options.shapes, options.numberings))
        whole["rows"] = [asdict(row) for row in measure_apart(rows, options)]
    all_of_it = options.only == list(ASKED) and options.shapes == list(SHAPES) or options.join
    folder = options.out or ROOT / "bench" / ("results" if all_of_it else "scratch/results")
    whole["rows"] = [cliff_table.judged(row) for row in whole["rows"]]
    machine.write_json(folder / "cliffs.json", whole)
    (folder / "cliffs.md").write_text(cliff_table.markdown(whole))
    print(cliff_table.markdown(whole))
    return 1 if any(row["failures"] for row in whole["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
