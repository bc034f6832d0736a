"""How functions are compiled: by Numba, at their first call, with their machine code kept on disk.

Numba numbers the files of a function's machine code, one for the types of each call, and writes its index of them
first. Two processes that compile for different types at once may take the same number: from then on one gets the
other's machine code. The same happens where a process is killed between index and file. Here a file's name says whose
it is, and the index comes last.

Numba also trusts machine code while the function's own source file is unchanged. But the machine code includes called
functions and constants of other files, which an update may change. Here it is trusted while all of these are unchanged,
except those reached by a module's name and a dot.

Numba reads machine code from any folder that it can write to. Here the folder has to be ours alone
(pagestore.caches).

Before it loads machine code from disk, Numba prepares to compile: a quarter of a short command's time. Here it prepares
when it has to compile.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from pathlib import Path
from threading import RLock
from types import CodeType, FunctionType
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime import _nrt_python
from numba.extending import intrinsic

from pagestore.caches import kernel_folder
from pagestore.concurrency import cached_property, fork_waits_for

CONSTANTS = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, types.Type)
STAMPS: dict[FunctionType, str] = {}  # found so far
STAMPING = fork_waits_for(RLock())


class NoCollections(event.Listener):
    """Keeps the garbage collector from running while Numba compiles, under Numba's lock: it went through all that Numba
    holds, again and again, for a sixth of the time."""

    depth, wanted = 0, False

    def on_start(self, event: Any) -> None:
        """A function is compiled, perhaps for another one."""
        if self.depth == 0:
            self.wanted = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """The function is compiled, or could not be."""
        self.depth -= 1
        if self.depth == 0 and self.wanted:
            gc.enable()


event.register("numba:compile", NoCollections())


class CacheFile(IndexDataCacheFile):
    """The files of one function's machine code, safe with any number of writers. stamp: identifies its source."""

    def __init__(self, folder: str, base: str, stamp: Callable[[], str]) -> None:
        super().__init__(folder, base, None)
        self._stamp = stamp
        del self._source_stamp  # found at the first call: by then all names of the function are defined

    @cached_property
    def _source_stamp(self) -> str:
        return self._stamp()

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code; key: types, processor and bytecode."""
        whose = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()[:32]
        name = f"{self._index_name.removesuffix('.nbi')}.{whose}.nbc"
        fresh, before = self._load_index(), self._named()
        self._save_data(name, data)
        self._save_index({**fresh, key: name})
        for outdated in before - {name, *fresh.values()}:
            with suppress(OSError):
                os.unlink(os.path.join(self._cache_path, outdated))

    def _named(self) -> set[str]:
        """Files that the index names, outdated ones too."""
        with suppress(Exception), open(self._index_path, "rb") as file:  # absent, cut or another Numba's
            pickle.load(file)
            return set(pickle.loads(file.read())[1].values())
        return set()


class Place:
    """Where the machine code of a function lies, as Numba asks for it."""

    def __init__(self, folder: Path, line: int) -> None:
        self.folder, self.line = folder, line

    @classmethod
    def from_function(cls, function: Any, file: str) -> Place | None:
        """The place for a function of a source file; None where no folder can be used."""
        folder = kernel_folder(file) if os.path.exists(file) else None
        return None if folder is None else cls(folder, function.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self.folder)

    def ensure_cache_path(self) -> None:
        """Make the folder again, if somebody emptied the cache meanwhile."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Not used: see `CacheFile`."""
        return ""

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart."""
        return str(self.line)


class Places(CompileResultCacheImpl):
    """How Numba's cache finds the place of a function, and packs what lies there."""

    _locator_classes = [Place]


class KernelCache(FunctionCache):
    """The machine code of one function on disk."""

    _impl_class = Places

    def __init__(self, function: Callable[..., Any], stamp: Callable[[], str]) -> None:
        super().__init__(function)
        self._cache_file = CacheFile(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code for the types of a call, or None. Numba's own way prepares all that compiling needs first."""
        _tell_names()
        return self._load_overload(sig, target_context)


@cache
def _tell_names() -> None:
    """Tell LLVM the addresses of the functions of Numba's runtime that are written in C.

    Kept machine code calls them. It holds the runtime's other functions itself, which Numba would compile first.
    """
    for name, address in _nrt_python.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def compiled(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """numba.njit without the GIL, with these options; compiled anew in each process where no folder can be used."""
    if function is None:
        return partial(compiled, **options)
    made = numba.njit(nogil=True, **options)(function)
    if hasattr(made, "_cache"):  # not where Numba is switched off
        with suppress(RuntimeError):  # no folder
            made._cache = KernelCache(function, lambda: stamp_of(made))
    return made


def stamp_of(made: Any) -> str:
    """A text that changes with anything the machine code of the function `made` includes; "" for no function.

    Functions are identified by their bytecode in this process: their files may have changed meanwhile. Of functions
    that call each other in a circle the text depends on the one that is asked for first.
    """
    function = getattr(made, "py_func", None) or getattr(made, "_defn", made)  # of Numba's intrinsics
    if not isinstance(function, FunctionType):
        return ""
    with STAMPING:
        if function not in STAMPS:
            STAMPS[function] = "itself"
            try:
                STAMPS[function] = _stamp_anew(made, function)
            except BaseException:  # Ctrl-C
                del STAMPS[function]
                raise
        return STAMPS[function]


def _stamp_anew(made: Any, function: FunctionType) -> str:
    parts = _parts(tuple(sorted(getattr(made, "targetoptions", {}).items())))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    parts += _parts((function.__code__, function.__defaults__, *cells))
    for name in sorted(_names(function.__code__) & function.__globals__.keys()):
        parts += [name, *_parts(function.__globals__[name])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _parts(value: Any) -> list[str]:
    """Texts that identify a value that compiled code names."""
    if isinstance(value, tuple | frozenset):
        values = sorted(value, key=repr) if isinstance(value, frozenset) else value
        return [f"{len(value)} of", *(part for one in values for part in _parts(one))]
    if isinstance(value, np.ndarray):
        return [f"{value.dtype} {value.shape}", hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, type):
        members = repr(list(value)) if issubclass(value, Enum) else ""
        return [f"{value.__module__}.{value.__qualname__}", members]
    if isinstance(value, CONSTANTS):
        return [repr(value)]
    if isinstance(value, CodeType):
        return [value.co_code.hex(), repr((value.co_names, value.co_varnames)), *_parts(value.co_consts)]
    return [stamp_of(value)]


def _names(code: CodeType) -> set[str]:
    """Names that a function's code looks up, those of functions inside it included."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inside)


def _atomic(operation: str) -> Any:
    """An atomic update for code that runs on several threads (llvmlite's `atomicrmw`; Numba has none on the CPU)."""

    def typed(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        if not (isinstance(array, types.Array) and isinstance(array.dtype, types.Integer) and array.ndim == 1):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = context.cast(builder, arguments[1], signature.args[1], types.uintp)
            operand = context.cast(builder, arguments[2], signature.args[2], signature.args[0].dtype)
            builder.atomic_rmw(operation, builder.gep(vector.data, [place], inbounds=True), operand, "monotonic")
            return context.get_dummy_value()

        return types.void(array, index, value), generate

    typed.__name__ = f"atomic_{operation}"
    return intrinsic(typed)


# atomic_or(array, index, value), atomic_add(array, index, value): array[index] |= or += value in one step, relaxed
# order. `array` is a contiguous vector of integers; the index is not checked.
atomic_or = _atomic("or")
atomic_add = _atomic("add")
