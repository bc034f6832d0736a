"""What page kernels that walk pages by themselves need of the walk (gstream.hostcode.templates.walk).

    while True:
        part = claim(counter)
        if part >= len(parts): return
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            for k in range(count):
                neighbour = words[row, first + k * stride]     # stride: 1, or that of a column page

Kernels that can are gstream.records instead, which have the walk made around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.hostcode.templates.walk import claim, part_of, record, slots_end

__all__ = ["claim", "i64", "part_of", "record", "slots_end", "u64"]

u64: Any = np.uint64
i64: Any = np.int64
