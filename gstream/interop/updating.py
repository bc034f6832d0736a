"""Changes from files to a store: what `gstream update` and `gstream.update` do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gstream.interop.files import gone_on_failure, reading_folder, skipped_file, stale_list
from gstream.interop.options import UpdateOptions, memory_bytes, split_options
from gstream.options.written import refuse_existing, refuse_existing_store, refuse_overwriting
from pagestore.errors import InputError, UsageError, plain
from pagestore.inputs.judge import PADDING_REMEDY
from pagestore.sizes import show_things

if TYPE_CHECKING:
    from pagestore.convert.options import ProgressHook, Report
    from pagestore.inputs.base import InputOptions
    from pagestore.meta import Meta

READING = ("source_column", "target_column", "weight_column", "format", "header", "comments", "where", "decimal",
           "bad_lines")  # fmt: skip
OPTIONS = {name.replace("_", "-") for name in UpdateOptions.__annotations__} | {"add", "remove", "no-header"}
OPTION = re.compile(r"--([a-z][a-z-]*)")
COMMAND = re.compile(r"gstream convert (\S+) STORE")
REPLACED = {
    PADDING_REMEDY: "Write it as the store does.",
    "Pass --num-vertices N for a graph without edges": "Leave the file out",
    " as the option says": " as the store is",
}
MADE = re.compile(r"; (?:of an undirected graph )?convert that with --[a-z-]+(?: or --[a-z-]+)?")
NUMBERS = re.compile(r"--string-ids and --number-ids are for (.+), not for (\S+)\. Drop the option")


def update_files(
    store: Path, path: Path, add: Sequence[Path], remove: Sequence[Path], given: Mapping[str, Any],
    progress: ProgressHook | None,
) -> tuple[Report, list[str]]:  # fmt: skip
    """Write the store at `path` that `store` becomes with the edges of files added and removed.

    Returns also how texts were read where nothing said it, and the first lines that were skipped. given: keywords of
    `gstream.update`. Raises UsageError, InputError, ResourceError.
    """
    from pagestore.inputs import open_source
    from pagestore.inputs.base import SkippedLines
    from pagestore.inputs.identify import input_files
    from pagestore.manifest import is_parts
    from pagestore.store import open_store
    from pagestore.update import Changes, update

    if not add and not remove:
        raise UsageError("--add, --remove: neither is given. Name a file of edges.")
    read: list[str | Path] = [store, *input_files([*add, *remove], given.get("format"))]
    force, skips = bool(given.get("force")), given.get("bad_lines") == "skip"
    lists = {which: skipped_file(path.with_name(f"{path.name}.{which}")) for which in ("add", "remove")}
    refuse_overwriting([path, *(lists.values() if skips else ())], read)
    refuse_existing_store(path, force)
    workdir = None if given.get("workdir") is None else Path(given["workdir"])
    memory = memory_bytes(given.get("memory"))
    if is_parts(store):
        raise _of_parts(store)
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store, given.get("stripe") or ()))
        if opened.meta.parts:
            raise _of_parts(store)
        scratch = stack.enter_context(reading_folder(path, workdir))
        sources, said, notes = dict[str, Any](), list[str](), list[str]()
        for which, files in (("add", add), ("remove", remove)):
            if not files:
                continue
            if skips:
                refuse_existing(lists[which], force)
                stack.enter_context(gone_on_failure(lists[which], path))
            reading = _reading(opened.meta, which, given, lists[which] if skips else None)
            speak = partial(in_its_words, command=f"gstream update {store} {path} --{which}")
            stack.enter_context(_spoken(speak, files))
            sources[which] = source = open_source(list(files), reading, scratch, memory, progress)
            stack.callback(source.close)
            said += (f"{speak(line)}." for line in source.assumptions)
            notes += (f"{speak(line)}." for line in source.doubts)
        changes = Changes(sources.get("add"), sources.get("remove"), given.get("missing") or "refuse")
        report = update(opened, path, changes, memory, given.get("threads"), workdir, True, progress)
        for which, listed in lists.items():
            skipped = sources[which].skipped if which in sources else SkippedLines()
            said += skipped.first
            if skipped.count:
                notes.append(f"--{which}: {show_things(skipped.count, 'line')} skipped, listed in {listed}.")
            elif (stale := stale_list(listed, read)) is not None:  # of an earlier update to this name
                stale.unlink(missing_ok=True)
        report.notes[:0] = notes
        return report, said


def _reading(meta: Meta, which: str, given: Mapping[str, Any], skipped: Path | None) -> InputOptions:
    """How edges to add, or to remove, are read for a store. skipped: the list of lines that are left out."""
    asked = {name: given[name] for name in READING if given.get(name) is not None}
    asked["directed"] = meta.directed
    if meta.id_kind == "strings":
        asked["string_ids"] = True
    weighted = which == "add" and meta.weighted
    if not weighted:
        asked.pop("weight_column", None)
    options = split_options({**asked, "weights": weighted, "threads": given.get("threads")}, skipped)[1]
    return replace(options, third_weighs=weighted)


@contextmanager
def _spoken(speak: Callable[[str], str], files: Sequence[Any]) -> Iterator[None]:
    """Errors of reading these files, in the block, say what `speak` makes of them."""
    try:
        yield
    except (InputError, UsageError) as error:
        if any(plain(file) in error.line for file in files):
            error.args = (speak(error.line),)
        raise


def in_its_words(line: str, command: str) -> str:
    """A message about a file of edges with the options of an update alone: what the others would do is the store's to
    say. command: that of the update, which an example of convert's becomes."""
    for part, instead in REPLACED.items():
        line = line.replace(part, instead)
    line = NUMBERS.sub(r"IDs of the store are names, and \2 has numbers. Formats with names are \1", line)
    line = MADE.sub("", COMMAND.sub(lambda found: f"{command} {found[1]}", line))
    for name in sorted({*OPTION.findall(line)} - OPTIONS):
        option = rf"--{name}\b[^,;.]*"
        line = re.sub(rf"\bPass {option}[,;] or (?=--)", "Pass ", line)
        line = re.sub(rf"\bPass {option}[,;] or (\w)", lambda found: found[1].upper(), line)
        line = re.sub(rf" (?:If [^.;]*, p|P)ass {option}\.", "", line)
        line = re.sub(rf"(?:[,;] or|[,;]| or) (?:pass )?{option}", "", line)
    return line


def _of_parts(store: Path) -> UsageError:
    return UsageError(
        f"{store}: is a graph in parts, or one of them, which take no changes. Update the store that was split, then "
        "split the new one: gstream split NEW PARTS --parts N."
    )
