// Connected components by union-find: parent[v] <= v always, so links never make a cycle; a root is its own parent.
//
// Linking hooks the higher root under the lower one by compare-and-swap (Afforest: Sutton, Ben-Nun, Barak 2018); a lost
// race looks again from where the winner left off. Links read parents past L1, where others' links would not be seen;
// what only asks whether two vertices are in one tree reads through it, as an old parent is in the tree, too.
// Bound by the latency of two reads of parents an edge, most of them of hubs and of roots, which stay in L1 and L2.
//
// giant: the root of the largest tree when it was looked for, in GPU memory, so that the host need not wait; 0: none.
#include "heads.cuh"
#include "pages.cuh"

__device__ __forceinline__ Word parent_of(const Word* parent, Word v) {
    return *const_cast<const volatile Word*>(parent + v);
}

// Put a and b into one tree.
__device__ __forceinline__ void link(Word* parent, Word a, Word b) {
    Word one = parent_of(parent, a), other = parent_of(parent, b);
    while (one != other) {
        const Word high = one > other ? one : other, low = one > other ? other : one;
        const Word above = parent_of(parent, high);
        if (above == low) return;
        if (above == high && atomicCAS(parent + high, high, low) == high) return;
        one = parent_of(parent, parent_of(parent, high));
        other = parent_of(parent, low);
    }
}

// parent[v] = v: a forest of single vertices. Any launch.
KERNEL __launch_bounds__(THREADS) make_trees_kernel(Word* parent, u64 count) {
    for (u64 v = thread_of_grid(); v < count; v += threads_of_grid()) parent[v] = Word(v);
}

// The first links of such a forest take no atomics: parent[v] = the first neighbour of v, where that is lower, for
// vertices first + row, rows [0, count). Higher ones, few in degree order, are left to the next call. seconds, where it is
// not 0: seconds[v] = the second neighbour, so that this call has less to read than heads; v where it has to read them.
// Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
plant_kernel(Word* parent, const Word* heads, u64 first, u64 count, Word* seconds, u64* edges) {
    const u64 none = Word(~Word(0));
    u64 looked = 0;
    for (u64 row = thread_of_grid(); row < count; row += threads_of_grid()) {
        const Word v = Word(first + row);
        const Head head = head_of(heads, row);
        const bool lower = head.neighbour[0] < v;
        if (head.neighbour[0] != none) looked++;
        if (lower) parent[v] = Word(head.neighbour[0]);
        if (seconds != nullptr) seconds[v] = lower || head.neighbour[0] == none ? Word(head.neighbour[1]) : v;
    }
    count_up(edges, looked);
}

// That call: link vertices first + row, rows [0, count), with their second neighbours, and with first ones that
// plant_kernel left. Any launch of whole warps.
KERNEL __launch_bounds__(THREADS)
link_seconds_kernel(Word* parent, const Word* heads, u64 first, u64 count, const Word* seconds, u64* edges) {
    const u64 none = Word(~Word(0));
    u64 looked = 0;
    const auto look = [&](Word v, u64 neighbour) {
        if (neighbour == none) return;
        if (parent[neighbour] != parent[v]) link(parent, v, Word(neighbour));
        looked++;
    };
    for (u64 row = thread_of_grid(); row < count; row += threads_of_grid()) {
        const Word v = Word(first + row), second = read_once(seconds + v);
        if (second != v) {
            look(v, second);
            continue;
        }
        const Head head = head_of(heads, row);
        if (head.neighbour[0] >= v) look(v, head.neighbour[0]);
        look(v, head.neighbour[1]);
    }
    count_up(edges, looked);
}

// Link vertices first + row, rows [0, count), with their neighbours [column, end) of the heads; those in the tree of
// `giant` are left out where there is one. planted: plant_kernel has linked lower first neighbours already. Any launch of
// whole warps.
KERNEL __launch_bounds__(THREADS)
link_heads_kernel(Word* parent, const Word* heads, u64 first, u64 count, u64 column, u64 end, u64 planted,
                  const u64* giant, u64* edges) {
    const u64 none = Word(~Word(0));
    u64 looked = 0;
    for (u64 row = thread_of_grid(); row < count; row += threads_of_grid()) {
        const Word v = Word(first + row);
        const Word mine = parent[v];
        if (giant != nullptr && mine == *giant) continue;
        const Head head = head_of(heads, row);
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            if (k < column || k >= end || head.neighbour[k] == none) continue;
            if (k == 0 && planted && head.neighbour[0] < v) continue;
            if (parent[head.neighbour[k]] != mine) link(parent, v, Word(head.neighbour[k]));
            looked++;
        }
    }
    count_up(edges, looked);
}

// The root of a vertex, which it points to afterwards; nobody may link meanwhile.
__device__ __forceinline__ Word compressed(Word* parent, u64 v) {
    const Word before = parent[v];
    Word root = before;
    for (Word above; (above = parent[root]) != root;) root = above;
    if (root != before) parent[v] = root;
    return root;
}

// Every vertex points to its root. Any launch.
KERNEL __launch_bounds__(THREADS) compress_kernel(Word* parent, u64 count) {
    for (u64 v = thread_of_grid(); v < count; v += threads_of_grid()) compressed(parent, v);
}

// *giant = the most frequent of parent[0], parent[step], ..., `samples` of them, THREADS at most. Trees must be compressed.
// One block.
KERNEL __launch_bounds__(THREADS) giant_kernel(const Word* parent, u64 step, u64 samples, u64* giant) {
    __shared__ Word root[THREADS];
    __shared__ u32 most;
    const u32 me = threadIdx.x;
    if (me < samples) root[me] = parent[me * step];
    if (me == 0) most = 0;
    __syncthreads();
    u32 same = 0;
    for (u32 k = 0; me < samples && k < samples; k++) same += root[k] == root[me];
    if (me < samples) atomicMax(&most, same << 16 | (THREADS - 1 - me));  // the first of the most frequent
    __syncthreads();
    if (me == 0) *giant = samples ? root[THREADS - 1 - (most & 0xFFFF)] : 0;
}

// Every vertex points to its root. bits, written whole: vertices that are not in the tree of `giant` and have `least`
// edges or more by their degrees; where degree is 0, those whose head is full, of `rows` heads; *found += how many. Any
// launch of whole warps.
KERNEL __launch_bounds__(THREADS)
mark_outside_kernel(Word* parent, u64 count, const u64* giant, const Word* heads, u64 rows, const Degree* degree,
                    u64 least, u64* bits, u64* found) {
    const u64 words_end = (count + 63) & ~u64(63);
    const auto long_enough = [&](u64 v) {
        return degree ? degree[v] >= least : v < rows && heads[4 * v + 3] != Word(~Word(0));
    };
    const Word root = compressed(parent, *giant);
    u64 mine = 0;
    for (u64 v = thread_of_grid(); v < words_end; v += threads_of_grid()) {
        const bool outside = v < count && compressed(parent, v) != root && long_enough(v);
        const u32 votes = __ballot_sync(FULL, outside);
        if (lane_of() == 0) reinterpret_cast<u32*>(bits)[v >> 5] = votes;
        mine += outside;
    }
    count_up(found, mine);
}

// Link every record's vertex of the parts with its neighbours; records of vertices in the tree of `giant` are passed over
// where there is one. lower_only: neighbours above the vertex are left to their own lists (undirected, none passed
// over).
KERNEL __launch_bounds__(THREADS, BLOCKS_AN_SM)
link_pages_kernel(const Word* __restrict__ words, const Weight* __restrict__ weights, u64 page_words, const Entry* entries,
                  u64 base, u64 far, const u64* first_vertex, const Part* parts, u64 part_first, u64 part_count, Claims* claims, Word* parent,
                  const u64* giant, u64 lower_only, u64* edges) {
    const Word root = giant == nullptr ? 0 : parent[*giant];
    const auto wanted = [&](u64 v) { return giant == nullptr || parent[v] != root; };
    const auto link_all = [&](const Word* page, List list, u32 rank, u32 size) {
        u32 looked = 0;
        for (u32 word = list.first + rank; word < list.stop; word += size) {
            const Word u = read_once(page + word);
            if (lower_only && u >= list.vertex) break;
            looked++;
            if (parent[u] != parent[list.vertex]) link(parent, Word(list.vertex), u);
        }
        return looked;
    };
    const auto wide = [&](List list, const Word* page, const Weight*, u64) {
        return link_all(page, list, lane_of(), 32);
    };
    const auto small = [&](Part part, const Page& page, const Weight*) {
        return for_lists<BLOCK_WARPS>(page, part, wanted, [&](List list, u32 rank, u32 size) {
            return link_all(page.words, list, rank, size);
        });
    };
    const auto columns = [&](Part part, const Page& page, const Weight*) {
        return for_columns(page, part, wanted,
                           [&](List list, u32 stride) { return link_all(page.words, list, 0, stride); });
    };
    const Pool pool = {words, weights, page_words, entries, base, far != 0, first_vertex};
    count_up(edges, for_parts<BLOCK_WARPS>(pool, parts, part_first, part_count, claims, wanted, wide, small, columns));
}

// Link vertices [first, first + count) with their parents in another device's forest, other[0, count). Any launch.
KERNEL __launch_bounds__(THREADS) link_forest_kernel(Word* parent, const Word* other, u64 first, u64 count) {
    for (u64 k = thread_of_grid(); k < count; k += threads_of_grid()) {
        const Word v = Word(first + k);
        if (parent[v] != other[k]) link(parent, v, other[k]);
    }
}

// *found += trees; least[root] = the least natural index of a vertex in the root's tree: natural[v], v itself where
// natural is 0. All bits of least are set at first. Trees must be compressed. Most vertices are in the tree of `giant`,
// whose least is found in registers and shared memory. unless: nothing is done where this number is not 0. Any launch of
// whole blocks.
KERNEL __launch_bounds__(THREADS)
least_natural_kernel(const Word* parent, const Word* natural, u64 count, const u64* giant, Word* least, u64* found,
                     const u64* unless) {
    __shared__ Word best;
    if (unless != nullptr && *unless != 0) return;
    const Word large = count ? parent[*giant] : 0;
    if (threadIdx.x == 0) best = Word(~Word(0));
    __syncthreads();
    Word mine = Word(~Word(0));
    u64 roots = 0;
    for (u64 v = thread_of_grid(); v < count; v += threads_of_grid()) {
        const Word root = parent[v], index = natural ? natural[v] : Word(v);
        roots += root == v;
        if (root != large) atomicMin(least + root, index);
        else if (index < mine) mine = index;
    }
    if (mine != Word(~Word(0))) atomicMin(&best, mine);
    count_up(found, roots);
    __syncthreads();
    if (threadIdx.x == 0 && best != Word(~Word(0))) atomicMin(least + large, best);
}

// parent[v] = least[parent[v]] for vertices below `linked`, and their own natural index (natural as above) for the others:
// the forest becomes its labels; unless: as above. Any launch.
KERNEL __launch_bounds__(THREADS)
relabel_kernel(Word* parent, const Word* least, const Word* natural, u64 linked, u64 count, const u64* unless) {
    if (unless != nullptr && *unless != 0) return;
    for (u64 v = thread_of_grid(); v < count; v += threads_of_grid())
        parent[v] = v < linked ? least[parent[v]] : natural ? natural[v] : Word(v);
}
