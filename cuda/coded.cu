// Coded pages to pages on the device (pagestore/FORMAT.md, "Coded pages"), between a batch's copy and its kernel.
//
// A warp takes a chunk: up to 32 blocks of 32 items. Lane b finds out where block b has its digits and fields, by four
// prefix sums over the warp, and spreads its digits over the places of its items. Example: digits of a block, as stored
// and spread
//
//     P0 1 0 1 1  P1 (of the ones in P0) 1 0 1  P2 (of those in P1) 0 1     classes 2 0 1 3
//        1 0 1 1     1 0 0 1                       0 0 0 1
//
// Then all lanes take one block after the other, a lane an item: its class and the bits before its field come from the
// ones at and below its place. Gaps are summed by a prefix sum over the lanes, from the last lane on that begins a list.
//
// The host has checked that lengths and offsets lead nowhere else (pagestore/coding/decode.py). What fields say it has
// not: a neighbour or vertex that is none is replaced by the last one, and told.
//
// Reads 4 to 16 bits an edge and writes 4 bytes, coalesced but for the gaps that lists' sizes leave. Bound by
// instructions. Vertices come first: neighbours may be coded relative to them.
#include "warps.cuh"
#include "program.cuh"

constexpr u32 CHUNK = 1024;
constexpr u32 HEADER_BYTES = 32;
constexpr u32 FLAGS = 8, FIRST_ENTRY = 10;  // words of a coded page
constexpr u32 RELATIVE = 1, REPEATS = 2, SPARSE = 4;
constexpr u32 ENTRY_WORDS = 4 + sizeof(Word) / 4;
constexpr u32 WEIGHTS_AT_ONCE = 1024;  // elements that a warp takes
constexpr u32 DECODERS_AN_SM = 5;  // blocks; with 4 a batch takes as long alone, and longer beside a pull

// One page of a topology. begin: word of its coded page in the store's dataset; weights_begin: the same of its weights;
// vertex_tasks, edge_tasks, weight_tasks: those of all pages before. There is one more, whose sums are those of all.
struct CodedPage {
    u64 begin, weights_begin, vertex_tasks, edge_tasks, weight_tasks, first_vertex, last_vertex;
    u32 records, edges;
};

// Pages [first, end) whose coded ones lie one after the other from `coded` on; they go to neighbouring rows of `pages`.
struct CodedRun {
    const u32* coded;
    Word* pages;
    u64 page_words;
    const CodedPage* table;
    u64 first, end;
};

__device__ __forceinline__ u32 lanes_up_to() { return lanes_below() | 1u << lane_of(); }

// 32 bits of a stream of words from a bit on.
template <class Bit> __device__ __forceinline__ u32 window(const u32* words, Bit bit) {
    const u32* at = words + (bit >> 5);
    return u32((u64(read_once(at + 1)) << 32 | read_once(at)) >> u32(bit & 31));
}

__device__ __forceinline__ u32 low_bits(u32 width) { return u32(u64(FULL) >> (32 - min2(width, u32(32)))); }

// A field of at most 32 bits, or of 63 where IDs have 8 bytes, whose words may still be on their way.
struct Field {
    u32 words[1 + sizeof(Word) / 4], shift, width;

    __device__ __forceinline__ Field(const u32* stream, u32 bit, u32 width) : shift(bit & 31), width(width) {
        const u32* const at = stream + (bit >> 5);
        words[0] = read_once(at), words[1] = read_once(at + 1);
        if constexpr (sizeof(Word) == 8) words[2] = width > 32 ? read_once(at + 2) : 0;
    }
    __device__ __forceinline__ u32 from(u32 k) const { return u32((u64(words[k + 1]) << 32 | words[k]) >> shift); }
    __device__ __forceinline__ Word value() const {
        if constexpr (sizeof(Word) == 4) return from(0) & u32(u64(FULL) >> (32 - width));
        else return Word((u64(from(1)) << 32 | from(0)) & ((u64(1) << width) - 1));
    }
};

// Sum over the lanes up to and with each.
template <class T> __device__ __forceinline__ T sums_up_to(T x) {
#pragma unroll
    for (u32 back = 1; back < 32; back <<= 1) {
        const T before = __shfl_up_sync(FULL, x, back);
        if (lane_of() >= back) x += before;
    }
    return x;
}

// The same by two instructions a step instead of four.
__device__ __forceinline__ u32 sums_up_to(u32 x) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (u32 back = 1; back < 32; back <<= 1)
        asm volatile("{ .reg .pred there; .reg .u32 before; shfl.sync.up.b32 before|there, %0, %1, 0, 0xffffffff; "
                     "@there add.u32 %0, %0, before; }" : "+r"(x) : "r"(back));
    return x;
#else
    return sums_up_to<u32>(x);
#endif
}

// The lowest bits of `from`, one for each one of `to`, put where these are: by moves of 1 to 16 places, of which each bit
// makes those that the zeros below its place ask for.
__device__ __forceinline__ u32 spread(u32 from, u32 to) {
    u32 moved[5], ones = to, zeros_below = ~to << 1;  // bit k: the zero at k - 1, then one of every 2, 4, ... of them
#pragma unroll
    for (u32 step = 0; step < 5; step++) {
        u32 odd = zeros_below ^ zeros_below << 1;  // bit k: whether an odd number of them is at or below k
        odd ^= odd << 2, odd ^= odd << 4, odd ^= odd << 8, odd ^= odd << 16;
        moved[step] = odd & ones;
        ones = (ones ^ moved[step]) | moved[step] >> (1 << step);
        zeros_below &= ~odd;
    }
#pragma unroll
    for (i32 step = 4; step >= 0; step--) from = (from & ~moved[step]) | (from << (1 << step) & moved[step]);
    return from & to;
}

// Which page of a run has a task, by the counts of tasks before each.
template <class Before> __device__ __forceinline__ u64 page_of(const CodedRun& run, u64 task, Before before) {
    u64 low = run.first, high = run.end - 1;
    while (low < high) {
        const u64 middle = (low + high + 1) / 2;
        if (before(run.table[middle]) <= task) low = middle;
        else high = middle - 1;
    }
    return low;
}

// A page that is stored as it is: this task's share of it.
__device__ __forceinline__ void copy_share(const u32* from, u32* to, u64 words, u64 task, u64 tasks) {
    const u64 share = (words + tasks - 1) / tasks, end = min2((task + 1) * share, words);
    for (u64 k = task * share + lane_of(); k < end; k += 32) to[k] = read_once(from + k);
}

// visit(block, lane's field, lanes that begin lists, whether the lane has an item) for the blocks of a chunk, by a warp.
// The fields of a block are on their way while the one before is visited: else each block waits for memory.
template <class Visit>
__device__ __forceinline__ void for_blocks(const u32* page, const u32* entry, u32 items, Visit visit) {
    const u32 offset = read_once(entry), packed = read_once(entry + 1), blocks = (items + 31) / 32, lane = lane_of();
    const u32 w0 = opaque(packed & 63), w1 = packed >> 6 & 63, w2 = packed >> 12 & 63;
    const u32 w3 = packed >> 18 & 63, w4 = packed >> 24;
    const u32 more1 = opaque(w1 - w0), more2 = opaque(w2 - w1), more3 = opaque(w3 - w2), more4 = opaque(w4 - w3);
    const u32* const stream = opaque(page + offset + blocks);
    // Lane b: the digits of block b, and how many digits and bits of fields come before them.
    const u32 p0 = lane < blocks ? read_once(page + offset + lane) : 0, n0 = __popc(p0);
    u32 upto = sums_up_to(n0), bit = __shfl_sync(FULL, upto, 31);
    const u32 p1 = window(stream, upto - n0) & low_bits(n0), n1 = __popc(p1);
    upto = sums_up_to(n1);
    const u32 p2 = window(stream, bit + upto - n1) & low_bits(n1), n2 = __popc(p2);
    bit += __shfl_sync(FULL, upto, 31);
    upto = sums_up_to(n2);
    const u32 p3 = window(stream, bit + upto - n2) & low_bits(n2), n3 = __popc(p3);
    bit += __shfl_sync(FULL, upto, 31);
    const u32 mine = lane < blocks ? min2(items - 32 * lane, u32(32)) : 0;
    const u32 bits = mine * w0 + n0 * more1 + n1 * more2 + n2 * more3 + n3 * more4;
    upto = sums_up_to(bits);
    const u32 begins = bit + upto - bits, q1 = spread(p1, p0), q2 = spread(p2, q1), q3 = spread(p3, q2);
    const u32 here = 1u << lane, used = lane < items ? (items - lane + 31) / 32 : 0;  // blocks that have an item for it
    u32 starts = 0;
    const auto take = [&](u32 block) {
        const u32 first = __shfl_sync(FULL, p0, block), second = __shfl_sync(FULL, q1, block);
        const u32 third = __shfl_sync(FULL, q2, block), fourth = __shfl_sync(FULL, q3, block), below = here - 1;
        u32 at = __shfl_sync(FULL, begins, block), width = w0;
        if (block < used)
            at += lane * w0 + __popc(first & below) * more1 + __popc(second & below) * more2 +
                  __popc(third & below) * more3 + __popc(fourth & below) * more4;
        if (first & here) width += more1;
        if (second & here) width += more2;
        if (third & here) width += more3;
        if (fourth & here) width += more4;
        starts = third;
        return Field(stream, at, width);
    };
    Field following = take(0);
    for (u32 block = 0; block < blocks; block++) {
        const Word field = following.value();
        const u32 begin_lists = starts;
        if (block + 1 < blocks) following = take(block + 1);
        visit(block, field, begin_lists, block < used);
    }
}

__device__ __forceinline__ Word carry_of(const u32* entry) {
    if constexpr (sizeof(Word) == 4) return read_once(entry + 4);
    else return Word(u64(read_once(entry + 5)) << 32 | read_once(entry + 4));
}

// Vertices of the slots of the run's pages. A task is a chunk of slots.
KERNEL __launch_bounds__(THREADS, DECODERS_AN_SM) decode_vertices_kernel(const u32* coded, Word* pages, u64 page_words,
                                                                         const CodedPage* table, u64 first, u64 end,
                                                                         u64* wrong) {
    const CodedRun run = {coded, pages, page_words, table, first, end};
    const auto before = [](const CodedPage& page) { return page.vertex_tasks; };
    const u64 tasks_before = table[first].vertex_tasks, tasks = table[end].vertex_tasks - tasks_before;
    for (u64 task = thread_of_grid() / 32; task < tasks; task += threads_of_grid() / 32) {
        const u64 number = page_of(run, task + tasks_before, before);
        const CodedPage& mine = table[number];
        const u32* const page = coded + (mine.begin - table[first].begin);
        Word* const slots = pages + (number - first + 1) * page_words;
        if (table[number + 1].begin - mine.begin == page_words * (sizeof(Word) / 4)) continue;  // the next kernel copies it
        const u32 chunk = u32(task + tasks_before - mine.vertex_tasks), base = chunk * CHUNK;
        const u32 items = min2(mine.records - base, CHUNK);
        if (!(read_once(page + FLAGS) & SPARSE)) {
            for (u32 k = lane_of(); k < items; k += 32)
                slots[-2 * i64(base + k + 1)] = Word(min2(mine.first_vertex + base + k, mine.last_vertex));
            continue;
        }
        const u32* const entry = page + FIRST_ENTRY + chunk * ENTRY_WORDS;
        Word last = carry_of(entry);
        for_blocks(page, entry, items, [&](u32 block, Word field, u32, bool used) {
            const Word vertex = last + sums_up_to(used ? Word(field + 1) : Word(0));
            last = __shfl_sync(FULL, vertex, 31);
            if (!used) return;
            const bool known = vertex >= mine.first_vertex && vertex <= mine.last_vertex;
            if (!known) *wrong = 1;
            slots[-2 * i64(base + 32 * block + lane_of() + 1)] = known ? vertex : Word(mine.last_vertex);
        });
    }
}

// The rest of the run's pages, whose slots have their vertices. A task is a chunk of neighbours; the one of the last
// chunk also writes the header, and zeros where the page is free. last_vertex: of the graph.
KERNEL __launch_bounds__(THREADS, DECODERS_AN_SM) decode_lists_kernel(const u32* coded, Word* pages, u64 page_words,
                                                                      const CodedPage* table, u64 first, u64 end,
                                                                      u64 last_vertex, u64* wrong) {
    const CodedRun run = {coded, pages, page_words, table, first, end};
    const auto before = [](const CodedPage& page) { return page.edge_tasks; };
    const u64 tasks_before = table[first].edge_tasks, tasks = table[end].edge_tasks - tasks_before;
    constexpr u32 HEADER_WORDS = HEADER_BYTES / sizeof(Word);
    const Word most = Word(last_vertex);
    const u32 words_a_page = u32(page_words);
    for (u64 task = thread_of_grid() / 32; task < tasks; task += threads_of_grid() / 32) {
        const u64 number = page_of(run, task + tasks_before, before);
        const CodedPage& mine = table[number];
        const u32* const page = coded + (mine.begin - table[first].begin);
        Word* const out = opaque(pages + (number - first) * page_words);
        const u32 chunk = u32(task + tasks_before - mine.edge_tasks), base = chunk * CHUNK;
        const u64 own = table[number + 1].edge_tasks - mine.edge_tasks, words = page_words * (sizeof(Word) / 4);
        if (table[number + 1].begin - mine.begin == words) {
            copy_share(page, reinterpret_cast<u32*>(out), words, chunk, own);
            continue;
        }
        const u32 flags = read_once(page + FLAGS), items = min2(mine.edges - base, CHUNK);
        const u32 vertex_chunks = flags & SPARSE ? (mine.records + CHUNK - 1) / CHUNK : 0;
        const u32* const entry = page + FIRST_ENTRY + (vertex_chunks + chunk) * ENTRY_WORDS;
        const Word less = flags & REPEATS ? 0 : 1;
        u32 lists = read_once(entry + 2), start = read_once(entry + 3);  // lists so far, and the last one's first edge
        Word last = carry_of(entry);
        Word greatest = 0;
        const auto put = [&](u32 place, Word neighbour) {
            greatest = max2(greatest, neighbour);
            out[place] = min2(neighbour, most);
        };
        for_blocks(page, entry, items, [&](u32 block, Word field, u32 starts, bool used) {
            const u32 lane = lane_of(), edge = base + 32 * block + lane;
            if (starts == 0) {  // one list goes on
                const Word neighbour = last + sums_up_to(used ? Word(field + less) : Word(0));
                last = __shfl_sync(FULL, neighbour, 31);
                if (used) put(HEADER_WORDS + edge + lists, neighbour);
                return;
            }
            const bool begins = starts >> lane & 1;
            const u32 so_far = starts & lanes_up_to(), list = lists + __popc(so_far);  // counted from 1
            Word neighbour = field;
            if (begins && flags & RELATIVE)
                neighbour = out[words_a_page - 2 * list] + (field >> 1 ^ (Word(0) - (field & 1)));
            const Word sum = sums_up_to(begins || !used ? Word(0) : Word(field + less));
            const u32 head = so_far == 0 ? 0 : 31 - __clz(so_far);
            const Word from = __shfl_sync(FULL, neighbour - sum, head);
            neighbour = sum + (so_far == 0 ? last : from);
            last = __shfl_sync(FULL, neighbour, 31);
            if (used) put(HEADER_WORDS + edge + list, neighbour);
            if (begins) {
                const u32 earlier = starts & lanes_below();
                const u32 previous = earlier == 0 ? start : base + 32 * block + 31 - __clz(earlier);
                out[words_a_page - 2 * list + 1] = HEADER_WORDS + edge + list - 1;
                if (list > 1) out[HEADER_WORDS + previous + list - 2] = edge - previous;
            }
            start = base + 32 * block + 31 - __clz(starts);
            lists += __popc(starts);
        });
        if (greatest > most) *wrong = 1;
        if (chunk + 1 != own) continue;
        if (lane_of() < HEADER_BYTES / 4) reinterpret_cast<u32*>(out)[lane_of()] = read_once(page + lane_of());
        if (lane_of() == 0) out[HEADER_WORDS + start + lists - 1] = mine.edges - start;
        const u64 free_end = page_words - 2 * u64(mine.records);
        for (u64 k = HEADER_WORDS + mine.edges + mine.records + lane_of(); k < free_end; k += 32) out[k] = 0;
    }
}

// Elements of the weights pages of a run, of 1 or 4 bytes each; zigzag: they may be negative. A task is a share of a page.
// Only floats have a base and a shift other than 0.
template <class Element>
__device__ __forceinline__ void decode_weights(const u32* coded, Element* pages, u64 page_words, const CodedPage* table,
                                               u64 first, u64 end, bool zigzag) {
    const CodedRun run = {coded, nullptr, page_words, table, first, end};
    const auto before = [](const CodedPage& page) { return page.weight_tasks; };
    const u64 tasks_before = table[first].weight_tasks, tasks = table[end].weight_tasks - tasks_before;
    constexpr u32 HEADER_WORDS = HEADER_BYTES / sizeof(Word);
    for (u64 task = thread_of_grid() / 32; task < tasks; task += threads_of_grid() / 32) {
        const u64 number = page_of(run, task + tasks_before, before);
        const CodedPage& mine = table[number];
        const u32* const page = coded + (mine.weights_begin - table[first].weights_begin);
        Element* const out = pages + (number - first) * page_words;
        const u64 share = task + tasks_before - mine.weight_tasks, shares = table[number + 1].weight_tasks - mine.weight_tasks;
        const u64 words = page_words * sizeof(Element) / 4;
        if (table[number + 1].weights_begin - mine.weights_begin == words) {
            copy_share(page, reinterpret_cast<u32*>(out), words, share, shares);
            continue;
        }
        const u32 packed = read_once(page), width = packed & 0xff, shift = packed >> 8, base = read_once(page + 1);
        const u64 stop = min2((share + 1) * WEIGHTS_AT_ONCE, page_words), used = HEADER_WORDS + mine.edges + mine.records;
        for (u64 k = share * WEIGHTS_AT_ONCE + lane_of(); k < stop; k += 32) {
            u32 field = 0;
            if (k >= HEADER_WORDS && k < used) field = window(page, 64 + (k - HEADER_WORDS) * width) & low_bits(width);
            out[k] = Element(zigzag ? field >> 1 ^ (0u - (field & 1)) : field == 0 ? 0 : base + (field << shift));
        }
    }
}

KERNEL __launch_bounds__(THREADS, DECODERS_AN_SM) decode_bytes_kernel(const u32* coded, u8* pages, u64 page_words,
                                                                      const CodedPage* table, u64 first, u64 end) {
    decode_weights(coded, pages, page_words, table, first, end, false);
}

KERNEL __launch_bounds__(THREADS, DECODERS_AN_SM) decode_words_kernel(const u32* coded, u32* pages, u64 page_words,
                                                                      const CodedPage* table, u64 first, u64 end,
                                                                      u64 zigzag) {
    decode_weights(coded, pages, page_words, table, first, end, zigzag != 0);
}
