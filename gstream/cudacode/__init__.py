"""The GPU's back end: a program printed as CUDA C++ around the kernels of cuda/, compiled once and kept on disk.

    unit = unit_of(type(program), UnitShape(id_dtype, weight_dtype, degree_dtype))
    cubin = unit.compile("sm_90")                  # a path; DeviceMissingError if nvcc is needed and missing
    unit.kernels["push_kernel"].packing(unit.context_bytes)      # "PPQP...40s", as PyCUDA's `prepare` wants it

Parameters, members, own and totals are HostCode's (gstream.hostcode), and so are the arrays, on the device. Every
argument is 8 bytes wide. What differs:

    parts    uint32[m, 4]  (page, first, end, group), of gstream.paging.gpu_parts.make_parts; a launch takes part_count
             of them from part_first on
    entries  of pages that lie scattered: ENTRY[base], see gstream.devices.gpu.stream_lane; null: page p is in row p
    - base claims   uint64[2], zero before and after a launch; two launches that overlap have two
    course   struct Course of cuda/ahead.cu: what autonomous supersteps go by; told: struct Told, in pinned host memory
    source   messages if `premessage`, else values, of push as of pull (the host's push takes values always)
    carry    of a pull of sums: a sum for each part that has a piece of a list, at place_of[part]; hot: so many sources
             come from shared memory
    edges    uint64[1], counted up; of a pull that stops early up to 4 a lane more than the host's
    copies   uint64[peers], device addresses of all devices' slices, in order of devices

A launch has blocks of kernel.threads threads. start, apply, totals and reopen have one block for each BLOCK = 8,192
vertices of [first, last); first is a multiple of BLOCK. All others take any number of blocks. In push and pull a warp
takes one part after the other, so the best number is one part a warp, and no more blocks than run at once.
"""

from gstream.cudacode.generate import Kernel, Unit, UnitShape, unit_of
from gstream.paging.gpu_parts import EDGES_A_PART, count_parts, make_parts

__all__ = ["EDGES_A_PART", "Kernel", "Unit", "UnitShape", "count_parts", "make_parts", "unit_of"]
