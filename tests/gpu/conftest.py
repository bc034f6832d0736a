"""Several GPUs work together in these tests, also where one would be faster alone."""

from __future__ import annotations

import pytest

from gstream.engine import engine


@pytest.fixture(autouse=True)
def all_that_were_asked_for(monkeypatch):
    monkeypatch.setattr(engine, "is_faster_alone", lambda alone, together: False)
