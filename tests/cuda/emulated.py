"""Units of programs compiled by g++ with emulate.h, and a small driver that runs their kernels over handmade pages."""

from __future__ import annotations

import ctypes

import numpy as np
from compilers import shared_library
from stepping import Loop

from gstream.cudacode.generate import UnitShape, unit_of
from gstream.cudacode.worklists import make_parts
from gstream.hostcode import BLOCK, bitmap, compile_host
from pagestore.layout import HEADER_BYTES


def compile_units(folder, programs, shapes):
    """One library of several programs' units, each in a namespace of its own: {key: (program class, shape)}."""
    texts, units = ['#include "emulate.h"'], {}
    for key, cls in programs.items():
        unit = units[key] = unit_of(cls, shapes[key])
        texts.append(f"namespace {key} {{\n{unit.text}\n}}")
        for kernel in unit.kernels.values():
            texts.append(
                f'extern "C" void {key}_{kernel.name}(unsigned grid, const unsigned long long* given) {{\n'
                f"    emulated::call({key}::{kernel.name}, grid, {kernel.threads}, given);\n}}"
            )
    return shared_library(folder, "\n".join(texts)), units


def unit_shape(graph_shape):
    return UnitShape(graph_shape.id_dtype, graph_shape.weight_dtype)


class Launcher:
    """Calls kernels of one unit: arrays go by address, numbers as they are, the context last where a kernel has one."""

    def __init__(self, library, key, unit):
        self.compiled, self.key, self.unit = library, key, unit
        self.context = np.zeros(0, np.uint8)

    def __call__(self, name, grid, *arguments):
        kinds = self.unit.kernels[name].arguments
        given = [a.ctypes.data if isinstance(a, np.ndarray) else int(a) for a in arguments]
        for argument, (kind, label) in zip(arguments, kinds, strict=False):
            assert isinstance(argument, np.ndarray) == kind.endswith("*"), (name, label, kind)
        if kinds[-1][0] == "Context":
            assert len(self.context) == self.unit.context_bytes
            given.append(self.context.ctypes.data)
        assert len(given) == len(kinds), (name, kinds)
        getattr(self.compiled, f"{self.key}_{name}")(grid, np.array(given, np.uint64).ctypes.data_as(ctypes.c_void_p))


def parts_of(pages, group, edges_a_part):
    """Parts of handmade pages, from what the directory would say."""
    words, wide = pages.words, pages.words.itemsize == 8
    records = words[:, 0] >> np.uint64(32) if wide else words[:, 1]
    edges = words[:, 2] if wide else words[:, 4]
    large = np.arange(len(words)) >= pages.small
    rows, groups = np.arange(len(words)), np.full(len(words), group)
    return make_parts(rows, large, records, edges, groups, HEADER_BYTES // words.itemsize, edges_a_part)


class EmulatedRun(Loop):
    """One run of a program over a stepping.Graph by the GPU's kernels: the twin of stepping.Run."""

    def __init__(self, launcher, program, graph, way="push", group=1, grid=3, edges_a_part=100, stretch=64):
        self.code, self.graph, self.way, self.launch = compile_host(program, graph.shape()), graph, way, launcher
        self.group, self.grid, self.stretch = group, grid, stretch
        n, code = graph.vertices, self.code
        self.value = np.zeros(n, code.value_dtype)
        self.msg = np.zeros(n, code.value_dtype if code.value_dtype.kind == "f" else code.got_dtype)
        self.got = np.full(n, code.identity, code.got_dtype)
        self.active, self.next, self.open, self.remain = (bitmap(n) for _ in range(4))
        self.partials = np.zeros((-(-n // BLOCK), len(code.totals)))
        self.parts = {id(p): parts_of(p, group, edges_a_part) for p in (graph.out, graph.into)}
        self.edges = np.zeros(1, np.uint64)
        self.degrees = (graph.out.degree, graph.into.degree)
        self.blocks = -(-n // BLOCK)

    def bind(self):
        self.launch.context = np.frombuffer(self.launch.unit.context(self.code), np.uint8).copy()

    def start(self):
        self.bind()
        arrays = (*self.degrees, self.code.own, self.code.members, self.active, self.open, self.partials)
        self.launch("start_kernel", self.blocks, self.value, 0, *arrays, 0, self.graph.vertices)

    def step(self):
        self.bind()
        code, n = self.code, self.graph.vertices
        dst = self.value if code.in_place else self.got
        self.next[:] = 0
        if code.premessage:
            self.launch("message_kernel", self.grid, self.value, 0, self.degrees[0], self.msg, 0, 0, n)
        (self.push if self.way.startswith("push") else self.pull)(dst)
        arrays = (*self.degrees, code.own)
        if not code.in_place:
            self.launch(
                "apply_kernel", self.blocks, self.value, 0, self.got, 0, *arrays, self.next, self.partials, 0, n
            )
        elif code.totals:
            self.launch("totals_kernel", self.blocks, self.value, 0, *arrays, self.partials, 0, n)

    def listed(self, bits):
        """The set bits, by the three kernels that list them."""
        counts, words = np.zeros(-(-len(bits) // 256) + 1, np.uint64), len(bits)
        self.launch("block_counts_kernel", len(counts) - 1, bits, words, counts)
        self.launch("scan_kernel", 1, counts, len(counts) - 1)
        out = np.zeros(int(counts[-1]), np.uint64)
        self.launch("list_bits_kernel", len(counts) - 1, bits, words, 0, counts, out)
        return out

    def records(self, pages, vertices, skip=0):
        rows, found = np.arange(len(pages.words), dtype=np.uint32), np.zeros(1, np.uint64)
        out = np.zeros((4, 4), np.int64)
        for _ in range(2):
            found[0] = 0
            where = (
                pages.words,
                pages.layout.words,
                rows,
                pages.first_vertex,
                pages.last_vertex,
                pages.small,
                len(rows),
            )
            chosen = (vertices, len(vertices), skip, self.stretch, out, len(out), found)
            self.launch("find_records_kernel", self.grid, *where, *chosen)
            if found[0] <= len(out):
                break
            out = np.zeros((int(found[0]), 4), np.int64)
        return out[: int(found[0])]

    def push(self, dst):
        code, pages, n = self.code, self.graph.out, self.graph.vertices
        weights = pages.weights if code.uses_edge else code.no_weights
        source = self.msg if code.premessage else self.value
        head, tail = (pages.words, weights, pages.layout.words), (dst, 0, n, self.next, self.edges)
        if self.way == "push_records" and code.idempotent:
            work = self.records(pages, self.listed(self.active))
            rest = (work, len(work), self.group, source, 0, pages.degree)
            self.launch("push_records_kernel", self.grid, *head, *rest, *tail)
        else:
            work = self.parts[id(pages)]
            rest = (work, len(work), source, 0, pages.degree, self.active)
            self.launch("push_kernel", self.grid, *head, *rest, *tail)

    def pull(self, dst):
        code, pages, n = self.code, self.graph.into, self.graph.vertices
        weights = pages.weights if code.uses_edge else code.no_weights
        source = self.msg if code.premessage else self.value
        head, tail = (pages.words, weights, pages.layout.words), (dst, 0, n, self.next)
        if code.has_done:
            self.launch("reopen_kernel", self.blocks, self.value, 0, self.open, 0, n)
        if self.way == "pull_heads" and code.pull_heads is not None:
            state = (self.open, self.remain, self.value, self.degrees[0], self.active, self.next)
            self.launch("pull_heads_kernel", self.grid, pages.heads, 0, *state, 0, n, self.edges)
            vertices, skip = self.listed(self.remain), 4
        else:
            vertices, skip = np.arange(n, dtype=np.uint64), 0
        if self.way in ("pull_heads", "pull_records") and code.idempotent:
            work = self.records(pages, vertices, skip)
            rest = (work, len(work), self.group, source, 0, self.degrees[0], self.active)
            self.launch("pull_records_kernel", self.grid, *head, *rest, *tail, self.edges)
            return
        work = self.parts[id(pages)]
        carry = np.full(len(work), code.identity, code.got_dtype)
        rest = (work, len(work), source, 0, self.degrees[0], self.active)
        self.launch("pull_kernel", self.grid, *head, *rest, *tail, self.open, carry, self.edges)
        if not code.idempotent:
            hubs = np.flatnonzero(pages.words[work[:, 0], 0] & np.array(0xFFFFFFFF, pages.words.dtype) == 1)
            vertices = pages.words[work[hubs, 0], -2].astype(np.uint64)
            self.launch("add_hub_sums_kernel", self.grid, vertices, carry[hubs].copy(), len(hubs), dst, 0, n)
