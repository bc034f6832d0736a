"""`gstream show ALGORITHM`: the code that a program becomes, for the host's cores, or all that GPUs compile for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from gstream.algorithms.registry import find_algorithm
from gstream.language.loading import is_program_path, load_program
from pagestore.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

WEIGHTS = ("u1", "i4", "u4", "f4")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("show", short_help="The code that an algorithm is compiled to.")(show)


def show(
    algorithm: str = typer.Argument(..., metavar="ALGORITHM", help="An algorithm of run's, or my.py:MyProgram."),
    cuda: bool = typer.Option(False, "--cuda/--host", help="CUDA C++ for GPUs, or Numba for the host (default)."),
    id_bytes: int = typer.Option(4, metavar="4|8", help="With --cuda: bytes of a vertex ID in the store."),
    weights: str = typer.Option("f4", metavar="u1|i4|u4|f4", help="Type of the store's weights, where they are read."),
) -> None:
    """Print the generated code: the program's methods and the kernels around them.

    With --cuda all units that GPUs compile for the algorithm and its certificate, programs and page kernels, each below
    a comment that names it; for numbers of the usual types, so not of --float64.
    """
    import numpy as np

    if id_bytes not in (4, 8):
        raise UsageError(f"--id-bytes {id_bytes}: stores have vertex IDs of 4 or 8 bytes. Pass one of them.")
    if weights not in WEIGHTS:
        raise UsageError(f"--weights {weights}: stores have weights of {', '.join(WEIGHTS)}. Pass one of them.")
    weight = np.dtype(weights)
    print(cuda_text(algorithm, id_bytes, weight) if cuda else host_text(algorithm, weight), end="")


def host_text(algorithm: str, weight: np.dtype) -> str:
    """The generated Numba module of a program."""
    from gstream.hostcode.generate import module_text
    from gstream.language.python_printer import emitter_of
    from gstream.language.relaxing import is_in_place
    from gstream.language.scalar_types import type_of_dtype

    program: Any = _program_class(algorithm)
    if hasattr(program, "merges"):
        from gstream.hostcode.records import module_text as kernel_module

        return kernel_module(program)
    emitter = emitter_of(program, type_of_dtype(weight))
    return module_text(program, emitter, is_in_place(program, emitter))


def cuda_text(algorithm: str, id_bytes: int, weight: np.dtype) -> str:
    """The generated translation unit of a program, or all those of an algorithm, each below a comment."""
    import numpy as np

    from gstream.algorithms.cuda_units import units_of
    from gstream.cudacode.generate import UnitShape, unit_of

    ids = np.dtype(f"<u{id_bytes}")
    if is_program_path(algorithm):
        program: Any = _program_class(algorithm)
        if hasattr(program, "merges"):
            from gstream.cudacode.records import usual_unit

            return usual_unit(program, ids, weight).text
        return unit_of(program, UnitShape(ids, weight)).text
    return "\n".join(said + unit.text for said, unit in units_of(find_algorithm(algorithm), ids, weight))


def _program_class(algorithm: str) -> Any:
    if is_program_path(algorithm):
        program = load_program(algorithm)
        if not isinstance(program, type) and not hasattr(program, "merges"):
            raise UsageError(f"{algorithm}: is Python, which is not compiled; its kernels are. Name one of them.")
        return program
    found = find_algorithm(algorithm)
    if not found.program:
        raise UsageError(f"{algorithm}: runs no program whose code could be shown. See gstream show --help.")
    return found.load(found.program)
