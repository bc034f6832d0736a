"""What makes commands start sooner: libraries that others would load without need are not there for them."""

from __future__ import annotations

import sys

from gstream.language.loading import is_program_path

TYPE_CHECKING = False  # typing's, which takes longer to import than what is here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# By top name, the packages for which a library is not there: those whose lines ask for it. pyarrow, whose own are C,
# asks in the name of the line that calls it.
NOT_FOR = {
    "scipy": ("numba",),  # all of scipy.linalg, 0.2 s, to see whether a dot product could use BLAS
    "yaml": ("numba",),  # to look for settings in the folder at hand
    "coverage": ("numba",),  # 0.04 s, to tell which of our lines are compiled
    "pandas": ("pyarrow", "gstream", "pagestore"),  # 0.3 s, to see whether a list of numbers is a Series
}
IMPORTING = ("importlib.", "_frozen_importlib")  # modules by which Python imports; the second until the first is there


class Lean:
    """Says, ahead of Python's own finders, that a library of `NOT_FOR` can't be found.

    Besides, where the address space is limited (ulimit -v) SciPy's OpenBLAS may never end: it asks for 128 MiB a
    thread, and asks again for ever where it gets none. No kernel of ours multiplies matrices.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None, for others to find the module. Raises ModuleNotFoundError."""
        if name in NOT_FOR and _asker() in NOT_FOR[name]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


LEAN = Lean()


def begin() -> None:
    """Leave out what commands do not need; before anything is imported that would load it."""
    sys.meta_path.insert(0, LEAN)


def leave_out_nothing_for(algorithm: str) -> None:
    """Find all libraries in a run of a program of the user's own, which may need them; but where OpenBLAS could not
    have its memory."""
    from gstream.cli.scarce import BLAS_BYTES, has_room

    if LEAN in sys.meta_path and is_program_path(algorithm) and has_room(BLAS_BYTES):
        sys.meta_path.remove(LEAN)


def _asker() -> str:
    """The package, by its top name, whose line imports a module."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(IMPORTING):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
