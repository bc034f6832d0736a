"""What a store says about itself: the JSON in /meta, fixed at 64 KiB, and its checks.

    {"crc32":"9c3f01ab","format":"gstream page store","version":1,"checksums":{...},"graph":{...}}

followed by spaces. Version 2 has column pages and the fields about them. Version 3 has a list `needs` of features that
a reader must know, each with fields of its own. All other stores are of version 1. The CRC covers all 65,536 bytes with
its own 8 digits read as zeros. `checksums` maps each dataset of /checksums to the CRC of its bytes, so every chain
of CRCs ends here. It is a dataset, because attributes end at 64 KB.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from pagestore.crc import crc32
from pagestore.errors import StoreError, plain
from pagestore.layout import COLUMN_WIDTHS

FORMAT = "gstream page store"
VERSIONS = VERSION, COLUMN_VERSION, NEEDS_VERSION = 1, 2, 3  # plain, with column pages, with a list of needs
NEEDS: dict[str, tuple[str, ...]] = {  # features, and the fields of each
    "striped": ("stripes", "stripe_pages"),
    "compressed": ("stored_bytes", "stored_weights"),
    "part": ("part", "parts", "part_stretch"),
    "coded_arrays": ("coded_arrays",),
    "coded_floats": ("coded_floats",),
}
MOST_STRIPES = 64
MOST_PARTS = 4096
STRIPE_SUFFIX = ".stripe"
META_BYTES = 1 << 16
_PREFIX = b'{"crc32":"'
_DIGITS = slice(len(_PREFIX), len(_PREFIX) + 8)
SEAL_BYTES = _DIGITS.stop  # from the first on: with the CRC, which tells one store from another
_SPACES = b" " * META_BYTES
_LIMIT = 1 << 63  # no count or ID reaches it

ORDERS = ("natural", "degree", "in", "out", "llp")
ID_KINDS = ("range", "integers", "strings")
WEIGHT_DTYPES = ("u1", "i4", "u4", "f4")


@dataclass(frozen=True)
class Meta:
    """Facts of the graph and of the store.

    `edges` counts the records of one topology: an undirected edge counts twice, an undirected self-loop once.
    `topologies` of an undirected graph is ("out",), which serves both directions. User IDs are `id_base` + natural
    index when `id_kind` is "range". Weights run from `min_weight` to `max_weight`. `provenance`: inputs, options,
    version of the converter; it gives way when the JSON would not fit. `columns`: slots of a group in the column pages,
    1 when there are none; `padding_words`: words that padding takes in them, by topology. `stripes`: names of the files
    that hold the pages, none when the store is one file; `stripe_pages`: pages of a stretch (pagestore/spread.py).
    `stored_bytes`, `stored_weights`: bytes of all coded pages, and of their weights, by topology; none when pages are
    not coded (pagestore/coding/form.py). `part` of `parts`: which pages the store holds, by stretches of `part_stretch`
    pages (pagestore/manifest.py); 0 of 0: all. `coded_arrays`: rows, and words of 4 bytes that they take coded, of each
    array of heads and degrees; none where they are not coded (pagestore/coding/blocks.py). `coded_floats`: weights are
    f4, and coded from a base (pagestore/coding/form.py).
    """

    vertices: int
    edges: int
    directed: bool
    page_bytes: int
    id_bytes: int
    weighted: bool = False
    weight_dtype: str | None = None
    order: str = "natural"
    topologies: tuple[str, ...] = ("out",)
    id_kind: str = "range"
    id_base: int = 0
    heads: bool = True
    max_out_degree: int = 0
    max_in_degree: int = 0
    min_weight: float | None = None
    max_weight: float | None = None
    self_loops: int = 0
    duplicates: int = 0
    dropped_self_loops: int = 0
    dropped_duplicates: int = 0
    dropped_lines: int = 0
    uuid: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    columns: int = 1
    padding_words: dict[str, int] = field(default_factory=dict)
    stripes: tuple[str, ...] = ()
    stripe_pages: int = 0
    stored_bytes: dict[str, int] = field(default_factory=dict)
    stored_weights: dict[str, int] = field(default_factory=dict)
    part: int = 0
    parts: int = 0
    part_stretch: int = 0
    coded_arrays: dict[str, list[int]] = field(default_factory=dict)
    coded_floats: bool = False

    @property
    def compressed(self) -> bool:
        """Whether pages are stored coded."""
        return bool(self.stored_bytes)

    @property
    def needs(self) -> list[str]:
        """Features that a reader of the store must know."""
        has = {
            "striped": self.stripes, "compressed": self.compressed, "part": self.parts,
            "coded_arrays": self.coded_arrays, "coded_floats": self.coded_floats,
        }  # fmt: skip
        return [name for name, there in has.items() if there]

    @property
    def version(self) -> int:
        """Of the format: the least that can hold the pages."""
        return NEEDS_VERSION if self.needs else VERSION if self.columns == 1 else COLUMN_VERSION

    @property
    def graph_edges(self) -> int:
        """Edges of the graph: an undirected one once, though its records lie in both lists."""
        return graph_edges(self.edges, self.self_loops, self.directed)

    def check(self, where: str) -> None:
        """Raise StoreError for values that no converter writes (a crafted file may carry correct CRCs)."""
        for name, allowed in _ALLOWED.items():
            value = getattr(self, name)
            if value not in allowed:
                raise StoreError(f"{where}: {name} is {value!r}; known are {list(allowed)}. {REBUILD}")
        for name in _COUNTS:
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value < _LIMIT:
                raise StoreError(f"{where}: {name} is {value!r}; it must be a count below 2^63. {REBUILD}")
        counted = {name: getattr(self, name) for name in ("padding_words", "stored_bytes", "stored_weights")}
        counted = {name: found if isinstance(found, dict) else {"": None} for name, found in counted.items()}
        coded = set(self.topologies) if self.compressed else set()
        expected = {
            "padding_words": set() if self.columns == 1 else set(self.topologies),
            "stored_bytes": coded,
            "stored_weights": coded if self.weighted else set(),
        }
        wrong = {
            f"page_bytes is {self.page_bytes}; no power of two from 4 KiB":
                not 4096 <= self.page_bytes <= 1 << 30 or self.page_bytes & (self.page_bytes - 1),
            f"{self.vertices} vertices do not fit 4-byte IDs": self.id_bytes == 4 and self.vertices >= 1 << 32,
            "weights or topologies contradict each other": self.weighted != (self.weight_dtype is not None)
                or (not self.directed and self.topologies != ("out",)),
            **{f"{name} is {getattr(self, name)!r}; it holds counts":
                any(type(count) is not int or not 0 <= count < _LIMIT for count in found.values())
                for name, found in counted.items()},
            **{f"{name} is of {sorted(found)}, not of the page sets": set(found) != expected[name]
                for name, found in counted.items()},
            "its pages are coded, and in columns, stripes or parts":
                self.compressed and (self.columns != 1 or bool(self.stripes) or self.parts > 0),
            f"it is part {self.part} of {self.parts}, by {self.part_stretch} pages": self.parts > 0
                and (not self.part < self.parts <= MOST_PARTS or self.part_stretch < 1 or bool(self.stripes)),
            "its coded arrays are not those of its graph": bool(self.coded_arrays) and not self._arrays_coded(),
            f"coded_floats is {self.coded_floats!r}, of weights {self.weight_dtype}": self.coded_floats is not False
                and (self.coded_floats is not True or not self.compressed or self.weight_dtype != "f4"),
            "min_weight or max_weight is no number":
                any(type(weight) not in (int, float, type(None)) for weight in (self.min_weight, self.max_weight)),
            "id_base, provenance or uuid has the wrong type": type(self.id_base) is not int
                or not isinstance(self.provenance, dict) or not isinstance(self.uuid, str),
        }  # fmt: skip
        for what, holds in wrong.items():
            if holds:
                raise StoreError(f"{where}: {what}. {REBUILD}")
        if self.stripes:
            self._check_stripes(where)

    def _arrays_coded(self) -> bool:
        """Whether coded arrays are those that a converter codes, with rows and words that they may have."""
        heads = {f"topology/{name}/heads" for name in self.topologies} if self.heads else set()
        degrees = {"vertices/out_degree"} | ({"vertices/in_degree"} if self.directed else set())
        found = self.coded_arrays if isinstance(self.coded_arrays, dict) else {}
        if not self.compressed or found.keys() != heads | degrees:
            return False
        for name, counts in found.items():
            if not isinstance(counts, list) or len(counts) != 2 or any(type(one) is not int for one in counts):
                return False
            rows, words = counts
            if not 0 <= words < _LIMIT or not 0 <= rows <= self.vertices or (name in degrees and rows != self.vertices):
                return False
        return True

    def _check_stripes(self, where: str) -> None:
        """Names that lead out of the folders that the user named are refused before anything is opened."""
        names = self.stripes if isinstance(self.stripes, tuple) else ()
        for name in names:
            if _leads_out(name):
                raise StoreError(
                    f"{where}: a stripe is named {plain(repr(name))}, which leads out of the store's folder or is no "
                    f"stripe's name; it is not opened. {REBUILD}"
                )
        alone = len({name.rpartition("/")[2] for name in names}) == len(names)
        if not alone or not names or len(names) > MOST_STRIPES or self.stripe_pages < 1 or not self.uuid:
            raise StoreError(f"{where}: its stripes are none that a converter writes. {REBUILD}")


def _leads_out(name: object) -> bool:
    """Whether a stripe's name leads out of the store's folder, or is no stripe's name at all."""
    if not isinstance(name, str) or not name.endswith(STRIPE_SUFFIX) or "\0" in name:
        return True
    return any(part in ("", ".", "..") for part in name.split("/"))


def graph_edges(stored: int, self_loops: int, directed: bool) -> int:
    """Edges of a graph by the records of one topology: an undirected edge has two, but a self-loop one."""
    return stored if directed else (stored + self_loops) // 2


REBUILD = "The store is damaged or was not written by gstream; convert the graph again."


def scrub_first(path: str) -> str:
    """The remedy before REBUILD, for damage with which the store at `path` can still be opened."""
    return f"`gstream verify {path}` lists all that is damaged. "


_COUNTS = (
    "vertices", "edges", "max_out_degree", "max_in_degree", "self_loops", "duplicates", "dropped_self_loops",
    "dropped_duplicates", "dropped_lines", "page_bytes", "id_bytes", "stripe_pages", "part", "parts", "part_stretch",
)  # fmt: skip
_ALLOWED: dict[str, tuple] = {
    "order": ORDERS, "id_kind": ID_KINDS, "id_bytes": (4, 8), "weight_dtype": (None, *WEIGHT_DTYPES),
    "topologies": (("out",), ("in",), ("out", "in")), "directed": (True, False), "weighted": (True, False),
    "heads": (True, False), "columns": (1, *COLUMN_WIDTHS),
}  # fmt: skip
_OF_COLUMNS = ("columns", "padding_words")  # fields that version 1 has not


def encode_meta(meta: Meta, checksums: dict[str, int]) -> bytes:
    """The 65,536 bytes of /meta. Long lists in the provenance are cut, with their length kept, until it fits."""
    kept = _fields_of(meta.version, meta.needs)
    graph = {name: getattr(meta, name) for name in (entry.name for entry in fields(meta)) if name in kept}
    needs = {"needs": meta.needs} if meta.needs else {}
    while True:
        document = {"format": FORMAT, "version": meta.version, **needs, "checksums": checksums, "graph": graph}
        data = sealed(document, META_BYTES)
        if len(data) <= META_BYTES:
            return data
        graph["provenance"] = _shorten(graph["provenance"])


def sealed(document: dict[str, Any], nbytes: int) -> bytes:
    """JSON that begins with the CRC of all its bytes, padded with spaces to `nbytes`; longer where it does not fit."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    data = (_PREFIX + b'00000000",' + text[1:].encode("ascii")).ljust(nbytes)
    return data[: _DIGITS.start] + f"{crc32(data):08x}".encode() + data[_DIGITS.stop :]


def opened_seal(data: bytes) -> dict[str, Any] | None:
    """What `sealed` was given, with the CRC; None where a bit is wrong."""
    zeroed = data[: _DIGITS.start] + b"0" * 8 + data[_DIGITS.stop :]
    if data[: _DIGITS.start] != _PREFIX or data[_DIGITS] != f"{crc32(zeroed):08x}".encode():
        return None
    found = _parsed(data)
    return found if isinstance(found, dict) else None


def _fields_of(version: int, needs: list[str]) -> set[str]:
    """Fields of Meta that a store of a version and of these features has."""
    of_needs = {name for names in NEEDS.values() for name in names}
    left_out = of_needs - {name for need in needs for name in NEEDS[need]}
    return {entry.name for entry in fields(Meta)} - left_out - set(_OF_COLUMNS if version == VERSION else ())


def decode_meta(data: bytes, where: str) -> tuple[Meta, dict[str, int]]:
    """Meta and the CRCs of the checksum datasets. Raises StoreError when a bit is wrong or a field is unknown."""
    document = None
    try:
        document = opened_seal(data) if len(data) == META_BYTES else None
        if document is None:
            with suppress(ValueError, RecursionError):
                _refuse_version(_parsed(data), where)
            raise StoreError(f"{where}: the description in /meta fails its checksum. {REBUILD}")
        _refuse_version(document, where)
        version = document["version"]
        if document["format"] != FORMAT or version not in VERSIONS:
            raise ValueError(f"its format is {document['format']!r}")
        needs = _known_needs(document, where) if version == NEEDS_VERSION else []
        graph = dict(document["graph"])
        for name in {"topologies", "stripes"} & graph.keys():
            graph[name] = tuple(graph[name])
        unknown = set(graph) ^ _fields_of(version, needs)
        if unknown or (version == COLUMN_VERSION and graph["columns"] == 1):
            raise StoreError(f"{where}: /meta has missing or unknown fields {sorted(unknown)}. {REBUILD}")
        meta = Meta(**graph)
        if meta.needs != needs:
            raise ValueError(f"it needs {needs}, and has fields of {meta.needs}")
        checksums = {str(name): int(value) for name, value in document["checksums"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise StoreError(f"{where}: the description in /meta can't be read ({error}). {REBUILD}") from error
    meta.check(where)
    return meta, checksums


def _known_needs(document: dict[str, Any], where: str) -> list[str]:
    """The list of features. Raises StoreError naming those that are unknown here."""
    if not isinstance(document["needs"], list):
        raise ValueError(f"its needs are {document['needs']!r}")
    needs = [str(name) for name in document["needs"]]
    if unknown := [name for name in needs if name not in NEEDS]:
        raise StoreError(
            f"{where}: needs {plain(', '.join(unknown))}, which this gstream does not know; it knows "
            f"{', '.join(NEEDS)}. Use the gstream that wrote it, or convert the graph again."
        )
    return needs


def _parsed(data: bytes) -> Any:
    """`data` as JSON; json itself takes longer for the 62 KiB of spaces than for the rest."""
    end = data.rfind(b"}") + 1
    return json.loads(data[:end] if data[end:] == _SPACES[end:] else data)


def _refuse_version(document: Any, where: str) -> None:
    """Raise StoreError for a description of another version, whatever its other fields are."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return
    version = document.get("version")
    if type(version) is int and version not in VERSIONS:
        raise StoreError(
            f"{where}: is a store of version {version}; this gstream reads versions "
            f"{VERSIONS[0]} to {VERSIONS[-1]}. Convert the graph again, or use the gstream that wrote it."
        )


def _shorten(provenance: dict[str, Any]) -> dict[str, Any]:
    """Halve the longest list of the provenance, or drop its longest entry when there is none left."""
    lists = {key: value for key, value in provenance.items() if isinstance(value, list | tuple) and len(value) > 1}
    if lists:
        key = max(lists, key=lambda name: len(json.dumps(lists[name])))
        kept = list(lists[key])[: len(lists[key]) // 2]
        total = provenance.get(f"{key}_in_all", len(lists[key]))
        return {**provenance, key: kept, f"{key}_in_all": total}
    key = max(provenance, key=lambda name: len(json.dumps(provenance[name])))
    return {name: value for name, value in provenance.items() if name != key}
