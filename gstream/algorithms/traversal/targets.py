"""A search that is asked for the distances of some vertices goes no farther than the farthest of them.

How far that is, searches from both ends find (gstream.reading.meeting), which read few pages. The run then ends there.
Stores with one topology, graphs in parts, many targets, and memory caps that the arrays of these searches would strain,
have the whole run. The answer is the same: vertices beyond the farthest target count as not reached, if all targets are
reached.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.vertex_files import given_vertices
from gstream.reading.meeting import find_path, search_bytes

FEW = 16  # targets that are searched for
CAP_SHARE = 4  # part of a memory cap that the searches may take


class Targets:
    """The targets of one call.

    ids: their store IDs. steps: edges of the longest of the shortest paths to them; None: not known.
    """

    def __init__(self, session: Session, sources: np.ndarray, given: Any, algorithm: str, weighted: bool) -> None:
        self.ids = None if given is None else given_vertices(session.store, given, algorithm, "target")
        self.steps: int | None = None
        cap, store = session.engine.options.host_memory, session.store
        roomy = cap is None or search_bytes(store) <= cap // CAP_SHARE
        if (
            not weighted
            and self.ids is not None
            and 0 < len(self.ids) <= FEW
            and roomy
            and not store.meta.parts  # of which a rank has one
            and store.has("out")
            and store.has("in")
        ):
            paths = [find_path(store, sources, int(target), False) for target in self.ids.tolist()]
            known = [path for path in paths if path is not None]
            if len(known) == len(paths):
                self.steps = max(int(path.length) for path in known)

    def cut(self, distance: Any, *others: np.ndarray, none: Any, limit: Any = None, most: Any = None) -> Any:
        """Distances beyond `limit` (None: there is none) and beyond the farthest target become "not reached"; others:
        arrays that then are `none`. most: no distance is greater, as far as is known. Returns the limit that holds.
        distance: a device may hold it where there are no targets and no limit is less than `most`."""
        far = None
        if self.ids is not None and len(self.ids):
            reached = distance[self.ids.astype(np.int64)]
            far = None if (reached == unreached(distance.dtype)).any() else reached.max()
        limits = [one for one in (limit, far) if one is not None]
        if not limits:
            return None
        least = min(limits)
        if most is not None and least >= most:
            return least
        beyond = distance > least
        distance[beyond] = unreached(distance.dtype)
        for array in others:
            array[beyond] = none
        return least
