// Bitmaps of vertices: merge, and how many lists of each page they want; copies of a few words. No program is needed.
//
// A thread a word (64 vertices) but for count_pages, a warp a page. Bitmaps are small: 8 MB at 2^26 vertices, which stay
// in L2.
#include "lists.cuh"

// mine[k] = all peers' words k, joined; copies: their addresses, mine among them. Any launch.
KERNEL __launch_bounds__(THREADS) merge_bits_kernel(u64* mine, const u64* copies, u64 peers, u64 words) {
    for (u64 k = thread_of_grid(); k < words; k += threads_of_grid()) {
        u64 all = 0;
        for (u64 peer = 0; peer < peers; peer++) all |= reinterpret_cast<const u64*>(copies[peer])[k];
        mine[k] = all;
    }
}

// lists[page] = set bits of the page's vertices: count_lists. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
count_pages_kernel(const u64* bits, const u64* first_vertex, const u64* last_vertex, u64 pages, u32* lists) {
    count_lists(bits, first_vertex, last_vertex, pages, lists);
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
