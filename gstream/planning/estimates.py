"""How long a call takes by its Work: a range. Calls teach the factor by which a machine differs from that."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gstream.planning.cost_equations import stream_seconds
from gstream.planning.lessons import Lesson
from gstream.planning.plan import Plan
from gstream.planning.work import JOINS, Three, Work

MEASURED, SHEET = 1.6, 2.2  # how far off a rate may be that was measured on the machine, or read in a data sheet
FIRST = 0.8, 1.0, 1.25  # of the time that reading the pages takes: disks are as regular as that
# Of a call beside its supersteps: threads wake, memory is taken and given back (an H100: 0.9 ms of wcc to 1.5 of bfs).
CORES_CALL_S, GPU_CALL_S = 1e-3, 1.2e-3
CORES_ANSWER_SHARE, ANSWER_SHARE = 5, 2  # an answer takes this many times its link's time: its memory is fresh


@dataclass(frozen=True)
class Estimate:
    """Seconds of a call on an open graph, with the first reading of its pages: at least, usually, at most."""

    least: float
    usual: float
    most: float


def estimate(work: Work, times: Three, plan: Plan, gpus: bool, lesson: Lesson | None, rates: float) -> Estimate:
    """The seconds of a call on the plan's devices. times: how often, as of Work. gpus: whether these are GPUs. lesson:
    what calls of the algorithm taught: its factor is of all that the devices and the call do, once, but not of the disk
    and the link; None: there were none. rates: how far off the constants may be."""
    graph, constants = plan.graph, plan.constants
    warm, cold = plan.terms(), plan.terms(cold=True)
    busy = plan.devices if gpus else 1
    unit = 1.0 / constants.edges(warm["direction"]) / busy
    an_edge, a_vertex = (work.gpu_edges, work.gpu_vertices) if gpus else (work.edges, work.vertices)
    pass_s = an_edge * warm["edges"] * unit * (graph.edges**JOINS if work.joins else 1.0)
    pass_s *= work.tried(graph.edges)
    if not gpus and graph.edges > work.beyond[0]:
        pass_s *= work.beyond[1]
    vertices_s = a_vertex * graph.vertices * unit
    stays = gpus and work.brought is not None and plan.devices == 1 and len(plan.chunks) == 1
    call_s = (GPU_CALL_S if gpus else CORES_CALL_S) + (0.0 if stays else plan.attribute_seconds())
    answer = work.brought if stays and work.brought is not None else work.answer
    call_s += answer * graph.vertices * (ANSWER_SHARE if gpus else CORES_ANSWER_SHARE) / constants.c1
    stream, first = (
        stream_seconds(constants, busy, one["page_bytes"], one["disk_bytes"], one["load_bytes"]) for one in (warm, cold)
    )
    decoding, first_decoding = (one["decoded"] / constants.decode for one in (warm, cold))
    first += max(0.0, first_decoding - decoding) if not gpus else 0.0
    swaps = 2 * warm["attribute_bytes"] / constants.c1 + constants.sync_seconds(warm["merged_bytes"], plan.devices)
    calls = constants.call_s * warm["batches"] / plan.devices
    far = math.hypot(math.log(work.spread), math.log(rates)) if lesson is None else math.log(lesson.off)
    factor = 1.0 if lesson is None else lesson.factor
    moved = (work.moved[0] ** 2 / max(work.moved[1], 1e-9), *work.moved)

    def total(at: int, off: float) -> float:
        share, slow = moved[at], off * factor
        one = (
            max(stream * share, constants.with_decoding(pass_s * slow, decoding * share))
            + calls * min(1.0, share) * factor
            + swaps
        )
        return max(0.0, first - stream) * FIRST[at] * work.read[at] + (call_s + vertices_s) * slow + times[at] * one

    return Estimate(total(0, math.exp(-far)), total(1, 1.0), total(2, math.exp(far)))
