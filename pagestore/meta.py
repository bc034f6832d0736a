"""What a store says about itself: the JSON in /meta, fixed at 64 KiB, and its checks.

    {"crc32":"9c3f01ab","format":"gstream page store","version":1,"checksums":{...},"graph":{...}}

followed by spaces. Version 2 has column pages and the fields about them; all other stores are of version 1. The CRC
covers all 65,536 bytes with its own 8 digits read as zeros. `checksums` maps each dataset of /checksums to the CRC of
its bytes, so every chain of CRCs ends here. It is a dataset, because attributes end at 64 KB.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pagestore.crc import crc32
from pagestore.errors import StoreError
from pagestore.layout import COLUMN_WIDTHS

FORMAT = "gstream page store"
VERSIONS = VERSION, COLUMN_VERSION = 1, 2  # without column pages, and with some
META_BYTES = 1 << 16
_PREFIX = b'{"crc32":"'
_DIGITS = slice(len(_PREFIX), len(_PREFIX) + 8)
SEAL_BYTES = _DIGITS.stop  # from the first on: with the CRC, which tells one store from another
_SPACES = b" " * META_BYTES
_LIMIT = 1 << 63  # no count or ID reaches it

ORDERS = ("natural", "degree", "in", "out")
ID_KINDS = ("range", "integers", "strings")
WEIGHT_DTYPES = ("u1", "i4", "u4", "f4")


@dataclass(frozen=True)
class Meta:
    """Facts of the graph and of the store.

    `edges` counts the records of one topology: an undirected edge counts twice, an undirected self-loop once.
    `topologies` of an undirected graph is ("out",), which serves both directions. User IDs are `id_base` + natural
    index when `id_kind` is "range". Weights run from `min_weight` to `max_weight`. `provenance`: inputs, options,
    version of the converter; it gives way when the JSON would not fit. `columns`: slots of a group in the column pages,
    1 when there are none; `padding_words`: words that padding takes in them, by topology.
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

    @property
    def version(self) -> int:
        """Of the format: the least that can hold the pages."""
        return VERSION if self.columns == 1 else COLUMN_VERSION

    @property
    def graph_edges(self) -> int:
        """Edges of the graph: an undirected one once, though its records lie in both lists."""
        return self.edges if self.directed else (self.edges + self.self_loops) // 2

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
        padding = self.padding_words if isinstance(self.padding_words, dict) else {"": None}
        wrong = {
            f"page_bytes is {self.page_bytes}; no power of two from 4 KiB":
                not 4096 <= self.page_bytes <= 1 << 30 or self.page_bytes & (self.page_bytes - 1),
            f"{self.vertices} vertices do not fit 4-byte IDs": self.id_bytes == 4 and self.vertices >= 1 << 32,
            "weights or topologies contradict each other": self.weighted != (self.weight_dtype is not None)
                or (not self.directed and self.topologies != ("out",)),
            f"padding_words is {self.padding_words!r}; it holds counts":
                any(type(count) is not int or not 0 <= count < _LIMIT for count in padding.values()),
            f"padding_words is of {sorted(padding)}, not of the page sets":
                set(padding) != (set() if self.columns == 1 else set(self.topologies)),
            "min_weight or max_weight is no number":
                any(type(weight) not in (int, float, type(None)) for weight in (self.min_weight, self.max_weight)),
            "id_base, provenance or uuid has the wrong type": type(self.id_base) is not int
                or not isinstance(self.provenance, dict) or not isinstance(self.uuid, str),
        }  # fmt: skip
        for what, holds in wrong.items():
            if holds:
                raise StoreError(f"{where}: {what}. {REBUILD}")


REBUILD = "The store is damaged or was not written by gstream; convert the graph again."


def scrub_first(path: str) -> str:
    """The remedy before REBUILD, for damage with which the store at `path` can still be opened."""
    return f"`gstream verify {path}` lists all that is damaged. "


_COUNTS = (
    "vertices", "edges", "max_out_degree", "max_in_degree", "self_loops", "duplicates", "dropped_self_loops",
    "dropped_duplicates", "dropped_lines", "page_bytes", "id_bytes",
)  # fmt: skip
_ALLOWED: dict[str, tuple] = {
    "order": ORDERS, "id_kind": ID_KINDS, "id_bytes": (4, 8), "weight_dtype": (None, *WEIGHT_DTYPES),
    "topologies": (("out",), ("in",), ("out", "in")), "directed": (True, False), "weighted": (True, False),
    "heads": (True, False), "columns": (1, *COLUMN_WIDTHS),
}  # fmt: skip
_OF_COLUMNS = ("columns", "padding_words")  # fields that version 1 has not


def encode_meta(meta: Meta, checksums: dict[str, int]) -> bytes:
    """The 65,536 bytes of /meta. Long lists in the provenance are cut, with their length kept, until it fits."""
    graph = asdict(meta)
    if meta.columns == 1:
        graph = {name: value for name, value in graph.items() if name not in _OF_COLUMNS}
    while True:
        document = {"format": FORMAT, "version": meta.version, "checksums": checksums, "graph": graph}
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        data = _PREFIX + b'00000000",' + text[1:].encode("ascii")
        if len(data) <= META_BYTES:
            break
        graph["provenance"] = _shorten(graph["provenance"])
    data = data.ljust(META_BYTES)
    return data[: _DIGITS.start] + f"{crc32(data):08x}".encode() + data[_DIGITS.stop :]


def decode_meta(data: bytes, where: str) -> tuple[Meta, dict[str, int]]:
    """Meta and the CRCs of the checksum datasets. Raises StoreError when a bit is wrong or a field is unknown."""
    digits = data[_DIGITS]
    zeroed = data[: _DIGITS.start] + b"0" * 8 + data[_DIGITS.stop :]
    if len(data) != META_BYTES or data[: _DIGITS.start] != _PREFIX or digits != f"{crc32(zeroed):08x}".encode():
        with suppress(ValueError, RecursionError):
            _refuse_version(_parsed(data), where)
        raise StoreError(f"{where}: the description in /meta fails its checksum. {REBUILD}")
    try:
        document = _parsed(data)
        _refuse_version(document, where)
        version = document["version"]
        if document["format"] != FORMAT or version not in VERSIONS:
            raise ValueError(f"its format is {document['format']!r}")
        graph = dict(document["graph"])
        graph["topologies"] = tuple(graph["topologies"])
        known = {entry.name for entry in fields(Meta)} - set(_OF_COLUMNS if version == VERSION else ())
        unknown = set(graph) ^ known
        if unknown or (version == COLUMN_VERSION and graph["columns"] == 1):
            raise StoreError(f"{where}: /meta has missing or unknown fields {sorted(unknown)}. {REBUILD}")
        meta = Meta(**graph)
        checksums = {str(name): int(value) for name, value in document["checksums"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise StoreError(f"{where}: the description in /meta can't be read ({error}). {REBUILD}") from error
    meta.check(where)
    return meta, checksums


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
            f"{' and '.join(map(str, VERSIONS))}. Convert the graph again, or use the gstream that wrote it."
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
