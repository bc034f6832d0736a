// Threads, warps and what they share: the sizes that all launches use, sums over a warp, reads through the right cache.
#ifndef GSTREAM_WARPS
#define GSTREAM_WARPS
#include "scalars.cuh"

constexpr u32 THREADS = 256;  // a block of the edge kernels, and of others that need no size of their own
constexpr u32 BLOCK_WARPS = THREADS / 32;
// Lets the edge kernels have 64 registers a thread (they take 40 to 64). More warps, with fewer registers each, are
// slower: they push each other's values out of L1, and L2 is what bounds a pull.
constexpr u32 BLOCKS_AN_SM = 4;
constexpr u32 ONE_BLOCK = 1;  // an SM, where a block has 1,024 threads

// Shared memory that a launch sizes: `name` points to it.
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name)                             \
    extern __shared__ __align__(16) unsigned char name##_bytes[]; \
    type* const name = reinterpret_cast<type*>(name##_bytes)
#endif
constexpr u32 FULL = 0xFFFFFFFFu;

__device__ __forceinline__ u32 lane_of() { return threadIdx.x & 31; }
__device__ __forceinline__ u32 warp_of() { return threadIdx.x >> 5; }
__device__ __forceinline__ u64 thread_of_grid() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 threads_of_grid() { return u64(gridDim.x) * blockDim.x; }
__device__ __forceinline__ u32 lanes_below() { return (1u << lane_of()) - 1; }

// x, of which the compiler knows nothing more: it keeps it, and computes nothing anew from what x was made of.
__device__ __forceinline__ u32 opaque(u32 x) {
#ifdef __CUDA_ARCH__
    asm("mov.u32 %0, %0;" : "+r"(x));
#endif
    return x;
}
template <class T> __device__ __forceinline__ T* opaque(T* x) {
#ifdef __CUDA_ARCH__
    asm("mov.u64 %0, %0;" : "+l"(x));
#endif
    return x;
}

// A page is read once a launch: evict-first, so that it does not push values out of L2.
template <class T> __device__ __forceinline__ T read_once(const T* p) { return __ldcs(p); }

// Through the read-only cache, but for what the same kernel writes.
template <bool WRITTEN, class T> __device__ __forceinline__ T read(const T* p) {
    if constexpr (WRITTEN) return *p;
    else return __ldg(p);
}

// Sum over teams of `size` neighbouring lanes, in an order that depends on nothing else; every lane has it.
template <class T> __device__ __forceinline__ T team_sum(T x, u32 size) {
    for (u32 offset = size >> 1; offset > 0; offset >>= 1) x += __shfl_xor_sync(FULL, x, offset);
    return x;
}

// One atomic a warp; called by whole warps.
__device__ __forceinline__ void count_up(u64* counter, u64 mine) {
    const u64 all = team_sum(mine, 32);
    if (lane_of() == 0 && all != 0) atomicAdd(counter, all);
}

// -- bitmaps: bit v & 63 of u64 word v >> 6, read and written as halves, for a warp's ballot is one -------------------

__device__ __forceinline__ bool is_set(const u64* bits, u64 v) {
    return __ldg(reinterpret_cast<const u32*>(bits) + (v >> 5)) >> (v & 31) & 1;
}

// Most bits are set already when many edges lead to one vertex: looking first saves the atomic.
__device__ __forceinline__ void mark(u64* bits, u64 v) {
    u32* half = reinterpret_cast<u32*>(bits) + (v >> 5);
    const u32 bit = 1u << (v & 31);
    if (!(*half & bit)) atomicOr(half, bit);
}
#endif
