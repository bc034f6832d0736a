"""How functions are compiled: by Numba, at their first call, their machine code kept on disk.

Numba numbers the files of machine code that a function has, one for the types of each call, and writes its index of
them first. Two processes that compile for different types at once may take the same number: from then on, for good,
one gets the other's machine code, as it does where a process is killed between index and file. Here a file's name says
whose it is, and the index comes last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile


class CacheFile(IndexDataCacheFile):
    """The files of one function's machine code, safe with any number of writers."""

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code; key: types, processor and bytecode."""
        whose = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()[:32]
        name = f"{self._index_name.removesuffix('.nbi')}.{whose}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


def compiled(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """numba.njit without the GIL, with these options; compiled anew in each process where no folder can be written
    (a read-only installation, no home)."""
    if function is None:
        return partial(compiled, **options)
    try:
        made = numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(nogil=True, **options)(function)
    with suppress(AttributeError):  # where Numba is switched off, or keeps its files in another way
        cache = made._cache
        cache._cache_file = CacheFile(
            cache.cache_path, cache._impl.filename_base, cache._impl.locator.get_source_stamp()
        )
    return made
