// Pull for SUM of programs of vectors: each vertex's list is summed in registers by its one team; no atomics.
//
// Map: a warp a part, a team of lanes a record (pages.cuh), whose lanes share rows and edges (vectors.cuh). The order of a
// sum depends on its page alone. Sums of pieces of lists go to carry rows, and are added in page order afterwards.
#include "vectors.cuh"

// Where a slice of what vertices got ends, and where it lies: `got` of its owner among the peers, from the same vertex on.
struct Slice {
    u64 end;
    Got* got;
};

// The row of sums of vertex `at`, counted from the first one of dst: in its owner's memory, which may be a peer's.
__device__ __forceinline__ Got* row_of_sums(Got* dst, const Slice* slices, u64 count, u64 at) {
    for (u64 k = 0; k < count; k++)
        if (at < slices[k].end) return slices[k].got + at * LENGTH;
    return dst + at * LENGTH;
}

// row = sums of the messages along the list, by the lanes of one team, or by a lane whose list's words are `stride` apart.
// Called by whole warps; an empty list writes nothing.
__device__ __forceinline__ u32 add_up(const VectorSources& sources, const Word* page, const Weight* weights, List list,
                                      u32 rank, u32 size, u32 stride, Got* row, const Context& ctx) {
    const Share share(rank, size);
    const bool real = list.first < list.stop;
    for (u32 base = 0; base < LENGTH; base += share.width) {
        const u32 i = base + share.element;
        Got sum = Got(0);
        if (real && i < LENGTH) {
            for (u32 word = list.first + share.edge * stride; word < list.stop; word += share.edges * stride) {
                const u64 u = read_once(page + word);
                sum += sources.message(u, sources.at(u), i, weight_of(weights, word), ctx);
            }
        }
        for (u32 offset = size >> 1; offset >= share.width; offset >>= 1) sum += __shfl_xor_sync(FULL, sum, offset);
        if (real && i < LENGTH && share.edge == 0) row[i] = sum;
    }
    return real && rank == 0 ? (list.stop - list.first + stride - 1) / stride : 0;
}

// dst[v] = sum over the in-edges of the parts, which have all of a vertex's; those of pieces of lists into carry.
// Vertices outside [dst_first, dst_last) are passed over. active_bits, next_bits, open_bits and hot are not read: all
// sources send. slices: of all peers, ascending; none where dst takes all.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
pull_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count,
            Claims* claims, const Source* __restrict__ source, u64 source_first, const Degree* __restrict__ degree,
            const u64* __restrict__ active_bits, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits,
            const u64* __restrict__ open_bits, Got* carry, const u32* place_of, u64 hot, const Slice* slices,
            u64 slice_count, u64* edges, Context ctx) {
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    const VectorSources sources = {source, source_first, degree, active_bits};
    const u64 span = dst_last - dst_first;
    const auto wanted = [&](u64 v) { return v - dst_first < span; };
    const auto row_of = [&](List list) { return row_of_sums(dst, slices, slice_count, list.vertex - dst_first); };
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64 index) {
        Got* const row = carry + u64(place_of[index]) * LENGTH;
        if (list.first == list.stop)  // nothing of it is this warp's: what an earlier sweep left is not its sum
            for (u32 i = lane_of(); i < LENGTH; i += 32) row[i] = Got(0);
        return add_up(sources, page, beside, list, lane_of(), 32, 1, row, ctx);
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        return for_lists<BLOCK_WARPS>(page, part, wanted, [&](List list, u32 rank, u32 size) {
            return add_up(sources, page.words, beside, list, rank, size, 1, list.first < list.stop ? row_of(list) : dst, ctx);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, wanted, [&](List list, u32 stride) {
            return add_up(sources, page.words, beside, list, 0, 1, stride, list.first < list.stop ? row_of(list) : dst, ctx);
        });
    };
    const u32 found = for_parts<BLOCK_WARPS, true>(pool, parts, part_first, part_count, claims, wanted, wide, small, columns);
    count_up(edges, found);
}
