"""Certificates of Louvain and Leiden: the modularity is summed again, and Leiden's communities are connected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms.communities import moving
from gstream.algorithms.communities.labels import numbered, quality
from gstream.algorithms.communities.levels import Stored
from gstream.algorithms.components.forest import compress
from gstream.algorithms.support.refusal import check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.results.column import Column


def certify_leiden(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Sum the modularity again, and show that each community is connected. Raises CertificateError."""
    return _certify(session, columns, options, found, True)


def certify_louvain(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Sum the modularity again. Raises CertificateError."""
    return _certify(session, columns, options, found, False)


def _certify(session: Session, columns: list[Column], options: dict, found: dict, connected: bool) -> dict:
    vertices, kind = session.meta.vertices, session.id_dtype
    community = columns[0].values
    if vertices and int(community.max()) >= vertices:
        raise refuse("a community is not named by a vertex")
    side, identity = numbered(community)[0], np.arange(vertices, dtype=kind)
    parent, inner, strength = identity.copy(), np.zeros(vertices), np.zeros(vertices)
    session.reserve(side, identity, parent, inner, strength)
    level = Stored(session, options["weighted"], identity)
    for lists in level.parts():
        session.each(moving.sum_lists, *lists.arrays, level.own, side, inner)
        session.each(moving.sum_lists, *lists.arrays, level.own, side[:0], strength)
        session.each(moving.link_inside, lists.starts, lists.ids, lists.first, side, parent)
    count = len(np.unique(side))
    check_said(found, communities=count)
    again = quality(inner, strength, side, options["resolution"])
    if not math.isnan(again) or not math.isnan(found["modularity"]):
        check_said({"modularity": found["modularity"] + 1}, 1e-9, modularity=again + 1)
    said = f"modularity {again:.6g}, summed again from the edges"
    if not connected:
        return {"holds": True, "proves": said}
    session.each(compress, parent)
    root = np.full(vertices, session.none, kind)
    root[side] = parent
    refuse_vertices(session, root[side] != parent, "the community of vertex {} is not connected")
    return {"holds": True, "proves": f"each community is connected; {said}"}
