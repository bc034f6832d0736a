"""What page kernels that walk pages by themselves need of the walk (gstream.hostcode.templates.walk).

    while True:
        part = claim(counter)
        if part >= len(parts): return
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            for k in range(count):
                neighbour = words[row, first + k * stride]     # stride: 1, or that of a column page
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.templates.walk import claim, part_of, record, slots_end

__all__ = ["claim", "i64", "part_of", "record", "slots_end", "u64"]
