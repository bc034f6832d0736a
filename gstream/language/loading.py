"""Programs, record kernels and algorithms of the user's own by path: `my_algorithm.py:MyProgram`."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from pagestore.errors import OURS, GstreamError, InputError, UsageError
from pagestore.nearnames import spelled

MODULES = "gstream_program_"  # how names of modules begin that are made of users' files
WHAT = (
    "A program is a class that inherits from gstream.Program, or a function under gstream.record_kernel or "
    "gstream.algorithm."
)
# One thread runs a file of a user's at a time: its module is looked up by its name until it has run. A fork does not
# wait for the file, whose end is the user's matter: the child begins with a lock of its own.
_RUNNING = [threading.RLock()]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _RUNNING.__setitem__(0, threading.RLock()))


def is_program_path(name: str) -> bool:
    """Whether `name` means a file with a program rather than an algorithm that comes with gstream."""
    return ":" in name or name.endswith(".py") or "/" in name


def load_program(name: str) -> Any:
    """What `FILE.py:NAME` names: a Program class, or a gstream.records.users.UserKernel or UserAlgorithm.

    The name may be left out where the file defines one program or algorithm only, or one kernel and nothing else. The
    file is run as a module of its own. Raises InputError when there is no such file, UsageError when it fails or the
    name is not in it, ProgramError (a UsageError) when it is outside the accepted subset.
    """
    path, _, wanted = name.partition(":") if name.endswith(".py") else name.rpartition(":")
    module = _run_file(Path(path))
    own = {key: member for key, member in vars(module).items() if _is_own(member, module.__name__)}
    known = ", ".join(own)
    if not wanted:
        kernels = {key for key, member in own.items() if hasattr(member, "merges")}
        found = {key: member for key, member in own.items() if key not in kernels} or own
        if len(found) == 1:
            return next(iter(found.values()))
    if wanted in own:
        return own[wanted]
    if not own:
        raise UsageError(f"{path}: defines no program. {WHAT}")
    if not wanted:
        raise UsageError(f"{path}: defines {len(found)} programs ({', '.join(found)}). Name one: {path}:CLASS")
    if hasattr(module, wanted):
        raise UsageError(f"{name}: {wanted} is not a program of this file; its programs are: {known}. {WHAT}")
    raise UsageError(f"{name}: {path} has no {wanted}; its programs are: {known}. {spelled(wanted, own)}")


def _is_own(member: Any, module: str) -> bool:
    """Whether a file's name stands for a program, a kernel or an algorithm that the file defines itself."""
    from gstream.language.program import Program  # which loads NumPy; `gstream --help` loads this file

    if isinstance(member, type):
        return issubclass(member, Program) and member.__module__ == module
    return hasattr(member, "parameters_given") and member.module == module


def _run_file(path: Path) -> ModuleType:
    """Run the file as a module, once more each time: it may have changed."""
    import hashlib  # slow to import, and `gstream --help` imports this file

    if path.suffix != ".py":
        raise UsageError(f"{path}: is no Python file. A program is given as FILE.py:CLASS")
    if not path.is_file():
        raise InputError(f"{path}: no such file. A program is given as FILE.py:CLASS")
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    module_name = f"{MODULES}{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    try:
        with _RUNNING[0]:
            # Where the text of methods and the types of their annotations are looked up.
            sys.modules[module_name] = module
            spec.loader.exec_module(module)
    except GstreamError:
        raise
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: {error.msg}. Fix the file.") from error
    except Exception as error:
        raise UsageError(f"{_place(error, path)}: {type(error).__name__}: {error}. Fix the file.") from error
    return module


def place_of_user(error: BaseException) -> str:
    """`file:line` where a file of the user's led to the error, with nothing of ours in between; "" if none did."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if module.startswith(MODULES):
            found = f"{frame.f_code.co_filename}:{line}"
        elif module.partition(".")[0] in OURS:
            found = ""
    return found


def _place(error: Exception, path: Path) -> str:
    """`file:line` of the innermost line of the user's file that led to the error."""
    mine = [
        entry
        for entry in traceback.extract_tb(error.__traceback__)
        if Path(entry.filename).absolute() == path.absolute()
    ]
    return f"{path}:{mine[-1].lineno}" if mine else str(path)
