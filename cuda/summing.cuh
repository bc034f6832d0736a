// Sums of a list's messages in registers, for pulls of SUM: a lane or a team of lanes a list, no atomics.
#ifndef GSTREAM_SUMMING
#define GSTREAM_SUMMING
#include "sources.cuh"

// A large block a processor, whose shared memory holds the values that most edges come from.
constexpr u32 PULL_THREADS = 1024;

struct HotSources : Sources {
    const Source* nearest;  // the values of vertices [0, hot)
    u32 hot;

    // The value of u where word < stop, else 0. Without branches, so that the gathers of a turn are all under way at once;
    // into two registers, so that neither read waits for the other. The reads may not move above the barrier that
    // `nearest` is filled before: u, which they need, is read after it.
    __device__ __forceinline__ Source at(Word u, u32 word, u32 stop) const {
#ifdef __CUDA_ARCH__
#define GATHER(BITS, REGISTER)                                                                                       \
    asm("{ .reg .pred wanted, near, far; setp.lt.u32 wanted, %2, %3; setp.lt.and.u32 near|far, %4, %5, wanted; mov." \
        BITS " %0, 0; mov." BITS " %1, 0; @near ld.shared." BITS " %0, [%6]; @far ld.global.nc." BITS " %1, [%7]; }" \
        : REGISTER(here), REGISTER(there) : "r"(word), "r"(stop), "r"(index), "r"(hot), "r"(near), "l"(far))
        const u32 index = sizeof(Word) == 4 ? u32(u) : u32(min2(u64(u), u64(~0u)));
        const u32 near = u32(__cvta_generic_to_shared(nearest)) + index * u32(sizeof(Source));
        const Source* const far = source - first + u;
        if constexpr (sizeof(Source) == 4) {
            u32 here, there;
            GATHER("u32", "=&r");
            return from_bits<Source>(here | there);
        } else {
            u64 here, there;
            GATHER("u64", "=&l");
            return from_bits<Source>(here | there);
        }
#undef GATHER
#else
        return word >= stop ? Source(0) : u < hot ? nearest[u] : Sources::at(u);
#endif
    }
};

// Where a slice of what vertices got ends, and where it lies: `got` of its owner among the peers, from the same vertex on.
struct Slice {
    u64 end;
    Got* got;
};

// Where vertex `at`, counted from the first one of dst, has its sum: in its owner's memory, which may be a peer's.
__device__ __forceinline__ Got* place_of_sum(Got* dst, const Slice* slices, u64 count, u64 at) {
    for (u64 k = 0; k < count; k++)
        if (at < slices[k].end) return slices[k].got + at;
    return dst + at;
}

// Neighbours of the list's words `word`, word + size, ..., STEP of them; 0 where the list has ended. Neighbours of
// neighbouring lanes, not each lane's own: ascending ones often have their values in one sector.
struct Turn {
    Word u[STEP];

    __device__ __forceinline__ Turn(const Word* page, List list, u32 word, u32 size) {
#pragma unroll
        for (u32 k = 0; k < STEP; k++) u[k] = word + k * size < list.stop ? read_once(page + word + k * size) : 0;
    }
};

// Sum of this lane's messages: those along the list's words `rank`, rank + size, ... The neighbours of the next turn are
// on their way while values of this one are.
__device__ __forceinline__ Got sum_of_lane(const HotSources& sources, const Word* page, const Weight* weights, List list,
                                           u32 rank, u32 size, const Context& ctx) {
    Turn turn(page, list, list.first + rank, size);
    Got sum = Got(0);
    for (u32 word = list.first + rank; word < list.stop;) {
        // nvcc 13.0 would read where the next turn begins before it has computed that, from where this turn's last word
        // lies, which the gathers ask for (tests/cuda/ptx.py finds it)
        const u32 after = opaque(word + STEP * size);
        const Turn next(page, list, after, size);
        Source from[STEP];
#pragma unroll
        for (u32 k = 0; k < STEP; k++) from[k] = sources.at(turn.u[k], word + k * size, list.stop);
#pragma unroll
        for (u32 k = 0; k < STEP; k++) {
            if constexpr (PREMADE) sum += Got(from[k]);
            else if (word + k * size < list.stop)
                sum += sources.message(turn.u[k], from[k], weight_of(weights, word + k * size), ctx);
        }
        word = after;
        turn = next;
    }
    return sum;
}

// Sum of the messages along the list's words, which teams of `size` lanes share; every lane of the team has it.
__device__ __forceinline__ Got sum_of(const HotSources& sources, const Word* page, const Weight* weights, List list,
                                      u32 rank, u32 size, const Context& ctx) {
    return team_sum(sum_of_lane(sources, page, weights, list, rank, size, ctx), size);
}
#endif
