// Tables of answers: rows in the user's order from columns in store order, the best of them, and how many there are.
//
// Widths are told by arguments, not by the unit: one unit serves all graphs and answers, as memory bounds every kernel.
// Words are the bits of values, of 4 or 8 bytes. flags say what is to be made of them.
#include "warps.cuh"

constexpr u64 NULLABLE = 1;    // the word `missing` stands for none
constexpr u64 SIGNED = 2;      // words of 4 bytes are int32
constexpr u64 WIDE = 4;        // the table has 8 bytes
constexpr u64 FLOATS = 8;      // words are floating-point numbers
constexpr u64 DESCENDING = 16; // the greatest come first
constexpr u64 NO_PLACE = ~u64(0);

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

// The `most` best values of every warp's stretch of [0, count), best first, ties by name (null: by place): keys, names
// and places, `most` a warp, NO_PLACE where there are no more. Each round looks through the stretch again, which stays
// in a cache. Bound by the first round's reads, 4 bytes a vertex. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
least_kernel(const void* values, u64 bytes, const void* names, u64 id_bytes, u64 missing, u64 flags, u64 count, u64 most,
             u64* keys, u64* found, u64* places) {
    const u64 warp = thread_of_grid() >> 5, warps = threads_of_grid() >> 5;
    const u64 share = (count + warps - 1) / warps;
    const u64 begin = min2(warp * share, count);
    u64 end = min2(begin + share, count);
    u64 last_key = 0, last_name = 0;
    for (u64 round = 0; round < most; round++) {
        u64 key = ~u64(0), name = ~u64(0), place = NO_PLACE;
        for (u64 v = begin + lane_of(); v < end; v += 32) {
            const u64 word = word_at(values, bytes, v);
            if ((flags & NULLABLE) && word == missing) continue;
            const u64 mine = key_of(word, bytes, flags);
            if (mine > key || (round > 0 && mine < last_key)) continue;
            const u64 called = names == nullptr ? v : word_at(names, id_bytes, v);
            if (round > 0 && mine == last_key && called <= last_name) continue;
            if (place == NO_PLACE || mine < key || called < name) {
                key = mine;
                name = called;
                place = v;
            }
        }
        for (u32 offset = 16; offset > 0; offset >>= 1) {
            const u64 other_key = __shfl_xor_sync(FULL, key, offset), other_name = __shfl_xor_sync(FULL, name, offset);
            const u64 other = __shfl_xor_sync(FULL, place, offset);
            if (other == NO_PLACE) continue;
            if (place == NO_PLACE || other_key < key || (other_key == key && other_name < name)) {
                key = other_key;
                name = other_name;
                place = other;
            }
        }
        if (lane_of() == 0) {
            keys[warp * most + round] = key;
            found[warp * most + round] = name;
            places[warp * most + round] = place;
        }
        if (place == NO_PLACE) end = begin;  // there are no more
        last_key = key;
        last_name = name;
    }
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
        const u64 label = v < count ? word_at(labels, id_bytes, v) : NO_PLACE;
        const u64 first = __shfl_sync(FULL, label, 0);
        const u32 same = __popc(__ballot_sync(FULL, label == first));
        if (lane_of() == 0) add(first, same);
        else if (label != first && v < count) add(label, 1);
    }
}
