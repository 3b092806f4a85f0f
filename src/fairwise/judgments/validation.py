"""From any table to one that means what the format says, or an error that names the row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import JudgmentsError, shown
from fairwise.judgments import columns
from fairwise.tables.ids import PeopleIds, encode, is_integer, plain, some
from fairwise.tables.source import Source

REQUIRED = ("judge", "a", "b", "answer")
DEFAULTS = {"weight": 1.0, "round": 1, "design": "uniform"}
_OPTIONAL: dict[str, Callable[[pd.Series, Source], object]] = {
    "weight": columns.weights,
    "round": columns.rounds,
    "design": columns.designs,
    "seconds": columns.seconds,
    "answered_at": columns.times,
    "selection_probability": columns.selection_probabilities,
}


@dataclass(frozen=True)
class Normalised:
    """A table of which every interpreted column is known to be good.

    `frame` has the required columns, weight, round and design, the other optional columns that were given,
    and then every further column untouched. `judge` and `pair` hold a number for each row, equal for equal
    judges and for equal unordered pairs. `judged` holds the rows of people who appear; it is empty without
    people.
    """

    frame: pd.DataFrame
    judge: NDArray[np.int64]
    pair: NDArray[np.int64]
    judged: NDArray[np.int64]


def normalise(frame: pd.DataFrame, source: Source, people: PeopleIds | None, by: str) -> Normalised:
    """Check every column that the format interprets and bring it to one type."""
    _check_columns(frame, source)
    judge, judges = encode(frame["judge"])
    source.refuse(judge < 0, "judge", frame["judge"], "is no judge; every answer needs one")
    sides, ids = _people(frame, source, people, by)
    a, b = sides
    source.refuse(a == b, "b", frame["b"], "is also a; a pair needs two different people")

    table: dict[str, object] = {
        "judge": plain(judges).take(judge),
        "a": ids.take(a),
        "b": ids.take(b),
        "answer": columns.answers(frame["answer"], source),
    }
    for name, check in _OPTIONAL.items():
        if name in frame:
            table[name] = check(frame[name], source)
        elif name in DEFAULTS:
            table[name] = DEFAULTS[name]
    table |= {name: frame[name].array for name in frame.columns if name not in (*REQUIRED, *_OPTIONAL)}
    good = pd.DataFrame(table, index=pd.RangeIndex(len(frame)))

    pair = np.minimum(a, b) * np.int64(len(ids)) + np.maximum(a, b)
    _check_unique(good, frame, judge, pair, source)
    judged = np.unique(sides if people is not None else sides[:, :0])
    return Normalised(good, judge.astype(np.int64), pair, judged)


def _check_columns(frame: pd.DataFrame, source: Source) -> None:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise JudgmentsError(f"{source.where()}: columns given twice: {some(twice)}")
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        found = some(list(frame.columns)) if len(frame.columns) else "none at all"
        raise JudgmentsError(
            f"{source.where()}: missing {'columns' if len(missing) > 1 else 'column'} {', '.join(missing)}; "
            f"needed: {', '.join(REQUIRED)}; found: {found}"
        )


def _people(
    frame: pd.DataFrame, source: Source, people: PeopleIds | None, by: str
) -> tuple[NDArray[np.int64], pd.Index]:
    """Return a (2, rows) array of codes for a and b, and the ids that the codes stand for."""
    codes, texts = encode(pd.concat([frame["a"], frame["b"]], ignore_index=True))
    sides = codes.reshape(2, -1).astype(np.int64)
    for side, part in zip("ab", sides, strict=True):
        source.refuse(part < 0, side, frame[side], "is nobody; every pair needs two people")
    if by == "position":
        good = is_integer(texts) & np.array([not text.startswith("-") for text in texts], dtype=bool)
        _refuse_people(sides, texts, good, source, "is not a row position; allowed: 0, 1, 2, …")
    if people is None:
        return sides, plain(texts)
    positions = people.positions(texts)
    rule = "is not the id of anyone in people"
    if by == "position":
        rule = f"is not a row of people; allowed: 0 to {len(people.labels) - 1}"
    _refuse_people(sides, texts, positions >= 0, source, rule)
    return positions[sides].astype(np.int64), people.labels


def _refuse_people(
    sides: NDArray[np.int64],
    texts: NDArray[np.object_],
    good: NDArray[np.bool_],
    source: Source,
    rule: str,
) -> None:
    bad = ~good[sides]
    if not bad.any():
        return
    row = int(bad.any(axis=0).argmax())
    side = int(bad[:, row].argmax())
    bad_texts = texts[pd.unique(sides.T[bad.T])]
    others = f"; {len(bad_texts)} such: {some(bad_texts)}" if len(bad_texts) > 1 else ""
    raise JudgmentsError(f"{source.where(row, 'ab'[side])}: {texts[sides[side, row]]!r} {rule}{others}")


def _check_unique(
    table: pd.DataFrame,
    given: pd.DataFrame,
    judge: NDArray[np.intp],
    pair: NDArray[np.int64],
    source: Source,
) -> None:
    key = pd.DataFrame({"judge": judge, "pair": pair, "round": table["round"], "design": table["design"]})
    again = key.duplicated().to_numpy()
    if not again.any():
        return
    second = int(again.argmax())
    first = int((key == key.iloc[second]).all(axis=1).to_numpy().argmax())
    more = f" ({int(again.sum()) - 1} more such rows)" if again.sum() > 1 else ""
    row = table.iloc[second]
    raise JudgmentsError(
        f"{source.where(second)}: judge {shown(given['judge'].iloc[second])} already answered about "
        f"{shown(row['a'])} and {shown(row['b'])} in round {row['round']}, design {row['design']}, at "
        f"{source.place(first)}; allowed: one row per judge, pair (in either order), round and design{more}"
    )
