// Exact sorts of the CUDA toolkit (CUB), which the approximate sort is measured against: host functions for ctypes.
//
// Sort `count` pairs by descending key: radix by the low `bits` bits, merge by comparison. With temp == null only
// *temp_bytes is set. They return a cudaError_t.
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

typedef unsigned int u32;

struct Greater {
    __device__ bool operator()(u32 a, u32 b) const { return a > b; }
};

extern "C" int radix_sort(void* temp, size_t* temp_bytes, const u32* keys, u32* keys_out, const u32* vertices,
                          u32* vertices_out, long long count, int bits, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairsDescending(temp, *temp_bytes, keys, keys_out, vertices, vertices_out, count,
                                                     0, bits, stream);
}

extern "C" int merge_sort(void* temp, size_t* temp_bytes, const u32* keys, u32* keys_out, const u32* vertices,
                          u32* vertices_out, long long count, int bits, cudaStream_t stream) {
    return cub::DeviceMergeSort::SortPairsCopy(temp, *temp_bytes, keys, vertices, keys_out, vertices_out, count,
                                                     Greater(), stream);
}
