// Values of mirrors, the vertices that ranks share: picked from an array for another rank, and put or added where they
// belong. No program is needed.
//
// Bits name vertices of a slice; `before` counts the set bits before each word. Both take 3/16 of a byte a vertex.
// A warp a word; lane i takes vertices i and i + 32 of its 64. Word 0b1010 with before = 7: lane 1 takes element
// 7 of the list, lane 3 element 8. Arrays are read and written once, coalesced where most bits are set; lists densely.
#include "warps.cuh"

// visit(vertex of the slice, place in the piece) for the elements [low, high) of a list. Any launch of whole warps.
template <class Visit>
__device__ __forceinline__ void each_told(const u64* bits, const u32* before, u64 words, u64 low, u64 high, Visit visit) {
    for (u64 w = thread_of_grid() >> 5; w < words; w += threads_of_grid() >> 5) {
        const u64 word = bits[w];
        for (u32 bit = lane_of(); bit < 64; bit += 32) {
            const u64 place = before[w] + u64(__popcll(word & ((u64(1) << bit) - 1)));
            if ((word >> bit & 1) && place >= low && place < high) visit(w * 64 + bit, place - low);
        }
    }
}

// to[place] = from[vertex]; `width` 4-byte words each. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
pick_kernel(const u32* from, const u64* bits, const u32* before, u64 words, u64 low, u64 high, u32* to, u64 width) {
    each_told(bits, before, words, low, high, [&](u64 vertex, u64 place) {
        for (u64 i = 0; i < width; i++) to[place * width + i] = from[vertex * width + i];
    });
}

// to[vertex] = from[place]; `width` 4-byte words each. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
put_kernel(u32* to, const u64* bits, const u32* before, u64 words, u64 low, u64 high, const u32* from, u64 width) {
    each_told(bits, before, words, low, high, [&](u64 vertex, u64 place) {
        for (u64 i = 0; i < width; i++) to[vertex * width + i] = from[place * width + i];
    });
}

// to[vertex] += from[place]. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
add_f32_kernel(f32* to, const u64* bits, const u32* before, u64 words, u64 low, u64 high, const f32* from) {
    each_told(bits, before, words, low, high, [&](u64 vertex, u64 place) { to[vertex] += from[place]; });
}

// The same.
KERNEL __launch_bounds__(THREADS)
add_f64_kernel(f64* to, const u64* bits, const u32* before, u64 words, u64 low, u64 high, const f64* from) {
    each_told(bits, before, words, low, high, [&](u64 vertex, u64 place) { to[vertex] += from[place]; });
}

// The same.
KERNEL __launch_bounds__(THREADS)
add_u32_kernel(u32* to, const u64* bits, const u32* before, u64 words, u64 low, u64 high, const u32* from) {
    each_told(bits, before, words, low, high, [&](u64 vertex, u64 place) { to[vertex] += from[place]; });
}

// The same.
KERNEL __launch_bounds__(THREADS)
add_u64_kernel(u64* to, const u64* bits, const u32* before, u64 words, u64 low, u64 high, const u64* from) {
    each_told(bits, before, words, low, high, [&](u64 vertex, u64 place) { to[vertex] += from[place]; });
}
