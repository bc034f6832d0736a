"""Options of a conversion as keywords: what `gstream convert` has as flags, in one place for both.

`split_options` checks them and gives the two sets that pagestore takes: how edges are read, how they are stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from gstream.interop.sorting import sorter_for
from gstream.options.memory import spare_memory, total_memory
from gstream.options.values import switch, whole
from pagestore.errors import UsageError
from pagestore.nearnames import meant_by
from pagestore.sizes import parse_size, show_bytes

if TYPE_CHECKING:
    from pagestore.convert.options import ConvertOptions, ProgressHook
    from pagestore.inputs.base import InputOptions

DEFAULT_ORDER = "auto"
LEAST_MEMORY = 16 << 20  # honoured: at 16 MiB a conversion of 16.8 M edges took 13 MiB more than one of a single edge
LIKE = 0.6  # how like a known name a word is that is taken for a slip
FLAG = re.compile(
    r"--([a-z][a-z-]*)(?: (?![a-z]+:)"
    r"(\d+(?= --|[,.)]|$)\b|'[^']*'|[,.](?=[ .;)]|$)|(?:N|NAME|FILE|FOLDER|skip|fail|both|out|in|auto|natural|degree|"
    r"llp|count|max|sum|ignore|text|none)\b))?"
)
COMMAND = re.compile(r"(?<!\| )gstream convert (\S+) STORE(?P<more> (?=--))?")  # behind a bar it stays a shell's
UPDATE = re.compile(r"gstream update (\S+) (\S+) --(add|remove) (\S+)(?P<more> (?=--))?")
SWITCHES = ("dedupe", "drop_self_loops", "string_ids", "resume", "force", "verify", "scramble")
OTHERS = {
    "undirected": "directed=False",
    "directed": "directed=True",
    "header": "header=True",
    "number-ids": "string_ids=False",
}


class StoreOptions(TypedDict, total=False):
    """How edges become a store, with the command line's meaning and defaults (`gstream convert --help`).

    directed: False stores every edge in both directions; None: as the source says, else True. memory: bytes, or text as
    "2GiB". workdir: folder of temporary files, and of the store where no path is given. stripe: folders, one a disk,
    that the pages are spread over. compress: "auto", "on" or "off"; True is "on", False "off". round_weights:
    significant bits that weights with fractions keep, None: all. progress: True shows progress on standard error; a
    function is called with each pagestore.convert.Progress. keep: the weight that dedupe
    keeps: "min", "max", "sum", "count" or "first". devices: where edges are sorted: "auto", "host" or "cuda:N".
    """

    directed: bool | None
    dedupe: bool
    keep: str | None
    drop_self_loops: bool
    topology: str
    order: str
    columns: int
    compress: str | bool
    round_weights: int | None
    page_size: int | str
    id_bytes: int | None
    memory: int | str | None
    threads: int | None
    devices: str
    force: bool
    workdir: str | os.PathLike | None
    stripe: str | os.PathLike | Sequence[str | os.PathLike]
    verify: bool
    progress: bool | ProgressHook | None


class ReadOptions(StoreOptions, total=False):
    """The same, and how files are read. Columns: a number, from 1, or a name. weights: False leaves them out.

    string_ids: True takes numbers for names; False reads 007 as 7 where 7 stands, too, which None refuses.
    where: a condition on columns, as "amount > 100". decimal: "," or ".", the mark of decimals in weights of text.
    """

    weights: bool
    source_column: int | str | None
    target_column: int | str | None
    weight_column: int | str | None
    num_vertices: int | None
    id_base: int | None
    bad_lines: str
    format: str | None
    string_ids: bool | None
    header: bool | None
    comments: str | None
    where: str | None
    decimal: str | None
    resume: bool


class UpdateOptions(TypedDict, total=False):
    """How changes are read, and what writing takes. missing: "refuse" or "ignore" removals that find no edge.
    bad_lines: "fail", or "skip" lines that are no edges, which NEW.add.skipped.txt and NEW.remove.skipped.txt list."""

    missing: str
    source_column: int | str | None
    target_column: int | str | None
    weight_column: int | str | None
    format: str | None
    header: bool | None
    comments: str | None
    where: str | None
    decimal: str | None
    bad_lines: str
    stripe: str | os.PathLike | Sequence[str | os.PathLike]
    memory: int | str | None
    threads: int | None
    workdir: str | os.PathLike | None
    force: bool
    progress: bool | ProgressHook | None


def split_options(given: Mapping[str, Any], skipped: Any = None) -> tuple[ConvertOptions, InputOptions]:
    """Checked options of both kinds, of those of ReadOptions. skipped: where the list of lines goes that
    bad_lines="skip" leaves out. Raises UsageError for values that can't be."""
    from pagestore.convert.options import ConvertOptions
    from pagestore.cores import usable_cores
    from pagestore.inputs.base import InputOptions

    asked = {name: value for name, value in given.items() if name not in ("progress", "verify")}
    if asked.get("string_ids", False) is None:  # as where it is not given
        del asked["string_ids"]
    for name in {*SWITCHES, "weights"} & asked.keys():
        asked[name] = switch(f"--{name}".replace("_", "-"), asked[name])
    for name in ("threads", "id_bytes", "num_vertices", "id_base", "columns", "round_weights"):
        if asked.get(name) is not None:
            asked[name] = whole(f"--{name}".replace("_", "-"), asked[name])
    asked.setdefault("order", DEFAULT_ORDER)
    memory = memory_bytes(asked.pop("memory", None))
    workdir = asked.pop("workdir", None)
    asked["sorter"] = sorter_for(asked.pop("devices", None))
    if "page_size" in asked:
        asked["page_bytes"] = parse_size(asked.pop("page_size"), "--page-size") or 0
    if isinstance(asked.get("compress"), bool):
        asked["compress"] = "on" if asked["compress"] else "off"
    asked["replace"] = asked.pop("force", False)
    reading = {
        name: asked.pop(name) for name in InputOptions.__dataclass_fields__.keys() & asked.keys() - {*_BOTH, "threads"}
    }
    reading |= {name: asked[name] for name in _BOTH & asked.keys()}
    reading["threads"] = asked.get("threads") or usable_cores()
    storing = ConvertOptions(memory_bytes=memory, workdir=_folder(workdir), **asked)
    return storing, InputOptions(skipped_path=skipped, **reading)


_BOTH = {"weights", "directed", "num_vertices"}  # which reading and storing both look at


def refuse_unknown(given: Iterable[str], names: Sequence[str]) -> None:
    """UsageError for a keyword that is none of `names`."""
    for name in given:
        if name not in names:
            like = _turned_round(name, names) or meant_by(name, names, LIKE)
            raise UsageError(
                f"{name}: no such option. {f'Did you mean {like}?' if like else 'Known are ' + ', '.join(names)}"
            )


def _turned_round(name: str, names: Sequence[str]) -> str:
    """What a flag that turns an option off is in Python, as directed=False for undirected; "" for other words."""
    positive = "directed" if name == "undirected" else name.removeprefix("no_")
    return f"{positive}=False" if positive != name and positive in names else ""


def memory_bytes(asked: int | str | None) -> int:
    """Bytes of --memory, None: what is free; UsageError below the least that a conversion keeps to, or above the
    machine's memory."""
    if asked is None:
        return max(LEAST_MEMORY, spare_memory())
    size, most = parse_size(asked, "--memory") or 0, total_memory()
    shown = asked if isinstance(asked, str) else show_bytes(asked)
    if size < LEAST_MEMORY:
        raise UsageError(f"--memory {shown}: too little; the least that is honoured is {show_bytes(LEAST_MEMORY)}.")
    if size > most:
        raise UsageError(f"--memory {shown}: this machine, or its container, has {show_bytes(most)}. Pass less.")
    return size


def _folder(workdir: Any) -> Any:
    from pathlib import Path

    return None if workdir is None else Path(workdir)


def spoken(**others: str) -> Callable[[str], str]:
    """What says a message of `gstream convert` in the words of a call from Python; others: keywords of another name."""

    def keyword(found: re.Match[str]) -> str:
        written, value = found.groups()
        tail = f" {value}" if value else ""
        if written in OTHERS:
            return OTHERS[written] + tail
        if written.startswith("no-"):
            name = written.removeprefix("no-").replace("-", "_")
            return f"{others.get(name, name)}=False{tail}"
        name = written.replace("-", "_")
        if name in SWITCHES:
            return f"{name}=True{tail}"
        name = others.get(name, name)
        if not value:
            return name
        as_it_is = value.isdigit() or value.isupper() or value.startswith("'")
        return f"{name}={value}" if as_it_is else f'{name}="{value}"'

    def call(command: re.Match[str]) -> str:
        return f"gstream.convert({command[1]}, STORE)" + " with " * bool(command["more"])

    def change(command: re.Match[str]) -> str:
        store, new, which, file, more = command.groups()
        return f"gstream.update({store}, {new}, {which}={file})" + " with " * bool(more)

    return lambda line: FLAG.sub(keyword, UPDATE.sub(change, COMMAND.sub(call, line)))
