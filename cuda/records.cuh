// Record kernels (gstream/records): what their printed texts call, and how warps take the records of a launch.
//
// Map: a warp a part, a team of `group` lanes a record (pages.cuh); lane i of a team of 8 has the stretch of neighbours
// i, i + 8, ... of the list, and runs the kernel's text on it as if it were alone. So every list counts as shared.
// Example: lists of 5 and 40, teams of 8: stretches of 1 in five lanes, of 5 in eight. Reads 4 or 8 bytes an edge,
// coalesced, and what the text reads at random, which is the bound.
#ifndef GSTREAM_RECORDS
#define GSTREAM_RECORDS
#include "pages.cuh"

constexpr u32 HEADER_BYTES = 32;  // of a page

// `count` elements of all vertices, or of whatever. What the kernel itself writes is read past L1, where the atomics of
// other processors would not be seen.
template <class T, bool WRITTEN> struct Array {
    typedef T type;
    T* data;
    u64 count;
    __device__ __forceinline__ T operator[](u64 at) const {
        if constexpr (WRITTEN) return *const_cast<const volatile T*>(data + at);
        else return __ldg(data + at);
    }
    __device__ __forceinline__ void put(u64 at, T x) const { *const_cast<volatile T*>(data + at) = x; }
};

// -- what gstream.hostcode.intrinsics has for the host ----------------------------------------------------------------

template <class T, bool W> __device__ __forceinline__ T atomic_add(Array<T, W> array, u64 at, T x) {
    if constexpr (T(0.5) != T(0)) return atomicAdd(array.data + at, x);
    else if constexpr (sizeof(T) == 4) return T(atomicAdd(reinterpret_cast<u32*>(array.data + at), u32(x)));
    else return T(atomicAdd(reinterpret_cast<u64*>(array.data + at), u64(x)));
}
template <class T, bool W, class X> __device__ __forceinline__ T atomic_add(Array<T, W> array, u64 at, X x) {
    return atomic_add(array, at, T(x));
}
template <class T, bool W, class X> __device__ __forceinline__ T atomic_min(Array<T, W> array, u64 at, X x) {
    return atomicMin(array.data + at, T(x));
}
template <bool W> __device__ __forceinline__ u64 atomic_or(Array<u64, W> array, u64 at, u64 x) {
    return atomicOr(array.data + at, x);
}

__device__ __forceinline__ f32 f32_of_bits(u64 bits) { return float_of(u32(bits)); }
__device__ __forceinline__ u64 bits_of(u8 x) { return x; }
__device__ __forceinline__ u64 bits_of(u32 x) { return x; }
__device__ __forceinline__ u64 bits_of(i32 x) { return u32(x); }
__device__ __forceinline__ u64 bits_of(u64 x) { return x; }
__device__ __forceinline__ u64 bits_of(i64 x) { return u64(x); }

// Whether the new value was written, and what stood there before.
template <class T> struct Swapped {
    bool first;
    T second;
};
// A byte, by the word that it is in: arrays of bytes end with a word.
__device__ __forceinline__ Swapped<u8> swap_byte(u8* where, u8 expected, u8 fresh) {
    const u64 address = reinterpret_cast<u64>(where);
    u32* const word = reinterpret_cast<u32*>(address & ~u64(3));
    const u32 shift = u32(address & 3) * 8;
    u32 seen = *const_cast<volatile u32*>(word);
    while (true) {
        const u8 old = u8(seen >> shift);
        if (old != expected) return {false, old};
        const u32 before = atomicCAS(word, seen, (seen & ~(255u << shift)) | u32(fresh) << shift);
        if (before == seen) return {true, old};
        seen = before;
    }
}
template <class T, bool W, class X, class Y>
__device__ __forceinline__ Swapped<T> compare_and_swap(Array<T, W> array, u64 at, X given, Y fresh) {
    const T expected = T(given);
    if constexpr (sizeof(T) == 1) {
        return swap_byte(array.data + at, expected, u8(fresh));
    } else if constexpr (T(0.5) != T(0)) {
        typedef decltype(bits_of(expected)) Bits;
        const Bits seen = atomicCAS(reinterpret_cast<Bits*>(array.data + at), bits_of(expected), bits_of(T(fresh)));
        return {seen == bits_of(expected), float_of(seen)};
    } else if constexpr (sizeof(T) == 4) {
        const u32 seen = atomicCAS(reinterpret_cast<u32*>(array.data + at), u32(expected), u32(T(fresh)));
        return {T(seen) == expected, T(seen)};
    } else {
        const u64 seen = atomicCAS(reinterpret_cast<u64*>(array.data + at), u64(expected), u64(T(fresh)));
        return {T(seen) == expected, T(seen)};
    }
}
__device__ __forceinline__ u64 trailing_zeros(u64 x) { return u64(__ffsll(x) - 1); }
__device__ __forceinline__ u64 population(u64 x) { return u64(__popcll(x)); }

// -- Numba's arithmetic: integers are 64 bits wide, signed where one of them is a signed variable ---------------------

__device__ __forceinline__ u64 wide(u8 x) { return x; }
__device__ __forceinline__ u64 wide(u32 x) { return x; }
__device__ __forceinline__ u64 wide(u64 x) { return x; }
__device__ __forceinline__ i64 wide(bool x) { return x; }
__device__ __forceinline__ i64 wide(i32 x) { return x; }
__device__ __forceinline__ i64 wide(i64 x) { return x; }
__device__ __forceinline__ f32 wide(f32 x) { return x; }
__device__ __forceinline__ f64 wide(f64 x) { return x; }
// Python's /: of whole numbers it is a fraction, and so is that of a float by a whole number.
template <class A, class B> __device__ __forceinline__ auto divided(A a, B b) {
    if constexpr ((A(0.5) == A(0)) || (B(0.5) == B(0))) return f64(a) / f64(b);
    else return a / b;
}

// -- a lane's stretch of a list -----------------------------------------------------------------------------------------

// Neighbours in words first, first + step, ..., `count` of them. gap: words from one neighbour of the list to the next;
// what is past word `start` has one before it in the page. stop: the end of the part.
struct Stretch {
    const Word* words;
    const Weight* weights;
    u64 page_words, vertex, number;
    u32 first, count, step, gap, start, stop;
    bool large, shared;

    __device__ __forceinline__ u64 neighbour(u32 k) const { return read_once(words + first + k * step); }
    __device__ __forceinline__ Weight weight(u32 k) const { return weight_of(weights, first + k * step); }

    // The place of a large page among all large ones, whose hubs are given (gstream/hostcode/page_words.py).
    template <class Hubs> __device__ u64 large_page(Hubs hubs, u64& before) const {
        const bool wide_ids = sizeof(Word) == 8;
        const u64 place = wide_ids ? u64(words[3]) : u64(words[6]) | u64(words[7]) << 32;
        before = place / (page_words - HEADER_BYTES / sizeof(Word) - 3);
        u64 low = 0, high = hubs.count;
        while (low < high) {
            const u64 middle = (low + high) >> 1;
            if (hubs[middle] < vertex) low = middle + 1;
            else high = middle;
        }
        return low + before;
    }
    // Whether u, neighbour k of the stretch, stands in the list before it, too: lists ascend, so then right before it.
    template <class Hubs, class Ends> __device__ bool repeated(u32 k, u64 u, Hubs hubs, Ends ends) const {
        const u32 word = first + k * step;
        if (word > start) return words[word - gap] == u;
        if (!large || ends.count == 0) return false;
        u64 before;
        const u64 page = large_page(hubs, before);
        return before != 0 && ends[page - 1] == u;
    }
    template <class Hubs, class Ends> __device__ void note_end(Hubs hubs, Ends ends) const {
        u64 before;
        if (large && stop == start + u32(words[start - 1])) ends.put(large_page(hubs, before), words[stop - 1]);
    }
    template <class First> __device__ u64 page(First, i64) const { return number; }
};

// each(stretch) for what this warp's lanes have of the launch's parts; of the records whose vertex is wanted(stretch),
// of which only the vertex is known then. `edges` goes up by what `each` returns.
template <class Wanted, class Each>
__device__ __forceinline__ void for_records(const Pool& pool, const Part* parts, u64 part_first, u64 part_count,
                                            Claims* claims, u64* edges, Wanted wanted, Each each) {
    Stretch at = {};
    at.page_words = pool.page_words;
    at.shared = true;
    const auto open = [&](u64 v) {
        Stretch probe = {};
        probe.vertex = v;
        probe.shared = true;
        return wanted(probe);
    };
    const auto take = [&](const Word* words, const Weight* weights, u64 number, List list, u32 rank, u32 step, u32 gap,
                          u32 start, bool large) -> u32 {
        if (list.first + rank >= list.stop) return 0;
        at.words = words;
        at.weights = weights;
        at.vertex = list.vertex;
        at.number = number;
        at.first = list.first + rank;
        at.count = (list.stop - list.first - rank + step - 1) / step;
        at.step = step;
        at.gap = gap;
        at.start = start;
        at.stop = list.stop;
        at.large = large;
        return u32(each(at));
    };
    const auto wide_list = [&](List list, const Word* words, const Weight* weights, u64 index) {
        const Part part = parts[index];
        const bool large = (part.group & (DENSE - 1)) == STRETCH;
        const u32 start = large ? u32(words[pool.page_words - 1]) + 1 : part.group >> 24 == 0 ? list.first : 0;
        return take(words, weights, part.page, list, lane_of(), 32, 1, start, large);
    };
    const auto small = [&](Part part, const Page& page, const Weight* weights) {
        return for_lists<BLOCK_WARPS>(page, part, open, [&](List list, u32 rank, u32 size) {
            return take(page.words, weights, part.page, list, rank, size, 1, list.first, false);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight* weights) {
        return for_columns(page, part, open, [&](List list, u32 stride) {
            return take(page.words, weights, part.page, list, 0, stride, stride, list.first, false);
        });
    };
    count_up(edges, for_parts<BLOCK_WARPS>(pool, parts, part_first, part_count, claims, open, wide_list, small, columns));
}

// -- items ------------------------------------------------------------------------------------------------------------

// What one lane does of an item that a warp has: lane 2 of 32 takes [20, 30) of [0, 320).
struct Item {
    u64 number;
    u32 rank;
    struct Bounds {
        u64 first, second;
    };
    __device__ __forceinline__ Bounds part(u64 low, u64 high) const {
        const u64 size = (high - low + 31) / 32, begin = min2(low + rank * size, high);
        return {begin, min2(begin + size, high)};
    }
    __device__ __forceinline__ Bounds share(u64 size, u64 count) const {
        return part(number * size, min2((number + 1) * size, count));
    }
};

// each(item) for items first, first + step, ... below count, a warp an item. `edges` goes up by what `each` returns.
template <class Each>
__device__ __forceinline__ void for_items(u64 first, u64 step, u64 count, u64* edges, Each each) {
    u64 sum = 0;
    const u64 warps = threads_of_grid() / 32;
    for (u64 number = first + thread_of_grid() / 32 * step; number < count; number += warps * step) {
        const Item item = {number, lane_of()};
        sum += each(item);
    }
    __syncwarp();
    count_up(edges, sum);
}
#endif
