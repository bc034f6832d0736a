"""Small frontiers as lists of vertices (gstream.engine.small_frontier): for one thread, which looks at each bit
once.
"""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import kernel

__all__ = ["list_active"]

AT_ONCE = 16  # words


@kernel
def list_active(bits: Any, degree: Any, listed: Any) -> Any:
    """(vertices, their edges) of a bitmap; as many as listed (uint64[most]) has room for are there, ascending."""
    vertices, edges, end = i64(0), i64(0), u64(len(bits))
    for begin in range(u64(0), end, u64(AT_ONCE)):
        after = min(begin + u64(AT_ONCE), end)
        union = u64(0)
        for index in range(begin, after):  # most are empty: of 17,000 words, this takes a third of the time
            union |= bits[index]
        if union == u64(0):
            continue
        for index in range(begin, after):
            word = bits[index]
            while word != u64(0):
                v = (index << u64(6)) + trailing_zeros(word)
                word &= word - u64(1)
                if vertices < len(listed):
                    listed[vertices] = v
                vertices += i64(1)
                edges += i64(degree[v])
    return vertices, edges
