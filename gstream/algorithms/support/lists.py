"""Lists of single vertices in host memory: one thread walks from list to list, in a time linear in the edges.

A sweep costs 50 to 300 us however little there is to do, and a chain of n vertices needs n of them. The thread does
depth-first search, or peels by a queue, instead. It needs host memory for all pages of a topology, and 8 bytes a vertex
that say where each list is. Lists of a direction that the store lacks are those of the other one, turned round: they
need memory for as many edges once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.hostcode.adjacency import find_places
from gstream.hostcode.bitmaps import count_bits, list_bits, set_bits
from gstream.hostcode.transposed import transpose, transposed_bytes

FIRST_ROUNDS = 16  # by sweeps: most graphs have no more, and `places` takes as long as some of them
MOST_DUE = 1 << 14  # vertices that the thread takes at a time: some 20 ns each, less than two sweeps
ITEM_NS = 20  # of the thread, for a vertex or an edge
ROUND_NS = 30_000  # of a GPU, for a round without its pages
PAGES_NS = 1 / 1000  # of a GPU, for a byte of pages: each round looks at all of them


@dataclass(frozen=True)
class Lists:
    """Lists of one direction for kernels (gstream.hostcode.adjacency): words id[pages, W], weights or None, places
    uint64[V]."""

    words: np.ndarray
    weights: np.ndarray | None
    places: np.ndarray


@dataclass(frozen=True)
class PassOver:
    """A page kernel (gstream.devices.page_kernel) that does nothing: pages are read, and counted."""

    needs_weights: bool

    def make_state(self) -> None:
        return None

    def run(self, *given: Any) -> int:
        return 0

    def merge(self, states: list[Any]) -> None:
        return None


def _stored(session: Session, name: str) -> str:
    """The topology that lists of `name` are read from, or made from."""
    tables = session.engine.graph.tables
    return name if name in tables else {"out": "in", "in": "out"}[name]


def has_room(session: Session, name: str, beside: int, weights: bool) -> bool:
    """Whether host memory has room for the lists of direction `name` and `beside` bytes more; not where a rank has some
    of the lists alone."""
    if session.ranks is not None:
        return False
    engine = session.engine
    table = engine.graph.tables[_stored(session, name)]
    needed = table.bytes_of(table.pages, weights) + lists_bytes(session, name, beside, weights)
    return needed <= engine.host_memory - engine.beside_bytes - engine.arrays.nbytes


def lists_bytes(session: Session, name: str, beside: int = 0, weights: bool = False) -> int:
    """What lists of direction `name` take beside pages, with `beside` bytes more."""
    table, vertices = session.engine.graph.tables[_stored(session, name)], session.meta.vertices
    if _stored(session, name) != name:
        weight_bytes = table.weight_dtype.itemsize if weights and table.weight_dtype is not None else 0
        beside += transposed_bytes(vertices, session.meta.edges, session.id_dtype.itemsize, weight_bytes)
    return 8 * vertices + beside


@contextmanager
def lists_of(session: Session, name: str, beside: int, weights: bool = False) -> Iterator[Lists | None]:
    """The lists of direction `name`; None where host memory has no room for them and `beside` bytes more."""
    if not has_room(session, name, beside, weights):
        yield None
        return
    lists = _read(session, name, weights)
    held = [] if lists is None else [lists.places]
    if lists is not None and _stored(session, name) != name:
        held += [lists.words, *([] if lists.weights is None else [lists.weights])]
    session.reserve(*held)
    try:
        yield lists
    finally:
        session.release(*held)


def _read(session: Session, name: str, weights: bool) -> Lists | None:
    """The lists, once all pages have been read; None where these come and go, by what was planned before."""
    engine, stored = session.engine, _stored(session, name)
    table = engine.graph.tables[stored]
    engine.sweep(stored, PassOver(weights))
    if not engine.holds(stored):
        return None
    there = engine.sources.in_memory(table, weights)
    words, given = there.words, there.weights
    if stored != name:
        none = np.empty((0, 0), np.uint8)
        first, vertices = table.first_vertex, session.meta.vertices
        made = transpose(words, none if given is None else given, table.small_pages, first, vertices)
        if made is None:
            return None
        words, given = made.words, None if given is None else made.weights
    places = np.full(session.meta.vertices, ~np.uint64(0))
    session.each(find_places, words, places, items=8 * len(words))
    return Lists(words, given, places)


class OneThread:
    """The host thread that goes on alone with rounds that have little to do; a context manager.

    with OneThread(session, ["out"], beside) as alone:
        ...                                         a round, after which the vertices of the bitmap `due` are due
        if (vertices := alone.take(due)) is not None:
            alone.go_on(kernel, vertices, alone.of_first, arrays, due)
    """

    def __init__(
        self, session: Session, names: Sequence[str], beside: int, weights: bool = False, rounds: int = 0
    ) -> None:
        """beside: bytes that the kernel's own arrays take. rounds: those that were made before."""
        self._session, self._names, self._beside, self._weights = session, names, beside, weights
        self._rounds, self._undo, self.most = rounds, ExitStack(), MOST_DUE
        self.lists: list[Lists] | None = None  # by topology, once they were asked for; of none where there is no room

    def __enter__(self) -> OneThread:
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()

    def rounds_before(self) -> int | None:
        """Rounds that a GPU makes before the thread does the rest; None: all, as lists have no room.

        They take the GPU about as long as the thread takes for all lists, so the time stays linear in the edges. For
        the thread they count as made.
        """
        session, room = self._session, not (len(self._names) > 1 and self._capped())
        if not room or not all(has_room(session, name, self._beside, self._weights) for name in self._names):
            return None
        tables = [session.engine.graph.tables[_stored(session, name)] for name in self._names]
        items = len(tables) * (session.meta.vertices + session.meta.edges)
        pages = sum(table.bytes_of(table.pages, self._weights) for table in tables)
        self._rounds = FIRST_ROUNDS
        return FIRST_ROUNDS + int(ITEM_NS * items / (ROUND_NS + PAGES_NS * pages))

    def take(self, due: np.ndarray) -> np.ndarray | None:
        """The vertices of a bitmap, uint64[k], ascending; None where it has none or too many, or lists have no room."""
        return list_bits(due, 0, self._session.meta.vertices) if self.is_for(count_bits(due)) else None

    def is_for(self, due: int) -> bool:
        """Whether the thread may make the next round, of so many vertices; then it has its lists."""
        self._rounds += 1
        if self._rounds < FIRST_ROUNDS or self.lists == [] or not 0 < due <= self.most:
            return False
        if self.lists is None:
            self.lists = self._open()
        return bool(self.lists)

    def first_on_gpu(
        self, rounds: Callable[[Resident, int | None], int], arrays: tuple[np.ndarray, ...], last: np.ndarray
    ) -> int:
        """rounds(resident, most) makes rounds after those that `last` knows, until there is nothing to do or up to
        `most`, and returns the last one. Called with the arrays on a GPU, if one may keep them, then on the host if the
        GPU left the rest. All rounds."""
        with Resident(self._session, *arrays) as resident:
            before = self.rounds_before() if resident.on_gpu else None
            most = None if before is None else int(last.max()) + before
            made = rounds(resident, most)
        if made == most:
            with Resident(self._session) as resident:
                made = rounds(resident, None)
        return made

    @property
    def of_first(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(words, weights or an array of no rows, places) of the first topology."""
        assert self.lists
        first = self.lists[0]
        return first.words, np.empty((0, 0), np.uint8) if first.weights is None else first.weights, first.places

    @property
    def of_both(self) -> tuple[Any, ...]:
        """(words, places of the first topology, of the last one, how many there are)."""
        assert self.lists
        first, last = self.lists[0], self.lists[-1]
        return first.words, first.places, last.words, last.places, len(self.lists)

    def go_on(
        self, kernel: Any, due: np.ndarray, lists: tuple[Any, ...], arrays: tuple[Any, ...],
        following: np.ndarray | None = None, round: int = 0,
    ) -> int:  # fmt: skip
        """kernel(*lists, *arrays, queue, ends, most, counter): rounds from the vertices `due` on, until none is due, or
        more than `most` are. `following` then has their bits alone. A kernel may count rounds, from `round` on; returns
        the last one.

        queue: id[V]; ends: int64[3], where the vertices that are due begin in it, where they end, and the round.
        """
        session = self._session
        queue, ends = np.empty(session.meta.vertices, session.id_dtype), np.array([0, len(due), round])
        queue[: len(due)] = due
        session.look(kernel, *lists, *arrays, queue, ends, self.most, items=0, long=True)
        if following is not None:
            following[:] = 0
            set_bits(following, queue[ends[0] : ends[1]].astype(np.uint64))
        return int(ends[2])

    def _open(self) -> list[Lists]:
        """The lists of all topologies, or of none: under a cap one topology's pages may go for the other's."""
        if len(self._names) > 1 and self._capped():
            return []
        found = []
        for name in self._names:
            lists = self._undo.enter_context(lists_of(self._session, name, self._beside, self._weights))
            if lists is None:
                self._undo.close()
                return []
            found.append(lists)
        return found

    def _capped(self) -> bool:
        return self._session.engine.options.host_memory is not None
