"""Files that convert does not read, found by the table of `signatures`: refused with what they are and what helps."""

from __future__ import annotations

import os
import re
import shlex

from pagestore.errors import InputError
from pagestore.inputs import signatures
from pagestore.inputs.streams import STDIN, ByteStream

WIDE_SAMPLE = 1 << 10
MOST_ZEROS_SHORT = 0.2  # of the zero bytes that characters beyond Latin ones lack
TWO_FIELDS = rb"[^\s,;|]+[ \t,;|]+[^\s,;|]+[^\r\n]*"
CARRIAGE_RETURN = re.compile(rb"^[ \t]*" + TWO_FIELDS + rb"\r[ \t]*" + TWO_FIELDS, re.MULTILINE)
COMMENT_LINES = re.compile(rb"(?:[ \t]*(?:(?:[#%]|//)[^\n]*)?\n|/\*.*?\*/\s*)*", re.DOTALL)
OPENINGS = [
    (re.compile(rb"\s*(?:" + kind.opening.encode() + rb")", re.I), kind) for kind in signatures.FOREIGN if kind.opening
]
COMMENTS = [(re.compile(kind.comment.encode(), re.I), kind) for kind in signatures.FOREIGN if kind.comment]


def check_text(name: str, head: bytes) -> None:
    """Refuse what is no UTF-8 text: wide characters, NUL bytes, carriage returns as line ends. `head`: first bytes."""
    check_encoding(name, head)
    nul = head.find(b"\0")
    if nul >= 0:
        line = head.count(b"\n", 0, nul) + 1
        column = nul - head.rfind(b"\n", 0, nul)
        raise InputError(
            f"{name}:{line}:{column}: a NUL byte; text holds none. Name the format of a binary file with --format."
        )
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        raise InputError(f"{name}: lines end in a carriage return alone. Convert them: tr '\\r' '\\n'.")
    within = None if b'"' in head else CARRIAGE_RETURN.search(head)
    if within:
        line = head.count(b"\n", 0, within.start()) + 1
        raise InputError(
            f"{name}:{line}:1: holds carriage returns between edges; a line ends in a line feed, or in both. Convert "
            f"them: sed 's/\\r$//' | tr '\\r' '\\n'."
        )


def check_encoding(name: str, head: bytes) -> None:
    """InputError for UTF-16 and UTF-32, with the command that makes UTF-8 of it."""
    if encoding := _wide_encoding(head):
        command = f"iconv -f {encoding} -t UTF-8" + ("" if name == "stdin" else f" {shlex.quote(name)} > NEW")
        raise InputError(f"{name}: is {encoding} text; it must be UTF-8. Convert it: {command}.")


def _wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32, with the order of bytes where no mark says it; "" for other text."""
    for mark, encoding in signatures.MARKS.items():
        if head.startswith(mark):
            return encoding
    sample = head[:WIDE_SAMPLE]
    for encoding, zeros in signatures.WIDE.items():
        width = 4 if "32" in encoding else 2
        units = len(sample) // width
        place = {at % width for at in zeros}
        others = set(range(width)) - place
        empty = sum(sample[at::width][:units].count(0) for at in place)
        if (
            units >= 2
            and empty >= (1 - MOST_ZEROS_SHORT) * units * len(place)
            and not any(sample[at::width][:units].count(0) for at in others)
        ):
            return encoding
    return ""


def refuse_archives(stream: ByteStream, head: bytes) -> None:
    """InputError for files that hold files, and for what was compressed twice. NumPy's .npz are zip archives, too."""
    kind = next((words for magic, words in signatures.ARCHIVES.items() if head.startswith(magic)), None)
    first = head[signatures.ZIP_NAME : signatures.ZIP_NAME + int.from_bytes(head[26:28], "little")]
    if kind == "zip" and first.startswith(signatures.OFFICE_MEMBERS):
        raise _refusal(stream.name, signatures.EXCEL)
    if kind == "zip" and (first.endswith(b".npy") or stream.name.lower().endswith(".npz")):
        kind = None
    if head[signatures.TAR_MARK : signatures.TAR_MARK + 5] == b"ustar" and b"\0" in head[: signatures.TAR_MARK]:
        kind = "tar"
    if kind is not None:
        raise InputError(
            f"{stream.name}: is a {kind} archive; an input is a file of edges. Unpack it first, and name the files."
        )
    twice = next((words for magic, words in signatures.MAGIC.items() if head.startswith(magic)), None)
    if twice == "bzip2" and head[4:10] != signatures.BZIP2_BLOCK:
        twice = None
    if stream.compression is not None and twice is not None:
        raise InputError(
            f"{stream.name}: is {twice} data compressed once more, by {stream.compression}. Decompress it once first."
        )
    if head.startswith(signatures.HDF5):
        raise InputError(
            f"{stream.name}: is an HDF5 file, perhaps a store already; convert reads edge lists. Try gstream info."
        )


def refuse_foreign(stream: ByteStream, head: bytes, suffix: str, kind: str | None) -> str:
    """InputError for a kind of the table, or the format that reads it after all; "" where it is no such kind.

    `suffix`: of the name, in small letters; `kind`: the format that it says.
    """
    if kind is not None and not signatures.FORMATS[kind].marked:
        return ""
    name = stream.name
    for other in signatures.FOREIGN:
        if head.startswith(other.magic or b"\0none"):
            raise _refusal(name, other)
    if _is_galois(head) and kind in (None, "gr", *signatures.TEXTS):
        raise _refusal(name, signatures.GALOIS)
    if kind == "metis" and _is_webgraph(name):
        raise _refusal(name, signatures.WEBGRAPH)
    if kind in (None, *signatures.TEXTS):
        for pattern, other in COMMENTS:
            if pattern.match(head.lstrip()):
                raise _refusal(name, other)
    text = head[COMMENT_LINES.match(head).end() :]  # type: ignore[union-attr]  # it matches nothing, too
    if kind in (None, "gr", "metis", "adjacency", "ldbc", *signatures.TEXTS):
        for pattern, other in OPENINGS:
            if pattern.match(text):
                if other.format:
                    return other.format
                raise _refusal(name, other)
    if kind is None:
        for other in signatures.FOREIGN:
            if suffix in other.suffixes:
                raise _refusal(name, other)
    return ""


def _refusal(name: str, kind: signatures.Foreign) -> InputError:
    return InputError(f"{name}: is {kind.name}, which convert does not read. {_advice(name, kind)}")


def _advice(name: str, kind: signatures.Foreign) -> str:
    path = STDIN if name == "stdin" else name
    return kind.advice.format(file=shlex.quote(path), path=path.replace("\\", "\\\\").replace('"', '\\"'))


def advice_of(kind: str, name: str) -> str:
    """What makes an edge list of the input `name`, which is of this kind of the table."""
    return _advice(name, next(other for other in signatures.FOREIGN if other.name == kind))


def _is_galois(head: bytes) -> bool:
    """Version 1 or 2, the bytes of an edge's datum, vertices, edges, each int64."""
    version, datum = (int.from_bytes(head[at : at + 8], "little") for at in (0, 8))
    return len(head) >= 32 and version in (1, 2) and datum in (0, 4, 8)


def _is_webgraph(name: str) -> bool:
    """NAME.graph beside NAME.properties that speak of a class of graphs."""
    properties = os.path.splitext(name)[0] + ".properties"
    try:
        with open(properties, "rb") as file:
            return b"graphclass" in file.read(1 << 12)
    except OSError:
        return False
