// The names that kernels take from a program, here as breadth-first search would give them: with this file the kernels
// compile by themselves. gstream/cudacode/generate.py puts a program's own names in its place.
#ifndef GSTREAM_PROGRAM
#define GSTREAM_PROGRAM
#include "scalars.cuh"

typedef u32 Word;     // a vertex ID in a page, 4 or 8 bytes
typedef u8 Weight;    // an edge's weight; u8 where the program reads none
typedef u32 Degree;   // u32 or u64, as the store has them
typedef u32 Value;    // a vertex's value
typedef u32 Got;      // what messages are combined in: 64 bits for SUM, else Value
typedef u32 Message;  // what `message_kernel` premakes: Value where that is a float, else Got

enum Monoid { SUM, MIN, MAX, OR };
constexpr Monoid COMBINE = MIN;
constexpr bool IDEMPOTENT = true;     // combining a message twice changes nothing: only active vertices send
constexpr bool IN_PLACE = true;       // messages are combined straight into `value`; there is no apply
constexpr bool HAS_DONE = true;       // a vertex that is `done` takes no more messages
constexpr bool STOPS_EARLY = true;    // ... nor one for which what it got is `done`: there is no apply
constexpr bool USES_EDGE = false;     // send reads the edge's weight
constexpr bool PREMADE = false;       // a pull gathers messages made once a vertex, not values
constexpr bool USES_DEGREE = false;   // degree[] is there
constexpr bool USES_IN_DEGREE = false;
constexpr bool READS_ITSELF = true;   // apply reads v.value
constexpr bool SUMS_ANEW = false;     // totals read what changes though no value does
constexpr bool CHOOSES = false;       // there is `activate`
constexpr int TOTALS = 0;             // sums over all vertices
constexpr u32 LENGTH = 1;             // numbers of a value, of which Value is the type of one: vectors have several

struct Context {  // g's fields and the program's parameters, by value to each kernel: constant memory
    i64 vertices;
    i64 edges;
    i64 superstep;
    i64 m_source_first;
    i64 m_source_end;
};

struct Sums {
    f64 of[TOTALS + 1];
};

namespace program {
BOTH Value identity() { return u32(4294967295); }  // what a vertex without messages has
BOTH Got no_got() { return u32(4294967295); }      // ... and got
BOTH u32 start(i64 v_id, i64 v_degree, i64 v_in_degree, const f64* own, u64 at, const u64* members,
               const Context& ctx) {
    return is_member(members, ctx.m_source_first, ctx.m_source_end, v_id) ? 0 : 4294967295u;
}
BOTH u32 send(i64 u_id, Value u_value, i64 u_degree, Weight e_weight, const Context& ctx) { return u_value + 1; }
BOTH u32 apply(i64 v_id, Value v_value, i64 v_degree, i64 v_in_degree, Got got, const f64* own, u64 at,
               const Context& ctx) {
    return got < v_value ? got : v_value;
}
BOTH bool done(i64 v_id, Value v_value, const Context& ctx) { return v_value != 4294967295u; }
BOTH bool changed(Value fresh, Value before) { return fresh != before; }
BOTH void add_totals(Sums& sums, i64 v_id, Value v_value, Value v_before, i64 v_degree, i64 v_in_degree,
                     const f64* own, u64 at, const Context& ctx) {}

// A program of vectors has these instead: number i, of rows.
BOTH u32 start(i64 v_id, i64 v_degree, i64 v_in_degree, const f64* own, u64 at, const u64* members, i64 i,
               const Context& ctx) {
    return start(v_id, v_degree, v_in_degree, own, at, members, ctx);
}
BOTH u32 send(i64 u_id, const Value* u_value, i64 u_degree, Weight e_weight, i64 i, const Context& ctx) {
    return u_value[i] + 1;
}
BOTH u32 apply(i64 v_id, const Value* v_value, i64 v_degree, i64 v_in_degree, const Got* got, const f64* own, u64 at,
               i64 i, const Context& ctx) {
    return got[i] < v_value[i] ? got[i] : v_value[i];
}
BOTH bool activate(i64 v_id, const Value* v_value, const Value* v_before, i64 v_degree, i64 v_in_degree, const f64* own,
                   u64 at, i64 i, const Context& ctx) {
    return true;
}
BOTH void add_totals(Sums& sums, i64 v_id, const Value* v_value, const Value* v_before, i64 v_degree, i64 v_in_degree,
                     const f64* own, u64 at, i64 i, const Context& ctx) {}
}  // namespace program
#endif
