"""Changes from files to a store: what `gstream update` and `gstream.update` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gstream.interop.files import reading_folder
from gstream.interop.options import memory_bytes, split_options
from gstream.options.written import refuse_existing_store, refuse_overwriting
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from pagestore.convert.options import ProgressHook, Report

READING = ("source_column", "target_column", "weight_column", "format", "header", "comments", "where",
           "decimal")  # fmt: skip


def update_files(
    store: Path, path: Path, add: Sequence[Path], remove: Sequence[Path], given: Mapping[str, Any],
    progress: ProgressHook | None,
) -> tuple[Report, list[str]]:  # fmt: skip
    """Write the store at `path` that `store` becomes with the edges of files added and removed.

    Returns also how texts were read where nothing said it. given: keywords of `gstream.update`. Raises UsageError,
    InputError, ResourceError.
    """
    from pagestore.inputs import open_source
    from pagestore.inputs.identify import input_files
    from pagestore.manifest import is_parts
    from pagestore.store import open_store
    from pagestore.update import Changes, update

    if not add and not remove:
        raise UsageError("--add, --remove: neither is given. Name a file of edges.")
    refuse_overwriting([path], [store, *input_files([*add, *remove], given.get("format"))])
    refuse_existing_store(path, bool(given.get("force")))
    workdir = None if given.get("workdir") is None else Path(given["workdir"])
    memory = memory_bytes(given.get("memory"))
    if is_parts(store):
        raise _of_parts(store)
    with open_store(store, given.get("stripe") or ()) as opened, ExitStack() as stack:
        if opened.meta.parts:
            raise _of_parts(store)
        scratch = stack.enter_context(reading_folder(path, workdir))
        sources = []
        for which, files in enumerate((add, remove)):
            asked = {name: given[name] for name in READING if given.get(name) is not None}
            if opened.meta.id_kind == "strings":
                asked["string_ids"] = True
            weighted = which == 0 and opened.meta.weighted
            if not weighted:
                asked.pop("weight_column", None)
            _, reading = split_options({**asked, "weights": weighted, "threads": given.get("threads")})
            source = open_source(list(files), reading, scratch, memory, progress) if files else None
            if source is not None:
                stack.callback(source.close)
            sources.append(source)
        changes = Changes(sources[0], sources[1], given.get("missing") or "refuse")
        report = update(opened, path, changes, memory, given.get("threads"), workdir, True, progress)
        opened_sources = [source for source in sources if source is not None]
        report.notes[:0] = [f"{line}." for source in opened_sources for line in source.doubts]
        return report, [f"{line}." for source in opened_sources for line in source.assumptions]


def _of_parts(store: Path) -> UsageError:
    return UsageError(
        f"{store}: is a graph in parts, or one of them, which take no changes. Update the store that was split, then "
        "split the new one: gstream split NEW PARTS --parts N."
    )
