// Bitmaps of vertices: merge, and how many lists of each page they want; copies of a few words. No program is needed.
//
// A thread a word (64 vertices) but for count_pages, a warp a page. Bitmaps are small: 8 MB at 2^26 vertices, which stay
// in L2.
#include "warps.cuh"

// mine[k] = all peers' words k, joined; copies: their addresses, mine among them. Any launch.
KERNEL __launch_bounds__(THREADS) merge_bits_kernel(u64* mine, const u64* copies, u64 peers, u64 words) {
    for (u64 k = thread_of_grid(); k < words; k += threads_of_grid()) {
        u64 all = 0;
        for (u64 peer = 0; peer < peers; peer++) all |= reinterpret_cast<const u64*>(copies[peer])[k];
        mine[k] = all;
    }
}

// lists[page] = set bits in [first_vertex, last_vertex] of the page. A warp a page: a page of short lists spans some
// 10,000 vertices, 160 words, 5 steps. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
count_pages_kernel(const u64* bits, const u64* first_vertex, const u64* last_vertex, u64 pages, u32* lists) {
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

// to[k] = from[k]; one side may be pinned host memory. For few words: the link's copy engines take such copies in their
// turn, behind whole batches of pages. Any launch.
KERNEL __launch_bounds__(THREADS) copy_words_kernel(const u64* from, u64* to, u64 words) {
    for (u64 k = thread_of_grid(); k < words; k += threads_of_grid()) to[k] = from[k];
}

// The same, and from[k] = 0 for the next one who counts there. Any launch.
KERNEL __launch_bounds__(THREADS) take_words_kernel(u64* from, u64* to, u64 words) {
    for (u64 k = thread_of_grid(); k < words; k += threads_of_grid()) {
        to[k] = from[k];
        from[k] = 0;
    }
}
