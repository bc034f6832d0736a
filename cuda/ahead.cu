// Supersteps that are queued before it is known what they find: the GPU chooses what the host chooses else
// (gstream/direction.py). One superstep of a program in place is
//
//     decide -> reopen -> heads -> count -> select -> pull -> push -> advance
//
// of which those of the other direction, and all once nothing is active, return at once. The page kernels know nothing
// of it: `select` writes the entries of the pages that are wanted, with their parts numbered at the end of the
// launch's, and has the claims begin there. Example: 10 parts in all, pages 1 (4 parts) and 3 (2 parts) wanted: entries end at 4,
// 8, 8 and 10, and the first claim is for part 4. Nothing wanted: the first claim is for part 10, so there is none.
//
// Where a wanted page is not on the GPU the superstep is blocked: the host makes it, and may queue others after it.
#include "frontier.cuh"
#include "lists.cuh"
#include "pages.cuh"

constexpr u64 PUSH = 0, PULL = 1, NO_WAY = 2;
constexpr u64 PUSH_COST = 2;  // as gstream.direction has it

// What is known between kernels. pulls, reopens: whether they are due in this superstep; stale: open bits may hold
// vertices that are done; the others as in gstream.direction.Chooser.
struct Ahead {
    u64 way, pulls, reopens, stale, unexplored, pulled, last_vertices;
};

// One topology, for the direction that goes over it. rows: of each page, ~0: not here; part_of[p]: the first part of
// page p; claims: null where the program does not go this way.
struct Way {
    const u64 *first_vertex, *last_vertex, *part_of;
    const u32* rows;
    u32* lists;
    Entry* entries;
    Claims* claims;
    u64 pages;
};

// What the host reads of a superstep, in its memory: `way`; vertices and edges of its frontier; `unexplored` to `stale`
// as they were before; edges looked at and pages of the superstep before; blocked: 1 where it was not made.
struct Told {
    u64 way, vertices, edges, unexplored, pulled, last_vertices, stale, looked, pages, nanoseconds, blocked;
};

__device__ __forceinline__ u64 nanoseconds_now() {
    u64 now = 0;
#ifdef __CUDA_ARCH__
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
#endif
    return now;
}

// The direction of a superstep from `active` vertices whose edges are `leaving`; gstream.direction.Chooser.choose where
// nothing has to be moved. ways: bit PUSH, bit PULL; few: V / BETA.
__device__ __forceinline__ u64 choose(Ahead& ahead, u64 active, u64 leaving, u64 ways, u64 all_edges, u64 few,
                                      u64 alpha) {
    if (ways != 3) return ways >> 1;
    bool pull = leaving * PUSH_COST > all_edges;
    if (HAS_DONE && ahead.pulled) pull = active >= ahead.last_vertices || active > few;
    else if (HAS_DONE) pull = leaving > ahead.unexplored / alpha;
    ahead.unexplored -= min2(leaving, ahead.unexplored);
    ahead.pulled = pull;
    ahead.last_vertices = active;
    return pull ? PULL : PUSH;
}

// Begin a superstep. found: active vertices, their edges, edges looked at, which become 0; pages: of the last one;
// `only`: no superstep follows, it is only said what would be its frontier. One warp.
KERNEL __launch_bounds__(THREADS)
decide_kernel(Ahead* state, u64* found, u64* pages, u64 ways, u64 all_edges, u64 few, u64 alpha, u64 only, Told* told) {
    if (thread_of_grid() != 0) return;
    Ahead ahead = *state;
    if (ahead.way == NO_WAY) {
        told->way = NO_WAY;
        return;
    }
    const u64 active = found[0], leaving = found[1], looked = found[2];
    found[0] = found[1] = found[2] = 0;
    *told = {0, active, leaving, ahead.unexplored, ahead.pulled, ahead.last_vertices, ahead.stale, looked, *pages,
             nanoseconds_now(), 0};
    *pages = 0;
    ahead.way = active == 0 || only != 0 ? NO_WAY : choose(ahead, active, leaving, ways, all_edges, few, alpha);
    ahead.pulls = ahead.way == PULL;
    ahead.reopens = HAS_DONE && ahead.pulls && ahead.stale;
    told->way = ahead.way;
    *state = ahead;
}

// The wanted lists of each page: of active vertices for a push, of `open` ones for a pull. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
count_ahead_kernel(const Ahead* state, const Way* ways, const u64* active_bits, const u64* open_bits) {
    const u64 chosen = state->way;
    if (chosen == NO_WAY || (chosen == PULL && !HAS_DONE)) return;
    const Way& way = ways[chosen];
    count_lists(chosen == PULL ? open_bits : active_bits, way.first_vertex, way.last_vertex, way.pages, way.lists);
}

// Sum over the lanes up to this one.
__device__ __forceinline__ u64 sum_so_far(u64 x) {
    for (u32 offset = 1; offset < 32; offset *= 2) {
        const u64 before = __shfl_sync(FULL, x, (lane_of() - offset) & 31);
        if (lane_of() >= offset) x += before;
    }
    return x;
}

// Where the claims of the way begin, its entries, and the pages that are wanted; of the other way nothing is left to
// claim. told: of this superstep. One block.
KERNEL __launch_bounds__(THREADS)
select_pages_kernel(Ahead* state, const Way* ways, u64* wanted_pages, Told* told) {
    __shared__ u64 sums[3], of_warp[BLOCK_WARPS + 1];  // parts, pages, pages that are not here
    const u64 chosen = state->way;
    if (threadIdx.x == 0) {
        sums[0] = sums[1] = sums[2] = 0;
        for (u32 k = 0; k < 2; k++)
            if (ways[k].claims != nullptr && k != chosen) ways[k].claims->next = ways[k].part_of[ways[k].pages];
    }
    if (chosen == NO_WAY) return;
    const Way& way = ways[chosen];
    const auto wanted = [&](u64 page) { return (chosen == PULL && !HAS_DONE) || way.lists[page] != 0; };
    const auto parts_of = [&](u64 page) { return way.part_of[page + 1] - way.part_of[page]; };
    __syncthreads();
    u64 parts = 0, pages = 0, absent = 0;
    for (u64 page = threadIdx.x; page < way.pages; page += THREADS) {
        if (!wanted(page)) continue;
        parts += parts_of(page);
        pages++;
        absent += way.rows[page] == ~u32(0);
    }
    count_up(&sums[0], parts);
    count_up(&sums[1], pages);
    count_up(&sums[2], absent);
    __syncthreads();
    const u64 all = way.part_of[way.pages];
    u64 end = all - sums[0];  // of the entries so far
    if (threadIdx.x == 0) {
        way.claims->next = sums[2] != 0 ? all : end;
        if (sums[2] != 0) {
            told->blocked = 1;
            state->way = NO_WAY;  // of supersteps that are queued already
            state->pulls = state->reopens = 0;
        } else {
            *wanted_pages = sums[1];
            if (HAS_DONE) state->stale = chosen == PUSH || sums[1] != 0;
        }
    }
    if (sums[2] != 0) return;
    for (u64 base = 0; base < way.pages; base += THREADS) {
        const u64 page = base + threadIdx.x;
        const u64 mine = page < way.pages && wanted(page) ? parts_of(page) : 0, so_far = sum_so_far(mine);
        __syncthreads();  // of_warp has been read
        if (lane_of() == 31) of_warp[warp_of()] = so_far;
        __syncthreads();
        u64 before = end;
        for (u32 warp = 0; warp < BLOCK_WARPS; warp++) {
            if (warp < warp_of()) before += of_warp[warp];
            end += of_warp[warp];
        }
        if (page >= way.pages) continue;
        const u64 mine_ends = before + so_far;
        way.entries[page] = {u32(mine_ends), way.rows[page], way.part_of[page] - (mine_ends - mine)};
    }
}

// The next frontier: `bits` counted in found, `spent` cleared. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
advance_kernel(const Ahead* state, const u64* bits, u64* spent, u64 words, const Degree* degree, u64 weigh,
               u64* found) {
    if (state->way == NO_WAY) return;
    measure_frontier(bits, spent, words, degree, weigh != 0, found);
}
