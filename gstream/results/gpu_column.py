"""A column of an answer in a GPU's memory, as CuPy, PyTorch, JAX and cuDF take it without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.devices.gpu.kept_values import Lease
from gstream.results.dlpack import CUDA, capsule_of


class GpuColumn:
    """One value a row. shape: (rows,). dtype: of NumPy. device: the GPU's number, as CUDA counts them.

    The memory stays as long as this object, or what was made of it, is there: also when the graph is closed.
    """

    def __init__(self, lease: Lease, count: int, device: int) -> None:
        self._lease = lease
        self.shape, self.dtype, self.device = (count,), lease.array.dtype, device

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<GpuColumn of {len(self)} {self.dtype} on cuda:{self.device}>"

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return len(self) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """CUDA array interface, version 3. The values are complete: there is no stream to wait for."""
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self._lease.array.address, False), "strides": None,
            "stream": None, "version": 3,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        """(kind of device, its number), as DLPack has them."""
        return CUDA, self.device

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule; no stream has to wait. Raises BufferError where a copy, or another device, is asked for."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a column is given where it lies, without a copy")
        return capsule_of(self._lease, self._lease.array.address, len(self), np.dtype(self.dtype), (CUDA, self.device))
