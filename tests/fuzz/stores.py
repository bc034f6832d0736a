"""Fuzz targets about stores and what goes beside them: whole files, their parts in memory, checkpoints, lists, sizes.

Parts that a checksum protects are fuzzed behind it: the target makes the checksum right, as a crafted file would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from gstream.algorithms.support import vertex_files as vertexfiles
from gstream.engine.checkpoint import Keeper
from gstream.engine.checkpoint_checks import VERSION, check_unfinished
from gstream.engine.checkpoint_slots import SlotFolder
from gstream.engine.program_state import hash_of
from gstream.engine.slot_files import HEAD, MAGIC
from gstream.engine.sweep_state import SweepState
from gstream.options.run_options import parse_devices
from gstream.options.stopping import Every, parse_every
from gstream.programs.pagerank import PageRank
from gstream.version import __version__
from pagestore import hdf5, open_store
from pagestore.check import scan_neighbours, walk_records
from pagestore.crc import crc32
from pagestore.decode import WIDTHS, RuleError, best_group_size, decode_page
from pagestore.layout import DIRECTORY, GROUP_SIZES, HEADER, PageLayout
from pagestore.meta import Meta, decode_meta, encode_meta
from pagestore.sizes import MOST_BYTES, parse_size
from pagestore.store import Store
from pagestore.topology import check_directory
from pagestore.verify import check_tables
from pagestore.verify_pages import check_run
from tests.fuzz.repair import NAMES, bases, patched, repaired, sealed
from tests.fuzz.targets import Drawn, Target, TextStream, Wrong, refusal, work_folder, written
from tests.torture.contents import everything_of

META = Meta(vertices=9, edges=12, directed=True, page_bytes=4096, id_bytes=4, topologies=("out", "in"), uuid="0" * 32)
WORDS = 64  # of a page: small ones have all the rules of large ones
INTEGER = re.compile(r"[0-9]{1,18}")


@cache
def base_folder() -> Path:
    """Where the stores that are kept lie unpacked."""
    folder = work_folder() / "bases"
    folder.mkdir(exist_ok=True)
    return folder


@cache
def intact(which: int) -> str:
    """What a reader gets of a store that nobody changed."""
    return everything_of(stores()[which])


def read_contents(data: bytes) -> str:
    """A target: a store whose datasets have patches, HDF5's own bytes none."""
    return read_store(data, True)


def read_store(data: bytes, inside: bool = False) -> str:
    """A target: a whole store with patches, whose checksums are made good or not.

    HDF5 takes most of the time, so it is asked only where bytes that it reads have changed.
    """
    drawn = Drawn(data)
    bits = drawn.byte()
    base = bases(base_folder())[bits % len(NAMES)]
    changed = patched(base, drawn, inside)
    if bits & 128:
        changed = repaired(base, changed)
    path, real = written("a.gs", changed), hdf5.open_located
    expected = intact(bits % len(NAMES))  # through HDF5, once
    if base.same_hdf5(changed):
        hdf5.open_located = lambda path: (FileIO(path), base.extents)
    try:
        with refusal() as refused, open_store(path) as store:
            if everything_of(store) == expected:
                return "harmless"
            if not bits & 128:
                raise Wrong("a store with other bytes is read as a whole one")
            scrub(store)
        return refused.word
    finally:
        hdf5.open_located = real


def scrub(store: Store) -> None:
    """What `gstream verify` and look-ups do, without threads."""
    problems = list(check_tables(store, lambda nbytes: None))
    for name in store.meta.topologies:
        topology = store.topology(name)
        found = check_run(store, topology, 0, topology.pages or 1)
        topology.name_pages([number for number, _ in found.problems], search=True)
        problems += [text for _, text in found.problems]
    if any("please report" in text for text in problems):
        raise Wrong(f"the quick check and the reference decoder disagree: {problems}")
    ids = store.user_ids(0, min(store.meta.vertices, 50))
    store.lookup(["vertex-3"] if store.meta.id_kind == "strings" else [int(ids[0]) if len(ids) else 0])


def store_seeds(inside: bool = False) -> list[bytes]:
    """Patches of every kind, at places that matter, of stores whose checksums are left wrong or made good."""
    found = []
    for which in range(len(NAMES)):
        for flag in (0, 128):
            head = bytes([next(n for n in range(flag, 256) if n % len(NAMES) == which)])
            for kind in range(4 if inside else 6):
                for place in (0, 8, 40, 300, 1500):
                    at = place.to_bytes(2 if kind + inside < 3 else 4, "little")
                    found.append(head + bytes([kind]) + at + b"\x01\xff")
                    found.append(head + bytes([kind]) + at + b"\x04\x09\0\0\0")
    return found


def read_meta(data: bytes) -> str:
    """A target: a description in /meta whose checksum is right."""
    with refusal() as refused:
        meta, checksums = decode_meta(sealed(data), "a.gs")
        again = decode_meta(encode_meta(meta, checksums), "a.gs")
        if again != (meta, checksums) and meta.provenance == again[0].provenance:
            raise Wrong(f"{meta} becomes {again}")
        PageLayout(meta.page_bytes, meta.id_bytes)
    return refused.word


def meta_seeds() -> list[bytes]:
    columns = Meta(**{**vars(META), "columns": 32, "padding_words": {"out": 1, "in": 2}, "weighted": True,
                      "weight_dtype": "f4"})  # fmt: skip
    return [encode_meta(meta, {"vertices/out_degree": 3}).rstrip() for meta in (META, columns)]


def read_directory(data: bytes) -> str:
    """A target: a page directory whose checksum is right, of a graph of few vertices, against sums in Python."""
    drawn = Drawn(data)
    bits = drawn.byte()
    vertices, edges = drawn.number(8) % (1 << 62), drawn.number(8) % (1 << 62)
    meta = Meta(**{**vars(META), "vertices": vertices, "edges": edges, "id_bytes": 8 if bits & 1 else 4,
                   "columns": 32 if bits & 2 else 1})  # fmt: skip
    rows = drawn.rest()
    rows = rows[: len(rows) // DIRECTORY.itemsize * DIRECTORY.itemsize]
    directory = np.frombuffer(rows, DIRECTORY)
    with refusal() as refused:
        layout = PageLayout(4096, meta.id_bytes)
        check_directory(directory, layout, meta, "a.gs")
        before = 0
        for row in directory.tolist():
            kind, _, _, _, records, first, last, count, sums, position, _, _ = row
            words = layout.header_words + 3 * records + count
            if not (0 <= first <= last < vertices and words <= layout.words and sums == before and kind < 2
                    and 1 <= records <= last - first + 1 and position <= edges):  # fmt: skip
                raise Wrong(f"{row} is taken")
            before += count
        if before != edges:
            raise Wrong(f"{before} edges are taken for {edges}")
    return refused.word


def directory_seeds() -> list[bytes]:
    longest = PageLayout(4096, 4).longest_list
    small, large = (0, 0, 2, 0, 3, 0, 4, 9, 0, 0, 1, 2), (1, 0, 32, 0, 1, 6, 6, longest, 9, 0, 1, 2)
    last = (1, 0, 1, 0, 1, 6, 6, 5, 9 + longest, longest, 1, 2)
    found = []
    for rows in ([small], [small, large, last], [large[:8] + (0,) + large[9:], last[:8] + (longest,) + last[9:]]):
        edges = sum(row[7] for row in rows)
        found.append(b"\0" + (9).to_bytes(8, "little") + edges.to_bytes(8, "little")
                     + np.array(rows, DIRECTORY).tobytes())  # fmt: skip
    return found


def read_page(data: bytes) -> str:
    """A target: a page of 64 words, weights beside it, by the quick check and by the reference decoder."""
    drawn = Drawn(data)
    bits, vertices = drawn.byte(), drawn.byte()
    id_bytes, page = (8 if bits & 1 else 4), np.empty(0, np.uint8)
    page = np.frombuffer(drawn.take(WORDS * id_bytes), np.uint8)
    weights = np.frombuffer(drawn.take(WORDS), np.uint8) if bits & 2 else None
    header = page[: HEADER.itemsize].view(HEADER)[0]
    words = page.view(f"<u{id_bytes}")
    row = np.zeros(1, DIRECTORY)[0]
    for name in HEADER.names or ():
        row[name] = header[name]
    row["last_vertex"], records = words[-2 * min(int(row["records"]), WORDS // 2) or -2], int(row["records"])
    fits = 1 <= records <= int(row["edges"]) and 32 // id_bytes + 3 * records + int(row["edges"]) <= WORDS
    if not fits or row["kind"] > 1 or (row["layout"] and (row["layout"] not in WIDTHS or row["kind"])):
        return "refused by the directory"
    row["group"] = GROUP_SIZES[bits >> 5] if bits >> 5 < len(GROUP_SIZES) else 1
    quick = quick_check(words, weights, row, vertices, id_bytes)
    try:
        decoded = decode_page(page, id_bytes, vertices, row, weights, np.dtype("u1"))
    except RuleError as error:
        broken = str(error)
        if quick and broken[:2] not in ("R1", "R7"):
            raise Wrong(f"the quick check takes what breaks {broken}") from error
        return "refused"
    if not quick:
        raise Wrong(f"the quick check refuses {decoded}")
    return "read"


def quick_check(words: np.ndarray, weights: np.ndarray | None, row: Any, vertices: int, id_bytes: int) -> bool:
    """What `verify_pages` asks of a page before it asks the reference decoder."""
    vertex, size = np.zeros((2, int(row["records"])), np.uint64)
    heads, sums = np.empty((len(vertex), 4), words.dtype), np.zeros(4, np.uint64)
    geometry = (np.uint64(32 // id_bytes), np.uint64(vertices), np.uint64(row["layout"] or 1))
    carrier = np.empty(0, np.uint8) if weights is None else weights
    if walk_records(words, *geometry, vertex, size, True) or scan_neighbours(
        words, carrier, *geometry, vertex, size, heads, sums
    ):
        return False
    group = 1 if row["layout"] else best_group_size(size.astype(np.int64))
    ends = int(vertex[0]) == row["first_vertex"] and int(vertex[-1]) == row["last_vertex"]
    return ends and int(size.sum()) == row["edges"] and group == row["group"]


def page_seeds() -> list[bytes]:
    found = []
    for id_bytes, bits in ((4, 0), (8, 1), (4, 2)):
        words = np.zeros(WORDS, f"<u{id_bytes}")
        begin = 32 // id_bytes
        lists = {1: [0, 2, 5], 3: [1], 7: [2, 2, 8]}
        at = begin
        for number, (vertex, others) in enumerate(lists.items()):
            words[at : at + 1 + len(others)] = [len(others), *others]
            words[WORDS - 2 * number - 2 : WORDS - 2 * number] = [vertex, at]
            at += 1 + len(others)
        head = np.array([(0, 0, 3, 1, 7, 0)], HEADER).tobytes()
        sizes = np.array([len(others) for others in lists.values()])
        group = GROUP_SIZES.index(best_group_size(sizes))
        page = head + words.tobytes()[len(head) :]
        found.append(bytes([bits | group << 5, 9]) + page)
    words = np.zeros(WORDS, "<u4")
    words[8:24] = [2, 1, *[0] * 6, 1, 2, *[0] * 6]
    words[8:10], words[16:18], words[24] = [2, 1], [3, 4], 6
    words[-4:] = [5, 9, 2, 8]
    found.append(bytes([0, 9]) + np.array([(0, 8, 2, 2, 3, 0)], HEADER).tobytes() + words.tobytes()[32:])
    return found


def read_slot(data: bytes) -> str:
    """A target: a checkpoint slot: a description, a line feed, arrays; its checksums made good where the lead says."""
    drawn = Drawn(data)
    bits = drawn.byte()
    text, _, arrays = drawn.rest().partition(b"\n")
    if bits & 1:
        text = _with_checksums(text, arrays)
    crc = crc32(text) ^ (bits & 2)
    folder = slot_folder()
    written("slots/slot-0", HEAD.pack(MAGIC, len(text) + (bits >> 2 & 1), crc) + text + arrays)
    identity = {"store": "s", "run": "pagerank", "options": {}}
    with refusal() as refused, SlotFolder(folder) as slots:
        slots.description()
        found = slots.newest()
        if found is not None and b"".join(a.tobytes() for a in found.arrays.values()) != arrays:
            raise Wrong(f"{found.arrays} are read of {arrays!r}")
        with refusal():
            check_unfinished(slots)
        keeper = Keeper(slots, identity, Every(), None)
        keeper.find()
        if keeper.awaited:
            keeper.adopt(SweepState(keeper, {"label": np.zeros(70, np.uint32), "rounds": 0}))
        else:
            keeper.enter(PageRank(), 70, 10)
    return refused.word


@cache
def slot_folder() -> Path:
    folder = work_folder() / "slots"
    folder.mkdir(exist_ok=True)
    return folder


def _with_checksums(text: bytes, arrays: bytes) -> bytes:
    """The description with the CRCs of arrays that it describes well enough to find them."""
    try:
        described, at = json.loads(text), 0
        for entry in described["arrays"]:
            size = np.dtype(entry[1]).itemsize * entry[2]
            entry[3], at = crc32(arrays[at : at + size]), at + size
        return json.dumps(described).encode()
    except Exception:
        return text


def slot_seeds() -> list[bytes]:
    state = {"superstep": 3, "near_step": None, "unexplored": 4, "pulled": False, "last_vertices": 5, "in_place": False,
             "order_step": 1.5, "order_limit": 8.0}  # fmt: skip
    value = np.zeros(70, PageRank.value.dtype)
    kept = {"value": value, "active": np.zeros(2, np.uint64), "partials": np.zeros(len(PageRank().totals))}
    entries = [[name, a.dtype.str, len(a), 0] for name, a in kept.items()]
    described = {"version": VERSION, "store": "s", "run": "pagerank", "options": {}, "program": "PageRank",
                 "hash": hash_of(PageRank), "parameters": {"damping": "0.85"}, "superstep": 3, "own": None,
                 "state": state, "sequence": 1, "arrays": entries}  # fmt: skip
    body = b"".join(a.tobytes() for a in kept.values())
    without = {name: value for name, value in described.items() if name != "state"}
    own = {"boundaries": 3, "numbers": {"rounds": 3}, "of": "", "gstream": __version__}
    swept = {**described, "state": None, "own": own, "arrays": [["own/label", "<u4", 70, 0]]}
    short = {"sequence": 2, "arrays": [["a", "<u1", 3, 0]]}
    slots = ((described, body), (without, body), (short, b"abc"), (swept, bytes(280)))
    return [lead + json.dumps(text).encode() + b"\n" + rest for lead in (b"\0", b"\1") for text, rest in slots]


@cache
def stores() -> tuple[Store, ...]:
    """The stores that are kept, open."""
    bases(base_folder())
    return tuple(open_store(base_folder() / name) for name in NAMES)


def read_list(data: bytes) -> str:
    """A target: a file of vertices (--nodes) or of vertices and numbers (--personalization), for each kind of IDs."""
    drawn = Drawn(data)
    bits = drawn.byte()
    store = stores()[bits % len(NAMES)]
    text = drawn.rest()
    kept = vertexfiles.ByteStream
    vertexfiles.ByteStream = lambda path, may_be_empty: TextStream(text, str(path), 1 << 20, may_be_empty)  # type: ignore
    try:
        with refusal() as refused:
            if bits & 128:
                vertices, values = vertexfiles.find_numbers(store, "a.txt", "--initial", "value", 0.0)
                if not np.all(np.isfinite(values)) or len(values) != len(vertices):
                    raise Wrong(f"{values}")
            else:
                vertices = vertexfiles.find_vertices(store, "a.txt", "vertex")
            if np.any(vertices >= store.meta.vertices):
                raise Wrong(f"{vertices} of {store.meta.vertices}")
            lines = text.decode("utf-8", "replace").split("\n")
            if not bits & 128 and store.meta.id_kind == "range" and all(map(INTEGER.fullmatch, lines)):
                expected = [int(line) - store.meta.id_base for line in lines]
                if vertices.tolist() != expected:
                    raise Wrong(f"{vertices} for {expected}")
        return refused.word
    finally:
        vertexfiles.ByteStream = kept  # type: ignore[misc]


def list_seeds() -> list[bytes]:
    names = b'# some\nvertex-3\n"vertex-7"\nvertex-0\n'
    return [b"\0" + b"3\n19\n\n0", b"\x01" + names, b"\x02" + b"0\n195\n", b"\0\xef\xbb\xbf1\r\n2\r\n",
            b"\x80" + b"vertex-3 1.5\nvertex-7\t2e-3\n", b"\x81" + b"5,0.25\n10,1\n", b"\x82" + b"3 1\n4 2.5\n",
            b"\0\x1f\x8b", b"\0" + b"-1\n", b"\0" + b"9" * 30]  # fmt: skip


def read_words(data: bytes) -> str:
    """A target: what an option says: a size, how often a checkpoint is written, devices."""
    text = "".join(c for c in data.decode("utf-8", "replace") if c.isprintable())
    words = []
    for parse in PARSERS:
        with refusal() as refused:
            found = parse(text)
            if isinstance(found, int) and not 0 <= found <= MOST_BYTES:
                raise Wrong(f"{text!r} is {found} bytes")
        words.append(refused.word)
    return "read" if "read" in words else "refused"


PARSERS: tuple[Callable[[str], Any], ...] = (
    lambda text: parse_size(text, "--memory"),
    parse_every,
    lambda text: parse_devices([text]),
)


def targets() -> list[Target]:
    """Those about stores."""
    return [
        Target("stores", "a store with other bytes, its checksums right or wrong, is read or refused in one line",
               read_store, store_seeds, 120),
        Target("contents of stores", "datasets with other bytes, their checksums right or wrong, are read or refused "
               "in one line", read_contents, lambda: store_seeds(True), 120),
        Target("descriptions", "a description with a right checksum is read or refused in one line", read_meta,
               meta_seeds, 2000),
        Target("directories", "a directory that is taken adds up", read_directory, directory_seeds, 400),
        Target("pages", "two checks of a page agree", read_page, page_seeds, 2 + 9 * WORDS),
        Target("checkpoints", "a checkpoint slot gives what is in it or is refused in one line", read_slot, slot_seeds,
               2000),
        Target("lists of vertices", "a file of vertices gives vertices or is refused in one line", read_list,
               list_seeds),
        Target("sizes", "an option's size, time or devices are read or refused in one line", read_words,
               lambda: b"12GiB|1.5 t| 2GB|.5k|30s|1.5h|10|cuda:0,1|fake:3:2|host:2".split(b"|"), 60),
    ]  # fmt: skip
