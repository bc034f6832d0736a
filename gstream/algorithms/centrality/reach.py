"""Closeness and harmonic centrality, from the vertices that searches reach level by level.

Both are NetworkX's: distances are those of paths that lead *to* a vertex. Each edge counts 1, or its weight if
`weighted`: then one source after the other is searched from (lengths.py).
* Closeness is (reached - 1) / sum of distances, times (reached - 1) / (V - 1) (Wasserman and Faust) unless wf_improved
  is False. Harmonic is the sum of 1 / distance.
* Without weights 64 sources are searched from at a time, as bits of one number.
* With k drawn sources, sums are scaled by (V - 1) / k; log(V) / e^2 of them keep the mean distance's error below e
  diameters with high probability (Eppstein and Wang 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.centrality import levelcounts
from gstream.algorithms.centrality.lengths import ARRAYS, program_of_lengths, search_by_weight
from gstream.algorithms.declaration import DRAWN, NOT_NEGATIVE, SEED, SWITCH, WEIGHTED, Algorithm, Option, Work
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.lists import FIRST_ROUNDS, OneThread
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import SweepState
from gstream.hostcode.bitmaps import bits_where
from gstream.hostcode.records import load_kernel
from gstream.programs.reach import Reach
from gstream.programs.sssp import SSSP64
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

ALGORITHMS = (
    Algorithm(
        "closeness", "closeness centrality by paths to a vertex, as in NetworkX",
        "64 sources take one search of all edges; by weights each takes its own. A certificate takes 16 searches, of "
        "small graphs up to 256 that look at 4 million edges together.",
        definition="over paths to a vertex, by edges, or weights if weighted; as Wasserman and Faust if wf_improved",
        columns=("vertex", "closeness"), best="largest",
        options=(Option("wf_improved", SWITCH, True, "scale by what is reached"), DRAWN, SEED, WEIGHTED),
        plan="program_of_reach", proof=".search_proofs:certify_closeness", proof_bytes=73,
        certificate="16 to 256 vertices, searched for again",
        kept="40, in a program 48, weighted 16: sums, how many were reached, and by which of 64 searches",
        holds="60, weighted 32",
        weights=NOT_NEGATIVE, program="gstream.programs.reach:Reach",
        units=(".levelcounts:begin_searches count_fresh pass_on", "gstream.programs.sssp:SSSP64"),
        proof_units=("gstream.programs.bfs:BFSBack", "gstream.programs.sssp:SSSPBack64"),
        work=Work(edges=7.0, gpu_edges=300.0, per="k", sources=64, moved=(6.0, 12.0), spread=1.8),
    ),
    Algorithm(
        "harmonic", "harmonic centrality by paths to a vertex, as in NetworkX",
        "64 sources take one search of all edges; by weights each takes its own. A certificate takes 16 searches, of "
        "small graphs up to 256 that look at 4 million edges together.",
        definition="sum of 1 / distance to a vertex, by edges, or weights if weighted; not divided by their number",
        columns=("vertex", "harmonic"), best="largest", options=(DRAWN, SEED, WEIGHTED),
        plan="program_of_reach", proof=".search_proofs:certify_harmonic", proof_bytes=73,
        certificate="16 to 256 vertices, searched for again",
        kept="40, in a program 48, weighted 16: sums, how many were reached, and by which of 64 searches",
        holds="60, weighted 32",
        weights=NOT_NEGATIVE, program="gstream.programs.reach:Reach",
        units=(".levelcounts:begin_searches count_fresh pass_on", "gstream.programs.sssp:SSSP64"),
        proof_units=("gstream.programs.bfs:BFSBack", "gstream.programs.sssp:SSSPBack64"),
        work=Work(edges=7.0, gpu_edges=300.0, per="k", sources=64, moved=(6.0, 12.0), spread=1.8),
    ),
)  # fmt: skip

AT_ONCE = 64  # searches: bits of a value
# Stages of a search: it is over; a program makes it; sweeps go on from `front`, or from `fresh`, which is not counted.
OVER, PROGRAM, FRONT, FRESH = 0, 1, 2, 3
KEPT = 4  # arrays of 8 bytes a vertex beside the program: sums, how many reach it, bits so far and of the beginning


def run_closeness(
    session: Session, wf_improved: bool = True, k: int | None = None, seed: int = 0, weighted: bool = False
) -> Answer:
    """Column closeness, and the summary: `sources` searched from. Raises UsageError for a `k` that means nothing, and
    for whole weights whose sums doubles don't count."""
    program_of_reach(session, k, seed, weighted)
    sources = drawn(session, k, seed)
    if weighted:
        total, reached, steps = search_by_weight(session, sources, reciprocal=False)
    else:
        total, reached, steps = search(session, sources, float)
    others = _others(session, sources)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(total > 0, reached / total, 0.0)
        if wf_improved:
            value *= np.where(others > 0, reached / others, 0.0)
    found = _sources(session, sources, "shares and mean distances of k drawn sources alone")
    return [Column("closeness", value)], found | session.finish(steps, True)


def run_harmonic(session: Session, k: int | None = None, seed: int = 0, weighted: bool = False) -> Answer:
    """Column harmonic, and the summary: `sources` searched from. Raises as run_closeness."""
    program_of_reach(session, k, seed, weighted)
    sources = drawn(session, k, seed)
    if weighted:
        value, _, steps = search_by_weight(session, sources, reciprocal=True)
    else:
        value, _, steps = search(session, sources, lambda step: 1.0 / step if step else 0.0)
    if len(sources) < session.meta.vertices:
        others = _others(session, sources)
        value *= np.divide(session.meta.vertices - 1, others, out=np.zeros_like(value), where=others > 0)
    found = _sources(session, sources, "the sum over k drawn sources, times (n-1) / k, for a source (n-1) / (k-1)")
    return [Column("harmonic", value)], found | session.finish(steps, True)


def _sources(session: Session, sources: np.ndarray, estimate: str) -> dict[str, Any]:
    """Of the summary: how many sources there were and, where not all, what the definition goes on with."""
    said = {"definition": f"an estimate: {estimate}"} if len(sources) < session.meta.vertices else {}
    return {"sources": len(sources)} | said


def drawn(session: Session, k: int | None, seed: int) -> np.ndarray:
    """uint64[k]: store IDs of the sources, ascending: all, or k drawn without replacement."""
    vertices = session.meta.vertices
    check_drawn(session, k, seed)
    if k is None or k == vertices:
        return np.arange(vertices, dtype=np.uint64)
    natural = np.random.default_rng(seed).choice(vertices, k, replace=False)
    return np.sort(np.array([session.store.store_ids(int(n), int(n) + 1)[0] for n in natural], np.uint64))


def check_drawn(session: Session, k: int | None, seed: int) -> None:
    """Raise UsageError if the number of sources or the seed is out of range."""
    vertices = session.meta.vertices
    if k is not None and k != vertices and not 1 <= k < vertices:
        raise UsageError(f"--k {k}: must be 1 to {vertices}, the number of vertices. Leave it out for all of them.")
    check_seed(seed)


def search(session: Session, sources: np.ndarray, amount: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """(sum of amount(distance) over the sources that reach v, how many others do, supersteps): float64[V] each."""
    vertices = session.meta.vertices
    score, reached = np.zeros(vertices), np.zeros(vertices)
    seen, bit = np.zeros(vertices, np.uint64), np.zeros(vertices)
    front, fresh, last = np.zeros_like(seen), np.zeros_like(seen), np.zeros(1, np.uint64)
    arrays = (sources, score, reached, seen, front, fresh, last)
    # done: sources whose search has begun; stage: of that search, which has come to `number`
    kept = session.keep(
        score=score,
        reached=reached,
        seen=seen,
        front=bit.view(np.uint64),
        fresh=fresh,
        last=last,
        done=0,
        stage=OVER,
        number=0,
        supersteps=0,
    )
    with _Onward(session, (bit.view(np.uint64), fresh, seen, score, reached), amount, kept) as onward:
        onward.finish(bit)
        with Resident(session, *(arrays if by_rounds(session) else ())) as resident:
            if resident.on_gpu:
                _search_by_rounds(session, resident, arrays, amount, onward.rounds_before(), kept)
        onward.finish(bit)  # of too many rounds for a GPU
        while kept.done < len(sources):
            batch = sources[kept.done : kept.done + AT_ONCE]
            bit[:], seen[:] = 0.0, 0
            bit[batch] = 2.0 ** np.arange(len(batch))
            kept.done, kept.stage = kept.done + len(batch), PROGRAM
            onward.finish(bit)
    kept.end()
    return score, reached, int(kept.supersteps)


class _Onward:
    """Searches by a program, and from some superstep on by rounds of kernels.

    A program's superstep counts what is new of all vertices. On long paths few vertices have anything new, and one
    thread goes from each to the next. Under a cap the program goes to the end: its values may come by chunks.
    """

    def __init__(self, session: Session, arrays: tuple[np.ndarray, ...], amount: Any, kept: SweepState) -> None:
        """arrays: front (the memory of first bits, which a program reads before superstep 1), fresh (zero), seen,
        score, reached."""
        self.session, self.arrays, self.amount, self.kept = session, arrays, amount, kept
        self._amounts, self._last = np.zeros(0), np.zeros(1, np.uint64)
        self._limit = FIRST_ROUNDS if session.engine.options.host_memory is None else None
        beside = 2 * session.id_dtype.itemsize * session.meta.vertices
        self._alone = OneThread(session, ["out"], beside, rounds=FIRST_ROUNDS)

    def __enter__(self) -> _Onward:
        return self

    def __exit__(self, *error: object) -> None:
        self._alone.__exit__(*error)

    def finish(self, bit: np.ndarray) -> None:
        """Bring the search that has begun to its end, if there is one. bit: first bits, where a program searches."""
        kept = self.kept
        if kept.stage == OVER:
            return
        if kept.stage == PROGRAM and self._search(bit):
            kept.stage = OVER
        elif kept.stage == PROGRAM:
            kept.stage, kept.number = FRONT, FIRST_ROUNDS
        if kept.stage == FRESH:
            kept.stage, kept.number = FRONT, int(kept.last[0])
            self._count(kept.number)
        if kept.stage == FRONT:
            _, fresh, *_ = self.arrays
            self.session.reserve(fresh)
            self._go_on()
            self.session.release(fresh)
            kept.supersteps, kept.stage = kept.supersteps + kept.number, OVER
        kept.boundary(rounds=0)

    def _search(self, bit: np.ndarray) -> bool:
        """From the vertices whose first bits are set, by a program; whether that came to the end."""
        front, _, seen, score, reached = self.arrays
        vertices = len(seen)

        def watch(step: int, value: np.ndarray, active: np.ndarray) -> None:
            if step == self._limit:
                np.bitwise_and(value, ~seen, out=front)
            given = (value, seen, score, reached, self.amount(step), 1.0 if step else 0.0)
            self.session.each(levelcounts.count_new, *given, items=4 * vertices)

        outcome = self.session.run(Reach(bit=bit), max_supersteps=self._limit, watch=watch)
        self.kept.supersteps += outcome.supersteps if outcome.converged else 0
        return outcome.converged

    def rounds_before(self) -> int | None:
        """Rounds of a search that a GPU makes before the rest is left to `finish`; None: all."""
        return self._alone.rounds_before()

    def _count(self, number: int) -> None:
        """Count what is in `fresh`, reached by paths of `number` edges: it becomes `front`."""
        front, fresh, seen, score, reached = self.arrays
        given = (front, fresh, seen, score, reached, self.amount(number), 1.0, self._last)
        items = -(-len(seen) // levelcounts.RUN)
        self.session.look(load_kernel(levelcounts.count_fresh), items, number, *given, items=4 * len(seen))

    def _go_on(self) -> None:
        """Rounds from `front` on; its vertices were reached by paths of `number` edges."""
        front, fresh, seen, _, _ = self.arrays
        session, kept, (name, pull) = self.session, self.kept, self.session.gathers()
        while (due := bits_where(front != 0)).any():
            before, listed = kept.number, self._alone.take(due)
            if listed is not None:
                kept.number = self._by_one_thread(listed, kept.number)
            else:
                self._last[0] = kept.number
                arrays = (kept.number, pull, front, seen, fresh, self._last)
                session.sweep_among(name, levelcounts.pass_on, arrays, None if pull else due)
                kept.number += 1
                self._count(kept.number)
            kept.boundary(rounds=kept.number - before)

    def _by_one_thread(self, listed: np.ndarray, number: int) -> int:
        """Rounds as long as few vertices are due, and as far as amounts are known; the last one."""
        if len(self._amounts) < 2 * number:
            self._amounts = np.array([self.amount(step) for step in range(4 * number)])
        assert self._alone.lists is not None
        lists, due = self._alone.lists[0], np.empty((2, len(self.arrays[0])), self.session.id_dtype)
        due[0, : len(listed)] = listed
        ends = np.array([len(listed), number, 0])
        given = (lists.words, lists.places, due, *self.arrays, self._amounts, ends, self._alone.most)
        self.session.look(levelcounts.search_alone, *given, items=0, long=True)
        return int(ends[1])


def by_rounds(session: Session) -> bool:
    """Whether GPUs may search by rounds of kernels. A program takes ten times as long to begin and to look at, but its
    values need not all be in memory."""
    return session.on_gpus and session.engine.options.host_memory is None


def _search_by_rounds(
    session: Session, resident: Resident, arrays: tuple[np.ndarray, ...], amount: Any, most: int | None,
    kept: SweepState,
) -> None:  # fmt: skip
    """`search` by kernels over arrays that a GPU has. The last search may end after `most` rounds, with vertices in
    `fresh`."""
    sources, score, reached, seen, front, fresh, last = arrays
    (name, pull), items = session.gathers(), -(-len(seen) // levelcounts.RUN)
    while kept.done < len(sources):
        first, count = kept.done, min(AT_ONCE, len(sources) - kept.done)
        resident.each(levelcounts.begin_searches, items, sources, np.uint64(first), np.uint64(count), fresh, seen)
        resident.begin(last)
        kept.done, kept.stage = first + count, FRESH
        for number in resident.rounds(last, most, kept):
            given = (front, fresh, seen, score, reached, amount(number - 1), 1.0 if number > 1 else 0.0, last)
            resident.each(levelcounts.count_fresh, items, number, *given)
            resident.sweep(name, levelcounts.pass_on, (number, pull, front, seen, fresh, last))
        if int(last[0]) == most:
            resident.forget(front)
            return
        kept.supersteps, kept.stage = kept.supersteps + int(last[0]), OVER
    resident.forget(seen, front)


def program_of_reach(
    session: Session, k: int | None, seed: int, weighted: bool = False, **options: Any
) -> Reach | SSSP64:
    """The program of 64 searches, or of one by weights. Raises UsageError as the runs do, CapError as a search by
    weights or its certificate would."""
    check_drawn(session, k, seed)
    if weighted:
        session.foresee(beside=ARRAYS * 8 * session.meta.vertices)
        program = program_of_lengths(session)
        check_run_memory(session, program, proof=(program_of_lengths(session, back=True),))
        return program
    bit = session.zeros()
    session.foresee(beside=KEPT * bit.nbytes)
    return Reach(bit=bit)


def _others(session: Session, sources: np.ndarray) -> np.ndarray:
    """float64[V]: sources beside the vertex itself."""
    others = np.full(session.meta.vertices, float(len(sources)))
    others[sources] -= 1
    return others


def check_seed(seed: int) -> None:
    if seed < 0:
        raise UsageError(f"--seed {seed}: must be at least 0. It is where the draw begins.")
