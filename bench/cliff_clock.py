"""Which sizes cliffs.py leaves out, as they would take too long."""

from __future__ import annotations

import math

from bench import cliff_table

GUESSED = 2.0  # budgets: part of what the first size takes may not grow


class Clock:
    """Whether a next size is likely to stay within the budget, by the last times of what is measured.

    busy: other processes share the cores. bound: of the row, by which times are expected to grow.
    """

    def __init__(self, budget_s: float, busy: bool, bound: str = cliff_table.USUAL) -> None:
        self.budget_s, self.busy, self.bound = budget_s, busy, bound
        self.last: dict[str, list[tuple[int, float]]] = {}

    def note(self, name: str, seconds: float, edges: int) -> None:
        """What a size took."""
        self.last.setdefault(name, []).append((edges, seconds))

    def allows(self, name: str, edges: int) -> bool:
        """By the growth of its last two sizes, at least linear; of one alone by the bound, up to GUESSED budgets."""
        seen = self.last.get(name, [])
        if not seen:
            return True
        exponent, most = cliff_table.EXPONENTS[self.bound], GUESSED * self.budget_s
        if len(seen) > 1:
            most = self.budget_s
            (before, less), (after, more) = seen[-2:]
            exponent = max(1.0, math.log(max(more, 1e-4) / max(less, 1e-4)) / math.log(after / before))
        return seen[-1][1] * (edges / seen[-1][0]) ** exponent <= most
