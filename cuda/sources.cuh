// Where messages come from, for push and pull alike: RA, which is the values, or messages premade once a vertex.
//
// Premade (SUM whose send does not read the edge): 4 bytes a gather instead of value and degree, no arithmetic an edge.
#ifndef GSTREAM_SOURCES
#define GSTREAM_SOURCES
#include "pages.cuh"

template <bool FIRST, class A, class B> struct Choice {
    typedef A Type;
};
template <class A, class B> struct Choice<false, A, B> {
    typedef B Type;
};
typedef Choice<PREMADE, Message, Value>::Type Source;

struct Sources {
    const Source* source;
    u64 first;  // the vertex of source[0] and degree[0]
    const Degree* degree;
    const u64* active_bits;

    __device__ __forceinline__ bool active(u64 u) const { return !IDEMPOTENT || is_set(active_bits, u); }
    // Where messages are combined in place, others write the values that this thread reads: old or new, both will do.
    __device__ __forceinline__ Source at(u64 u) const { return read<IN_PLACE>(source + (u - first)); }
    // INF + 1 must not wrap: sources at the identity of an idempotent combine send nothing.
    __device__ __forceinline__ bool empty(Source from) const { return IDEMPOTENT && from == program::identity(); }
    // The message of u along an edge of this weight; `from` is at(u).
    __device__ __forceinline__ Got message(u64 u, Source from, Weight weight, const Context& ctx) const {
        if constexpr (PREMADE) return Got(from);
        else return Got(program::send(i64(u), from, degree_of(degree, u - first), weight, ctx));
    }
};
#endif
