"""Coded pages, as constants: where things are in one (pagestore/FORMAT.md, "Coded pages").

A coded page is an array of 4-byte words:

    | the page's header | flags, words | entries of chunks | chunk | chunk | ... | 4 zero words or more |

A chunk codes up to 1024 items of an ascending stream: the neighbours of the page in their order, or its vertices.

    | P0: a bit an item | P1: a bit where P0 has 1 | P2: where P1 has 1 | P3: where P2 has 1 | fields, back to back |

An item's class is how many of its bits are 1, and each class has a width for its field: three for gaps between
neighbours, two for the first neighbour of a list. Most gaps of a chunk are short, so most items take one bit and few.
"""

from __future__ import annotations

CHUNK = 1024  # items of a chunk: 32 for each lane of a warp
PAGE_HEADER_WORDS = 8  # of the page itself
FLAGS, WORDS = 8, 9  # words of the coded page: flags, and how many words it has
FIRST_ENTRY = 10
RELATIVE = 1  # flag: a list's first neighbour is coded as zigzag(neighbour - vertex)
REPEATS = 2  # flag: some neighbour is repeated, so that gaps are coded as they are, and not less 1
SPARSE = 4  # flag: vertices have gaps between them, and are coded as a stream of their own
CLASSES = 5  # 0 to 2: gaps; 3, 4: first neighbours
# An entry: word at which the chunk begins, widths, lists that began before it, number of the last such list's first
# edge, then the ID of the item before.
OFFSET, WIDTHS, LISTS, LAST_START, CARRY = range(5)
TAIL_WORDS = 4  # zero words at the end, which readers of two words may read
ROUND_WORDS = 4  # a coded page is a multiple of 16 bytes
# Of coded weights: width and shift, base. A field that is not 0 stands for base + field * 2^shift: floats have a common
# base, and zeros at their end.
WEIGHTS_HEADER_WORDS = 2
SHIFT_BITS = 8  # word 0 has the width below, the shift above them


def entry_words(id_bytes: int) -> int:
    """Words of a chunk's entry."""
    return CARRY + id_bytes // 4


def most_width(id_bytes: int) -> int:
    """Bits of the widest field: IDs are below 2^32 or 2^63."""
    return 32 if id_bytes == 4 else 63


def chunks(items: int) -> int:
    """How many chunks a stream of so many items has."""
    return -(-items // CHUNK)


# Blocks of coded arrays: heads and degrees (pagestore/coding/blocks.py). A block has a header, then one chunk.
HEAD_ROWS, NUMBER_ROWS = 256, CHUNK  # rows of a block: as many items as a chunk has, or fewer
ITEMS, BLOCK_FLAGS = 2, 3  # words of the header, after OFFSET and WIDTHS
NUMBERS_HEADER, HEADS_HEADER = 4, 4 + HEAD_ROWS // 32  # words: heads have a bit a row, 1 where it has neighbours
BLOCK_ROOM = 2 * CHUNK + 256  # words of 8 bytes: more than any block takes


def block_rows(heads: bool) -> int:
    """Rows of a block of an array: of heads, or of numbers."""
    return HEAD_ROWS if heads else NUMBER_ROWS
