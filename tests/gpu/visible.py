"""The GPUs that tests may use."""

from __future__ import annotations

import pytest

from gstream.devices.gpu.driver import driver
from pagestore.errors import DeviceMissingError


def gpus() -> int:
    """How many there are; 0 without pycuda, too."""
    try:
        return int(driver().Device.count())
    except DeviceMissingError:
        return 0


NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not gpus(), reason="no pycuda, or no GPU here")]
