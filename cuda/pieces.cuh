// Lists of cached pages cut by tiles of sources (tiles.cu): rows, cells and pieces.
//
// Rows are the lists that are cut, longest first: those of one page, or the parts of lists that several warps share
// (pages.cuh). Tile t has the first rows alone, those of which so many edges come from it that a piece is worth its
// while; range 0 has all rows, from where their tiles end. Cell base[t] + r is row r in tile t, and has pieces
// firsts[cell] to firsts[cell + 1], of MOST_WORDS words at most. Any way to cut lists is right: a source outside of the
// tile is read from where it is.
#ifndef GSTREAM_PIECES
#define GSTREAM_PIECES
#include "pages.cuh"

constexpr u32 MOST_WORDS = 512;  // of a piece: a warp has 32 of them at once
constexpr u64 CARRIED = u64(1) << 63;

// A page whose lists are rows: where it lies; the number of its first row; its first part; whether rows are its parts.
struct __align__(16) RowsPage {
    u32 row, first, part, carried;
};

// A list in `words` words from word `at` of the pool on. Its sum goes to vertex `to`, or to place `to` of those carried.
struct Row {
    u64 at, to, words;
};

struct __align__(16) Piece {
    u64 at;
    u32 words, unused;
};

// Which tiles there are: `tiles` of `width` sources, and `ranges` of the rest; base: their cells, and where these end.
struct Tiling {
    const u64* base;
    u64 tiles, width, ranges, range_width;

    __device__ __forceinline__ u64 rows_of(u64 tile) const { return base[tile + 1] - base[tile]; }
    __device__ __forceinline__ u64 tile_of(u64 cell) const {
        u64 tile = 0;
        while (cell >= base[tile + 1]) tile++;
        return tile;
    }
    __device__ __forceinline__ u64 cells() const { return base[tiles + ranges]; }
    // The first source of row r in a tile.
    __device__ __forceinline__ u64 first_of(u64 tile, u64 r) const {
        if (tile < tiles) return tile * width;
        u64 own = 0;
        while (own < tiles && r < rows_of(own)) own++;
        return max2(own * width, (tile - tiles) * range_width);
    }
    // The cell of row r behind that of `tile`; none: all of them.
    __device__ __forceinline__ u64 next_of(u64 tile, u64 r) const {
        const u64 next = tile + 1;
        if (next < tiles + ranges && r < rows_of(next)) return base[next] + r;
        return tile < tiles ? base[tiles] + r : cells();
    }
};
#endif
