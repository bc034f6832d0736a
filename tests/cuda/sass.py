"""Machine code of a cubin by kernel: enough of ELF and of the instruction encoding to find calls, without cuobjdump."""

from __future__ import annotations

import struct
from pathlib import Path

# Opcodes, the low 12 bits of a 16-byte instruction since Volta (as cuobjdump -sass of CUDA 13 prints them).
CALLS = {0x343: "CALL.ABS", 0x344: "CALL.REL", 0x943: "CALL.ABS.NOINC", 0x944: "CALL.REL.NOINC"}


def text_sections(cubin: Path) -> dict[str, bytes]:
    """Kernel name -> its machine code."""
    data = cubin.read_bytes()
    assert data[:4] == b"\x7fELF"
    offset, entry, count, names_index = struct.unpack_from("<Q", data, 40) + struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQ", data, offset + k * entry) for k in range(count)]
    names_at = rows[names_index][4]
    found = {}
    for name, _, _, _, start, size in rows:
        begin = names_at + name
        text = data[begin : data.index(b"\0", begin)].decode()
        if text.startswith(".text."):
            found[text[6:]] = data[start : start + size]
    return found


def opcodes(code: bytes) -> list[int]:
    return [int.from_bytes(code[at : at + 2], "little") & 0xFFF for at in range(0, len(code), 16)]


def calls(cubin: Path) -> dict[str, int]:
    """Kernel name -> how many calls its machine code has."""
    return {name: sum(code in CALLS for code in opcodes(text)) for name, text in text_sections(cubin).items()}
