"""`gstream show ALGORITHM`: the code that a program becomes, for the host's cores or for a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from pagestore.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from gstream.program import Program

WEIGHTS = ("u1", "i4", "u4", "f4")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("show", short_help="The code that a program is compiled to.")(show)


def show(
    algorithm: str = typer.Argument(..., metavar="ALGORITHM", help="An algorithm of run's, or my.py:MyProgram."),
    cuda: bool = typer.Option(False, "--cuda/--host", help="CUDA C++ for GPUs, or Numba for the host (default)."),
    id_bytes: int = typer.Option(4, metavar="4|8", help="With --cuda: bytes of a vertex ID in the store."),
    weights: str = typer.Option("f4", metavar="u1|i4|u4|f4", help="Type of the store's weights, where they are read."),
) -> None:
    """Print the generated code: the program's methods, and the kernels around them."""
    import numpy as np

    if id_bytes not in (4, 8):
        raise UsageError(f"--id-bytes {id_bytes}: stores have vertex IDs of 4 or 8 bytes. Pass one of them.")
    if weights not in WEIGHTS:
        raise UsageError(f"--weights {weights}: stores have weights of {', '.join(WEIGHTS)}. Pass one of them.")
    program, weight = _program_class(algorithm), np.dtype(weights)
    print(cuda_text(program, id_bytes, weight) if cuda else host_text(program, weight), end="")


def host_text(program: Any, weight: np.dtype) -> str:
    """The generated Numba module."""
    from gstream.emit import emitter_of
    from gstream.hostcode.generate import module_text
    from gstream.scalars import type_of_dtype

    return module_text(program, emitter_of(program, type_of_dtype(weight)))


def cuda_text(program: Any, id_bytes: int, weight: np.dtype) -> str:
    """The generated translation unit."""
    import numpy as np

    from gstream.cudacode.generate import UnitShape, unit_of, unit_of_page_kernels
    from gstream.programs.wcc import WCC

    shape = UnitShape(np.dtype(f"<u{id_bytes}"), weight)
    text = unit_of(program, shape).text
    if program is WCC:  # what `gstream run wcc` runs; the program is for comparison
        text += unit_of_page_kernels("components", ("unionfind.cu", "bits.cu"), shape).text
    return text


def _program_class(algorithm: str) -> type[Program]:
    from importlib import import_module

    from gstream.algorithms.registry import find_algorithm
    from gstream.loading import is_program_path, load_program

    if is_program_path(algorithm):
        return load_program(algorithm)
    shows = find_algorithm(algorithm).shows  # wcc's is that of --propagate: it runs union-find where it can
    if not shows:
        raise UsageError(f"{algorithm}: runs no program whose code could be shown. See gstream show --help.")
    module, name = shows.split(":")
    return getattr(import_module(f"gstream.programs.{module}"), name)
