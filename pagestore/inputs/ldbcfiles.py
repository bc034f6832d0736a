"""Names of the files of a Graphalytics dataset: NAME.v, NAME.e, each perhaps compressed."""

from __future__ import annotations

import os
from pathlib import Path

from pagestore.inputs.signatures import SUFFIXES


def ldbc_file(stem: str, kind: str) -> str | None:
    """Path of STEM.kind, perhaps compressed; None when there is none."""
    return next((f"{stem}{kind}{end}" for end in ("", *SUFFIXES) if os.path.exists(f"{stem}{kind}{end}")), None)


def ldbc_stem(path: str | Path) -> str:
    """`path` without .e or .v and without a compression's suffix."""
    bare = Path(path)
    bare = bare.with_suffix("") if bare.suffix.lower() in SUFFIXES else bare
    return str(bare.with_suffix("") if bare.suffix in (".e", ".v") else bare)
