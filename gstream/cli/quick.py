"""What makes commands start sooner."""

from __future__ import annotations

import importlib
import sys

from gstream.language.loading import is_program_path


def skip_blas() -> None:
    """Let Numba find no SciPy: it would load all of scipy.linalg to see whether a dot product could use BLAS.

    That takes 0.2 s of every start, and where the address space is limited (ulimit -v) it may never end: SciPy's
    OpenBLAS asks for 128 MiB a thread, and asks again for ever where it gets none. No kernel of ours multiplies
    matrices; for commands that run code of the user's own, which may, see `skip_blas_for`.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")  # which every kernel needs
    finally:
        del sys.modules["scipy.linalg"]


def skip_blas_for(algorithm: str) -> None:
    """`skip_blas` for a run; for one of a program of the user's own only where OpenBLAS could not have its memory."""
    from gstream.cli.scarce import BLAS_BYTES, has_room

    if not is_program_path(algorithm) or not has_room(BLAS_BYTES):
        skip_blas()
