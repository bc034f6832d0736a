"""ISA-L's CRC-32 called from machine code: many pages in one release of the GIL.

A call of `isal_zlib.crc32` a page takes and gives up the GIL each time, and beside a busy Python thread each hand-over
costs up to 5 ms. The extension module exports the C function, so a loop that calls it by address is all it takes. The
loop is made with llvmlite in 10 ms at the first use; the same by Numba takes half a second of imports in every process
that opens a store. `crc_rows` is None where the symbol can't be found (no ISA-L); callers then go page by page.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

I32, I64 = ir.IntType(32), ir.IntType(64)
LOOP = "pagestore_crc_rows"


def _address() -> int | None:
    """Where uint32_t crc32_gzip_refl(uint32_t seed, const unsigned char *buffer, uint64_t length) is."""
    try:
        from isal import isal_zlib

        return ctypes.cast(ctypes.CDLL(isal_zlib.__file__).crc32_gzip_refl, ctypes.c_void_p).value
    except (ImportError, OSError, AttributeError):
        return None


def _text(address: int) -> str:
    """for (i = 0; i < rows; i++) crcs[i] = crc(crc(0, &(number = first + i), 8), data + i * size, size)"""
    module = ir.Module(LOOP)
    loop = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 5), LOOP)  # pointers as numbers, too
    first, rows, size, data, crcs = loop.args
    blocks = [loop.append_basic_block(name) for name in ("entry", "test", "body", "done")]
    entry, test, body, done = (ir.IRBuilder(block) for block in blocks)
    kind = ir.FunctionType(I32, [I32, I64, I64])  # integers travel as pointers do in every 64-bit convention
    crc = entry.inttoptr(ir.Constant(I64, address), kind.as_pointer())
    number, index = entry.alloca(I64), entry.alloca(I64)
    entry.store(ir.Constant(I64, 0), index)
    entry.branch(blocks[1])
    i = test.load(index)
    test.cbranch(test.icmp_unsigned("<", i, rows), blocks[2], blocks[3])
    body.store(body.add(first, i), number)
    seed = body.call(crc, [ir.Constant(I32, 0), body.ptrtoint(number, I64), ir.Constant(I64, 8)])
    found = body.call(crc, [seed, body.add(data, body.mul(i, size)), size])
    at = body.add(crcs, body.mul(i, ir.Constant(I64, 4)))
    body.store(found, body.inttoptr(at, I32.as_pointer()))
    body.store(body.add(i, ir.Constant(I64, 1)), index)
    body.branch(blocks[1])
    done.ret_void()
    return str(module)


def _made() -> Callable[[int, np.ndarray, np.ndarray], None] | None:
    address = _address()
    if address is None:
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(_text(address)), machine)
    engine.finalize_object()
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 5)(engine.get_function_address(LOOP))

    def crc_rows(first: int, rows: np.ndarray, crcs: np.ndarray, kept: Any = engine) -> None:
        """crcs u4[n] of pages first..first+n-1, given as contiguous uint8[n, bytes]."""
        loop(first, rows.shape[0], rows.shape[1], rows.ctypes.data, crcs.ctypes.data)

    return crc_rows


crc_rows = _made()
