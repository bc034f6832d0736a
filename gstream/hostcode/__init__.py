"""A Program compiled for the host's cores: one generated Numba module a program, with page kernels around its methods.

    code = compile_host(program, shape, lookup=store.lookup)   # HostCode; `shape` is a GraphShape

What `code` says
    value_dtype, got_dtype (what messages are combined in: float64 for SUM of f32 and f64, 64 bits for SUM of integers,
    else value_dtype), identity, idempotent, in_place (relax straight in `value`; no apply: gstream.language.relaxing),
    synchronous (after k supersteps a value rests on what lies within k edges), premessage (SUM whose send does not
    read e: pull gathers `msg`, filled by `message`, instead of `value`), uses_edge, uses_degree, has_done, totals
    (names, in order), no_weights (what to pass as `weights` where the program reads none),
    ints, floats (context arrays, below), own, members (arrays of PerVertex and Vertices parameters).
    code.reads() -> which attributes are read: a set of "degree", "in_degree", "weight".
Context (shared by all kernels; written by the driver between launches, through these two methods)
    code.set_superstep(n); code.set_totals(partials) sums partials in block order into g.<total> and returns them.
    code.halt() -> bool, with the totals last set.

Arrays
    words    id[rows, W]        pages seen as words (`pages.view(layout.id_dtype)`), any rows, C-contiguous
    weights  weight[rows, W]    weight pages of the same rows, or code.no_weights
    parts    int64[m, 3]        (row, first, end): slots [first, end) of a small page, words [first, end) of a large one
    records  int64[m, 5]        (row, first word, count, vertex, stride): a stretch of one vertex's list, whose words
                                are `stride` apart (1, or more in a column page)
    value    value[n]           n vertices from `value_first`; `degree` and `in_degree` u4 (or u8) are sliced the same
                                way; uint32[0] will do where code.reads() has them not
    *_bits   uint64[ceil(V/64)] bit v & 63 of word v >> 6; always over all vertices of the graph
    partials float64[ceil(V / BLOCK), totals]   sums by blocks of BLOCK = 8,192 vertices
    counter  int64[1]           zero before a launch; N threads call the same kernel with the same arguments, and each
                                claims work from it until there is none left. Every kernel is called without the GIL.

Arrays must be C-contiguous and writable: Numba compiles a kernel anew for read-only or strided ones. The gather is
bound by its random reads: prefetching the sources of the words ahead was measured and gains nothing (scale 20 to 24).

Kernels (attributes of `code`; each returns the edges it looked at, or 0)
    start(value, value_first, degree, in_degree, own, members, bits, open_bits, partials, first, last,
          ints, floats, counter)
          value[first:last], bits (value != identity); first is a multiple of BLOCK. open_bits are the vertices that
          are not `done` (written only by programs that have it; else pass uint64[0]).
    message(value, value_first, degree, msg, msg_first, first, last, ints, floats, counter)     # premessage only
    push(words, weights, parts, counter, value, value_first, degree, active_bits, dst, dst_first, dst_last,
          next_bits, ints, floats)
          out-pages; sources with their active bit set (SUM: all of them); atomics on dst (value when in_place, else
          got: got_dtype[dst_last - dst_first], filled with code.identity beforehand). next_bits: in_place only.
    push_records(words, weights, records, counter, ...as push)           # sparse: no active test
    push_onward                               # no apply, no totals: supersteps in a row (templates/onward.py)
    sum_onward                                # SUM: supersteps in a row, few values change (templates/sum_onward.py)
    pull(words, weights, parts, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last,
          next_bits, open_bits, carry, ints, floats)
          in-pages; source = msg when premessage, else value. Vertices outside [dst_first, dst_last) are passed over,
          so are those whose open bit is 0 (programs with `done`; others never read open_bits), and so are sources
          whose active bit is 0 (SUM: never). carry: got_dtype[m], one a part; only SUM and large pages use it.
          `done` stops a list early and clears nothing: open_bits are refreshed by `reopen` or by pull_heads.
    pull_records(words, weights, records, counter, ...as pull without carry; idempotent combines only)
    pull_heads(heads, head_skip, open_bits, remain_bits, value, degree, active_bits, next_bits, first, last,
          ints, floats, counter)                                         # has_done and in_place and not uses_edge only
          heads[v - head_skip] for open v in [first, last), first a multiple of 64. Clears the open bit of what is
          settled (and of vertices without in-edges), sets remain_bits of what is open and has a list beyond its heads.
          remain_bits are written whole: no clearing needed inside [first, last).
    reopen(value, value_first, open_bits, first, last, ints, floats, counter)     # open_bits anew; first multiple of 64
    apply(value, value_first, got, got_first, degree, in_degree, own, next_bits, partials, msg, first, last,
          ints, floats, counter)
          not in_place only; writes value, next_bits (new != before), partials and resets got to the identity.
          first is a multiple of BLOCK.

Kernels of no program (gstream.hostcode.parts, gstream.hostcode.bitmaps), compiled once for all
    make_parts(words, rows, edges_a_part=EDGES_A_PART) -> parts; rows int64[k] of `words`
    find_records(words, rows, first_vertex, last_vertex, small_rows, vertices, skip=0, stretch=4096) -> records
          rows int64[n] of `words`: small_rows small pages, then large ones, each kind ascending; first_vertex and
          last_vertex uint64[n]; vertices ascending uint64[k] (those without a record are left out); the first `skip`
          neighbours of each list are left out (heads were looked at). Slots are found by interpolation, so no index
          is held: in degree order the first guess is right.
    find_lists(..., out) -> count: the same into `out`, as far as there is room
    list_active (gstream.hostcode.small_frontier): a small frontier as a list
    transpose (gstream.hostcode.transposed): edges the other way round, as one small page
    bitmap(vertices); list_bits(bits, first, last) -> uint64[k] ascending; count_bits(bits) -> int;
    set_bits(bits, vertices)
    count_pages(bits, first_vertex, last_vertex, lists) -> count of rows that hold a vertex of `bits`, and how many each
"""

from gstream.hostcode.bitmaps import bitmap, count_bits, count_pages, list_bits, set_bits
from gstream.hostcode.compile import GraphShape, HostCode, compile_host
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.parts import EDGES_A_PART, find_records, make_parts

__all__ = [
    "BLOCK", "EDGES_A_PART", "GraphShape", "HostCode", "bitmap", "compile_host", "count_bits", "count_pages",
    "find_records", "list_bits", "make_parts", "set_bits",
]  # fmt: skip
