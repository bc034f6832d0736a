// Pull for SUM over pages that stay on the device, by tiles of sources: what shared memory holds of their values.
//
// In degree order lists ascend, so a long list passes from tile to tile, and is cut where it does:
//
//     list        | 3 17 ... 44902 | 45011 ... 89714 | 90233 ... | 451002 ... | 3276890 ... | 6553771 ... |
//     tile               0                  1              2           rest: range 0      1             2
//
// A block takes one tile at a time, copies its values, and sums pieces from shared memory; only the rest is gathered
// from L2, whose lookups are what bounds a pull. All blocks take one range of the rest after the other: the values of
// one fit in L2, those of all need not. Ranges count as tiles behind the others.
//
// Rows, cells and pieces are those of pieces.cuh, which cutting.cu makes once; these two run in every superstep:
//
//     pull_tiles -> add_pieces
#include "pieces.cuh"
#include "summing.cuh"

constexpr u32 TILE_THREADS = PULL_THREADS / 4 * 3;  // of a block; the others begin with the rest
constexpr u32 REST_AT_ONCE = 16;  // pieces that a warp takes of the rest, which take longer than those of a tile
// Claims that a tile must have left for another block to load its values: with fewer, those that have them are done first.
constexpr u64 WORTH_LOADING = 4 * TILE_THREADS / 32;
constexpr u32 GOLDEN = 0x9E3779B9;  // 2^32 divided by the golden ratio: multiples of it lie evenly, however many there are

// This lane's of 32 pieces, of which there are `count`.
__device__ __forceinline__ Piece own_piece(const Piece* pieces, u64 count) {
    if (lane_of() >= count) return {0, 0, 0};
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(pieces + lane_of()));
    return {u64(bits.y) << 32 | bits.x, bits.z, 0};
}

// The values of a tile: those of `count` vertices from `first` on, and a 0 behind them, which is read where there is no
// edge: reads need no condition then.
struct Tile {
    const Source* nearest;
    Word first;
    u32 count;
};

// Words of a piece that a lane reads at once, SIZE apart; `filler` where the piece has ended. left: words from the first.
template <u32 SIZE> struct Words {
    Word u[STEP];

    __device__ __forceinline__ Words(const Word* at, i32 left, Word filler) {
#pragma unroll
        for (u32 k = 0; k < STEP; k++) {
            u[k] = filler;
            if (i32(k * SIZE) < left) u[k] = read_once(at + k * SIZE);
        }
    }
};

// One piece out of 32: where this lane begins to read it, and how many words there are from there on; 0 or less: none.
struct Share {
    u64 at;
    i32 left;

    __device__ __forceinline__ Share(Piece mine, u32 which, u32 rank) {
        at = __shfl_sync(FULL, mine.at, which & 31) + rank;
        const i32 length = i32(__shfl_sync(FULL, mine.words, which & 31));
        left = which < 32 ? length - i32(rank) : 0;
    }
};

// What this lane has of a piece of a tile, SIZE lanes a piece; `now` has its first words.
template <u32 SIZE>
__device__ __forceinline__ Got sum_near(const Sources& sources, Tile tile, const Word* words, const Weight* weights,
                                        Share share, Words<SIZE> now, const Context& ctx) {
    const Word filler = tile.first + tile.count;
    const Word* at = words + share.at;
    Got sum = Got(0);
    Word farthest = 0;
    for (i32 left = share.left; left > 0; left -= STEP * SIZE, at += STEP * SIZE) {
        const Words<SIZE> next(at + STEP * SIZE, left - i32(STEP * SIZE), filler);
        Source from[STEP];
#pragma unroll
        for (u32 k = 0; k < STEP; k++) {
            const Word index = now.u[k] - tile.first;
            farthest = max2(farthest, i32(k * SIZE) < left ? index : Word(0));
            from[k] = tile.nearest[u32(min2(index, Word(tile.count)))];
        }
#pragma unroll
        for (u32 k = 0; k < STEP; k++) {
            if constexpr (PREMADE) sum += Got(from[k]);
            else if (i32(k * SIZE) < left)
                sum += sources.message(now.u[k], from[k], weight_of(weights + (at - words), k * SIZE), ctx);
        }
        now = next;
    }
    if (farthest < tile.count) return sum;
    sum = Got(0);  // a list that does not ascend
    for (i32 k = 0; k < share.left; k += SIZE) {
        const Word u = words[share.at + k];
        sum += sources.message(u, sources.at(u), weight_of(weights + share.at, k), ctx);
    }
    return sum;
}

// sums[p] of 32 pieces of a tile or less, each with its lane, by a warp; the words that this lane's teams summed up. The
// first words of the next pieces are on their way while these are summed.
template <u32 SIZE>
__device__ __forceinline__ u32 sum_tile(const Sources& sources, Tile tile, const Word* words, const Weight* weights,
                                        Piece mine, u32 count, Got* sums, const Context& ctx) {
    const u32 rank = lane_of() % SIZE;
    const Word filler = tile.first + tile.count;
    u32 edges = 0;
    Share share(mine, lane_of() / SIZE, rank);
    Words<SIZE> ahead(words + share.at, share.left, filler);
    for (u32 which = lane_of() / SIZE; which - lane_of() / SIZE < count; which += 32 / SIZE) {
        const Share now = share;
        const Words<SIZE> first = ahead;
        share = Share(mine, which + 32 / SIZE, rank);
        ahead = Words<SIZE>(words + share.at, share.left, filler);
        const Got sum = team_sum(sum_near<SIZE>(sources, tile, words, weights, now, first, ctx), SIZE);
        if (rank == 0 && which < count) {
            sums[which] = sum;
            edges += u32(now.left);
        }
    }
    return edges;
}

// The same of pieces of the rest.
__device__ __forceinline__ u32 sum_rest(const HotSources& sources, const Word* words, const Weight* weights, Piece mine,
                                        u32 count, u32 size, Got* sums, const Context& ctx) {
    const u32 rank = lane_of() & (size - 1);
    u32 edges = 0;
    for (u32 turn = 0; turn < count; turn += 32 / size) {
        const u32 which = turn + lane_of() / size;
        const u64 at = __shfl_sync(FULL, mine.at, which & 31);
        const u32 length = __shfl_sync(FULL, mine.words, which & 31);
        const Got sum = sum_of(sources, words + at, weights + at, {0, 0, which < count ? length : 0}, rank, size, ctx);
        if (rank == 0 && which < count) {
            sums[which] = sum;
            edges += length;
        }
    }
    return edges;
}

// What all blocks take pieces by: claims[tile], 0 at first, counts claims of `pieces` each; the last is of all the rest.
struct Work {
    const Word* words;
    const Weight* weights;
    const Piece* pieces;
    const u64* firsts;
    Tiling tiling;
    u64* claims;
    Got* sums;

    // each(pieces, this lane's of them, how many there are, where their sums go) for claims on a tile, until there are
    // none left. The next pieces, and the number of those after them, are on their way meanwhile.
    template <class Each> __device__ __forceinline__ void take(u64 tile, u32 at_once, Each each) const {
        const u64 begin = firsts[tiling.base[tile]], end = end_of(tile), count = claims_of(tile, at_once);
        const auto ask = [&] { return lane_of() == 0 ? atomicAdd(claims + tile, u64(1)) : 0; };
        const auto left = [&](u64 claim) {
            return claim < count ? u32(min2(end - (begin + at_once * claim), u64(at_once))) : 0;
        };
        u64 claim = __shfl_sync(FULL, ask(), 0), next = __shfl_sync(FULL, ask(), 0);
        Piece mine = own_piece(pieces + begin + at_once * claim, left(claim));
        while (claim < count) {
            const u64 asked = ask();
            const Piece coming = own_piece(pieces + begin + at_once * next, left(next));
            each(mine, left(claim), sums + begin + at_once * claim);
            claim = next;
            mine = coming;
            next = __shfl_sync(FULL, asked, 0);
        }
    }
    __device__ __forceinline__ u64 end_of(u64 tile) const {
        return firsts[tile < tiling.tiles ? tiling.base[tile + 1] : tiling.cells()];
    }
    __device__ __forceinline__ u64 claims_of(u64 tile, u32 at_once) const {
        return (end_of(tile) - firsts[tiling.base[tile]] + at_once - 1) / at_once;
    }
};

// The tile that a block takes next, by one whole warp: one of those that nobody has begun or that have enough left, each as
// often as it has claims left, so that blocks that come at one time part. turn: how many it has had. `tiles`: none is left.
__device__ __forceinline__ u64 next_tile(const Work& work, u32 turn) {
    u32 left = 0, upto = 0, all = 0;
    if (lane_of() < work.tiling.tiles) {
        const u64 claims = work.claims_of(lane_of(), 32), claimed = static_cast<volatile u64*>(work.claims)[lane_of()];
        if (claimed < claims && (claimed == 0 || claims - claimed >= WORTH_LOADING)) left = u32(claims - claimed);
    }
    for (u32 k = 0; k < 32; k++) {
        const u32 of_tile = __shfl_sync(FULL, left, k);
        upto += k <= lane_of() ? of_tile : 0;
        all += of_tile;
    }
    const u32 place = u32(u64((blockIdx.x + gridDim.x * turn) * GOLDEN) * all >> 32);
    const u32 behind = __ballot_sync(FULL, upto > place);
    return all == 0 ? work.tiling.tiles : __ffs(behind) - 1;
}

// Tiles, from `start` on, by TILE_THREADS of every block, until they are done, or will be by other blocks; the words that
// this lane's teams summed up.
__device__ __forceinline__ u32 sum_tiles(const Work& work, const Sources& sources, Source* nearest, u64 start,
                                         u64 vertices, const Context& ctx) {
    __shared__ u64 chosen;
    const u64 tiles = work.tiling.tiles, width = work.tiling.width;
    const u32 thread = threadIdx.x - (PULL_THREADS - TILE_THREADS);
    u32 looked = 0;
    for (u32 turn = 0;; turn++) {
        if (thread < 32) {
            const u64 tile = turn == 0 ? start : next_tile(work, turn);
            if (thread == 0) chosen = tile;
        }
        __barrier_sync_count(1, TILE_THREADS);
        const u64 tile = chosen, first = tile * width;
        if (tile >= tiles) return looked;
        const Tile own = {nearest, Word(first), u32(min2(width, vertices - first))};
        for (u32 k = thread; k <= own.count; k += TILE_THREADS)
            nearest[k] = k < own.count ? sources.source[first + k] : Source(0);
        __barrier_sync_count(1, TILE_THREADS);
        work.take(tile, 32, [&](Piece mine, u32 count, Got* to) {
            const u32 mean = team_sum(mine.words, 32) / count;
            if (mean < 64) looked += sum_tile<4>(sources, own, work.words, work.weights, mine, count, to, ctx);
            else if (mean < 128) looked += sum_tile<8>(sources, own, work.words, work.weights, mine, count, to, ctx);
            else if (mean < 256) looked += sum_tile<16>(sources, own, work.words, work.weights, mine, count, to, ctx);
            else looked += sum_tile<32>(sources, own, work.words, work.weights, mine, count, to, ctx);
        });
        __barrier_sync_count(1, TILE_THREADS);  // nobody reads this tile's values any more
    }
}

// sums[p] of all pieces. Some warps of every block take pieces of the rest, which L2 bounds, while the others take those
// of tiles, which the processors bound; then all take what is left of the rest. starts: the tile that each block begins
// with.
KERNEL __launch_bounds__(PULL_THREADS, ONE_BLOCK)
pull_tiles_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, const Piece* pieces,
                  const u64* firsts, const u64* base, u64 tiles, u64 width, u64 ranges, u64 range_width,
                  u64* claims, const u64* starts, u64 vertices, const Source* __restrict__ source,
                  const Degree* __restrict__ degree, const u64* __restrict__ active_bits, Got* sums, u64* edges, Context ctx) {
    const Tiling tiling = {base, tiles, width, ranges, range_width};
    DYNAMIC_SHARED(Source, nearest);
    const Work work = {words, weights, pieces, firsts, tiling, claims, sums};
    const HotSources sources = {{source, 0, degree, active_bits}, nearest, 0};
    u32 looked = 0;
    if (threadIdx.x >= PULL_THREADS - TILE_THREADS)
        looked = sum_tiles(work, sources, nearest, starts[blockIdx.x], vertices, ctx);
    work.take(tiling.tiles, REST_AT_ONCE, [&](Piece mine, u32 count, Got* to) {
        const u32 mean = team_sum(mine.words, 32) / count;
        looked += sum_rest(sources, words, weights, mine, count, mean < 64 ? 8 : mean < 256 ? 16 : 32, to, ctx);
    });
    count_up(edges, looked);
}

// Every row's sum where it goes, from its pieces. Four lanes a row, as one would wait for memory 33 times. How many lanes
// a piece has depends on those beside it: the last bits of sums of doubles are others than those of pull_kernel, or of
// other devices' shares of the pages. slices: as in pull_sum.cu. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
add_pieces_kernel(const Row* rows, const u64* firsts, const u64* base, u64 tiles, u64 width, u64 ranges,
                  u64 range_width, const Got* sums, Got* carry, Got* dst, const Slice* slices, u64 slice_count) {
    const Tiling tiling = {base, tiles, width, ranges, range_width};
    constexpr u32 LANES = 4;
    for (u64 turn = thread_of_grid() / 32; turn * (32 / LANES) < base[1]; turn += threads_of_grid() / 32) {
        const u64 r = turn * (32 / LANES) + lane_of() / LANES;
        Got all = Got(0);
        for (u64 tile = lane_of() % LANES; tile < tiling.tiles + tiling.ranges; tile += LANES) {
            if (r >= tiling.rows_of(tile)) continue;
            const u64 cell = base[tile] + r, end = firsts[cell + 1];
            for (u64 piece = firsts[cell]; piece < end; piece++) all += sums[piece];
        }
        all = team_sum(all, LANES);
        if (r >= base[1] || lane_of() % LANES != 0) continue;
        const Row row = rows[r];
        if (row.to & CARRIED) carry[row.to & ~CARRIED] = all;
        else if (row.words != 0) *place_of_sum(dst, slices, slice_count, row.to) = all;
    }
}
