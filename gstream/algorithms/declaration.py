"""What an algorithm says of itself, once: the command line, Python's methods, help and the docs are made from it.

A file of a family (gstream/algorithms/FAMILY/x.py), or a module of another package, has one statement

    ALGORITHM = Algorithm("mis", "a maximal independent set", columns=("vertex", "in_set"), ...
    )

or ALGORITHMS = (Algorithm(...), ...) with the bracket that ends it at the beginning of a line. The registry reads this
statement as text and leaves the rest of the file alone, as `gstream --help` needs no kernels and no NumPy. So it is
made of literals and of names that stand here.

A function or kernel is named "NAME" where it stands in the same file, else "MODULE:NAME". MODULE is absolute, or
relative as in an import: ".distance_proofs:certify_bfs".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from gstream.options import values
from gstream.planning.work import Work
from pagestore.concurrency import LOADING
from pagestore.errors import UsageError
from pagestore.nearnames import meant_by, spelled

ANY, NOT_NEGATIVE = "weights", "weights of 0 or more"  # what weights an algorithm takes
VERTEX, EDGE, STORED_EDGE, DEGREE = "vertex", "edge", "stored edge", "degree"  # what a row of an answer is
COMMUNITY = "community"


class Kind(NamedTuple):
    """What values an option takes.

    read: checks a value and gives it its type; None: the algorithm reads it. typed: its type in signatures. shown: how
    the command line's help calls a value. given: what Python may pass, before the option's own help.
    """

    read: Callable[[str, Any], Any] | None
    typed: str
    shown: str | None
    given: str = ""


WHOLE = Kind(values.whole, "int", "N")
NUMBER = Kind(values.number, "float", None)
EXTENT = Kind(values.extent, "float", "N")
SWITCH = Kind(values.switch, "bool", None)
SYNC_OR_ASYNC = Kind(values.execution, "str", "sync|async")
ANSWER = Kind(None, "Any", "FILE", "a result, a table, a mapping from user IDs, or a file with ")
VERTICES = Kind(None, "Any", "ID", "a user ID or several; ")
NUMBERS = Kind(None, "Any", "FILE", "a mapping from user IDs to numbers, or a file with ")
VERTEX_SET = Kind(None, "Any", "FILE", "user IDs, or a file with ")  # on the command line also one by one: --node ID


@dataclass(frozen=True)
class Option:
    """An option of an algorithm. default: None where it may be left out, or must be given. help: no full stop at its
    end; defaults but None and False are added to it. may_change: a run that goes on from a checkpoint may have another.
    """

    name: str
    kind: Kind
    default: Any = None
    help: str = ""
    may_change: bool = False

    @property
    def named(self) -> str:
        """What Python calls it: a set of vertices has a second name."""
        return f"{self.name}, or {singular(self.name)}" if self.kind == VERTEX_SET else self.name

    @property
    def type(self) -> str:
        """Its type in a signature."""
        return self.kind.typed + (" | None" if self.default is None and self.kind.typed != "Any" else "")


FLAGS = {"start": "from"}  # on the command line, of options whose name there is a keyword of Python
START = Option("start", ANSWER, None, "the answer of an earlier run, as of the store before an update, to go on from")
SOURCE = Option("source", VERTICES, None, "start here")
FLOAT64 = Option("float64", SWITCH, False, "values in double precision")
EXECUTION = Option("execution", SYNC_OR_ASYNC, "sync", "async: new values are visible at once; fewer sweeps from disk")
RESOLUTION = Option("resolution", NUMBER, 1.0, "more than 1: smaller communities")
WEIGHTED = Option("weighted", SWITCH, False, "edges count by their weights")
PREDECESSORS = Option("predecessors", SWITCH, True, "the column predecessor, and the pass that finds it", True)
EITHER_WAY = Option("undirected", SWITCH, False, "along edges in either direction")
RADIUS = Option("radius", EXTENT, 1, "edges from the source; weighted: the most that a path weighs", True)
ALPHA = Option("alpha", NUMBER, 0.85, "share of rank that follows edges")
INITIAL = Option("initial", NUMBERS, None, "lines of `vertex value`, parted by a tab, comma or blanks")
NODES = Option("nodes", VERTEX_SET, None, "vertices, one a line")
TARGETS = Option("targets", VERTEX_SET, None, "vertices, one a line: end where the farthest of them is reached")
SEED = Option("seed", WHOLE, 0, "of what is drawn")
DRAWN = Option("k", WHOLE, None, "an estimate from N sources, drawn; default: all")


def tolerance(default: float) -> Option:
    """Where an iteration ends."""
    return Option("tol", NUMBER, default, "end at this L1 change in all; NetworkX's tol is a vertex's", True)


def at_most(default: int, what: str = "iterations") -> Option:
    """The most iterations."""
    return Option("max_iter", WHOLE, default, f"end after N {what}", True)


def exactly(default: int | None, what: str = "exactly N iterations") -> Option:
    """How many iterations."""
    return Option("iterations", WHOLE, default, what, True)


def singular(name: str) -> str:
    """What names vertices one by one where an option takes a set of them: `node` for `nodes`."""
    return name.removesuffix("s")


def flag(name: str) -> str:
    """An option as users write it on the command line."""
    return f"--{FLAGS.get(name, name).replace('_', '-')}"


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    title: what it finds, in a line. about: what the title, columns, options and definition leave open. definition:
    which one is used, where packages have several. columns: of the answer; rows: what its rows are. best, groups: how
    Result.top ranks rows.
    options: its own. The function run_NAME(session, **options) of the same file runs it. A plan asks one
    of two functions, which are called as run_NAME is. plan: makes the program that the run begins with. check: of page
    kernels, says what they hold (Session.check_memory), and raises CapError as the run does; it may return a program
    that holds more.
    proof: function of its certificate ("": none). proof_bytes: a vertex, that this takes at most beside pages, with the
    answer and temporary arrays, of 4-byte IDs. certificate: what it proves, or why there is none.
    directed: whether it needs a directed store or an undirected one; otherwise: what is said of the other kind, after
    "is directed, and". topology: "out", "in" or "both", where it needs these pages. weights: ANY or NOT_NEGATIVE, where
    it reads weights; with an option `weighted`, where that is asked for. holds: bytes a vertex beside pages, in words.
    kept: bytes a vertex that a checkpoint keeps, and what they are; "": it keeps none. sweeps: supersteps of an
    iteration. work: what it does to edges and vertices, for `gstream plan`.
    program: the class whose code `gstream show` prints. units, proof_units: what GPUs compile beside it for the run,
    and for the certificate: "MODULE:NAME NAME ..." of programs and kernels. module: where it is declared.
    """

    name: str
    title: str
    about: str = ""
    definition: str = ""
    columns: tuple[str, ...] = ()
    rows: str = VERTEX
    best: str = "least"
    groups: bool = False
    options: tuple[Option, ...] = ()
    plan: str = ""
    check: str = ""
    proof: str = ""
    proof_bytes: int = 0
    certificate: str = ""
    directed: bool | None = None
    otherwise: str = ""
    topology: str = ""
    weights: str = ""
    holds: str = ""
    kept: str = ""
    sweeps: int = 1
    work: Work = Work()
    program: str = ""
    units: tuple[str, ...] = ()
    proof_units: tuple[str, ...] = ()
    module: str = ""

    @property
    def defaults(self) -> dict[str, Any]:
        """Its options' defaults by name."""
        return {option.name: option.default for option in self.options}

    def reads_weights(self, own: dict[str, Any]) -> bool:
        """Whether a call with these options reads weights. own: all of its options, defaults too."""
        return bool(self.weights) and bool(own.get("weighted", True))

    @property
    def needs(self) -> str:
        """What it needs of a store, in words."""
        store = {None: "", True: "a directed store", False: "an undirected store"}[self.directed]
        pages = {"": "", "both": "both topologies"}.get(self.topology, f"{self.topology}-pages")
        weights = self.weights if self.reads_weights(self.defaults) else ""
        return " with ".join(filter(None, (store, pages, weights))) or "any store"

    @property
    def docstring(self) -> str:
        """Of its method in Python."""
        own = [f"- {option.named}: {option.kind.given}{option.help}." for option in self.options]
        own += [f"- certify: prove the answer ({self.certificate})."] if self.proof else []
        paragraphs = [
            f"{self.title[0].upper()}{self.title[1:]}. Columns: {', '.join(self.columns)}.",
            " ".join(self.about.split()),
            "\n".join(own),
            f"Definition: {self.definition}." if self.definition else "",
        ]
        return "\n\n".join(filter(None, paragraphs))

    def load(self, path: str) -> Any:
        """A function, class or kernel by its name in the declaration."""
        module, _, name = path.rpartition(":")
        with LOADING:
            found = import_module(module or self.module, self.module.rpartition(".")[0])
        if not hasattr(found, name):
            like = meant_by(name, vars(found))
            raise UsageError(
                f"{found.__file__}: {self.name} needs {name}, and there is no such name. "
                + (f"Is it {like}?" if like else "Mend the declaration, or write it.")
            )
        return getattr(found, name)

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """The options of their types. Raises UsageError for one that this algorithm does not have, or of no such type.

        None is for those alone whose default it is.
        """
        own = {option.name: option for option in self.options}
        for name in given:
            if name not in own:
                known = ", ".join(own) or "none"
                raise UsageError(f"{self.name}: has no option {name!r}; it has {known}. {spelled(name, own)}")
        return {
            name: value
            if (read := own[name].kind.read) is None or value is own[name].default
            else read(flag(name), value)
            for name, value in given.items()
        }
