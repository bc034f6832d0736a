"""A conversion from named files: what may be written where, and the folder that reading needs meanwhile."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gstream.options.written import (
    refuse_existing,
    refuse_existing_store,
    refuse_name_of_input,
    refuse_overwriting,
)
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from pagestore.convert.options import ConvertOptions, ProgressHook
    from pagestore.inputs.base import EdgeSource, InputOptions


SEVERAL = (Sequence, Set, Iterator)


DOORS = {  # by the package that the object is of
    "pandas": "from_pandas", "polars": "from_polars", "pyarrow": "from_arrow", "networkx": "from_networkx",
    "scipy": "from_scipy", "igraph": "from_igraph", "numpy": "from_edges",
}  # fmt: skip


def paths_of(given: Any) -> list[Path]:
    """The inputs of `gstream.convert`. Raises UsageError for tables, graphs and edges, naming the call that takes
    them."""
    if isinstance(given, str | os.PathLike):
        return [Path(given)]
    door = DOORS.get(type(given).__module__.partition(".")[0])
    if door is None and isinstance(given, Iterable):
        several = list(given)
        given = next((one for one in several if not isinstance(one, str | os.PathLike)), None)
        if given is None:
            return [Path(one) for one in several]
        door = DOORS.get(type(given).__module__.partition(".")[0], "from_edges")
    raise UsageError(
        f"inputs: takes paths of files, not {type(given).__name__}. Pass it to gstream.{door or 'from_edges'}."
    )


def path_of(given: Any, name: str) -> Path:
    """The path that an argument of a call is. Raises UsageError for a table, a graph or edges in its place."""
    if not isinstance(given, str | os.PathLike):
        raise UsageError(
            f"{name}: takes the path of a file, not {type(given).__name__}. Write a table to a .csv or .parquet file, "
            "and pass a store by its path."
        )
    return Path(given)


def skipped_file(store: Path) -> Path:
    """Where --bad-lines skip lists the lines that it left out."""
    return store.with_name(store.name + ".skipped.txt")


@contextmanager
def opened_files(
    inputs: Sequence[str | Path], store: Path, storing: ConvertOptions, reading: InputOptions,
    progress: ProgressHook | None, dry_run: bool = False,
) -> Iterator[tuple[EdgeSource, Path | None]]:  # fmt: skip
    """The source of a conversion to `store`, open while the block lasts, and an earlier conversion's list of skipped
    lines, which goes if this one skips none.

    Raises UsageError where the store, or the list of skipped lines, would replace an input, or a file without `replace`
    in `storing`; InputError and UsageError as `pagestore.inputs.open_source`.
    """
    from pagestore.inputs import open_source
    from pagestore.inputs.identify import input_files

    skipped, force = reading.skipped_path, storing.replace
    read: list[str | Path] = [*input_files(inputs, reading.format), *(["-"] if "-" in map(str, inputs) else [])]
    refuse_overwriting([store, *([] if skipped is None else [skipped])], read)
    refuse_name_of_input(store, inputs)
    refuse_existing_store(store, force)
    if skipped is not None:
        refuse_existing(skipped, force or storing.resume)
    stale = stale_list(skipped_file(store), read) if (force or storing.resume) and not dry_run else None
    kept = None if storing.resume else skipped
    with reading_folder(store, storing.workdir) as scratch, gone_on_failure(kept, store):
        source = open_source(inputs, reading, scratch, storing.memory_bytes, progress, sample=dry_run)
        try:
            yield source, stale
        finally:
            source.close()


def stale_list(path: Path, read: list[str | Path]) -> Path | None:
    """`path`, the list of what an earlier conversion skipped, where that is a file and none that is read."""
    if not path.is_file() or any(str(file) != "-" and path.samefile(file) for file in read):
        return None
    return path


@contextmanager
def gone_on_failure(path: Path | None, store: Path) -> Iterator[None]:
    """While the block lasts: a file that it makes goes if it fails, so that the same command may be given again. It
    stays if the store was made all the same: then what failed was the sync after the rename."""
    made, before = path is not None and not path.exists(), _inode(store)
    try:
        yield
    except BaseException:
        if path is not None and made and _inode(store) in (None, before):
            path.unlink(missing_ok=True)
        raise


def _inode(path: Path) -> int | None:
    """Tells a file from one that took its name; None where there is none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


@contextmanager
def reading_folder(store: Path, workdir: Path | None) -> Iterator[Path]:
    """A folder for what reading needs on disk (dictionaries of names); gone afterwards, also when interrupted."""
    parent = workdir or store.parent
    for leftover in parent.glob(f"{glob.escape(store.name)}.*.reading.partial.d"):  # of a killed conversion
        owner = leftover.name.removeprefix(f"{store.name}.").split(".")[0]
        if owner.isdigit() and not runs(int(owner)):
            shutil.rmtree(leftover, ignore_errors=True)
    folder = parent / f"{store.name}.{os.getpid()}.reading.partial.d"
    try:
        folder.mkdir(exist_ok=True)
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:  # a signal, which comes once
            shutil.rmtree(folder, ignore_errors=True)
            raise


def runs(process: int) -> bool:
    """True while a process runs: one that was killed may stay in /proc as a zombie until its parent looks."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
