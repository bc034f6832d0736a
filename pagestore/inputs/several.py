"""Several inputs of one format as one graph: their edges one after the other, one list of skipped lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions

ROLES = ("source", "target", "weight")
WEIGHTS = {True: "carries weights", False: "carries no weights"}
DIRECTIONS = {None: "does not say whether it is directed", True: "is directed", False: "is undirected"}
NOT_COUNTED = {None: "does not say how many vertices it has"}


class SeveralSources(EdgeSource):
    """The union of `sources`, which must agree on weights, direction and, where a header says it, on vertices."""

    def __init__(self, sources: Sequence[EdgeSource]) -> None:
        super().__init__()
        self.sources = list(sources)
        first = self.sources[0]
        self.name = f"{first.name} and {len(self.sources) - 1} more"
        self.weighted = self._agreed("weighted", WEIGHTS, "Pass --no-weights.")
        self.directed = self._agreed("directed", DIRECTIONS, "Pass --directed or --undirected.")
        self.vertices = self._agreed("vertices", NOT_COUNTED, "They are not one graph.", "has {} vertices")
        self.id_base = self._agreed("id_base", {}, "Convert them one by one.", "counts its vertices from {}")
        self.replayable = all(source.replayable for source in self.sources)
        sizes = [source.total_bytes for source in self.sources]
        self.total_bytes = None if None in sizes else sum(size for size in sizes if size is not None)
        self.closed = any(source.closed for source in self.sources)
        self._lines: list[Any] = [source for source in self.sources if hasattr(source, "owns_bad")]
        for source in self._lines:
            source.bad, source.skipped, source.owns_bad = self._lines[0].bad, self._lines[0].skipped, False
        if self._lines:
            self.skipped = self._lines[0].skipped
        texts = [source for source in self._lines if hasattr(source, "zeros")]
        width = max((len(source.zeros) for source in texts), default=0)
        for source in texts:  # 7 of one file is 007 of another
            source.take_width(width)

    def _agreed(self, attribute: str, words: dict[Any, str], remedy: str, other: str = "") -> Any:
        """An attribute of all sources; words: messages for its values, `other` for those that are not there."""
        values = [getattr(source, attribute) for source in self.sources]
        said = [words.get(value, other.format(value)) for value in values]
        for source, value, here in zip(self.sources, values, said, strict=True):
            if value != values[0]:
                where = f"{source.name}: {here}, but {self.sources[0].name} {said[0]}"
                raise InputError(f"{where}; inputs of one graph agree. {remedy}")
        return values[0]

    @contextmanager
    def a_pass(self, afresh: bool = True) -> Iterator[None]:
        """A pass over all inputs, whose list of skipped lines is whole when it ends. afresh: forget those before."""
        if self._lines and afresh:
            self._lines[0].bad.begin()
        try:
            yield
        finally:
            if self._lines:
                self._lines[0].bad.close()

    def chunks(self) -> Iterator[EdgeChunk]:
        with self.a_pass():
            for source in self.sources:
                yield from source.chunks()

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        lists = [ids for source in self.sources if (ids := source.vertex_ids()) is not None]
        return self._all_of(lists) if lists else None

    def _all_of(self, lists: Sequence[Iterator[np.ndarray]]) -> Iterator[np.ndarray]:
        with self.a_pass(afresh=False):
            for ids in lists:
                yield from ids

    def position(self) -> int:
        return sum(source.position() for source in self.sources)

    def close(self) -> None:
        for source in self.sources:
            source.close()


def refuse_other_columns(sources: Sequence[EdgeSource], options: InputOptions) -> None:
    """InputError names the first of several tables, or texts, whose columns are others than those of the first of them,
    or in another order, so that another one would be read as an end or as the weight.

    Where options name the ends, columns that are not read may differ.
    """
    tables: list[Any] = [source for source in sources if hasattr(source, "all_columns")]
    named = [table for table in tables if table.all_columns is not None]
    asked = options.source_column is not None
    for table, first in zip(tables, named[:1] * len(tables), strict=False):
        if table.all_columns is None:
            here, there = _numbered(table), _numbered(first)
            if here != there and not asked:
                raise InputError(
                    f"{table.name}: no line names its columns, and {first.name} has {_listed(first.columns)} in "
                    f"columns "
                    f"{_listed(there)}. Write that line there, too, or pass --source-column and --target-column."
                )
        elif not asked and {*map(str.lower, table.all_columns)} != {*map(str.lower, first.all_columns)}:
            raise InputError(
                f"{table.name}: has the columns {_listed(table.all_columns)}, and {first.name} has "
                f"{_listed(first.all_columns)}; files of one graph have the same. {_by_name(table, first)}"
            )
        elif (role := _role_of_another(table, first)) is not None:
            raise InputError(
                f"{table.name}: has the columns {_listed(table.all_columns)}, of which {_read_as(table, role)}, and "
                f"{first.name} has {_listed(first.all_columns)}, of which {_read_as(first, role)}; files of one graph "
                f"have the same. {_by_name(table, first)}"
            )


def _role_of_another(table: Any, first: Any) -> int | None:
    """Which of source, target and weight (0, 1, 2) is another column in `table`, though one of the two has both."""
    pairs = zip_longest(*([column.lower() for column in one.columns] for one in (table, first)))
    names = [{*map(str.lower, one.all_columns)} for one in (table, first)]
    for role, (here, there) in enumerate(pairs):
        if here != there and (there in names[0] or here in names[1]):
            return role
    return None


def _read_as(table: Any, role: int) -> str:
    """What column of `table` is read as its source, target or weight."""
    column = shown(table.columns[role], 20) if role < len(table.columns) else "none"
    return f"{column} would be the {ROLES[role]}"


def _by_name(table: Any, first: Any) -> str:
    """What to pass so that the columns of one name are read of both files."""
    source, target = first.columns[:2]
    if not {source, target} <= {*table.all_columns}:
        return f"Call its columns {_listed([source, target])}, too, or convert other files apart."
    weights = (*first.columns[2:], *table.columns[2:])
    weight = next((name for name in weights if name in table.all_columns and name in first.all_columns), None)
    flags = f"--source-column {_typed(source)} --target-column {_typed(target)}"
    if weight is not None:
        flags += f" --weight-column {_typed(weight)}"
    elif table.weighted or first.weighted:
        flags += " --no-weights"
    return f"Pass {flags}."


def _typed(name: str) -> str:
    """A column's name as it is typed, always between quotes."""
    return f"'{name}'" if "'" not in name else shlex.quote(name)


def _numbered(table: Any) -> list[str]:
    """Numbers, from 1, of the columns that are used."""
    names = table.all_columns
    return list(table.columns) if names is None else [str(names.index(name) + 1) for name in table.columns]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name, 20) for name in names[:12]) + ", ..." * (len(names) > 12)
