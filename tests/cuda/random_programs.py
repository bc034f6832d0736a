"""Random bodies of `send` from a seed: expressions over all fields, local names, branches."""

from __future__ import annotations

import random

LEAVES = ("u.value", "u.value", "u.id", "u.degree", "e.weight", "g.vertices", "g.superstep", "self.p", "self.n")
LEAVES += ("self.z", "self.b", "self.w", "self.h", "self.k")
CONSTANTS = ("0", "1", "2", "7", "0.5", "-3", "1e-3", "0.85", "INF", "3.0", "True", "18446744073709551615", "-1")
PARAMETERS = """
p: float = 0.3
n: int = -5
z: u32 = 4000000000
b: bool = True
w: u64 = 2 ** 63 + 5
h: f32 = 0.1
k: i32 = -7
"""
ONE_OF_MATH = ("sqrt", "floor", "ceil", "trunc", "fabs", "exp", "log1p", "tanh", "atan", "erf")
TWO_OF_MATH = ("atan2", "hypot", "copysign")
INEXACT = ("math.atan2", "math.exp", "math.log1p", "math.tanh", "math.atan", "math.erf", "math.hypot", "**")


class Writer:
    """Writes one body; `text` holds its lines."""

    def __init__(self, seed: int) -> None:
        self.random, self.locals = random.Random(seed), []
        lines = [self._assignment() for _ in range(self.random.choice((0, 0, 1, 2)))]
        if self.random.random() < 0.4:
            lines += self._branch()
        self.text = "\n".join([*lines, f"return {self.expression(4)}"])

    def _assignment(self) -> str:
        name = self.random.choice(("x", "y", "default"))
        line = f"{name} = {self.expression(3)}"
        if name not in self.locals:
            self.locals.append(name)
        return line

    def _branch(self) -> list[str]:
        before = list(self.locals)
        lines = [f"if {self.condition(2)}:", f"    {self._assignment()}"]
        self.locals = list(before)  # what one branch assigns is not known after it
        if self.random.random() < 0.5:
            lines += [f"elif {self.condition(2)}:", f"    return {self.expression(2)}"]
        return lines

    def pick(self, *items: str) -> str:
        return self.random.choice(items)

    def expression(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.15:
            return self.pick(*LEAVES, *LEAVES, *CONSTANTS, *self.locals * 6)
        kind = self.random.randrange(11)
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        if kind < 5:
            return f"({a} {self.pick('+', '-', '*', '/', '//', '%')} {b})"
        if kind == 5:
            return f"({a} ** {self.pick('0', '1', '2', '3', '0.5')})"
        if kind == 6:
            return self.pick(f"(-{a})", f"abs({a})")
        if kind == 7:
            return f"{self.pick('min', 'max')}({a}, {b})"
        if kind == 8:
            return f"math.{self.pick(*ONE_OF_MATH)}({a})"
        if kind == 9:
            return f"math.{self.pick(*TWO_OF_MATH)}({a}, {b})"
        return f"({a} if {self.condition(depth - 1)} else {b})"

    def condition(self, depth: int) -> str:
        a, b = self.expression(depth), self.expression(depth)
        text = f"{a} {self.pick('<', '<=', '==', '!=', '>', '>=')} {b}"
        kind = self.random.randrange(6)
        if kind == 0:
            return f"not ({text})"
        if kind == 1 and depth:
            return f"(({text}) {self.pick('and', 'or')} {self.condition(depth - 1)})"
        return self.pick(text, text, f"math.isnan({a})", f"math.isinf({a})", f"math.isfinite({a})")
