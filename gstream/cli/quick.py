"""What makes commands start sooner."""

from __future__ import annotations

import importlib
import sys

from gstream.language.loading import is_program_path

HIDDEN = ("scipy", "scipy.linalg", "yaml", "coverage")


def skip_blas() -> None:
    """Let Numba find no SciPy: it would load all of scipy.linalg to see whether a dot product could use BLAS.

    That takes 0.2 s of every start, and where the address space is limited (ulimit -v) it may never end: SciPy's
    OpenBLAS asks for 128 MiB a thread, and asks again for ever where it gets none. No kernel of ours multiplies
    matrices; for commands that run code of the user's own, which may, see `skip_blas_for`. Nor does Numba find PyYAML,
    which it would load to look for settings in the folder at hand, nor coverage.py, which it would load (0.1 s) to tell
    which of our lines it compiles.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    hidden = [name for name in HIDDEN if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: an import fails
    try:
        importlib.import_module("numba.np.arraymath")  # which every kernel needs
    finally:
        for name in hidden:
            del sys.modules[name]


def skip_blas_for(algorithm: str) -> None:
    """`skip_blas` for a run; for one of a program of the user's own only where OpenBLAS could not have its memory."""
    from gstream.cli.scarce import BLAS_BYTES, has_room

    if not is_program_path(algorithm) or not has_room(BLAS_BYTES):
        skip_blas()
