"""What a program may say, and the exact words in which everything else is refused."""

from __future__ import annotations

import pytest
from written import HEAD, load, program

from gstream.language.lowering import SUBSET
from gstream.language.program import ProgramError
from pagestore.errors import UsageError

LINE = HEAD.count("\n") + 1  # where the class statement stands


def refusal(folder, **parts) -> str:
    with pytest.raises(ProgramError) as caught:
        program(folder, **parts)
    assert caught.value.exit_code == 2 and isinstance(caught.value, UsageError)
    place, message = str(caught.value).split(": ", 1)
    path, line = place.rsplit(":", 1)
    assert path.startswith(str(folder)) and path.endswith(".py")
    return f"{int(line) - LINE}: {message}"


SEND = {
    "u.valu": "`u.valu` is not a field of u in send. It has id, value, degree.",
    "u.value + DAMPING": "`DAMPING` is not known inside a method. Make it a parameter (`DAMPING: float = ...` in the "
    "class, then self.DAMPING) or a local name.",
    "self.damping": "`self.damping` is no parameter of the program. The parameters are none; declare one as "
    "`damping: float = ...` in the class.",
    "[1, 2]": f"`[1, 2]` is not in the accepted subset. {SUBSET}.",
    "u.value & 1": f"`u.value & 1` uses an operator that is not in the accepted subset. {SUBSET}.",
    "~u.id": f"`~u.id` uses an operator that is not in the accepted subset. {SUBSET}.",
    "'x'": "`'x'` is no number. Constants are integers, floats, True, False and INF.",
    "None": "`None` is no number. Constants are integers, floats, True, False and INF.",
    "max(u.value)": "`max(u.value)` has 1 arguments. max takes two or more.",
    "math.sqrt(1, 2)": "`math.sqrt(1, 2)` has 2 arguments. sqrt takes 1.",
    "u": "`u` is used whole. Use one of its fields, such as u.value.",
    "u.value and 1": "`u.value` is a number, and and/or want conditions. Compare it: `x != 0`.",
    "1 // 0": "`1 // 0` has no value (integer division or modulo by zero). Write a constant that has one.",
    "2 ** 64": "`2 ** 64` is past 64 bits. Use a float, or INF.",
    "2 ** 1000": "`2 ** 1000` is past 64 bits. Use a float, or INF.",
    "(-8) ** 0.5": "`(-8) ** 0.5` is no real number. Write a constant that is.",
    "u.id is e": "`u.id is e` uses a comparison that is not in the accepted subset. Use < <= > >= == or !=.",
    "u.id in u": "`u.id in u` asks for membership. `in` works with a parameter of type Vertices.",
    "u.value[0]": "`u.value[0]` is no element of a value. Vectors have elements: value = f32[3], and u.value[i].",
    "u.value.real": f"`u.value.real` is not in the accepted subset. {SUBSET}.",
    "(lambda: 1)()": f"`(lambda: 1)()` is not in the accepted subset. {SUBSET}.",
    "f'{u.value}'": f"`f'{{u.value}}'` is not in the accepted subset. {SUBSET}.",
    "e.source": "`e.source` is not a field of e in send. It has weight.",
    "g.verts": "`g.verts` is not a field of g in send. It has vertices, edges, superstep.",
    "os.getpid": f"`os.getpid` is not in the accepted subset. {SUBSET}.",
}


@pytest.mark.parametrize("text", SEND)
def test_expression_is_refused_with_line_text_limit_and_remedy(tmp_path, text):
    assert refusal(tmp_path, send=text) == f"3: {SEND[text]}"


def test_unknown_function_lists_the_known_ones(tmp_path):
    message = refusal(tmp_path, send="print(u.value)")
    assert message.startswith("3: `print(u.value)` calls a function that programs don't have. They have min, ")


PARAMETERS = {  # of kinds that are no numbers
    "send": ("u.value + self.own", "6: `self.own` is one number a vertex. Read it as v.own."),
    "send ": ("u.value + self.roots", "6: `self.roots` is a set of vertices. Ask `v.id in self.roots` in start."),
    "start": ("1 if v.degree in self.roots else 0",
              "5: `v.degree in self.roots` asks for something else than a vertex. Write `v.id in self.roots`."),
    "done": ("v.id in self.roots",
             "7: `v.id in self.roots` asks for membership in done. Only start knows sets of vertices."),
}  # fmt: skip


@pytest.mark.parametrize("method", PARAMETERS)
def test_what_is_no_number_is_not_used_as_one(tmp_path, method):
    text, message = PARAMETERS[method]
    methods = {"start": "v.own", "send": "u.value", "done": "v.value > 3", method.strip(): text}
    arguments = {"start": "self, v, g", "send": "self, u, e, g", "done": "self, v"}
    lines = [f"    def {name}({arguments[name]}): return {said}" for name, said in methods.items()]
    head = "class P(Program):\n    combine, value = MIN, f32\n    own: PerVertex\n    roots: Vertices = ()\n\n"
    with pytest.raises(ProgramError) as caught:
        load(tmp_path, head + "\n".join(lines))
    place, said = str(caught.value).split(": ", 1)
    assert f"{int(place.rpartition(':')[2]) - LINE}: {said}" == message


STATEMENTS = {
    "for i in range(3): x = 1": "`for i in range(3): x = 1` is not in the accepted subset. The driver loops over "
    "vertices and edges: write what happens at one of them.",
    "import os": "`import os` is not in the accepted subset. Import math at the top of the file; nothing else can be "
    "called.",
    "return": "`return` is not in the accepted subset. Return a number.",
    "v.value = 3": "`v.value = 3` assigns to something else than one local name. Return the new value instead.",
    "a = b = 3": "`a = b = 3` assigns to something else than one local name. Return the new value instead.",
    "min = 3": "`min = 3` assigns to min, which has a meaning already. Use another name.",
    "got += 1": "`got += 1` assigns to got, which has a meaning already. Use another name.",
    "del g": f"`del g` is not in the accepted subset. {SUBSET}.",
    "return 1\nx = 2": "`x = 2` is never reached. Delete it.",
    "if got < 1:\n    y = 2\nreturn y": "`y` may have no value here. Assign it on every path before.",
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_statement_is_refused(tmp_path, text):
    body = "\n".join("    " + line for line in text.split("\n"))
    message = refusal(tmp_path, rest=f"def apply(self, v, got, g):\n{body}\n    return got\n")
    assert message.split(": ", 1)[1] == STATEMENTS[text]


def test_method_that_can_end_without_a_value(tmp_path):
    message = refusal(tmp_path, rest="def apply(self, v, got, g):\n    if got < 1:\n        return 2\n")
    assert message == "4: `def apply(self, v, got, g):` can end without a value. Return a number on every path."


def test_wrong_arguments(tmp_path):
    message = refusal(tmp_path, rest="def done(self, v, g): return True")
    assert message == "4: `def done(self, v, g): return True` has arguments (self, v, g). Write `def done(self, v)`."


def test_fields_belong_to_methods(tmp_path):
    assert refusal(tmp_path, start="v.value") == (
        "2: `v.value` is not a field of v in start. It has id, degree, in_degree."
    )
    message = refusal(tmp_path, rest="def done(self, v): return v.degree == 0")
    assert message == "4: `v.degree` is not a field of v in done. It has id, value."
    message = refusal(tmp_path, rest="@total\ndef sum(self, v): return v.before + v.rank")
    assert message == "5: `v.rank` is not a field of v in sum. It has id, value, before, degree, in_degree."


CLASSES = {
    "class P(Program):\n    value = f32\n    def start(self, v, g): return 0\n    def send(self, u, e, g): return 0": (
        "combine is missing; it must be SUM, MIN, MAX or OR. Add `combine = ...`."
    ),
    "class P(Program):\n    combine, value = MIN, int\n    def start(self, v, g): return 0": (
        "value is <class 'int'>; it must be f32, f64, u32, u64, i32 or i64, or a vector as f32[3] or u8[64]. "
        "Add `value = ...`."
    ),
    "class P(Program):\n    combine, value = OR, f32\n    def start(self, v, g): return 0": (
        "combine is OR and value is f32; OR needs integers. Use value = u32 or u64."
    ),
    "class P(Program):\n    combine, value = MIN, f32\n    def start(self, v, g): return 0": (
        "send is missing. Write `def send(self, u, e, g): return ...`."
    ),
    "class P(Program):\n    combine, value = MIN, f32\n    def start(self, v, g): return 0\n"
    "    def send(self, u, e, g): return 0\n    def helper(self, v): return 1": (
        "method helper is none of start, send, apply, done, activate, halt. Write its arithmetic into the method that "
        "uses it, or decorate it with @total."
    ),
    "class P(Program):\n    combine, value = MIN, f32\n    def start(self, v, g): return 0\n"
    "    def send(self, u, e, g): return 0\n    def activate(self, v): return v.value < v.before\n": (
        "activate is for SUM, and combine is MIN: every better value is sent on. Leave activate out, or let send "
        "return what changes nothing."
    ),
    "class P(Program):\n    combine, value = MIN, f32\n    names: list = 3\n": (
        "parameter names is annotated 'list'; parameters are int, float, bool, Vertex, Vertices, PerVertex, f32, f64, "
        "u32, u64, i32, i64. Use one of them."
    ),
}


@pytest.mark.parametrize("text", CLASSES)
def test_class_is_refused(tmp_path, text):
    with pytest.raises(ProgramError) as caught:
        load(tmp_path, "\n" + text)
    place, message = str(caught.value).split(": P: ")
    assert place.startswith(str(tmp_path)) and message == CLASSES[text].replace("'list'", "<class 'list'>")


def test_total_with_a_taken_name(tmp_path):
    with pytest.raises(ProgramError, match="total edges has a name that is taken. Rename it."):
        program(tmp_path, rest="@total\ndef edges(self, v): return 1")


def test_program_typed_at_a_prompt():
    text = "class P(Program):\n    combine, value = MIN, f32\n    def start(self, v, g): return 0\n"
    names = {"__name__": "prompt"}
    with pytest.raises(ProgramError, match="programs are compiled from their text. Put the class into a file."):
        exec(compile(HEAD + text, "<stdin>", "exec"), names)


def test_accepted_constructs(tmp_path):
    program(
        tmp_path,
        value="f64",
        start="1.5 if v.id < 3 else math.pi",
        send="max(+u.value, e.weight, 2) ** 2 % 7 // 1 + abs(-u.degree) - 2 ** 3 * math.sqrt(g.vertices)",
        rest="""
        depth: int = 3
        def apply(self, v, got, g):
            \"\"\"Docstrings are welcome.\"\"\"
            new: float = got
            if 0 < got <= 5 and not got == 3 or self.depth != 2:
                new += 1
            elif got < 9:
                pass
            else:
                return INF
            return new if v.in_degree else math.floor(v.value)
        def halt(self, g): return g.superstep >= 3 or g.moved < 0.5
        @total
        def moved(self, v): return abs(v.value - v.before)
        """,
    )


def test_subclass_replaces_a_method(tmp_path):
    base = program(tmp_path, rest="step: float = 1.0")
    assert base.parameters["step"].default == 1.0
    text = "from {module} import P as Base\nclass Q(Base):\n    def send(self, u, e, g): return u.value + self.step\n"
    child = load(tmp_path, text.format(module=base.__module__), "Q")
    assert set(child.methods) == {"start", "send"} and child.parameters == base.parameters
