"""Slotted pages, as constants and one small class: where things are in a page (GStream thesis 3.1, Figure 2).

A page is an array of *words*; a word is one vertex ID (4 or 8 bytes, little-endian).

    word 0                                                                    word W
    | header | size n0 n1 ... | size n0 n1 ... | ...free... | v1 r1 | v0 r0 |
               record 0 (at word r0)                          slot 1  slot 0

Records grow forward, slots backward from the end: slot i is the words W-2(i+1) (vertex ID) and W-2(i+1)+1 (the word
at which its record starts). A large page has one record: a stretch of one hub's list, at `position` of that list.
Pages are numbered small pages first, then large ones, each kind in ascending vertex order.

A small page may be a *column page* (Edge-Vertex paper, section 4.2): groups of `layout` consecutive slots
(Per_Group_Num) lie column by column, each padded to its longest list. So lanes with a record each read coalesced:

    | header | n0 n1 n2 ... | first neighbours of the group | second ones, 0 where a list has none | ... | next group |

All that a reader needs is one *stride* a page, 1 or `layout`: neighbour k of a record is at record + stride * (k + 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

HEADER_BYTES = 32
HEADER = np.dtype(
    [
        ("kind", "<u2"),
        ("layout", "<u2"),
        ("records", "<u4"),
        ("first_vertex", "<u8"),
        ("edges", "<u8"),
        ("position", "<u8"),
    ]
)
SMALL, LARGE = 0, 1  # kind
ROW = 0  # layout; a column page's is the slots of a group
COLUMN_WIDTHS = (8, 16, 32, 64, 128)  # Per_Group_Num: what a column page's layout may be
SLOT_WORDS = 2
HEAD_NEIGHBOURS = 4
GROUP_SIZES = (1, 2, 4, 8, 16, 32)  # lanes that share one record (SIMD paper)
MIN_PAGE_BYTES = 4096
DEFAULT_PAGE_BYTES = 1 << 20
STRETCH_BYTES = 16 << 20  # the unit of ownership and the largest batch: a batch never crosses a stretch

# One row a page. `position` is the large page's offset into its hub's list, in edges; 0 for small pages.
# `edges_before` is the sum of `edges` of all earlier rows. CRCs cover (page number as u64, page bytes).
DIRECTORY = np.dtype(
    [
        ("kind", "u1"),
        ("layout", "u1"),
        ("group", "u1"),
        ("flags", "u1"),
        ("records", "<u4"),
        ("first_vertex", "<u8"),
        ("last_vertex", "<u8"),
        ("edges", "<u8"),
        ("edges_before", "<u8"),
        ("position", "<u8"),
        ("crc", "<u4"),
        ("weights_crc", "<u4"),
    ]
)


@dataclass(frozen=True)
class PageLayout:
    """Geometry of a page set: `page_bytes` (a power of two from 4 KiB) and `id_bytes` (4 or 8)."""

    page_bytes: int = DEFAULT_PAGE_BYTES
    id_bytes: int = 4

    def __post_init__(self) -> None:
        if self.id_bytes not in (4, 8):
            raise ValueError(f"id_bytes is {self.id_bytes}; it must be 4 or 8")
        if self.page_bytes < MIN_PAGE_BYTES or self.page_bytes & (self.page_bytes - 1):
            raise ValueError(f"page_bytes is {self.page_bytes}; it must be a power of two from {MIN_PAGE_BYTES}")

    @property
    def id_dtype(self) -> np.dtype:
        return np.dtype("<u4") if self.id_bytes == 4 else np.dtype("<u8")

    @property
    def none(self) -> int:
        """The ID that means "no vertex" (missing head entries): all bits set."""
        return (1 << (8 * self.id_bytes)) - 1

    @property
    def words(self) -> int:
        return self.page_bytes // self.id_bytes

    @property
    def header_words(self) -> int:
        return HEADER_BYTES // self.id_bytes

    @property
    def longest_list(self) -> int:
        """Neighbours that one empty page holds; longer lists go to large pages, stretches of this length."""
        return self.words - self.header_words - SLOT_WORDS - 1

    @property
    def stretch_pages(self) -> int:
        """Pages in one stretch (16 MiB, at least one page)."""
        return max(1, STRETCH_BYTES // self.page_bytes)

    def weight_page_bytes(self, weight_bytes: int) -> int:
        """Bytes of the weights page beside a page: element k of it is the weight of the neighbour in word k."""
        return self.words * weight_bytes


def other_headers(rows: np.ndarray, pages: np.ndarray) -> np.ndarray:
    """bool[n]: which of the pages (uint8[n, page_bytes]) have a header that their row of the directory contradicts."""
    headers = pages[:, :HEADER_BYTES].copy().view(HEADER)[:, 0]
    differ: np.ndarray = np.any([headers[name] != rows[name] for name in HEADER.names or ()], axis=0)
    return differ
