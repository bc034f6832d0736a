// Push: a source's message goes to all its targets, which any thread may write: atomics on dst and next_bits.
//
// Map: a block a part, a team of lanes a record (pages.cuh); lane i of a team of 8 takes neighbours i, i + 8, ...
// Reads 4 or 8 bytes an edge, coalesced; one atomic an edge that improves something (SUM: an edge), at random
// addresses, which is the bound (ceilings: 16 to 100 G atomics/s by the size of dst).
#include "sources.cuh"

struct Pushing {
    Sources sources;
    Got* dst;
    u64 dst_first, span;
    u64* next_bits;

    // Send along the edges in the list's words, which `size` lanes share; returns the edges this lane looked at.
    __device__ __forceinline__ u64 spread(const Word* page, const Weight* weights, List list, u32 rank, u32 size,
                                          const Context& ctx) const {
        if (list.first + rank >= list.stop) return 0;
        const Source from = sources.at(list.vertex);
        Got message = Got(0);
        if constexpr (!USES_EDGE) message = sources.message(list.vertex, from, weights, 0, ctx);
        for (u32 word = list.first + rank; word < list.stop; word += STEP * size) {
            u64 target[STEP];
#pragma unroll
            for (u32 k = 0; k < STEP; k++)
                target[k] = word + k * size < list.stop ? read_once(page + word + k * size) : ~u64(0);
#pragma unroll
            for (u32 k = 0; k < STEP; k++) {
                const u64 where = target[k] - dst_first;
                if (where >= span) continue;  // so is what was not there
                if constexpr (USES_EDGE) message = sources.message(list.vertex, from, weights, word + k * size, ctx);
                if (settle(dst + where, message) && IN_PLACE) mark(next_bits, target[k]);
            }
        }
        return (list.stop - list.first - rank + size - 1) / size;
    }
};

// Push from every active vertex of the parts (SUM: from all) to targets in [dst_first, dst_last).
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
push_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Part* parts,
            u64 part_count, const Source* source, u64 source_first, const Degree* __restrict__ degree,
            const u64* __restrict__ active_bits, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits, u64* edges,
            Context ctx) {
    const Sources sources = {source, source_first, degree, active_bits};
    const Pushing push = {sources, dst, dst_first, dst_last - dst_first, next_bits};
    const auto sends = [&](u64 u) { return !IDEMPOTENT || (sources.active(u) && !sources.empty(sources.at(u))); };
    u64 looked = 0;
    for (u64 index = blockIdx.x; index < part_count; index += gridDim.x) {
        const Part part = parts[index];
        const Word* page = words + part.row * page_words;
        const Weight* beside = weights + part.row * page_words;
        if (is_large(page)) {
            const u64 u = slot_of(page, page_words, 0).vertex;
            if (sends(u)) looked += push.spread(page, beside, {u, part.first, part.end}, threadIdx.x, THREADS, ctx);
            continue;
        }
        const u32 rank = lane_of() & (part.group - 1);
        looked += for_lists(page, page_words, part, sends,
                            [&](List list) { return push.spread(page, beside, list, rank, part.group, ctx); });
    }
    count_up(edges, looked);
}

// Push along the given stretches of lists (sparse frontiers), `group` lanes each; no active test.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
push_records_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words,
                    const Record* records, u64 record_count, u64 group, const Source* source, u64 source_first,
                    const Degree* __restrict__ degree, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits,
                    u64* edges, Context ctx) {
    const Sources sources = {source, source_first, degree, nullptr};
    const Pushing push = {sources, dst, dst_first, dst_last - dst_first, next_bits};
    const u64 looked = for_records(records, record_count, u32(group), [&](Record record) {
        if (record.row == ~u64(0) || sources.empty(sources.at(record.vertex))) return u64(0);
        const List list = {record.vertex, u32(record.first), u32(record.end)};
        const u64 skipped = record.row * page_words;
        return push.spread(words + skipped, weights + skipped, list, lane_of() & (u32(group) - 1), u32(group), ctx);
    });
    count_up(edges, looked);
}
