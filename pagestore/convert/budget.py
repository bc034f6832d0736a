"""How the memory budget is spent: what stays in memory, what goes to files, and how large each piece is.

partition   threads x (a source chunk + the keys packed from a piece of it)  + rank table [+ all keys]
sort        threads x (2 key buffers + 2 weight buffers + the result of one bucket)  [+ all keys, results so far]
pack        threads x (edges of a range + its pages)                          [+ results]
"""

from __future__ import annotations

from dataclasses import dataclass

KEY_BYTES = 8
USED_SHARE = 0.9  # of the budget; the rest is the allocator's slack and small things
CODE_BYTES = 24 << 20  # machine code of all kernels beyond the 150 MiB that interpreter and libraries may take
LEAST_SHARE = 0.4  # of tiny budgets, which the code alone would use up
IDS_PER_BYTE = 1  # a rank table for IDs below `memory_bytes` takes a quarter of it (presence.py)
LEAST_IDS = 1 << 20
LEAST_SORT_KEYS = 1 << 10
BUCKET_KEYS = 1 << 21  # keys a bucket in memory: 2 x 16 MiB to sort, and enough buckets for many threads
LEAST_BUCKET_KEYS = 1 << 16
PIECE_EDGES = 1 << 18  # edges packed at a time: 2 MiB of keys stay near the core
BUCKET_PIECE = 1 << 12  # edges a bucket gets of a piece: handing over costs 3 us of Python, or a write of 32 KiB
LEAST_PIECE_EDGES = 1 << 10
RANGE_EDGES = 1 << 20  # edges packed into pages at a time: 4 MiB of pages
PACK_BYTES_PER_EDGE = 64
CHUNK_EDGES = 1 << 20
MOST_BUCKETS = 1 << 10  # where vertices without edges are many


@dataclass(frozen=True)
class Budget:
    """Sizes that follow from `memory_bytes` and `threads`; `weight_bytes` of the stored dtype (0: unweighted)."""

    memory_bytes: int
    threads: int
    weight_bytes: int
    target_bytes: int
    table_bytes: int  # rank table, and what else stays all the time
    vertices: int
    keys: int  # keys of one shuffle, at most
    shuffles: int

    @property
    def usable(self) -> int:
        """Bytes to share out."""
        share = max(self.memory_bytes * USED_SHARE - CODE_BYTES, self.memory_bytes * LEAST_SHARE)
        return max(0, int(share) - self.table_bytes)

    @property
    def chunk_edges(self) -> int:
        """Edges a chunk of sources that leave it to us: an eighth of the budget is in flight at most."""
        most = self.usable // (8 * self.threads * (16 + 3 * KEY_BYTES + self.weight_bytes))
        return min(CHUNK_EDGES, max(LEAST_PIECE_EDGES, most))

    @property
    def sort_limit(self) -> int:
        """Keys that a thread may sort at once when keys and results are in files."""
        return max(LEAST_SORT_KEYS, self.usable // (self.threads * self._sort_bytes))

    @property
    def _sort_bytes(self) -> int:
        """Bytes a key while its bucket is sorted: both buffers, the result, its copy, half a degree."""
        return 2 * (KEY_BYTES + self.weight_bytes) + 2 * (self.target_bytes + self.weight_bytes) + 2

    @property
    def bucket_keys(self) -> int:
        """Keys aimed at for a bucket in memory: small, since nothing is gained by large ones."""
        share = self.keys // (8 * self.threads)
        return max(LEAST_SORT_KEYS, min(self.sort_limit, BUCKET_KEYS, max(LEAST_BUCKET_KEYS, share)))

    def piece_edges(self, buckets: int) -> int:
        """Edges packed at a time: PIECE_EDGES, more when each bucket would get little of that."""
        return min(self.chunk_edges, max(PIECE_EDGES, buckets * BUCKET_PIECE))

    @property
    def _key_bytes(self) -> int:
        return self.keys * (KEY_BYTES + self.weight_bytes)

    @property
    def _working_bytes(self) -> int:
        chunk = CHUNK_EDGES * (16 + 8) + PIECE_EDGES * 2 * (KEY_BYTES + self.weight_bytes)
        bucket = min(BUCKET_KEYS, self.keys) * self._sort_bytes
        return self.threads * max(bucket, min(chunk, self.usable // self.threads // 4))

    @property
    def results_in_memory(self) -> bool:
        """Sorted edges of every shuffle stay in memory, and all vectors of vertices with them."""
        results = self.keys * (self.target_bytes + self.weight_bytes) * (1 if self.shuffles > 1 else 0)
        vectors = self.vertices * (8 + 4 * self.target_bytes)
        return self._key_bytes + results + vectors + self._working_bytes <= self.usable

    @property
    def keys_in_memory(self) -> bool:
        """Keys wait for their sort in memory."""
        return self.results_in_memory or self._key_bytes + self._working_bytes <= self.usable

    @property
    def vertex_window_bytes(self) -> int:
        """Bytes of a window over the vertices (counters, permutation)."""
        return max(1 << 12, self.usable // 2)

    @property
    def bucket_vertices(self) -> int:
        """Vertices a bucket may span: their degrees are counted in memory."""
        return max(self.sort_limit // 2, self.vertices // MOST_BUCKETS, 1)

    @property
    def range_edges(self) -> int:
        """Edges packed into pages at a time."""
        return min(RANGE_EDGES, max(LEAST_PIECE_EDGES, self.usable // (self.threads * PACK_BYTES_PER_EDGE)))

    def id_limit(self) -> int:
        """User IDs below this get a bitmap; others go through the dictionary."""
        return max(LEAST_IDS, self.memory_bytes * IDS_PER_BYTE)
