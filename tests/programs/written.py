"""Programs written to files and loaded by path, as a user's are."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from pathlib import Path

HEAD = "import math\n\nfrom gstream.language.program import *\n\n\n"
_numbers = itertools.count()
APPLIED = """
def apply(self, v, got, g): return min(v.value, got) if v.in_degree > 1 or v.value > 40 else v.value
@total
def reached(self, v): return 1 if v.value < INF else 0
@total
def gained(self, v): return v.before - v.value if v.value < INF and v.before < INF else 0
def halt(self, g): return g.reached > g.vertices * 0.6
"""
VARIED = {  # all monoids and widths: name -> (declaration for `program`, dtype of the weights)
    "applied": ({"value": "u32", "start": "v.id if v.id < 60 else INF", "send": "u.value + 1", "rest": APPLIED}, "f4"),
    "sum_weights": (
        {"combine": "SUM", "value": "f64", "start": "v.id + 0.5", "send": "u.value / (1 + u.degree) + e.weight"}, "u1",
    ),
    "sum_signed": ({"combine": "SUM", "value": "i64", "start": "v.id - 5", "send": "e.weight - u.value"}, "i4"),
    "sum_wrapped": (
        {"combine": "SUM", "value": "u64", "start": "18446744073709551607 - v.id", "send": "u.value * 3 + e.weight"},
        "i4",
    ),
    "max_floats": ({"combine": "MAX", "value": "f32", "start": "v.degree", "send": "u.value - e.weight"}, "f4"),
    "max_signed": ({"combine": "MAX", "value": "i64", "start": "v.id % 7 - 3", "send": "u.value - 2"}, "u4"),
    "min_signed": ({"combine": "MIN", "value": "i32", "start": "-v.id", "send": "u.value // 2"}, "f4"),
    "min_wide": ({"combine": "MIN", "value": "f64", "start": "v.id", "send": "u.value + e.weight * 0.5"}, "i4"),
    "joined": ({"combine": "OR", "value": "u32", "start": "v.id % 3", "send": "u.value"}, "f4"),
}  # fmt: skip


def load(folder: Path, text: str, name: str = "P"):
    """Write `text` (a class body is indented as given) to a new file and return its class `name`."""
    path = folder / f"written_{next(_numbers)}.py"
    path.write_text(HEAD + textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def program(folder: Path, combine="MIN", value="f32", start="0", send="u.value", rest="") -> type:
    """A program of one-line methods; `rest` is more of the class, unindented."""
    lines = [
        "class P(Program):",
        f"    combine, value = {combine}, {value}",
        f"    def start(self, v, g): return {start}",
        f"    def send(self, u, e, g): return {send}",
        textwrap.indent(textwrap.dedent(rest), "    "),
    ]
    return load(folder, "\n".join(lines))
