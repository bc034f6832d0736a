"""What a device needs to make supersteps by itself, and what it says of them (gstream.engine.autonomous,
cuda/ahead.cu).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gstream.paging.page_table import PageTable

TOLD = (
    "way", "vertices", "edges", "unexplored", "pulled", "last_vertices", "stale", "looked", "pages", "nanoseconds",
    "blocked",
)  # fmt: skip
DIRECTIONS = ("push", "pull")
NO_WAY = 2  # in place of a direction: there is no superstep
# Where things are in struct Course, in words: Ahead (of which these are named), Rules, two Ways, Claims;
# after it the size of a frontier.
PULLS, REOPENS, STALE, WANTED, RULES, WAYS = 1, 2, 3, 7, 10, 14
WAY_WORDS = 8
FRONTIER = WAYS + 2 * WAY_WORDS + 2
COURSE_WORDS = FRONTIER + 2


@dataclass
class Rules:
    """What the choice of directions goes by where no page has to move (gstream.engine.direction.Chooser), as it stands.

    tables: of a push and a pull, None where the program does not go that way; heads: vertices from 0 on that have
    some; all_edges, few, alpha: of the graph and the rule. The others change from superstep to superstep: vertices and
    edges of the frontier, unexplored to last_vertices as the chooser has them, and stale, as the driver.
    """

    tables: tuple[PageTable | None, PageTable | None]
    heads: int
    all_edges: int
    few: int
    alpha: int
    vertices: int
    edges: int
    unexplored: int
    pulled: int
    last_vertices: int
    stale: int

    @property
    def ways(self) -> int:
        """Bit 0: it may push; bit 1: it may pull."""
        return sum(1 << number for number, table in enumerate(self.tables) if table is not None)

    def take(self, told: dict[str, int]) -> None:
        """Go on from a superstep that was not made."""
        for name in ("vertices", "edges", "unexplored", "pulled", "last_vertices", "stale"):
            setattr(self, name, told[name])


@dataclass
class Made:
    """Supersteps that were made. told: of each of them and of the one after, by the names of TOLD; looked and pages are
    of the one before it. blocked: the direction of the one after, which needs a page that is not on the device."""

    told: list[dict[str, int]] = field(default_factory=list)
    blocked: str | None = None

    @property
    def count(self) -> int:
        return max(0, len(self.told) - 1)
