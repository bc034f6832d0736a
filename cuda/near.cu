// Near first: of a large frontier the vertices near the least value send, the others are held back (gstream/engine/delta_stepping.py).
//
// Map: a warp 1,024 vertices: words without a bit cost nothing more, values of the others are read 32 at a time.
#include "combine.cuh"

// Of the frontier before it is cut.
struct Pending {
    u64 edges;  // that leave it
    Got least;  // value
};

// each(v, lane k's half a word holds v) for the halves of a bitmap; `mine` is this lane's half.
template <class Each> __device__ __forceinline__ void for_bits(u32 mine, u64 base, Each each) {
    for (u32 left = __ballot_sync(FULL, mine != 0); left; left &= left - 1) {
        const u32 k = __ffs(left) - 1, word = __shfl_sync(FULL, mine, k);
        each((base + k) * 32 + lane_of(), word >> lane_of() & 1, k);
    }
}

// What was held back joins the frontier, whose edges and least value go to `pending`; `other` is made ready for the
// next superstep. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
join_held_kernel(u64* active_bits, const u64* held_bits, u64 words, const Value* value, const Degree* degree,
                 Pending* pending, Pending* other) {
    u32* const active = reinterpret_cast<u32*>(active_bits);
    const u32* const held = reinterpret_cast<const u32*>(held_bits);
    u64 edges = 0;
    Got least = program::no_got();
    for (u64 base = thread_of_grid() - lane_of(); base < 2 * words; base += threads_of_grid()) {
        const u64 at = base + lane_of();
        const u32 mine = at < 2 * words ? active[at] | held[at] : 0;
        if (mine) active[at] = mine;
        for_bits(mine, base, [&](u64 v, bool set, u32) {
            if (!set) return;
            edges += degree[v];
            const Got here = Got(value[v]);
            if (better(here, least)) least = here;
        });
    }
    count_up(&pending->edges, edges);
    least = team_best(least, 32);
    if (lane_of() == 0) settle(&pending->least, least, pending->least);
    if (thread_of_grid() == 0) {
        other->edges = 0;
        other->least = program::no_got();
    }
}

// A frontier of least_edges and more keeps the values up to the least + step (bits of an f64); the others become
// held_bits, found[0] of them. A smaller one keeps all. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
hold_back_kernel(u64* active_bits, u64* held_bits, u64 words, const Value* value, const Pending* pending, u64 step,
                 u64 least_edges, u64* found) {
    u32* const active = reinterpret_cast<u32*>(active_bits);
    u32* const held = reinterpret_cast<u32*>(held_bits);
    const bool cut = pending->edges >= least_edges;
    const f64 limit = f64(pending->least) + __longlong_as_double(i64(step));
    u64 count = 0;
    for (u64 base = thread_of_grid() - lane_of(); base < 2 * words; base += threads_of_grid()) {
        const u64 at = base + lane_of();
        const u32 mine = cut && at < 2 * words ? active[at] : 0;
        u32 far = 0;
        for_bits(mine, base, [&](u64 v, bool set, u32 k) {
            const u32 votes = __ballot_sync(FULL, set && f64(value[v]) > limit);
            if (lane_of() == k) far = votes;
        });
        if (at < 2 * words) held[at] = far;
        if (far) active[at] = mine & ~far;
        count += __popc(far);
    }
    count_up(found, count);
}

// Who is held back in a small page sends after all, where whole[page] is set; where it is 2, not hubs with lists over
// `longest`, which lie in other pages. A warp a page; any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
readmit_kernel(u64* active_bits, u64* held_bits, const Degree* degree, u64 longest, const u64* first_vertex,
               const u64* last_vertex, u64 pages, const u32* whole) {
    for (u64 page = thread_of_grid() / 32; page < pages; page += threads_of_grid() / 32) {
        if (!whole[page]) continue;
        const u64 low = first_vertex[page], high = last_vertex[page], end = high >> 6;
        for (u64 index = (low >> 6) + lane_of(); index <= end; index += 32) {
            u64 inside = ~u64(0);
            if (index == low >> 6) inside &= ~u64(0) << (low & 63);
            if (index == end) inside &= ~u64(0) >> (63 - (high & 63));
            u64 word = held_bits[index] & inside;
            for (u64 left = whole[page] == 2 ? word : 0; left; left &= left - 1)
                if (degree[index * 64 + __ffsll(left) - 1] > longest) word &= ~(left & (~left + 1));
            if (!word) continue;
            atomicOr(active_bits + index, word);  // other pages begin or end in the same word
            atomicAnd(held_bits + index, ~word);
        }
    }
}
