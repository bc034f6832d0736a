"""Threads that read from several disks: who reads what, how a batch's parts end, and how busy the disks are kept."""

from __future__ import annotations

import random
import threading
from concurrent.futures import Future

import pytest

from gstream.options.run_options import BATCH_BYTES, READ_THREADS
from gstream.paging.readers import Read, Readers
from pagestore.convert.finish import STRIPE_BYTES
from pagestore.spread import Spread


def test_each_file_has_threads_of_its_own():
    """A disk that hangs does not keep another one waiting."""
    readers, hung, names = Readers(2, 2), threading.Event(), []
    try:
        waiting = [readers.submit(0, hung.wait) for _ in range(5)]
        parts = [readers.submit(1, lambda: names.append(threading.current_thread().name)) for _ in range(5)]
        Read(parts).result()
        assert len(names) == 5 and all(name.startswith("read-ahead-1_") for name in names)
        assert not any(part.done() for part in waiting)
    finally:
        hung.set()
        readers.close()
    assert all(part.done() for part in waiting)


def test_another_number_of_threads():
    readers = Readers(2, 1)
    assert readers.at_once == 2
    first, done = readers._pools, []
    readers.resize(1)
    assert readers._pools is first, "nothing changes"
    part = readers.submit(1, done.append, 1)
    readers.resize(4)
    assert readers.at_once == 8 and part.done(), "what was under way was waited for"
    readers.submit(0, done.append, 2).result()
    readers.close()
    assert done == [1, 2]


def ended(error: BaseException | None = None) -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None) if error is None else future.set_exception(error)
    return future


def test_a_read_that_fails_is_over_when_it_says_so():
    """All its parts have ended by then: none writes into rows that others get."""
    running: Future[None] = Future()
    running.set_running_or_notify_cancel()
    read = Read([ended(ValueError("part 1")), running])
    assert not read.done()
    threading.Timer(0.05, running.set_result, [None]).start()
    with pytest.raises(ValueError, match="part 1"):
        read.result()
    assert running.done() and read.done() and read.failed


def test_ending_cancels_what_has_not_begun():
    running: Future[None] = Future()
    running.set_running_or_notify_cancel()
    waiting: Future[None] = Future()
    threading.Timer(0.05, running.set_result, [None]).start()
    read = Read([running, waiting, ended()])
    read.end()
    assert running.done() and waiting.cancelled() and read.failed
    assert not Read([ended(), ended()]).failed


@pytest.mark.parametrize("disks", [2, 3, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_disks_are_kept_busy(disks, seed):
    """Of the sum of the disks' rates at least 95 %, in simulated time: requests take 0.4 to 1.6 times their mean."""
    numbers, spread, stretches = random.Random(seed), Spread(disks, 1), BATCH_BYTES // STRIPE_BYTES
    window, batches = Readers(disks, READ_THREADS).at_once + 2, 1000
    busy_until, taken = [0.0] * disks, [0.0]
    for batch in range(batches):
        begins, ends = taken[max(0, batch + 1 - window)], 0.0
        for stretch in range(batch * stretches, (batch + 1) * stretches):
            disk = spread.file_of(stretch)
            busy_until[disk] = max(busy_until[disk], begins) + numbers.uniform(0.4, 1.6)
            ends = max(ends, busy_until[disk])
        taken.append(max(taken[-1], ends))  # batches are used in order
    assert batches * stretches / disks / taken[-1] > 0.95
