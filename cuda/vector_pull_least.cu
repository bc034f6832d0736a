// Pull for MIN, MAX and OR of programs of vectors: each vertex looks at its active sources.
//
// Map: a warp a part, a team of lanes a record (pages.cuh), whose lanes share rows and edges (vectors.cuh). A team writes
// without atomics, as the vertex has no other; warps that share a list settle by atomics.
#include "vectors.cuh"

struct VectorPulling {
    VectorSources sources;
    Got* dst;
    u64 dst_first;

    // Combine the messages along the list into its vertex, by the lanes of one team, or by a lane whose list's words are
    // `stride` apart. SHARED: other warps write the vertex, too. Called by whole warps.
    template <bool SHARED>
    __device__ __forceinline__ u32 take_in(const Word* page, const Weight* weights, List list, u32 rank, u32 size,
                                           u32 stride, const Context& ctx) const {
        const Share share(rank, size);
        const bool real = list.first < list.stop;
        for (u32 base = 0; base < LENGTH; base += share.width) {
            const u32 i = base + share.element;
            const bool mine = real && i < LENGTH;
            Got* const where = dst + (list.vertex - dst_first) * LENGTH + i;
            const Got old = mine ? *where : program::no_got();
            Got best = old;
            if (mine) {
                for (u32 word = list.first + share.edge * stride; word < list.stop; word += share.edges * stride) {
                    const u64 u = read_once(page + word);
                    if (!sources.active(u)) continue;
                    const Got fresh = sources.message(u, sources.at(u), i, weight_of(weights, word), ctx);
                    if (better(fresh, best)) best = merged(best, fresh);
                }
            }
            for (u32 offset = size >> 1; offset >= share.width; offset >>= 1) {
                const Got other = Got(__shfl_xor_sync(FULL, best, offset));
                if (better(other, best)) best = merged(best, other);
            }
            if (!mine || share.edge != 0 || !better(best, old)) continue;
            if (SHARED) settle(where, best, old);
            else *where = best;
        }
        return real && rank == 0 ? (list.stop - list.first + stride - 1) / stride : 0;
    }
};

// Combine the messages of active sources into the parts' own vertices in [dst_first, dst_last). next_bits, open_bits and
// what follows them are not for programs of vectors.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
pull_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count,
            Claims* claims, const Source* source, u64 source_first, const Degree* __restrict__ degree,
            const u64* __restrict__ active_bits, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits,
            const u64* __restrict__ open_bits, Got* carry, const u32* place_of, u64 hot,
            const void* slices, u64 slice_count, u64* edges, Context ctx) {
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    const VectorPulling pull = {{source, source_first, degree, active_bits}, dst, dst_first};
    const u64 span = dst_last - dst_first;
    const auto wanted = [&](u64 v) { return v - dst_first < span; };
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64) {
        return pull.take_in<true>(page, beside, list, lane_of(), 32, 1, ctx);
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        return for_lists<BLOCK_WARPS>(page, part, wanted, [&](List list, u32 rank, u32 size) {
            return pull.take_in<false>(page.words, beside, list, rank, size, 1, ctx);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, wanted, [&](List list, u32 stride) {
            return pull.take_in<false>(page.words, beside, list, 0, 1, stride, ctx);
        });
    };
    count_up(edges, for_parts<BLOCK_WARPS>(pool, parts, part_first, part_count, claims, wanted, wide, small, columns));
}
