// Blocks of vertices, and what vertex kernels leave of each: bits, totals, counts.
#ifndef GSTREAM_BLOCKS
#define GSTREAM_BLOCKS
#include "combine.cuh"

constexpr u32 BLOCK = 8192;
constexpr u32 VERTEX_THREADS = 512;  // fewer would leave SMs short of loads in flight: a BLOCK stays with one SM

// The ballot of whole warps as half a word of a bitmap, that of v.
__device__ __forceinline__ void write_bits(u64* bits, u64 v, bool set) {
    const u32 votes = __ballot_sync(FULL, set);
    if (lane_of() == 0) reinterpret_cast<u32*>(bits)[v >> 5] = votes;
}

// partials[block of vertices] = sums over the block's threads.
__device__ __forceinline__ void store_totals(f64* partials, u64 first, u64 last, const Sums& sums) {
    if (first + u64(blockIdx.x) * BLOCK >= last) return;
    __shared__ f64 of_warp[VERTEX_THREADS / 32];
    for (int k = 0; k < TOTALS; k++) {
        const f64 sum = team_sum(sums.of[k], 32);
        if (lane_of() == 0) of_warp[warp_of()] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            f64 all = of_warp[0];
            for (u32 warp = 1; warp < VERTEX_THREADS / 32; warp++) all += of_warp[warp];
            partials[(first / BLOCK + blockIdx.x) * TOTALS + k] = all;
        }
        __syncthreads();
    }
}

// One atomic a block; called by whole blocks.
__device__ __forceinline__ void count_block(u64* counter, u32 mine) {
    __shared__ u32 all;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    const u32 of_warp = team_sum(mine, 32);
    if (lane_of() == 0) atomicAdd(&all, of_warp);
    __syncthreads();
    if (threadIdx.x == 0 && all != 0) atomicAdd(counter, u64(all));
}
#endif
