// How many lists of each page are wanted: those of the vertices whose bit is set.
#ifndef GSTREAM_LISTS
#define GSTREAM_LISTS
#include "warps.cuh"

// lists[page] = set bits in [first_vertex, last_vertex] of the page. A warp a page, WORDS words a lane at once: a page
// of 1 MiB whose lists have an edge each spans some 64,000 vertices, 1,000 words. Any launch of whole warps.
__device__ __forceinline__ void count_lists(const u64* bits, const u64* first_vertex, const u64* last_vertex, u64 pages,
                                            u32* lists) {
    constexpr u32 WORDS = 8;
    for (u64 page = thread_of_grid() / 32; page < pages; page += threads_of_grid() / 32) {
        const u64 low = first_vertex[page], high = last_vertex[page], end = high >> 6;
        u32 count = 0;
        for (u64 base = (low >> 6) + lane_of(); base <= end; base += 32 * WORDS) {
            u64 word[WORDS];
#pragma unroll
            for (u32 k = 0; k < WORDS; k++) word[k] = base + 32 * k <= end ? bits[base + 32 * k] : 0;
#pragma unroll
            for (u32 k = 0; k < WORDS; k++) {
                const u64 index = base + 32 * k;
                if (index == low >> 6) word[k] &= ~u64(0) << (low & 63);
                if (index == end) word[k] &= ~u64(0) >> (63 - (high & 63));
                count += __popcll(word[k]);
            }
        }
        count = team_sum(count, 32);
        if (lane_of() == 0) lists[page] = count;
    }
}
#endif
