"""The GPU's back end: a program printed as CUDA C++ around the kernels of cuda/, compiled once and kept on disk.

    unit = unit_of(type(program), UnitShape(id_dtype, weight_dtype, degree_dtype))
    cubin = unit.compile("sm_90")                  # a path; DeviceMissingError where nvcc is needed and missing
    unit.kernels["push_kernel"].packing(unit.context_bytes)      # "PPQP...40s", what PyCUDA's `prepare` wants
    unit.context(code)                             # bytes: the last argument of a program's kernels; code: HostCode

Parameters, members, own and totals stay HostCode's (gstream.hostcode): its ints and floats are the context, so
code.set_superstep, set_totals and halt serve both back ends.

Arrays are those of gstream.hostcode, on the device; every argument is 8 bytes wide. What differs
    parts    uint32[m, 4]  (page, first, end, group), by gstream.paging.gpu_parts.make_parts; a launch does
             part_count of them from part_first on
    entries  of pages that lie scattered, ENTRY[base] as gstream.devices.gpu.stream_lane has it; null: page p in row p
    - base claims   uint64[2], zero before and after a launch, which must not share them with another under way
    course   struct Course of cuda/ahead.cu (gstream.devices.gpu.autonomous): what supersteps that the GPU makes by
    itself go
             by, claims among it; told: struct Told, in pinned host memory
    source   messages where `premessage`, else values, of push as of pull (the host's push takes values always)
    carry    a sum for each part that has a piece of a list, of a pull of sums, at place_of[part]; hot: so many sources
             come from shared memory
    edges    uint64[1], counted up
    copies   uint64[peers], device addresses of the peers' slices, the own one among them, in order of devices
Edge counts of a pull that stops early may be up to 4 a lane more than the host's.

Launches: blocks of kernel.threads threads. start, apply, totals, reopen: one block for each BLOCK = 8,192 vertices of
[first, last); first is a multiple of BLOCK. All others take any number of blocks. Push and pull: a warp takes one part
after the other, so as many blocks as have a part for each warp are right, and no more than run at once.
"""

from gstream.cudacode.generate import Kernel, Unit, UnitShape, unit_of
from gstream.paging.gpu_parts import EDGES_A_PART, count_parts, make_parts

__all__ = ["EDGES_A_PART", "Kernel", "Unit", "UnitShape", "count_parts", "make_parts", "unit_of"]
