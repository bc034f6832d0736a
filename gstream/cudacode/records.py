"""The unit of a record kernel: cuda/records.cuh, the kernel's text as C++, and the launch that takes its arrays.

    unit = unit_of_records(kernel, UnitShape(id_dtype, weight_dtype), arrays)
    launch(stream, blocks, *pages.arguments(), edges, *values_of(arrays))
Of an item kernel: launch(stream, blocks, first, step, count, edges, *values), for items first, first + step, ... below
count. An array goes as its address and its count, a number as 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gstream.cudacode.cuda_printer import cuda_emitter_of
from gstream.cudacode.generate import UNITS, Unit, UnitShape, flattened, kernels_in, program_text
from gstream.cudacode.scalar_text import Printer, first_test
from gstream.language.scalar_types import type_of_dtype
from gstream.records import ItemKernel, RecordKernel
from gstream.records.held import is_array
from gstream.records.usual import usual_arguments

PAGES = """const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
        u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count, Claims* claims,
        u64* edges"""
ITEMS = "u64 first, u64 step, u64 count, u64* edges"
UNIT_OF_ITEMS = UnitShape(np.dtype("<u4"))  # item kernels read no pages


def unit_of_records(kernel: RecordKernel, shape: UnitShape, arrays: Sequence[Any]) -> Unit:
    """The unit of a kernel for arrays and numbers of these types. shape.weight_dtype: None if it reads no weights."""
    return _unit(kernel, shape, tuple(kind_of(value) for value in arrays))


def usual_unit(kernel: RecordKernel, id_dtype: np.dtype, weight_dtype: np.dtype) -> Unit:
    """The unit that runs compile whose arrays are of the usual types (gstream.records.usual)."""
    shape = UnitShape(id_dtype, weight_dtype if kernel.uses_weights else None)
    shape = UNIT_OF_ITEMS if isinstance(kernel, ItemKernel) else shape
    return unit_of_records(kernel, shape, usual_arguments(kernel, id_dtype, weight_dtype))


def kind_of(value: Any) -> tuple[str, bool]:
    """How a kernel takes an argument: (type of its elements, True) of an array, (what makes it, False) of a number."""
    if is_array(value):
        return type_of_dtype(value.dtype), True
    return number_from(value), False


@lru_cache(maxsize=UNITS)  # a sweep a round, and its text takes longer than the sweep of a small graph
def _unit(kernel: RecordKernel, shape: UnitShape, kinds: tuple[tuple[str, bool], ...]) -> Unit:
    from gstream.programs.bfs import BFS
    from gstream.programs.sssp import SSSP

    weight = None if shape.weight_dtype is None else type_of_dtype(shape.weight_dtype)
    stands_in = BFS if weight is None else SSSP  # page kernels need no program, but for its widths
    program = program_text(stands_in, cuda_emitter_of(stands_in, weight), shape, True)
    text = flattened(kernel.name, ["records.cuh"], program) + "\n" + kernel_text(kernel, kinds)
    return Unit(kernel.name, text, kernels_in(text), 0)


def kernel_text(kernel: RecordKernel, kinds: Sequence[tuple[str, bool]]) -> str:
    """The kernel as C++, and the __global__ function around it. kinds: of its arguments (kind_of)."""
    printer = Printer(kernel.names)
    lines = ["namespace page {", *printer.constants(), ""]
    for tree in kernel.names.functions.values():
        lines += printer.helper(tree)
    of_items = isinstance(kernel, ItemKernel)
    if not of_items:
        lines += printer.kernel(kernel.tree, "wanted", first_test(kernel.tree), "bool")
    lines += printer.kernel(kernel.tree, "visit", kernel.tree.body, "u32")
    lines += ["}  // namespace page", ""]
    given, made = [], []
    for name, (kind, whole) in zip(kernel.parameters, kinds, strict=True):
        if whole:
            written = str(name in kernel.merges).lower()
            given.append(f"{kind}* at_{name}, u64 size_{name}")
            made.append(f"const Array<{kind}, {written}> x_{name} = {{at_{name}, size_{name}}};")
        else:
            given.append(f"u64 bits_{name}")
            made.append(f"const auto x_{name} = {kind}(bits_{name});")
    names = ", ".join(["at", *(f"x_{name}" for name in kernel.parameters)])
    launched = ITEMS if of_items else PAGES
    lines += [
        "KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)",
        f"{kernel.name}_kernel({', '.join([launched, *given])}) {{",
        *(f"    {line}" for line in made),
    ]
    if of_items:
        lines.append(
            f"    for_items(first, step, count, edges, [&](const Item& at) {{ return page::visit({names}); }});"
        )
    else:
        lines += [
            "    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};",
            "    for_records(",
            "        pool, parts, part_first, part_count, claims, edges,",
            f"        [&](const Stretch& at) {{ return page::wanted({names}); }},",
            f"        [&](const Stretch& at) {{ return page::visit({names}); }});",
        ]
    return "\n".join([*lines, "}", ""])


def number_from(value: Any) -> str:
    """What makes a number of its 64 bits: a type's name, or a function."""
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, int):
        return "i64"
    kind = type_of_dtype(np.asarray(value).dtype)
    return {"f32": "f32_of_bits", "f64": "float_of"}.get(kind, kind)


def bits_of(value: Any) -> int:
    """A number as 64 bits."""
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return int(value) & (1 << 64) - 1
    number = np.asarray(value)
    return int(number.view(f"u{number.dtype.itemsize}"))
