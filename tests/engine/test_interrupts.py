"""Signals that come while kernels run: what is claimed is done, nothing more, and then the signal is raised."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from engine_graphs import make_store

import gstream
from gstream.algorithms.density import joins, truss
from gstream.algorithms.support.session import Session
from gstream.devices.host.threads import Workers
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.hostcode.records import load_kernel
from tests import choice

CLAIMS = 500  # of some 10 ms
CLIQUE = 3000  # vertices: some billion steps of joins
STARTED_SECONDS = 600.0


class Stop(BaseException):
    """What the signal raises."""


def signals_when(began, number):
    """A thread that, once it is started, sends the signal when began() is true."""

    def send():
        until = time.monotonic() + STARTED_SECONDS
        while not began() and time.monotonic() < until:
            time.sleep(0.001)
        os.kill(os.getpid(), number)

    return threading.Thread(target=send)


@kernel
def spin(steps, done, counter):
    """done[0] += 1 for each of CLAIMS claims, done[1] += 1 for each of its steps."""
    while True:
        if np.uint64(atomic_add(counter, 0, 1)) >= np.uint64(CLAIMS):
            return np.uint64(0)
        left = np.uint64(steps)
        while left != np.uint64(0):
            left -= np.uint64(1)
            atomic_add(done, 1, np.uint64(1))
        atomic_add(done, 0, np.uint64(1))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_signal_stops_a_long_call_after_what_is_claimed(threads):
    """Threads that run compiled code would otherwise go on to the end, the caller among them."""

    def stop(number, frame):
        raise Stop

    done, counter = np.zeros(2, np.uint64), np.zeros(1, np.int64)
    before = signal.signal(signal.SIGUSR1, stop)
    workers, watcher = Workers(threads), signals_when(lambda: done[0] > 0, signal.SIGUSR1)
    try:
        assert workers.run(spin, 0, done, counter, claims=counter) == 0
        assert done.tolist() == [CLAIMS, 0] and counter[0] == CLAIMS + threads
        done[:], counter[:] = 0, 0
        watcher.start()
        with pytest.raises(Stop):
            workers.run(spin, 1 << 20, done, counter, claims=counter)
        ended = int(done[0])
        assert 0 < ended < CLAIMS
        time.sleep(0.1)
        assert done.tolist() == [ended, ended << 20]
        watcher.join()
        assert workers.run(lambda: 2) == workers.run(lambda: 2, claims=counter) == 2 * threads
        assert workers.run(lambda: 1, limit=1, claims=counter) == 1
    finally:
        workers.close()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("name", ["triangles", *choice.also("lcc", "ktruss")])
def test_a_signal_stops_joins(tmp_path, monkeypatch, name):
    """Of a clique whose lists take seconds to join, a part is joined."""
    joined, each = [], Session.each

    def interrupted(session, called, *arguments, **options):
        if called in (joins.close_marked, load_kernel(truss.count_supports)):
            joined.append(arguments[8] if called is joins.close_marked else arguments[-1])
            watcher.start()
        return each(session, called, *arguments, **options)

    monkeypatch.setattr(Session, "each", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = signals_when(lambda: joined[0].any(), signal.SIGINT)
    source, target = np.triu_indices(CLIQUE, 1)
    store = make_store(tmp_path, source, target, directed=False, page_bytes=1 << 16)
    store.close()
    try:
        with gstream.open(store.path) as graph, pytest.raises(KeyboardInterrupt):
            getattr(graph, name)()
        whole = CLIQUE * (CLIQUE - 1) * (CLIQUE - 2)  # of triangles, 3 entries each; of arcs, twice as many
        assert 0 < int(joined[0].sum()) < (whole // 2 if name == "ktruss" else whole)
        watcher.join()
    finally:
        signal.signal(signal.SIGINT, before)
