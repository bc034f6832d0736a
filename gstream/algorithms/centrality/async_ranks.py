"""PageRank without supersteps (Garaph 2.2, asynchronous): a new rank is visible to all at once, and a batch of pages is
gone over several times while it is in memory.

Two things make it fewer sweeps than supersteps: ranks travel along many edges in a sweep, most of which stay within a
batch where neighbours are close in the order of pages; and after each sweep all ranks are scaled so that their sum is 1
again, as an asynchronous sweep, unlike a superstep, loses or makes rank, which would take many sweeps to come right.

l1_change is the sum of all that ranks moved in the last sweep, there and back. When v was computed, an in-neighbour u
had a rank that differs from its last one by what u moved at most, and u's shares add up to its rank: so one more
iteration changes the ranks by alpha * l1_change at most in L1, as in a run by supersteps, and the certificate is the
same (gstream.algorithms.centrality.residual_proofs). What vertices without out-edges give to all is that of the sweep
before.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.hostcode.casts import f64, u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.search import lower_bound
from gstream.telemetry.compiling import Stopwatch
from gstream.telemetry.stats import StepStats
from pagestore.errors import UsageError

ROUNDS = 3  # over a batch: of cnr-2000 in 32 batches, 1 to 4 rounds take 52, 25, 19 and 18 sweeps (61 supersteps)
ROUNDINGS = 4  # that the sum of ranks may be off by
AT_ONCE = 1 << 16  # vertices whose arrays stay in a core's cache


@kernel
def relax_ranks(words, parts, counter, rounds, alpha, base, preference, rank, share, degree, hubs, hub_sums, moved):
    """New ranks of the vertices of a batch's small pages, seen at once, so many rounds; sums of its large pages.

    base: float64[1], what a vertex of preference 1 gets beside its in-edges; preference: float64[V], or of none: 1 for
    all. rank, share: float[V], share: rank / degree. hubs: uint64[h], vertices of large pages; hub_sums: float64[h].
    moved: float64[1], += what ranks moved. Returns the edges looked at.
    """
    count, edges, total_moved = u64(len(parts)), u64(0), 0.0
    while True:
        number = claim(counter)
        if number >= u64(rounds) * count:
            atomic_add(moved, 0, total_moved)
            return edges
        row, begin, end, large, stride = part_of(words, parts, number % count)
        if large:
            if number < count:
                total = 0.0
                for word in range(begin, end):
                    total += f64(share[u64(words[row, word])])
                hub = lower_bound(hubs, u64(0), u64(len(hubs)), vertex_of(words, row, u64(0)))
                atomic_add(hub_sums, hub, total)
                edges += end - begin
            continue
        for slot in range(begin, end):
            v = vertex_of(words, row, slot)
            first, length = list_of(words, row, slot, begin, end, large, stride)
            total = 0.0
            for k in range(length):
                total += f64(share[u64(words[row, first + k * stride])])
            before = rank[v]
            rank[v] = base[0] * (preference[v] if len(preference) > 0 else 1.0) + alpha * total
            total_moved += abs(f64(rank[v]) - f64(before))
            if degree[v] != 0:
                share[v] = rank[v] / degree[v]
            edges += length


def relax(
    session: Session, alpha: float, tol: float, max_iter: int, iterations: int | None, preference: np.ndarray | None,
    dtype: type,
) -> tuple[np.ndarray, int, bool, float]:  # fmt: skip
    """(rank[V], sweeps, whether l1_change is below tol, l1_change). Arguments are those of run_pagerank; preference:
    float64[V], sum 1, or None. Raises UsageError for a store without in-pages, ResourceError."""
    if not session.store.has("in"):
        raise UsageError(
            f"{session.store.path}: has no in-pages, which --execution async gathers over. Leave the option out, or "
            "convert with --topology both."
        )
    ranks = _Ranks(session, alpha, preference, dtype)
    limit, change, watch = max_iter if iterations is None else iterations, 0.0, Stopwatch()
    kept = session.keep(rank=ranks.rank, sweeps=0, change=0.0, done=False)
    ranks.scale()
    while not kept.done and kept.sweeps < limit and session.meta.vertices:
        change, edges = ranks.sweep()
        kept.sweeps, kept.change = kept.sweeps + 1, change
        kept.done = iterations is None and change < tol
        session.stats.per_superstep.append(StepStats(
            "async", session.meta.vertices, edges_visited=edges, seconds=watch.worked(),
            compile_seconds=watch.compiled(),
        ))  # fmt: skip
        watch = Stopwatch()
        kept.boundary()
    kept.end()
    return ranks.rank, kept.sweeps, kept.done or session.meta.vertices == 0, kept.change


class _Ranks:
    """The arrays of one call, and a sweep over them."""

    def __init__(self, session: Session, alpha: float, preference: np.ndarray | None, dtype: type) -> None:
        vertices, table = session.meta.vertices, session.engine.graph.tables["in"]
        self._session, self._alpha, self._preference = session, alpha, preference
        self._degree, self._in_degree = session.degree("out"), session.degree("in")
        self._mean = 1 / max(1, vertices)
        self.rank = np.full(vertices, self._mean, dtype) if preference is None else preference.astype(dtype)
        self._share = np.zeros(vertices, dtype)
        self._hubs = np.unique(table.first_vertex[table.small_pages :]).astype(np.uint64)
        self._hub_sums, self._base, self._moved = np.zeros(len(self._hubs)), np.zeros(1), np.zeros(1)
        session.reserve(self.rank, self._share, self._hubs, self._hub_sums)

    def sweep(self) -> tuple[float, int]:
        """(l1_change, edges looked at) of one sweep."""
        session, none = self._session, np.zeros(0)
        preference = none if self._preference is None else self._preference
        self._moved[0], self._hub_sums[:] = 0.0, 0.0
        before = session.engine.devices[0].stats.edges
        session.sweep(
            "in", relax_ranks,
            (ROUNDS, self._alpha, self._base, preference, self.rank, self._share, self._degree, self._hubs,
             self._hub_sums, self._moved),
        )  # fmt: skip
        edges = session.engine.devices[0].stats.edges - before
        moved = float(self._moved[0]) + self._settle_others()
        return moved + self.scale() * max(1.0, (1 - self._alpha) / max(self._alpha, 1e-300)), edges

    def _base_of(self, vertices: slice | np.ndarray) -> float | np.ndarray:
        return float(self._base[0]) if self._preference is None else self._base[0] * self._preference[vertices]

    def _settle_others(self) -> float:
        """Ranks of hubs, and of vertices without in-edges; what they moved."""
        hubs, moved = self._hubs.astype(np.int64), 0.0
        fresh = (self._base_of(hubs) + self._alpha * self._hub_sums).astype(self.rank.dtype)
        moved += float(np.abs(fresh.astype(np.float64) - self.rank[hubs]).sum())
        self.rank[hubs] = fresh
        for first in range(0, len(self.rank), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            alone, rank = self._in_degree[part] == 0, self.rank[part]
            fresh = np.where(alone, self._base_of(part), rank).astype(rank.dtype)
            moved += float(np.abs(fresh.astype(np.float64) - rank).sum())
            rank[:] = fresh
        return moved

    def scale(self) -> float:
        """Have ranks add up to 1, and shares and `base` follow them; how far the sum was from 1."""
        parts = [slice(first, first + AT_ONCE) for first in range(0, len(self.rank), AT_ONCE)]
        total, adrift = sum(float(self.rank[part].sum(dtype=np.float64)) for part in parts), 0.0
        right = abs(total - 1) <= ROUNDINGS * float(np.finfo(self.rank.dtype).eps)
        factor = 1 / total if total > 0 and not right else 1.0
        for part in parts:
            degree, rank = self._degree[part], self.rank[part]
            rank *= factor
            adrift += float(rank[degree == 0].sum(dtype=np.float64))
            np.divide(rank, degree, out=self._share[part], where=degree != 0)
        spread = 1.0 if self._preference is not None else self._mean
        self._base[0] = (1 - self._alpha + self._alpha * adrift) * spread
        return abs(1 - factor)
