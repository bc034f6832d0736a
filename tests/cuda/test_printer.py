"""Methods printed as C++ and compiled by g++ give what the interpreter and Numba give, on random programs."""

from __future__ import annotations

import ctypes
import textwrap

import numpy as np
import pytest
from compilers import needs_gxx, shared_library
from random_programs import INEXACT, PARAMETERS, Writer
from test_random_programs import NUMBERS, REALS, SATURATE, compiled
from written import load, program

from gstream.cudacode.cuda_printer import CudaEmitter
from gstream.hostcode import GraphShape, compile_host
from gstream.language.program import ProgramError
from gstream.language.python_printer import Emitter
from gstream.language.scalar_interpreter import interpreted
from gstream.language.scalar_types import NUMPY

KINDS = ("f32", "f64", "u32", "u64", "i32", "i64")
WEIGHTS = ("u8", "i32", "u32", "f32")
PROGRAMS_A_KIND = 40
NUMBA_STEP = 12  # every so manieth program is compared with Numba too, which takes 0.2 s to compile one
PRELUDE = """
#define __host__
#define __device__
#define __forceinline__ inline
#define __global__
#include "scalars.cuh"
"""
CASE = """
namespace case_{number} {{
typedef {value} Value; typedef {value} Got; typedef {weight} Weight;
{context}
{method}
}}
extern "C" void run_{number}(i64 n, const i64* id, const {value}* value, const i64* degree, const {weight}* weight,
                             const case_{number}::Context* ctx, {value}* out) {{
    for (i64 k = 0; k < n; k++) out[k] = case_{number}::send(id[k], value[k], degree[k], weight[k], *ctx);
}}
"""


def written(folder, kind, seed):
    """A program with a random `send`, or None where its constants have no value."""
    body = textwrap.indent(Writer(seed).text, "    ")
    parts = ["class P(Program):", f"    combine, value = MAX, {kind}", textwrap.indent(PARAMETERS, "    ")]
    parts += ["    def start(self, v, g): return 0", "    def send(self, u, e, g):", textwrap.indent(body, "    ")]
    try:
        return load(folder, "\n".join(parts))
    except ProgramError as refused:
        assert any(reason in str(refused) for reason in ("has no value", "past 64 bits", "no real number", "want cond"))
        return None


def rows(kind, weight):
    """Rows of (id, value, degree, weight): every value with several of the others."""
    values = REALS + [-0.0, np.nan, 5e-324, 1e300] if kind in ("f32", "f64") else [*NUMBERS, -1, -7, 2**63, 2**64 - 1]
    dtype, rng = NUMPY[kind], np.random.default_rng(7)
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            value = np.array(values, np.float64).astype(dtype)
        else:
            value = np.array([item & (2**64 - 1) for item in values], np.uint64).astype(dtype)
        weights = np.array([1, 2, 255, 3, 0, 9, 100, 4, 5, 6]).astype(NUMPY[weight])
    n = len(value)
    ids, degrees = rng.integers(0, 11, n), np.array([NUMBERS[-1 - k % 10] % 1000 for k in range(n)])
    return ids.astype(np.int64), value, degrees.astype(np.int64), weights[rng.integers(0, 10, n)]


def agree(wanted, got, text):
    """Bit for bit but for NaN and the sign of 0; what C libraries round differently within a few last bits."""
    inexact = any(name in text for name in INEXACT)
    if inexact and ("%" in text or "//" in text):
        return True  # a last bit more or less may be a whole step more or less
    if wanted.dtype.kind == "f":
        tolerance = (1e-5 if wanted.dtype == np.float32 else 1e-11) if inexact else 0
        return bool(np.isclose(got, wanted, rtol=tolerance, atol=0, equal_nan=True).all())
    if inexact:  # then cut off to an integer
        return bool(np.isclose(got.astype(np.float64), wanted.astype(np.float64), rtol=1e-9, atol=1).all())
    return bool((wanted == got).all())


@needs_gxx
def test_random_programs(tmp_path):
    cases, text = [], [PRELUDE]
    for k, kind in enumerate(KINDS):
        for seed in range(PROGRAMS_A_KIND):
            cls, weight = written(tmp_path, kind, 1000 * k + seed), WEIGHTS[seed % 4]
            if cls is None:
                continue
            printer, number = CudaEmitter(cls, weight), len(cases)
            fill = {"context": printer.context(), "method": printer.method("send"), "number": number}
            text.append(CASE.format(value=kind, weight=weight, **fill))
            cases.append((cls, kind, weight, 1000 * k + seed))
    assert len(cases) > 5 * PROGRAMS_A_KIND
    library = shared_library("\n".join(text))
    for number, (cls, kind, weight, seed) in enumerate(cases):
        emitter = Emitter(cls, weight)
        code = compile_context(cls, weight)
        columns = rows(kind, weight)
        packed = np.concatenate([code.ints.view(np.uint8), code.floats.view(np.uint8)])
        got = np.zeros(len(columns[0]), NUMPY[kind])
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*columns, packed, got)]
        getattr(library, f"run_{number}")(ctypes.c_longlong(len(got)), *pointers)
        context, source = (*code.ints, *code.floats), Writer(seed).text
        functions = [interpreted(emitter, ["send"]).send]
        functions += [compiled(emitter, "send")] if number % NUMBA_STEP == 0 else []
        for function in functions:
            with np.errstate(all="ignore"):
                wanted = np.array([function(*row, context) for row in zip(*columns, strict=True)], NUMPY[kind])
            assert agree(wanted, got, source), (source, kind, weight, wanted, got, *columns)


class compile_context:
    """The context arrays of a program at its defaults, without a graph."""

    def __init__(self, cls, weight):
        emitter, values = Emitter(cls, weight), {"vertices": 50, "edges": 7, "superstep": 3}
        values |= {name: parameter.default for name, parameter in cls.parameters.items()}
        self.ints = np.array([int(values[n]) & (2**64 - 1) for n in emitter.int_names], np.uint64).view(np.int64)
        self.floats = np.array([values[n] for n in emitter.float_names], np.float64)


@needs_gxx
def test_conversions_and_divisions():
    """The corners of scalars.cuh, against Python's own arithmetic."""
    text = PRELUDE + 'extern "C" void run(const f64* x, i64 n, i64* out) { for (i64 k = 0; k < n; k++) {'
    text += " out[4 * k] = saturate_u32(x[k]); out[4 * k + 1] = i64(saturate_u64(x[k]));"
    text += " out[4 * k + 2] = saturate_i32(x[k]); out[4 * k + 3] = saturate_i64(x[k]); } }"
    text += 'extern "C" void divide(i64 a, i64 b, i64* out) { out[0] = floor_div(a, b); out[1] = floor_mod(a, b); }'
    library = shared_library(text)
    x, out = np.array(SATURATE), np.zeros((len(SATURATE), 4), np.int64)
    library.run(ctypes.c_void_p(x.ctypes.data), ctypes.c_longlong(len(x)), ctypes.c_void_p(out.ctypes.data))
    for value, row in zip(SATURATE, out, strict=True):
        for kind, item in zip(("u4", "u8", "i4", "i8"), row, strict=True):
            limits = np.iinfo(kind)
            wanted = 0 if value != value else max(limits.min, min(limits.max, value))
            got = int(item) & (2**64 - 1) if kind == "u8" else int(item)
            assert got == int(wanted), (value, kind)
    pair = np.zeros(2, np.int64)
    for a in (-(2**63), -7, -1, 0, 1, 7, 2**63 - 1):
        for b in (-(2**63), -3, -1, 1, 3, 2**63 - 1):
            library.divide(ctypes.c_longlong(a), ctypes.c_longlong(b), ctypes.c_void_p(pair.ctypes.data))
            overflow = a == -(2**63) and b == -1
            assert tuple(pair) == ((0, 0) if overflow else divmod(a, b)), (a, b)
        library.divide(ctypes.c_longlong(a), ctypes.c_longlong(0), ctypes.c_void_p(pair.ctypes.data))
        assert tuple(pair) == (0, 0)


def test_names_and_context_are_cplusplus(tmp_path):
    """Names that are C++ keywords or no ASCII, sets of vertices, totals: printed under names of their own."""
    cls = program(
        tmp_path, combine="SUM", value="f32", start="self.double if v.id in self.namespace else v.größe",
        rest="""
        double: float = 0.25
        namespace: Vertices = (2,)
        größe: PerVertex
        @total
        def union(self, v): return v.value
        """,
    )  # fmt: skip
    printer = CudaEmitter(cls, None)
    assert [line.split()[-1] for line in printer.context().splitlines()[1:-1]] == [
        "vertices;", "edges;", "superstep;", "m_namespace_first;", "m_namespace_end;", "t_union;", "p_double;"
    ]  # fmt: skip
    code = compile_host(cls(größe=np.ones(4)), GraphShape(4, 0, np.dtype("u4")))
    assert len(code.ints) == 5 and len(code.floats) == 2  # the struct's members, in its order
    text = printer.method("start")
    assert "is_member(members, ctx.m_namespace_first, ctx.m_namespace_end, v_id)" in text and "own[at * 1 + 0]" in text
    assert "total_union(" in printer.method("union")


def test_float32_constants_stay_float32(tmp_path):
    cls = program(tmp_path, value="f32", send="u.value * 0.85 + 1")
    assert "((u_value * f32(0.85)) + f32(1))" in CudaEmitter(cls, None).method("send")


@pytest.mark.parametrize("send", ["u.value // 0 if u.id else 1", "-u.value", "u.value - 4 * u.id"])
def test_signed_overflow_is_never_left_to_cplusplus(tmp_path, send):
    text = CudaEmitter(program(tmp_path, value="i64", send=send), None).method("send").split("{")[1]
    assert not any(f" {operator} " in text for operator in ("+", "-", "*", "//", "/", "%"))
