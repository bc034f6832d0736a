// How many lists of each page are wanted: those of the vertices whose bit is set.
#ifndef GSTREAM_LISTS
#define GSTREAM_LISTS
#include "warps.cuh"

// lists[page] = set bits in [first_vertex, last_vertex] of the page. A warp a page: a page of short lists spans some
// 10,000 vertices, 160 words, 5 steps. Any launch of whole warps.
__device__ __forceinline__ void count_lists(const u64* bits, const u64* first_vertex, const u64* last_vertex, u64 pages,
                                            u32* lists) {
    for (u64 page = thread_of_grid() / 32; page < pages; page += threads_of_grid() / 32) {
        const u64 low = first_vertex[page], high = last_vertex[page], end = high >> 6;
        u32 count = 0;
        for (u64 base = low >> 6; base <= end; base += 32) {
            const u64 index = base + lane_of();
            u64 word = index <= end ? bits[index] : 0;
            if (index == low >> 6) word &= ~u64(0) << (low & 63);
            if (index == end) word &= ~u64(0) >> (63 - (high & 63));
            count += __popcll(word);
        }
        count = team_sum(count, 32);
        if (lane_of() == 0) lists[page] = count;
    }
}
#endif
