"""Damaged stores: whatever happens to the bytes of one, reading it is an error or gives the right answer."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.sssp import SSSP
from pagestore import open_store
from pagestore.errors import StoreError
from pagestore.memory import convert_arrays
from pagestore.meta import decode_meta
from pagestore.store import Store
from tests.torture.contents import everything
from tests.torture.ordeals import Bad, Cases, Property

VERTICES, EDGES, HUB, PAGE = 80, 900, 1100, 4096
RUN_EVERY = 50  # of the damaged pages, one meets a whole run


def make_store(path: Path, seed: int, extra: int = 0) -> None:
    """A weighted store with hubs, both topologies and heads, of some 112 KiB. extra: edges that move no page."""
    random = np.random.default_rng(seed)
    source = np.concatenate([random.integers(0, VERTICES, EDGES), np.full(HUB, 3)])
    target = random.integers(0, VERTICES, EDGES + HUB)
    weight = random.integers(1, 200, EDGES + HUB).astype(np.float64)
    weight[:extra] += 1
    convert_arrays(path, source, target, weight, vertices=VERTICES, page_bytes=PAGE, memory_bytes=1 << 24)


def readers(store: Store) -> dict[str, Callable[[int], object]]:
    """dataset -> what reads the part of it that holds a byte, of a store that stays open."""
    found: dict[str, Callable[[int], object]] = {}
    for name in store.meta.topologies:
        reader, width = store.topology(name).reader(), store.topology(name).weight_page_bytes
        found[f"topology/{name}/pages"] = lambda byte, reader=reader: reader.read(byte // PAGE, 1)
        found[f"topology/{name}/weights"] = lambda byte, r=reader, w=width: r.read_weights(byte // w, 1)
    for name in store.array_names:
        if not name.endswith("directory"):  # which is read where a store is opened
            found[name] = lambda byte, name=name: store.array(name).read()
    meta = store.extents["meta"]

    def read_meta(byte: int) -> object:
        with open(store.path, "rb") as file:
            file.seek(meta.offset)
            return decode_meta(file.read(meta.nbytes), store.path)

    return {**found, "meta": read_meta}


def bit_flips(folder: Path, numbers: random.Random) -> Cases:
    """Every bit of the file, in any order."""
    path = folder / "flipped.gs"
    make_store(path, 5)
    intact, size = everything(path), path.stat().st_size
    with open_store(path) as store, open(path, "r+b", buffering=0) as file:
        reading = readers(store)
        owner = {}
        for name, extent in store.extents.items():
            if name in reading:
                owner.update(dict.fromkeys(range(extent.offset, extent.offset + extent.nbytes), (name, extent.offset)))
        bits = np.arange(8 * size)
        np.random.default_rng(numbers.getrandbits(32)).shuffle(bits)
        for bit in bits.tolist():
            byte, mask = bit // 8, 1 << bit % 8
            with flipped(file.fileno(), byte, mask):
                yield _flip_outcome(path, byte, reading, owner, intact) or Bad(f"bit {bit} changed what is read")
    if everything(path) != intact:
        yield Bad("the store was not put back")


def _flip_outcome(path: Path, byte: int, reading: dict, owner: dict, intact: str) -> str | None:
    """What a flipped bit did; None: it went unnoticed and changed something."""
    try:
        if byte in owner:
            name, first = owner[byte]
            reading[name](byte - first)
            return None  # nothing inside a dataset is unprotected
        return "harmless" if everything(path) == intact else None
    except StoreError:
        return "refused"


class flipped:
    """A bit is flipped while the block lasts."""

    def __init__(self, file: int, byte: int, mask: int) -> None:
        self.file, self.byte, self.mask = file, byte, mask

    def _flip(self) -> None:
        os.pwrite(self.file, bytes([os.pread(self.file, 1, self.byte)[0] ^ self.mask]), self.byte)

    def __enter__(self) -> None:
        self._flip()

    def __exit__(self, *error: object) -> None:
        self._flip()


def truncations(folder: Path, numbers: random.Random) -> Cases:
    """Every length that is less than the file's."""
    path, cut = folder / "whole.gs", folder / "cut.gs"
    make_store(path, 5)
    data = path.read_bytes()
    lengths = list(range(len(data)))
    numbers.shuffle(lengths)
    for length in lengths:
        cut.write_bytes(data[:length])
        try:
            everything(cut)
            yield Bad(f"{length} of {len(data)} bytes were read as a store")
        except StoreError:
            yield "refused"


def pages(folder: Path, numbers: random.Random) -> Cases:
    """Pages that are lost, swapped, misdirected, stale, torn, zeroed or all ones: in every topology, with weights."""
    path, old = folder / "pages.gs", folder / "stale.gs"
    make_store(path, 5)
    make_store(old, 6)
    data, stale = path.read_bytes(), old.read_bytes()
    with open_store(path) as store:
        extents = {n: e for n, e in store.extents.items() if n.endswith(("/pages", "/weights")) and e.shape[0] > 1}
    for case in range(1 << 62):
        name, extent = numbers.choice(sorted(extents.items()))
        width, count = extent.shape[1], extent.shape[0]
        page, other = numbers.sample(range(count), 2)
        at, elsewhere = extent.offset + page * width, extent.offset + other * width
        kinds = {
            "zeroed": lambda width=width: bytes(width),
            "all ones": lambda width=width: b"\xff" * width,
            "misdirected": lambda a=elsewhere, width=width: data[a : a + width],
            "stale": lambda at=at, width=width: stale[at : at + width],
            "torn": lambda at=at, w=width: data[at : at + w // 2] + stale[at + w // 2 : at + w],
            "lost": lambda w=width: numbers.randbytes(w),
            "swapped": lambda a=elsewhere, width=width: data[a : a + width],
        }
        kind = numbers.choice(sorted(kinds))
        changed = bytearray(data)
        changed[at : at + width] = kinds[kind]()
        if kind == "swapped":
            changed[elsewhere : elsewhere + width] = data[at : at + width]
        if bytes(changed) == data:
            continue
        path.write_bytes(changed)
        where = f"{kind}: page {page} of {name} (other {other})"
        outcome = _page_outcome if (case + 1) % RUN_EVERY else _run_outcome
        yield outcome(path, kind, where)


def _page_outcome(path: Path, kind: str, where: str) -> str | Bad:
    try:
        everything(path)
    except StoreError as error:
        return kind if "page" in str(error) else Bad(f"{where}: refused by {error}")
    return Bad(f"{where}: went unnoticed")


def _run_outcome(path: Path, kind: str, where: str) -> str | Bad:
    """Shortest paths by push and by pull, which read weights of out- and in-pages: an error, or the right answer."""
    refused = 0
    for direction in ("push", "pull"):
        with open_store(path) as store, Engine(store, RunOptions(threads=1, direction=direction)) as engine:
            try:
                if engine.run(SSSP(source=3)).value.tobytes() != _answer(path.parent):
                    return Bad(f"{where}: a run by {direction} gave a wrong answer")
            except StoreError as error:
                if "page" not in str(error):
                    return Bad(f"{where}: a run by {direction} stopped with {error}")
                refused += 1
    return f"{kind}, in a run" if refused else Bad(f"{where}: no run noticed")


@cache
def _answer(folder: Path) -> bytes:
    """What the runs give on the whole store."""
    make_store(folder / "answer.gs", 5)
    with open_store(folder / "answer.gs") as store, Engine(store, RunOptions(threads=1)) as engine:
        return engine.run(SSSP(source=3)).value.tobytes()


def hostile(folder: Path, numbers: random.Random) -> Cases:
    """Bytes of a store overwritten at random, many at a time: sizes, offsets and counts that lie."""
    path = folder / "hostile.gs"
    make_store(path, 5)
    data, intact = path.read_bytes(), everything(path)
    with open_store(path) as store:
        inside = [range(e.offset, e.offset + e.nbytes) for n, e in store.extents.items() if n != "meta"]
    own = np.setdiff1d(np.arange(len(data)), np.concatenate([np.arange(r.start, r.stop) for r in inside]))
    while True:
        changed, spots = bytearray(data), []
        for _ in range(numbers.choice([1, 1, 2, 4, 16])):
            at = int(numbers.choice(own)) if numbers.random() < 0.8 else numbers.randrange(len(data))
            value = numbers.choice(
                [b"\xff" * 8, bytes(8), b"\xff" * 4, numbers.randbytes(8), b"\x7f", b"\x80", b"\x01"]
            )
            changed[at : at + len(value)] = value
            spots.append((at, value.hex()))
        path.write_bytes(changed[: len(data)])
        try:
            yield "harmless" if everything(path) == intact else Bad(f"{spots} changed what is read")
        except StoreError:
            yield "refused"


def properties() -> Iterator[Property]:
    """Those about stores."""
    yield Property("bit flips", "every flipped bit of a store is an error or harmless", bit_flips, 8 * 114_688)
    yield Property("truncation", "a store cut to any length is refused", truncations, 114_688)
    yield Property("pages", "lost, swapped, stale, torn and overwritten pages are all detected", pages, 10_000)
    yield Property("hostile stores", "overwritten bytes of a store crash nothing and change nothing", hostile)
