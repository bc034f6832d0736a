"""A source becomes a store, and the store a Graph: at a path, in a temporary folder, or without a file at all.

path given                         NAME.gs, which stays
no path, up to 65,536 edges        memory (pagestore/inmemory.py)
no path, more                      FOLDER/graph.gs, where FOLDER goes with the graph and its results
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from gstream.graph import Graph
from gstream.interop.files import gone_on_failure, skipped_file
from gstream.interop.options import split_options, spoken
from gstream.options.written import refuse_existing, refuse_existing_store
from gstream.telemetry.progress import ShowWork
from pagestore.convert.options import ConvertOptions, ProgressHook
from pagestore.convert.pipeline import convert
from pagestore.errors import InputError, UsageError, visible
from pagestore.faults import disk_error
from pagestore.inmemory import MOST_EDGES, convert_in_memory
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.base import InputOptions, NumberedSource, SkippedLines
from pagestore.inputs.columns import IdRange, option_range
from pagestore.memory import ArraySource
from pagestore.sizes import show_things
from pagestore.store import Store, open_store


def work_shown(progress: Any) -> ProgressHook | None:
    """The function that a conversion tells of its progress."""
    if progress in (None, False):
        return None
    if progress is True:
        return ShowWork()
    if callable(progress):
        return progress
    raise UsageError(f"progress {progress!r}: must be True, or a function of a pagestore.convert.Progress.")


def place_of(store: str | os.PathLike | None, workdir: Any) -> tuple[Path, Path | None]:
    """(the store to write, the temporary folder that it is in). Raises UsageError for what is no path."""
    if store is not None:
        if not isinstance(store, str | os.PathLike):
            raise UsageError(f'{store!r}: is no path of a store. Pass one, as store="web.gs".')
        return Path(store), None
    try:
        folder = Path(tempfile.mkdtemp(prefix="gstream-", dir=workdir))
    except OSError as error:
        raise disk_error(error, os.fspath(workdir or tempfile.gettempdir())) from None
    return folder / "graph.gs", folder


def with_bad_lines(
    store: Any, bad_lines: str, asked: Mapping[str, Any], call: Callable[[ConvertOptions, InputOptions], Graph]
) -> Graph:
    """call(checked options) with what becomes of rows that are no edges; the list of those that are skipped lies beside
    a named store, and goes if the call fails. So does an earlier list where a store is replaced and no row is skipped.
    """
    path = Path(store) if isinstance(store, str | os.PathLike) else None
    beside = None if path is None else skipped_file(path)
    skipped = beside if bad_lines == "skip" else None
    storing, reading = split_options({**asked, "bad_lines": bad_lines}, skipped)
    if skipped is not None:
        refuse_existing(skipped, storing.replace)
    with nullcontext() if path is None else gone_on_failure(skipped, path):
        graph = call(storing, reading)
    if beside is not None and storing.replace and not graph.conversion["skipped_lines"]:
        beside.unlink(missing_ok=True)
    return graph


def graph_of_edges(
    make: Callable[[BadLines, IdRange], Any], store: Any, bad_lines: str, options: Mapping[str, Any], **asked: Any
) -> Graph:
    """The graph of make(what becomes of rows that are no edges, the IDs that numbers may be), a source without names to
    be read. asked: options beside the call's own, which come first."""

    def made(storing: ConvertOptions, reading: InputOptions) -> Graph:
        skipped = SkippedLines()
        source = make(BadLines(reading.bad_lines, reading.skipped_path, skipped), option_range(reading))
        source.skipped = skipped
        return graph_of(source, store, storing, options)

    return with_bad_lines(store, bad_lines, {**asked, **options}, made)


def graph_of(source: Any, store: str | os.PathLike | None, options: ConvertOptions, given: Mapping[str, Any]) -> Graph:
    """Convert a source that has no names to be read, and open the store. given: the call's own keywords."""
    hook = work_shown(given.get("progress"))
    refuse_stripes_without_name(store, options)
    small = in_memory(source) if store is None and options.keep in (None, "min") else None
    if small is not None:
        made, report = convert_in_memory(small, options, hook)
        return finished(Graph(made), source, report, given)
    path, folder = place_of(store, given.get("workdir"))
    return converted(source, path, folder, options, given, hook)


def refuse_stripes_without_name(store: str | os.PathLike | None, options: ConvertOptions) -> None:
    """UsageError for stripes of a store that goes with its graph: they would stay."""
    if store is None and options.stripe:
        raise UsageError('--stripe: is for a store that stays. Name it, as store="web.gs".')


def converted(
    source: Any, path: Path, folder: Path | None, options: ConvertOptions, given: Mapping[str, Any],
    hook: ProgressHook | None,
) -> Graph:  # fmt: skip
    """Write the store of a source at `path`, in a temporary `folder` or not, and open it."""
    with removed_on_failure(folder):
        if folder is None:
            refuse_existing_store(path, options.replace)
        report = convert(source, path, options, hook)
        opened = open_store(path, options.stripe)
    if folder is not None:
        goes_with(opened, folder)
    graph = Graph(opened)
    return finished(graph, source, report, given)


def finished(graph: Graph, source: Any, report: Any, given: Mapping[str, Any]) -> Graph:
    """The graph with what its conversion did, once it is verified where that was asked for; doubts become warnings."""
    said = [f"{line}." for line in (*source.assumptions, *source.doubts)]
    if report.comment_lines:
        said.append(f"{source.name}: {show_things(report.comment_lines, 'comment line')} left out.")
    say = spoken()
    graph.conversion = {**report.as_dict(), "notes": [*map(say, said), *source.skipped.first, *map(say, report.notes)]}
    for line in map(say, (*(f"{line}." for line in source.doubts), *report.notes)):
        warn(line)
    if (count := source.skipped.count) and source.skipped.path is not None:
        warn(f"{source.name}: {show_things(count, 'line')} skipped, listed in {source.skipped.path}.")
    elif count:
        warn(f"{source.name}: {show_things(count, 'line')} skipped; the first: {source.skipped.first[0]}")
    if given.get("verify") and not (checked := graph.verify()).ok:
        raise checked.damaged()
    return graph


def warn(line: str) -> None:
    """A warning at the line of the caller's that called gstream."""
    frame, level = sys._getframe(), 1
    ours = ("gstream", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ours:
        frame, level = frame.f_back, level + 1
    warnings.warn(visible(line), stacklevel=level)


def in_memory(source: Any) -> NumberedSource | None:
    """The same edges as arrays between known vertices, where they are few enough for memory; None: they are not."""
    count = getattr(source, "edge_count", None)
    if count is None or count > MOST_EDGES or (source.vertices or 0) > MOST_EDGES:
        return None
    if source.vertices is not None:
        return source
    ends = [end.astype(np.uint64) for end in (source.source, source.target)]  # none is negative
    ids, places = np.unique(np.concatenate(ends), return_inverse=True)
    if len(ids) and int(ids[-1]) >= 1 << 63:
        raise InputError(f"{source.name}: vertex ID {ids[-1]} is past the limit; IDs run from 0 to 2^63-1.")
    first, second = places[:count], places[count:]
    found = ArraySource(first, second, source.weight, ids=ids.astype(np.int64), name=source.name)
    found.skipped = source.skipped
    return found


class removed_on_failure:
    """While the block lasts: a temporary folder (None: there is none) goes if it fails."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def goes_with(store: Store, folder: Path) -> None:
    """Remove a temporary folder when nothing has the store any more: the graph and its results are gone."""
    weakref.finalize(store, _remove, folder, os.getpid())


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)
