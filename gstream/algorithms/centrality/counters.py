"""HyperLogLog counters as small vectors of bytes, and the kernels of hyperball.py over them.

A counter has m = 8 * words registers of a byte, in consecutive words of a flat array: register i of vertex v is byte
i % 8 of counters[v * words + i / 8]. Registers are at most 61, so unions are bytewise maxima of whole words.

Registers follow Flajolet, Fusy, Gandouet, Meunier (2007), of 64-bit hashes, where their correction for large counts is
not needed.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import BLOCK, blocks, raise_bytes
from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import f64, math, u64
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel


@record_kernel(lanes="uint64", touched="or", fresh="bytes")
def unite(record, lanes, pull, front, counters, touched, fresh):
    """fresh[v] takes in counters[u] for every edge u -> v whose u is in `front`; touched: bits of those that changed.

    pull: the lists are in-lists. lanes: words of a counter."""
    v = record.vertex
    if not pull and not is_set(front, v):
        return
    for u in record.neighbours():
        into, source = (v, u) if pull else (u, v)
        if not pull or is_set(front, u):
            for lane in range(lanes):
                if raise_bytes(fresh, into * lanes + lane, counters[source * lanes + lane]):
                    set_bit(touched, into)


@helper
def _hash(x):
    """SplitMix64 (Steele et al., 2014)."""
    x = (x ^ (x >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> u64(27))) * u64(0x94D049BB133111EB)
    return x ^ (x >> u64(31))


@kernel
def begin_counters(natural, vertices, seed, log2m, words, counters, counter):
    """Every vertex counts itself, by its natural index, so that no order of the store changes a counter.

    natural: id[V], or of no element where store IDs are natural indices."""
    key = _hash(u64(seed) + u64(0x9E3779B97F4A7C15))
    for begin, end in blocks(counter, vertices):
        for v in range(begin, end):
            name = u64(natural[v]) if len(natural) else v
            drawn = _hash(key ^ _hash(name + u64(1)))
            register = drawn & ((u64(1) << u64(log2m)) - u64(1))
            rank = trailing_zeros((drawn >> u64(log2m)) | (u64(1) << u64(64 - log2m))) + u64(1)
            place = v * u64(words) + (register >> u64(3))
            counters[place] = rank << (u64(8) * (register & u64(7)))
    return 0


@kernel
def take_counts(touched, fresh, words, distance, powers, scale, counters, size, harmonic, total, counter):
    """Counters of the touched vertices become the fresh ones, and what they count more is at `distance`.

    powers: float64[128], 2^-i. scale: alpha m^2 of the estimate. size, harmonic, total: float64[V], the estimate, sums
    of 1 / distance and of distances.
    """
    registers = f64(words * 8)
    for begin, end in blocks(counter, len(touched), BLOCK // 64):
        for index in range(begin, end):
            left = touched[index]
            while left != u64(0):
                v = index * u64(64) + trailing_zeros(left)
                left &= left - u64(1)
                inverse, empty = 0.0, 0.0
                for place in range(v * u64(words), (v + u64(1)) * u64(words)):
                    word = fresh[place]
                    counters[place] = word
                    for _ in range(8):
                        rank = word & u64(255)
                        inverse += powers[rank]
                        empty += f64(rank == u64(0))
                        word >>= u64(8)
                estimate = scale / inverse
                if estimate <= 2.5 * registers and empty > 0.0:
                    estimate = registers * math.log(registers / empty)
                more = estimate - size[v]
                if more > 0.0:
                    size[v] = estimate
                    if distance > 0:
                        harmonic[v] += more / distance
                        total[v] += more * distance
    return 0
