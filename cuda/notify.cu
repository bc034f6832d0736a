// Notify, the first half of notify-pull (Garaph 2.1, 4.2): active vertices set the bits of their out-neighbours.
//
// Map: a warp a part, a lane or a team of lanes a record (pages.cuh); lane i of a team of 8 takes neighbours
// i, i + 8, ... Example: an active vertex of 20 out-edges, team of 8: three turns, 20 bits tested, up to 20 atomics.
// Reads 4 or 8 bytes an edge of active vertices, coalesced, and a word of a bitmap at random, which stays in L2; an
// atomic where the bit is not set yet. Pages without an active vertex are not launched.
#include "frontier.cuh"
#include "pages.cuh"

// told_bits of the neighbours in the list's words `rank`, rank + size, ...; the edges that this lane looked at.
__device__ __forceinline__ u32 tell(const Word* page, List list, u32 rank, u32 size, u64* told_bits) {
    if (list.first + rank >= list.stop) return 0;
    for (u32 word = list.first + rank; word < list.stop; word += STEP * size) {
        u64 target[STEP];
#pragma unroll
        for (u32 k = 0; k < STEP; k++)
            target[k] = word + k * size < list.stop ? read_once(page + word + k * size) : ~u64(0);
#pragma unroll
        for (u32 k = 0; k < STEP; k++)
            if (word + k * size < list.stop) mark(told_bits, target[k]);
    }
    return (list.stop - list.first - rank + size - 1) / size;
}

// told_bits of the neighbours of active vertices, over parts of out-pages.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
notify_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
              u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count,
              Claims* claims, const u64* __restrict__ active_bits, u64* told_bits, u64* edges) {
    const auto wanted = [&](u64 u) { return is_set(active_bits, u); };
    const auto wide = [&](List list, const Word* page, const Weight*, u64) {
        return tell(page, list, lane_of(), 32, told_bits);
    };
    const auto small = [&](Part part, const Page& page, const Weight*) {
        return for_lists<BLOCK_WARPS, true>(page, part, wanted, [&](List list, u32 rank, u32 size) {
            return tell(page.words, list, rank, size, told_bits);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight*) {
        return for_columns(page, part, wanted,
                           [&](List list, u32 stride) { return tell(page.words, list, 0, stride, told_bits); });
    };
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    count_up(edges, for_parts<BLOCK_WARPS>(pool, parts, part_first, part_count, claims, wanted, wide, small, columns));
}

// got of the vertices in [first, last) whose bit is set, back to the identity: long lists are added to it. Any launch.
KERNEL __launch_bounds__(THREADS)
forget_kernel(Got* got, const u64* told_bits, u64 first, u64 last) {
    for (u64 v = first + thread_of_grid(); v < last; v += threads_of_grid())
        if (is_set(told_bits, v)) got[v] = program::no_got();
}
