// How lists of cached pages are cut by tiles of sources, once, for pulls that come again and again (tiles.cu):
//
//     list_rows -> cut_rows -> count_pieces -> (prefix.cu) -> make_pieces
//
// Bound by memory: a binary search in a list for each of its cells.
#include "pieces.cuh"

// rows[r] for all rows of `count` pages, of which pages[count] says how many there are. A record that lies, as a damaged
// page's may, is a row without words: nothing is written elsewhere. Any launch.
KERNEL __launch_bounds__(THREADS)
list_rows_kernel(const Word* __restrict__ words, u64 page_words, const Part* parts, const u32* place_of,
                 const RowsPage* pages, u64 count, u64 vertices, Row* rows) {
    for (u64 r = thread_of_grid(); r < pages[count].first; r += threads_of_grid()) {
        u64 low = 0, high = count - 1;
        while (low < high) {  // the last page that begins at r or before
            const u64 middle = (low + high + 1) / 2;
            if (pages[middle].first <= r) low = middle;
            else high = middle - 1;
        }
        const RowsPage own = pages[low];
        const Word* const page = words + own.row * page_words;
        u64 index = r - own.first, to;
        List list = {0, 0, 0};
        if (own.carried) {
            const Part part = parts[own.part + index];
            to = CARRIED | place_of[own.part + index];
            if ((part.group & (DENSE - 1)) == STRETCH) list = {0, part.first, part.end};
            else list = share_of(list_of(page, slot_of(page, page_words, part.first)), part.group >> 24, part.group >> 16 & 255);
        } else {
            list = list_of(page, slot_of(page, page_words, u32(index)));
            to = list.vertex;
        }
        const bool sound = list.first <= list.stop && list.stop <= page_words && (own.carried || to < vertices);
        rows[r] = {own.row * page_words + list.first, sound || own.carried ? to : 0, sound ? list.stop - list.first : 0};
    }
}

// How many words of a row come before its first neighbour from `source` on.
__device__ __forceinline__ u32 words_before(const Word* list, u32 words, u64 source) {
    u32 low = 0, high = words;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (list[middle] < source) low = middle + 1;
        else high = middle;
    }
    return low;
}

// cuts[cell] = words of its row that come before it. Any launch.
KERNEL __launch_bounds__(THREADS)
cut_rows_kernel(const Word* __restrict__ words, const Row* rows, const u64* base, u64 tiles,
                u64 width, u64 ranges, u64 range_width, u32* cuts) {
    const Tiling tiling = {base, tiles, width, ranges, range_width};
    for (u64 k = thread_of_grid(); k < tiling.cells(); k += threads_of_grid()) {
        const u64 tile = tiling.tile_of(k), r = k - tiling.base[tile];
        const Row row = rows[r];
        cuts[k] = words_before(words + row.at, u32(row.words), tiling.first_of(tile, r));
    }
}

// The words of a cell: it ends where the row's next one begins, or the row ends.
__device__ __forceinline__ Piece cell_of(const Row* rows, const Tiling& tiling, const u32* cuts, u64 cell) {
    const u64 tile = tiling.tile_of(cell), r = cell - tiling.base[tile], next = tiling.next_of(tile, r);
    const Row row = rows[r];
    return {row.at + cuts[cell], (next < tiling.cells() ? cuts[next] : u32(row.words)) - cuts[cell], 0};
}

// counts[cell] = its pieces; 0 behind the last. Any launch.
KERNEL __launch_bounds__(THREADS)
count_pieces_kernel(const Row* rows, const u64* base, u64 tiles, u64 width, u64 ranges, u64 range_width,
                    const u32* cuts, u64* counts) {
    const Tiling tiling = {base, tiles, width, ranges, range_width};
    const u64 cells = tiling.cells();
    for (u64 k = thread_of_grid(); k <= cells; k += threads_of_grid())
        counts[k] = k == cells ? 0 : (cell_of(rows, tiling, cuts, k).words + MOST_WORDS - 1) / MOST_WORDS;
}

// The pieces of all cells. Any launch.
KERNEL __launch_bounds__(THREADS)
make_pieces_kernel(const Row* rows, const u64* base, u64 tiles, u64 width, u64 ranges, u64 range_width,
                   const u32* cuts, const u64* firsts, Piece* pieces) {
    const Tiling tiling = {base, tiles, width, ranges, range_width};
    for (u64 k = thread_of_grid(); k < tiling.cells(); k += threads_of_grid()) {
        if (firsts[k] == firsts[k + 1]) continue;
        Piece left = cell_of(rows, tiling, cuts, k);
        for (u64 piece = firsts[k]; piece < firsts[k + 1]; piece++) {
            pieces[piece] = {left.at, min2(left.words, MOST_WORDS), 0};
            left.at += MOST_WORDS;
            left.words -= MOST_WORDS;
        }
    }
}
