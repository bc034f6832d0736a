"""Programs of the user's own by path: `my_algorithm.py:MyProgram`."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import threading
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pagestore.errors import GstreamError, InputError, UsageError

if TYPE_CHECKING:
    from gstream.language.program import Program

# One thread runs a file of a user's at a time: its module is looked up by its name until it has run. A fork does not
# wait for the file, whose end is the user's matter: the child begins with a lock of its own.
_RUNNING = [threading.RLock()]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _RUNNING.__setitem__(0, threading.RLock()))


def is_program_path(name: str) -> bool:
    """Whether `name` means a file with a program rather than an algorithm that comes with gstream."""
    return ":" in name or name.endswith(".py") or "/" in name


def load_program(name: str) -> type[Program]:
    """The Program class of `FILE.py:CLASS`; the class may be left out where the file defines one program only.

    The file is run as a module of its own. Raises InputError when there is no such file, UsageError when it fails or
    the class is not in it, ProgramError (a UsageError) when the program is outside the accepted subset.
    """
    from gstream.language.program import Program  # which loads NumPy; `gstream --help` loads this file

    path, _, wanted = name.partition(":") if name.endswith(".py") else name.rpartition(":")
    module = _run_file(Path(path))
    found = {
        key: member
        for key, member in vars(module).items()
        if isinstance(member, type) and issubclass(member, Program) and member.__module__ == module.__name__
    }
    if not wanted and len(found) == 1:
        return next(iter(found.values()))
    if wanted in found:
        return found[wanted]
    if not found:
        raise UsageError(f"{path}: defines no program. A program is a class that inherits from gstream.Program.")
    known = ", ".join(found)
    if not wanted:
        raise UsageError(f"{path}: defines {len(found)} programs ({known}). Name one: {path}:CLASS")
    if hasattr(module, wanted):
        raise UsageError(
            f"{name}: {wanted} is not a program of this file; its programs are: {known}. "
            "A program is a class that inherits from gstream.Program."
        )
    raise UsageError(f"{name}: {path} has no {wanted}; its programs are: {known}. Check the spelling.")


def _run_file(path: Path) -> ModuleType:
    """Run the file as a module, once more each time: it may have changed."""
    if path.suffix != ".py":
        raise UsageError(f"{path}: is no Python file. A program is given as FILE.py:CLASS")
    if not path.is_file():
        raise InputError(f"{path}: no such file. A program is given as FILE.py:CLASS")
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    module_name = f"gstream_program_{path.stem}_{digest}"
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


def _place(error: Exception, path: Path) -> str:
    """`file:line` of the innermost line of the user's file that led to the error."""
    mine = [
        entry
        for entry in traceback.extract_tb(error.__traceback__)
        if Path(entry.filename).absolute() == path.absolute()
    ]
    return f"{path}:{mine[-1].lineno}" if mine else str(path)
