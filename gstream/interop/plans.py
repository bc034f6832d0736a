"""`gstream.plan`: what a run would hold, move and take, without a store and without the machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gstream.options.wording import OPTION, in_python
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.planning.machines import Machine


def _spoken(line: str) -> str:
    """A message of `gstream plan` with its options as keywords of the call."""
    return OPTION.sub(lambda found: found[0][2:].replace("-", "_"), line)


@in_python(_spoken)
def plan(
    algorithm: str, *, vertices: int, edges: int, weighted: bool = False, undirected: bool = False,
    order: str = "natural", machine: str | os.PathLike | Machine | None = None, ranks: int | None = None, **given: Any,
) -> dict[str, Any]:  # fmt: skip
    """What a run of `algorithm` would hold, move and take, as `gstream plan --vertices --edges --json`; nothing is run.

    vertices, edges: of the graph, an undirected edge once. weighted: it has weights; an algorithm that has an option of
    that name reads them. order: "natural" or "degree", of the store. machine: a name ("h100x8"), a file of `gstream
    doctor --save`, or a gstream.planning.machines.Machine; None: this one. ranks: that share the run on a graph in
    parts, each with a machine's cores; the plan is then of each of them. given: the algorithm's own options, and
    RunOptions by name. Where `lacks` is not 0, the machine lacks memory for so many bytes, and times are None. Raises
    UsageError, InputError for a file that is no machine, CapError for too little memory.
    """
    from gstream.algorithms.machine_plans import counted, machine_facts
    from gstream.algorithms.rank_plans import rank_facts
    from gstream.algorithms.registry import find_algorithm
    from gstream.options.run_options import RunOptions
    from gstream.planning.machines import Machine, find_machine
    from gstream.planning.this_machine import this_machine

    found = find_algorithm(algorithm)
    options = {name: given.pop(name) for name in list(given) if name in RunOptions.__dataclass_fields__}
    own = found.checked(given)
    if weighted and "weighted" in found.defaults:
        own["weighted"] = True
    for name, count in (("vertices", vertices), ("edges", edges)):
        if not isinstance(count, int) or isinstance(count, bool):
            raise UsageError(f"--{name} {count!r}: must be a whole number.")
    store = counted(algorithm, own, vertices, edges, weighted, undirected, order)
    if machine is None:
        machine = this_machine()
    where = machine if isinstance(machine, Machine) else find_machine(machine)
    if ranks is not None:
        return {"algorithm": algorithm} | rank_facts(algorithm, store, where, own, options, ranks)
    return {"algorithm": algorithm, "store": store.path} | machine_facts(algorithm, store, where, own, options)
