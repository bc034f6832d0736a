"""How host memory holds the pages of a run: whole, or in rings and caches of what is read from disk."""

from __future__ import annotations

from collections.abc import Callable

from gstream.options.run_options import READ_THREADS, RunOptions
from gstream.paging.page_source import SourcePlan
from gstream.paging.page_table import LEAST_GROUPS, PageTable
from pagestore.errors import CapError

# Of the host memory that is left for pages, the part of those that changes are told over; at most, where memory is so
# small that a few pages are more.
TOLD_SHARE, MOST_TOLD_SHARE = 16, 4


def plan_sources(
    tables: dict[str, PageTable], weights: bool, options: RunOptions, counts: tuple[int, int], left: int, cap: int,
    on_device: dict[str, int], reads: Callable[[], int] = lambda: READ_THREADS, coded: bool = False,
    lists: bool = False,
) -> dict[str, SourcePlan]:  # fmt: skip
    """How host memory holds the pages: all of them where they fit in `left` bytes, else a ring and a cache.

    counts: of devices, and of host devices. on_device: slots of each device's own cache, by topology; pages that these
    keep are not kept here, too. reads: tells how many reads are under way at a time, where pages are streamed. coded:
    the devices decode pages, so that host memory holds coded ones as they are stored. lists: single lists of pages in
    host memory are read, too: it holds coded pages both ways if there is room, else as kernels read them.
    Raises ResourceError, naming the bytes needed, where PageTable.least_bytes do not fit.
    """
    plans: dict[str, SourcePlan] = {}
    (devices, hosts), waiting = counts, sorted(tables.values(), key=lambda table: table.pages)
    least = [table.least_bytes(weights, *counts) for table in waiting]
    if sum(least) > left:
        need = cap - left + sum(least)
        raise CapError(
            f"--host-memory {cap} bytes: too little; {need} bytes are needed at least, of which {cap - left} for "
            "attributes of vertices. Raise --host-memory.",
            "--host-memory",
            need,
        )
    for index, table in enumerate(waiting):
        packed = coded and table.places is not None
        page = table.longest_coded(weights) if packed else table.bytes_of(1, weights)
        batch = max(1, min(options.batch_on(devices, packed) // page, table.stretch))
        pages, room = options.batch_on(devices) // table.bytes_of(1, weights), left - sum(least[index + 1 :])
        stays, whole = _that_stays(table, weights, batch, pages, (packed, lists), hosts, room)
        if stays is not None:
            plans[table.name] = stays
            left -= whole
            continue
        budget = left // (len(waiting) - index) // devices
        groups, policy = reads() + 2, options.cache_policy
        most = budget // 2 if policy else budget
        while batch > 1 and groups * batch * page > max(most, LEAST_GROUPS * page):
            batch //= 2
        groups = max(LEAST_GROUPS, min(groups, budget // (batch * page)))
        assert groups * batch * page <= budget, "tables come by size: where all of one has no room, others are as large"
        skip = on_device.get(table.name, 0) if policy == "pinned" else 0
        cache = min((budget - groups * batch * page) // page, max(0, table.pages - skip)) if policy else 0
        plans[table.name] = SourcePlan(False, weights, batch, groups, cache, policy, skip, packed)
        left -= devices * plans[table.name].bytes_held(table)
    return plans


def _that_stays(
    table: PageTable, weights: bool, batch: int, pages: int, asked: tuple[bool, bool], hosts: int, room: int
) -> tuple[SourcePlan | None, int]:
    """How all pages stay in `room` bytes, and the bytes that they take; None: they don't. batch: pages of one; pages:
    the same as kernels read them. asked: coded and lists, as of plan_sources."""
    coded, lists = asked
    ways = [SourcePlan(True, weights, batch, coded=coded, twice=coded and lists)]
    if coded and lists:
        raw = max(1, min(batch, pages))
        ways += [SourcePlan(True, weights, raw), SourcePlan(True, weights, batch, coded=True)]
    for way in ways:
        whole = way.bytes_held(table) if way.coded else table.whole_bytes(weights, hosts)
        if whole <= room:
            return way, whole
    return None, 0


def bytes_to_tell(
    table: PageTable, with_weights: bool, used: dict[str, PageTable], weights: bool, counts: tuple[int, int], left: int
) -> int:
    """Of `left` bytes of host memory, those for pages that a run can do without, beside those that are used; 0: none.

    As many as the others leave where these fit whole; else a share, and less where the others would not fit.
    """
    if table.name in used:
        return 0
    hosts, least = counts[1], table.least_bytes(with_weights, *counts)
    rest = left - sum(other.whole_bytes(weights, hosts) for other in used.values())
    if rest >= 0:
        most = min(table.whole_bytes(with_weights, hosts), rest)
    else:
        others = sum(other.least_bytes(weights, *counts) for other in used.values())
        most = min(max(left // TOLD_SHARE, least), left // MOST_TOLD_SHARE, left - others)
    return most if most >= least else 0


def bytes_of_pages(
    sources: dict[str, SourcePlan], tables: dict[str, PageTable], devices: int, hosts: int
) -> dict[str, int]:
    """What pages take of host memory, with the work lists of those that stay there."""
    held = {f"pages ({name})": plan.bytes_held(tables[name]) * (1 if plan.resident else devices)
            for name, plan in sources.items()}  # fmt: skip
    lists = sum(hosts * tables[name].host_parts_bytes for name, plan in sources.items() if plan.resident)
    return held | ({"work lists": lists} if lists else {})
