"""The names that kernels take from a program, here as breadth-first search would give them.

The generated module of a program defines the same names from its own methods (gstream.hostcode.generate).
"""

from __future__ import annotations

from gstream.hostcode.casts import f64, i64, u32, u64
from gstream.hostcode.jit import helper

VALUE, GOT = u32, u32  # types of a value and of what is combined from messages
IDENTITY = NO_GOT = u32(4294967295)  # what a vertex without messages got, in both types
NO_TOTALS = (f64(0),)
IN_PLACE, HAS_DONE, STOPS_EARLY, USES_EDGE, IDEMPOTENT = True, True, True, False, True
# Of SUM: whether pulls gather messages made once a vertex, whether there are totals, whether `apply` reads v.value, and
# whether `send`, `apply` and totals read what may change though the values that they are given do not.
PREMADE, HAS_TOTALS, READS_ITSELF, SENDS_ANEW, APPLIES_ANEW, SUMS_ANEW = False, False, True, False, False, False

# Of programs of vectors: elements of a value, as a constant and as the end of a range; whether there is `activate`;
# whether a vertex without messages stays as it is.
LENGTH, ELEMENTS, CHOOSES, KEEPS = 2, u64(2), False, False


@helper
def context(ints, floats):
    """The scalars of `g` and of the program's parameters, as one tuple."""
    return (ints[0], ints[1], ints[2], ints[3])


@helper
def better(new, old):
    """Whether combining `new` into `old` changes it (idempotent combines)."""
    return new < old


@helper
def changed(new, before):
    """Whether a vertex has another value than before; NaN is one value."""
    return new != before


@helper
def merged(old, new):
    """Combine."""
    return min(old, new)


@helper
def key(value):
    """What least values send first by: smaller is better, the same for all where values have no order (OR)."""
    return f64(value)


@helper
def degree_of(degree, at):
    """Degree of the vertex at index `at`; 0 where the program reads none."""
    return i64(0)


@helper
def in_degree_of(in_degree, at):
    """In-degree of the vertex at index `at`; 0 where the program reads none."""
    return i64(0)


@helper
def weight_of(weights, row, word):
    """Weight of the edge in `word` of page `row`; 0 where the program reads none."""
    return u32(0)


@helper
def start(v_id, v_degree, v_in_degree, own, at, members, ctx):
    """First value."""
    return u32(0) if v_id == ctx[3] else IDENTITY


@helper
def send(u_id, u_value, u_degree, e_weight, ctx):
    """Message from u."""
    return u32(i64(u_value) + i64(1))


@helper
def gathered(source, at, u, degree, weights, row, word, ctx):
    """Message that a pull takes from u, whose value (or premade message) is source[at]."""
    return send(i64(u), source[at], degree_of(degree, at), weight_of(weights, row, word), ctx)


@helper
def apply(v_id, v_value, v_degree, v_in_degree, got, own, at, ctx):
    """New value."""
    return merged(v_value, got)


@helper
def done(v_id, v_value, ctx):
    """Whether no message can change the value."""
    return v_value != IDENTITY


@helper
def halt(ctx):
    """Whether the program wants to stop."""
    return False


@helper
def same_totals(floats, applied):
    """Whether the totals that `apply` reads are those of `applied`."""
    return True


@helper
def add_totals(sums, v_id, v_value, v_before, v_degree, v_in_degree, own, at, ctx):
    """`sums` with what v adds to each total."""
    return sums


@helper
def store_totals(partials, block, sums):
    """Write the sums of one block."""


@helper
def empty(value):
    """Whether a source with this value sends nothing (the identity of an idempotent combine)."""
    return u64(value) == u64(IDENTITY)


@helper
def activate(v_id, v_value, v_before, v_degree, v_in_degree, own, at, ctx):
    """Of programs of vectors: whether the change of an element matters."""
    return True
