"""Units of programs compiled by g++ with emulate.h, and a small driver that runs their kernels over handmade pages."""

from __future__ import annotations

import ctypes

import numpy as np
from compilers import shared_library, small_blocks
from stepping import Loop

from gstream.cudacode.generate import UnitShape, unit_of
from gstream.devices.gpu.stream_lane import ENTRY
from gstream.hostcode import BLOCK, bitmap, compile_host
from gstream.paging.gpu_parts import COLUMNS, DENSE, SPLIT, carried, make_parts
from pagestore.layout import HEADER_BYTES


def compile_units(programs, shapes):
    """One library of several programs' units, each in a namespace of its own: {key: (program class, shape)}."""
    texts, units = ['#include "emulate.h"'], {}
    for key, cls in programs.items():
        unit = units[key] = unit_of(cls, shapes[key])
        text, blocks = small_blocks(unit)
        texts.append(f"namespace {key} {{\n{text}\n}}")
        for name, threads in blocks.items():
            texts.append(
                f'extern "C" void {key}_{name}(unsigned grid, const unsigned long long* given) {{\n'
                f"    emulated::call({key}::{name}, grid, {threads}, given);\n}}"
            )
    return shared_library("\n".join(texts)), units


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
            pointer = isinstance(argument, np.ndarray) or (
                label in ("entries", "due", "reopens", "told") and isinstance(argument, int)
            )
            assert pointer == kind.endswith("*"), (name, label, kind)
        if kinds[-1][0] == "Context":
            assert len(self.context) == self.unit.context_bytes
            given.append(self.context.ctypes.data)
        assert len(given) == len(kinds), (name, kinds)
        getattr(self.compiled, f"{self.key}_{name}")(grid, np.array(given, np.uint64).ctypes.data_as(ctypes.c_void_p))


def parts_of(pages, group, edges_a_part):
    """Parts of handmade pages, from what the directory would say; `group` is for those of rows, and long lists of
    these are taken whole where a team has several lanes."""
    words, wide = pages.words, pages.words.itemsize == 8
    records = words[:, 0] >> np.uint64(32) if wide else words[:, 1]
    edges = words[:, 2] if wide else words[:, 4]
    large = np.arange(len(words)) >= pages.small
    layout = words[:, 0].astype(np.int64) >> 16 & 0xFFFF
    rows, groups = np.arange(len(words)), np.where(layout > 0, COLUMNS + layout, group + (SPLIT if group > 1 else 0))
    groups += np.where(pages.last_vertex - pages.first_vertex + np.uint64(1) == records, DENSE, 0)
    return make_parts(rows, large, records, edges, groups, HEADER_BYTES // words.itemsize, edges_a_part)


class EmulatedRun(Loop):
    """One run of a program over a stepping.Graph by the GPU's kernels: the twin of stepping.Run."""

    def __init__(
        self, launcher, program, graph, way="push", group=1, grid=3, edges_a_part=100, shuffled=False, far=False
    ):  # fmt: skip
        self.code, self.graph, self.way, self.launch = compile_host(program, graph.shape()), graph, way, launcher
        self.grid, self.shuffled, self.far = grid, shuffled, far
        n, code = graph.vertices, self.code
        self.value = np.zeros(n, code.value_dtype)
        self.msg = np.zeros(n, code.value_dtype if code.value_dtype.kind == "f" else code.got_dtype)
        self.got = np.full(n, code.identity, code.got_dtype)
        self.active, self.next, self.open, self.remain = (bitmap(n) for _ in range(4))
        self.partials = np.zeros((-(-n // BLOCK), len(code.totals)))
        self.parts = {id(p): parts_of(p, group, edges_a_part) for p in (graph.out, graph.into)}
        self.edges, self.claims = np.zeros(1, np.uint64), np.zeros(2, np.uint64)
        self.degrees = (graph.out.degree, graph.into.degree)
        self.blocks = -(-n // BLOCK)

    def bind(self):
        self.launch.context = np.frombuffer(self.code.context(self.launch.unit.context_bytes), np.uint8).copy()

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
            arrays = (*arrays, self.next, self.partials, np.zeros(0, np.uint64), 0, np.zeros(1, np.uint64), 0)
            self.launch("apply_kernel", self.blocks, self.value, 0, self.got, 0, *arrays, n, 0, n)

    def work(self, pages):
        """Pool and parts of a launch: rows are pages, or, where `shuffled`, another order that a map tells."""
        parts, count = self.parts[id(pages)], len(pages.words)
        words = pages.words
        weights = pages.weights if self.code.uses_edge else self.code.no_weights
        entries, base = 0, 0
        if self.shuffled:
            rows = np.random.default_rng(7).permutation(count).astype(np.uint32)
            words = np.empty_like(pages.words)
            words[rows] = pages.words
            if self.code.uses_edge:
                weights = np.empty_like(pages.weights)
                weights[rows] = pages.weights
            entries, base = np.zeros(count, ENTRY), count
            entries["end"], entries["row"] = np.searchsorted(parts[:, 0], np.arange(count), "right"), rows
        self.kept = words, weights, entries  # a launch takes addresses
        where = words, weights, pages.layout.words, entries, base, int(self.far), pages.first_vertex
        return *where, parts, 0, len(parts), self.claims

    def push(self, dst):
        code, pages, n = self.code, self.graph.out, self.graph.vertices
        source = self.msg if code.premessage else self.value
        rest = (source, 0, pages.degree, self.active, dst, 0, n, self.next, self.edges)
        self.launch("push_kernel", self.grid, *self.work(pages), *rest)

    def pull(self, dst):
        code, pages, n = self.code, self.graph.into, self.graph.vertices
        source = self.msg if code.premessage else self.value
        bits = self.open
        if code.has_done:
            self.launch("reopen_kernel", self.blocks, 0, self.value, 0, self.open, 0, n)
        if self.way == "pull_heads" and code.pull_heads is not None:
            state = (self.open, self.remain, self.value, self.degrees[0], self.active, self.next)
            self.launch("pull_heads_kernel", self.grid, 0, 0, pages.heads, 0, *state, 0, n, self.edges)
            bits = self.remain
        work = self.parts[id(pages)]
        hot = 0 if code.idempotent else min(n, 70)  # the first vertices' values come from shared memory
        carry, place_of = np.full(len(work), code.identity, code.got_dtype), np.arange(len(work), dtype=np.uint32)
        rest = (
            source,
            0,
            self.degrees[0],
            self.active,
            dst,
            0,
            n,
            self.next,
            bits,
            carry,
            place_of,
            hot,
            np.zeros(0),
            0,
            self.edges,
        )
        self.launch("pull_kernel", self.grid, *self.work(pages), *rest)
        if not code.idempotent:
            self.launch("add_hub_sums_kernel", self.grid, *hub_sums(pages, work, carry), dst, 0, n, 0)


def hub_sums(pages, work, carry):
    """Hubs, where their sums start, how many hubs there are, and the sums of pieces of lists."""
    order, vertices = carried(work, pages.first_vertex)
    hubs, starts = np.unique(vertices, return_index=True)
    return hubs, np.append(starts, len(order)).astype(np.uint64), len(hubs), carry[order].copy()
