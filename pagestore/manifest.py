"""A graph in parts: a folder with a store a part, and the manifest that says they are whole.

    web.parts/part-00000.gs    all arrays of the store that was split, and the pages of its share of stretches
    web.parts/part-00001.gs    those of the others
    web.parts/manifest.json    written last

Stretch s of a topology is in part s mod N (pagestore/spread.py). In-pages hold the lists of destinations, so a part has
all edges that lead to the vertices of its stretches. What its pages name beside is `topology/T/reads`, a bitmap of the
vertices, u8 words of 64: cut where the state of another part's vertices begins and ends, it lists the mirrors of those.

    absent --lock, remove leftovers--> parts, each by rename --manifest.json.partial, rename--> whole
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from pagestore.errors import StoreError, UsageError, plain
from pagestore.faults import read_error
from pagestore.meta import MOST_PARTS, SEAL_BYTES, opened_seal, sealed

MANIFEST = "manifest.json"
FORMAT = "gstream parts"
VERSION = 1
LEFT = re.compile(r"part-\d{5}\.gs(\.partial)?|manifest\.json(\.partial)?")  # what a split may leave
MOST_BYTES = 16 << 20  # of a manifest


@dataclass(frozen=True)
class Part:
    """What the manifest says of a part. seal: how its description begins, with the CRC. pages, edges: of each topology.
    named: vertices that its pages of each topology name; mirrors: those outside of its own range (own_range)."""

    file: str
    seal: str
    bytes: int
    pages: dict[str, int]
    edges: dict[str, int]
    named: dict[str, int]
    mirrors: dict[str, int]


@dataclass(frozen=True)
class Manifest:
    """store: UUID of the store that was split; source: its path. stretch: pages. parts: in order."""

    store: str
    source: str
    vertices: int
    edges: int
    stretch: int
    parts: list[Part] = field(default_factory=list)

    def without_pages(self) -> str:
        """A line about parts that have none, whose ranks will have nothing to do; "" where all have some."""
        empty = sum(not sum(part.pages.values()) for part in self.parts)
        if not empty:
            return ""
        return (
            f"{empty} of {len(self.parts)} parts have no pages, because the graph has too few. Their ranks will have "
            f"nothing to do. Cut it in at most {len(self.parts) - empty} parts, or convert it with smaller pages "
            "(--page-size 64KiB)."
        )

    def encode(self) -> bytes:
        """JSON that begins with the CRC of all its bytes."""
        return sealed({"format": FORMAT, "version": VERSION, **asdict(self)}, 0)


def part_name(number: int) -> str:
    """The file of a part."""
    return f"part-{number:05}.gs"


def own_range(vertices: int, part: int, parts: int) -> tuple[int, int]:
    """The vertices whose state a part has: as many each, in order."""
    return vertices * part // parts, vertices * (part + 1) // parts


def is_parts(path: str | os.PathLike) -> bool:
    """Whether there is a whole graph in parts."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def read_manifest(path: str | os.PathLike) -> Manifest:
    """The manifest of the folder at `path`. Raises StoreError where there is none, or none that is whole."""
    name, remedy = os.path.join(path, MANIFEST), "Split the store again: gstream split STORE FOLDER --parts N --force."
    try:
        with open(name, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise StoreError(f"{plain(os.fspath(path))}: has no {MANIFEST}: it is no graph in parts. {remedy}") from None
    except OSError as error:
        raise read_error(error, f"{name}: can't be read", remedy, StoreError) from error
    said = opened_seal(data) if len(data) <= MOST_BYTES else None
    if said is None:
        raise StoreError(f"{name}: fails its checksum. {remedy}")
    if said.get("format") != FORMAT or said.get("version") != VERSION:
        raise StoreError(f"{name}: is of version {plain(str(said.get('version')))}; known is {VERSION}. {remedy}")
    try:
        found = _decoded(said)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{name}: can't be understood ({plain(str(error))}). {remedy}") from error
    return found


def _decoded(said: dict[str, Any]) -> Manifest:
    parts = [Part(**part) for part in said["parts"]]
    if not 1 < len(parts) <= MOST_PARTS or [part.file for part in parts] != [*map(part_name, range(len(parts)))]:
        raise ValueError("its parts")
    if any(len(part.seal) != SEAL_BYTES for part in parts):
        raise ValueError("a seal")
    return Manifest(**{name: said[name] for name in ("store", "source", "vertices", "edges", "stretch")}, parts=parts)


def refuse_unfinished(path: str | os.PathLike) -> None:
    """Raise StoreError for a folder that a split left without its manifest, which is written last."""
    if is_parts(path) or not os.path.isdir(path):
        return
    try:
        names = os.listdir(path)
    except OSError:
        return  # whoever opens it says why
    if names and all(map(LEFT.fullmatch, names)):
        shown = plain(os.fspath(path))
        raise StoreError(
            f"{shown}: is an unfinished split: it has parts, but no {MANIFEST}, which is written last. Split the store "
            f"again: gstream split STORE {shown} --parts N."
        )


def refuse_folder(path: str) -> None:
    """Raise UsageError for a graph in parts, which ranks open; StoreError for an unfinished one."""
    refuse_unfinished(path)
    if is_parts(path):
        count, shown = len(read_manifest(path).parts), plain(path)
        raise UsageError(
            f"{shown}: is a graph in {count} parts, for as many ranks. Start them: mpiexec -n {count} gstream run "
            f"ALGORITHM {shown}."
        )
