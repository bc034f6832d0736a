"""Compiled reading of decimal numbers: the nearest float64, or the places of those whose text has to be looked at.

A number of up to 19 digits and a power of ten up to 22 is exact by one operation, or by twice float64's precision.
Others are *hard*: `hard_numbers` converts their text.
"""

from __future__ import annotations

import re

import numpy as np

from pagestore.jit import compiled

U0, U1, U9, U10 = np.uint64(0), np.uint64(1), np.uint64(9), np.uint64(10)
MINUS, PLUS, POINT, LETTER_E, LETTER_E_LARGE = 45, 43, 46, 101, 69
ASCII_0, MOST_DIGITS = np.uint64(48), np.uint64(19)
POWERS_OF_TEN = np.array([10.0**i for i in range(23)])  # exact in float64 up to 10^22
EXACT_MANTISSA = np.uint64(1 << 53)
LOW_BITS, LOW_MASK, TWO_11 = np.uint64(11), np.uint64((1 << 11) - 1), 2048.0
SPLIT = 134217729.0  # 2^27 + 1: halves of a float64's 53 bits
DOUBT = 2.0**-46
LEAST_DOUBLE = 5e-324  # above 0
FAR_POWER = np.uint64(1000)  # stands for any exponent of more digits

MARKED = {  # numbers whose decimals begin with this mark; thousands are parted by one other mark
    mark: re.compile(
        rf"[+-]?([0-9]{{1,3}}(?P<part>[{other}' ])[0-9]{{3}}((?P=part)[0-9]{{3}})*|[0-9]*)"
        rf"(\{mark}[0-9]*)?([eE][+-]?[0-9]+)?\Z"
    )
    for mark, other in ((".", ","), (",", "."))
}


@compiled
def digits_at(buf: np.ndarray, i: np.uint64) -> tuple:
    """Read decimal digits at buf[i]: (first byte behind them, value modulo 2^64)."""
    value = U0
    digit = np.uint64(buf[i]) - ASCII_0
    while digit <= U9:
        value = value * U10 + digit
        i += U1
        digit = np.uint64(buf[i]) - ASCII_0
    return i, value


@compiled
def product(a: float, b: float) -> tuple:
    """a * b exactly, as a rounded product and what rounding left out (Dekker 1971)."""
    high = SPLIT * a
    a_high = high - (high - a)
    high = SPLIT * b
    b_high = high - (high - b)
    a_low, b_low = a - a_high, b - b_high
    rounded = a * b
    return rounded, ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def wide_number(mantissa: np.uint64, exponent: np.int64) -> tuple:
    """(mantissa * 10^exponent, in doubt) for 64-bit mantissas and |exponent| <= 22, in twice float64's precision.

    The result is the nearest float64 unless it lies within 2^-100 of a midpoint: then it is in doubt.
    """
    top = np.float64(mantissa >> LOW_BITS) * TWO_11  # exact: 53 bits
    low = np.float64(mantissa & LOW_MASK)
    power = POWERS_OF_TEN[abs(exponent)]
    if exponent < 0:
        first = top / power
        back, error = product(first, power)
        second = ((top - back) - error + low) / power
    else:
        first, error = product(top, power)
        second = error + low * power
    value = first + second * (1.0 - DOUBT)
    return value, value != first + second * (1.0 + DOUBT)


@compiled
def number_at(buf: np.ndarray, at: np.uint64) -> tuple:
    """Read a decimal number: (first byte behind it, value, hard), or (at, 0.0, False) when it isn't one.

    The value is the nearest float64. A number of more than 19 digits, or beyond 10^-22 or 10^22, is hard: its value is
    to be found from its text.
    """
    negative = buf[at] == MINUS
    first = at + U1 if negative or buf[at] == PLUS else at
    i, mantissa = digits_at(buf, first)
    digits = i - first
    exponent = np.int64(0)
    if buf[i] == POINT:
        point = i
        i += U1
        digit = np.uint64(buf[i]) - ASCII_0
        while digit <= U9:
            mantissa = mantissa * U10 + digit
            i += U1
            digit = np.uint64(buf[i]) - ASCII_0
        exponent = -np.int64(i - point - U1)
        digits += i - point - U1
    if digits == U0:
        return at, 0.0, False
    if buf[i] == LETTER_E or buf[i] == LETTER_E_LARGE:
        minus = buf[i + U1] == MINUS
        begin = i + U1 + U1 if minus or buf[i + U1] == PLUS else i + U1
        i, power = digits_at(buf, begin)
        if i == begin:
            return at, 0.0, False
        power = FAR_POWER if i - begin > U9 else power
        exponent += -np.int64(power) if minus else np.int64(power)
    if digits > MOST_DIGITS or exponent < -22 or exponent > 22:
        return i, 0.0, True
    if mantissa <= EXACT_MANTISSA:  # one correctly rounded operation on exact operands (Clinger 1990)
        value = np.float64(mantissa)
        value = value / POWERS_OF_TEN[-exponent] if exponent < 0 else value * POWERS_OF_TEN[exponent]
        hard = False
    else:
        value, hard = wide_number(mantissa, exponent)
    return i, -value if negative else value, hard


def without_marks(text: str, decimal: str) -> str | None:
    """A number with the mark `decimal`, thousands perhaps parted, as it is written with a point; None: it is none."""
    if not MARKED[decimal].match(text) or not any(map(str.isdigit, text.lower().partition("e")[0])):
        return None
    kept = "".join(letter for letter in text if letter.isalnum() or letter in ("+", "-", decimal))
    return kept.replace(decimal, ".")


def nearest_double(text: str) -> float:
    """The nearest float64 of a decimal number, inf past its range; but never 0 for another one, which a conversion
    could not tell from a 0 that was meant."""
    value = float(text)
    if value == 0 and text.lower().partition("e")[0].strip("+-0."):
        return -LEAST_DOUBLE if text.startswith("-") else LEAST_DOUBLE
    return value


def hard_numbers(buf: np.ndarray, first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Float64[n], the numbers in the bytes first[k]..end[k]-1 of buf, each as `nearest_double`."""
    places = zip(first.tolist(), end.tolist(), strict=True)
    return np.array([nearest_double(buf[begin:stop].tobytes().decode()) for begin, stop in places], dtype=np.float64)
