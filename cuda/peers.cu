// What devices do with each other's copies of WA: reduce one's slice of all copies, put hub sums in, start anew.
//
// Peers are read in place over NVLink or PCIe (ceilings: 374 GB/s), each element once, coalesced; a thread an element.
// Copies are combined in the order of the devices, so that every slice's bits are the same whoever reduces it.
#include "combine.cuh"

// mine[k] = all copies' element k combined; copies: addresses of the peers' slices, mine among them. Any launch.
KERNEL __launch_bounds__(THREADS)
reduce_kernel(Got* mine, const u64* copies, u64 peers, u64 count) {
    for (u64 k = thread_of_grid(); k < count; k += threads_of_grid()) {
        Got all = reinterpret_cast<const Got*>(copies[0])[k];
        for (u64 peer = 1; peer < peers; peer++) {
            const Got other = reinterpret_cast<const Got*>(copies[peer])[k];
            if (better(other, all)) all = merged(all, other);
        }
        mine[k] = all;
    }
}

// got[k] = the identity. Any launch.
KERNEL __launch_bounds__(THREADS) reset_kernel(Got* got, u64 count) {
    for (u64 k = thread_of_grid(); k < count; k += threads_of_grid()) got[k] = program::no_got();
}

// got[vertices[k] - first] += sums[k], in order; sums of one vertex stand together; those outside [first, last) are
// passed over. A thread a vertex, for there are few hubs. Any launch.
KERNEL __launch_bounds__(THREADS)
add_hub_sums_kernel(const u64* vertices, const Got* sums, u64 count, Got* got, u64 first, u64 last) {
    for (u64 k = thread_of_grid(); k < count; k += threads_of_grid()) {
        const u64 v = vertices[k];
        if ((k > 0 && vertices[k - 1] == v) || v < first || v >= last) continue;
        Got all = got[v - first];
        for (u64 i = k; i < count && vertices[i] == v; i++) all += sums[i];
        got[v - first] = all;
    }
}
