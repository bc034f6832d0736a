// Pull for MIN, MAX and OR: each vertex looks at its active sources, and its team stops once the vertex is `done`.
//
// Map: a warp a part, a lane or a team of lanes a record (pages.cuh). A team writes without atomics, as the
// vertex has no other; warps that share a list settle by atomics, so that a hub can be cut into many stretches.
// Reads 4 or 8 bytes an edge until `done`, coalesced; a bit of the frontier an edge (L2), a value an active source.
#ifndef GSTREAM_PULLING
#define GSTREAM_PULLING
#include "sources.cuh"

struct Best {
    Got best;
    u32 edges;  // that this lane looked at
};

// `old` combined with the messages along the list's words, which teams of `size` lanes share; by whole warps. IN_COLUMNS:
// each lane has a list of its own instead, whose words are `size` apart.
template <bool IN_COLUMNS = false>
__device__ __forceinline__ Best best_of(const Sources& sources, const Word* page, const Weight* weights, List list,
                                        Got old, u32 size, const Context& ctx) {
    const u32 rank = IN_COLUMNS ? 0 : lane_of() & (size - 1);
    const u32 team = size == 32 ? FULL : ((1u << size) - 1) << (lane_of() - rank);
    Best found = {old, 0};
    u32 word = list.first + rank;
    while (__any_sync(FULL, word < list.stop)) {
        bool finished = false;
        u64 u[STEP];
        bool sends[STEP];
#pragma unroll
        for (u32 k = 0; k < STEP; k++) {
            sends[k] = word + k * size < list.stop;
            u[k] = sends[k] ? read_once(page + word + k * size) : 0;
            found.edges += sends[k];
        }
#pragma unroll
        for (u32 k = 0; k < STEP; k++) sends[k] = sends[k] && sources.active(u[k]);
#pragma unroll
        for (u32 k = 0; k < STEP; k++) {
            if (!sends[k] || finished) continue;
            const Source from = sources.at(u[k]);
            if (sources.empty(from)) continue;
            const Got fresh = sources.message(u[k], from, weight_of(weights, word + k * size), ctx);
            if (!better(fresh, found.best)) continue;
            found.best = merged(found.best, fresh);
            finished = STOPS_EARLY && program::done(i64(list.vertex), found.best, ctx);
        }
        word += STEP * size;
        if (STOPS_EARLY && (IN_COLUMNS ? finished : (__ballot_sync(FULL, finished) & team) != 0)) list.stop = 0;
    }
    if (!IN_COLUMNS) found.best = team_best(found.best, size);
    return found;
}

// A share or a stretch of a list that other warps work on too; returns the edges this lane looked at.
__device__ __forceinline__ u32 pull_stretch(const Sources& sources, const Word* page, const Weight* weights, List list,
                                            Got* dst, u64 dst_first, u64* next_bits, const Context& ctx) {
    Got* const where = dst + (list.vertex - dst_first);
    const Got old = list.first < list.stop ? *where : program::no_got();
    if (STOPS_EARLY && list.first < list.stop && program::done(i64(list.vertex), old, ctx)) list.stop = list.first;
    const Best found = best_of(sources, page, weights, list, old, 32, ctx);
    const bool first = lane_of() == 0 && list.first < list.stop;
    if (first && better(found.best, old) && settle(where, found.best, old) && IN_PLACE) mark(next_bits, list.vertex);
    return found.edges;
}

// What a pull writes: vertices in [dst_first, dst_first + span) whose bit of open_bits is set (programs with `done`).
struct Pulling {
    Sources sources;
    Got* dst;
    u64 dst_first, span;
    u64* next_bits;
    const u64* open_bits;
};

// Combine the messages of active sources into the own vertices of `count` parts of the pool, from `first` on; edges this
// lane looked at.
__device__ __forceinline__ u32 pull_parts(const Pool& pool, const Part* parts, u64 first, u64 count, Claims* claims,
                                          const Pulling& pull, const Context& ctx) {
    const auto wanted = [&](u64 v) {
        return v - pull.dst_first < pull.span && (!HAS_DONE || is_set(pull.open_bits, v));
    };
    const auto wide = [&](List list, const Word* page, const Weight* beside, u64) {
        return pull_stretch(pull.sources, page, beside, list, pull.dst, pull.dst_first, pull.next_bits, ctx);
    };
    const auto old_of = [&](List list) {
        return list.first < list.stop ? pull.dst[list.vertex - pull.dst_first] : program::no_got();
    };
    const auto keep = [&](List list, Got old, Best found) {  // nobody else writes this vertex
        if (list.first < list.stop && better(found.best, old)) {
            pull.dst[list.vertex - pull.dst_first] = found.best;
            if (IN_PLACE) mark(pull.next_bits, list.vertex);
        }
        return found.edges;
    };
    const auto columns = [&](Part part, const Page& page, const Weight* beside) {
        return for_columns(page, part, wanted, [&](List list, u32 stride) {
            const Got old = old_of(list);
            return keep(list, old, best_of<true>(pull.sources, page.words, beside, list, old, stride, ctx));
        });
    };
    const auto small = [&](Part part, const Page& page, const Weight* beside) {
        return for_lists<BLOCK_WARPS>(page, part, wanted, [&](List list, u32 rank, u32 size) {
            const Got old = old_of(list);
            const Best found = best_of(pull.sources, page.words, beside, list, old, size, ctx);
            return rank == 0 ? keep(list, old, found) : found.edges;
        });
    };
    return for_parts<BLOCK_WARPS>(pool, parts, first, count, claims, wanted, wide, small, columns);
}
#endif
