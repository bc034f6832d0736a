"""What a message calls an option: `--host-memory` on the command line, `host_memory` in a call from Python.

Messages are written in the command line's words. Where a call of Python's led to them, `in_python` lets str(error) say
that call's words; `error.line` keeps the command line's. Options of `gstream convert`, which is a command, stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pagestore.errors import GstreamError, end_at_the_caller
from pagestore.faults import library_error

OTHERS = {"from": "start", "force": "replace_checkpoint", "batch": "batch_bytes", "node": "nodes", "target": "targets"}
KEYWORDS = {
    "certify",
    "edges",
    "format",
    "ldbc",
    "machine",
    "force",
    "stripe",
    "vertices",
}  # of calls; gstream.options.run_options and the registry add the names of theirs
SWITCHES = ("resume", "replace_checkpoint", "force", "certify", "float64", "weighted", "ldbc", "endpoints")
OPTION = re.compile(r"--([a-z][a-z0-9-]*)(?: (FOLDER|FILE|ID|N|host|kept)(?![:\w]))?")
NO_KEYWORD = " or --gpus"  # Python has devices for it
WEIGHTS = "--weight-column N, and not --no-weights"  # of a conversion, which Python's calls make of more than files
WEIGHTS_IN_PYTHON = "weight_column=N of files, weight= of edges and tables, and not weights=False"


@contextmanager
def in_python(say: Callable[[str], str] | None = None, **others: str) -> Iterator[None]:
    """For what Python calls: errors that leave the block name keywords, and a missing library is such an error.

    The caller's numpy.seterr does not reach into the block, which looks for overflows itself. others: options that the
    call names otherwise than most, as force="force" where files are written. say: what says a message in its words.
    """
    try:
        import numpy as np  # here: messages of a command do without

        with np.errstate(all="ignore"):
            yield
    except GstreamError as error:
        end_at_the_caller()
        error.spoken = say_in_python(error.line, OTHERS | others) if say is None else say(error.line)
        raise
    except ImportError as error:
        if (lacking := library_error(error)) is None:
            raise
        raise lacking from error


def say_in_python(line: str, others: dict[str, str] = OTHERS) -> str:
    """A message of the command line with its options as keywords of a call; others: those of another name there."""
    line = line.replace(NO_KEYWORD, "").replace(WEIGHTS, WEIGHTS_IN_PYTHON)
    return OPTION.sub(lambda found: _keyword(found, others), line)


def _keyword(found: re.Match[str], others: dict[str, str]) -> str:
    written, value = found.groups()
    if written == "undirected" and found.string[: found.start()].lower().endswith("convert with "):
        return "directed=False"  # the converter's
    name = others.get(written, written.replace("-", "_"))
    if name not in KEYWORDS:
        return found.group()
    if name in SWITCHES:
        return f"{name}=True" + (f" {value}" if value else "")
    if value is None:
        return name
    if written in ("node", "target"):
        return f"{name}=[{value}]"
    return f"{name}={value}" if value.isupper() else f'{name}="{value}"'


def held_in_words(name: str) -> str:
    """What a plan holds, by a name that says more than the thesis's RA and WA."""
    name = re.sub(r"^RA \((\w+)\)", r"\1 that neighbours read", name)
    return re.sub(r"^WA\b", "values of vertices", name)
