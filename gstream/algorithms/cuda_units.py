"""What GPUs compile for each algorithm: programs, record and item kernels, and the union-find of components.

Its declaration names them. What options, kinds of graphs or numbers of GPUs alone ask for is among them; of programs
that differ by the type of their numbers, the one for the weights and IDs that are asked for. `gstream show --cuda`
prints the units, and tests hold what runs compile against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from gstream.algorithms.declaration import Algorithm
from gstream.cudacode.generate import Unit, UnitShape, unit_of, unit_of_components
from gstream.cudacode.records import usual_unit
from gstream.records import ItemKernel, RecordKernel

WIDTH = 120  # of a comment's line
COMPONENTS = "cuda:components"  # the kernels of cuda/unionfind.cu
WHOLE = {"SSSP": "SSSPInteger", "Widest": "WidestInteger"}  # where weights are whole numbers
WIDE = {"WCC": "WCC64"}  # where IDs have 8 bytes


def units_of(algorithm: Algorithm, id_dtype: np.dtype, weight_dtype: np.dtype) -> Iterator[tuple[str, Unit]]:
    """(comment that says what the unit is, unit) of an algorithm: those of its run, then those of its certificate."""
    paths = [(path, "") for path in _apart(([algorithm.program] if algorithm.program else []) + [*algorithm.units])]
    paths += [(path, ", of the certificate") for path in _apart(algorithm.proof_units)]
    for number, (path, whose) in enumerate(paths, 1):
        place = f"unit {number} of {len(paths)}{whose}"
        if path == COMPONENTS:
            said = "the kernels of cuda/unionfind.cu\nComponents by union-find: trees are linked and labelled."
            unit = unit_of_components(UnitShape(id_dtype))
        else:
            what = algorithm.load(_of_types(path, id_dtype, weight_dtype))
            said = _described(what)
            if isinstance(what, RecordKernel):
                unit = usual_unit(what, id_dtype, weight_dtype)
            else:
                unit = unit_of(what, UnitShape(id_dtype, weight_dtype))
        yield _comment(f"{algorithm.name}, {place}: {said}"), unit


def _apart(groups: Sequence[str]) -> list[str]:
    """MODULE:NAME of each."""
    split = (group.rpartition(":") for group in groups)
    return [f"{module}{colon}{name}" for module, colon, names in split for name in names.split()]


def _of_types(path: str, id_dtype: np.dtype, weight_dtype: np.dtype) -> str:
    """The program for these types, in place of that for IDs of 4 bytes and weights that are floats."""
    module, colon, name = path.rpartition(":")
    if weight_dtype.kind != "f":
        name = WHOLE.get(name, name)
    return module + colon + (WIDE.get(name, name) if id_dtype.itemsize == 8 else name)


def _described(what: Any) -> str:
    """What it is and where; then what it's for, by its docstring."""
    is_kernel = isinstance(what, RecordKernel)
    kind = "item kernel" if isinstance(what, ItemKernel) else "record kernel" if is_kernel else "program"
    name, module = (what.name, what.module) if is_kernel else (what.__name__, what.__module__)
    about = " ".join((what.__doc__ or "").partition("\n\n")[0].split())
    return f"{kind} {name} of {module.replace('.', '/')}.py\n{about}"


def _comment(text: str) -> str:
    lines = [line for part in text.splitlines() for line in wrap(part, WIDTH - len("// "))]
    return "".join(f"// {line}\n" for line in lines)
