"""Which format an input has, by --format, its first bytes or its name, and the source that reads it.

First bytes win over names: a Matrix Market file is one whatever it is called. Names win over plain text, because
METIS, DIMACS and GAP's binary files carry no magic.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pagestore.convert.options import ProgressHook
from pagestore.errors import InputError, UsageError
from pagestore.inputs.base import EdgeSource, InputOptions
from pagestore.inputs.folders import Spooled, listed
from pagestore.inputs.foreign import refuse_archives, refuse_foreign
from pagestore.inputs.identify import fingerprint, ldbc_file, ldbc_stem
from pagestore.inputs.said import Promise, of_all
from pagestore.inputs.several import SeveralSources, refuse_other_columns
from pagestore.inputs.signatures import DIMACS_LINE, FORMATS, LIMITED_OPTIONS, MAGIC, NO_NAMES, SUFFIXES, TEXTS
from pagestore.inputs.streams import STDIN, ByteStream, check_file

HEAD_BYTES = 1 << 12
Input = str | Path | ByteStream | Spooled


def detect_format(stream: ByteStream) -> str:
    """Name of the format of `stream`; consumes nothing. Raises InputError if it is no edge list."""
    name, head = stream.name, stream.peek(HEAD_BYTES)
    refuse_archives(stream, head)
    for kind, known in FORMATS.items():
        if head[: max(map(len, known.magic), default=0)].lower() in known.magic:
            return kind
    if head.startswith(b"\xff\xff\xff\xff") and 0 < int.from_bytes(head[4:8], "little", signed=True):
        return "arrow"  # a stream: continuation mark and the schema's size
    bare, suffix = os.path.splitext(name)
    if suffix.lower() in SUFFIXES:
        suffix = os.path.splitext(bare)[1]
    by_name = next((kind for kind, known in FORMATS.items() if suffix.lower() in known.suffixes), None)
    if found := refuse_foreign(stream, head, suffix.lower(), by_name):
        return found
    if by_name is not None and by_name != "text":
        return by_name
    return "gr" if _looks_like_dimacs(head) else "text"


def _identify(path: str | Path, options: InputOptions) -> tuple[Input, str]:
    """What to open and its format. A pipe is opened here: its first bytes, once read, are in the stream."""
    if options.format is None and not os.path.exists(path) and ldbc_file(str(path), ".e") is not None:
        return path, "ldbc"
    asked = options.format
    if asked is not None and (asked == "ldbc" or os.path.isfile(path)):
        return path, asked
    stream = ByteStream(path)
    try:
        kind = asked or detect_format(stream)
    except InputError:
        stream.close()
        raise
    if stream.replayable:
        stream.close()
        return path, kind
    return stream, kind


def _looks_like_dimacs(head: bytes) -> bool:
    for line in head.splitlines():
        if DIMACS_LINE.match(line):
            return True
        if line[:2] not in (b"c", b"c ", b""):
            return False
    return False


def open_source(
    paths: str | Path | Sequence[str | Path], options: InputOptions, workdir: str | Path, memory_bytes: int,
    progress: ProgressHook | None = None, sample: bool = False,
) -> EdgeSource:  # fmt: skip
    """Open one or several inputs of one format as one graph.

    IDs that are text are made dense here (`names` is set then); sparse integers are left to
    `dictionary.compact_integers`. `workdir` takes temporary files and the list of skipped lines and must outlive the
    source. `sample`: no dictionary is made, an estimate of some edges is all that is wanted.
    Raises InputError for what can't be read as a graph, UsageError for options that don't fit.
    """
    started = time.perf_counter()
    inputs, folders = listed([paths] if isinstance(paths, str | Path) else paths)
    options = dataclasses.replace(options, folders=folders)
    workdir = Path(workdir)
    if not inputs:
        raise UsageError("no input: name at least one file, or - for stdin.")
    if [str(path) for path in inputs].count(STDIN) > 1:
        raise UsageError("stdin (-) is named twice; it can be read once.")
    if options.format is not None and options.format not in FORMATS:
        raise UsageError(f"--format {options.format}: unknown; it is one of {', '.join(FORMATS)}.")
    inputs = _pair_ldbc(inputs, options)
    with ExitStack() as undo:
        found = []
        for path in inputs:
            found.append(_identify(path, options))
            if isinstance(found[-1][0], ByteStream):
                undo.callback(found[-1][0].close)
        identity = fingerprint(inputs, [path for path, _ in found], options)
        for at, (given, kind) in enumerate(found):
            if isinstance(given, ByteStream) and FORMATS[kind].seeking:
                found[at] = Spooled(given, workdir, at), kind
        for given, kind in found:
            if FORMATS[kind].seeking:
                assert not isinstance(given, ByteStream)
                _check_plain(given, kind)
        opened: list[EdgeSource] = []
        for given, kind in found:
            opened.append(_open_one(given, kind, options, workdir, memory_bytes))
            undo.callback(opened[-1].close)
        refuse_other_columns(opened, options)
        source: EdgeSource = _as_one(opened, found, options, workdir, memory_bytes, progress, sample)
        undo.pop_all()  # nothing failed: what is open stays so
    source.fingerprint = identity
    said = [one.assumed() or _by_format(kind, one) for one, (_, kind) in zip(opened, found, strict=True)]
    source.assumptions = _of_all([(one.name, words) for one, words in zip(opened, said, strict=True)])
    source.doubts = (*_of_all([(one.name, one.doubt()) for one in opened]), *_nobody(source))
    source.promised = of_all([Promise(*one.promised) for one in opened])
    source.opening_seconds = time.perf_counter() - started
    return source


def _as_one(
    opened: list[EdgeSource], found: Sequence[tuple[Input, str]], options: InputOptions,
    workdir: Path, memory_bytes: int, progress: ProgressHook | None, sample: bool,
) -> EdgeSource:  # fmt: skip
    """Several inputs as one graph; opened again, in their places, where names in others make their numbers names."""
    alone = next((one for one in opened if one.ids is not None or one.names is not None), None)
    if alone is not None and len(opened) > 1:
        raise InputError(f"{alone.name}: lists its own vertices, and can't be joined with others. Convert it alone.")
    if named := any(getattr(source, "strings", False) for source in opened):
        _read_as_names(found, opened, options, workdir, memory_bytes)
    if options.directed is not None:
        for one in opened:
            one.directed = options.directed
    if named:
        return _named(opened, workdir, memory_bytes, progress, sample, options.threads)
    if len(opened) == 1:
        return opened[0]
    return SeveralSources(opened)


def _by_format(kind: str, source: EdgeSource) -> str:
    """What is said of a format that leaves nothing open."""
    return f"read as {kind}, {'weights as the format has them' if source.weighted else 'no weights'}"


def _of_all(said: list[tuple[str, str]]) -> tuple[str, ...]:
    """What is said of inputs, (name, words): one line for all of which the same is said."""
    alike: dict[str, list[str]] = {}
    for name, words in said:
        alike.setdefault(words, []).append(name)
    more = {words: f" and {len(names) - 1} more" if len(names) > 1 else "" for words, names in alike.items()}
    return tuple(f"{names[0]}{more[words]}: {words}" for words, names in alike.items() if words)


def _nobody(source: EdgeSource) -> list[str]:
    """What is said of vertices called as what is not known is written: they may join edges that have nothing common."""
    found = [name for name in NO_NAMES if source.names is not None and name in source.names]
    if not found:
        return []
    is_one = "is the name of a vertex" if len(found) == 1 else "are names of vertices"
    said = " and ".join(map(repr, found))
    return [f"{said} {is_one}; if that stands for what is not known, leave its edges out with --where"]


def _named(
    opened: list[EdgeSource], workdir: Path, memory_bytes: int, progress: ProgressHook | None, sample: bool,
    threads: int,
) -> EdgeSource:  # fmt: skip
    if sample:
        from pagestore.inputs.names import NameSample

        return NameSample(opened)
    from pagestore.inputs.names import dictionary_strings

    return dictionary_strings(opened, workdir, memory_bytes, progress, threads)


def _read_as_names(
    found: Sequence[tuple[Input, str]], opened: list[EdgeSource], options: InputOptions,
    workdir: Path, memory_bytes: int,
) -> None:  # fmt: skip
    """Names in one input make the IDs of all of them names: open those with numbers again."""
    as_names = dataclasses.replace(options, string_ids=True)
    for at, source in enumerate(opened):
        if not getattr(source, "strings", False):
            source.close()
            if not source.replayable:
                raise InputError(
                    f"{source.name}: has numbers for IDs where other inputs have names. Pass --string-ids."
                )
            opened[at] = _open_one(*found[at], as_names, workdir, memory_bytes)


def _pair_ldbc(inputs: list[str | Path], options: InputOptions) -> list[str | Path]:
    """Name a .v and .e pair once, by what was named first."""
    paired: list[str | Path] = []
    stems: set[str] = set()
    for path in inputs:
        stem = ldbc_stem(path)
        is_pair = stem != str(path) and Path(path).name.removeprefix(Path(stem).name)[:2] in (".e", ".v")
        if is_pair and stem in stems:
            continue
        if is_pair:
            stems.add(stem)
        paired.append(path)
    return paired


def _check_plain(path: str | Path | Spooled, kind: str) -> None:
    check_file(os.fspath(path))
    with open(path, "rb") as file:
        head = file.read(8)
    for magic, compression in MAGIC.items():
        if head.startswith(magic) and Path(path).suffix.lower() in SUFFIXES:
            raise InputError(f"{path}: {compression} data of {kind} can't be mapped. Decompress it first.")


def _open_one(path: Input, kind: str, options: InputOptions, workdir: Path, memory_bytes: int) -> EdgeSource:
    module, _, reader = FORMATS[kind].reader.partition(".")
    opener = getattr(importlib.import_module(f"pagestore.inputs.{module}"), reader)
    if kind in TEXTS:
        return opener(path, options, workdir, memory_bytes, kind)
    for field, taken, formats in LIMITED_OPTIONS:
        if getattr(options, field) != getattr(InputOptions, field) and kind not in formats:
            name = path.name if isinstance(path, ByteStream) else path
            raise UsageError(f"{name}: {taken}, not for {kind}. Drop the option.")
    return opener(path, options, workdir, memory_bytes)
