"""Machine code for `make test`, made by Numba in two thirds of the time.

Compiling is most of `make test`. A third of it is LLVM's work: it optimizes each function alone, then twice with all
that it calls, and chooses instructions with care. Graphs of tests are too small to repay that. Here LLVM makes
registers of variables and removes what is not used; sums keep their order, so that answers are the same bits.
`make test-rest` and `make test-all` compile as users do.

Such code, and what runs of it teach about this machine's speed, are no user's: both lie in .pytest_cache. Variables say
so to the commands that tests start, which compile as users do what they don't find there; ranks compile quickly, too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pagestore import caches

KEPT = Path(__file__).resolve().parent.parent / ".pytest_cache"
FOLDERS = {"NUMBA_CACHE_DIR": KEPT / "kernels", "XDG_CACHE_HOME": KEPT / "cache"}
PASSES = [f"add_{name}_pass" for name in ("sroa", "instruction_combine", "simplify_cfg", "global_dead_code_eliminate")]


def compile_quickly() -> None:
    """Have this process, and in part those that it starts, compile so from now on, before anything is compiled.

    All compile as users do where a folder for machine code is named already, where ours can't be used, and where
    Numba's own compiler is another than the one that is known here.
    """
    named = os.environ.get("NUMBA_CACHE_DIR", str(FOLDERS["NUMBA_CACHE_DIR"]))
    if named != str(FOLDERS["NUMBA_CACHE_DIR"]) or any(map(caches.why_refused, FOLDERS.values())):
        return
    os.environ.update({name: str(folder) for name, folder in FOLDERS.items()})  # before Numba looks at them
    from llvmlite import binding
    from numba.core import codegen, config

    passes, made = getattr(binding, "ModulePassManager", None), codegen.CPUCodegen
    known = hasattr(made, "_module_pass_manager") and hasattr(codegen.CPUCodeLibrary, "_optimize_functions")
    if known and all(hasattr(passes, name) for name in PASSES):
        config.OPT = type(config.OPT)(0)  # how instructions are chosen
        codegen.CPUCodeLibrary._optimize_functions = _leave_functions
        codegen.CPUCodeLibrary._optimize_final_module = _tidy


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
