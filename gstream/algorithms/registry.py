"""The algorithms by name, from their declarations (gstream.algorithms.declaration).

gstream's stand in its families. Those of other packages are named by entry points of the group "gstream.algorithms",
whose values are modules; they are looked for where a name is not one of gstream's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from gstream.algorithms import declaration
from gstream.algorithms.declaration import Algorithm, Option
from gstream.options.wording import KEYWORDS
from pagestore.errors import UsageError
from pagestore.nearnames import meant_by

FAMILIES = ("traversal", "centrality", "components", "density", "labelling", "communities", "subgraphs")
FIRST = ("bfs", "pagerank", "sssp", "wcc")  # of all lists: most users look for one of these
INSTALLED = "gstream.algorithms"  # the group of entry points
STATEMENT = re.compile(r"^ALGORITHMS? = (.*?^\))", re.MULTILINE | re.DOTALL)
LIKE = 0.75  # how like a name must be to be meant: k-core is kcore, dfs not bfs
ALGORITHMS: dict[str, Algorithm] = {}
OPTIONS: dict[str, Option] = {}  # one of each name


def declared_in(path: Path, module: str) -> tuple[Algorithm, ...]:
    """The algorithms that a file declares. Only its statement is run: the file may import anything."""
    text = path.read_text(encoding="utf-8")
    found = STATEMENT.search(text) if "\nALGORITHM" in text else None
    if found is None:
        return ()
    said = eval(found[1], dict(vars(declaration)))
    return tuple(replace(one, module=module) for one in (said if isinstance(said, tuple) else (said,)))


def add(algorithms: tuple[Algorithm, ...]) -> None:
    """Let these be found. Raises UsageError where an option of theirs has another kind than others of its name."""
    for algorithm in algorithms:
        for option in algorithm.options:
            if OPTIONS.setdefault(option.name, option).kind != option.kind:
                raise UsageError(
                    f"{algorithm.module}: its option {option.name} takes other values than that of other algorithms. "
                    "Give it another name."
                )
            KEYWORDS.add(option.name)
        ALGORITHMS.setdefault(algorithm.name, algorithm)


@cache
def add_installed() -> None:
    """Add the algorithms that other packages declare, once. Raises UsageError for one that can't be read."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    for point in entry_points(group=INSTALLED):
        try:
            spec = find_spec(point.module)
            if spec is None or spec.origin is None:
                raise ImportError(f"there is no module {point.module}")
            found = declared_in(Path(spec.origin), point.module)
            if not found:
                raise ImportError("it declares no algorithm")
            add(found)
        except Exception as error:  # whatever the text of the statement leads to
            said = str(error).rstrip(".")
            raise UsageError(f"{point.value} of {INSTALLED}: {said}. Mend the package, or remove it.") from error


def find_algorithm(name: str) -> Algorithm:
    """The algorithm called `name`. Raises UsageError naming the ones there are."""
    if name not in ALGORITHMS:
        add_installed()
    if name not in ALGORITHMS:
        if "." in name or "/" in name:
            raise UsageError(f"{name}: is no algorithm. Name one before it, as in `pagerank {name}`.")
        like = meant_by(name.lower().replace("-", "").replace("_", ""), ALGORITHMS, LIKE)
        if like:
            raise UsageError(f"{name}: no such algorithm. Did you mean {like}?")
        known = ", ".join(ALGORITHMS)
        raise UsageError(f"{name}: no such algorithm; there are {known}, and your own as FILE.py:CLASS.")
    return ALGORITHMS[name]


def _of_gstream() -> tuple[Algorithm, ...]:
    files = [file for family in FAMILIES for file in sorted((Path(__file__).parent / family).glob("*.py"))]
    found = [one for file in files for one in declared_in(file, f"{__package__}.{file.parent.name}.{file.stem}")]
    return tuple(sorted(found, key=lambda one: FIRST.index(one.name) if one.name in FIRST else len(FIRST)))


add(_of_gstream())
