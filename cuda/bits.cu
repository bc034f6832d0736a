// Bitmaps of vertices: count, list, merge, and which pages they want. No program is needed.
//
// A thread a word (64 vertices) but for mark_pages, a warp a page. Bitmaps are small: 8 MB at 2^26 vertices, which stay
// in L2.
#include "warps.cuh"

constexpr u32 LIST_WORDS = 256;     // words whose set bits one block lists, one a thread
constexpr u32 SCAN_THREADS = 1024;

// *count += set bits of bits[0:words]. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS) count_bits_kernel(const u64* bits, u64 words, u64* count) {
    u64 mine = 0;
    for (u64 k = thread_of_grid(); k < words; k += threads_of_grid()) mine += __popcll(bits[k]);
    count_up(count, mine);
}

// bits[v] for v in vertices[0:count]. Any launch.
KERNEL __launch_bounds__(THREADS) set_bits_kernel(u64* bits, const u64* vertices, u64 count) {
    for (u64 k = thread_of_grid(); k < count; k += threads_of_grid()) mark(bits, vertices[k]);
}

// mine[k] = all peers' words k, joined; copies: their addresses, mine among them. Any launch.
KERNEL __launch_bounds__(THREADS) merge_bits_kernel(u64* mine, const u64* copies, u64 peers, u64 words) {
    for (u64 k = thread_of_grid(); k < words; k += threads_of_grid()) {
        u64 all = 0;
        for (u64 peer = 0; peer < peers; peer++) all |= reinterpret_cast<const u64*>(copies[peer])[k];
        mine[k] = all;
    }
}

// -- the set bits as a list, ascending: block_counts, scan, list_bits, in blocks of LIST_WORDS words ----------------

// counts[block] = set bits of its words. Launch: words / LIST_WORDS blocks, rounded up; counts has one more entry.
KERNEL __launch_bounds__(LIST_WORDS) block_counts_kernel(const u64* bits, u64 words, u64* counts) {
    __shared__ u32 of_warp[LIST_WORDS / 32];
    const u64 k = thread_of_grid();
    const u32 mine = team_sum(k < words ? u32(__popcll(bits[k])) : 0u, 32);
    if (lane_of() == 0) of_warp[warp_of()] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 all = 0;
        for (u32 warp = 0; warp < LIST_WORDS / 32; warp++) all += of_warp[warp];
        counts[blockIdx.x] = all;
    }
}

// Sum of x over the lanes before this one; the warp's whole sum is in `all`.
__device__ __forceinline__ u64 sum_before(u64 x, u64& all) {
    u64 upto = x;
    for (u32 offset = 1; offset < 32; offset <<= 1) {
        const u64 other = __shfl_up_sync(FULL, upto, offset);
        if (lane_of() >= offset) upto += other;
    }
    all = __shfl_sync(FULL, upto, 31);
    return upto - x;
}

// counts[0:n] become sums of all before, counts[n] the sum of all. Launch: 1 block of SCAN_THREADS.
KERNEL __launch_bounds__(SCAN_THREADS) scan_kernel(u64* counts, u64 n) {
    __shared__ u64 of_warp[SCAN_THREADS / 32];
    __shared__ u64 carried;
    if (threadIdx.x == 0) carried = 0;
    for (u64 base = 0; base < n; base += SCAN_THREADS) {
        const u64 k = base + threadIdx.x, x = k < n ? counts[k] : 0;
        u64 all;
        const u64 before = sum_before(x, all);
        if (lane_of() == 0) of_warp[warp_of()] = all;
        __syncthreads();
        u64 offset = carried;
        for (u32 warp = 0; warp < warp_of(); warp++) offset += of_warp[warp];
        __syncthreads();
        if (k < n) counts[k] = offset + before;
        if (threadIdx.x == SCAN_THREADS - 1) carried = offset + all;
        __syncthreads();
    }
    if (threadIdx.x == 0) counts[n] = carried;
}

// out[counts[block]:] = first + the places of its words' set bits. Launch as block_counts; counts as scan leaves them.
KERNEL __launch_bounds__(LIST_WORDS)
list_bits_kernel(const u64* bits, u64 words, u64 first, const u64* counts, u64* out) {
    __shared__ u64 of_warp[LIST_WORDS / 32];
    const u64 k = thread_of_grid();
    u64 word = k < words ? bits[k] : 0, all;
    const u64 before = sum_before(__popcll(word), all);
    if (lane_of() == 0) of_warp[warp_of()] = all;
    __syncthreads();
    u64 at = counts[blockIdx.x] + before;
    for (u32 warp = 0; warp < warp_of(); warp++) at += of_warp[warp];
    for (; word != 0; word &= word - 1) out[at++] = first + 64 * k + (__ffsll(i64(word)) - 1);
}

// wanted[page] = whether [first_vertex, last_vertex] of the page has a set bit; *count += how many have. A warp a page:
// a page of short lists spans some 10,000 vertices, 160 words, 5 steps. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
mark_pages_kernel(const u64* bits, const u64* first_vertex, const u64* last_vertex, u64 pages, u8* wanted, u64* count) {
    u64 found = 0;
    for (u64 page = thread_of_grid() / 32; page < pages; page += threads_of_grid() / 32) {
        const u64 low = first_vertex[page], high = last_vertex[page], end = high >> 6;
        bool any = false;
        for (u64 base = low >> 6; base <= end && !any; base += 32) {
            const u64 index = base + lane_of();
            u64 word = index <= end ? bits[index] : 0;
            if (index == low >> 6) word &= ~u64(0) << (low & 63);
            if (index == end) word &= ~u64(0) >> (63 - (high & 63));
            any = __any_sync(FULL, word != 0);
        }
        if (lane_of() == 0) {
            wanted[page] = any;
            found += any;
        }
    }
    count_up(count, found);
}
