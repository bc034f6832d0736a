// What the cost model asks of a GPU beside its link (gstream/devices/gpu/probe.py): how long a short list takes that lies
// in host memory, as in a page that is read in place, and an edge of a pull and of a push, without pages.
//
// Map: a team of 8 lanes a list. As in a page, a slot is read first, then the size where the slot says, then 8 words.
// Edges: a thread each, neighbouring ones beside each other.
#include "warps.cuh"

constexpr u32 TEAM = 8;

__device__ __forceinline__ u64 mixed(u64 x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

// *sum += what `lists` lists of random places in memory[0, words) hold, so that none of it is left out. Any launch.
KERNEL __launch_bounds__(THREADS) read_lists_kernel(const u64* memory, u64 words, u64 lists, u64* sum) {
    const u64 room = words - TEAM - 1;
    u64 mine = 0;
    for (u64 list = thread_of_grid() / TEAM; list < lists; list += threads_of_grid() / TEAM) {
        const u64 slot = read_once(memory + mixed(list) % room);
        const u64 first = mixed(list + lists + slot) % room, size = read_once(memory + first);
        mine += read_once(memory + first + 1 + threadIdx.x % TEAM) + size;
    }
    count_up(sum, mine);
}

// *sum += values[targets[e]] of all edges. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS) gather_edges_kernel(const u32* targets, u64 edges, const u32* values, u64* sum) {
    u64 mine = 0;
#pragma unroll 4
    for (u64 e = thread_of_grid(); e < edges; e += threads_of_grid()) mine += __ldg(values + read_once(targets + e));
    count_up(sum, mine);
}

// sums[targets[e]] += 1 for all edges. Any launch.
KERNEL __launch_bounds__(THREADS) scatter_edges_kernel(const u32* targets, u64 edges, f32* sums) {
#pragma unroll 4
    for (u64 e = thread_of_grid(); e < edges; e += threads_of_grid()) atomicAdd(sums + read_once(targets + e), 1.0f);
}
