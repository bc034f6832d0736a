"""The threads that read a store's pages: as many for each disk as were asked for, or as a measurement chose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gstream.options.run_options import READ_THREADS
from gstream.paging.page_table import PageTable
from gstream.paging.readers import Readers
from gstream.planning import calibration
from gstream.planning.cost_equations import Constants
from gstream.planning.plan import Plan
from pagestore.concurrency import cached_property


class DiskReaders(Readers):
    """Readers of an open store. tables: its page sets; asked: RunOptions.read_threads."""

    def __init__(self, store: Any, tables: dict[str, PageTable], asked: int | str | None) -> None:
        super().__init__(max(1, len(store.stripes)), int(asked or READ_THREADS))
        part = any(store.topology(table.name).spread.only is not None for table in tables.values())
        self._store, self._tables, self._chosen = store, tables, asked is not None or part  # the sample is of all pages

    @cached_property
    def _disk(self) -> calibration.Disk | None:
        """How the store's disks read: measured once, kept. None for a store of few pages."""
        table = max(self._tables.values(), key=lambda table: table.pages)
        topology = self._store.topology(table.name)
        return calibration.disk(lambda: topology.reader(direct=True), table, [file.place for file in topology.files])

    def streamed(self) -> int:
        """Reads under way at a time where pages are streamed; from here on threads are as many as that takes."""
        if not self._chosen and self._disk is not None:
            self.resize(self._disk.threads)
        return self.at_once

    def planned(self, plan: Plan, constants: Constants, measures: bool = True) -> Plan:
        """The plan with what is known of the disks, where it reads from them beyond the first use of a page. measures:
        not by ranks, whose plans are to be the same."""
        if measures and self._disk_matters(plan) and self._disk is not None:
            constants = replace(constants, disk=self._disk.rate, disk_apart=self._disk.apart)
        return replace(plan, constants=constants, read_threads=self.threads, disks=self.files)

    @staticmethod
    def _disk_matters(plan: Plan) -> bool:
        return not all(source.resident for source in plan.sources.values())
