// Supersteps that are queued before it is known what they find: the GPU chooses what the host chooses else
// (gstream/engine/direction.py). One superstep of a program in place is
//
//     heads (or reopen) -> select -> traverse -> advance
//
// of which those that a push has no use for, and all once nothing is active, return at once. `select` writes the
// entries of all pages, of which unwanted ones have no parts: the code for pages knows nothing of it. Example: pages 1
// (4 parts) and 3 (2 parts) of 4 wanted: entries end at 0, 4, 4 and 6. `advance` measures the frontier and chooses the
// next direction.
// What needs all blocks of a kernel is done by the last one that ends: a launch more takes longer.
//
// Where a wanted page is not on the GPU the superstep is blocked: the host makes it, and may queue others after it.
#include "frontier.cuh"
#include "lists.cuh"
#include "pulling.cuh"
#include "pushing.cuh"

constexpr u64 PUSH = 0, PULL = 1, NO_WAY = 2;
constexpr u64 PUSH_COST = 2;  // as gstream.engine.direction has it (a test compares them)
constexpr u32 MOST_CUT = 5;  // a list of 8,192 edges, which one warp takes 200 us for, becomes 32 pieces

// What is known between kernels. pulls, reopens: whether they are due in this superstep; stale: open bits may hold
// vertices that are done; unexplored to last_vertices as in gstream.engine.direction.Chooser; wanted: pages, which have
// `parts`; ended: blocks of the kernel that runs.
struct Ahead {
    u64 way, pulls, reopens, stale, unexplored, pulled, last_vertices, wanted, parts, ended;
};

// How directions are chosen. ways: bit PUSH, bit PULL; few: V / BETA.
struct Rules {
    u64 ways, all_edges, few, alpha;
};

// One topology, for the direction that goes over it. rows: of each page, ~0: not here; part_of[p]: the first part of
// page p.
struct Way {
    const u64 *first_vertex, *last_vertex, *part_of;
    const Part* parts;
    const u32* rows;
    u32* lists;
    Entry* entries;
    u64 pages;
};

// What a launch goes by, in the GPU's memory.
struct Course {
    Ahead state;
    Rules rules;
    Way ways[2];
    Claims claims;
};

// What the host reads of a superstep, in its memory: `way`; vertices and edges of its frontier; `unexplored` to `stale`
// as they were before; edges looked at and pages of the superstep before; nanoseconds: the GPU's clock as it began;
// blocked: 1 where it was not made.
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

// Whether this is the last block of the kernel to get here; it sees what the others wrote. By whole blocks.
__device__ __forceinline__ bool last_to_end(Ahead* state) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(&state->ended, u64(1)) == gridDim.x - 1;
        if (last) state->ended = 0;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}

// The direction of a superstep from `active` vertices whose edges are `leaving`: gstream.engine.direction.Chooser.choose where
// nothing has to be moved.
__device__ __forceinline__ u64 choose(Ahead& ahead, const Rules& rules, u64 active, u64 leaving) {
    if (rules.ways != 3) return rules.ways >> 1;
    bool pull = leaving * PUSH_COST > rules.all_edges;
    if (HAS_DONE && ahead.pulled) pull = active >= ahead.last_vertices || active > rules.few;
    else if (HAS_DONE) pull = leaving > ahead.unexplored / rules.alpha;
    ahead.unexplored -= min2(leaving, ahead.unexplored);
    ahead.pulled = pull;
    ahead.last_vertices = active;
    return pull ? PULL : PUSH;
}

// Begin a superstep. found: active vertices, their edges, edges looked at, which become 0; `only`: it is not made, only
// said what its frontier would be. One thread.
__device__ __forceinline__ void decide(Course* course, u64* found, bool only, Told* told) {
    Ahead ahead = course->state;
    const u64 active = found[0], leaving = found[1], looked = found[2];
    found[0] = found[1] = found[2] = 0;
    *told = {0, active, leaving, ahead.unexplored, ahead.pulled, ahead.last_vertices, ahead.stale, looked, ahead.wanted,
             nanoseconds_now(), 0};
    ahead.wanted = 0;
    ahead.way = active == 0 || only ? NO_WAY : choose(ahead, course->rules, active, leaving);
    ahead.pulls = ahead.way == PULL;
    ahead.reopens = HAS_DONE && ahead.pulls && ahead.stale;
    told->way = ahead.way;
    course->state = ahead;
}

// The first superstep of a course. One block.
KERNEL __launch_bounds__(THREADS) decide_kernel(Course* course, u64* found, Told* told) {
    if (thread_of_grid() == 0) decide(course, found, false, told);
}

constexpr u32 SELECT_THREADS = 1024;

// Sum over the lanes up to this one.
__device__ __forceinline__ u32 sum_so_far(u32 x) {
    for (u32 offset = 1; offset < 32; offset *= 2) {
        const u32 before = __shfl_sync(FULL, x, (lane_of() - offset) & 31);
        if (lane_of() >= offset) x += before;
    }
    return x;
}

// The entries of the way, and how many parts and pages of it are wanted. One block, a thread a page.
__device__ __forceinline__ void select_pages(Course* course, u64 chosen, Told* told) {
    constexpr u32 WARPS = SELECT_THREADS / 32;
    __shared__ u32 of_warp[2][WARPS];  // two, so that a turn waits for the others once
    __shared__ u64 wanted, absent;
    const Way way = course->ways[chosen];
    if (threadIdx.x == 0) wanted = absent = 0;
    u32 end = 0, side = 0, pages = 0, missing = 0;  // end: of the entries so far; there are fewer parts than 2^32
    for (u64 base = 0; base < way.pages; base += SELECT_THREADS, side ^= 1) {
        const u64 page = base + threadIdx.x;
        const bool is_page = page < way.pages;
        const bool take = is_page && ((chosen == PULL && !HAS_DONE) || way.lists[page] != 0);
        const u64 first = is_page ? way.part_of[page] : 0;
        const u32 mine = take ? u32(way.part_of[page + 1] - first) : 0, row = is_page ? way.rows[page] : 0;
        const u32 so_far = sum_so_far(mine);
        if (lane_of() == 31) of_warp[side][warp_of()] = so_far;
        __syncthreads();
        const u32 sums = sum_so_far(lane_of() < WARPS ? of_warp[side][lane_of()] : 0);
        const u32 before = __shfl_sync(FULL, sums, (warp_of() - 1) & 31);
        const u32 mine_ends = end + (warp_of() == 0 ? 0 : before) + so_far;
        end += __shfl_sync(FULL, sums, 31);
        if (is_page) way.entries[page] = {mine_ends, row, first - (mine_ends - mine)};
        pages += take;
        missing += take && row == ~u32(0);
    }
    __syncthreads();
    count_up(&wanted, pages);
    count_up(&absent, missing);
    __syncthreads();
    if (threadIdx.x != 0) return;
    Ahead& state = course->state;
    state.parts = end;
    state.wanted = absent != 0 ? 0 : wanted;
    if (absent != 0) {
        told->blocked = 1;
        state.way = NO_WAY;  // of supersteps that are queued already
        state.pulls = state.reopens = 0;
    } else if (HAS_DONE) {
        state.stale = chosen == PUSH || wanted != 0;
    }
}

// The pages that are wanted: of active vertices for a push, of `open` ones for a pull. told: of this superstep. Any
// number of blocks.
KERNEL __launch_bounds__(SELECT_THREADS, ONE_BLOCK)
select_pages_kernel(Course* course, const u64* active_bits, const u64* open_bits, Told* told) {
    const u64 chosen = course->state.way;
    if (chosen == NO_WAY) return;
    const Way& way = course->ways[chosen];
    if (chosen == PUSH || HAS_DONE)
        count_lists(chosen == PULL ? open_bits : active_bits, way.first_vertex, way.last_vertex, way.pages, way.lists);
    if (last_to_end(&course->state)) select_pages(course, chosen, told);
}

// Push from the active vertices of the pages that were selected, or pull into the open ones. vertices: all there are,
// whose values are in `value`.
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
traverse_kernel(Course* course, const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words,
                Value* value, u64 vertices, const Degree* __restrict__ degree, const u64* __restrict__ active_bits,
                const u64* __restrict__ open_bits, u64* next_bits, u64* edges, Context ctx) {
    const u64 chosen = course->state.way;
    if (chosen == NO_WAY) return;
    const Way way = course->ways[chosen];
    const u64 parts = course->state.parts;
    Pool pool = {words, weights, page_words, way.entries, way.pages, false, way.first_vertex};
    while (chosen == PUSH && pool.cut < MOST_CUT && parts << pool.cut <= threads_of_grid() / 32) pool.cut++;
    const Sources sources = {reinterpret_cast<const Source*>(value), 0, degree, active_bits};
    Got* const dst = reinterpret_cast<Got*>(value);
    u32 looked;
    if (chosen == PUSH) {
        const Pushing push = {sources, dst, 0, vertices, next_bits};
        looked = push_parts(pool, way.parts, 0, parts, &course->claims, push, ctx);
    } else {
        const Pulling pull = {sources, dst, 0, vertices, next_bits, open_bits};
        looked = pull_parts(pool, way.parts, 0, parts, &course->claims, pull, ctx);
    }
    count_up(edges, looked);
}

// The next frontier, whose bits are `bits`: measured in found; `spent` is cleared; then the next superstep begins, of
// which `told` is told. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
advance_kernel(Course* course, const u64* bits, u64* spent, u64 words, const Degree* degree, u64* found, u64 only,
               Told* told) {
    if (course->state.way == NO_WAY) return;
    measure_frontier(bits, spent, words, degree, course->rules.ways == 3, found);
    if (last_to_end(&course->state) && threadIdx.x == 0) decide(course, found, only != 0, told);
}
