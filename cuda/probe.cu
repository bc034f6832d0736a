// How long a short list takes that lies in host memory: what a page that is read in place costs (gstream/demand.py).
//
// Map: a team of 8 lanes a list. As in a page, a slot is read first, then the size where the slot says, then 8 words.
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
