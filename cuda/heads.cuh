// Heads: the first four neighbours of a vertex, one coalesced load; all bits set where there is no such neighbour.
#ifndef GSTREAM_HEADS
#define GSTREAM_HEADS
#include "program.cuh"

struct Head {
    u64 neighbour[4];
};
__device__ __forceinline__ Head head_of(const u32* heads, u64 row) {
    const uint4 four = __ldcs(reinterpret_cast<const uint4*>(heads) + row);
    return {four.x, four.y, four.z, four.w};
}
__device__ __forceinline__ Head head_of(const u64* heads, u64 row) {
    const ulonglong2* const pairs = reinterpret_cast<const ulonglong2*>(heads) + 2 * row;
    const ulonglong2 low = __ldcs(pairs), high = __ldcs(pairs + 1);
    return {low.x, low.y, high.x, high.y};
}
#endif
