// How messages combine, with and without other threads writing the same vertex (SUM, MIN, MAX, OR on all value types),
// and the attributes that no kernel writes.
#ifndef GSTREAM_COMBINE
#define GSTREAM_COMBINE
#include "program.cuh"
#include "warps.cuh"

// Whether combining `fresh` into `old` changes it; NaN never does.
template <class T> BOTH bool better(T fresh, T old) {
    if constexpr (COMBINE == MIN) return fresh < old;
    else if constexpr (COMBINE == MAX) return fresh > old;
    else if constexpr (COMBINE == OR) return (old | fresh) != old;
    else return true;
}

// Both combined, where `fresh` is better.
template <class T> BOTH T merged(T old, T fresh) {
    if constexpr (COMBINE == SUM) return old + fresh;
    else if constexpr (COMBINE == OR) return old | fresh;
    else return fresh;
}

// The best of teams of `size` neighbouring lanes; every lane has it.
template <class T> __device__ __forceinline__ T team_best(T best, u32 size) {
    for (u32 offset = size >> 1; offset > 0; offset >>= 1) {
        const T other = __shfl_xor_sync(FULL, best, offset);
        if (better(other, best)) best = merged(best, other);
    }
    return best;
}

__device__ __forceinline__ u32 bits_of(f32 x) { return __float_as_uint(x); }
__device__ __forceinline__ u64 bits_of(f64 x) { return u64(__double_as_longlong(x)); }
__device__ __forceinline__ f32 float_of(u32 bits) { return __uint_as_float(bits); }
__device__ __forceinline__ f64 float_of(u64 bits) { return __longlong_as_double(i64(bits)); }

template <class T> __device__ __forceinline__ T from_bits(u32 bits) {
    if constexpr (T(0.5) != T(0)) return T(float_of(bits));
    else return T(bits);
}
template <class T> __device__ __forceinline__ T from_bits(u64 bits) {
    if constexpr (T(0.5) != T(0)) return T(float_of(bits));
    else return T(bits);
}

// MIN and MAX of floats by compare-and-swap of their bits: integer atomics on them would order NaN and -0 otherwise.
template <class T> __device__ __forceinline__ bool settle_float(T* where, T fresh, T old) {
    typedef decltype(bits_of(old)) Bits;
    Bits expected = bits_of(old);
    while (better(fresh, old)) {
        const Bits seen = atomicCAS(reinterpret_cast<Bits*>(where), expected, bits_of(fresh));
        if (seen == expected) return true;
        expected = seen;
        old = float_of(seen);
    }
    return false;
}

// Atomics have no bytes: the word that a byte lies in takes their place. Its other bytes are others'.
__device__ __forceinline__ bool settle_byte(u8* where, u8 fresh, u8 old) {
    u32* const word = reinterpret_cast<u32*>(u64(where) & ~u64(3));
    const u32 shift = u32(u64(where) & 3) * 8;
    u32 expected = better(fresh, old) ? *word : 0;
    while (better(fresh, old)) {
        old = u8(expected >> shift);
        if (!better(fresh, old)) return false;
        const u32 seen = atomicCAS(word, expected, expected & ~(255u << shift) | u32(merged(old, fresh)) << shift);
        if (seen == expected) return true;
        expected = seen;
    }
    return false;
}

template <class T> __device__ __forceinline__ bool settle_integer(T* where, T fresh, T old) {
    if (!better(fresh, old)) return false;
    if constexpr (sizeof(T) == 1) return settle_byte(where, fresh, old);
    else if constexpr (COMBINE == MIN) old = atomicMin(where, fresh);
    else if constexpr (COMBINE == MAX) old = atomicMax(where, fresh);
    else if constexpr (sizeof(T) == 4) old = T(atomicOr(reinterpret_cast<u32*>(where), u32(fresh)));
    else old = T(atomicOr(reinterpret_cast<u64*>(where), u64(fresh)));
    return better(fresh, old);
}

// Combine `fresh` into *where, which other threads write too; true when that changed it. Most messages change nothing:
// for idempotent combines a read, `old`, comes before the atomic; SUM needs none.
template <class T> __device__ __forceinline__ bool settle(T* where, T fresh, T old) {
    constexpr bool is_float = T(0.5) != T(0);
    if constexpr (COMBINE != SUM && is_float) return settle_float(where, fresh, old);
    else if constexpr (COMBINE != SUM) return settle_integer(where, fresh, old);
    else if constexpr (is_float) atomicAdd(where, fresh);
    else if constexpr (sizeof(T) == 4) atomicAdd(reinterpret_cast<u32*>(where), u32(fresh));
    else atomicAdd(reinterpret_cast<u64*>(where), u64(fresh));  // two's complement: signed sums are the same
    return true;
}

// Degrees, at the index of a vertex in the arrays; 0 where the program reads none.
__device__ __forceinline__ i64 degree_of(const Degree* degree, u64 at) {
    if constexpr (USES_DEGREE) return i64(__ldg(degree + at));
    else return 0;
}
__device__ __forceinline__ i64 in_degree_of(const Degree* in_degree, u64 at) {
    if constexpr (USES_IN_DEGREE) return i64(__ldg(in_degree + at));
    else return 0;
}
#endif
