"""What kernels are usually given: the types of arrays and numbers, by the names of their parameters.

A kernel's CUDA C++ depends on them (gstream.cudacode.records). Those here are of graphs whose degrees, distances and
numbers of edges have room in 4 bytes, as nearly all have; IDs and weights are of the types that are asked for. `gstream
show --cuda` prints units of these types, and tests hold those that runs compile against them.

"uint64[]" is an array, "uint64" a number. Of no type of NumPy: "id"; "weight"; "sum", distances by weights (float32, or
uint32 where weights are whole numbers); "width", least weights with infinity among them (float32, or float64).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.records.declare import RecordKernel

TYPES = {
    "uint64[]": "after alive arcs bits blocked cursor due dying far first_vertex following front fresh here hubs last "
    "leads low_after met mine near nearer now one_after one_alive one_dying one_low_after one_starts open open_bits "
    "other own proven ready seen starts sums there two_after two_alive two_dying two_low_after two_starts window",
    "uint32[]": "degree distance higher hops left size",
    "uint8[]": "back covered forth inside sources state targets",
    "int64[]": "across changed core counts failure less",
    "float64[]": "depends error paths received score share slack",
    "id[]": "above color comp ends entries label link low_places natural one one_low_places one_support part "
    "predecessor source support target two two_low_places two_support up",
    "weight[]": "least weight",
    "width[]": "width",
    "int64": "level number passed root small_pages way",
    "uint64": "count end first one_first room searches two_first",
    "uint32": "limit none",
    "float64": "amount each",
    "bool": "both directed once pull single",
}
BY_NAME = {name: kind for kind, names in TYPES.items() for name in names.split()}
OWN = {  # of a module or a kernel where a name stands for something else
    "boruvka": {"other": "id[]"},
    "dag": {"level": "int64[]", "distance": "float64[]"},
    "dag.distances_again": {"longest": "float64[]", "again": "float64[]"},
    "dag.levels_again": {"longest": "int64[]", "again": "int64[]"},
    "levelcounts": {"sources": "uint64[]", "reached": "float64[]"},
    "nearest.nearest_by_weight": {"distance": "sum[]"},
    "nearest.spread_hops": {"distance": "sum[]"},
    "palette": {"color": "uint32[]"},
    "path_weighing": {"first": "float64[]", "second": "float64[]", "seeds": "uint64[]", "sums": "float64[]"},
    "paths": {"between": "float64[]"},
    "peeling": {"left": "int64[]", "level": "uint64[]"},
    "distance_proof_kernels.check_hops": {"last": "uint32"},
    "distance_proof_kernels.check_paths": {"distance": "sum[]", "none": "sum", "last": "sum"},
    "triangle_proofs": {"between": "uint64[]"},
    "strong": {"left": "int64[]"},
    "strong.count_entries": {"entries": "int64[]"},
    "truss": {"level": "uint64[]"},
    "width_proof": {"reached": "uint64[]"},
}


def usual_arguments(kernel: RecordKernel, id_dtype: np.dtype, weight_dtype: np.dtype) -> list[Any]:
    """Arrays of no element, and numbers, of the types that the kernel's have."""
    module, whole = kernel.module.rpartition(".")[2], weight_dtype.kind != "f"
    own = OWN.get(module, {}) | OWN.get(f"{module}.{kernel.name}", {})
    kinds = {
        "id": id_dtype,
        "weight": weight_dtype,
        "sum": np.dtype(np.uint32 if whole else np.float32),
        "width": np.dtype(np.float64 if whole else np.float32),
    }
    found = list[Any]()
    for name in kernel.parameters:
        kind = own.get(name) or BY_NAME[name]
        dtype = np.dtype(kinds.get(kind.removesuffix("[]"), kind.removesuffix("[]")))
        found.append(np.empty(0, dtype) if kind.endswith("[]") else dtype.type(0))
    return found
