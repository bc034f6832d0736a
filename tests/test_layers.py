"""Which file may import which: layers of gstream/ from the ground up, and no circle anywhere. How long files may be.

All imports count: those in functions, and those for types alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("gstream", "pagestore", "bench")

# No file imports a layer that stands further down. "__init__" is the face of the whole package.
LAYERS = (
    "version", "telemetry", "language", "options", "records", "hostcode", "programs", "paging", "cudacode", "devices",
    "devices.host", "devices.gpu", "reporting", "reading", "results", "planning", "engine", "algorithms.support",
    "algorithms", "methods", "graph", "interop", "nx", "__init__", "cli", "__main__",
)  # fmt: skip


@cache
def modules() -> dict[str, Path]:
    """Every module of the packages by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


class Facts(NamedTuple):
    """What is asked of a file: its lines; (line, module, names) of imports, no names where the module itself is
    imported; (line, name, lines) of functions; names that it gives a value at its top."""

    lines: int
    imports: list[tuple[int, str, list[str]]]
    functions: list[tuple[int, str, int]]
    given: list[str]


def facts_of(text: str, python: bool = True) -> Facts:
    """The facts of a file with this text."""
    found = Facts(len(text.splitlines()), [], [], [])
    waiting: list[Any] = ast.parse(text).body if python else []
    for node in (node for node in waiting if isinstance(node, ast.Assign)):
        found.given.extend(target.id for target in node.targets if isinstance(target, ast.Name))
    while waiting:  # statements alone, those within others too: a fifth of all nodes
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.imports.extend((node.lineno, alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.imports.append((node.lineno, node.module, [alias.name for alias in node.names]))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.append((node.lineno, node.name, node.end_lineno - node.lineno + 1))
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, [])
    return found


@cache
def facts(path: Path) -> Facts:
    """Those of a file. Each is read once: reading all takes a second."""
    return facts_of(path.read_text(), path.suffix == ".py")


def imports(of: Facts, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """(line, module of `known` that it imports)."""
    for line, module, names in of.imports:
        below = [f"{module}.{name}" for name in names]
        found = {name if name in known else module for name in below} if names else {module}
        for name in sorted(found & known.keys()):
            yield line, name


def layer(module: str) -> int:
    """The number of the layer that a module of gstream/ belongs to."""
    parts = module.split(".")[1:] or ["__init__"]
    below = ".".join(parts[:2])
    return LAYERS.index(below if below in LAYERS else parts[0])


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other."""
    found = nx.strongly_connected_components(nx.DiGraph(edges))
    return sorted(sorted(group) for group in found if len(group) > 1)


@cache
def all_imports() -> dict[str, list[tuple[int, str]]]:
    known = modules()
    return {name: list(imports(facts(path), known)) for name, path in known.items()}


def test_no_file_imports_a_higher_layer():
    upward = [
        f"{modules()[name].relative_to(ROOT)}:{line} imports {other}, which stands above it"
        for name, found in all_imports().items()
        for line, other in found
        if name.split(".")[0] == other.split(".")[0] == "gstream" and layer(other) > layer(name)
    ]
    assert not upward, "\n".join(upward)


def test_packages_import_only_those_below():
    order = ("pagestore", "gstream", "bench")
    upward = [
        f"{name} imports {other}"
        for name, found in all_imports().items()
        for _, other in found
        if order.index(other.split(".")[0]) > order.index(name.split(".")[0])
    ]
    assert not upward, "\n".join(upward)


def test_nothing_opens_a_socket():
    """Ranks talk by MPI and NCCL alone. So their variables, and nothing of ours, choose the network."""
    known = dict.fromkeys(("socket", "socketserver", "asyncio", "http", "ssl", "urllib.request"), ROOT)
    found = [
        f"{module}:{line}" for module, path in modules().items() if not module.startswith("bench")
        for line, _ in imports(facts(path), known)
    ]  # fmt: skip
    assert not found, found
    assert [name for _, name in imports(facts_of("def f():\n    import socket"), known)] == ["socket"]


def test_no_import_circle():
    known = modules()
    edges = {
        name: {other for _, other in found if known[other].name != "__init__.py"}
        for name, found in all_imports().items()
    }
    assert circles(edges) == []


def test_only_the_doors_stand_at_the_root():
    assert {path.name for path in (ROOT / "gstream").glob("*.py")} == {
        "__init__.py", "__main__.py", "graph.py", "methods.py", "version.py"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_circles_are_found(edges, found):
    assert circles(edges) == found


def test_imports_of_all_kinds_are_seen():
    known = {"gstream.options": ROOT, "gstream.options.values": ROOT, "gstream.graph": ROOT}
    text = (
        "import gstream.graph\nfrom gstream.options import values\ndef f():\n    from gstream.options import Other\n"
        "if TYPE_CHECKING:\n    from gstream.graph import Graph\n"
    )
    assert sorted(imports(facts_of(text), known)) == [
        (1, "gstream.graph"), (2, "gstream.options.values"), (4, "gstream.options"), (6, "gstream.graph"),
    ]  # fmt: skip


def test_no_module_gives_a_name_two_values():
    """The second one would hold in functions above it, too."""
    for module, path in modules().items():
        names = facts(path).given
        assert len(names) == len(set(names)), module


MOST_LINES, MOST_FUNCTION_LINES = 400, 70


def long_parts(path: Path, of: Facts) -> Iterator[str]:
    """What of a file of the project is longer than its limit; methods.pyi is written by docs/reference.py."""
    if of.lines > MOST_LINES:
        yield f"{path} has {of.lines} lines, of at most {MOST_LINES}"
    for line, name, lines in of.functions:
        if lines > MOST_FUNCTION_LINES:
            yield f"{path}:{line}: {name} has {lines} lines, of at most {MOST_FUNCTION_LINES}"


def test_files_and_functions_are_short():
    folders = [ROOT / name for name in (*PACKAGES, "cuda", "docs", "tests")]
    files = [path for folder in folders for kind in ("*.py", "*.cu", "*.cuh") for path in folder.rglob(kind)]
    assert len(files) > 900
    found = [line for path in files for line in long_parts(path.relative_to(ROOT), facts(path))]
    assert not found, "\n".join(found)


def test_long_parts_are_found():
    text = "def short():\n" + "    pass\n" * 69 + "class Of:\n    def long(self):\n" + "        pass\n" * 70
    assert list(long_parts(Path("a.py"), facts_of(text))) == ["a.py:72: long has 71 lines, of at most 70"]
    assert list(long_parts(Path("a.cu"), facts_of("{\n" * 401, python=False))) == ["a.cu has 401 lines, of at most 400"]
