// Slotted pages on the device, and how warps share out their records (pagestore/FORMAT.md; thesis 3.1, 4.1).
//
//     word 0                                                                    word W
//     | header | size n0 n1 ... | size n0 n1 ... | ...free... | v1 r1 | v0 r0 |
//
// A column page has its records in groups of `stride` slots, column by column: record i of a group is word i of it, and
// neighbour k of a record is at record + stride * (k + 1). Lane = record: 32 lanes read 32 sizes, then 32 first
// neighbours, ... side by side. Example, stride 32: lists of 3, 3 and 2 in lanes 0, 1 and 2 take three reads of a line.
//
// Micro level: a *team* of `group` lanes (1, 2, 4, ... 32) shares one record. 1 is the thesis's vertex-centric
// technique, 32 the edge-centric one; what is fastest for a page was measured (gstream/devices/gpu/lane_probe.py); --micro
// forces one.
#ifndef GSTREAM_PAGES
#define GSTREAM_PAGES
#include "combine.cuh"

// A piece of work for one warp: slots [first, end) of a small page, `group` lanes a record, 1 to 32, or of a column page
// (COLUMNS + its stride); words [first, end) of a large page (STRETCH).
// DENSE is added where the vertices of the page's slots follow each other: then the frontier is asked before a slot is.
// Bits 10 to 12 of the group: 0, or 1 + log2 of the lanes a record that a push has instead.
// Bits 16 to 23 of the group: how many parts share these slots' lists, where these are long; bits 24 to 31: which share
// this part has.
struct __align__(16) Part {
    u32 page, first, end, group;
};
constexpr u32 STRETCH = 0;
constexpr u32 COLUMNS = 256;  // a bit that no other group has, and no stride
constexpr u32 DENSE = 512;
constexpr u32 PUSH_SHIFT = 10, PUSH_LANES = 7;
constexpr u32 SPLIT = 8192;   // is added where a warp takes long lists of the part whole
constexpr u32 LONG_SHIFT = 4;  // that are longer than 16 times the lanes of a team

// One of the pages of a launch that lie scattered, in row `row`: parts of the launch up to number `end`, from that of the
// entry before on; number n is part n + shift, modulo 2^64.
struct __align__(16) Entry {
    u32 end, row;
    u64 shift;
};

// Where the pages of a launch lie in `words`: as `base` entries say, or without entries page p in row p - base. Elements
// of `weights` belong to the words in the same places. far: in host memory, of which a read of 128 bytes takes as long
// as one of 32: a warp takes a list, whatever the directory says. first_vertex: of every page. cut: each part is claimed
// 2^cut times, for a share of its long lists each time: of use where there are fewer parts than warps.
struct Pool {
    const Word* words;
    const Weight* weights;
    u64 page_words;
    const Entry* entries;
    u64 base;
    bool far;
    const u64* first_vertex;
    u32 cut = 0;
};
constexpr u64 NO_VERTEX = ~u64(0);

// A page and the vertex of its slot 0 where it is DENSE, else NO_VERTEX.
struct Page {
    const Word* words;
    u64 page_words, dense;
};

// Neighbours a lane loads before it uses the first: with one at a time, every gather would wait for the one before; with
// 8, what is on its way pushes other values out of L1 (a pull: 7 % slower).
constexpr u32 STEP = 4;

struct Slot {
    u64 vertex;
    u32 record;
};

__device__ __forceinline__ Slot slot_of(const u32* page, u64 page_words, u32 slot) {
    const uint2 pair = __ldcs(reinterpret_cast<const uint2*>(page + page_words) - (u64(slot) + 1));
    return {pair.x, pair.y};
}
__device__ __forceinline__ Slot slot_of(const u64* page, u64 page_words, u32 slot) {
    const ulonglong2 pair = __ldcs(reinterpret_cast<const ulonglong2*>(page + page_words) - (u64(slot) + 1));
    return {pair.x, u32(pair.y)};
}

// `weights` is the weights page beside the page: element k belongs to the neighbour in word k.
__device__ __forceinline__ Weight weight_of(const Weight* weights, u32 word) {
    if constexpr (USES_EDGE) return read_once(weights + word);
    else return Weight(0);
}

// Neighbours in words [first, stop) of a page; first == stop: none.
struct List {
    u64 vertex;
    u32 first, stop;
};

__device__ __forceinline__ List list_of(const Word* page, Slot slot) {
    return {slot.vertex, slot.record + 1, slot.record + 1 + u32(read_once(page + slot.record))};
}

// Whether the vertex of a slot is wanted; then `slot` is read. Of a dense page nothing is read for others: pages in host
// memory are read in place for the sake of few lists, and a sparse frontier costs cached pages nothing but its bits.
template <class Wanted>
__device__ __forceinline__ bool find_slot(const Page& page, u32 index, Wanted wanted, Slot& slot) {
    if (page.dense != NO_VERTEX && !wanted(page.dense + index)) return false;
    slot = slot_of(page.words, page.page_words, index);
    return page.dense != NO_VERTEX || wanted(slot.vertex);
}

// visit(list, rank, size) for the records of a part whose vertex is `wanted`, by a warp: the `size` lanes of one team get
// the same list, teams without one an empty list, so that `visit` may shuffle; rank: the lane's in its team. Returns the
// sum of what this lane's visits return.
//
// Lane i of the warp reads slot i of 32 (8 bytes each, coalesced) and the size word of its record; wanted ones are packed
// into shared memory; then teams take them in turn. Example: group 8, 5 of 32 wanted: teams 0 to 3 take lists 0 to 3,
// then team 0 takes list 4, and teams 1 to 3 an empty one.
//
// SPLIT: long lists come first, one after the other, with all 32 lanes: a team would keep the others waiting. Which are
// long depends on the list alone, and so do the bits of a sum.
//
// WIDEN: where fewer lists are wanted than there are teams, lanes of idle teams help (SIMD paper 5.4: online feedback).
// Example: group 2, 3 of 32 wanted: four teams of 8. Not for sums, whose bits would depend on the frontier.
template <u32 WARPS, bool WIDEN = false, class Wanted, class Visit>
__device__ __forceinline__ u32 for_lists(const Page& page, Part part, Wanted wanted, Visit visit) {
    __shared__ List packed[WARPS][32];
    List* const lists = packed[warp_of()];
    const u32 least = __ffs(part.group) - 1;  // no division: a call
    const u32 longest = (part.group & SPLIT) != 0 && least < 5 ? least + LONG_SHIFT : 31;
    u32 sum = 0;
    for (u32 base = part.first; base < part.end; base += 32) {
        const u32 index = base + lane_of();
        List list = {0, 0, 0};
        bool take = false;
        Slot slot;
        if (index < part.end) {
            take = find_slot(page, index, wanted, slot);
            if (take) list = list_of(page.words, slot);
        }
        const bool whole = take && (list.stop - list.first) >> longest != 0;
        const u32 votes = __ballot_sync(FULL, take), long_votes = __ballot_sync(FULL, whole);
        const u32 longs = __popc(long_votes), count = __popc(votes), shorts = count - longs;
        if (take) lists[__popc((whole ? long_votes : votes & ~long_votes) & lanes_below()) + (whole ? 0 : longs)] = list;
        __syncwarp();
        const u32 usual = WIDEN && shorts != 0 ? max2(least, u32(__clz(int(shorts - 1))) - 27) : least;
        for (u32 turn = 0; turn < count;) {
            const u32 shift = turn < longs ? 5 : usual;
            const u32 mine = turn + (lane_of() >> shift), rank = lane_of() & ((1 << shift) - 1);
            sum += visit(mine < count ? lists[mine] : List{0, 0, 0}, rank, u32(1) << shift);
            turn += 32 >> shift;
        }
        __syncwarp();  // all have read before the next slots overwrite
    }
    return sum;
}

// visit(list, stride) for the records of a part of a column page whose vertex is `wanted`, each by its own lane: lanes
// without one get an empty list. The list's neighbours are words first, first + stride, ... below stop. Nothing is
// packed: of 32 slots no turn would be saved, and neighbours lie side by side only in slot order.
template <class Wanted, class Visit>
__device__ __forceinline__ u32 for_columns(const Page& page, Part part, Wanted wanted, Visit visit) {
    const u32 stride = part.group - COLUMNS;
    u32 sum = 0;
    for (u32 base = part.first; base < part.end; base += 32) {
        const u32 index = base + lane_of();
        List list = {0, 0, 0};
        Slot slot;
        if (index < part.end && find_slot(page, index, wanted, slot)) {
            const u32 first = slot.record + stride;
            list = {slot.vertex, first, first + stride * u32(read_once(page.words + slot.record))};
        }
        sum += visit(list, stride);
        __syncwarp();
    }
    return sum;
}

// Share `number` of `shares` of a list: whole steps of 32 words.
__device__ __forceinline__ List share_of(List list, u32 number, u32 shares) {
    const u32 steps = (list.stop - list.first + 31) / 32, share = (steps + shares - 1) / shares * 32;
    const u32 begin = min2(list.first + number * share, list.stop);
    return {list.vertex, begin, min2(begin + share, list.stop)};
}

// What the warps of one launch share: claims made so far, beside the first two of each warp, and how many warps have
// ended. Both are 0 between launches.
struct Claims {
    u64 next, ended;
};

// The entry of a launch's part by its number.
__device__ __forceinline__ Entry entry_of(const Pool& pool, u64 number) {
    u64 low = 0, high = pool.base - 1;
    while (low < high) {
        const u64 middle = (low + high) / 2;
        if (__ldg(&pool.entries[middle].end) <= number) low = middle + 1;
        else high = middle;
    }
    return pool.entries[low];
}

// A part that a warp has claimed, its index, the number of the claim, and the row of its page where entries say it.
struct Claimed {
    Part part;
    u64 index;
    u32 number, row;
};

// From global to shared memory while the thread goes on, until `arrived`.
__device__ __forceinline__ void copy_ahead(Part* to, const Part* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
    *to = *from;
#endif
}
__device__ __forceinline__ void arrived() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// each(claimed) for `count` claims on parts, a warp a claim. The first two of a warp are its own: where there are no more,
// nobody has to ask, which takes all warps 12 us. Then a warp takes the next one when it is done, as parts take times
// that differ, and waits for no other warp. While it works on one, the next one is on its way to shared memory, and the
// number of the one after that is asked for: neither is waited for.
template <u32 WARPS, class Each>
__device__ __forceinline__ void for_claims(const Pool& pool, const Part* parts, u64 first, u64 count, Claims* claims,
                                           Each each) {
    __shared__ Claimed of_warps[WARPS][2];
    Claimed* const claimed = of_warps[warp_of()];
    const auto fetch = [&](Claimed& to, u64 number) {
        to.number = u32(number);
        if (number >= count) return;
        number >>= pool.cut;
        to.index = first + number;
        if (pool.entries != nullptr) {
            const Entry entry = entry_of(pool, number);
            to.index = number + entry.shift;
            to.row = entry.row;
        }
        copy_ahead(&to.part, parts + to.index);
    };
    const u32 warps = threads_of_grid() / 32;
    const bool shared = count > 2 * u64(warps);
    u32 next = thread_of_grid() / 32;  // there are fewer claims than 2^32
    if (lane_of() == 0) {
        fetch(claimed[0], next);
        next += warps;
        arrived();
    }
    __syncwarp();
    for (u32 turn = 0; claimed[turn].number < count; turn ^= 1) {
        if (lane_of() == 0) {
            fetch(claimed[turn ^ 1], next);
            next = shared ? 2 * warps + u32(atomicAdd(&claims->next, u64(1))) : u32(count);
        }
        __syncwarp();
        each(claimed[turn]);
        if (lane_of() == 0) arrived();
        __syncwarp();
    }
    if (shared && lane_of() == 0 && atomicAdd(&claims->ended, u64(1)) == warps - 1) claims->next = claims->ended = 0;
}

// wide(list, words, weights, index), small(part, page, weights) or columns(part, page, weights) for `count` parts of pages
// in the pool, from `first` on or as entries say, a warp a part. wide: of lists that several warps share, where their
// vertex is `wanted`.
// index: the part's. Returns the sum of what they return to this lane. WARPS: of a block. WHOLE: lists that parts share
// of a page that is not DENSE are left to the first of these, as if it had them alone. PUSH: a push's lanes a record.
template <u32 WARPS, bool WHOLE = false, bool PUSH = false, class Wanted, class Wide, class Small, class Columns>
__device__ __forceinline__ u32 for_parts(const Pool& pool, const Part* __restrict__ parts, u64 first, u64 count,
                                         Claims* claims, Wanted wanted, Wide wide, Small small, Columns columns) {
    u32 sum = 0;  // of one lane and one launch
    for_claims<WARPS>(pool, parts, first, count << pool.cut, claims, [&](const Claimed& claimed) {
        Part part = claimed.part;
        const u64 row = pool.entries == nullptr ? part.page - pool.base : claimed.row;
        const Word* const words = pool.words + row * pool.page_words;
        const Weight* const beside = pool.weights + row * pool.page_words;
        const u64 vertex = __ldg(pool.first_vertex + part.page);
        const Page page = {words, pool.page_words, part.group & DENSE ? vertex : NO_VERTEX};
        u32 shares = part.group >> 16 & 255, mine = part.group >> 24;
        if (WHOLE && page.dense == NO_VERTEX) {
            if (mine != 0) return;
            shares = 0;
        }
        const u32 pushed = PUSH ? part.group >> PUSH_SHIFT & PUSH_LANES : 0;
        part.group &= DENSE - 1 | SPLIT;
        if (pool.cut != 0) {
            const u32 share = claimed.number & ((1 << pool.cut) - 1);
            if (part.group == STRETCH || shares != 0 || (part.group & COLUMNS) == 0 && part.end - part.first <= 32) {
                shares = (shares == 0 ? 1 : shares) << pool.cut;
                mine = (mine << pool.cut) + share;
            } else if (share != 0) {
                return;  // many short lists: the first claim's
            }
        }
        if (part.group == STRETCH) {
            const List stretch = {vertex, part.first, part.end};
            if (wanted(vertex)) sum += wide(pool.cut == 0 ? stretch : share_of(stretch, mine, shares), words, beside, claimed.index);
        } else if (part.group & COLUMNS) {
            sum += columns(part, page, beside);
        } else if (shares != 0) {
            Slot slot;
            for (u32 index = part.first; index < part.end; index++)
                if (find_slot(page, index, wanted, slot))
                    sum += wide(share_of(list_of(words, slot), mine, shares), words, beside, claimed.index);
        } else {
            if (pushed != 0) part.group = 1 << (pushed - 1) | (part.group & SPLIT);
            if (pool.far) part.group = 32;
            sum += small(part, page, beside);
        }
    });
    return sum;
}
#endif
