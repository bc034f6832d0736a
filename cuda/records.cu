// The records of chosen vertices in pages on the device: work for push_records and pull_records.
//
// Map: a thread a vertex. Pages are found by bisection in their first and last vertices, slots by interpolation, then
// bisection (in degree order the first guess is right). Bound by latency: some 20 dependent reads a vertex, of the
// directory (cached) and of the page's slots.
#include "pages.cuh"

// The first page of [low, high) whose last vertex is v or more.
__device__ __forceinline__ u64 page_with(const u64* last_vertex, u64 low, u64 high, u64 v) {
    while (low < high) {
        const u64 middle = (low + high) >> 1;
        if (__ldg(last_vertex + middle) < v) low = middle + 1;
        else high = middle;
    }
    return low;
}

__device__ __forceinline__ u32 records_in(const Word* page) {
    return sizeof(Word) == 4 ? u32(page[1]) : u32(u64(page[0]) >> 32);
}
// Where a large page's stretch begins in its list, in edges.
__device__ __forceinline__ u64 position_of(const Word* page) {
    return sizeof(Word) == 4 ? u64(page[6]) | u64(page[7]) << 32 : u64(page[3]);
}

// The slot of v in a small page, or `records` where it has none. Slots ascend: slot i holds at least first + i, and at
// most last - (records - 1 - i), which bounds the guess.
__device__ __forceinline__ u32 slot_with(const Word* page, u64 page_words, u32 records, u64 first, u64 last, u64 v) {
    u64 high = min2(v - first, u64(records - 1)), low = last - v < records ? records - 1 - (last - v) : 0;
    while (low < high) {
        const u64 middle = (low + high) >> 1;
        if (slot_of(page, page_words, u32(middle)).vertex < v) low = middle + 1;
        else high = middle;
    }
    return slot_of(page, page_words, u32(low)).vertex == v ? u32(low) : records;
}

// The lists of vertices[0:count], cut into stretches of `stretch` words, the first `skip` neighbours of each left out:
// out[0:*found], in any order; what is past `capacity` is counted only (launch again with more room). Page k of `pages`
// lies in row rows[k] of `words`; pages below `small` are small, the others large ones, each kind ascending. Vertices
// without a record in these pages are left out. Any launch.
KERNEL __launch_bounds__(THREADS)
find_records_kernel(const Word* words, u64 page_words, const u32* rows, const u64* first_vertex,
                    const u64* last_vertex, u64 small, u64 pages, const u64* vertices, u64 count, u64 skip, u64 stretch,
                    Record* out, u64 capacity, u64* found) {
    for (u64 k = thread_of_grid(); k < count; k += threads_of_grid()) {
        const u64 v = vertices[k];
        u64 index = page_with(last_vertex, 0, small, v);
        u32 slot = 0, records = 0;
        if (index < small && first_vertex[index] <= v) {
            const Word* page = words + rows[index] * page_words;
            records = records_in(page);
            slot = slot_with(page, page_words, records, first_vertex[index], last_vertex[index], v);
        }
        if (slot == records) {  // not in a small page
            index = page_with(last_vertex, small, pages, v);
            slot = 0;
        }
        for (; index < pages && first_vertex[index] <= v; index++) {
            const Word* page = words + rows[index] * page_words;
            const u32 record = slot_of(page, page_words, slot).record;
            const u64 end = record + 1 + u64(page[record]);
            u64 begin = record + 1;
            if (index < small || position_of(page) == 0) begin = min2(begin + skip, end);  // heads are at place 0
            const u64 pieces = (end - begin + stretch - 1) / stretch;
            const u64 at = pieces ? atomicAdd(found, pieces) : 0;
            for (u64 piece = 0; piece < pieces; piece++) {
                const u64 from = begin + piece * stretch;
                if (at + piece < capacity) out[at + piece] = {rows[index], from, min2(from + stretch, end), v};
            }
            if (index < small) break;
        }
    }
}
