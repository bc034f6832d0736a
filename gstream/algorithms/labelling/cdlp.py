"""Community detection by label propagation, as LDBC Graphalytics defines it (Raghavan, Albert, Kumara 2007).

label_0(v) = v;  label_i+1(v) = the most frequent label_i among v's neighbours, the least of several by user ID. A
neighbour both ways counts twice, a repeated edge as often as it is there. A self-loop counts v's own label, on a
directed graph twice. Vertices without neighbours keep their label.

Lists are gathered by blocks (gstream.algorithms.support.blocks). A round moves each page once; of a directed store with
one topology, all pages once a block. A mode does not depend on the order of its labels, so devices, blocks and threads
change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import Algorithm, exactly
from gstream.algorithms.labelling import labels
from gstream.algorithms.support.blocks import (
    Blocks,
    OnGpu,
    check_block_memory,
    degrees_bytes,
    gather,
    head_of,
    most_neighbours,
    neighbours,
)  # fmt: skip
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.results.column import Column
from pagestore.errors import UsageError
from pagestore.io import aligned_empty

ALGORITHM = Algorithm(
    "cdlp", "communities by label propagation, LDBC's definition",
    "A community is named by a vertex of the graph.",
    definition="LDBC's: rounds all at once, ties to the least label; repeated edges and two-way neighbours "
    "count each",
    columns=("vertex", "community"), groups=True,
    options=(exactly(10, "N rounds, fewer where nothing changes"),),
    certificate="none: a label follows from the labels of the round before, which are gone",
    needs="any topology", holds="16, degrees; blocks", units=(".labels:gather_labels",),
)  # fmt: skip

FIRST_BYTES = 8  # `Blocks` holds one element more than there are vertices
CURSOR_BYTES = 8  # of a vertex of a block, beside labels of its neighbours


def run_cdlp(session: Session, iterations: int = 10) -> tuple[list[Column], dict[str, Any]]:
    """Column community: the label of each vertex after `iterations` rounds. Raises UsageError, ResourceError."""
    if iterations < 0:
        raise UsageError(f"--iterations {iterations}: is negative; it counts rounds. Pass 0 or more.")
    alone = degrees_bytes(session) + session.meta.vertices * 2 * session.id_dtype.itemsize
    held = session.meta.vertices * (2 * session.id_dtype.itemsize + 8)
    check_block_memory(session, held + FIRST_BYTES, most_neighbours(session), session.id_dtype, alone=alone)
    natural = session.meta.order == "natural"
    label = np.arange(session.meta.vertices, dtype=session.id_dtype) if natural else session.natural_ids().copy()
    fresh = np.empty_like(label)
    session.names_done()
    session.reserve(label, fresh)
    on_gpu = OnGpu(label.nbytes, label.itemsize, CURSOR_BYTES)
    blocks = Blocks(session, neighbours(session), label.dtype, on_gpu=on_gpu)
    entries = aligned_empty(blocks.most_entries * label.itemsize).view(label.dtype)  # which GPUs pin
    cursor = np.empty(blocks.most_vertices, np.uint64)
    session.reserve(entries, cursor, cursor)
    only = [blocks.range(0)] if len(blocks) == 1 else []
    top, changed, rounds = session.meta.vertices.bit_length(), np.ones(1, np.int64), 0
    with Resident(session, *((label, fresh, entries, cursor) if only else ())) as resident:
        while rounds < iterations and changed[0]:
            changed[0] = 0
            for number in range(len(blocks)):
                block = only[0] if only else blocks.range(number)
                within = head_of(entries, block.entries)  # GPUs copy no more than that
                given = (session, block, labels.gather_labels, (label, within, np.uint64(block.entries)))
                if only:
                    gather(*given, cursor, resident)
                    resident.read(entries)
                else:
                    gather(*given, cursor[: block.end - block.first])
                session.each(labels.take_modes, block.starts, within, block.first, top, label, fresh, changed)
            label, fresh = fresh, label
            if only:
                resident.put(label)
            rounds += 1
        resident.forget(entries, cursor)
    found = {"communities": int(np.count_nonzero(np.bincount(label)))} if len(label) else {"communities": 0}
    return [Column("community", label, holds="natural")], found | session.finish(rounds, True)
