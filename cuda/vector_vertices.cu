// Kernels over vertices of programs of vectors: start, message, apply, totals. A vertex has changed if one of its numbers
// has.
//
// Map: a block of threads a BLOCK of 8,192 vertices, a warp 32 of them; ACROSS lanes a vertex, number by number, so that
// rows are read coalesced (vectors.cuh). Totals are summed by a thread in ascending order, then as vertices.cu does.
#include "blocks.cuh"
#include "vectors.cuh"

constexpr u32 SIDE_BY_SIDE = 32 / ACROSS;                   // vertices of a warp
constexpr u32 TURNS = (LENGTH + ACROSS - 1) / ACROSS;       // numbers of a lane
constexpr u32 OF_VERTEX = ACROSS == 32 ? FULL : (1u << (ACROSS & 31)) - 1;  // lanes of the first vertex

// bits of the BLOCK of vertices of this block: each(v, real) says whether a number of v sets its bit, called by whole
// warps; `real`: v is one of the vertices. How many bits, for the first lanes of warps.
template <class Each> __device__ __forceinline__ u32 for_rows(u64 first, u64 last, u64* bits, Each each) {
    const u64 begin = first + u64(blockIdx.x) * BLOCK;
    if (begin >= last) return 0;
    const u64 end = min2(begin + BLOCK, last), words_end = (end + 63) & ~u64(63);
    u32 count = 0;
    for (u64 base = begin + 32 * warp_of(); base < words_end; base += VERTEX_THREADS) {
        u32 found = 0;
        for (u32 at = 0; at < 32; at += SIDE_BY_SIDE) {
            const u64 v = base + at + lane_of() / ACROSS;
            const u32 votes = __ballot_sync(FULL, each(v, v < end));
            for (u32 k = 0; k < SIDE_BY_SIDE; k++)
                if ((votes >> (k * ACROSS) & OF_VERTEX) != 0) found |= 1u << (at + k);
        }
        if (lane_of() != 0) continue;
        reinterpret_cast<u32*>(bits)[base >> 5] = found;
        count += __popc(found);
    }
    return count;
}

// take(i, turn) for the numbers of a vertex that are this lane's.
template <class Take> __device__ __forceinline__ void for_numbers(bool real, Take take) {
#pragma unroll
    for (u32 turn = 0; turn < TURNS; turn++) {
        const u32 i = turn * ACROSS + (lane_of() & (ACROSS - 1));
        if (real && i < LENGTH) take(i, turn);
    }
}

// value[first:last] by `start`; bits of those with a number that differs from the identity. first is a multiple of BLOCK.
// Launch: (last - first) / BLOCK blocks, rounded up, as for apply.
KERNEL __launch_bounds__(VERTEX_THREADS)
start_kernel(Value* value, u64 value_first, const Degree* degree, const Degree* in_degree, const f64* own,
             const u64* members, u64* bits, u64* open_bits, f64* partials, u64 first, u64 last, Context ctx) {
    Sums sums = {};
    for_rows(first, last, bits, [&](u64 v, bool real) {
        const u64 at = v - value_first;
        Value* const row = value + at * LENGTH;
        const i64 out = real ? degree_of(degree, at) : 0, into = real ? in_degree_of(in_degree, at) : 0;
        bool set = false;
        for_numbers(real, [&](u32 i, u32) {
            const Value fresh = program::start(i64(v), out, into, own, at, members, i64(i), ctx);
            row[i] = fresh;
            set |= fresh != program::identity();
        });
        __syncwarp();
        for_numbers(real && TOTALS > 0, [&](u32 i, u32) {
            program::add_totals(sums, i64(v), row, row, out, into, own, at, i64(i), ctx);
        });
        return set;
    });
    store_totals(partials, first, last, sums);
}

// msg[v] = send(v) for [first, last): what a pull then gathers. A thread a number. Any launch.
KERNEL __launch_bounds__(VERTEX_THREADS)
message_kernel(const Value* __restrict__ value, u64 value_first, const Degree* __restrict__ degree, Message* msg,
               u64 msg_first, u64 first, u64 last, Context ctx) {
    for (u64 k = thread_of_grid(); k < (last - first) * LENGTH; k += threads_of_grid()) {
        const u64 v = first + k / LENGTH, at = v - value_first;
        const Value* const row = value + at * LENGTH;
        msg[(v - msg_first) * LENGTH + k % LENGTH] =
            Message(program::send(i64(v), row, degree_of(degree, at), Weight(0), i64(k % LENGTH), ctx));
    }
}

// value[first:last] by `apply`; next_bits of those that changed; got is put back to the identity. msgs: what those before
// `senders` then send goes to all of these, which may be peers' memory, and found[0] += how many changed. msg_count is 0
// where that is left to others.
//
// New values lie in the row of what the vertex got, which is as long at least, until `activate` and totals have seen both.
KERNEL __launch_bounds__(VERTEX_THREADS)
apply_kernel(Value* value, u64 value_first, Got* got, u64 got_first, const Degree* degree, const Degree* in_degree,
             const f64* own, u64* next_bits, f64* partials, Message* const* msgs, u64 msg_count, u64* found,
             u64 senders, u64 receivers, u64 first, u64 last, Context ctx) {
    Sums sums = {};
    const u32 changed = for_rows(first, last, next_bits, [&](u64 v, bool real) {
        const u64 at = v - value_first;
        Value* const row = value + at * LENGTH;
        Got* const came = got + (v - got_first) * LENGTH;
        Value* const fresh = reinterpret_cast<Value*>(came);
        const i64 out = real ? degree_of(degree, at) : 0, into = real ? in_degree_of(in_degree, at) : 0;
        Value mine[TURNS];
        bool set = false;
        for_numbers(real, [&](u32 i, u32 turn) {
            mine[turn] = program::apply(i64(v), row, out, into, came, own, at, i64(i), ctx);
        });
        __syncwarp();
        for_numbers(real, [&](u32 i, u32 turn) { fresh[i] = mine[turn]; });
        __syncwarp();
        for_numbers(real && CHOOSES, [&](u32 i, u32 turn) {
            if (!program::activate(i64(v), fresh, row, out, into, own, at, i64(i), ctx)) mine[turn] = row[i];
        });
        __syncwarp();
        for_numbers(real, [&](u32 i, u32 turn) {
            fresh[i] = mine[turn];
            set |= program::changed(mine[turn], row[i]);
        });
        __syncwarp();
        for_numbers(real && TOTALS > 0, [&](u32 i, u32) {
            program::add_totals(sums, i64(v), fresh, row, out, into, own, at, i64(i), ctx);
        });
        __syncwarp();
        for_numbers(real, [&](u32 i, u32 turn) {
            row[i] = mine[turn];
            came[i] = program::no_got();
        });
        __syncwarp();
        for_numbers(real && msg_count != 0 && v < senders, [&](u32 i, u32) {
            const Message msg = Message(program::send(i64(v), row, out, Weight(0), i64(i), ctx));
            for (u64 k = 0; k < msg_count; k++) msgs[k][v * LENGTH + i] = msg;
        });
        return set;
    });
    if (msg_count != 0) count_block(found, changed);
    store_totals(partials, first, last, sums);
}
