"""What a command may write where: never over its own inputs, never into folders that are not there."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pagestore.errors import UsageError
from pagestore.replacing import refuse_replacing

STDIN = "-"
MOST_NAMED = 4  # inputs that a message names
STRIPE_SUFFIX = ".stripe"  # as in pagestore.meta, which loads more than --help needs


def refuse_existing(path: Path, force: bool, example: str = "graph.gs") -> None:
    """UsageError if `path` exists (a forgotten STORE would be an input), or its folder does not. example: a name to
    advise if `path` is a folder."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder. Name a file, as {path / example}.")
    refuse_replacing(path, force)
    if not path.parent.is_dir():
        raise UsageError(f"{path}: folder {path.parent} does not exist. Make it first.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: folder {path.parent} is not writable. Write elsewhere.")


def refuse_existing_store(path: Path, force: bool) -> None:
    """`refuse_existing` for a store: `force` replaces a store or an empty file, and nothing else, for a forgotten STORE
    would be an input."""
    if path.is_file() and path.stat().st_size and not _is_store(path):
        raise UsageError(
            f"{path}: exists and is no gstream store, so --force does not replace it. If it is an input, name the "
            f"store behind it, as graph.gs; else remove the file, or name another."
        )
    refuse_existing(path, force)


def refuse_name_of_input(path: Path, inputs: Sequence[str | Path]) -> None:
    """UsageError for a store called as edge lists are, unless it is one: the last input, where STORE was forgotten."""
    from pagestore.inputs.signatures import FORMATS, SUFFIXES

    ends = set(SUFFIXES).union(*(known.suffixes for known in FORMATS.values()))
    if path.suffix.lower() in ends and not (path.is_file() and _is_store(path)):
        named = " ".join(shlex.quote(str(one)) for one in (*inputs, path)) if len(inputs) < MOST_NAMED else "INPUT..."
        raise UsageError(
            f"{path}: is called as an edge list, and would be the store to write. If it is an input, name the store "
            f"behind it: gstream convert {named} NAME.gs. If not, give the store a name that ends in .gs."
        )


def _is_store(path: Path) -> bool:
    """Whether a file is a store, perhaps a damaged one called so."""
    from pagestore.inputs.signatures import HDF5
    from pagestore.stripes import described

    try:
        with open(path, "rb") as file:
            begins = file.read(len(HDF5)) == HDF5
    except OSError:
        return False
    return begins and (path.suffix == ".gs" or described(path) is not None)


def refuse_overwriting(written: Iterable[Path], read: Iterable[str | Path]) -> None:
    """UsageError if a file to be written (NAME, or NAME.partial before its rename) is one that is read. Files are
    compared, not names: another path or a link to the same file counts."""
    sources = [(source, found) for source in read if (found := _stat(source)) is not None]
    for path in written:
        if not path.name:  # "", ".", "/"
            raise UsageError(f"{path}: is a folder. Name a file.")
        if path.name.endswith(STRIPE_SUFFIX) and path.exists():
            raise UsageError(f"{path}: is part of a striped store, which writing would destroy. Name another file.")
        for target in (path, path.with_name(path.name + ".partial")):
            found = _stat(target)
            for source, other in sources:
                if found is not None and os.path.samestat(found, other):
                    shown = "standard input" if str(source) == STDIN else f"the input {source}"
                    raise UsageError(f"{target}: is {shown}; writing would destroy what is read. Name another file.")


def stripe_folders(given: list[str] | None) -> tuple[str, ...]:
    """Folders of --stripe A,B,..., which may be given several times."""
    return tuple(folder for text in given or () for folder in text.split(","))


def check_stripes(given: list[str] | None) -> None:
    """UsageError when --stripe names no folders that can be written: they are the user's to make, on disks of his."""
    for folder in stripe_folders(given):
        if not os.path.isdir(folder):
            raise UsageError(f"--stripe {folder}: no such folder. Make it first, on a disk of its own.")
        if not os.access(folder, os.W_OK):
            raise UsageError(f"--stripe {folder}: is not writable. Name another folder.")


def refuse_twice(written: Iterable[Path]) -> None:
    """UsageError when one file is to hold two answers."""
    seen: set[Path] = set()
    for path in written:
        if path.resolve() in seen:
            raise UsageError(f"{path}: is named twice; the second file would replace the first. Name two files.")
        seen.add(path.resolve())


def _stat(path: str | Path) -> os.stat_result | None:
    """Stat of a file, or of standard input for "-"; None when there is none."""
    try:
        return os.fstat(sys.__stdin__.fileno()) if str(path) == STDIN and sys.__stdin__ else os.stat(path)
    except (OSError, ValueError):
        return None


def check_workdir(workdir: Path | None) -> None:
    """UsageError when --workdir names no folder that can be written: it is not ours to make."""
    if workdir is None:
        return
    if not workdir.is_dir():
        raise UsageError(f"--workdir {workdir}: no such folder. Make it first.")
    if not os.access(workdir, os.W_OK):
        raise UsageError(f"--workdir {workdir}: is not writable. Name another folder.")
