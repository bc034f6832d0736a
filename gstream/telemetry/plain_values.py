"""Values made of JSON's types, for --json, traces, reports and logs."""

from __future__ import annotations

from typing import Any


def plain_values(value: Any) -> Any:
    """`value` with paths as strings, NumPy scalars as numbers, NaN and infinity, which JSON lacks, as their names."""
    if isinstance(value, dict):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, bool | str) or value is None:
        return value
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain_values(value.tolist())
    if isinstance(value, float):
        if value != value:
            return "NaN"
        return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, int) else str(value)
