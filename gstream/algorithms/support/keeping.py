"""What a call says of its checkpoints: the names of what it keeps. gstream.engine.checkpoint does the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gstream.engine.checkpoint import identity_of, open_keeper
from gstream.engine.program_state import shown
from gstream.engine.sweep_state import SweepState
from gstream.options.stopping import Asked


class Keeping:
    """Part of a Session. engine, asked: the Session's."""

    engine: Any
    asked: Asked | None

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """While the block lasts, the call goes on from a checkpoint and writes some, if the options ask for that. Its
        certificate does not. Raises as gstream.engine.checkpoint.open_keeper."""
        if self.engine.options.checkpoint is None or self.asked is None:
            yield
            return
        with open_keeper(self.engine.options, self.engine.store.meta, identity_of(self.asked)) as keeper:
            self.engine.keeper = keeper
            try:
                yield
            finally:
                self.engine.keeper = None

    def keep(self, *, of: tuple[Any, ...] = (), final: bool = False, **given: Any) -> SweepState:
        """What the call keeps from now on, by name: gstream.engine.sweep_state. of: what users gave in files, and
        arrays made of that. final: a program follows, and is the last one. Raises as Keeper.adopt does."""
        keeper = self.engine.keeper
        rests_on = "" if keeper is None else " ".join(map(shown, of))
        state = SweepState(keeper, given, rests_on, final, self.engine.sources.work)
        if keeper is not None:
            keeper.adopt(state)
        return state

    def check_kept(self) -> None:
        """Within `except`: raise again what came of a checkpoint that could not be written."""
        if self.engine.keeper is not None and self.engine.keeper.failed:
            raise

    def saved(self, name: str, otherwise: Any) -> Any:
        """A number that the call goes on with, before `keep` with that name; `otherwise` where it begins afresh."""
        return self.engine.keeper.number(name, otherwise) if self.engine.keeper is not None else otherwise

    def resumes(self, name: str) -> bool:
        """Whether `keep` with that name will go on from a checkpoint."""
        return self.engine.keeper is not None and name in self.engine.keeper.awaited
