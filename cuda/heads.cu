// The bottom-up step over heads: most open vertices settle by their first four neighbours, without any page.
//
// Map: a thread a vertex, a warp half a word of each bitmap, so nothing is atomic. Vertices [64, 96) of which 70 and 80
// are open: lanes 6 and 16 read their rows of `heads`, the others nothing. Reads 16 or 32 bytes for each open vertex,
// in order, and up to four bits of the frontier, which stays in L2 (128 KiB a million vertices).
#include "combine.cuh"
#include "heads.cuh"

// Settle open vertices of [first, last) from their heads; first is a multiple of 64. heads: id[rows, 4], row
// v - head_skip. Clears the open bit of what is settled and of vertices without in-edges; remain_bits, written whole,
// are what is open still and has a list beyond its heads. `value` and `degree` are of all vertices. due: where there is
// one and it is 0, nothing is done; reopens: where there is one and it is not 0, open bits are made anew first, of the
// vertices that are not done. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
pull_heads_kernel(const u64* due, const u64* reopens, const Word* heads, u64 head_skip, u64* open_bits,
                  u64* remain_bits, Value* value, const Degree* degree, const u64* __restrict__ active_bits,
                  u64* next_bits, u64 first, u64 last, u64* edges, Context ctx) {
    if (due != nullptr && *due == 0) return;
    u32* const open = reinterpret_cast<u32*>(open_bits);
    u32* const next = reinterpret_cast<u32*>(next_bits);
    const u64 words_end = (last + 63) & ~u64(63), none = Word(~Word(0));
    const bool anew = reopens != nullptr && *reopens != 0;
    u64 looked = 0;
    for (u64 v = first + thread_of_grid(); v < words_end; v += threads_of_grid()) {
        const u32 half = anew ? __ballot_sync(FULL, v < last && !program::done(i64(v), value[v], ctx)) : open[v >> 5];
        bool settled = false, remains = false, improved = false;
        if (v < last && half >> lane_of() & 1) {
            const Head head = head_of(heads, v - head_skip);
            const Value old = value[v];
            Value best = old;
            remains = true;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const u64 u = head.neighbour[k];
                if (!remains) continue;
                if (u == none) {
                    settled = k == 0;  // no in-edges: nothing will ever come
                    remains = false;
                    continue;
                }
                looked++;
                if (!is_set(active_bits, u)) continue;
                const Value sent_from = value[u];
                if (sent_from == program::identity()) continue;
                const Value fresh = program::send(i64(u), sent_from, degree_of(degree, u), Weight(0), ctx);
                if (!better(fresh, best)) continue;
                best = merged(best, fresh);
                if (program::done(i64(v), best, ctx)) {
                    settled = true;
                    remains = false;
                }
            }
            improved = program::changed(best, old);
            if (improved) value[v] = best;
        }
        const u32 closed = __ballot_sync(FULL, settled), left = __ballot_sync(FULL, remains);
        const u32 changed = __ballot_sync(FULL, improved);
        if (lane_of() == 0) {
            open[v >> 5] = half & ~closed;
            reinterpret_cast<u32*>(remain_bits)[v >> 5] = left;
            if (changed) next[v >> 5] |= changed;
        }
    }
    count_up(edges, looked);
}
