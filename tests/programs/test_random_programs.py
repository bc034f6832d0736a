"""The oracle is right: random methods give the same in plain Python, in the interpreter and compiled by Numba."""

from __future__ import annotations

import math
from types import SimpleNamespace

import choice
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written import program

from gstream.hostcode import casts
from gstream.hostcode.jit import helper
from gstream.language.python_printer import Emitter
from gstream.language.scalar_interpreter import interpreted
from gstream.language.typed_tree import MATH, MATH_TO_BOOL, MATH_TO_INTEGER

LEAVES = (
    "u.value",
    "u.value",
    "u.id",
    "u.degree",
    "e.weight",
    "g.vertices",
    "g.superstep",
    "self.p",
    "self.n",
    "self.z",
)
CONSTANTS = ("0", "1", "2", "7", "0.5", "-3", "1e-3", "0.85", "INF", "3.0")


def expressions():
    leaf = st.sampled_from(LEAVES) | st.sampled_from(CONSTANTS)

    def wider(inner):
        pair = st.tuples(inner, inner)
        condition = st.builds("{0[0]} {1} {0[1]}".format, pair, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]))
        conditions = (
            condition
            | st.builds("not {}".format, condition)
            | st.builds("({} {} {})".format, condition, st.sampled_from(["and", "or"]), condition)
        )
        return (
            st.builds("({0[0]} {1} {0[1]})".format, pair, st.sampled_from(["+", "-", "*", "/", "//", "%"]))
            | st.builds("({} ** {})".format, inner, st.sampled_from(["0", "1", "2", "3"]))
            | st.builds("(-{})".format, inner)
            | st.builds("abs({})".format, inner)
            | st.builds("math.{}({})".format, st.sampled_from(["sqrt", "floor", "ceil", "trunc"]), inner)
            | st.builds("{1}({0[0]}, {0[1]})".format, pair, st.sampled_from(["min", "max"]))
            | st.builds("({0[0]} if {1} else {0[1]})".format, pair, conditions)
        )

    return st.recursive(leaf, wider, max_leaves=8)


EXPRESSIONS = expressions()


class Narrow(int):
    """An int that raises where 64 bits are too few: compiled code wraps there."""


def _narrow(name):
    def operate(*given):
        result = getattr(int, name)(*given)
        if type(result) is not int:
            return result
        if not -(2**63) <= result < 2**63:
            raise OverflowError("past 64 bits")
        return Narrow(result)

    return operate


for _name in ("add", "sub", "mul", "floordiv", "mod", "pow", "radd", "rsub", "rmul", "rfloordiv", "rmod", "neg", "abs"):
    setattr(Narrow, f"__{_name}__", _narrow(f"__{_name}__"))


PARAMETERS = "p: float = 0.3\nn: int = -5\nz: u32 = 4000000000\n"
NUMBERS = [0, 1, 2, 3, 5, 100, 65535, 2**31 - 1, 2**31, 2**32 - 1]
REALS = [0.0, 0.25, 1.0, -1.5, 3.0, 1e10, math.inf, 7.5, 100.0, 2.0**33]


def inputs(kind: str, weight: np.dtype):
    """Ten rows of (id, value, degree, weight), the context is added by the caller."""
    values = REALS if kind in ("f32", "f64") else NUMBERS
    dtype = np.dtype({"f": "f", "u": "u", "i": "i"}[kind[0]] + str(int(kind[1:]) // 8))
    for index in range(10):
        with np.errstate(all="ignore"):
            value = np.array(values[index]).astype(dtype)[()]
        small = np.array([1, 2, 255, 3, 0, 9, 100, 4, 5, 6][index]).astype(weight)[()]
        yield np.int64(index * 37 % 11), value, np.int64(NUMBERS[-index - 1] % 1000), small


def compiled(emitter: Emitter, name: str):
    names = {item: getattr(casts, item) for item in casts.__all__}
    exec(emitter.method(name), names)
    from numba import njit

    from gstream.hostcode.jit import OPTIONS

    return njit(**OPTIONS)(names[name])


def same(a, b, tolerance) -> bool:
    if a.dtype.kind != "f":
        return bool(a == b)
    return bool(a == b or (np.isnan(a) and np.isnan(b)) or abs(a - b) <= tolerance * abs(a))


@pytest.mark.parametrize("kind", ["f32", "u64", "i32", *choice.also("f64", "u32", "i64")])
@given(text=EXPRESSIONS, weight=st.sampled_from(["u1", "i4", "u4", "f4"]))
@settings(max_examples=15)
def test_compiled_is_interpreted(tmp_path_factory, kind, text, weight):
    try:
        cls = program(tmp_path_factory.mktemp("p"), value=kind, send=text, rest=PARAMETERS)
    except Exception as refused:
        assert "has no value" in str(refused) or "past 64 bits" in str(refused)
        return
    weight = np.dtype(weight)
    names = {"u1": "u8", "i4": "i32", "u4": "u32", "f4": "f32"}
    emitter = Emitter(cls, names[weight.str[1:]])
    context = (np.int64(50), np.int64(7), np.int64(3), np.int64(-5), np.int64(4000000000), np.float64(0.3))
    assert emitter.int_names == ["vertices", "edges", "superstep", "n", "z"] and emitter.float_names == ["p"]
    plain, fast = interpreted(emitter, ["send"]).send, compiled(emitter, "send")
    for row in inputs(kind, weight):
        with np.errstate(all="ignore"):
            wanted = plain(*row, context)
        got = cls.value.dtype.type(fast(*row, context))
        assert wanted.dtype == cls.value.dtype
        assert same(wanted, got, 1e-6 if kind == "f32" else 1e-14), (text, row)


@given(text=EXPRESSIONS)
@settings(max_examples=40)
def test_interpreted_is_python(tmp_path_factory, text):
    """With float64 values and small integers the declared types are Python's own: run the method as it was written."""
    try:
        cls = program(tmp_path_factory.mktemp("p"), value="f64", send=text, rest=PARAMETERS)
    except Exception as refused:
        assert "has no value" in str(refused) or "past 64 bits" in str(refused)
        return
    emitter = Emitter(cls, "f32")
    method = interpreted(emitter, ["send"]).send
    function = cls.send
    function.__globals__["INF"] = math.inf
    for value in (0.0, 0.25, 3.0, -7.5, 1e10):
        u, e = SimpleNamespace(id=Narrow(5), value=value, degree=Narrow(12)), SimpleNamespace(weight=2.5)
        g = SimpleNamespace(vertices=Narrow(50), edges=Narrow(7), superstep=Narrow(3))
        context = (np.int64(50), np.int64(7), np.int64(3), np.int64(-5), np.int64(4000000000), np.float64(0.3))
        try:
            wanted = function(SimpleNamespace(p=0.3, n=Narrow(-5), z=Narrow(4000000000)), u, e, g)
        except (ArithmeticError, ValueError, TypeError):
            continue  # Python raises where compiled code has inf, nan or a wrapped integer
        if isinstance(wanted, complex) or abs(wanted) > 2**53:
            continue
        with np.errstate(all="ignore"):
            got = method(np.int64(5), np.float64(value), np.int64(12), np.float32(2.5), context)
        assert same(np.float64(wanted), got, 1e-14), (text, value)


SATURATE = [-1.5, -0.5, 0.0, 0.5, 2.9, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e30, -1e30, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("kind", ["u32", "u64", "i32", "i64"])
def test_floats_become_integers_as_on_a_gpu(kind):
    limits = np.iinfo({"u": "u", "i": "i"}[kind[0]] + str(int(kind[1:]) // 8))
    convert = getattr(casts, f"saturate_{kind}")
    from numba import njit

    host = njit(lambda x: convert(x))
    for value in SATURATE:
        wanted = 0 if math.isnan(value) else max(limits.min, min(limits.max, value))
        assert int(host(value)) == int(wanted if math.isinf(value) or abs(wanted) < 2**53 else wanted), value


TOP = (1 << 63) - 1


@pytest.mark.parametrize(
    ("text", "value", "wanted"),
    [
        ("1 if u.value + 1 > u.value else 0", TOP, 0),
        ("1 if u.value - 1 < u.value else 0", -TOP - 1, 0),
        ("1 if u.value * 4 // 4 == u.value else 0", TOP // 2, 0),
        ("1 if u.value * u.value >= 0 else 0", 3037000500, 0),
        ("1 if -u.value > 0 else 0", -TOP - 1, 0),
        ("u.value + u.value", TOP, -2),
    ],
)
def test_what_wraps_is_compared_as_it_is(tmp_path, text, value, wanted):
    """Where a compiler takes overflow for impossible, it knows the answers before it adds."""
    emitter = Emitter(program(tmp_path, value="i64", send=text), "f32")
    plain, fast = interpreted(emitter, ["send"]).send, compiled(emitter, "send")
    row = (np.int64(1), np.int64(value), np.int64(2), np.float32(1), (np.int64(50), np.int64(7), np.int64(3)))
    with np.errstate(all="ignore"):
        assert plain(*row) == fast(*row) == wanted


def test_local_names_and_branches(tmp_path):
    body = """
    def apply(self, v, got, g):
        x = 1
        if got > 3:
            x = got * 0.5
            y = x
        elif v.id == 2:
            return INF
        else:
            y = 7
        x += y
        return x if v.degree else -x
    """
    cls = program(tmp_path, value="f32", rest=body)
    emitter = Emitter(cls, None)
    plain, fast = interpreted(emitter, ["apply"]).apply, compiled(emitter, "apply")
    own, context = np.zeros((0, 0)), (np.int64(1), np.int64(1), np.int64(1))
    for v, got, degree, wanted in ((1, 8, 1, 8.0), (1, 8, 0, -8.0), (2, 1, 1, math.inf), (3, 1, 1, 8.0)):
        row = (np.int64(v), np.float32(0), np.int64(degree), np.int64(0), np.float32(got), own, v, context)
        assert plain(*row) == fast(*row) == wanted


def test_helpers_are_only_for_kernels():
    assert helper(lambda x: x).targetoptions["no_cpython_wrapper"]


@pytest.mark.parametrize("name", [*MATH, *MATH_TO_INTEGER, *MATH_TO_BOOL])
def test_every_function_of_math(tmp_path, name):
    text = f"math.{name}(u.value, 2.5)" if MATH.get(name, 1) == 2 else f"math.{name}(u.value)"
    cls = program(tmp_path, value="f64", send=f"(1 if {text} else 0)" if name in MATH_TO_BOOL else text)
    emitter = Emitter(cls, "f32")
    plain, fast = interpreted(emitter, ["send"]).send, compiled(emitter, "send")
    context = (np.int64(50), np.int64(7), np.int64(3))
    for value in (0.5, -7.25, 3.0, math.inf):
        row = (np.int64(1), np.float64(value), np.int64(2), np.float32(1))
        with np.errstate(all="ignore"):
            assert same(np.float64(plain(*row, context)), np.float64(fast(*row, context)), 1e-12), value
