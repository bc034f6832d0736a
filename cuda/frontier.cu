// The size of a frontier (frontier.cuh).
#include "blocks.cuh"
#include "frontier.cuh"

// found[0] += vertices whose bit is set, found[1] += their degrees where weigh is 1: measure_frontier. Any launch of
// whole warps.
KERNEL __launch_bounds__(VERTEX_THREADS)
frontier_kernel(const u64* bits, u64 words, const Degree* degree, u64 weigh, u64* found) {
    measure_frontier(bits, nullptr, words, degree, weigh != 0, found);
}
