// Edges of a conversion: packed keys are sorted, and become lists.
//
//     count_digits_kernel, prefix.cu, deal_kernel    one stable pass of a radix sort, 8 bits a digit
//     count_distinct_kernel, prefix.cu, keep_kernel  equal keys, and the first of each
//     turn_kernel, rename_kernel                     keys of the other direction, or of another order of vertices
//     find_lists_kernel                              far ends, and where each vertex's list begins and ends
//
// A key is near << bits | far (pagestore/convert/buckets.py). Codes of weights, if there are any, move with their keys.
// A pass reads its keys twice and writes them once: memory bounds it. Keys are dealt in shared memory first, so that
// those of one digit leave a tile side by side: 16 of them, 128 bytes, where all digits are alike.
#include "prefix.cu"

constexpr u32 EDGE_THREADS = 256;  // a block; as many as there are digits
constexpr u32 EDGE_WARPS = EDGE_THREADS / 32;
constexpr u32 DIGITS = 256;
constexpr u32 ROUNDS = 16;  // keys a thread takes
constexpr u32 TILE = EDGE_THREADS * ROUNDS;
enum Fact { REPEATED, LOOPS, HASH, KEPT };  // of `facts`

__device__ __forceinline__ u32 digit_of(const u64* keys, const u32* codes, u64 i, u64 shift, u64 by_code) {
    return u32((by_code ? u64(codes[i]) : keys[i]) >> shift) & (DIGITS - 1);
}

// each(i, there) for the keys of this block's tile, by whole warps, in order within a warp.
// Example: tile 2, warp 1, lane 5: keys 8192 + 512 + 5, then 32 further on each time, 16 times.
template <class Each> __device__ __forceinline__ void for_tile(u64 count, Each each) {
    const u64 first = u64(blockIdx.x) * TILE + warp_of() * (32 * ROUNDS) + lane_of();
    for (u32 round = 0; round < ROUNDS; round++) each(first + round * 32, round, first + round * 32 < count);
}

// Sum over the threads before this one, of one number each; called by whole blocks.
__device__ __forceinline__ u32 sum_before(u32* sums, u32 mine) {
    sums[threadIdx.x] = mine;
    for (u32 back = 1; back < EDGE_THREADS; back <<= 1) {
        __syncthreads();
        const u32 added = threadIdx.x >= back ? sums[threadIdx.x - back] : 0;
        __syncthreads();
        sums[threadIdx.x] += added;
    }
    __syncthreads();
    return sums[threadIdx.x] - mine;
}

// counts[digit * tiles + tile] = keys of the tile with that digit; of the codes' if by_code. A block a tile.
KERNEL __launch_bounds__(EDGE_THREADS)
count_digits_kernel(const u64* keys, const u32* codes, u64 count, u64 shift, u64 by_code, u64* counts) {
    __shared__ u32 here[DIGITS];
    here[threadIdx.x] = 0;
    __syncthreads();
    for_tile(count, [&](u64 i, u32, bool there) {
        if (there) atomicAdd(here + digit_of(keys, codes, i, shift, by_code), 1u);
    });
    __syncthreads();
    counts[u64(threadIdx.x) * gridDim.x + blockIdx.x] = here[threadIdx.x];
}

// Keys, and codes where there are any, to their places by one digit, in their order among equal digits.
// begins[digit * tiles + tile]: where the tile's keys of a digit go. A block a tile.
KERNEL __launch_bounds__(EDGE_THREADS)
deal_kernel(const u64* keys, const u32* codes, u64 count, u64 shift, u64 by_code, const u64* begins, u64* to_keys,
            u32* to_codes) {
    __shared__ u64 staged[TILE];
    __shared__ u8 digits[TILE];
    __shared__ u32 counts[EDGE_WARPS * DIGITS];  // a warp's keys by digit; then where they begin in the tile
    __shared__ u32 sums[EDGE_THREADS];
    __shared__ u64 places[DIGITS];  // less where the digit begins in the tile; wraps around
    u64 key[ROUNDS];
    u32 slot[ROUNDS];  // digit in the low 9 bits: DIGITS where there is no key
    for (u32 k = threadIdx.x; k < EDGE_WARPS * DIGITS; k += EDGE_THREADS) counts[k] = 0;
    __syncthreads();
    u32* const mine = counts + warp_of() * DIGITS;
    for_tile(count, [&](u64 i, u32 round, bool there) {
        const u32 digit = there ? digit_of(keys, codes, i, shift, by_code) : DIGITS;
        const u32 same = __match_any_sync(FULL, digit);
        const u32 before = there ? mine[digit] : 0;
        __syncwarp();
        if (there && (same & lanes_below()) == 0) mine[digit] = before + __popc(same);
        __syncwarp();
        key[round] = there ? keys[i] : 0;
        slot[round] = (before + __popc(same & lanes_below())) << 9 | digit;
    });
    __syncthreads();
    u32 all = 0;
    for (u32 warp = 0; warp < EDGE_WARPS; warp++) {
        const u32 here = counts[warp * DIGITS + threadIdx.x];
        counts[warp * DIGITS + threadIdx.x] = all;
        all += here;
    }
    const u32 begin = sum_before(sums, all);
    places[threadIdx.x] = begins[u64(threadIdx.x) * gridDim.x + blockIdx.x] - begin;
    for (u32 warp = 0; warp < EDGE_WARPS; warp++) counts[warp * DIGITS + threadIdx.x] += begin;
    __syncthreads();
    for (u32 round = 0; round < ROUNDS; round++) {
        const u32 digit = slot[round] & 511;
        if (digit == DIGITS) continue;
        slot[round] = mine[digit] + (slot[round] >> 9);
        staged[slot[round]] = key[round];
        digits[slot[round]] = u8(digit);
    }
    __syncthreads();
    const u64 first = u64(blockIdx.x) * TILE;
    const u32 kept = u32(min2(u64(TILE), count - first));
    for (u32 k = threadIdx.x; k < kept; k += EDGE_THREADS) to_keys[places[digits[k]] + k] = staged[k];
    if (codes == nullptr) return;
    __syncthreads();
    u32* const codes_staged = reinterpret_cast<u32*>(staged);
    for_tile(count, [&](u64 i, u32 round, bool there) {
        if (there) codes_staged[slot[round]] = codes[i];
    });
    __syncthreads();
    for (u32 k = threadIdx.x; k < kept; k += EDGE_THREADS) to_codes[places[digits[k]] + k] = codes_staged[k];
}

__device__ __forceinline__ bool is_first(const u64* keys, u64 i) { return i == 0 || keys[i] != keys[i - 1]; }

// distinct[tile] = keys of the tile, of sorted ones, that are the first of their kind. facts[REPEATED] += the others;
// of an edge that is there in both directions (mirrored), one counts. A block a tile.
KERNEL __launch_bounds__(EDGE_THREADS)
count_distinct_kernel(const u64* keys, u64 count, u64 bits, u64 mirrored, u64* distinct, u64* facts) {
    __shared__ u64 here;
    if (threadIdx.x == 0) here = 0;
    __syncthreads();
    u64 firsts = 0, repeated = 0;
    for_tile(count, [&](u64 i, u32, bool there) {
        if (!there) return;
        if (is_first(keys, i)) firsts++;
        else repeated += !mirrored || keys[i] >> bits <= (keys[i] & ((u64(1) << bits) - 1));
    });
    count_up(facts + REPEATED, repeated);
    count_up(facts + KEPT, firsts);
    atomicAdd(&here, firsts);
    __syncthreads();
    if (threadIdx.x == 0) distinct[blockIdx.x] = here;
}

// The first of equal keys, and its code, to their places; begins[tile]: of the tile's first one. A block a tile.
KERNEL __launch_bounds__(EDGE_THREADS)
keep_kernel(const u64* keys, const u32* codes, u64 count, const u64* begins, u64* to_keys, u32* to_codes) {
    __shared__ u32 sums[EDGE_THREADS];
    u32 mine = 0;  // of this warp, up to here
    for_tile(count, [&](u64 i, u32, bool there) { mine += __popc(__ballot_sync(FULL, there && is_first(keys, i))); });
    u64 at = begins[blockIdx.x] + sum_before(sums, lane_of() == 31 ? mine : 0);
    at = __shfl_sync(FULL, at, 0);
    for_tile(count, [&](u64 i, u32, bool there) {
        const bool kept = there && is_first(keys, i);
        const u32 those = __ballot_sync(FULL, kept);
        if (kept) {
            const u64 to = at + __popc(those & lanes_below());
            to_keys[to] = keys[i];
            if (codes != nullptr) to_codes[to] = codes[i];
        }
        at += __popc(those);
    });
}

// Keys with near and far end changed over. Any launch.
KERNEL __launch_bounds__(EDGE_THREADS) turn_kernel(u64* keys, u64 count, u64 bits) {
    const u64 mask = (u64(1) << bits) - 1;
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid())
        keys[i] = (keys[i] & mask) << bits | keys[i] >> bits;
}

// Keys between the vertices' places. Reads a place at random for each far end. Any launch.
KERNEL __launch_bounds__(EDGE_THREADS) rename_kernel(u64* keys, u64 count, u64 bits, const u32* place) {
    const u64 mask = (u64(1) << bits) - 1;
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid())
        keys[i] = u64(__ldg(place + (keys[i] >> bits))) << bits | __ldg(place + (keys[i] & mask));
}

// A bijection that spreads every bit: pagestore.convert.emit.mix.
__device__ __forceinline__ u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

// Of sorted keys: their far ends; begins[near], ends[near] of the lists (zero before, and of vertices without one);
// loops, and the sum of the edges' hashes (pagestore.convert.emit). Any launch of whole warps.
KERNEL __launch_bounds__(EDGE_THREADS)
find_lists_kernel(const u64* keys, const u32* codes, u64 count, u64 bits, u32* targets, u32* begins, u32* ends,
                  u64* facts) {
    const u64 mask = (u64(1) << bits) - 1;
    u64 loops = 0, hash = 0;
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const u64 key = keys[i], near = key >> bits, far = key & mask;
        targets[i] = u32(far);
        if (i == 0 || keys[i - 1] >> bits != near) begins[near] = u32(i);
        if (i + 1 == count || keys[i + 1] >> bits != near) ends[near] = u32(i + 1);
        loops += near == far;
        u64 edge = (near << 32 | near >> 32) ^ far;
        if (codes != nullptr) edge ^= mix(u64(codes[i]) + 1);
        hash += mix(edge);
    }
    count_up(facts + LOOPS, loops);
    count_up(facts + HASH, hash);
}
