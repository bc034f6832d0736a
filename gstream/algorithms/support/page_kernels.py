"""What several page kernels do: how the copies of several GPUs are joined."""

from __future__ import annotations

from typing import Any

from gstream.hostcode.bitmaps import bits_where


def join_falls(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """What GPUs' copies come to: what each took away, and who fell to 0 by all of them."""
    left = arrays["left"]
    before = left.copy()
    for copy in copies:
        left -= before - copy["left"]
    arrays["following"] |= bits_where((before > 0) & (left == 0))
