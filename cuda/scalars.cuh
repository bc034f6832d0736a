// Scalar types, and the arithmetic of programs where Python's or Numba's rules are not C++'s.
//
// gstream/cudacode/cuda_printer.py prints calls of these functions; gstream/hostcode/casts.py holds the host's twins. A result
// has the same bits on both, except for pow, exp and the like, which may differ in the last one. Compile without fused
// multiply-add (-fmad=false): the host has none, and kernels are bound by memory.
#ifndef GSTREAM_SCALARS
#define GSTREAM_SCALARS
#include <math.h>

#ifndef KERNEL
#define KERNEL extern "C" __global__ void
#endif
#define BOTH __host__ __device__ __forceinline__

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

#define INFINITE (__builtin_huge_val())
#define NOT_A_NUMBER (__builtin_nan(""))

// -- integers wrap; unsigned arithmetic is where C++ lets them --------------------------------------------------------

BOTH i64 wrap_add(i64 a, i64 b) { return i64(u64(a) + u64(b)); }
BOTH i64 wrap_sub(i64 a, i64 b) { return i64(u64(a) - u64(b)); }
BOTH i64 wrap_mul(i64 a, i64 b) { return i64(u64(a) * u64(b)); }

template <class From> BOTH u8 wrap_u8(From x) { return u8(x); }
template <class From> BOTH u32 wrap_u32(From x) { return u32(x); }
template <class From> BOTH u64 wrap_u64(From x) { return u64(x); }
template <class From> BOTH i32 wrap_i32(From x) { return i32(u32(x)); }
template <class From> BOTH i64 wrap_i64(From x) { return i64(x); }

// x to the constant n > 0.
template <class T> BOTH T int_power(T x, int n) {
    u64 power = u64(x);
    for (int k = 1; k < n; k++) power *= u64(x);
    return T(power);
}

// Division that rounds towards minus infinity; by 0 it is 0, and so is least // -1, as in Numba.
BOTH u64 floor_div(u64 a, u64 b) { return b == 0 ? 0 : a / b; }
BOTH u64 floor_mod(u64 a, u64 b) { return b == 0 ? 0 : a % b; }
BOTH i64 floor_div(i64 a, i64 b) {
    if (b == 0 || (b == -1 && u64(a) == u64(1) << 63)) return 0;
    i64 quotient = a / b, rest = a % b;
    return rest != 0 && (rest ^ b) < 0 ? quotient - 1 : quotient;
}
BOTH i64 floor_mod(i64 a, i64 b) {
    if (b == 0 || b == -1) return 0;
    i64 rest = a % b;
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

BOTH i64 absolute(i64 x) { return x < 0 ? wrap_sub(0, x) : x; }
BOTH f32 absolute(f32 x) { return fabsf(x); }
BOTH f64 absolute(f64 x) { return fabs(x); }

// Exact comparisons of a signed with an unsigned number.
BOTH bool less(i64 a, u64 b) { return a < 0 || u64(a) < b; }
BOTH bool less(u64 a, i64 b) { return b >= 0 && a < u64(b); }
BOTH bool equal(i64 a, u64 b) { return a >= 0 && u64(a) == b; }
BOTH bool equal(u64 a, i64 b) { return equal(b, a); }

// -- floats -----------------------------------------------------------------------------------------------------------

BOTH f32 c_fmod(f32 a, f32 b) { return fmodf(a, b); }
BOTH f64 c_fmod(f64 a, f64 b) { return fmod(a, b); }
BOTH f32 c_floor(f32 x) { return floorf(x); }
BOTH f64 c_floor(f64 x) { return floor(x); }

// Python's float_divmod (CPython's Objects/floatobject.c), as Numba has it; x // 0 is x / 0, and x % 0 is NaN.
template <class T> BOTH T float_div(T a, T b) {
    if (b == T(0)) return a / b;
    T rest = c_fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
    if (!(quotient < T(0) || quotient > T(0))) return quotient * quotient * a / b;  // 0 with the sign of a / b; NaN
    T whole = c_floor(quotient);
    return quotient - whole > T(0.5) ? whole + T(1) : whole;
}
template <class T> BOTH T float_mod(T a, T b) {
    T rest = c_fmod(a, b);
    if (b == T(0)) return rest;
    if (rest == T(0)) return b < T(0) ? -T(0) : T(0);
    return (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}
BOTH f32 floor_div(f32 a, f32 b) { return float_div(a, b); }
BOTH f64 floor_div(f64 a, f64 b) { return float_div(a, b); }
BOTH f32 floor_mod(f32 a, f32 b) { return float_mod(a, b); }
BOTH f64 floor_mod(f64 a, f64 b) { return float_mod(a, b); }
BOTH f32 power(f32 a, f32 b) { return powf(a, b); }
BOTH f64 power(f64 a, f64 b) { return pow(a, b); }

template <class T> BOTH bool is_nan(T x) { return x != x; }
template <class T> BOTH bool is_finite(T x) { return x - x == T(0); }
template <class T> BOTH bool is_inf(T x) { return x == x && !is_finite(x); }

// Floats become integers: cut off, saturated, NaN is 0.
BOTH u8 saturate_u8(f64 x) {
    if (!(x > 0.0)) return 0;
    return x >= 255.0 ? u8(255) : u8(x);
}
BOTH u32 saturate_u32(f64 x) {
    if (!(x > 0.0)) return 0;
    return x >= 4294967295.0 ? 4294967295u : u32(x);
}
BOTH u64 saturate_u64(f64 x) {
    if (!(x > 0.0)) return 0;
    return x >= 18446744073709551616.0 ? ~u64(0) : u64(x);
}
BOTH i32 saturate_i32(f64 x) {
    if (x != x) return 0;
    if (x <= -2147483648.0) return -2147483647 - 1;
    return x >= 2147483647.0 ? 2147483647 : i32(x);
}
BOTH i64 saturate_i64(f64 x) {
    if (x != x) return 0;
    if (x <= -9223372036854775808.0) return -9223372036854775807ll - 1;
    return x >= 9223372036854775808.0 ? 9223372036854775807ll : i64(x);
}

// -- both -------------------------------------------------------------------------------------------------------------

// Python's min and max: the first of equals, and the first where one is NaN.
template <class T> BOTH T min2(T a, T b) { return b < a ? b : a; }
template <class T> BOTH T max2(T a, T b) { return b > a ? b : a; }

// Whether v stands in members[first:end], ascending store IDs. Nearly every vertex is outside: that is looked at first.
BOTH bool is_member(const u64* members, i64 first, i64 end, i64 v) {
    u64 low = u64(first), high = u64(end), wanted = u64(v);
    if (low == high || wanted < members[low] || wanted > members[high - 1]) return false;
    while (low < high) {
        u64 middle = (low + high) >> 1;
        if (members[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return members[low] == wanted;
}
#endif
