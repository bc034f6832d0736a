"""The Python that a user's record kernel may be made of: what Numba and CUDA C++ both take, with the same meaning.

`check_kernel` refuses all else at its line, before anything is compiled. gstream.cudacode.scalar_text prints what it
accepts; beyond that, a kernel may write only arrays whose copies the decorator says how to merge.
"""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any, NoReturn

import numpy as np

from gstream.language.method_text import Method, ProgramError, read_method
from gstream.language.scalar_types import ScalarType
from gstream.records.declare import INTRINSICS, RecordKernel

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
FIELDS = ("vertex", "count", "shared")
WRITERS = ("atomic_add", "atomic_min", "atomic_or", "compare_and_swap")  # intrinsics that write their first argument
# Names of the code around a kernel (gstream/hostcode/templates/walk.py, gstream/hostcode/records.py), what its text
# calls in C++ (cuda/records.cuh), and C++'s words.
TAKEN = frozenset(
    "LISTS_A_CLAIM at before claim counter head_of helper is_large is_stopped item kernel list_of note_end page "
    "page_of part_of parts place_in_list record records_of slots_of stride_of vertex_of visit walk walk_listed wanted "
    "weights words divided max2 min2 wide "
    "alignas asm auto bool case catch char class concept const constexpr default delete do double enum explicit export "
    "extern false float friend goto inline int long mutable namespace new operator private protected public register "
    "requires short signed sizeof static struct switch template this throw true typedef typename union unsigned using "
    "virtual void volatile wchar_t".split()
)
PLAIN = {"len": 1, "min": 2, "max": 2, "range": 0}


def check_kernel(kernel: RecordKernel, said: dict[str, str]) -> None:
    """Raise ProgramError, `file:line: text limit. remedy`, where a kernel is not one that cores and GPUs run alike.

    said: what its decorator says, by parameter.
    """
    text: Any = kernel.text  # type: ignore[attr-defined]
    arguments = text.arguments
    if arguments[:1] != ["record"]:
        text.refuse(text.tree, "does not take a record", f"Write def {kernel.name}(record, ...): ...")
    for name in said:
        if name not in arguments[1:]:
            text.refuse(text.tree, f"has no parameter {name}, which the decorator names", "Check the spelling.")
    _refuse_taken(text, text.tree, kernel.name)
    _Text(text, kernel.function, set(kernel.merges)).check()


def refuse_word(text: Method, word: str, known: str) -> NoReturn:
    """Raise ProgramError for a word of a decorator."""
    raise ProgramError(f"{text.where(text.tree)}: the decorator says {word!r}, which is not {known}. Use one of them.")


def _refuse_taken(text: Method, node: ast.AST, name: str) -> None:
    if name in TAKEN or name.startswith("record_"):
        text.refuse(node, "is a name that gstream or C++ uses itself", "Choose another one.")


class _Text:
    """One function of the user's: the kernel, or a helper that it calls."""

    def __init__(self, text: Method, function: Any, written: set[str] | None, seen: tuple[Any, ...] = ()) -> None:
        """written: arrays of a kernel that it may write; None: a helper, whose arguments are the kernel's matter."""
        self.text, self.space, self.seen = text, function.__globals__, (*seen, function)
        self.kernel, self.written = written is not None, written or set()
        self.writes = set[str]()  # parameters that it writes
        self.names: list[dict[str, bool]] = [dict.fromkeys(text.arguments, False)]  # block by block: is it whole?
        self.loops, self.over_record = 0, False

    def check(self) -> None:
        body = self.text.tree.body
        given = self.text.tree.args
        if not self.kernel:
            _refuse_taken(self.text, self.text.tree, self.text.tree.name)
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
            self.refuse(self.text.tree, "takes arguments by * or /", "Name each parameter.")
        for argument in given.args[1 if self.kernel else 0 :]:
            _refuse_taken(self.text, argument, argument.arg)
        self.block(body[1:] if ast.get_docstring(self.text.tree) is not None else body)

    def refuse(self, node: ast.AST, limit: str, remedy: str) -> NoReturn:
        self.text.refuse(node, limit, remedy)

    def block(self, body: list[ast.stmt], **names: bool) -> None:
        self.names.append(dict(names))
        for statement in body:
            self.statement(statement)
        self.names.pop()

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            if len(node.targets) > 1:
                self.refuse(node, "assigns to several names", "Write one assignment a line.")
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            self.augment(node)
        elif isinstance(node, ast.If):
            self.value(node.test)
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, (ast.While, ast.For)):
            self.loop(node)
        elif isinstance(node, ast.Return):
            self.leave(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.call(node.value)
        elif not isinstance(node, (ast.Pass, ast.Break, ast.Continue)):
            self.refuse(node, "is no statement that GPUs run", "Use assignments, if, while, for and calls of helpers.")

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            if len(target.elts) != 2:
                self.refuse(target, "are not two names", "Take two, as `written, seen = compare_and_swap(...)`.")
            values = self.pair(value)
            for each, one in zip(target.elts, values, strict=True):
                self.put(each, one)
            return
        self.value(value)
        self.put(target, value)

    def pair(self, value: ast.expr) -> list[ast.expr | None]:
        if isinstance(value, ast.IfExp):
            self.value(value.test)
            self.pair(value.body)
            self.pair(value.orelse)
        elif isinstance(value, ast.Tuple) and len(value.elts) == 2:
            for each in value.elts:
                self.value(each)
            return list(value.elts)
        elif isinstance(value, ast.Call):
            self.call(value)
        else:
            self.refuse(value, "is no pair", "Write two values, or a call that gives a pair.")
        return [None, None]

    def put(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Subscript):
            self.element(target)
            self.write(target.value)
        elif isinstance(target, ast.Name):
            self.bind(target, value)
        else:
            self.refuse(target, "is neither a name nor an element of an array", "Assign to one of them.")

    def bind(self, target: ast.Name, value: ast.expr | None) -> None:
        if target.id in self.text.arguments:
            self.refuse(target, "is a parameter", "Give the new value a name of its own.")
        _refuse_taken(self.text, target, target.id)
        whole = value is not None and is_whole(value)
        for names in self.names:
            if target.id in names:
                if names[target.id] and value is not None and is_fraction(value):
                    self.refuse(
                        target, "begins as a whole number and gets a fraction here", "Begin with 0.0 instead of 0."
                    )
                return
        self.names[-1][target.id] = whole

    def augment(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.refuse(
                node,
                "is not atomic: threads that change one element lose changes",
                "Use atomic_add, lower or raise_to.",
            )
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        joint = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        self.value(joint)
        self.put(node.target, joint)

    def loop(self, node: ast.While | ast.For) -> None:
        if node.orelse:
            self.refuse(node, "has an else", "Take it out of the loop.")
        names, over = {}, False
        if isinstance(node, ast.While):
            self.value(node.test)
        else:
            if not isinstance(node.target, ast.Name):
                self.refuse(node.target, "is no name", "Write `for u in record.neighbours():`.")
            over = self.iterated(node.iter)
            _refuse_taken(self.text, node.target, node.target.id)
            names = {node.target.id: True}
        before, self.over_record = self.over_record, self.over_record or over
        self.loops += 1
        self.block(node.body, **names)
        self.loops, self.over_record = self.loops - 1, before

    def iterated(self, node: ast.expr) -> bool:
        """Whether a loop goes over the record's neighbours; else it goes over a range."""
        name = _of_record(node) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and name == "neighbours" and self.kernel:
            if self.over_record:
                self.refuse(
                    node, "stands in another loop over the list, of which a GPU's lane has a stretch",
                    "Look at pairs of neighbours by two sweeps.",
                )  # fmt: skip
            self.arguments(node, 0)
            return True
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
            self.refuse(node, "is nothing to loop over", "Loop over record.neighbours() or range(low, high).")
        if not 1 <= len(node.args) <= 2:
            self.refuse(node, "has a step", "Use while for other steps than 1.")
        self.arguments(node, len(node.args))
        return False

    def leave(self, node: ast.Return) -> None:
        if not self.kernel:
            if node.value is not None:
                self.value(node.value)
        elif node.value is not None:
            self.refuse(node, "returns a value", "A kernel writes to arrays.")
        elif self.loops:
            self.refuse(node, "leaves a loop", "Use break; `return` leaves the record.")

    def value(self, node: ast.expr) -> None:
        """Check an expression."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return
        if isinstance(node, ast.Name):
            self.name(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, OPERATORS):
            self.value(node.left)
            self.value(node.right)
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
            self.value(node.operand)
        elif isinstance(node, ast.BoolOp):
            for each in node.values:
                self.value(each)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], COMPARISONS):
            self.value(node.left)
            self.value(node.comparators[0])
        elif isinstance(node, ast.IfExp):
            for each in (node.test, node.body, node.orelse):
                self.value(each)
        elif isinstance(node, ast.Subscript):
            self.element(node)
        elif isinstance(node, ast.Call):
            self.call(node)
        elif isinstance(node, ast.Attribute) and _of_record(node) in FIELDS and self.kernel:
            return
        elif isinstance(node, ast.Attribute) and _of_record(node):
            known = ", ".join((*FIELDS, "neighbours()", "weight()"))
            self.refuse(node, "is nothing that a record has", f"It has {known}.")
        elif isinstance(node, ast.BinOp):
            self.refuse(node, "has an operator without a twin on GPUs", "Use + - * / & | ^ << >>.")
        elif isinstance(node, ast.Compare):
            self.refuse(node, "is more than one comparison", "Join comparisons of two by and.")
        else:
            self.refuse(node, "has no twin on GPUs", "Use numbers, elements of arrays, arithmetic and helpers.")

    def name(self, node: ast.Name) -> None:
        if any(node.id in names for names in self.names):
            return
        if isinstance(number := self.space.get(node.id), (int, float, np.generic)):
            _refuse_taken(self.text, node, node.id)
            if not math.isfinite(number):
                self.refuse(node, f"is {number}", "Hand it over as a parameter.")
            return
        if any(isinstance(each, ast.Name) and each.id == node.id and isinstance(each.ctx, ast.Store)
               for each in ast.walk(self.text.tree)):  # fmt: skip
            self.refuse(
                node, "has its first value in a block that has ended, or none yet", "Assign to it before the block."
            )
        self.refuse(
            node, "is no parameter, no name of this function and no number of the file",
            "Hand it over as a parameter, or check the spelling.",
        )  # fmt: skip

    def element(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Call):
            self.call(node.value)
            return
        if not (isinstance(node.value, ast.Name) and node.value.id in self.text.arguments):
            self.refuse(node, "is no element of a parameter", "Arrays are handed over as parameters.")
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            self.refuse(node, "is more than an element", "Kernels read and write single elements: array[index].")
        self.value(node.slice)

    def call(self, node: ast.Call) -> None:
        if node.keywords:
            self.refuse(node, "passes arguments by name", "Pass them by position.")
        if _of_record(node) == "weight" and self.kernel:
            if not self.over_record:
                self.refuse(node, "stands in no loop over neighbours", "It is the weight of the edge to one of them.")
            self.arguments(node, 0)
        elif isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func).endswith(".dtype.type"):
                self.arguments(node, 1)
            elif _of_record(node):
                self.value(node.func)
            else:
                self.refuse(
                    node, "is a function without a twin on GPUs", "Import a helper's name by `from ... import`."
                )
        elif isinstance(node.func, ast.Name):
            self.named_call(node, node.func.id)
        else:
            self.refuse(node, "calls no name", "Call a helper.")

    def named_call(self, node: ast.Call, name: str) -> None:
        value = self.space.get(name, getattr(builtins, name, None))
        if name in PLAIN and value is getattr(builtins, name) and name != "range":
            self.arguments(node, PLAIN[name])
        elif isinstance(value, ScalarType) or isinstance(value, type) and issubclass(value, np.generic):
            self.arguments(node, 1)
        elif getattr(value, "__module__", "") == INTRINSICS:
            self.arguments(node, len(node.args))
            if name in WRITERS:
                self.write(node.args[0])
        elif hasattr(value, "py_func"):
            self.helper(node, value.py_func)
        elif callable(value):
            self.refuse(node, f"calls {name}, which is no helper", "Decorate it with gstream.helper, if it is yours.")
        else:
            self.refuse(node, f"calls {name}, which this file does not have", "Import it, or check the spelling.")

    def helper(self, node: ast.Call, function: Any) -> None:
        """A call of a helper: its text is checked, too, and what it writes counts as written here."""
        if function in self.seen:
            self.refuse(node, "calls itself", "Use a loop.")
        text = read_method(function.__name__, function.__name__, function)
        needed = len(text.arguments) - len(text.tree.args.defaults)
        if not needed <= len(node.args) <= len(text.arguments):
            self.refuse(node, f"passes {len(node.args)} arguments, not {len(text.arguments)}", "Pass each of them.")
        self.arguments(node, len(node.args))
        inner = _Text(text, function, None, self.seen)
        if not function.__module__.startswith("gstream."):
            inner.check()
        else:
            inner.find_writes()
        for name, given in zip(text.arguments, node.args, strict=False):
            if name in inner.writes:
                self.write(given)

    def find_writes(self) -> None:
        """Which parameters one of gstream's own helpers writes."""
        for node in ast.walk(self.text.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                self.write(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                value = self.space.get(node.func.id)
                if node.func.id in WRITERS:
                    self.write(node.args[0])
                elif hasattr(value, "py_func"):
                    inner = _Text(read_method(node.func.id, node.func.id, value.py_func), value.py_func, None)
                    inner.find_writes()
                    for name, given in zip(inner.text.arguments, node.args, strict=False):
                        if name in inner.writes:
                            self.write(given)

    def arguments(self, node: ast.Call, count: int) -> None:
        """Check a call's arguments."""
        if len(node.args) != count:
            self.refuse(node, f"passes {len(node.args)} arguments, not {count}", "Pass each of them.")
        for given in node.args:
            self.value(given)

    def write(self, array: ast.expr) -> None:
        """Note that an array is written. Raises ProgramError where several GPUs' copies of it would stay apart."""
        if not (isinstance(array, ast.Name) and array.id in self.text.arguments):
            return
        self.writes.add(array.id)
        if self.kernel and array.id not in self.written:
            self.refuse(
                array, "is written, and the decorator does not say how copies of it become one",
                f'Add {array.id}="sum", or another of or, min, max, one.',
            )  # fmt: skip


def is_whole(value: ast.expr) -> bool:
    """Whether an expression is a whole number as it stands."""
    return isinstance(value, ast.Constant) and isinstance(value.value, int) and not isinstance(value.value, bool)


def is_fraction(value: ast.expr) -> bool:
    """Whether an expression is a fraction as it stands, whatever its names are."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.Div) or is_fraction(value.left) or is_fraction(value.right)
    if isinstance(value, ast.UnaryOp):
        return is_fraction(value.operand)
    if isinstance(value, ast.IfExp):
        return is_fraction(value.body) or is_fraction(value.orelse)
    return isinstance(value, ast.Constant) and isinstance(value.value, float)


def _of_record(node: ast.AST) -> str | None:
    """NAME of `record.NAME` or of a call of it."""
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "record":
        return node.attr
    return None
