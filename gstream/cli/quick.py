"""What makes commands start sooner."""

from __future__ import annotations

import importlib
import sys


def skip_blas() -> None:
    """Let Numba find no SciPy: it would load all of scipy.linalg to see whether a dot product could use BLAS.

    That takes 0.2 s of every start, and no kernel of ours multiplies matrices. Only for commands that run no code of
    the user's own, which may want SciPy.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")  # which every kernel needs
    finally:
        del sys.modules["scipy.linalg"]
