"""What kernels are usually given: the types of arrays and numbers, by the names of their parameters.

A kernel's CUDA C++ depends on them (gstream.cudacode.records). Those here are of graphs whose degrees, distances and
numbers of edges have room in 4 bytes, as nearly all have; IDs and weights are of the types that are asked for. `gstream
show --cuda` prints units of these types, and tests hold those that runs compile against them. A kernel's decorator says
the type of a parameter that has another one; a name that stands nowhere is that of an array of uint64.

"uint64[]" is an array, "uint64" a number. Of no type of NumPy: "id"; "weight"; "length", distances by weights (float32,
or uint32 where weights are whole numbers); "width", least weights with infinity among them (float32, or float64).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.records.declare import SIZE, RecordKernel

TYPES = {
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


def usual_arguments(kernel: RecordKernel, id_dtype: np.dtype, weight_dtype: np.dtype) -> list[Any]:
    """Arrays of no element, and numbers, of the types that the kernel's have."""
    whole = weight_dtype.kind != "f"
    kinds = {
        "id": id_dtype,
        "weight": weight_dtype,
        "length": np.dtype(np.uint32 if whole else np.float32),
        "width": np.dtype(np.float64 if whole else np.float32),
        "bits": np.dtype(np.uint64),
    }
    found = list[Any]()
    for name in kernel.parameters:
        kind = kernel.types.get(name) or BY_NAME.get(name, "uint64[]")
        element = SIZE.sub("", kind)
        dtype = np.dtype(kinds.get(element, element))
        found.append(np.empty(0, dtype) if SIZE.search(kind) or element == "bits" else dtype.type(0))
    return found
