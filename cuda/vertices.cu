// Kernels over vertices: start, message, apply, totals, reopen.
//
// Map: a block of threads a BLOCK of 8,192 vertices, thread t takes vertices t, t + 512, ...; a warp's ballot is half a
// word of a bitmap. Totals are summed by a thread in ascending order, then over the block's threads as a tree: the same
// bits for any number of GPUs, streams and slices, because slices begin at multiples of BLOCK.
// Bound by memory: each reads and writes every vertex's attributes once, coalesced.
#include "blocks.cuh"

constexpr u32 AT_ONCE = 4;  // vertices that a thread loads before it stores the first: 5 times the rate (measured)

// load(v), then each(v, real, what load gave) for the BLOCK of vertices of this block, by whole warps; `real`: v is one
// of them, and was loaded.
template <class Load, class Each>
__device__ __forceinline__ void for_block(u64 first, u64 last, Load load, Each each) {
    const u64 begin = first + u64(blockIdx.x) * BLOCK;
    if (begin >= last) return;
    const u64 end = min2(begin + BLOCK, last), words_end = (end + 63) & ~u64(63);
    for (u64 base = begin + threadIdx.x; base - lane_of() < words_end; base += AT_ONCE * VERTEX_THREADS) {
        decltype(load(base)) loaded[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u64 v = base + k * VERTEX_THREADS;
            if (v < end) loaded[k] = load(v);
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u64 v = base + k * VERTEX_THREADS;
            if (v - lane_of() < words_end) each(v, v < end, loaded[k]);
        }
    }
}

struct Attributes {
    i64 out, into;  // degrees
    Value value;
    Got got;
};

// value[first:last] by `start`; bits of those that differ from the identity; open_bits of those not done (only programs
// that have it). first is a multiple of BLOCK. Launch: (last - first) / BLOCK blocks, rounded up, as for all below but
// message.
KERNEL __launch_bounds__(VERTEX_THREADS)
start_kernel(Value* value, u64 value_first, const Degree* degree, const Degree* in_degree, const f64* own,
             const u64* members, u64* bits, u64* open_bits, f64* partials, u64 first, u64 last, Context ctx) {
    Sums sums = {};
    const auto load = [&](u64 v) {
        return Attributes{degree_of(degree, v - value_first), in_degree_of(in_degree, v - value_first), Value(), Got()};
    };
    for_block(first, last, load, [&](u64 v, bool real, const Attributes& of) {
        bool set = false, open = false;
        if (real) {
            const u64 at = v - value_first;
            const Value fresh = program::start(i64(v), of.out, of.into, own, at, members, ctx);
            value[at] = fresh;
            set = fresh != program::identity();
            open = HAS_DONE && !program::done(i64(v), fresh, ctx);
            program::add_totals(sums, i64(v), fresh, fresh, of.out, of.into, own, at, ctx);
        }
        write_bits(bits, v, set);
        if (HAS_DONE) write_bits(open_bits, v, open);
    });
    store_totals(partials, first, last, sums);
}

// msg[v] = send(v) for [first, last): what a pull then gathers. Any launch.
KERNEL __launch_bounds__(VERTEX_THREADS)
message_kernel(const Value* __restrict__ value, u64 value_first, const Degree* __restrict__ degree, Message* msg,
               u64 msg_first, u64 first, u64 last, Context ctx) {
    const u64 threads = threads_of_grid();
    for (u64 base = first + thread_of_grid(); base < last; base += AT_ONCE * threads) {
        Value loaded[AT_ONCE];
        i64 out[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u64 v = base + k * threads;
            if (v >= last) continue;
            loaded[k] = value[v - value_first];
            out[k] = degree_of(degree, v - value_first);
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u64 v = base + k * threads;
            if (v < last) msg[v - msg_first] = Message(program::send(i64(v), loaded[k], out[k], Weight(0), ctx));
        }
    }
}

// value[first:last] by `apply`; next_bits of those that changed; got is put back to the identity. Vertices from
// `receivers` on have no in-edges, and so got nothing. msgs: what those before `senders` then send goes to all of these,
// which may be peers' memory, and found[0] += how many changed. msg_count is 0 where that is left to others.
KERNEL __launch_bounds__(VERTEX_THREADS)
apply_kernel(Value* value, u64 value_first, Got* got, u64 got_first, const Degree* degree, const Degree* in_degree,
             const f64* own, u64* next_bits, f64* partials, Message* const* msgs, u64 msg_count, u64* found,
             u64 senders, u64 receivers, u64 first, u64 last, Context ctx) {
    Sums sums = {};
    u32 changed = 0;
    const auto load = [&](u64 v) {
        const u64 at = v - value_first;
        const Got sum = v < receivers ? got[v - got_first] : program::no_got();
        return Attributes{degree_of(degree, at), in_degree_of(in_degree, at), value[at], sum};
    };
    for_block(first, last, load, [&](u64 v, bool real, const Attributes& of) {
        bool set = false;
        if (real) {
            const u64 at = v - value_first;
            const Value fresh = program::apply(i64(v), of.value, of.out, of.into, of.got, own, at, ctx);
            if (v < receivers) got[v - got_first] = program::no_got();
            value[at] = fresh;
            if (msg_count != 0 && v < senders) {
                const Message msg = Message(program::send(i64(v), fresh, of.out, Weight(0), ctx));
                for (u64 k = 0; k < msg_count; k++) msgs[k][v] = msg;
            }
            set = program::changed(fresh, of.value);
            changed += set;
            program::add_totals(sums, i64(v), fresh, of.value, of.out, of.into, own, at, ctx);
        }
        write_bits(next_bits, v, set);
    });
    if (msg_count != 0) count_block(found, changed);
    store_totals(partials, first, last, sums);
}

// The same where what vertices got is that of the superstep before but for those told of a change, and stays: of vertices
// that were told (next_bits), or that read their own value and changed (active_bits), or of everybody. Blocks without
// such a vertex are passed over, where totals are theirs already.
KERNEL __launch_bounds__(VERTEX_THREADS)
apply_again_kernel(Value* value, const Got* got, const Degree* degree, const Degree* in_degree, const f64* own,
                   const u64* active_bits, u64* next_bits, f64* partials, Message* const* msgs, u64 msg_count, u64* found,
                   u64 senders, u64 receivers, u64 everybody, u64 first, u64 last, Context ctx) {
    __shared__ u32 worth;
    if (threadIdx.x == 0) worth = everybody != 0 || SUMS_ANEW;
    __syncthreads();
    const u64 begin = first + u64(blockIdx.x) * BLOCK, end = min2(begin + BLOCK, last);
    for (u64 word = begin / 64 + threadIdx.x; word * 64 < end; word += VERTEX_THREADS)
        if (next_bits[word] != 0 || (READS_ITSELF || TOTALS > 0) && active_bits[word] != 0) worth = 1;
    __syncthreads();
    if (worth == 0) return;
    struct Due {
        Attributes of;
        bool due;
    };
    const auto half = [](const u64* bits, u64 v) { return reinterpret_cast<const u32*>(bits)[v >> 5] >> (v & 31) & 1; };
    Sums sums = {};
    u32 changed = 0;
    const auto load = [&](u64 v) {
        const Got sum = v < receivers ? got[v] : program::no_got();
        const bool due = everybody != 0 || half(next_bits, v) || READS_ITSELF && half(active_bits, v);
        return Due{{degree_of(degree, v), in_degree_of(in_degree, v), value[v], sum}, due};
    };
    for_block(first, last, load, [&](u64 v, bool real, const Due& one) {
        bool set = false;
        if (real) {
            const Attributes& of = one.of;
            const Value fresh = one.due ? program::apply(i64(v), of.value, of.out, of.into, of.got, own, v, ctx) : of.value;
            if (one.due) value[v] = fresh;
            if (one.due && msg_count != 0 && v < senders) {
                const Message msg = Message(program::send(i64(v), fresh, of.out, Weight(0), ctx));
                for (u64 k = 0; k < msg_count; k++) msgs[k][v] = msg;
            }
            set = program::changed(fresh, of.value);
            changed += set;
            program::add_totals(sums, i64(v), fresh, of.value, of.out, of.into, own, v, ctx);
        }
        write_bits(next_bits, v, set);
    });
    if (msg_count != 0) count_block(found, changed);
    store_totals(partials, first, last, sums);
}

// open_bits of [first, last) anew: the vertices that are not done. due: where there is one and it is 0, nothing is.
KERNEL __launch_bounds__(VERTEX_THREADS)
reopen_kernel(const u64* due, const Value* value, u64 value_first, u64* open_bits, u64 first, u64 last, Context ctx) {
    if (due != nullptr && *due == 0) return;
    const auto load = [&](u64 v) { return value[v - value_first]; };
    for_block(first, last, load, [&](u64 v, bool real, Value before) {
        write_bits(open_bits, v, real && !program::done(i64(v), before, ctx));
    });
}
