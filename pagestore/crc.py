"""CRC-32 (zlib's polynomial) over what a store holds: pages and blocks of arrays.

The CRC of page `number` covers the number (u64, little-endian) and then the page's bytes, so that a page that landed
in another page's place is found. ISA-L computes it at about 11 GB/s a core, zlib, the fallback, at about 1 GB/s.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from isal import isal_zlib

    crc32: Callable = isal_zlib.crc32
except ImportError:  # same polynomial, ten times slower
    crc32 = zlib.crc32


def page_crc(number: int, data: Any) -> int:
    """CRC-32 of a page or block: its number as u64, then its bytes (any contiguous buffer)."""
    return crc32(data, crc32(number.to_bytes(8, "little")))


def page_crcs(first: int, pages: np.ndarray) -> np.ndarray:
    """CRCs u4[n] of pages first..first+n-1, given as uint8[n, bytes]; one call without the GIL where ISA-L is there."""
    if pages.dtype != np.uint8 or pages.ndim != 2 or not pages.flags.c_contiguous:
        raise ValueError("pages must be a contiguous uint8[n, bytes]")
    from pagestore.crc_native import crc_rows

    if crc_rows is not None:
        crcs = np.empty(len(pages), np.uint32)
        crc_rows(first, pages, crcs)
        return crcs
    return np.array([page_crc(first + i, row) for i, row in enumerate(pages)], np.uint32)


def block_crcs(data: np.ndarray, first: int, block_bytes: int) -> np.ndarray:
    """CRCs u4[ceil(bytes / block_bytes)] of consecutive blocks of uint8[bytes]; the last block may be shorter."""
    whole = len(data) // block_bytes
    if whole == 0:  # most arrays of small stores
        return np.array([page_crc(first, data)] if len(data) else [], np.uint32)
    crcs = page_crcs(first, data[: whole * block_bytes].reshape(whole, block_bytes))
    if whole * block_bytes < len(data):
        last = np.uint32(page_crc(first + whole, data[whole * block_bytes :]))
        crcs = np.append(crcs, last)
    return crcs
