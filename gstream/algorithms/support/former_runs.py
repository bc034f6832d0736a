"""What a run that goes on from an earlier answer (`--from`) may take from it: gstream.algorithms.support.given_answers
reads the answer.

Ranks may come from any graph: the iteration has one fixed point. Distances and components hold after edges were added,
and not after some were removed. So the answer must say which run and which store it is of, and the store must say that
nothing was removed since (`changes` in its provenance, which `gstream update` writes).

Sums of weights must also be rounded as a whole run rounds them. Of fractional weights they must have had the type that
they have now. Of whole numbers they are exact, as long as that type counts whole numbers one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.given_answers import GivenAnswer, is_whole
from gstream.algorithms.support.session import Session
from gstream.telemetry.plain_values import plain_values
from pagestore.errors import InputError, UsageError
from pagestore.sizes import show_things

AGAIN = "Leave --from out."
RANKS = ("pagerank", "proximity", "value")  # columns of ranks: of gstream's answers, and of programs of users'


def check_former(session: Session, answer: GivenAnswer, algorithm: str, **options: Any) -> None:
    """Raise UsageError where what follows from the answer could be wrong: another algorithm or other options (those of
    which it must have the same), another graph, or edges removed since."""
    about, meta = answer.about, session.meta
    if about is None:
        raise UsageError(f"{answer.said}: does not say which run it is of, as .parquet and .arrow do. Write it as one.")
    if about["algorithm"] != algorithm:
        raise _of_another(answer, algorithm)
    given = about.get("options") or {}
    for name, value in options.items():
        if _text(given.get(name)) != _text(value):
            raise UsageError(
                f"{answer.said}: had {name} {_text(given.get(name)) or 'none'}, and this run has "
                f"{_text(value) or 'none'}. {AGAIN}"
            )
    if about["uuid"] == meta.uuid:
        return
    changes = _changes_since(session, answer)
    if not changes:
        raise UsageError(
            f"{answer.said}: is of another store, from which {session.store.path} was not made by gstream "
            f"update. {AGAIN}"
        )
    removed = sum(step["removed"] for step in changes)
    if removed or (algorithm == "sssp" and any(step["weights_changed"] for step in changes)):
        were = "was" if removed == 1 else "were"
        what = f"{show_things(removed, 'edge')} {were} removed" if removed else "weights changed"
        raise UsageError(f"{answer.said}: {what} since, so {algorithm} must begin anew. {AGAIN}")


def _changes_since(session: Session, answer: GivenAnswer) -> list[dict[str, Any]]:
    """Updates between the store of an answer and this one."""
    changes = session.meta.provenance.get("changes", [])
    since = (at for at, step in enumerate(changes) if answer.about and step["from"] == answer.about["uuid"])
    return changes[next(since, len(changes)) :]


def _of_another(answer: GivenAnswer, algorithm: str) -> UsageError:
    assert answer.about is not None
    return UsageError(f"{answer.said}: is an answer of {answer.about['algorithm']}, not of {algorithm}. {AGAIN}")


def _text(value: Any) -> str:
    """An option's value as an answer's file and a call have it. One value and a list of one are the same, and so are
    lists in another order."""
    value = plain_values(value)
    listed = value if isinstance(value, list) else [] if value is None or value is False else [value]
    return ", ".join(sorted(map(str, listed)))


def former_distances(session: Session, answer: GivenAnswer, dtype: np.dtype, none: Any, sums: bool) -> np.ndarray:
    """dtype[V]: distances, `none` where there is none, as of new vertices. sums: of weights.

    Raises InputError for a negative one, UsageError for sums that a whole run might round otherwise.
    """
    distance = np.full(session.meta.vertices, none, dtype)
    session.reserve(distance)
    changes = _changes_since(session, answer)
    was = changes[0].get("weights", session.meta.weight_dtype) if changes else session.meta.weight_dtype
    most = 1 << (np.finfo(dtype).nmant + 1 if dtype.kind == "f" else 53)  # tables hold whole numbers as float64
    for found, values in answer.batches(session, answer.column("distance")):
        there = np.asarray(values.is_valid())
        numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
        there &= np.isfinite(numbers)
        if (numbers[there] < 0).any():
            raise InputError(f"{answer.where}: has a negative distance. Name the answer of a run.")
        if sums and was == "f4" and numbers.dtype != dtype:
            raise UsageError(f"{answer.said}: has sums in {numbers.dtype}, and this run has {dtype}. {AGAIN}")
        if sums and was != "f4" and numbers[there].max(initial=0) > most:
            raise UsageError(
                f"{answer.said}: has a distance past {most}, up to which {dtype if dtype.kind == 'f' else 'float64'} "
                f"counts whole numbers, so sssp must begin anew. {AGAIN}"
            )
        distance[found[there]] = numbers[there].astype(dtype)
    return distance


def former_trees(session: Session, answer: GivenAnswer) -> np.ndarray:
    """id[V]: the least store ID of each vertex's component; a new vertex is one. Raises InputError where a component is
    not named by one of its vertices."""
    vertices = session.meta.vertices
    label = np.arange(vertices, dtype=np.int64)
    session.reserve(label)
    for found, values in answer.batches(session, answer.column("component")):
        names = values.dictionary_encode()
        listed: Any = names.dictionary
        listed = listed.to_numpy() if is_whole(listed) else listed.to_pylist()
        roots = session.store.lookup(listed, "component", InputError, lambda at: f"{answer.where}: ")
        label[found] = roots.astype(np.int64)[names.indices.to_numpy()] if len(found) else 0
    if (label[label] != label).any():
        raise InputError(f"{answer.where}: a component is not named by one of its vertices. Name the answer of a run.")
    least = np.full(vertices, session.none, session.id_dtype)
    np.minimum.at(least, label, np.arange(vertices, dtype=session.id_dtype))
    trees = least[label]
    session.release(label)
    return trees


def former_ranks(session: Session, given: Any) -> np.ndarray:
    """float64[V], sum 1: ranks of an earlier run; new vertices have 1/V. Raises UsageError (an answer that says it is
    none of ranks), InputError (a rank that is negative or no number)."""
    answer, vertices = GivenAnswer(given, "--from"), session.meta.vertices
    if answer.about is not None and not {*RANKS} & {*answer.names}:
        raise _of_another(answer, "pagerank")
    rank = np.full(vertices, 1 / max(1, vertices))
    for found, values in answer.batches(session, answer.column(*RANKS)):
        numbers = answer.numbers(values)
        if not (numbers >= 0).all() or np.isinf(numbers).any():
            raise InputError(f"{answer.where}: a rank is negative or no number. Name the answer of a run.")
        rank[found] = numbers
    total = float(rank.sum())
    if vertices and not total > 0:
        raise InputError(f"{answer.where}: its ranks sum to 0. Name the answer of a run.")
    rank /= total or 1.0
    return rank
