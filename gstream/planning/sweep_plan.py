"""Plans of sweeps: batch buffers and page caches of devices that hold no attributes of the driver's."""

from __future__ import annotations

from collections.abc import Sequence

from gstream.devices.job import DevicePlan
from gstream.options.run_options import RunOptions
from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable
from gstream.planning.cache_slots import slots_of
from gstream.planning.memory_fit import default_streams, work_list_bytes


def make_sweep_plan(
    tables: dict[str, PageTable], weights: bool, options: RunOptions, partition: Partition, number: int,
    room: int | None, known: dict[str, PageTable] | None = None, decodes: bool = False,
) -> DevicePlan:  # fmt: skip
    """The plan of device `number`.

    tables: topologies that are swept in turn; each has its part of what may be cached. room: bytes that the device has
    for them; None: no limit. known, partition: as in gstream.planning.planner.make_plan. decodes: it takes coded pages.
    """
    coded = [table.longest_coded(weights) for table in tables.values() if decodes and table.places is not None]
    page, staged = max(table.bytes_of(1, weights) for table in tables.values()), max(coded, default=0)
    lists = sum(work_list_bytes(table) for table in tables.values())
    capacity = max(0, (1 << 62 if room is None else room) - lists)
    most = min(min(table.stretch for table in tables.values()), max(table.pages for table in tables.values()))
    row, size = page + staged, options.batch_on(partition.devices, staged > 0) // (staged or page)
    batch = max(1, min(size, most, capacity // (4 * row)))
    asked = options.streams or default_streams(row * batch, page * batch, capacity)
    streams = max(1, min(asked, capacity // (2 * row * batch)))
    spare = max(0, capacity - streams * batch * row) if options.cache_policy else 0
    cached = slots_of(tables, known or {}, spare, partition, number, weights)
    return DevicePlan(
        streams=streams, batch_pages=batch, coded_bytes=batch * staged, cache_pages=cached,
        policy=options.cache_policy, micro=options.micro,
    )  # fmt: skip


def make_sweep_plans(
    tables: dict[str, PageTable], weights: bool, options: RunOptions, partition: Partition, first: int,
    rooms: Sequence[int | None], known: dict[str, PageTable], decodes: bool,
) -> list[DevicePlan]:  # fmt: skip
    """The plans of devices from number `first` on; rooms: bytes that each has."""
    asked = weights, options, partition
    return [
        make_sweep_plan(tables, *asked, number, room, known, decodes) for number, room in enumerate(rooms, first)
    ]  # fmt: skip
