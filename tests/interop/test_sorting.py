"""What `--devices` of a conversion takes, and when a GPU is worth starting CUDA for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gstream.interop import sorting
from gstream.interop.sorting import FEWEST, sorter_for
from pagestore.errors import UsageError


@pytest.mark.parametrize("devices", ["cuda:0,1", "host,cuda:0", "gpu", "cuda:x", ["cuda:0"], 0])
def test_what_is_no_single_device_is_refused(devices: object) -> None:
    with pytest.raises(UsageError, match="^--devices "):
        sorter_for(devices)


def test_devices_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_on_gpu", lambda index, source: f"cuda:{index}")
    assert sorter_for("cuda:3")(None) == "cuda:3" and sorter_for("cuda")(None) == "cuda:0"
    assert sorter_for("host")(SimpleNamespace(edge_count=FEWEST, total_bytes=None)) is None


@pytest.mark.parametrize("gpus", [0, 1])
@pytest.mark.parametrize(
    ("many", "edge_count", "total_bytes"),
    [(True, FEWEST, None), (True, None, 16 * FEWEST), (False, FEWEST - 1, None), (False, None, 1), (False, None, None)],
)
def test_the_first_gpu_for_many_edges(
    monkeypatch: pytest.MonkeyPatch, gpus: int, many: bool, edge_count: int | None, total_bytes: int | None
) -> None:
    monkeypatch.setattr(sorting, "gpus_there", lambda: gpus)
    monkeypatch.setattr(sorting, "_on_gpu", lambda index, source: f"cuda:{index}")
    source = SimpleNamespace(edge_count=edge_count, total_bytes=total_bytes)
    assert sorter_for()(source) == ("cuda:0" if gpus and many else None)
