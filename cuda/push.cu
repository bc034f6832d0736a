// Push: a source's message goes to all its targets (pushing.cuh).
#include "pushing.cuh"

// Push from every active vertex of the parts (SUM: from all) to targets in [dst_first, dst_last).
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
push_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
            u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count,
            Claims* claims, const Source* source, u64 source_first, const Degree* __restrict__ degree,
            const u64* __restrict__ active_bits, Got* dst, u64 dst_first, u64 dst_last, u64* next_bits, u64* edges,
            Context ctx) {
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    const Sources sources = {source, source_first, degree, active_bits};
    const Pushing push = {sources, dst, dst_first, dst_last - dst_first, next_bits};
    count_up(edges, push_parts(pool, parts, part_first, part_count, claims, push, ctx));
}
