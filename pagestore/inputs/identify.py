"""What identifies an input: its files, with size and time of change, and the options that decide which edges it gives.

--resume goes on only with the same input. Of a pipe no more than its first bytes can be known before it is read. A
Graphalytics dataset is the files NAME.v and NAME.e, each perhaps compressed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pagestore.inputs.base import InputOptions
from pagestore.inputs.folders import listed
from pagestore.inputs.signatures import SUFFIXES
from pagestore.inputs.streams import STDIN, ByteStream

HEAD_BYTES = 1 << 12


def ldbc_file(stem: str, kind: str) -> str | None:
    """Path of STEM.kind, perhaps compressed; None when there is none."""
    return next((f"{stem}{kind}{end}" for end in ("", *SUFFIXES) if os.path.exists(f"{stem}{kind}{end}")), None)


def ldbc_stem(path: str | Path) -> str:
    """`path` without .e or .v and without a compression's suffix."""
    bare = Path(path)
    bare = bare.with_suffix("") if bare.suffix.lower() in SUFFIXES else bare
    return str(bare.with_suffix("") if bare.suffix in (".e", ".v") else bare)


def input_files(paths: Iterable[str | Path], format: str | None = None) -> list[Path]:
    """Every file that reading `paths` opens, also those of a Graphalytics dataset that were not named; no stdin."""
    found: list[Path] = []
    for path in listed(paths)[0]:
        if str(path) == STDIN:
            continue
        stem = ldbc_stem(path)
        named = [Path(path)]
        if format == "ldbc" or stem != str(path) or not os.path.exists(path):
            pair = [ldbc_file(stem, kind) for kind in (".e", ".v")]
            named += [Path(file) for file in pair if file is not None] + [Path(f"{stem}.properties")]
        found += [file for file in named if os.path.exists(file) and file not in found]
    return found


def fingerprint(paths: Iterable[str | Path], opened: Iterable[Any], options: InputOptions) -> dict[str, Any]:
    """What identifies the edges of `paths`, as JSON types. `opened`: the pipes among them are ByteStreams, unread."""
    files: list[list[Any]] = []
    for file in input_files(paths, options.format):
        info = os.stat(file)
        files.append([os.path.abspath(file), info.st_size, info.st_mtime_ns])
    heads = [zlib.crc32(pipe.peek(HEAD_BYTES)) for pipe in opened if isinstance(pipe, ByteStream)]
    return {"files": files, "pipes": heads, "options": options.lasting()}
