"""Machine code for `make test`, made by Numba in half of the time.

Compiling is most of `make test`. A third of it is LLVM's work: it optimizes each function alone, then twice with all
that it calls, and chooses instructions with care. Graphs of tests are too small to repay that. Here LLVM makes
registers of variables and removes what is not used; sums keep their order, so that answers are the same bits. A sixth
of what is left is found again and again for the same types, or for nobody: here it is kept, or not found.
`make test-rest` and `make test-all` compile as users do.

Such code, and what runs of it teach about this machine's speed, are no user's: both lie in .pytest_cache. Variables say
so to the commands that tests start, which compile as users do what they don't find there; ranks compile quickly, too.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
from contextlib import nullcontext
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pagestore import caches

KEPT = Path(__file__).resolve().parent.parent / ".pytest_cache"
FOLDERS = {"NUMBA_CACHE_DIR": KEPT / "kernels", "XDG_CACHE_HOME": KEPT / "cache"}
PASSES = [f"add_{name}_pass" for name in ("sroa", "instruction_combine", "simplify_cfg", "global_dead_code_eliminate")]
# What is replaced or relied on of Numba's and llvmlite's own: SHA-256 of its text in Numba 0.65 to 0.68, as `digest`
# has it; "" where it has to be there alone.
KNOWN = {
    "numba.core.codegen:CPUCodeLibrary._optimize_functions": "9439219fa946f1ad",
    "numba.core.codegen:CPUCodeLibrary._optimize_final_module": "e405bd473752613b",
    "numba.core.codegen:CPUCodegen._module_pass_manager": "3f01da96a94f708b",
    "numba.core.types.functions:BaseFunction.get_call_type": "6559c167bfc0ad36",
    "llvmlite.ir:Type.get_abi_size": "01d00b21d2d646ca",
    "numba.core.postproc:PostProcessor": "fa7b78224258e390",
    "numba.core.postproc:VariableLifetime": "0bfbf4c869bb1c63",
    "numba.core.ir:Inst": "257d328b8628b2e8",
    "numba.core.annotations.type_annotations:TypeAnnotation.__str__": "190e430b774fbaa0",
    "numba.core.dispatcher:Dispatcher.compile": "0ab4aee15e79bb1d",
    "numba.core.transforms:canonicalize_cfg": "38ff9785d3d33748",
    "numba.core.event": "ab878d495f853279",
    **{f"llvmlite.binding:ModulePassManager.{name}": "" for name in PASSES},
}


class Change(NamedTuple):
    """What takes the place of a name. owner: the module or class that has it."""

    owner: Any
    name: str
    new: Any


def compile_quickly() -> list[str]:
    """Have this process, and in part those that it starts, compile so from now on, before anything is compiled.

    All compile as users do where a folder for machine code is named already, where ours can't be used, and where
    Numba's own compiler is another than the one that is known here: its names that are not are returned.
    """
    named = os.environ.get("NUMBA_CACHE_DIR", str(FOLDERS["NUMBA_CACHE_DIR"]))
    if named != str(FOLDERS["NUMBA_CACHE_DIR"]) or any(map(caches.why_refused, FOLDERS.values())):
        return []
    os.environ.update({name: str(folder) for name, folder in FOLDERS.items()})  # before Numba looks at them
    os.environ["NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"] = "1"  # it tries types by errors that nobody sees
    other = unknown()
    for owner, name, new in [] if other else changes():
        setattr(owner, name, new)
    return other


def found(name: str) -> Any:
    """What a name of KNOWN stands for; ImportError or AttributeError where it stands for nothing."""
    module, _, inner = name.partition(":")
    return reduce(getattr, inner.split("."), import_module(module)) if inner else import_module(module)


def digest(what: Any) -> str:
    """What tells the text of a module, a class or a function from another one."""
    return hashlib.sha256(inspect.getsource(what).encode()).hexdigest()[:16]


def unknown() -> list[str]:
    """Names of KNOWN that are missing or have another text than is known."""
    other = []
    for name, known in KNOWN.items():
        try:
            what = found(name)
            same = not known or digest(what) == known
        except (
            ImportError,
            AttributeError,
            TypeError,
            OSError,
        ):  # TypeError: no function; OSError: without text
            same = False
        other += [] if same else [name]
    return other


def changes() -> list[Change]:
    """All that is replaced."""
    from llvmlite import ir as llvm
    from numba.core import codegen, config, dispatcher, event, ir, postproc
    from numba.core.annotations.type_annotations import TypeAnnotation
    from numba.core.types.functions import BaseFunction

    return [
        Change(config, "OPT", type(config.OPT)(0)),  # how instructions are chosen
        Change(codegen.CPUCodeLibrary, "_optimize_functions", _leave_functions),
        Change(codegen.CPUCodeLibrary, "_optimize_final_module", _tidy),
        Change(BaseFunction, "get_call_type", _remembered(BaseFunction.get_call_type)),
        Change(llvm.Type, "get_abi_size", _sized(llvm.Type.get_abi_size)),
        Change(postproc.PostProcessor, "run", _without_lifetimes(postproc.PostProcessor.run)),
        Change(ir.Inst, "_rec_list_vars", _variables_in),
        Change(TypeAnnotation, "__str__", lambda self: ""),  # the source with its types, kept beside machine code
        Change(dispatcher.Dispatcher, "compile", _alone(dispatcher.Dispatcher.compile)),
        *_tell_listeners_alone(event),
    ]


def go_on() -> None:
    """In a process that tests started: compile as they do."""
    if os.environ.get("NUMBA_CACHE_DIR") == str(FOLDERS["NUMBA_CACHE_DIR"]):
        compile_quickly()


def _leave_functions(self: Any, module: Any) -> None:
    """What is done once all is together is not done before."""
    module.data_layout = self._codegen._data_layout


def _tidy(self: Any) -> None:
    """Passes over a function with all that it calls. Numba keeps no code that names an address of this process, as
    names do that are not used: they go."""
    passes, builder = self._codegen._module_pass_manager(opt=0, loop_vectorize=False, slp_vectorize=False)
    for name in PASSES:
        getattr(passes, name)()
    passes.run(self._final_module, builder)


def _alone(usual: Any) -> Any:
    """No two processes compile a function for the same types at once: the later finds what the first has made. Ranks
    come to their kernels together."""
    from numba.core.compiler_lock import global_compiler_lock

    def compile(self: Any, types: Any) -> Any:
        if getattr(self._cache, "cache_path", None) is None:  # nothing is kept of it
            return usual(self, types)
        code = self.py_func.__code__
        whose = repr((code.co_filename, code.co_qualname, code.co_firstlineno, types))
        path = FOLDERS["NUMBA_CACHE_DIR"] / f"{hashlib.sha256(whose.encode()).hexdigest()[:24]}.lock"
        with global_compiler_lock:  # first: a thread that has it may want the file that another holds
            try:
                lock = open(path, "w")
            except OSError:  # as some tests have it
                return usual(self, types)
            with lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                try:
                    return usual(self, types)
                finally:
                    fcntl.flock(lock, fcntl.LOCK_UN)  # closing alone does not, where another thread has forked

    return compile


def _remembered(usual: Any) -> Any:
    """What an operator or a function of Numba's gives for types is found once."""
    signatures: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        key = self, context, args, tuple(dict(kws).items())
        try:
            found = signatures.get(key)
        except TypeError:  # a slice has no hash
            return usual(self, context, args, kws)
        if found is None:
            found = signatures[key] = usual(self, context, args, kws)
        return found

    return get_call_type


def _sized(usual: Any) -> Any:
    """A type's size is found once: LLVM reads a module for it."""
    sizes: dict[Any, int] = {}

    def get_abi_size(self: Any, target_data: Any, context: Any = None) -> int:
        key = str(self), target_data
        if context is not None or "%" in key[0]:  # the name of a type says nothing of its size
            return usual(self, target_data, context)
        if key not in sizes:
            sizes[key] = usual(self, target_data)
        return sizes[key]

    return get_abi_size


def _without_lifetimes(usual: Any) -> Any:
    """How long variables live is asked by the last pass alone, of the ten that find it."""
    from numba.core import postproc, transforms

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if emit_dels or function.is_generator:
            usual(self, emit_dels, extend_lifetimes)
        else:
            function.blocks = transforms.canonicalize_cfg(function.blocks)
            function.variable_lifetime, function.generator_info = postproc.VariableLifetime(function.blocks), None

    return run


def _variables_in(self: Any, value: Any) -> list[Any]:
    """Variables of an instruction's parts, without a call for each part."""
    from numba.core import ir

    if isinstance(value, ir.Var):
        return [value]
    if isinstance(value, ir.Inst):
        return value.list_vars()
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return []
    found: list[Any] = []
    for part in value:
        if isinstance(part, ir.Var):
            found.append(part)
        elif not isinstance(part, str | int | ir.Loc):
            found += _variables_in(self, part)
    return found


def _tell_listeners_alone(event: Any) -> list[Change]:
    """Events that nobody listens to are not made: one comes with each call of LLVM. Nobody reads the times of locks."""
    registered, tell, begin, end = event._registered, event.trigger_event, event.start_event, event.end_event
    return [
        Change(event, "trigger_event", lambda kind, data=None: tell(kind, data) if registered[kind] else nullcontext()),
        Change(event, "start_event", lambda kind, data=None: begin(kind, data) if registered[kind] else None),
        Change(
            event,
            "end_event",
            lambda kind, data=None, exc_details=None: end(kind, data, exc_details) if registered[kind] else None,
        ),
        Change(event, "install_timer", lambda kind, callback: nullcontext()),
    ]
