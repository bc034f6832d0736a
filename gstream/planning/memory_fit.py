"""How attributes and pages fit into memory: what a device holds in each case of the thesis (3.1), in bytes.

    resident   WA and RA of all vertices stay on the device: case 1 (all pages fit too) and case 2 (pages are streamed)
    chunked    WA comes by chunks of vertices: case 3. A pull keeps its RA resident (pages come once, as a page's own
               vertices lie in one chunk); a push streams RA with its pages and sees all pages once a chunk.

When memory runs short, first the cache shrinks, then the batches, then the WA chunk (layouts are tried in that order).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gstream.devices.attributes import message_dtype, needed_degrees, piece_bytes, whole_degrees
from gstream.hostcode.generate import BLOCK
from gstream.paging.gpu_parts import PART_BYTES
from gstream.paging.own_ids import OwnIds
from gstream.paging.page_table import PageTable, page_table
from pagestore.errors import UsageError
from pagestore.layout import HEAD_NEIGHBOURS
from pagestore.sizes import show_bytes

DEFAULT_STREAMS = 32  # throughput rises up to 32, the concurrent-kernel limit (thesis 3.2)
BUFFERS_SHARE = 8  # their buffers may take one part in so many of a device's memory: more of it is worth more as cache
IN_FLIGHT_BYTES = 256 << 20  # of batches: with fewer streams, a link is kept busy by so many
FEW_STREAMS = 4  # batches get smaller before streams get fewer than these
MIRRORED = 4 * 3  # bitmaps and their counts, in 16ths of a byte a vertex (gstream.devices.gpu.mirrors)
CLAIM_BYTES = 4 << 10  # of launches, in all


@dataclass(frozen=True)
class Graph:
    """What a plan needs to know of a store: counts, widths in bytes, page tables ("in" is "out" when undirected).

    apart: devices whose memory another one can't read, so that what they merge is copied piece by piece. turned: an
    edge's ends have changed places, so that tables["out"] are the store's in-pages. by_degree: the first vertices have
    the most edges. of: ranks share the run, of a graph of so many vertices, and this one has the state of its own slice
    and mirrors alone; 0: of all. slice: vertices of its slice. own: which they are (None on paper). in_parts: the store
    is a rank's part. stays: each rank keeps the values of its slice alone at the end. in_order: rows of an
    answer are in the order of store IDs.
    """

    vertices: int
    edges: int
    degree_bytes: int
    tables: dict[str, PageTable]
    head_rows: dict[str, int]
    id_bytes: int
    apart: int = 0
    max_weight: float = 0.0
    turned: bool = False
    by_degree: bool = False
    of: int = 0
    slice: int = 0
    own: OwnIds | None = None
    in_parts: bool = False
    stays: bool = False
    in_order: bool = False

    @property
    def whole(self) -> int:
        """Vertices of the whole graph."""
        return self.of or self.vertices

    def reached(self, name: str) -> int:
        """The vertex behind the last one that the topology out or in has a list of; all, where the store has it not."""
        if name not in self.tables:
            return self.vertices
        return int(self.tables[name].last_vertex.max(initial=0)) + 1 if self.tables[name].pages else 0

    def turn(self) -> Graph:
        """The graph with its edges turned, over the same pages: for programs whose messages go backward."""
        other = {"out": "in", "in": "out"}
        return replace(self, tables={other[name]: self.tables[name] for name in self.tables}, turned=not self.turned)


def graph_of(store: Any, devices: int, ranks: int = 1) -> Graph:
    """The Graph of an open store, for a run on `devices` devices in each of `ranks` processes."""
    tables: dict[str, PageTable] = {}
    for name in ("out", "in"):
        if store.has(name):
            topology = store.topology(name)
            tables[name] = tables.get(topology.name) or page_table(topology, devices, ranks)
    return Graph(
        vertices=store.meta.vertices, edges=store.meta.edges,
        degree_bytes=store.out_degree(0, min(1, store.meta.vertices)).itemsize, tables=tables,
        head_rows={table.name: store.topology(table.name).head_rows for table in tables.values()},
        id_bytes=store.meta.id_bytes, max_weight=float(store.meta.max_weight or 0.0),
        by_degree=store.meta.order in ("degree", "out"),  # one order by two names
        in_parts=ranks > 1 and bool(store.meta.parts), in_order=store.meta.order == "natural",
    )  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """One way to hold attributes. directions: what a superstep may choose from. told: the out-pages are there, too, for
    active vertices to tell others over (gstream.engine.notify_pull)."""

    resident: bool
    directions: tuple[str, ...]
    heads: bool = False
    told: bool = False

    @property
    def name(self) -> str:
        ways = " or ".join(self.directions)
        return f"{ways}, {'all vertices resident' if self.resident else 'vertices by chunks'}"


def layouts(code: Any, graph: Graph, direction: str, use_heads: bool, tells: bool) -> list[Layout]:
    """Ways to run a program, best first, as far as the store's topologies allow. tells: devices can notify."""
    push = "out" in graph.tables and direction != "pull"
    pull = "in" in graph.tables and direction != "push"
    found: list[Layout] = []
    if code.idempotent and (push or pull):
        both = ("push",) * push + ("pull",) * pull
        name = graph.tables["in"].name if pull else ""
        if use_heads and pull and code.has_done and code.pull_heads is not None and graph.head_rows.get(name):
            found.append(Layout(True, both, heads=True))
        found.append(Layout(True, both))
        if push and pull:
            found.append(Layout(True, ("push",)))
    elif pull:
        tells = tells and not code.vector
        if tells and direction != "pull" and "out" in graph.tables and not code.sends_anew:
            found.append(Layout(True, ("pull",), told=True))
        found.append(Layout(True, ("pull",)))
    if pull and not code.in_place:
        found.append(Layout(False, ("pull",)))
    if push:
        found += [Layout(True, ("push",)), Layout(False, ("push",))]
    return found


def topologies(layout: Layout) -> list[str]:
    """The names of the topologies that a layout's directions read."""
    return ["out" if way == "push" else "in" for way in layout.directions]


def takes_message(code: Any, layout: Layout) -> bool:
    """Whether a pull reads ready-made messages of all vertices, so that `send` runs once a vertex, not once an edge."""
    return code.premessage and "pull" in layout.directions


def copies_source(code: Any, layout: Layout) -> bool:
    """Whether a pull by chunks reads a copy of all values, as those of the chunk change meanwhile."""
    return not layout.resident and not code.premessage and "pull" in layout.directions


def chunk_unit(code: Any) -> int:
    """Chunks and slices begin at multiples of this: whole words of bitmaps, whole blocks of totals."""
    return 64 if code.in_place else BLOCK


def work_list_bytes(table: PageTable) -> int:
    """What a device that copies holds of the directory: work lists, vertex ranges, lists wanted, two maps of rows."""
    parts, carried = table.gpu_parts
    return parts * (PART_BYTES + 4) + carried * (8 + 8 + 8) + table.pages * (8 + 8 + 4 + 16 + 8 + 4 + 16) + CLAIM_BYTES


def fixed_bytes(code: Any, layout: Layout, graph: Graph, copies: bool) -> dict[str, int]:
    """Bytes on a device that do not depend on the chunk; `copies`: a device with memory of its own."""
    words = 8 * -(-graph.vertices // 64)
    held = {"bitmaps": words * (2 + code.has_done + layout.heads + holds_back(code, layout, graph))}
    held["totals"] = 8 * len(code.totals) * -(-graph.vertices // BLOCK)
    if takes_message(code, layout):
        held["RA (messages)"] = graph.vertices * message_dtype(code).itemsize
    if copies_source(code, layout):
        held["RA (values)"] = graph.vertices * code.value_dtype.itemsize
        if copies and whole_degrees(code, True):
            held["RA (degrees)"] = graph.vertices * graph.degree_bytes
    if copies and layout.resident and code.premessage and not takes_message(code, layout):
        held["RA (messages)"] = graph.vertices * message_dtype(code).itemsize  # kernels push messages, too
    if copies:
        ways = topologies(layout) + ["out"] * layout.told
        used = {table.name: table for table in (graph.tables[way] for way in ways)}
        held["work lists"] = sum(work_list_bytes(table) for table in used.values())
    if graph.of:
        held["bitmaps of mirrors"] = mirror_bytes(graph.of, graph.vertices)
    if graph.in_parts and copies and layout.resident and not code.idempotent:
        held["bits of mirrors"] = MIRRORED * graph.vertices // 16
    if graph.apart:
        held["pieces of peers"] = graph.apart * piece_bytes(graph.vertices)
    if layout.heads and copies:
        held["heads of a device"] = graph.head_rows[graph.tables["in"].name] * HEAD_NEIGHBOURS * graph.id_bytes
    return {name: size for name, size in held.items() if size}


def mirror_bytes(vertices: int, count: int) -> int:
    """Of a rank that has the state of `count` of so many vertices: which they are and their numbers, what other ranks
    read of its slice and write, what it reads and writes itself (gstream.devices.host.mirrors)."""
    words, own = 8 * -(-vertices // 64), 8 * -(-count // 64)
    return words + words // 2 + 2 * words + 2 * own


def holds_back(code: Any, layout: Layout, graph: Graph) -> bool:
    """Whether vertices may be held back (gstream.engine.delta_stepping): where a least sum of weights is found in
    place.

    An idempotent combine in place comes to the same values whatever the order; with apply it need not.
    """
    least = type(code.program).combine.name == "MIN" and code.in_place and not code.has_done and code.uses_edge
    return least and graph.max_weight > 0 and layout.resident and "push" in layout.directions


def vertex_bytes(code: Any, layout: Layout, graph: Graph, copies: bool) -> int:
    """Bytes of WA, and of what its vertex kernels read, for one vertex of the chunk."""
    held = code.value_dtype.itemsize + (0 if code.in_place else code.got_dtype.itemsize)
    if copies:
        needed = needed_degrees(code, layout.resident)
        if not layout.resident:
            needed -= whole_degrees(code, copies_source(code, layout))
        held += graph.degree_bytes * len(needed) + 8 * code.own.shape[1]
    return held


def source_bytes(code: Any, graph: Graph) -> int:
    """Bytes of a streamed RA for one vertex: its value, its degree where `send` reads it, its message where premade."""
    message = message_dtype(code).itemsize if code.premessage else 0
    return int(code.value_dtype.itemsize + (graph.degree_bytes if code.uses_degree else 0) + message)


@dataclass(frozen=True)
class DeviceFit:
    """Sizes chosen for one device: chunk in vertices, ring as streams x batch_pages, bytes by name.

    spare: bytes that are left of what it may hold.
    """

    layout: Layout
    chunk: int
    streams: int
    batch_pages: int
    held: dict[str, int]
    spare: int


@dataclass(frozen=True)
class Ring:
    """The largest ring of batch buffers worth having.

    streams: None: what keeps a link busy; 0 for devices that read pages where they lie.
    """

    streams: int | None
    batch_pages: int
    page_bytes: int  # with weights
    reach: int  # vertices of RA that a batch may span
    staged: int = 0  # bytes of a coded page at most, which lies beside the page that it becomes

    @property
    def copies(self) -> bool:
        """Whether it is of a device with memory of its own."""
        return self.streams != 0


class TooLittleError(Exception):
    """No layout fits all devices; `needed` is what each takes at least."""

    def __init__(self, needed: dict[Layout, int]) -> None:
        super().__init__(needed)
        self.needed = needed


def fit_devices(
    code: Any, graph: Graph, candidates: list[Layout], rings: list[Ring], capacity: Callable[[Layout, int], int],
    most: int | None,
) -> list[DeviceFit]:  # fmt: skip
    """The first layout that fits all devices, with the largest batches and chunk that do; the chunk is the same on all.

    rings: one a device; capacity(layout, number): bytes that device `number` may hold. most: limit of
    vertices a chunk. Raises TooLittleError, and UsageError where no layout has chunks.
    """
    needed: dict[Layout, int] = {}
    for layout in candidates:
        if layout.resident and most is not None and most < graph.vertices:
            continue  # chunks were asked for: only the layouts that have them
        found: dict[tuple[Ring, int], DeviceFit | int] = {}
        places = [(ring, capacity(layout, number)) for number, ring in enumerate(rings)]
        for ring, room in places:
            if (ring, room) not in found:
                found[ring, room] = _fit(code, graph, layout, ring, room, most)
        fits = [fit for fit in map(found.__getitem__, places) if isinstance(fit, DeviceFit)]
        if len(fits) == len(places):
            chunks = {fit.chunk for fit in fits}
            return fits if len(chunks) == 1 else fit_devices(code, graph, [layout], rings, capacity, min(chunks))
        needed[layout] = max(need for need in found.values() if isinstance(need, int))
    if not needed:
        raise UsageError(
            f"chunk_vertices {most}: a pull of {type(code.program).__name__} reads the values of all vertices, which "
            "stay in memory whole. Leave chunk_vertices out, or let it push (--topology both or out)."
        )
    raise TooLittleError(needed)


def _fit(code: Any, graph: Graph, layout: Layout, ring: Ring, room: int, most: int | None) -> DeviceFit | int:
    """The largest batches, then the largest chunk, that fit `room` bytes of a device; or the fewest bytes that do."""
    fixed = fixed_bytes(code, layout, graph, ring.copies)
    a_vertex, unit = vertex_bytes(code, layout, graph, ring.copies), chunk_unit(code)
    smallest = graph.vertices if layout.resident else min(BLOCK, graph.vertices)  # `start` works by blocks
    a_stream = _ring_bytes(code, graph, layout, ring, 1, ring.batch_pages)
    for streams, batch_pages in _rings(ring, a_stream, room):
        buffers = _ring_bytes(code, graph, layout, ring, streams, batch_pages)
        left = room - sum(fixed.values()) - buffers
        chunk = graph.vertices if left >= graph.vertices * a_vertex else left // a_vertex // unit * unit
        if chunk < smallest:
            continue
        if most is not None:
            chunk = min(chunk, max(unit, most // unit * unit))
        attributes = max(chunk, smallest) * a_vertex
        held = fixed | {"WA": attributes} | ({"batch buffers": buffers} if ring.copies else {})
        return DeviceFit(layout, chunk, streams, batch_pages, held, left - attributes)
    return room - left + smallest * a_vertex


def _rings(ring: Ring, a_stream: int, room: int) -> list[tuple[int, int]]:
    """(streams, batch_pages) to try, largest first. a_stream: bytes of the buffers of one stream."""
    if ring.streams == 0:
        return [(0, 0)]
    pages = ring.batch_pages
    streams = ring.streams or default_streams(a_stream, ring.page_bytes * pages, room)
    tried = [(streams, pages)]
    fewer = streams if ring.streams else min(streams, FEW_STREAMS)
    while pages > 1:
        pages //= 2
        tried.append((fewer, pages))
    while fewer > 1:
        fewer //= 2
        tried.append((fewer, 1))
    return tried


def default_streams(a_stream: int, batch_bytes: int, room: int) -> int:
    """32 where the memory of a device holds their buffers, else what keeps its link busy. a_stream: bytes of one's."""
    if DEFAULT_STREAMS * a_stream <= room // BUFFERS_SHARE:
        return DEFAULT_STREAMS
    return busy_streams(batch_bytes)


def why_fewer(streams: int, asked: int | None, batch_bytes: int) -> str:
    """Why a plan has fewer streams than 32; "" where it has 32, or where so many were asked for."""
    if asked is not None or streams >= DEFAULT_STREAMS:
        return ""
    if streams == busy_streams(batch_bytes):
        buffers = show_bytes(DEFAULT_STREAMS * batch_bytes)
        return f"buffers of {DEFAULT_STREAMS} would take {buffers}, over 1/{BUFFERS_SHARE} of the device's memory"
    return "memory holds no more buffers"


def busy_streams(batch_bytes: int) -> int:
    """Streams that keep a link busy with batches of that size."""
    return min(DEFAULT_STREAMS, max(2, IN_FLIGHT_BYTES // max(1, batch_bytes)))


def _ring_bytes(code: Any, graph: Graph, layout: Layout, ring: Ring, streams: int, batch_pages: int) -> int:
    attributes = 0 if layout.resident or "push" not in layout.directions else ring.reach * source_bytes(code, graph)
    return streams * (batch_pages * (ring.page_bytes + ring.staged) + attributes)
