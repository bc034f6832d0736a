"""Scalar types of programs and how they meet: Numba's promotion, made explicit so that every back end agrees.

A type is a short string. What arrays hold: u8 u32 u64 i32 i64 f32 f64. What only expressions have:
    bool   a condition
    n64    a count or an ID: an i64 that is never negative, so it meets u64 as u64
    weak   a float constant or float parameter: float64, but f32 when it meets f32
           (a bare 0.85 must not turn a float32 kernel into float64)
    lit    an integer constant below 2^63: takes the other operand's type
Arithmetic is done in i64, u64, f32 or f64 only; integers wrap at 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gstream.language.method_text import ProgramError

UNSIGNED = ("u8", "u32", "u64")
SIGNED = ("i32", "i64")
INTEGERS = (*UNSIGNED, *SIGNED, "n64", "lit", "bool")
FLOATS = ("f32", "f64", "weak")
NUMPY: dict[str, np.dtype] = {
    "u8": np.dtype("<u1"),
    "u32": np.dtype("<u4"),
    "u64": np.dtype("<u8"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
}


# Of a vector: threads keep some of them on their stacks, and 4 KiB go to peers at once at least.
MOST_ELEMENTS, MOST_BYTES = 512, 4096


@dataclass(frozen=True)
class ScalarType:
    """A value type of programs: `f32`, `f64`, `u32`, `u64`, `i32` or `i64`; `f32[3]` is a vector of so many, and so
    is `u8[64]`.

    length: elements of a vector; 0: one number. What follows is of one element, but for `dtype`: a vector's is a NumPy
    subarray, so that arrays have the shape (vertices, length), and itemsize is that of a whole value.
    """

    name: str
    length: int = 0

    def __getitem__(self, length: int) -> ScalarType:
        """A vector type. Raises ProgramError for another length than 1 to MOST_ELEMENTS, of u8 to MOST_BYTES."""
        most = MOST_BYTES if self.name == "u8" else MOST_ELEMENTS
        if self.length or isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= most:
            said = f"{self}[{length!r}]: a vector has 1 to {most} numbers"
            raise ProgramError(f"{said}. Write {self.name}[4], for example.")
        return ScalarType(self.name, length)

    @property
    def dtype(self) -> np.dtype:
        return vectors_of(NUMPY[self.name], self.length)

    @property
    def is_float(self) -> bool:
        return self.name in FLOATS

    @property
    def largest(self) -> int | float:
        """What INF stands for: infinity, or the largest integer of the type."""
        return float("inf") if self.is_float else int(np.iinfo(NUMPY[self.name]).max)

    @property
    def least(self) -> int | float:
        """The identity of MAX: minus infinity, or the least integer of the type."""
        return float("-inf") if self.is_float else int(np.iinfo(NUMPY[self.name]).min)

    def __repr__(self) -> str:
        return f"{self.name}[{self.length}]" if self.length else self.name


def vectors_of(dtype: np.dtype, length: int) -> np.dtype:
    """The dtype of vectors of `length` numbers each; 0: of the numbers."""
    return np.dtype((dtype, (length,))) if length else dtype


f32, f64 = ScalarType("f32"), ScalarType("f64")
u32, u64, i32, i64 = ScalarType("u32"), ScalarType("u64"), ScalarType("i32"), ScalarType("i64")
u8 = ScalarType("u8")  # of vectors alone: one byte has no atomics on GPUs
VALUE_TYPES = (f32, f64, u32, u64, i32, i64)


def type_of_dtype(dtype: np.dtype) -> str:
    """The scalar type of an array's elements; KeyError for a dtype that programs don't know."""
    return {dtype_of: name for name, dtype_of in NUMPY.items()}[np.dtype(dtype)]


def carrier(kind: str) -> str:
    """The type that arithmetic on one operand of `kind` is done in: i64, u64, f32, f64 or bool."""
    return {"weak": "f64", "u8": "u64", "u32": "u64", "i32": "i64", "n64": "i64", "lit": "i64"}.get(kind, kind)


def meet(left: str, right: str, negative: bool = False) -> str:
    """The type of arithmetic on `left` and `right`; `negative`: one is a negative integer constant.

    Integers of one signedness stay integers, u64 meets signed as f64 (Numba's rule), f32 stays f32 with constants,
    float parameters and 1-byte weights, and becomes f64 with wider integers.
    """
    pair = {left, right}
    if pair & {"f32", "f64", "weak"}:
        if "f64" in pair:
            return "f64"
        if "f32" in pair:
            return "f32" if pair <= {"f32", "weak", "lit", "u8", "bool"} else "f64"
        return "weak" if pair <= {"weak", "lit", "bool"} else "f64"
    if pair == {"bool"}:
        return "i64"
    if pair <= {*UNSIGNED, "n64", "lit"} and pair & set(UNSIGNED) and not negative:
        narrow = pair & {"u8", "u32"} and pair & {"n64", "lit"} and "u64" not in pair
        return "i64" if narrow else "u64"
    if "u64" in pair:
        return "u64" if "bool" in pair and not negative else "f64"
    return "i64"


def arithmetic(op: str, left: str, right: str, negative: bool = False) -> str:
    """The type of `left op right`: that of `meet`, but u64 and signed integers give u64 where 64 bits wrap, as in C.
    float64 would round sums past 2^53, and cut off at 0 what wraps below it."""
    kind = meet(left, right, negative)
    return "u64" if op in ("+", "-", "*") and kind == "f64" and {left, right} <= set(INTEGERS) else kind


def join(left: str, right: str, negative: bool = False) -> str:
    """The type of a conditional expression's branches, of min and max, and of a name that is assigned twice."""
    if left == right:
        return left
    if {left, right} == {"n64", "lit"}:
        return "i64" if negative else "n64"
    return meet(left, right, negative)
