"""CRC-32 (zlib's polynomial) over what a store holds: pages and blocks of arrays.

The CRC of page `number` covers the number (u64, little-endian) and then the page's bytes. So a page that landed in
another page's place is found. ISA-L computes it at about 11 GB/s a core.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
from isal import isal_zlib

crc32 = isal_zlib.crc32
LOOP = "pagestore_crc_rows"


def page_crc(number: int, data: Any) -> int:
    """CRC-32 of a page or block: its number as u64, then its bytes (any contiguous buffer)."""
    return crc32(data, crc32(number.to_bytes(8, "little")))


def page_crcs(first: int, pages: np.ndarray) -> np.ndarray:
    """CRCs u4[n] of pages first..first+n-1, given as a contiguous uint8[n, bytes]."""
    if pages.dtype != np.uint8 or pages.ndim != 2 or not pages.flags.c_contiguous:
        raise ValueError("pages must be a contiguous uint8[n, bytes]")
    if (loop := _compiled_loop()) is not None:
        crcs = np.empty(len(pages), np.uint32)
        loop(first, pages.shape[0], pages.shape[1], pages.ctypes.data, crcs.ctypes.data)
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


@cache
def _compiled_loop() -> Callable[[int, int, int, int, int], None] | None:
    """A loop over pages in machine code: (first number, pages, bytes of one, addresses of pages and of CRCs).

    A call of `crc32` a page takes and gives up the GIL each time; beside a busy Python thread each hand-over costs up
    to 5 ms. llvmlite makes this loop in 10 ms. Numba would need half a second of imports in every process that opens a
    store. None where the extension module does not export ISA-L's function: callers then go page by page.
    """
    address = _address()
    if address is None:
        return None
    import llvmlite.binding as llvm

    numba = sys.modules.get("numba.core.compiler_lock")  # where it is loaded, this counts as its compiling
    with nullcontext() if numba is None else numba.global_compiler_lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(_text(address)), machine)
        engine.finalize_object()
    loop: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 5)(engine.get_function_address(LOOP))
    loop.engine = engine  # the machine code lives as long as the engine
    return loop


def _address() -> int | None:
    """Where uint32_t crc32_gzip_refl(uint32_t seed, const unsigned char *buffer, uint64_t length) is."""
    try:
        return ctypes.cast(ctypes.CDLL(isal_zlib.__file__).crc32_gzip_refl, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None


def _text(address: int) -> str:
    """for (i = 0; i < rows; i++) crcs[i] = crc(crc(0, &(number = first + i), 8), data + i * size, size)"""
    from llvmlite import ir

    i32, i64 = ir.IntType(32), ir.IntType(64)
    module = ir.Module(LOOP)
    loop = ir.Function(module, ir.FunctionType(ir.VoidType(), [i64] * 5), LOOP)  # pointers as numbers, too
    first, rows, size, data, crcs = loop.args
    blocks = [loop.append_basic_block(name) for name in ("entry", "test", "body", "done")]
    entry, test, body, done = (ir.IRBuilder(block) for block in blocks)
    kind = ir.FunctionType(i32, [i32, i64, i64])  # integers travel as pointers do in every 64-bit convention
    crc = entry.inttoptr(ir.Constant(i64, address), kind.as_pointer())
    number, index = entry.alloca(i64), entry.alloca(i64)
    entry.store(ir.Constant(i64, 0), index)
    entry.branch(blocks[1])
    i = test.load(index)
    test.cbranch(test.icmp_unsigned("<", i, rows), blocks[2], blocks[3])
    body.store(body.add(first, i), number)
    seed = body.call(crc, [ir.Constant(i32, 0), body.ptrtoint(number, i64), ir.Constant(i64, 8)])
    found = body.call(crc, [seed, body.add(data, body.mul(i, size)), size])
    at = body.add(crcs, body.mul(i, ir.Constant(i64, 4)))
    body.store(found, body.inttoptr(at, i32.as_pointer()))
    body.store(body.add(i, ir.Constant(i64, 1)), index)
    body.branch(blocks[1])
    done.ret_void()
    return str(module)
