// A GPU's blocks and warps on the CPU, to run kernels where there is none: a fiber for each thread that waits, one block
// after the other.
//
// Threads run in turn until they meet the lanes of a warp (ballot, shuffle, syncwarp) or the threads of a block
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
constexpr size_t STACK_BYTES = (64 << 10) + 832;  // no power of two: the ends of stacks would share a cache's few places

// Where lanes of one mask meet: the last to come hands all what each brought.
struct Meeting {
    unsigned long long brought[32], handed[32];
    unsigned come = 0, voted = 0, votes = 0;  // votes: the lowest bit of what each brought
    unsigned long rounds = 0;
};

// A stack on which threads run one after the other, until one of them waits: it keeps the stack, others take another.
// Entered by setcontext once, left and resumed by longjmp: the others ask the kernel for the signal mask every time.
struct Fiber {
    jmp_buf place;
    std::unique_ptr<char[]> stack;
};

struct Thread {
    Fiber* fiber = nullptr;
    const unsigned long* awaited = nullptr;  // it waits while this is `round`
    unsigned long round = 0;
    bool ended = true;
};

inline std::vector<Thread> threads;
inline std::vector<std::unique_ptr<Fiber>> fibers;
inline std::vector<Fiber*> idle;
inline Meeting whole[32];                                          // of all lanes of a warp
inline std::map<std::pair<unsigned, unsigned>, Meeting> meetings;  // of others: (warp, mask)
inline jmp_buf scheduler;
inline unsigned current, begun, block_come, named_come[16];
inline unsigned long block_rounds, named_rounds[16];
inline void (*body)(void* kernel, const unsigned long long* given);
inline void* kernel_run;
inline const unsigned long long* given_to;

// Go on elsewhere, and come back where somebody goes on at `here`.
inline void jump(jmp_buf& here, jmp_buf& there) {
    if (!_setjmp(here)) _longjmp(there, 1);
}

// The next thread from k on that can go on, or the number of threads.
inline unsigned ready_from(unsigned k) {
    for (; k < begun; k++)
        if (!threads[k].ended && *threads[k].awaited != threads[k].round) break;
    return k;
}

// Where to go on once the thread that runs waits or has ended: with the next one, and behind the last by the scheduler,
// which also begins threads.
inline jmp_buf& next_place() {
    const unsigned next = begun < blockDim.x ? begun : ready_from(current + 1);
    if (next >= begun) return scheduler;
    current = threadIdx.x = next;
    return threads[next].fiber->place;
}

inline void wait_while(const unsigned long& rounds, unsigned long round) {
    if (rounds != round) return;
    Thread& mine = threads[current];
    mine.awaited = &rounds;
    mine.round = round;
    jump(mine.fiber->place, next_place());
}

// What a fiber does: threads of each block that nobody has begun.
inline void live() {
    for (;;) {
        Fiber* const mine = idle.back();
        idle.pop_back();
        while (begun < blockDim.x) {
            current = threadIdx.x = begun++;
            threads[current].fiber = mine;
            body(kernel_run, given_to);
            threads[current].ended = true;
        }
        idle.push_back(mine);
        jump(mine->place, next_place());
    }
}

// Begin threads of the block until one waits, or all have begun.
inline void begin() {
    if (idle.empty()) {
        fibers.emplace_back(new Fiber);
        idle.push_back(fibers.back().get());
    }
    Fiber& fiber = *idle.back();
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

// Run thread k until it waits or ends, and then those after it that can go on.
inline void resume(unsigned k) {
    current = threadIdx.x = k;
    jump(scheduler, threads[k].fiber->place);
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

inline void launch(unsigned grid, unsigned block) {
    gridDim.x = grid;
    blockDim.x = block;
    if (threads.size() < block) threads.resize(block);
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
        meetings.clear();
        for (Meeting& meeting : whole) meeting.come = meeting.voted = 0;
        block_come = 0;
        memset(named_come, 0, sizeof named_come);
        for (unsigned k = 0; k < block; k++) threads[k].ended = false;
        for (begun = 0; begun < block;) begin();
        while (idle.size() < fibers.size()) {
            unsigned k = ready_from(0);
            if (k == block) fprintf(stderr, "%zu threads wait for ever\n", fibers.size() - idle.size()), abort();
            for (; k < block; k = ready_from(current + 1)) resume(k);
        }
    }
}

template <class Argument> inline Argument taken(unsigned long long given) {
    if constexpr (std::is_pointer_v<Argument>) return reinterpret_cast<Argument>(given);
    else if constexpr (std::is_integral_v<Argument>) return Argument(given);
    else return *reinterpret_cast<const Argument*>(given);  // the context, given by its address
}
template <class... Arguments, size_t... K>
inline void pass(void (*kernel)(Arguments...), const unsigned long long* given, std::index_sequence<K...>) {
    kernel(taken<Arguments>(given[K])...);
}
// With a std::function of each kernel a unit takes a third longer to compile.
template <class... Arguments>
inline void call(void (*kernel)(Arguments...), unsigned grid, unsigned block, const unsigned long long* given) {
    body = [](void* run, const unsigned long long* given) {
        pass(reinterpret_cast<void (*)(Arguments...)>(run), given, std::index_sequence_for<Arguments...>());
    };
    kernel_run = reinterpret_cast<void*>(kernel);
    given_to = given;
    launch(grid, block);
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
