"""Derives the graph that ships with gstream: which Debian package depends on which.

Encoding: gzipped text, one edge a line, `package<TAB>package it depends on`, sorted by bytes, no duplicates; comment
lines first. Both `Depends` and `Pre-Depends` count; every alternative of `a | b` is an edge; versions and
architectures are dropped; a virtual package is a vertex of its own (nothing follows from it).
Source: `apt-cache dumpavail` on any Debian machine after `apt-get update`; packages of the `main` archive only.
The gzip header carries no time, so the same package lists give the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "gstream" / "data" / "debian.txt.gz"
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")  # Debian policy 5.6.1; what follows (":any", " (>= 1.2)") is dropped


def stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """One dictionary of fields a package; continuation lines belong to fields that are not needed here."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif not line[0].isspace():
            key, _, value = line.partition(":")
            fields[key] = value.strip()
    if fields:
        yield fields


def dependencies(fields: dict[str, str]) -> Iterator[str]:
    """Names of the packages that one stanza needs, alternatives included."""
    for key in ("Pre-Depends", "Depends"):
        for choice in re.split(r"[,|]", fields.get(key, "")):
            match = NAME.match(choice.strip())
            if match:
                yield match.group()


def edges(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Sorted, distinct (package, package it depends on) of every stanza of the `main` archive."""
    found = {
        (fields["Package"], target)
        for fields in stanzas(lines)
        if fields.get("Filename", "").startswith("pool/main/")
        for target in dependencies(fields)
    }
    return sorted(found)


def release() -> str:
    """Name of the Debian release whose lists were read."""
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return "Debian"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", type=Path, default=DEFAULT_OUTPUT)
    output: Path = parser.parse_args().output
    listing = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    found = edges(listing.splitlines())
    vertices = {name for edge in found for name in edge}
    text = [f"# {release()}, archive main: package, package it depends on (Depends and Pre-Depends)"]
    text.append(f"# {len(vertices)} vertices, {len(found)} edges; derived by bench/make_debian_graph.py")
    text += [f"{source}\t{target}" for source, target in found]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(gzip.compress(("\n".join(text) + "\n").encode(), 9, mtime=0))
    print(f"{output}: {len(vertices)} vertices, {len(found)} edges, {output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
