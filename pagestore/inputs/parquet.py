"""Parquet files: the columns that are needed, of the row groups for which --where may hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import reduce
from itertools import groupby
from operator import and_
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
from pyarrow.compute import field, scalar
from pyarrow.dataset import ParquetFileFormat
from pyarrow.fs import LocalFileSystem

from pagestore.cores import in_order
from pagestore.inputs.arrow import BATCH_ROWS, TableFile

GROUPS_SHARE, VALUE_BYTES = 8, 16  # row groups under way take that part of the memory; a value, decoded and stored


class ParquetSource(TableFile):
    """A .parquet file, replayable; a row group is decoded in batches.

    Row groups for whose statistics, or the path's `key=value`, --where can't hold are not read.
    """

    def own_schema(self) -> pyarrow.Schema:
        """See TableFile."""
        with parquet.ParquetFile(self._path) as file:
            return file.schema_arrow

    def own_batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """See TableFile."""
        with parquet.ParquetFile(self._path, pre_buffer=False) as file:
            groups = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
            rows, total = 0, max(file.metadata.num_rows, 1)
            read = self._wanted_groups(len(groups))
            for is_read, run in groupby(range(len(groups)), read.__contains__):
                chosen = list(run)
                for batch in self._decoded(file, chosen, columns) if is_read else ():
                    rows += batch.num_rows
                    self._done = (self.total_bytes or 0) * rows // total
                    yield batch.select(columns)  # Parquet leaves out records without fields
                if not is_read:
                    passed = sum(groups[group] for group in chosen)
                    rows, self._passed = rows + passed, self._passed + passed
                    self._done = (self.total_bytes or 0) * rows // total
                    self.bad.pass_rows(passed)

    def _decoded(self, file: Any, groups: list[int], columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """Batches of row groups in order: of several at once where these are of numbers, and memory holds them."""
        runs, room, rows = list[list[int]](), 0, BATCH_ROWS  # short row groups are decoded together
        for group in groups:
            if room <= 0:
                runs.append([])
                room = BATCH_ROWS
            runs[-1].append(group)
            room -= file.metadata.row_group(group).num_rows
            rows = max(rows, BATCH_ROWS - room)
        kinds = {field.name: field.type for field in file.schema_arrow}
        numbers = all(name in kinds and pyarrow.types.is_primitive(kinds[name]) for name in columns)
        most = self._memory_bytes // GROUPS_SHARE // (VALUE_BYTES * max(1, rows * len(columns))) - 1
        at_once = min(self._options.threads, most) if numbers else 1
        if at_once < 2 or len(runs) < 2:
            yield from file.iter_batches(BATCH_ROWS, groups, columns=columns)
            return

        def decode(run: list[int]) -> list[pyarrow.RecordBatch]:
            with parquet.ParquetFile(self._path, metadata=file.metadata, pre_buffer=False) as own:
                return list(own.iter_batches(BATCH_ROWS, run, columns=columns))

        for _, batches in in_order(runs, decode, at_once):
            yield from batches

    def _wanted_groups(self, groups: int) -> set[int]:
        """Numbers of the row groups that may hold rows for which --where holds."""
        if not self._prunes:
            return set(range(groups))
        of_path = {key: value for key, value in self._of_path.items() if value is not None}
        known = reduce(and_, (field(key) == value for key, value in of_path.items()), scalar(True))
        fragment = ParquetFileFormat().make_fragment(os.fspath(self._path), LocalFileSystem(), known)
        return {group.id for group in fragment.subset(self._condition, self.schema()).row_groups}
