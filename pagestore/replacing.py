"""What exists is replaced only where the user says so."""

from __future__ import annotations

import stat
from pathlib import Path

from pagestore.errors import UsageError


def refuse_replacing(path: Path, force: bool) -> None:
    """UsageError when something is at `path`: a file without `force`, or what is no file."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(f"{path}: is a device or a pipe, which a rename would replace. Name a file.")
    if path.exists() and not force:
        raise UsageError(f"{path}: exists. Pass --force to replace it, or another name.")
