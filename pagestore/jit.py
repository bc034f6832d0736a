"""How functions are compiled: by Numba, at their first call, their machine code kept on disk.

Numba numbers the files of machine code that a function has, one for the types of each call, and writes its index of
them first. Two processes that compile for different types at once may take the same number: from then on, for good,
one gets the other's machine code, as it does where a process is killed between index and file. Here a file's name says
whose it is, and the index comes last.

Numba also takes machine code for fresh while the function's own file is the same, though it holds what the function
calls and reads from other files, which an update may change. Here it is fresh while all of that is.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from types import CodeType, FunctionType
from typing import Any

import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile

CONSTANTS = (bool, int, float, complex, str, bytes, tuple, np.generic)


class CacheFile(IndexDataCacheFile):
    """The files of one function's machine code, safe with any number of writers. stamp: tells what it was made from."""

    def __init__(self, folder: str, base: str, stamp: Callable[[], str]) -> None:
        super().__init__(folder, base, None)
        self._stamp = stamp
        del self._source_stamp  # found at the first call: by then all is defined that the function names

    @cached_property
    def _source_stamp(self) -> str:
        return self._stamp()

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
        own = cache._impl.locator.get_source_stamp
        cache._cache_file = CacheFile(cache.cache_path, cache._impl.filename_base, lambda: stamp_of(made, own()))
    return made


def stamp_of(made: Any, own: Any) -> str:
    """Another text where anything is another that the machine code of `made` holds. own: what its own file is."""
    made_from = [repr(own), *_parts(made, set())]
    return hashlib.sha256("\n".join(made_from).encode()).hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """What stands for a value that compiled code names: for functions their files, and all that they name in turn."""
    if isinstance(value, CONSTANTS):
        yield repr(value)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, type):
        yield file_stamp(getattr(sys.modules.get(value.__module__), "__file__", None))
    elif id(value) not in seen:
        seen.add(id(value))
        if options := getattr(value, "targetoptions", None):
            yield repr(sorted(options.items()))
        function = getattr(value, "py_func", None) or getattr(value, "_defn", value)  # of Numba's intrinsics
        if isinstance(function, FunctionType):
            yield file_stamp(function.__code__.co_filename)
            for name in sorted(_names(function.__code__)):
                if name in function.__globals__:
                    yield from _parts(function.__globals__[name], seen)


def _names(code: CodeType) -> set[str]:
    """Names that a function's code looks up, those of functions inside it included."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inside)


@lru_cache(maxsize=1024)
def file_stamp(path: str | None) -> str:
    """Another text where a file is another, as Numba sees it."""
    with suppress(OSError, TypeError):
        found = os.stat(path)  # type: ignore[arg-type]
        return f"{found.st_mtime_ns} {found.st_size}"
    return ""
