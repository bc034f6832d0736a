"""Pages from disk through a cache in host memory: what was to be read ahead, and was not, is read when it is wanted."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from engine_graphs import make_store, skewed_edges

from gstream.paging.page_source import PageSource, SourcePlan, nothing
from gstream.paging.page_table import page_table
from pagestore.crc import page_crcs
from pagestore.errors import StoreError


class Readers:
    """An executor whose calls are done when they are asked for, or never."""

    def __init__(self) -> None:
        self.waits, self.fails = False, False

    def submit(self, file, call, *arguments):
        future: Future[None] = Future()
        if self.fails:
            future.set_exception(StoreError("made up by the test"))
        elif not self.waits:
            call(*arguments)
            future.set_result(None)
        return future


@pytest.fixture
def source(tmp_path):
    edges = skewed_edges(700, 14000, seed=11)
    with make_store(tmp_path, *edges, vertices=700, directed=False) as store:
        topology = store.topology("out")
        table = page_table(topology, 1)
        plan = SourcePlan(False, False, batch_pages=2, groups=3, cache_pages=table.pages - 1, policy="lru")
        read: list[int] = []
        made = PageSource(table, topology.reader(direct=False), plan, Readers(), read.append)  # type: ignore[arg-type]
        made.read = read
        yield made
        made.close()


def sweep(source: PageSource) -> None:
    """Ask for all pages, and look whether they are what the directory says."""
    for batch in source.batches(source.table.all_pages(), False, nothing):
        for number, row in zip(batch.numbers, batch.rows, strict=True):
            assert page_crcs(int(number), batch.pages[row][None])[0] == source.table.crc[number]
        batch.done()


@pytest.mark.parametrize("failing", [False, True])
def test_what_was_not_read_ahead_is_read_later(source, failing):
    """Reads that are begun when the last batch is out are cancelled, or fail; their pages have slots already."""
    readers = source._readers
    sweep(source)
    assert not source._unread.any()
    missed = source.cache.absent(source.table.all_pages())
    assert len(missed) > 0
    readers.waits, readers.fails = True, failing
    source._ahead.append(source._begin(missed[:1], source._free.popleft(), False))
    source.end_reading()
    assert source.cache.slot_of_page[missed[0]] >= 0 and source._unread.sum() == 1
    readers.waits = readers.fails = False
    read = sum(source.read)
    sweep(source)
    assert sum(source.read) > read and not source._unread.any()
    sweep(source)
