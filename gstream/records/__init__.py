"""Page kernels written once: what happens at a record, as scalar Python, for the host's cores and for GPUs.

    @record_kernel(met="or")
    def mark_met(record, met):
        for u in record.neighbours():
            set_bit(met, u)

`record` is a stretch of one vertex's list. The driver calls the kernel for stretches that together are all lists:
    record.vertex             whose list it is, u64
    record.count              neighbours in the stretch
    record.shared             others may work on stretches of the same list at the same time
    for u in record.neighbours():          u64, in ascending order
    for u in record.distinct(hubs, ends):  each once, however often it stands in the list
    record.weight()                        inside such a loop: the weight of the edge to u
    record.page(first_vertex, small_pages)   the number of the page
    record.note_end(hubs, ends)              ends: the last neighbour of every large page, as a statement
                                           (gstream.algorithms.support.simple)
The other parameters are arrays and numbers. A kernel returns nothing; `return` leaves the record. Arrays that it writes
are named with how copies of several GPUs or ranks become one: "or", "min", "max", "sum" (of what each added), "one" (a
copy that changed an element is right), "note" (gstream.algorithms.support.shared), "own" (the caller of the sweep
merges them). A test at its beginning that leaves the record lets GPUs pass over a list before they read it.
`gstream show --cuda` prints kernels for arrays of usual types. Those follow from their names, or are said beside how
copies become one: "float64[]", "float64[] sum" (gstream.records.usual).

An item kernel is the same for items of any kind, such as the lists of a block (gstream.algorithms.support.blocks):

    @item_kernel(sums="sum")
    def add_up(item, starts, entries, sums):
        begin, end = item.part(starts[item.number], starts[item.number + u64(1)])
        for index in range(begin, end): ...

    item.number               which one it is, below the count that it is run for, u64
    item.part(low, high)      the part of [low, high) that is to be done here: several may share an item
    item.share(size, count)   the part of the item's share of [0, count), of which each item has `size`
    item.step()               counts an edge that is looked at, as a statement

Functions that it calls are gstream.hostcode.jit helpers; gstream.cudacode.scalar_text says what these may be made of.
"""

from gstream.records.copies import merge_copies
from gstream.records.declare import ItemKernel, RecordKernel, bytes_of, item_kernel, record_kernel

__all__ = ["ItemKernel", "RecordKernel", "bytes_of", "item_kernel", "merge_copies", "record_kernel"]
