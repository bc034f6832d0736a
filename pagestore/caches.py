"""Where files are kept between processes, and whether what lies there can be trusted.

Machine code and generated modules are run as they are. So they are read from a folder only if it is ours and nobody
else can write to it; another user could otherwise place code there that runs with our rights.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_base() -> Path:
    """gstream's folder in the user's cache: $XDG_CACHE_HOME/gstream, by default ~/.cache/gstream."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "gstream"


def why_unsafe(folder: Path) -> str:
    """Why another user could have put files into a folder; "" where none but us (and root) could.

    folder: exists. Every folder above it counts too: who may rename there may replace it, unless it is sticky.
    """
    whole = folder.resolve()
    for place in (whole, *whole.parents):
        found = os.stat(place)
        if found.st_uid not in (os.geteuid(), 0):
            return f"{place} belongs to user {found.st_uid}"
        sticky = found.st_mode & stat.S_ISVTX and place != whole
        if found.st_mode & OTHERS_WRITE and not sticky and not _group_is_ours(found):
            return f"others can write to {place}"
    return ""


def is_private(folder: Path) -> bool:
    """Whether a folder can be written here and nobody else can write to it; it is made, for us alone, if absent."""
    return not why_refused(folder)


def why_refused(folder: Path) -> str:
    """Why a folder is not used to keep code in; "" where it is. It is made, for us alone, if it is absent."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            return f"{folder} cannot be written"
        return why_unsafe(folder)
    except OSError as error:
        return f"{folder}: {error.strerror}"


def kernel_folders(file: str) -> list[Path]:
    """Where machine code of a source file's functions may be kept, best first: NUMBA_CACHE_DIR alone if it is set,
    otherwise __pycache__ beside the file, then a folder of ours."""
    source = Path(os.path.abspath(file))
    below = f"{source.parent.name}_{_short_hash(str(source.parent))}"
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(given) / below]
    return [source.parent / "__pycache__", cache_base() / "kernels" / below]


@cache
def kernel_folder(file: str) -> Path | None:
    """The first of `kernel_folders` that can be used; None: each process compiles anew."""
    return next((folder for folder in kernel_folders(file) if is_private(folder)), None)


def _short_hash(text: str) -> str:
    from zlib import crc32

    return f"{crc32(text.encode(errors='surrogateescape')):08x}"


def _group_is_ours(found: os.stat_result) -> bool:
    """Whether the group that owns a folder is a user's own, of the user's name and without other members: systems that
    give each user such a group let it write by default (umask 002)."""
    if found.st_mode & stat.S_IWOTH:
        return False
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}
