"""`gstream run ALGORITHM edges.csv`: an edge list in a store's place. `gstream cache` shows what is kept of them."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from gstream.cli.progress import ProgressBar
from gstream.cli.terminal import note, print_json, print_table
from pagestore.errors import InputError, UsageError
from pagestore.sizes import show_bytes, show_seconds, show_things

SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of stores, as pagestore.inputs.signatures has it


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("cache", short_help="Stores that run made of edge lists.")(cache)


def cache(
    clear: bool = typer.Option(False, "--clear", help="Remove them, but those that runs are reading."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """List the stores that `gstream run ALGORITHM FILE` made of edge lists, the one used last first.

    Together they take no more than GSTREAM_CACHE_SIZE (20GiB); those used longest ago go first.
    """
    from gstream.interop import store_cache

    if clear:
        gone, size, kept = store_cache.clear()
        if json:
            print_json({"removed": gone, "bytes": size, "in_use": kept})
            return
        still = f"; {show_things(kept, 'store')} in use" if kept else ""
        print(f"removed {show_things(gone, 'store')}, {show_bytes(size)}{still}")
        return
    found, limit = store_cache.cached_stores(), store_cache.limit_bytes()
    if json:
        rows = [
            {"file": one.file, "store": one.path, "bytes": one.stored_bytes, "used": one.used, "outdated": one.outdated}
            for one in found
        ]
        print_json({"folder": store_cache.stores_folder(), "limit_bytes": limit, "stores": rows})
        return
    if found:
        now = time.time()
        rows_shown = [
            (one.file, show_bytes(one.stored_bytes), f"{show_seconds(max(0.0, now - one.used))} ago",
             "changed" if one.outdated else "")
            for one in found
        ]  # fmt: skip
        print_table(("file", "bytes", "used", ""), rows_shown)
    total = sum(one.stored_bytes for one in found)
    print(f"{show_things(len(found), 'store')}, {show_bytes(total)} of {show_bytes(limit)}, "
          f"in {store_cache.stores_folder()}")  # fmt: skip


def is_edge_list(path: Path) -> bool:
    """Whether a run's STORE is a file that is to be converted: any file that is there and is no store."""
    try:
        if path.suffix == ".gs" or not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            start = file.read(len(SIGNATURE))
    except OSError:
        return False  # what opens it as a store says why
    return bool(start) and start != SIGNATURE


@contextmanager
def as_store(path: Path, threads: int | None) -> Iterator[Path]:
    """The store to run on: `path` itself, or the cache's of an edge list, made if need be.

    Raises UsageError for a file that may be read in two ways, InputError for one that can't be read: both with the
    command that says how to read it.
    """
    if not is_edge_list(path):
        yield path
        return
    from gstream.interop.store_cache import store_of

    with store_of(path, lambda store: make_store(path, store, threads), note) as store:
        yield store


def make_store(path: Path, store: Path, threads: int | None) -> None:
    """Convert a file with the default options, unless it may be read in another way; on the cores.

    A GPU is left to the run's worker, which is forked later: no fork of a process that has started CUDA can use it.
    """
    from gstream.interop.files import opened_files
    from gstream.interop.options import split_options
    from pagestore.convert import convert

    options, reading = split_options({"threads": threads, "devices": "host"})
    try:
        with ProgressBar() as bar, opened_files([path], store, options, reading, bar) as (source, _):
            for line in source.assumptions:
                note(f"{line}{', directed' if source.directed is None else ''}.")
            if source.doubts:
                raise UsageError(f"{source.doubts[0]}. {typed(path)}")
            note(f"{path}: is converted once, into the cache ({store}).")
            convert(source, store, options, bar)
    except InputError as error:
        raise type(error)(f"{error.line} {typed(path)}") from error


def typed(path: Path) -> str:
    """What to do about a file that needs options."""
    from gstream.interop.store_cache import store_name

    name = store_name(path)
    return (
        f"run takes no options of convert: gstream convert {path} {name} makes a store, with its options; run {name}."
    )
