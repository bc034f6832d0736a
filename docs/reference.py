"""Reference text made from gstream's own code: commands and options, algorithms, programs, record kernels.

Each function gives Markdown; docs/hooks.py puts it in place of a page's line `<!-- generated NAME -->`.
"""

from __future__ import annotations

from typing import Any

import typer

from gstream.algorithms.registry import ALGORITHMS
from gstream.cli.commands import app


def command_line() -> str:
    """Every command with its arguments and options, as its --help has them."""
    group: Any = typer.main.get_command(app)
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


def algorithms() -> str:
    """A section an algorithm: what it gives, its options, its columns, which definition it follows."""
    return "\n".join(_algorithm(entry) for entry in ALGORITHMS.values())


def _algorithm(entry: Any) -> str:
    first = () if entry.table == "rows" and entry.name == "degrees" else ("source",) if entry.table else ("vertex",)
    columns = ("degree", *entry.columns) if entry.name == "degrees" else (*first, *entry.columns)
    lines = [
        f"### {entry.name}", "",
        f"{entry.title[0].upper()}{entry.title[1:]}.", "",
        f"- Columns: {', '.join(f'`{name}`' for name in columns)}",
    ]  # fmt: skip
    options = [f"`--{name.replace('_', '-')}`{_default(value)}" for name, value in entry.options.items()]
    lines.append(f"- Options: {', '.join(options) or 'none of its own'}")
    lines.append(f"- Certificate: {'`--certify` proves the answer' if entry.proves else 'none'}")
    if entry.weights:
        lines.append("- Reads edge weights")
    if entry.definition:
        lines.append(f"- Definition: {entry.definition}")
    return "\n".join((*lines, ""))


def _default(value: Any) -> str:
    return "" if value is None else f" ({str(value).lower() if isinstance(value, bool) else value})"
