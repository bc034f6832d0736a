"""What a conversion keeps of its first pass and of its buckets, so that --resume need not repeat them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from pagestore.convert.identity import Identity
from pagestore.convert.scatter import Buckets
from pagestore.convert.storage import disk_errors, save_array
from pagestore.convert.survey import Tally
from pagestore.convert.workfolder import WorkFolder

_ARRAYS = ("counts",)


def save_scan(work: WorkFolder, tally: Tally, identity: Identity, spill: list | None, compacted: bool) -> None:
    """Note the scan in the manifest. `spill`: segments of the spill log; `compacted`: a dictionary made IDs dense."""
    save_array(work.file("counts.npy"), tally.counts)
    if identity.table is not None:
        save_array(work.file("table.npy"), identity.table)
    if compacted and identity.ids is not None:
        save_array(work.file("ids.npy"), np.asarray(identity.ids))
    numbers = {entry.name: getattr(tally, entry.name) for entry in fields(Tally) if entry.name not in _ARRAYS}
    work.manifest["scan"] = {
        "tally": numbers,
        "identity": [identity.vertices, identity.base, identity.kind, identity.id_base],
        "table": identity.table is not None,
        "spill": spill,
        "compacted": compacted,
    }
    work.save()


def restore_scan(work: WorkFolder, source: Any, first_shuffle: str) -> tuple[Tally, Identity, list | None] | None:
    """Tally, identity and the spill log's segments of an earlier run, None when the scan has to be done (again)."""
    saved = work.manifest.get("scan")
    if saved is None:
        return None
    dealt = "sizes" in work.manifest.get("shuffles", {}).get(first_shuffle, {})
    if saved["compacted"] and not dealt:
        return None  # the dictionary's dense edges are gone
    tally = Tally(**saved["tally"], counts=np.load(work.file("counts.npy")))
    vertices, base, kind, id_base = saved["identity"]
    identity = Identity(vertices, base, None, kind, id_base)
    if saved["table"]:
        identity.table = np.load(work.file("table.npy"))
    elif kind == "strings":
        identity.names = source.names
    elif kind == "integers":
        identity.ids = np.load(work.file("ids.npy"), mmap_mode="r") if saved["compacted"] else source.ids
    return tally, identity, saved["spill"]


def save_buckets(work: WorkFolder, name: str, buckets: Buckets) -> None:
    """Keep the bounds of the buckets: another run's budget would draw them elsewhere."""
    shape = np.array([buckets.shift, buckets.base, buckets.target_bits, buckets.direction], np.int64)
    path = work.file(f"{name}.buckets.npz")
    with disk_errors(path, buckets.of_bin.nbytes + buckets.firsts.nbytes):
        np.savez(path, of_bin=buckets.of_bin, firsts=buckets.firsts, shape=shape)


def load_buckets(work: WorkFolder, name: str, table: np.ndarray | None) -> Buckets:
    """The buckets that `save_buckets` kept."""
    with np.load(work.file(f"{name}.buckets.npz")) as saved:
        shift, base, target_bits, direction = saved["shape"].tolist()
        return Buckets(saved["of_bin"], shift, base, table, saved["firsts"], target_bits, direction)
