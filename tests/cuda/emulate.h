// A GPU's blocks and warps on the CPU, to run kernels where there is none: one fiber a thread, one block after the other.
//
// Fibers run in turn until they meet the lanes of a warp (ballot, shuffle, syncwarp) or the threads of a block
// (syncthreads), so whatever the kernels exchange inside a block is what a GPU would exchange. A kernel that waits for
// lanes that never come is an error here (on a GPU it hangs). One thread runs at a time: races between blocks are not
// tried, atomics are plain.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define KERNEL void
#define DYNAMIC_SHARED(type, name)                        \
    alignas(16) static unsigned char name##_bytes[48 << 10]; \
    type* const name = reinterpret_cast<type*>(name##_bytes)

struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct ulonglong2 { unsigned long long x, y; };
struct Index { unsigned x; };
inline Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {
constexpr size_t STACK_BYTES = 64 << 10;

// Where lanes of one mask meet: the last to come hands all what each brought.
struct Meeting {
    unsigned long long brought[32], handed[32];
    unsigned come = 0, voted = 0, votes = 0;  // votes: the lowest bit of what each brought
    unsigned long rounds = 0;
};

// Entered by setcontext once, left and resumed by longjmp: the others ask the kernel for the signal mask every time.
struct Fiber {
    jmp_buf place;
    std::unique_ptr<char[]> stack;
    const unsigned long* awaited = nullptr;  // it waits while this is `round`
    unsigned long round = 0;
    bool ended = true;
};

inline std::vector<Fiber> fibers;
inline Meeting whole[32];                                          // of all lanes of a warp
inline std::map<std::pair<unsigned, unsigned>, Meeting> meetings;  // of others: (warp, mask)
inline jmp_buf scheduler;
inline unsigned current, block_come, named_come[16];
inline unsigned long block_rounds, named_rounds[16];
inline std::function<void()> body;

inline void leave() {
    if (!_setjmp(fibers[current].place)) _longjmp(scheduler, 1);
}

// What a fiber does: one thread of each block.
inline void live() {
    for (;;) {
        body();
        fibers[current].ended = true;
        leave();
    }
}

// Run thread k until it waits or ends.
inline void resume(unsigned k) {
    Fiber& fiber = fibers[k];
    current = threadIdx.x = k;
    fiber.awaited = nullptr;
    if (_setjmp(scheduler)) return;
    if (fiber.stack) _longjmp(fiber.place, 1);
    fiber.stack.reset(new char[STACK_BYTES]);
    static ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&context, live, 0);
    setcontext(&context);
}

inline void wait_while(const unsigned long& rounds, unsigned long round) {
    if (rounds != round) return;
    fibers[current].awaited = &rounds;
    fibers[current].round = round;
    leave();
}

template <class T> inline unsigned long long packed(T x) {
    unsigned long long bits = 0;
    memcpy(&bits, &x, sizeof x);
    return bits;
}
template <class T> inline T unpacked(unsigned long long bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// What each lane of `mask` brought.
inline Meeting& meet(unsigned mask, unsigned long long mine) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (!(mask >> lane & 1)) fprintf(stderr, "lane %u is not of its own mask %x\n", lane, mask), abort();
    Meeting& meeting = mask == ~0u ? whole[warp] : meetings[{warp, mask}];
    meeting.brought[lane] = mine;
    meeting.voted |= unsigned(mine & 1) << lane;
    const unsigned long round = meeting.rounds;
    if (++meeting.come == unsigned(__builtin_popcount(mask))) {
        memcpy(meeting.handed, meeting.brought, sizeof meeting.handed);
        meeting.votes = std::exchange(meeting.voted, 0);
        meeting.come = 0;
        meeting.rounds++;
    }
    wait_while(meeting.rounds, round);
    return meeting;
}

inline void launch(unsigned grid, unsigned block, std::function<void()> kernel) {
    body = std::move(kernel);
    gridDim.x = grid;
    blockDim.x = block;
    if (fibers.size() < block) fibers.resize(block);
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
        meetings.clear();
        for (Meeting& meeting : whole) meeting.come = meeting.voted = 0;
        block_come = 0;
        memset(named_come, 0, sizeof named_come);
        for (unsigned k = 0; k < block; k++) fibers[k].ended = false;
        for (unsigned left = block; left > 0;) {
            left = 0;
            bool resumed = false;
            for (unsigned k = 0; k < block; k++) {
                const Fiber& fiber = fibers[k];
                if (fiber.ended) continue;
                if (!fiber.awaited || *fiber.awaited != fiber.round) resume(k), resumed = true;
                left += !fiber.ended;
            }
            if (!resumed && left > 0) fprintf(stderr, "%u threads wait for ever\n", left), abort();
        }
    }
}

template <class Argument> inline Argument taken(unsigned long long given) {
    if constexpr (std::is_pointer_v<Argument>) return reinterpret_cast<Argument>(given);
    else if constexpr (std::is_integral_v<Argument>) return Argument(given);
    else return *reinterpret_cast<const Argument*>(given);  // the context, given by its address
}
template <class... Arguments, size_t... K>
inline void call(void (*kernel)(Arguments...), unsigned grid, unsigned block, const unsigned long long* given,
                 std::index_sequence<K...>) {
    launch(grid, block, [=] { kernel(taken<Arguments>(given[K])...); });
}
template <class... Arguments>
inline void call(void (*kernel)(Arguments...), unsigned grid, unsigned block, const unsigned long long* given) {
    call(kernel, grid, block, given, std::index_sequence_for<Arguments...>());
}
}  // namespace emulated

inline void __syncthreads() {
    const unsigned long round = emulated::block_rounds;
    if (++emulated::block_come == blockDim.x) {
        emulated::block_come = 0;
        emulated::block_rounds++;
    }
    emulated::wait_while(emulated::block_rounds, round);
}
inline void __barrier_sync_count(unsigned name, unsigned threads) {
    const unsigned long round = emulated::named_rounds[name];
    if (++emulated::named_come[name] == threads) {
        emulated::named_come[name] = 0;
        emulated::named_rounds[name]++;
    }
    emulated::wait_while(emulated::named_rounds[name], round);
}
inline void __threadfence() {}
inline void __syncwarp(unsigned mask = ~0u) { emulated::meet(mask, 0); }
inline unsigned __ballot_sync(unsigned mask, bool vote) {
    return emulated::meet(mask, vote).votes;
}
inline bool __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
template <class T> inline T __shfl_sync(unsigned mask, T x, unsigned lane) {
    return emulated::unpacked<T>(emulated::meet(mask, emulated::packed(x)).handed[lane & 31]);
}
inline unsigned __match_any_sync(unsigned mask, unsigned x) {
    const emulated::Meeting& meeting = emulated::meet(mask, x);
    unsigned same = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1 && meeting.handed[lane] == x) same |= 1u << lane;
    return same;
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T x, unsigned other) {
    const unsigned lane = threadIdx.x & 31;
    return emulated::unpacked<T>(emulated::meet(mask, emulated::packed(x)).handed[lane ^ other]);
}

template <class T> inline T __shfl_up_sync(unsigned mask, T x, unsigned back) {
    const unsigned lane = threadIdx.x & 31;
    return emulated::unpacked<T>(emulated::meet(mask, emulated::packed(x)).handed[lane < back ? lane : lane - back]);
}

template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldg(const T* p) { return *p; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline unsigned __float_as_uint(float x) { return emulated::unpacked<unsigned>(emulated::packed(x)); }
inline float __uint_as_float(unsigned x) { return emulated::unpacked<float>(x); }
inline long long __double_as_longlong(double x) { return (long long)emulated::packed(x); }
inline double __longlong_as_double(long long x) { return emulated::unpacked<double>((unsigned long long)x); }

template <class T> inline T exchanged(T* where, T fresh) { return std::exchange(*where, fresh); }
template <class T> inline T atomicAdd(T* where, T x) { return exchanged(where, T(*where + x)); }
template <class T> inline T atomicAdd_system(T* where, T x) { return atomicAdd(where, x); }
template <class T> inline T atomicMin(T* where, T x) { return exchanged(where, x < *where ? x : *where); }
template <class T> inline T atomicMax(T* where, T x) { return exchanged(where, x > *where ? x : *where); }
template <class T> inline T atomicOr(T* where, T x) { return exchanged(where, T(*where | x)); }
template <class T> inline T atomicAnd(T* where, T x) { return exchanged(where, T(*where & x)); }
template <class T> inline T atomicCAS(T* where, T old, T fresh) {
    return exchanged(where, *where == old ? fresh : *where);
}
