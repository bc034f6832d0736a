"""HyperLogLog counters of hyperball.py: what a vertex draws, and what a counter estimates.

After Flajolet, Fusy, Gandouet, Meunier (2007), of 64-bit hashes, where their correction for large counts is not needed.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import BLOCK, blocks
from gstream.hostcode.casts import f64, math, u64
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import helper, kernel


@helper
def _hash(x):
    """SplitMix64 (Steele et al., 2014)."""
    x = (x ^ (x >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> u64(27))) * u64(0x94D049BB133111EB)
    return x ^ (x >> u64(31))


@kernel
def draw_ranks(natural, vertices, seed, log2m, drawn, counter):
    """drawn[v] (float64): the register of v's hash, plus its rank / 64. A hash is of the natural index, so that no
    order of the store changes a counter.

    natural: id[V], or of no element where store IDs are natural indices."""
    key = _hash(u64(seed) + u64(0x9E3779B97F4A7C15))
    for begin, end in blocks(counter, vertices):
        for v in range(begin, end):
            name = u64(natural[v]) if len(natural) else v
            bits = _hash(key ^ _hash(name + u64(1)))
            register = bits & ((u64(1) << u64(log2m)) - u64(1))
            rank = trailing_zeros((bits >> u64(log2m)) | (u64(1) << u64(64 - log2m))) + u64(1)
            drawn[v] = f64(register) + f64(rank) / 64.0
    return 0


@kernel
def take_counts(changed, counters, distance, powers, scale, size, harmonic, total, counter):
    """What counters (u8[V, m]) of vertices whose bit is set in `changed` count more is at `distance`.

    powers: float64[64], 2^-i. scale: alpha m^2 of the estimate. size, harmonic, total: float64[V], the estimate, sums
    of 1 / distance and of distances.
    """
    registers = f64(counters.shape[1])
    for begin, end in blocks(counter, len(changed), BLOCK // 64):
        for index in range(begin, end):
            left = changed[index]
            while left != u64(0):
                v = index * u64(64) + trailing_zeros(left)
                left &= left - u64(1)
                row, empty = counters[v], 0
                first, second, third, fourth = 0.0, 0.0, 0.0, 0.0  # one sum would wait for itself
                for i in range(0, len(row), 4):
                    first += powers[row[i]]
                    second += powers[row[i + 1]]
                    third += powers[row[i + 2]]
                    fourth += powers[row[i + 3]]
                for rank in row:
                    empty += rank == 0
                estimate = scale / ((first + second) + (third + fourth))
                if estimate <= 2.5 * registers and empty > 0:
                    estimate = registers * math.log(registers / empty)
                more = estimate - size[v]
                if more > 0.0:
                    size[v] = estimate
                    if distance > 0:
                        harmonic[v] += more / distance
                        total[v] += more * distance
    return 0
