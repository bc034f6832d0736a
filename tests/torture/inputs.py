"""Malformed inputs: every file, plain or compressed, gives the graph that it says or one line that says what is wrong.

Texts of many formats have their bytes mutated (or are handmade: nothing, NULs, other encodings, very long lines), and
each is read plain, as .gz and as .zst: all three must come to the same edges, or to the same message but for the name.
Where a mutated text is still a plain list of pairs, a reader of three lines says what the edges are.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

from pagestore.errors import GstreamError
from pagestore.inputs import InputOptions, open_source
from tests.torture.ordeals import Bad, Cases, Property, command, in_child, plain_error

MEMORY = 1 << 24
PAIRS = "".join(f"{n * 7 % 50} {n * 11 % 50}\n" for n in range(60))
TEXTS: dict[str, str] = {
    "a.txt": "# a graph\n" + PAIRS,
    "a.csv": "source,target,weight\n" + "".join(f"{n},{n + 1},{n / 4}\n" for n in range(40)),
    "a.tsv": "".join(f"v{n}\tv{n * 3 % 17}\n" for n in range(40)),
    "a.el": PAIRS,
    "a.wel": "".join(f"{n} {n + 1} {n}\n" for n in range(40)),
    "a.mtx": "%%MatrixMarket matrix coordinate integer general\n% x\n9 9 12\n"
    + "".join(f"{n % 9 + 1} {n * 2 % 9 + 1} {n}\n" for n in range(12)),
    "a.gr": "c x\np sp 9 12\n" + "".join(f"a {n % 9 + 1} {n * 2 % 9 + 1} {n}\n" for n in range(12)),
    "a.graph": "% x\n4 4\n2 3\n1 3\n1 2 4\n3\n",
    "a.adj": "".join(f"{n} {n + 1} {n + 2} {n + 3}\n" for n in range(20)),
    "a.tntp": "<NUMBER OF NODES> 4\n<NUMBER OF LINKS> 3\n<END OF METADATA>\n~ init term cap length\n"
    "\t1\t2\t100\t5\t;\n\t2\t3\t100\t4\t;\n\t3\t4\t100\t1\t;\n",
}
HANDMADE: list[bytes] = [
    b"", b"\n", b"\0" * 4096, b"\xef\xbb\xbf1 2\n3 4\n", "1 2\n3 4\n".encode("utf-16"),
    "1 2\n3 4\n".encode("utf-16-be"), "1 2\n3 4\n".encode("utf-32"), b"1 2\r\n3 4\r\n", b"1 2\r3 4\r", b"1 2",
    b"1 2\n3", b"1\n", b"1 2 3 4 5 6 7 8 9\n", b"1 2\n" + b"3" * 100_000 + b" 4\n",
    b"1 2\n" + b" " * 200_000 + b"3 4\n", b"1 -2\n", b"-1 2\n", b"1 2 nan\n", b"1 2 inf\n", b"1 2 1e999\n",
    b"1 2 -0\n", b"1e5 2\n", b"1.0 2\n", b"9223372036854775807 1\n", b"9223372036854775808 1\n",
    b"99999999999999999999999999 1\n", b"a b\n1 2\n", b"1 2\nx y\n", b"1,2\n3;4\n", b"1\t2\n3 4\n", b"\x1f\x8b",
    b"\x1f\x8b\x08\0\0\0\0\0", b"(\xb5/\xfd", b"BZh9", b"\xfd7zXZ\0", b"\x93NUMPY", b"PK\x03\x04", b"PAR1",
    b"ARROW1\0\0", b"%%MatrixMarket\n", b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", b"p sp 0 0\n",
    b"p sp 99999999999999999999 1\n", b"\xff\xfe\xff\xfe", b"1 2\0\n3 4\n", b"#\n" * 5000, b"1 2\n\n\n\n3 4\n",
    b'"1" "2"\n', b"1 2 #3\n", b"+1 2\n", b"0x1 2\n", b"\x1a", b"1 2\n\x1a", b"<a>\n", b"{}\n",
    b"\xc3\x28 \xe2\x82\n",
]  # fmt: skip
MUTANTS = [
    b"-",
    b".",
    b"e",
    b"x",
    b"\0",
    b"\r",
    b"\n",
    b" ",
    b",",
    b"\xff",
    b"9" * 25,
    b"nan",
    b"inf",
    b"#",
    b"%",
    b'"',
    b"",
]
PAIR = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")


def mutated(data: bytes, numbers: random.Random) -> bytes:
    """A few bytes replaced, put in or cut out; lines dropped, doubled or swapped; or the end cut off."""
    changed = bytearray(data)
    for _ in range(numbers.choice([1, 1, 1, 2, 5])):
        if not changed:
            break
        at, length = numbers.randrange(len(changed)), numbers.choice([0, 1, 1, 2, 8])
        changed[at : at + length] = numbers.choice(MUTANTS)
    lines = bytes(changed).splitlines(keepends=True)
    what = numbers.randrange(8)
    if lines and what < 3:
        at = numbers.randrange(len(lines))
        lines[at : at + 1] = [[], [lines[at]] * 2, [lines[at].rstrip()]][what]
    whole = b"".join(lines)
    return whole[: numbers.randrange(len(whole) + 1)] if what == 3 else whole


def read(path: Path, work: Path) -> tuple[str, object]:
    """("edges", what they are) or ("refused", the message without the file's name). Other errors pass."""
    work.mkdir(exist_ok=True)
    found: list[object] = []
    try:
        source = open_source(path, InputOptions(threads=2), work, MEMORY)
        try:
            for chunk in source.chunks():
                weights = None if chunk.weight is None else chunk.weight.tolist()
                found.append((_named(source, chunk.source), _named(source, chunk.target), weights))
        finally:
            source.close()
    except GstreamError as error:
        if error.exit_code not in (2, 4) or not str(error).endswith((".", "?")):
            raise
        return "refused", re.sub(re.escape(str(path)) + r"|a\.\w+(\.gz|\.zst)?", "NAME", str(error))
    finally:
        shutil.rmtree(work)
    return "edges", found


def _named(source: object, numbers: object) -> list[object]:
    names, ids = getattr(source, "names", None), getattr(source, "ids", None)
    listed = numbers.tolist()  # type: ignore[attr-defined]
    if names is not None:
        return [names[n] for n in listed]
    return listed if ids is None else [int(ids[n]) for n in listed]


def malformed(folder: Path, numbers: random.Random) -> Cases:
    """Handmade files under every name first, then mutants without end."""
    queue = [(name, data) for name in TEXTS for data in HANDMADE]
    numbers.shuffle(queue)
    while True:
        name, data = queue.pop() if queue else _drawn(numbers)
        outcomes = {}
        for ending, pack in (("", bytes), (".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)):
            path = folder / f"{name}{ending}"
            path.write_bytes(pack(data))
            outcomes[ending] = read(path, folder / "work")
        shown = f"{name}: {data[:200]!r}"
        plain = outcomes[""]
        if is_binary(data) and all(kind == "refused" for kind, _ in outcomes.values()):
            yield "refused, binary"  # compressed it can't be mapped, which is another message
        elif any(other != plain for other in outcomes.values()):
            yield Bad(f"{shown}: {outcomes}"[:1500])
        elif name == "a.el" and plain[0] == "edges" and (wrong := _other_edges(data, plain[1])):
            yield Bad(f"{shown}: {wrong}")
        else:
            yield plain[0]


def is_binary(data: bytes) -> bool:
    """Whether the bytes begin as an archive does, or as a table that has to be mapped."""
    archive = (b"\x1f\x8b", b"(\xb5/\xfd", b"BZh", b"\xfd7zXZ", b"PK")
    return data.startswith((*archive, b"\x93NUMPY", b"PAR1", b"ARROW1"))


def _drawn(numbers: random.Random) -> tuple[str, bytes]:
    name = numbers.choice(sorted(TEXTS))
    return name, mutated(TEXTS[name].encode(), numbers)


def _other_edges(data: bytes, found: object) -> str:
    """What is wrong with the edges of a list of pairs, where each line is a pair for certain."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    pairs = [PAIR.fullmatch(line) for line in lines]
    if not all(pairs):
        return ""
    expected = [(int(pair[1]), int(pair[2])) for pair in pairs if pair]
    read_pairs = [pair for s, t, _ in found for pair in zip(s, t, strict=True)]  # type: ignore[attr-defined]
    return "" if read_pairs == expected else f"other edges: {read_pairs[:5]} for {expected[:5]}"


def archives(folder: Path, numbers: random.Random) -> Cases:
    """Archives cut anywhere, or with a bit flipped, are refused, or (a flip in a header's name or time) read right."""
    data = TEXTS["a.txt"].encode() * 20
    packed = {".gz": gzip.compress(data, mtime=0), ".zst": zstandard.ZstdCompressor(write_checksum=True).compress(data)}
    (folder / "a.txt").write_bytes(data)
    intact = read(folder / "a.txt", folder / "work")
    while True:
        ending = numbers.choice(sorted(packed))
        whole = packed[ending]
        changed, at = bytearray(whole), numbers.randrange(len(whole))
        cut = numbers.random() < 0.5
        if cut:
            del changed[at:]
        else:
            changed[at] ^= 1 << numbers.randrange(8)
        path = folder / f"a.txt{ending}"
        path.write_bytes(changed)
        outcome = read(path, folder / "work")
        shown = f"{ending} {'cut at' if cut else 'flipped in'} byte {at}"
        if outcome[0] == "refused":
            yield "refused"
        elif outcome == intact and not cut:
            yield "harmless"
        else:
            yield Bad(f"{shown}: read as {str(outcome)[:200]}")


def odd_files(folder: Path, numbers: random.Random) -> Cases:
    """Folders, pipes that close early, links to nowhere, files without rights, devices: by `gstream convert`."""
    (folder / "folder").mkdir()
    (folder / "link.txt").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.txt")
    for name, content in (("folder", None), ("link.txt", None), ("missing.txt", None), ("pipe.txt", b""),
                          ("pipe.txt", b"1 2\n3"), ("pipe.txt", b"1 2\n3 x\n"), ("/dev/null", None)):  # fmt: skip
        writer = threading.Thread(target=_feed, args=(folder / "pipe.txt", content)) if content is not None else None
        if writer is not None:
            writer.start()
        ended = in_child(command("convert", folder / name, folder / "x.gs"))
        if writer is not None:
            writer.join()
        wrong = plain_error(ended, (2, 4))
        left = (folder / "x.gs").exists()
        yield Bad(f"{name} {content!r}: {wrong or 'left a store'}") if wrong or left else "refused"


def _feed(path: Path, content: bytes) -> None:
    with open(path, "wb") as pipe:
        pipe.write(content)


def gzip_bombs(folder: Path, numbers: random.Random) -> Cases:
    """Small archives of one endless line or of nothing but zeros: refused within the memory that was given."""
    for what in (b"\0", b"1", b" ", b"#"):
        packer = zlib.compressobj(9, wbits=31)
        data = b"".join(packer.compress(what * (1 << 20)) for _ in range(64)) + packer.flush()
        (folder / "bomb.txt.gz").write_bytes(data)
        ended = in_child(command("convert", folder / "bomb.txt.gz", folder / "x.gs", "--memory", "16MiB"))
        wrong = plain_error(ended, (2, 4, 5))
        yield Bad(f"{what!r}: {wrong}") if wrong else "refused"


def properties() -> Iterator[Property]:
    """Those about inputs."""
    same = "its exact graph or one line that says what is wrong, the same plain, as .gz and as .zst"
    yield Property("malformed inputs", f"a malformed file gives {same}", malformed, 3 * 120)
    yield Property("archives", "a cut or damaged archive is refused", archives)
    refused = "folders, devices, dead links and pipes whose text is cut or empty are refused in one line"
    yield Property("odd files", refused, odd_files)
    yield Property("archives of 64 MiB in a line", "they are refused in one line, in the memory given", gzip_bombs)
