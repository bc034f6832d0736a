// What devices do with each other's copies of WA: reduce one's slice of all copies, put hub sums in, start anew.
//
// Peers are read in place over NVLink or PCIe (ceilings: 374 GB/s), each element once, coalesced; a thread an element.
// Copies are combined in the order of the devices, so that every slice's bits are the same whoever reduces it.
#include "combine.cuh"

// mine[v] = all copies' value v combined; copies: addresses of the peers' slices, mine among them. Any launch.
KERNEL __launch_bounds__(THREADS)
reduce_kernel(Got* mine, const u64* copies, u64 peers, u64 count) {
    for (u64 k = thread_of_grid(); k < count * LENGTH; k += threads_of_grid()) {
        Got all = reinterpret_cast<const Got*>(copies[0])[k];
        for (u64 peer = 1; peer < peers; peer++) {
            const Got other = reinterpret_cast<const Got*>(copies[peer])[k];
            if (better(other, all)) all = merged(all, other);
        }
        mine[k] = all;
    }
}

// got[v] = the identity. Any launch.
KERNEL __launch_bounds__(THREADS) reset_kernel(Got* got, u64 count) {
    for (u64 k = thread_of_grid(); k < count * LENGTH; k += threads_of_grid()) got[k] = program::no_got();
}

// got[hubs[k] - first] += sums[starts[k]] + ... + sums[starts[k + 1] - 1], for hubs within [first, last), and whose bit
// of `told` is set where there are such bits. A warp a hub, in an order that depends on the number of its sums alone. Any
// launch.
KERNEL __launch_bounds__(THREADS)
add_hub_sums_kernel(const u64* hubs, const u64* starts, u64 count, const Got* sums, Got* got, u64 first, u64 last,
                    const u64* told) {
    for (u64 k = thread_of_grid() >> 5; k < count; k += threads_of_grid() >> 5) {
        const u64 v = hubs[k];
        if (v < first || v >= last || told != nullptr && !is_set(told, v)) continue;
        for (u64 at = 0; at < LENGTH; at++) {
            Got all = 0;
            for (u64 i = starts[k] + lane_of(); i < starts[k + 1]; i += 32) all += sums[i * LENGTH + at];
            all = team_sum(all, 32);
            if (lane_of() == 0) got[(v - first) * LENGTH + at] += all;
        }
    }
}
