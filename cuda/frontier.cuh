// The size of a frontier: its vertices, and the edges that leave it.
#ifndef GSTREAM_FRONTIER
#define GSTREAM_FRONTIER
#include "combine.cuh"

// found[0] += vertices whose bit is set, found[1] += their degrees (edges that leave the frontier) where `weigh`; words
// of `spent`, where there is one, become 0. A warp 1,024 vertices: words without a bit cost nothing more, degrees of the
// others are read 32 at a time. Any launch of whole warps.
__device__ __forceinline__ void measure_frontier(const u64* bits, u64* spent, u64 words, const Degree* degree, bool weigh,
                                                 u64* found) {
    const u32* halves = reinterpret_cast<const u32*>(bits);
    u64 vertices = 0, edges = 0;
    for (u64 base = thread_of_grid() - lane_of(); base < 2 * words; base += threads_of_grid()) {
        const u64 index = base + lane_of();
        const u32 mine = index < 2 * words ? halves[index] : 0;
        if (spent != nullptr && index < 2 * words) reinterpret_cast<u32*>(spent)[index] = 0;
        vertices += __popc(mine);
        for (u32 left = weigh ? __ballot_sync(FULL, mine != 0) : 0; left; left &= left - 1) {
            const u32 k = __ffs(left) - 1, word = __shfl_sync(FULL, mine, k);
            if (word >> lane_of() & 1) edges += degree[(base + k) * 32 + lane_of()];
        }
    }
    count_up(found, vertices);
    count_up(found + 1, edges);
}
#endif
