// Push of programs of vectors: a source's message goes to all its targets, number by number, by atomics.
//
// Map: a warp a part, a team of lanes a record (pages.cuh), whose lanes share rows and edges (vectors.cuh). Reads 4 or 8
// bytes an edge, once for every ACROSS numbers; a row an edge at random, which is the bound.
#include "vectors.cuh"

struct VectorPushing {
    VectorSources sources;
    Got* dst;
    u64 dst_first, span;

    // Send along the list's words first + edge, first + edge + edges, ..., which are `stride` apart in a column page.
    __device__ __forceinline__ u32 spread(const Word* page, const Weight* weights, List list, Share share, u32 stride,
                                          const Context& ctx) const {
        const u32 begin = list.first + share.edge * stride, step = share.edges * stride;
        if (begin >= list.stop) return 0;
        const Source* const from = sources.at(list.vertex);
        for (u32 i = share.element; i < LENGTH; i += share.width) {
            if (IDEMPOTENT && from[i] == program::identity()) continue;
            const Got of_all = USES_EDGE ? Got(0) : sources.message(list.vertex, from, i, Weight(0), ctx);
            for (u32 word = begin; word < list.stop; word += step) {
                const u64 where = u64(read_once(page + word)) - dst_first;
                if (where >= span) continue;
                Got* const to = dst + where * LENGTH + i;
                const Got fresh = USES_EDGE ? sources.message(list.vertex, from, i, weight_of(weights, word), ctx) : of_all;
                settle(to, fresh, COMBINE != SUM ? *to : program::no_got());
            }
        }
        return share.element == 0 ? (list.stop - begin + step - 1) / step : 0;
    }
};

// Push from every active vertex of the parts (SUM: from all) to targets in [dst_first, dst_last).
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
push_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count,
            Claims* claims, const Source* source, u64 source_first, const Degree* __restrict__ degree,
            const u64* __restrict__ active_bits, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits, u64* edges,
            Context ctx) {
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    const VectorSources sources = {source, source_first, degree, active_bits};
    const VectorPushing push = {sources, dst, dst_first, dst_last - dst_first};
    const auto sends = [&](u64 u) { return sources.active(u); };
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64) {
        return push.spread(page, beside, list, Share(lane_of(), 32), 1, ctx);
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        return for_lists<BLOCK_WARPS, true>(page, part, sends, [&](List list, u32 rank, u32 size) {
            return push.spread(page.words, beside, list, Share(rank, size), 1, ctx);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, sends, [&](List list, u32 stride) {
            return push.spread(page.words, beside, list, Share(0, 1), stride, ctx);
        });
    };
    const u32 found = for_parts<BLOCK_WARPS, false, true>(pool, parts, part_first, part_count, claims, sends, wide, small, columns);
    count_up(edges, found);
}
