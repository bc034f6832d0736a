"""Striped stores: conversions that die at any call, and stripes that are damaged, lost or changed for others."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pagestore import open_store
from pagestore.convert import ConvertOptions, convert
from pagestore.errors import StoreError
from pagestore.stripes import stripes_of
from pagestore.verify import verify
from tests.decoded import decode_edges
from tests.torture.kills import ALL, MEMORY, make_edges
from tests.torture.ordeals import Bad, Cases, Counted, Property, in_child
from tests.torture.syscalls import Fault, calls_of, watched

STRIPES = 3


def disks(folder: Path) -> list[Path]:
    """Folders for stripes, which stand for disks."""
    made = [folder / f"disk{number}" for number in range(STRIPES)]
    for place in made:
        place.mkdir(exist_ok=True)
    return made


def conversion(folder: Path, edges: int = 4000, **options: Any) -> Callable[[], None]:
    """A striped conversion that uses temporary files."""

    def run() -> None:
        given = {"page_bytes": 4096, "memory_bytes": MEMORY, "threads": 2, "stripe_pages": 2, **options}
        given.setdefault("stripe", disks(folder))
        convert(make_edges(edges), folder / "graph.gs", ConvertOptions(**given))

    return run


def files_of(folder: Path) -> set[str]:
    """All files and work folders below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def own_files(folder: Path) -> set[str]:
    """Files of the store in a folder."""
    found, missing = stripes_of(folder / "graph.gs")
    assert not missing, missing
    return {"graph.gs", *(str(Path(path).relative_to(folder)) for path in found)}


@cache
def _contents(edges: int, folder: Path) -> tuple[bytes, ...]:
    conversion(folder, edges)()
    return contents(folder / "graph.gs")


def contents(path: Path) -> tuple[bytes, ...]:
    """The edges in a store's pages."""
    with open_store(path) as store:
        parts = [part for name in store.meta.topologies for part in decode_edges(store.topology(name))]
    return tuple(part.tobytes() for part in parts if part is not None)


def kills(folder: Path, numbers: random.Random) -> Cases:
    """SIGKILL ahead of every write, fsync, rename and unlink of a striped conversion; then the conversion again.

    It goes to a new name, or replaces a striped store. Afterwards all folders hold the files of one store, no others.
    """
    old, new = _contents(3000, folder), _contents(4000, folder)
    cases: list[tuple[bool, int]] = []
    for replaces in (False, True):
        _begin(folder, replaces)
        cases += [(replaces, site) for site in range(calls_of(conversion(folder), folder, ALL))]
    yield Counted(len(cases))
    numbers.shuffle(cases)
    for replaces, site in cases:
        _begin(folder, replaces)
        ended, _ = watched(conversion(folder), folder, ALL, Fault(site))
        where, path = f"replaces {replaces}, call {site}", folder / "graph.gs"
        left = contents(path) if path.exists() else None
        if left not in ((old, new) if replaces else (None, new)):
            yield Bad(f"{where}: another store, or a part of one, is there")
            continue
        again = in_child(conversion(folder, resume=site % 2 == 0))
        if again.code != 0:
            yield Bad(f"{where}: the next conversion ended with {again.code}: {again.said[-300:]}")
        elif contents(path) != new:
            yield Bad(f"{where}: the next conversion made another store")
        elif files_of(folder) != own_files(folder):
            yield Bad(f"{where}: left {sorted(files_of(folder) - own_files(folder))}")
        else:
            yield "ended first" if ended.code == 0 else "complete" if left == new else "old" if left else "absent"


def _begin(folder: Path, replaces: bool) -> None:
    """Empty folders, or an old store in them."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    disks(folder)
    if replaces:
        conversion(folder, 3000)()


def damages(folder: Path, numbers: random.Random) -> Cases:
    """A stripe that is cut, lost, of another store, has another byte, or changed places with another: it is named."""
    _begin(folder, True)
    path, whole = folder / "graph.gs", contents(folder / "graph.gs")
    stripes = [Path(name) for name in stripes_of(path)[0]]
    kept = [stripe.read_bytes() for stripe in stripes]
    other = folder / "other"
    other.mkdir()
    conversion(other, 2000)()
    others = [Path(name).read_bytes() for name in stripes_of(other / "graph.gs")[0]]
    while True:
        which, kind = numbers.randrange(STRIPES), numbers.choice(["flip", "flip", "cut", "lost", "other", "swap"])
        data = bytearray(kept[which])
        if kind == "flip":
            at = numbers.randrange(len(data))
            data[at] ^= 1 << numbers.randrange(8)
            stripes[which].write_bytes(data)
        elif kind == "cut":
            stripes[which].write_bytes(data[: numbers.randrange(len(data))])
        elif kind == "lost":
            stripes[which].unlink()
        elif kind == "other":
            stripes[which].write_bytes(others[which])
        else:
            stripes[which].write_bytes(kept[which - 1])
            stripes[which - 1].write_bytes(kept[which])
        yield _told(path, stripes[which], whole, kind)
        for stripe, before in zip(stripes, kept, strict=True):
            stripe.write_bytes(before)


def _told(path: Path, stripe: Path, whole: tuple[bytes, ...], kind: str) -> str | Bad:
    try:
        if contents(path) == whole:
            return "harmless" if kind == "flip" else Bad(f"{kind}: nobody noticed")
        return Bad(f"{kind}: wrong edges were read")
    except StoreError as error:
        named = {stripe.name, stripe.parent.name} if kind != "swap" else {".stripe"}
        return "refused" if any(name in str(error) for name in named) else Bad(f"{kind}: {error}")


def replaced(folder: Path, numbers: random.Random) -> Cases:
    """Stores that replace each other, striped over other folders or none: all that is left belongs to the last."""
    _begin(folder, False)
    while True:
        count, edges = numbers.randrange(STRIPES + 1), numbers.choice([1000, 2000])
        chosen = sorted(numbers.sample(disks(folder), count))
        conversion(folder, edges, stripe=chosen)()
        if files_of(folder) != own_files(folder):
            yield Bad(f"{count} stripes, {edges} edges: left {sorted(files_of(folder) - own_files(folder))}")
        elif not verify(os.fspath(folder / "graph.gs")).ok:
            yield Bad(f"{count} stripes, {edges} edges: the store is not whole")
        else:
            yield "striped" if count else "one file"


def properties() -> list[Property]:
    """The properties of this file."""
    return [
        Property("kills of striped conversions", "all folders hold one store, old or new, and nothing else", kills),
        Property("damaged stripes", "what is read is right, or the stripe is named", damages),
        Property("replaced striped stores", "the stripes of the store that was replaced are gone", replaced),
    ]
