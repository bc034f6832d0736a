// Pull for SUM: each vertex's list is summed in registers by its one team; no atomics.
//
// Map: a warp a part, a lane or a team of lanes a record (pages.cuh). A list's sum is taken in
// an order that depends on its page alone: the same bits for any number of streams, batches and GPUs. A hub's list lies
// in large pages, each cut into parts for many warps, and so is a long list of a small page; their sums go to
// carry[place_of[part]], and are added in page order afterwards (Garaph 4.1).
// Reads 4 or 8 bytes an edge, coalesced and once, and one source value an edge at random, a lookup of L2 each, which is
// the bound (88 % of the lookups it can do). In degree order the first vertices are the hubs, which half of all edges
// come from, so the first `hot` values are copied to each processor's shared memory, one large block a processor.
#include "summing.cuh"

// The edges that this lane looked at of the parts of the pool: sums of lists whose vertex is `wanted` to dst, those of
// pieces of lists to carry. WARPS: of a block.
template <u32 WARPS, class Wanted>
__device__ __forceinline__ u32 pull_parts(const Pool& pool, const Part* parts, u64 first, u64 count, Claims* claims,
                                          const HotSources& sources, Got* dst, u64 dst_first, const Slice* slices,
                                          u64 slice_count, Got* carry, const u32* place_of, Wanted wanted,
                                          const Context& ctx) {
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64 index) {
        const Got sum = sum_of(sources, page, beside, list, lane_of(), 32, ctx);
        if (lane_of() != 0) return u32(0);
        carry[place_of[index]] = sum;
        return list.stop - list.first;
    };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, wanted, [&](List list, u32 stride) {
            if (list.first == list.stop) return u32(0);
            *place_of_sum(dst, slices, slice_count, list.vertex - dst_first) = sum_of_lane(sources, page.words, beside, list, 0, stride, ctx);
            return (list.stop - list.first) / stride;
        });
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        return for_lists<WARPS>(page, part, wanted, [&](List list, u32 rank, u32 size) {
            const Got sum = sum_of(sources, page.words, beside, list, rank, size, ctx);
            if (rank != 0 || list.first == list.stop) return u32(0);
            *place_of_sum(dst, slices, slice_count, list.vertex - dst_first) = sum;
            return list.stop - list.first;
        });
    };
    return for_parts<WARPS, true>(pool, parts, first, count, claims, wanted, wide, small, columns);
}

// dst[v] = sum over the in-edges of the parts, which have all of a vertex's; those of pieces of lists into carry.
// Vertices outside [dst_first, dst_last) are passed over. active_bits, next_bits and open_bits are not read: all sources
// send. hot: 0, or source_first is. slices: of all peers, ascending; none where dst takes all.
KERNEL __launch_bounds__(PULL_THREADS, ONE_BLOCK)
pull_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count, Claims* claims, const Source* __restrict__ source,
            u64 source_first, const Degree* __restrict__ degree, const u64* __restrict__ active_bits, Got* dst,
            u64 dst_first, u64 dst_last, u64* next_bits, const u64* __restrict__ open_bits, Got* carry,
            const u32* place_of, u64 hot, const Slice* slices, u64 slice_count, u64* edges, Context ctx) {
    DYNAMIC_SHARED(Source, nearest);
    for (u32 u = threadIdx.x; u < hot; u += PULL_THREADS) nearest[u] = source[u];
    __syncthreads();
    const HotSources sources = {{source, source_first, degree, active_bits}, nearest, u32(hot)};
    const u64 span = dst_last - dst_first;
    const auto wanted = [&](u64 v) { return v - dst_first < span; };
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    count_up(edges, pull_parts<PULL_THREADS / 32>(pool, parts, part_first, part_count, claims, sources, dst, dst_first,
                                                  slices, slice_count, carry, place_of, wanted, ctx));
}

// The same of the vertices whose bit is set alone: those that were told of a change (notify.cu). Few lists read few
// values, so that none are copied to shared memory first. All vertices are resident, on one device.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
pull_told_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
                 u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count, Claims* claims,
                 const Source* __restrict__ source, const Degree* __restrict__ degree, const u64* __restrict__ active_bits,
                 Got* got, const u64* __restrict__ told_bits, Got* carry, const u32* place_of, u64* edges, Context ctx) {
    const HotSources sources = {{source, 0, degree, active_bits}, nullptr, 0};
    const auto wanted = [&](u64 v) { return is_set(told_bits, v); };
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    count_up(edges, pull_parts<BLOCK_WARPS>(pool, parts, part_first, part_count, claims, sources, got, 0, nullptr, 0,
                                            carry, place_of, wanted, ctx));
}
