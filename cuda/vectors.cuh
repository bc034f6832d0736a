// Values that are vectors: LENGTH numbers a vertex, row after row. Value, Got and Message are of one number.
//
// Map: lanes of a team take the numbers of a row side by side, up to ACROSS at once, so that rows are read coalesced;
// what lanes are left take other edges of the list. Example, f32[3] and a team of 8: ACROSS is 4, of which a lane idles,
// and two edges are taken at once. u8[64] and 32 lanes: 32 numbers at once, and the list is gone through twice.
#ifndef GSTREAM_VECTORS
#define GSTREAM_VECTORS
#include "pages.cuh"

template <bool FIRST, class A, class B> struct Choice {
    typedef A Type;
};
template <class A, class B> struct Choice<false, A, B> {
    typedef B Type;
};
typedef Choice<PREMADE, Message, Value>::Type Source;

constexpr u32 across(u32 lanes) { return lanes >= LENGTH || lanes == 32 ? lanes : across(2 * lanes); }
constexpr u32 ACROSS = across(1);

// What a lane of a team takes: numbers `element`, element + width, ..., edges `edge`, edge + edges, ... of a list.
struct Share {
    u32 width, element, edge, edges;

    __device__ __forceinline__ Share(u32 rank, u32 size) {
        width = min2(size, ACROSS);
        const u32 shift = __ffs(width) - 1;  // no division: a call
        element = rank & (width - 1);
        edge = rank >> shift;
        edges = size >> shift;
    }
};

// Where messages come from, for push and pull alike: rows of values, or of messages premade once a vertex.
struct VectorSources {
    const Source* source;
    u64 first;  // the vertex of the first row and of degree[0]
    const Degree* degree;
    const u64* active_bits;

    __device__ __forceinline__ bool active(u64 u) const { return !IDEMPOTENT || is_set(active_bits, u); }
    __device__ __forceinline__ const Source* at(u64 u) const { return source + (u - first) * LENGTH; }
    // Number i of the message of u along an edge of this weight. Numbers that are the identity of an idempotent combine
    // send nothing: INF + 1 must not wrap.
    template <class From>
    __device__ __forceinline__ Got message(u64 u, const From* row, u32 i, Weight weight, const Context& ctx) const {
        if constexpr (PREMADE) return Got(row[i]);
        else if (IDEMPOTENT && row[i] == program::identity()) return program::no_got();
        else return Got(program::send(i64(u), row, degree_of(degree, u - first), weight, i64(i), ctx));
    }
};
#endif
