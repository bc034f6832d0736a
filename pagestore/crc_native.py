"""ISA-L's CRC-32 called from compiled code: many pages in one release of the GIL.

A call of `isal_zlib.crc32` a page takes and gives up the GIL each time, and beside a busy Python thread each hand-over
costs up to 5 ms. The extension module exports the C function, so compiled code calls it by address. `crc_rows` is
None where the symbol can't be found (no ISA-L); callers then go page by page.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numba import njit, types

_SYMBOL = "pagestore_crc32_gzip_refl"  # our name for it, bound below in every process


def _bind() -> bool:
    """Make ISA-L's function known to LLVM under `_SYMBOL`; the cached machine code refers to it by that name."""
    try:
        import llvmlite.binding
        from isal import isal_zlib

        function = ctypes.CDLL(isal_zlib.__file__).crc32_gzip_refl
    except (ImportError, OSError, AttributeError):
        return False
    address = ctypes.cast(function, ctypes.c_void_p).value
    llvmlite.binding.add_symbol(_SYMBOL, address)
    return True


# uint32_t crc32_gzip_refl(uint32_t seed, const unsigned char *buffer, uint64_t length)
_crc32 = types.ExternalFunction(_SYMBOL, types.uint32(types.uint32, types.uintp, types.uint64))


@njit(nogil=True, cache=True)
def _crc_rows(first, rows, crcs):
    number = np.empty(1, np.uint64)
    for i in range(rows.shape[0]):
        number[0] = first + np.uint64(i)
        seed = _crc32(np.uint32(0), number.ctypes.data, np.uint64(8))
        crcs[i] = _crc32(seed, rows[i].ctypes.data, np.uint64(rows.shape[1]))


crc_rows = _crc_rows if _bind() else None
