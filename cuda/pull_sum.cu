// Pull for SUM: each vertex's list is summed in registers by its one team; no atomics.
//
// Map: a warp a part, a lane or a team of lanes a record (pages.cuh). A list's sum is taken in
// an order that depends on its page alone: the same bits for any number of streams, batches and GPUs. A hub's list lies
// in large pages, each cut into parts for many warps; their sums go to carry[part], and the driver adds them in page
// order (Garaph 4.1).
// Reads 4 or 8 bytes an edge, coalesced and once, and one source value an edge at random: 32 bytes of L2 each, which is
// the bound (86 % of what L2 moves). In degree order the first vertices are the hubs, which half of all edges come from,
// so the first `hot` values are copied to each processor's shared memory, one large block a processor.
#include "sources.cuh"

constexpr u32 PULL_THREADS = 1024;
constexpr u32 ONE_BLOCK = 1;  // a processor

struct HotSources : Sources {
    const Source* nearest;  // the values of vertices [0, hot)
    u32 hot;

    __device__ __forceinline__ Source at(u64 u) const { return u < hot ? nearest[u] : Sources::at(u); }
};

// Sum of this lane's messages: those along the list's words `rank`, rank + size, ... STEP loads are under way at once in
// the last turn, too: most lists are so short that a lane has no other.
__device__ __forceinline__ Got sum_of_lane(const HotSources& sources, const Word* page, const Weight* weights, List list,
                                           u32 rank, u32 size, const Context& ctx) {
    Got sum = Got(0);
    for (u32 word = list.first + rank; word < list.stop; word += STEP * size) {
        Word u[STEP];
        Source from[STEP];
#pragma unroll
        for (u32 k = 0; k < STEP; k++)
            if (word + k * size < list.stop) u[k] = read_once(page + word + k * size);
#pragma unroll
        for (u32 k = 0; k < STEP; k++) from[k] = word + k * size < list.stop ? sources.at(u[k]) : Source(0);
#pragma unroll
        for (u32 k = 0; k < STEP; k++)
            if (PREMADE || word + k * size < list.stop)
                sum += sources.message(u[k], from[k], weights, word + k * size, ctx);
    }
    return sum;
}

// Sum of the messages along the list's words, which teams of `size` lanes share; every lane of the team has it.
__device__ __forceinline__ Got sum_of(const HotSources& sources, const Word* page, const Weight* weights, List list,
                                      u32 rank, u32 size, const Context& ctx) {
    return team_sum(sum_of_lane(sources, page, weights, list, rank, size, ctx), size);
}

// dst[v] = sum over the in-edges of the parts, which have all of a vertex's; those of large pages into carry[part].
// Vertices outside [dst_first, dst_last) are passed over. active_bits, next_bits and open_bits are not read: all sources send. hot: 0, or source_first is.
KERNEL __launch_bounds__(PULL_THREADS, ONE_BLOCK)
pull_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count, Claims* claims, const Source* __restrict__ source,
            u64 source_first, const Degree* __restrict__ degree, const u64* __restrict__ active_bits, Got* dst,
            u64 dst_first, u64 dst_last, u64* next_bits, const u64* __restrict__ open_bits, Got* carry, u64 hot,
            u64* edges, Context ctx) {
    DYNAMIC_SHARED(Source, nearest);
    for (u32 u = threadIdx.x; u < hot; u += PULL_THREADS) nearest[u] = source[u];
    __syncthreads();
    const HotSources sources = {{source, source_first, degree, active_bits}, nearest, u32(hot)};
    const u64 span = dst_last - dst_first;
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64 index) {
        const Got sum = sum_of(sources, page, beside, list, lane_of(), 32, ctx);
        if (lane_of() != 0) return u32(0);
        carry[index] = sum;
        return list.stop - list.first;
    };
    const auto wanted = [&](u64 v) { return v - dst_first < span; };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, wanted, [&](List list, u32 stride) {
            if (list.first == list.stop) return u32(0);
            dst[list.vertex - dst_first] = sum_of_lane(sources, page.words, beside, list, 0, stride, ctx);
            return (list.stop - list.first) / stride;
        });
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        const u32 rank = lane_of() & (part.group - 1);
        return for_lists<PULL_THREADS / 32>(page, part, wanted, [&](List list) {
            const Got sum = sum_of(sources, page.words, beside, list, rank, part.group, ctx);
            if (rank != 0 || list.first == list.stop) return u32(0);
            dst[list.vertex - dst_first] = sum;
            return list.stop - list.first;
        });
    };
    const Pool pool = {words, weights, page_words, entries, base, first_vertex};
    count_up(edges, for_parts<PULL_THREADS / 32, true>(pool, parts, part_first, part_count, claims, wanted, wide, small, columns));
}
