"""A small driver for kernel tests: every vertex and page in memory, N threads, one way of stepping at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from handmade import make_pages

from gstream.hostcode import (
    BLOCK,
    GraphShape,
    bitmap,
    compile_host,
    find_records,
    list_bits,
    make_parts,
)

WAYS = ("push", "push_records", "pull", "pull_records", "pull_heads")


@dataclass
class Graph:
    """An edge list and its out- and in-pages."""

    vertices: int
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    page_bytes: int = 4096
    id_bytes: int = 4
    columns: int = 1

    def __post_init__(self):
        sizes = {"page_bytes": self.page_bytes, "id_bytes": self.id_bytes, "columns": self.columns}
        self.out = make_pages(self.vertices, self.source, self.target, self.weight, **sizes)
        self.into = make_pages(self.vertices, self.target, self.source, self.weight, **sizes)

    def shape(self):
        weight = None if self.weight is None else self.weight.dtype
        return GraphShape(self.vertices, len(self.source), self.out.layout.id_dtype, weight)


class Loop:
    """Supersteps until halted or nothing is active; whoever has kernels says how one starts and steps."""

    def run(self, max_supersteps=1000):
        code = self.code
        self.start()
        self.totals = code.set_totals(self.partials)
        self.supersteps, self.converged = 0, not self.active.any()
        while self.supersteps < max_supersteps and not self.converged:
            self.supersteps += 1
            code.set_superstep(self.supersteps)
            self.step()
            self.totals = code.set_totals(self.partials)
            self.active, self.next = self.next, self.active
            self.converged = code.halt() or not self.active.any()
        return self.value


class Run(Loop):
    """One run of a program over a Graph."""

    def __init__(self, program, graph, way="push", threads=1, edges_a_part=100, stretch=64):
        self.code, self.graph, self.way, self.threads = compile_host(program, graph.shape()), graph, way, threads
        self.stretch, self.edges = stretch, 0
        n, code = graph.vertices, self.code
        self.value = np.zeros(n, code.value_dtype)
        self.msg = np.zeros(n, code.value_dtype)
        self.got = np.full(n, code.identity, code.got_dtype)
        self.active, self.next, self.open, self.remain = (bitmap(n) for _ in range(4))
        self.partials = np.zeros((-(-n // BLOCK), len(code.totals)))
        self.parts = {
            id(p): make_parts(p.words, np.arange(len(p.words)), edges_a_part) for p in (graph.out, graph.into)
        }
        self.context = (code.ints, code.floats)

    def launch(self, kernel, *arguments):
        counter = np.zeros(1, np.int64)
        arguments = [counter if item is COUNTER else item for item in arguments]
        futures = [POOL.submit(kernel, *arguments) for _ in range(self.threads)]
        self.edges += sum(int(future.result()) for future in futures)

    def vertex_arguments(self):
        return self.graph.out.degree, self.graph.into.degree, self.code.own

    def start(self):
        self.launch(
            self.code.start, self.value, 0, *self.vertex_arguments(), self.code.members, self.active, self.open,
            self.partials, 0, self.graph.vertices, *self.context, COUNTER,
        )  # fmt: skip

    def step(self):
        code, n = self.code, self.graph.vertices
        dst = self.value if code.in_place else self.got
        self.next[:] = 0
        if self.way.startswith("push"):
            self.push(dst)
        else:
            if code.premessage:
                arguments = (self.value, 0, self.graph.out.degree, self.msg, 0, 0, n)
                self.launch(code.message, *arguments, *self.context, COUNTER)
            self.pull(dst)
        blocks = (self.partials, self.msg[:0], 0, n, *self.context, COUNTER)
        if not code.in_place:
            self.launch(code.apply, self.value, 0, self.got, 0, *self.vertex_arguments(), self.next, *blocks)

    def records(self, pages, bits, skip=0):
        vertices = list_bits(bits, 0, self.graph.vertices)
        return find_records(
            pages.words,
            np.arange(len(pages.words)),
            pages.first_vertex,
            pages.last_vertex,
            pages.small,
            vertices,
            skip,
            self.stretch,
        )

    def push(self, dst):
        code, pages, n = self.code, self.graph.out, self.graph.vertices
        weights = pages.weights if code.uses_edge else code.no_weights
        rest = (self.value, 0, pages.degree, self.active, dst, 0, n, self.next, *self.context)
        if self.way == "push_records" and code.idempotent:
            self.launch(code.push_records, pages.words, weights, self.records(pages, self.active), COUNTER, *rest)
        else:
            self.launch(code.push, pages.words, weights, self.parts[id(pages)], COUNTER, *rest)

    def pull(self, dst):
        code, pages, n = self.code, self.graph.into, self.graph.vertices
        weights = pages.weights if code.uses_edge else code.no_weights
        source = self.msg if code.premessage else self.value
        parts = self.parts[id(pages)]
        rest = (source, 0, self.graph.out.degree, self.active, dst, 0, n, self.next, self.open)
        if code.has_done:
            self.launch(code.reopen, self.value, 0, self.open, 0, n, *self.context, COUNTER)
        if self.way == "pull_heads" and code.pull_heads is not None:
            self.launch(
                code.pull_heads, pages.heads, 0, self.open, self.remain, self.value, self.graph.out.degree,
                self.active, self.next, 0, n, *self.context, COUNTER,
            )  # fmt: skip
            records = self.records(pages, self.remain, 4)
            self.launch(code.pull_records, pages.words, weights, records, COUNTER, *rest, *self.context)
        elif self.way == "pull_records" and code.idempotent:
            every = np.full_like(self.active, 2**64 - 1)
            self.launch(
                code.pull_records, pages.words, weights, self.records(pages, every), COUNTER, *rest, *self.context
            )
        else:
            carry = np.full(len(parts), code.identity, code.got_dtype)
            self.launch(code.pull, pages.words, weights, parts, COUNTER, *rest, carry, *self.context)
            if not code.idempotent:
                fold(pages.words, parts, carry, dst, 0)


def fold(words, parts, carry, dst, first):
    """Add what a pull put aside for parts of large pages to the vertices first.. of dst, in part order."""
    for row, value in zip(parts[:, 0], carry, strict=True):
        at = int(words[row, -2]) - first
        if words[row, 0] & 0xFFFFFFFF == 1 and 0 <= at < len(dst):
            dst[at] += value


POOL = ThreadPoolExecutor(4)
COUNTER = object()  # stands for a fresh counter among a kernel's arguments
