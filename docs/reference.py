"""Reference text made from gstream's own code: commands and options, algorithms, programs, record kernels.

Functions give Markdown; docs/hooks.py puts it in place of a page's line `<!-- generated NAME -->`. `make stubs` runs
this file to write gstream/methods.pyi.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from gstream.algorithms.declaration import flag
from gstream.algorithms.registry import ALGORITHMS
from gstream.cli.commands import app_of

STUBS = Path(__file__).resolve().parents[1] / "gstream" / "methods.pyi"
WIDTH = 120  # of a line
HEAD = '''"""The methods of `Graph` that run an algorithm. Made from the declarations: `make stubs` writes this file."""

from abc import ABC, abstractmethod
from typing import Any

from gstream.results.result import Result

class Methods(ABC):
    """Every method takes RunOptions by name beside its own options, and `certify` to prove the answer."""

    @abstractmethod
    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False, **options: Any) -> Result:
        """Run an algorithm by name with its own options and RunOptions."""

'''


def command_line() -> str:
    """Every command with its arguments and options, as its --help has them."""
    group: Any = typer.main.get_command(app_of())
    return "\n".join(_command(name, command) for name, command in group.commands.items())


def _command(name: str, command: Any) -> str:
    context = command.context_class(command, info_name=f"gstream {name}")
    usage = " ".join((f"gstream {name}", *command.collect_usage_pieces(context)))
    lines = [f"## gstream {name}", "", _plain(command.help or ""), "", "```text", usage, "```", ""]
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            panels.setdefault(getattr(parameter, "rich_help_panel", None) or "", []).append(record)
    for panel, records in panels.items():
        lines += [f"### {panel}", ""] if panel else []
        lines += ["| option | does |", "|---|---|", *(f"| `{flag}` | {cell(text)} |" for flag, text in records), ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def cell(text: str) -> str:
    """Text for a cell of a table, outside of code."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def algorithm_table() -> str:
    """README's table: a line an algorithm."""
    rows = (f"| `{entry.name}` | {cell(entry.title)} |" for entry in ALGORITHMS.values())
    return "\n".join(("| algorithm | finds |", "|---|---|", *rows, ""))


def needs() -> str:
    """What each algorithm takes, and what its certificate proves."""
    rows = (
        f"| `{entry.name}` | {cell(entry.needs)} | {cell(entry.holds)} | {cell(entry.certificate)} |"
        for entry in ALGORITHMS.values()
    )
    return "\n".join(("| algorithm | needs | bytes a vertex | certificate |", "|---|---|---|---|", *rows, ""))


def kept() -> str:
    """What a checkpoint of each algorithm keeps."""
    rows = [entry.kept.split(": ", 1) for entry in ALGORITHMS.values() if entry.kept]
    names = [entry.name for entry in ALGORITHMS.values() if entry.kept]
    lines = (f"| `{name}` | {cell(size)} | {cell(what)} |" for name, (size, what) in zip(names, rows, strict=True))
    return "\n".join(("| algorithm | bytes | of what |", "|---|---|---|", *lines, ""))


def algorithms() -> str:
    """A section an algorithm: what it gives, its options, its columns, which definition it follows."""
    return "\n".join(_algorithm(entry) for entry in ALGORITHMS.values())


def _algorithm(entry: Any) -> str:
    lines = [f"### {entry.name}", "", f"{entry.title[0].upper()}{entry.title[1:]}.", ""]
    lines += [cell(entry.about), ""] if entry.about else []
    lines.append(f"- Columns: {', '.join(f'`{name}`' for name in entry.columns)}")
    options = [f"`{flag(one.name)}`{_default(one.default)}" for one in entry.options]
    lines.append(f"- Options: {', '.join(options) or 'none of its own'}")
    lines.append(f"- Certificate: {'`--certify` proves the answer' if entry.proof else 'none'}")
    if entry.weights:
        lines.append("- Reads edge weights")
    if entry.definition:
        lines.append(f"- Definition: {entry.definition}")
    return "\n".join((*lines, ""))


def _default(value: Any) -> str:
    return "" if value is None else f" ({str(value).lower() if isinstance(value, bool) else value})"


def method_stubs() -> str:
    """gstream/methods.pyi: the methods of algorithms, for type checkers and for the page about Python."""
    return HEAD + "\n".join(_stub(entry) for entry in ALGORITHMS.values())


def _literal(default: Any) -> str:
    """A default as ruff formats it."""
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _stub(entry: Any) -> str:
    own = [f"{one.name}: {one.type} = {_literal(one.default)}" for one in entry.options]
    given = ["self", *own, "certify: bool = False", "**options: Any"]
    first = f"    def {entry.name}({', '.join(given)}) -> Result:"
    if len(first) > WIDTH:
        whole = ", ".join(one.replace(" ", "\0") for one in given)  # no parameter goes over two lines
        inner = fill(f"{whole},", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
        first = f"    def {entry.name}(\n{inner}\n    ) -> Result:  # fmt: skip".replace("\0", " ")
    lines = [
        fill(
            line,
            WIDTH,
            initial_indent=" " * 8,
            subsequent_indent=" " * (10 if line.startswith("- ") else 8),
            break_on_hyphens=False,
        )  # fmt: skip
        for line in entry.docstring.splitlines()
    ]
    return "\n".join((first, f'        """{lines[0].strip()}', *lines[1:], '        """', ""))


def _in_python(value: Any) -> str:
    """A value as the formatter writes it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    STUBS.write_text(method_stubs())
