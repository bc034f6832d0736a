// The approximate sort of the Edge-Vertex paper (section 4.1) on the GPU: every vertex's place by descending degree,
// in linear buckets, unordered within one.
//
//     extremes_kernel                        least and greatest degree; where they are equal the sort is off
//     count_buckets_kernel                   step 1: how many vertices each bucket has
//     sum_stretches_kernel, prefix_kernel    step 2: an exclusive prefix sum (prefix.cu)
//     scatter_kernel                         step 3: every vertex takes the next place of its bucket
//
// The paper keeps each vertex's bucket and its rank there from step 1 to step 3, 8 bytes a vertex written and read;
// here step 3 counts again, for a degree is 4 bytes and one division. Buckets are pagestore/convert/order.py's:
//
//     steps > 0:  steps + 1 linear ones, 0 the greatest degrees: steps - (degree - least) * steps / (most - least)
//     steps = 0:  one a degree: most - degree, and 0 for all degrees from `most` on
//     last one:   vertices without any edge
//
// Counters of the last LOCAL buckets, those of the least degrees, are private to a block, in shared memory: of a
// power-law graph nearly all vertices are there. Others are global, and few. Lanes of a warp with one bucket add once.
// Bound by memory: 4 bytes a vertex read three times (`others` doubles that), its place written once, and by atomics in
// shared memory, one for each distinct bucket of 32 neighbouring vertices.
#include "prefix.cu"
#include "program.cuh"
#include "warps.cuh"

constexpr u32 SORT_THREADS = 512;
constexpr u32 LOCAL = 4096;  // 16 KiB of 4-byte counters, 32 KiB of 8-byte ones: two blocks an SM are left room
constexpr u32 NO_BUCKET = ~0u;

struct Buckets {
    u64 least, most, steps, counters;  // counters: of all buckets, the last one's among them; below 2^32

    __device__ __forceinline__ u32 of(u64 degree, bool alone) const {
        if (alone) return u32(counters - 1);
        if (steps != 0) return u32(steps - (degree - least) * steps / (most - least));
        return degree >= most ? 0 : u32(most - degree);
    }
    __device__ __forceinline__ u32 first_local() const { return counters > LOCAL ? u32(counters - LOCAL) : 0; }
};

// Whether a vertex has no edge: others, degrees of the other direction, are null for an undirected graph.
__device__ __forceinline__ bool is_alone(u64 degree, const Degree* others, u64 v) {
    return degree == 0 && (others == nullptr || others[v] == 0);
}

// each(v, bucket) for the stretch of vertices that is this block's, by whole warps; NO_BUCKET: there is no vertex v.
// Stretches, and not every n-th vertex: what stands together before stands together in a bucket.
// Example: 10,000 vertices, 4 blocks: 2,560 each (a multiple of the threads); thread t takes t, t + 512, ... of them.
template <class Each>
__device__ __forceinline__ void for_stretch(const Degree* degrees, const Degree* others, u64 vertices, Buckets buckets,
                                            Each each) {
    const u64 share = (vertices + gridDim.x - 1) / gridDim.x;
    const u64 length = (share + SORT_THREADS - 1) / SORT_THREADS * SORT_THREADS;
    const u64 begin = blockIdx.x * length, end = min2(begin + length, vertices);
    for (u64 v = begin + threadIdx.x; v - lane_of() < end; v += SORT_THREADS) {
        u32 bucket = NO_BUCKET;
        if (v < end) {
            const u64 degree = degrees[v];
            bucket = buckets.of(degree, is_alone(degree, others, v));
        }
        each(v, bucket);
    }
}

// Adds one to the counter of the lane's bucket, and returns what it was before: block-wide in local[bucket - first],
// else in all[bucket], which may be null where it is not to be counted. One atomic for all lanes of a bucket.
__device__ __forceinline__ u64 take(Word* local, u64* all, u32 first, u32 bucket) {
    const u32 same = __match_any_sync(FULL, bucket);
    const u32 leader = __ffs(same) - 1;
    u64 before = 0;
    if (lane_of() == leader && bucket != NO_BUCKET) {
        if (bucket >= first) before = atomicAdd(local + (bucket - first), Word(__popc(same)));
        else if (all != nullptr) before = atomicAdd(all + bucket, u64(__popc(same)));
    }
    return __shfl_sync(FULL, before, leader) + __popc(same & lanes_below());
}

__device__ __forceinline__ void clear_local(Word* local) {
    for (u32 k = threadIdx.x; k < LOCAL; k += SORT_THREADS) local[k] = 0;
    __syncthreads();
}

// span[0] = the least degree, span[1] = the complement of the greatest; both have all bits set before. Any launch of
// whole warps.
KERNEL __launch_bounds__(THREADS) extremes_kernel(const Degree* degrees, u64 vertices, u64* span) {
    u64 least = ~u64(0), most = ~u64(0);
    for (u64 v = thread_of_grid(); v < vertices; v += threads_of_grid()) {
        const u64 degree = degrees[v];
        least = min2(least, degree);
        most = min2(most, ~degree);
    }
    for (u32 other = 16; other > 0; other >>= 1) {
        least = min2(least, __shfl_xor_sync(FULL, least, other));
        most = min2(most, __shfl_xor_sync(FULL, most, other));
    }
    if (lane_of() == 0) {
        atomicMin(span, least);
        atomicMin(span + 1, most);
    }
}

// counts[bucket] += its vertices. Any launch of whole blocks; few, with long stretches, clear and add up less.
KERNEL __launch_bounds__(SORT_THREADS)
count_buckets_kernel(const Degree* degrees, const Degree* others, u64 vertices, u64 least, u64 most, u64 steps,
                     u64 counters, u64* counts) {
    __shared__ Word local[LOCAL];
    const Buckets buckets = {least, most, steps, counters};
    const u32 first = buckets.first_local();
    clear_local(local);
    for_stretch(degrees, others, vertices, buckets, [&](u64, u32 bucket) { take(local, counts, first, bucket); });
    __syncthreads();
    for (u32 k = threadIdx.x; k < LOCAL; k += SORT_THREADS)
        if (local[k] != 0) atomicAdd(counts + first + k, u64(local[k]));
}

// place[v] = the next of nexts[bucket of v]; nexts: where buckets begin, and afterwards where they end. Each block
// counts its own vertices, takes as many places of each local bucket with one atomic, and hands them out. Any launch of
// whole blocks.
KERNEL __launch_bounds__(SORT_THREADS)
scatter_kernel(const Degree* degrees, const Degree* others, u64 vertices, u64 least, u64 most, u64 steps, u64 counters,
               u64* nexts, Word* place) {
    __shared__ Word local[LOCAL];
    const Buckets buckets = {least, most, steps, counters};
    const u32 first = buckets.first_local();
    clear_local(local);
    for_stretch(degrees, others, vertices, buckets, [&](u64, u32 bucket) { take(local, nullptr, first, bucket); });
    __syncthreads();
    for (u32 k = threadIdx.x; k < LOCAL; k += SORT_THREADS)
        if (local[k] != 0) local[k] = Word(atomicAdd(nexts + first + k, u64(local[k])));
    __syncthreads();
    for_stretch(degrees, others, vertices, buckets, [&](u64 v, u32 bucket) {
        const u64 at = take(local, nexts, first, bucket);
        if (bucket != NO_BUCKET) place[v] = Word(at);
    });
}
