// An exclusive prefix sum of 8-byte counters: sums of stretches of them first, then every counter in its place.
//
// Bound by memory: counters are read twice and written once.
#include "warps.cuh"

constexpr u32 PREFIX_THREADS = 512;
constexpr u32 COUNTERS_A_THREAD = 8;
constexpr u32 STRETCH_COUNTERS = PREFIX_THREADS * COUNTERS_A_THREAD;

// What this thread's counters of a stretch sum up to.
__device__ __forceinline__ u64 sum_of_thread(const u64* counts, u64 counters, u64 first) {
    u64 sum = 0;
    for (u64 k = first; k < min2(first + COUNTERS_A_THREAD, counters); k++) sum += counts[k];
    return sum;
}

// Sums over the threads up to and with each, in sums[thread], by doubling distances; called by whole blocks.
__device__ __forceinline__ void scan_threads(u64* sums, u64 mine) {
    sums[threadIdx.x] = mine;
    for (u32 back = 1; back < PREFIX_THREADS; back <<= 1) {
        __syncthreads();
        const u64 added = threadIdx.x >= back ? sums[threadIdx.x - back] : 0;
        __syncthreads();
        sums[threadIdx.x] += added;
    }
    __syncthreads();
}

// stretches[t] = sum of counts[t * STRETCH_COUNTERS, (t + 1) * STRETCH_COUNTERS). A block a stretch.
KERNEL __launch_bounds__(PREFIX_THREADS) sum_stretches_kernel(const u64* counts, u64 counters, u64* stretches) {
    __shared__ u64 sums[PREFIX_THREADS];
    const u64 first = u64(blockIdx.x) * STRETCH_COUNTERS + threadIdx.x * COUNTERS_A_THREAD;
    scan_threads(sums, sum_of_thread(counts, counters, first));
    if (threadIdx.x == 0) stretches[blockIdx.x] = sums[PREFIX_THREADS - 1];
}

// counts[k] = sum of counts[0, k). A block a stretch; each adds up the stretches before its own: 256 at 2^20 buckets.
KERNEL __launch_bounds__(PREFIX_THREADS) prefix_kernel(u64* counts, u64 counters, const u64* stretches) {
    __shared__ u64 sums[PREFIX_THREADS];
    u64 before = 0;
    for (u32 k = threadIdx.x; k < blockIdx.x; k += PREFIX_THREADS) before += stretches[k];
    scan_threads(sums, before);
    before = sums[PREFIX_THREADS - 1];
    __syncthreads();  // all have read before the next sums overwrite
    const u64 first = u64(blockIdx.x) * STRETCH_COUNTERS + threadIdx.x * COUNTERS_A_THREAD;
    const u64 mine = sum_of_thread(counts, counters, first);
    scan_threads(sums, mine);
    u64 at = before + sums[threadIdx.x] - mine;
    for (u64 k = first; k < min2(first + COUNTERS_A_THREAD, counters); k++) {
        const u64 count = counts[k];
        counts[k] = at;
        at += count;
    }
}
