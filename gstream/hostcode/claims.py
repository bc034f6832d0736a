"""How a launch ends before its work is done: what the counter says then that its threads claim work from.

A thread asks between the items of one claim, too, where these may take long: of a clique of 10^4 vertices, 64 lists
that are joined with others take seconds. It is a load from a cache line that changes once a claim.
"""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper

__all__ = ["STOPPED", "is_stopped"]

STOPPED = 1 << 44  # past every end, and no overflow in runs of up to 2^18 items


@helper
def is_stopped(counter: Any) -> Any:
    """Whether the kernel may end early: its caller has no use for the results."""
    return u64(counter[0]) >= u64(STOPPED)
