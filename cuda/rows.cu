// Tables of answers: rows in the user's order from columns in store order, the best of them, and how many there are.
//
// Arguments say how wide values are, so one unit serves all graphs and answers. It costs nothing: memory is the limit.
// Words are the bits of values, of 4 or 8 bytes. flags say what is to be made of them.
#include "warps.cuh"

constexpr u64 NULLABLE = 1;    // the word `missing` stands for none
constexpr u64 SIGNED = 2;      // words of 4 bytes are int32
constexpr u64 WIDE = 4;        // the table has 8 bytes
constexpr u64 FLOATS = 8;      // words are floating-point numbers
constexpr u64 DESCENDING = 16; // the greatest come first
constexpr u64 NO_LABEL = ~u64(0);

__device__ __forceinline__ u64 word_at(const void* words, u64 bytes, u64 at) {
    return bytes == 8 ? static_cast<const u64*>(words)[at] : static_cast<const u32*>(words)[at];
}

// Rows first + i, i in [0, rows), of a column: out[i * row_words + column] = values[order[first + i]], in two words where
// it is wide. values, order null: each is its number. A word that stands for none becomes `none`; others are renamed
// (null: they are not), then named (null: base is added). valid: bit i & 31 of word i >> 5 is set where there is a value; may be null.
// Example: 40 rows, one block: thread t takes row t, warp 0 writes valid[0], warp 1 valid[1] with 8 rows in it.
// Bound by the gathers of values and renamed. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
take_rows_kernel(const void* values, u64 bytes, const void* order, const void* renamed, const u64* names, u64 id_bytes, u64 base,
                 u64 missing, u64 none, u64 flags, u32* out, u64 row_words, u64 column, u32* valid, u64 first, u64 rows) {
    const bool whole = ((row_words | column) & 1) == 0;  // a wide column is stored at once
    for (u64 i = thread_of_grid(); i - lane_of() < rows; i += threads_of_grid()) {
        const bool inside = i < rows;
        bool absent = false;
        if (inside) {
            const u64 at = order == nullptr ? first + i : word_at(order, id_bytes, first + i);
            u64 word = values == nullptr ? at : word_at(values, bytes, at);
            absent = (flags & NULLABLE) != 0 && word == missing;
            if (absent) {
                word = none;
            } else {
                if (flags & SIGNED) word = u64(i64(i32(u32(word))));
                if (renamed != nullptr) word = word_at(renamed, id_bytes, word);
                word = names == nullptr ? word + base : names[word];
            }
            u32* const place = out + i * row_words + column;
            if (!(flags & WIDE)) {
                *place = u32(word);
            } else if (whole) {
                *reinterpret_cast<u64*>(place) = word;
            } else {
                place[0] = u32(word);
                place[1] = u32(word >> 32);
            }
        }
        if (valid != nullptr) {
            const u32 there = __ballot_sync(FULL, inside && !absent);
            if (lane_of() == 0) valid[i >> 5] = there;
        }
    }
}

// What orders words as the host does: ascending keys are best first. Of floats -0 is 0, and NaN comes last.
__device__ __forceinline__ u64 key_of(u64 word, u64 bytes, u64 flags) {
    const bool descending = (flags & DESCENDING) != 0;
    if (!(flags & FLOATS)) {
        const u64 sign = flags & SIGNED ? u64(1) << (8 * bytes - 1) : 0;
        return descending ? ~(word ^ sign) : word ^ sign;
    }
    f64 x = bytes == 8 ? __longlong_as_double(i64(word)) : f64(__uint_as_float(u32(word)));
    if (descending) x = -x;
    if (x != x) x = INFINITE;
    const u64 bits = u64(__double_as_longlong(x + 0.0));
    return bits >> 63 ? ~bits : bits | u64(1) << 63;
}

// What comes first: lower keys, then lower names. Two values never have the same rank.
struct Rank {
    u64 key, name;

    __device__ __forceinline__ bool before(Rank other) const {
        return key < other.key || (key == other.key && name < other.name);
    }
};

// each(place, key) for every 32nd of this warp's values, which are spread over all: neighbours are often alike. name(place)
// is read where keys leave it open.
template <class Each>
__device__ __forceinline__ void for_values(const void* values, u64 bytes, u64 missing, u64 flags, u64 count, Each each) {
#pragma unroll 4
    for (u64 v = thread_of_grid(); v < count; v += threads_of_grid()) {
        const u64 word = word_at(values, bytes, v);
        if (!(flags & NULLABLE) || word != missing) each(v, key_of(word, bytes, flags));
    }
}

__device__ __forceinline__ u64 name_of(const void* names, u64 id_bytes, u64 v) {
    return names == nullptr ? v : word_at(names, id_bytes, v);
}

// The best value of every warp: keys and names, all bits set where it has none. names null: places are names. The rank of
// the k-th best warp has k values that are no worse, and seldom many more: a bound for find_better_kernel.
// Bound by memory: 4 bytes a vertex. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
best_of_warps_kernel(const void* values, u64 bytes, const void* names, u64 id_bytes, u64 missing, u64 flags, u64 count,
                     u64* keys, u64* found) {
    Rank best = {~u64(0), ~u64(0)};
    for_values(values, bytes, missing, flags, count, [&](u64 v, u64 key) {
        if (key > best.key) return;
        const Rank mine = {key, name_of(names, id_bytes, v)};
        if (mine.before(best)) best = mine;
    });
    for (u32 offset = 16; offset > 0; offset >>= 1) {
        const Rank other = {__shfl_xor_sync(FULL, best.key, offset), __shfl_xor_sync(FULL, best.name, offset)};
        if (other.before(best)) best = other;
    }
    if (lane_of() == 0) {
        keys[thread_of_grid() >> 5] = best.key;
        found[thread_of_grid() >> 5] = best.name;
    }
}

// Values whose rank is not worse than (most, last), in any order: keys, names and places of the first `room` that are found;
// counter[0] counts them all. Bound as best_of_warps_kernel. Any launch.
KERNEL __launch_bounds__(THREADS)
find_better_kernel(const void* values, u64 bytes, const void* names, u64 id_bytes, u64 missing, u64 flags, u64 count,
                   u64 most, u64 last, u64 room, u64* keys, u64* found, u64* places, u64* counter) {
    for_values(values, bytes, missing, flags, count, [&](u64 v, u64 key) {
        if (key > most) return;
        const u64 name = name_of(names, id_bytes, v);
        if (key == most && name > last) return;
        const u64 at = atomicAdd(counter, u64(1));
        if (at < room) {
            keys[at] = key;
            found[at] = name;
            places[at] = v;
        }
    });
}

// counter += how many of values[0, count) are not `missing`. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
count_unlike_kernel(const void* values, u64 bytes, u64 count, u64 missing, u64* counter) {
    u64 mine = 0;
    for (u64 v = thread_of_grid(); v < count; v += threads_of_grid()) mine += word_at(values, bytes, v) != missing;
    count_up(counter, mine);
}

// sizes[label] += vertices of that label; sizes: words of id_bytes. Lanes whose label is the first lane's add once: most
// vertices are in one group. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS) count_groups_kernel(const void* labels, u64 id_bytes, u64 count, void* sizes) {
    const auto add = [&](u64 label, u32 vertices) {
        if (id_bytes == 8) atomicAdd(static_cast<u64*>(sizes) + label, u64(vertices));
        else atomicAdd(static_cast<u32*>(sizes) + label, vertices);
    };
    for (u64 v = thread_of_grid(); v - lane_of() < count; v += threads_of_grid()) {
        const u64 label = v < count ? word_at(labels, id_bytes, v) : NO_LABEL;
        const u64 first = __shfl_sync(FULL, label, 0);
        const u32 same = __popc(__ballot_sync(FULL, label == first));
        if (lane_of() == 0) add(first, same);
        else if (label != first && v < count) add(label, 1);
    }
}
