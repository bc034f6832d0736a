// Pull for MIN, MAX and OR: each vertex looks at its active sources (pulling.cuh).
#include "pulling.cuh"

// Combine the messages of active sources into the parts' own vertices in [dst_first, dst_last), where their bit of
// open_bits is set (programs with `done`). `carry`, `place_of`, `hot` and `slices` are only for SUM.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
pull_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count,
            Claims* claims, const Source* source, u64 source_first, const Degree* __restrict__ degree,
            const u64* __restrict__ active_bits, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits,
            const u64* __restrict__ open_bits, Got* carry, const u32* place_of, u64 hot,
            const void* slices, u64 slice_count, u64* edges, Context ctx) {
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    const Sources sources = {source, source_first, degree, active_bits};
    const Pulling pull = {sources, dst, dst_first, dst_last - dst_first, next_bits, open_bits};
    count_up(edges, pull_parts(pool, parts, part_first, part_count, claims, pull, ctx));
}
