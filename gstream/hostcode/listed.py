"""Small frontiers as lists of vertices (gstream.small): kernels for one thread, which look at each bit once."""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import helper, kernel

__all__ = ["are_read", "list_active", "list_following", "pages_of"]

AT_ONCE = 16  # words


@helper
def _listed(bits: Any, degree: Any, listed: Any) -> Any:
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


@kernel
def list_active(bits: Any, degree: Any, listed: Any) -> Any:
    """(vertices, their edges) of a bitmap; as many as listed (uint64[most]) has room for are there, ascending."""
    return _listed(bits, degree, listed)


@kernel
def list_following(bits: Any, following: Any, vertices: Any, degree: Any, listed: Any) -> Any:
    """list_active of `following`, after the bits of the first `vertices` of `listed`, all that are set, are cleared."""
    for index in range(vertices):
        bits[listed[index] >> u64(6)] = u64(0)
    return _listed(following, degree, listed)


@kernel
def are_read(read: Any, first_vertex: Any, last_vertex: Any, small: Any, vertices: Any) -> Any:
    """Whether every page that may hold one of `vertices` (uint64[k], ascending) is; read: bool[pages].

    Of pages first_vertex to last_vertex (uint64[pages]), of which the first `small` ascend, and the others.
    """
    page, large = u64(0), u64(small)
    for v in vertices:
        while page < u64(small) and u64(last_vertex[page]) < v:
            page += u64(1)
        if page < u64(small) and u64(first_vertex[page]) <= v and not read[page]:
            return False
        while large < u64(len(read)) and u64(last_vertex[large]) < v:
            large += u64(1)
        behind = large
        while behind < u64(len(read)) and u64(first_vertex[behind]) <= v:
            if not read[behind]:
                return False
            behind += u64(1)
    return True


@kernel
def pages_of(records: Any, small: Any) -> Any:
    """In how many pages records lie, of which vertices ascend; the first `small` pages are small, the others large."""
    pages, last_small, last_large = i64(0), i64(-1), i64(-1)
    for index in range(len(records)):
        row = i64(records[index, 0])
        if row >= i64(small):  # a hub's, with records of one small page before and after it
            pages += i64(row != last_large)
            last_large = row
        else:
            pages += i64(row != last_small)
            last_small = row
    return pages
