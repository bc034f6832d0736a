"""`gstream.split`: a store becomes a graph in parts, one for each rank of later runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from gstream.options.wording import in_python


@in_python(force="force", parts="parts", threads="threads")
def split(
    store: str | os.PathLike, path: str | os.PathLike, parts: int, *, force: bool = False, threads: int | None = None,
    heads: bool = True, stripe: Sequence[str | os.PathLike] = (), progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write the store as a graph in `parts` parts, as `gstream split`: runs of as many ranks open a part each.

    path: the folder, which is made. heads: parts get the first neighbours of all vertices, which some runs take less
    time with. force: replace a graph in parts that is there. threads: all cores by default.
    progress: called with the bytes written so far and in all. Returns the manifest, with path and seconds; a
    warning says that parts have no pages. Raises UsageError, StoreError, ResourceError.
    """
    from gstream.interop.storing import warn
    from pagestore.split import split as split_store

    stripes = tuple(os.fspath(folder) for folder in stripe)
    report = split_store(store, path, parts, force, threads, stripes, progress, heads)
    if without_pages := report.manifest.without_pages():
        warn(without_pages)
    return {"path": report.path, **asdict(report.manifest), "seconds": report.seconds}
