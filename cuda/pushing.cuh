// Push: a source's message goes to all its targets, which any thread may write: atomics on dst and next_bits.
//
// Map: a warp a part, a lane or a team of lanes a record (pages.cuh); lane i of a team of 8 takes neighbours
// i, i + 8, ...
// Reads 4 or 8 bytes an edge, coalesced; one atomic an edge that improves something (SUM: an edge), at random
// addresses, which is the bound (ceilings: 16 to 100 G atomics/s by the size of dst). Hubs are not summed in shared
// memory first (Garaph 3.2): L2 does it as fast (bench/README.md has the figures).
#ifndef GSTREAM_PUSHING
#define GSTREAM_PUSHING
#include "sources.cuh"

struct Pushing {
    Sources sources;
    Got* dst;
    u64 dst_first, span;
    u64* next_bits;

    // Send along the edges in the list's words `rank`, rank + size, ...: what one of `size` lanes does that share the
    // list, or one lane of a column page, whose neighbours are `size` apart. Returns the edges this lane looked at.
    __device__ __forceinline__ u32 spread(const Word* page, const Weight* weights, List list, u32 rank, u32 size,
                                          const Context& ctx) const {
        if (list.first + rank >= list.stop) return 0;
        const Source from = sources.at(list.vertex);
        const Got of_all = USES_EDGE ? Got(0) : sources.message(list.vertex, from, Weight(0), ctx);
        for (u32 word = list.first + rank; word < list.stop; word += STEP * size) {
            u64 target[STEP];
            Weight weight[STEP];
            Got old[STEP];
#pragma unroll
            for (u32 k = 0; k < STEP; k++) {
                const bool here = word + k * size < list.stop;
                target[k] = here ? read_once(page + word + k * size) : ~u64(0);
                weight[k] = here ? weight_of(weights, word + k * size) : Weight(0);
            }
#pragma unroll
            for (u32 k = 0; k < STEP; k++) {  // before the first atomic, which no read would pass
                const u64 where = target[k] - dst_first;
                old[k] = COMBINE != SUM && where < span ? dst[where] : program::no_got();
            }
#pragma unroll
            for (u32 k = 0; k < STEP; k++) {
                const u64 where = target[k] - dst_first;
                if (where >= span) continue;  // so is what was not there
                const Got fresh = USES_EDGE ? sources.message(list.vertex, from, weight[k], ctx) : of_all;
                if (settle(dst + where, fresh, old[k]) && IN_PLACE) mark(next_bits, target[k]);
            }
        }
        return (list.stop - list.first - rank + size - 1) / size;
    }
};

// Push from every active vertex of `count` parts of the pool, from `first` on (SUM: from all); edges this lane looked at.
__device__ __forceinline__ u32 push_parts(const Pool& pool, const Part* parts, u64 first, u64 count, Claims* claims,
                                          const Pushing& push, const Context& ctx) {
    const auto sends = [&](u64 u) {
        return !IDEMPOTENT || (push.sources.active(u) && !push.sources.empty(push.sources.at(u)));
    };
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64) {
        return push.spread(page, beside, list, lane_of(), 32, ctx);
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        return for_lists<BLOCK_WARPS, true>(page, part, sends, [&](List list, u32 rank, u32 size) {
            return push.spread(page.words, beside, list, rank, size, ctx);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, sends, [&](List list, u32 stride) {
            return push.spread(page.words, beside, list, 0, stride, ctx);
        });
    };
    return for_parts<BLOCK_WARPS, false, true>(pool, parts, first, count, claims, sends, wide, small, columns);
}
#endif
