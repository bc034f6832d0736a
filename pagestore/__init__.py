"""Slotted-page graph stores: format, writing, reading, checking. Knows nothing of gstream or of devices.

Names below are imported at first use: `import pagestore` loads neither numba nor h5py.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pagestore.layout import PageLayout
    from pagestore.memory import convert_arrays
    from pagestore.meta import Meta
    from pagestore.store import Store, open_store
    from pagestore.topology import Topology
    from pagestore.writer import StoreWriter

__all__ = ["Meta", "PageLayout", "Store", "StoreWriter", "Topology", "convert_arrays", "open_store"]

_WHERE = {
    "Meta": "pagestore.meta", "PageLayout": "pagestore.layout", "Store": "pagestore.store",
    "StoreWriter": "pagestore.writer", "Topology": "pagestore.topology", "convert_arrays": "pagestore.memory",
    "open_store": "pagestore.store",
}  # fmt: skip


def lazily(package: str, where: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports names from their modules at first use."""

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(where[name]), name)

    return find


__getattr__ = lazily(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted(__all__)
