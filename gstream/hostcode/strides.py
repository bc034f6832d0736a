"""How far apart the neighbours of a list lie in a page (pagestore/layout.py), for all kernels of the host."""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper

__all__ = ["stride_of"]


@helper
def stride_of(words: Any, row: Any) -> Any:
    """Words from one neighbour of a list to the next in page `row`: 1, or what the header of a column page says."""
    return max((u64(words[row, 0]) >> u64(16)) & u64(0xFFFF), u64(1))
