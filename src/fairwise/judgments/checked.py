"""A checked table together with the people it is about and the rows that count."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import JudgmentsError
from fairwise.judgments.attributes import JudgeAttributes, match
from fairwise.judgments.validation import Normalised, normalise
from fairwise.tables.ids import PeopleIds
from fairwise.tables.source import Source

People: TypeAlias = pd.DataFrame | NDArray[Any]
By: TypeAlias = Literal["id", "position"]
Rounds: TypeAlias = Literal["last", "all"]


@dataclass(frozen=True)
class Reading:
    """How rows are read: whom a and b name, which designs only measure, which rounds count."""

    by: By
    measured_only: Iterable[str]
    rounds: Rounds

    def __post_init__(self) -> None:
        if self.by not in {"id", "position"}:
            raise JudgmentsError(f"by={self.by!r}; allowed: 'id', 'position'")
        if self.rounds not in {"last", "all"}:
            raise JudgmentsError(f"rounds={self.rounds!r}; allowed: 'last', 'all'")
        if isinstance(self.measured_only, str):
            raise JudgmentsError(f"measured_only={self.measured_only!r}; allowed: a list of designs")
        object.__setattr__(self, "measured_only", tuple(self.measured_only))


@dataclass(frozen=True)
class Checked:
    """Rows that passed every check; `people_ids` are the ids (or positions) of the rows of `people`.

    `judge_attributes` has a row for every judge, sorted.
    """

    frame: pd.DataFrame
    counted: NDArray[np.bool_]
    judge_attributes: pd.DataFrame
    people: People | None
    people_ids: pd.Index | None
    how: Reading

    def only(self, rows: NDArray[np.bool_]) -> "Checked":
        """Return these rows and their people; they must include all rows of a judge or none."""
        frame = self.frame[rows].reset_index(drop=True)
        attributes = self.judge_attributes[self.judge_attributes.index.isin(frame["judge"])]
        part = replace(self, frame=frame, counted=self.counted[rows], judge_attributes=attributes)
        if self.people is None or self.people_ids is None:
            return part
        judged = np.flatnonzero(self.people_ids.isin(sides(part.frame).unique()))
        return replace(part, people=rows_of(self.people, judged), people_ids=self.people_ids.take(judged))


def check(
    frame: pd.DataFrame,
    source: Source,
    people: People | None,
    how: Reading,
    judge_attributes: JudgeAttributes | None = None,
) -> Checked:
    """Check the table against its format, the people and what is said about the judges."""
    ids = None if people is None else _ids_of(people, how.by)
    good = normalise(frame, source, ids, how.by)
    return Checked(
        frame=good.frame,
        counted=_which_count(good, how),
        judge_attributes=match(judge_attributes, good.frame["judge"]),
        people=None if people is None else rows_of(people, good.judged),
        people_ids=None if ids is None else ids.labels.take(good.judged),
        how=how,
    )


def sides(rows: pd.DataFrame) -> pd.Series:
    """Return a and b of the first row, a and b of the second, and so on."""
    order = np.arange(2 * len(rows)).reshape(2, -1).T.ravel()
    return pd.concat([rows["a"], rows["b"]], ignore_index=True).iloc[order]


def rows_of(people: People, positions: NDArray[np.int64]) -> People:
    """Return a copy of these rows in the type they came in."""
    return people.iloc[positions] if isinstance(people, pd.DataFrame) else people[positions]


def _ids_of(people: People, by: By) -> PeopleIds:
    kind = type(people).__name__
    if by == "position":
        if isinstance(people, pd.DataFrame | np.ndarray):
            return PeopleIds(pd.RangeIndex(len(people)))
        raise JudgmentsError(f"people: a DataFrame or an array is needed, not {kind}")
    if isinstance(people, pd.DataFrame):
        return PeopleIds(people.index)
    raise JudgmentsError(
        f"people: ids are looked up in a DataFrame's index, not in {kind}; for row positions: by='position'"
    )


def _which_count(good: Normalised, how: Reading) -> NDArray[np.bool_]:
    counted = ~good.frame["design"].isin(how.measured_only).to_numpy(dtype=bool)
    if how.rounds == "all":
        return counted
    key = pd.DataFrame({"judge": good.judge, "pair": good.pair, "round": good.frame["round"]})[counted]
    last = key.groupby(["judge", "pair"], sort=False)["round"].transform("max")
    counted[counted] = (key["round"] == last).to_numpy(dtype=bool)
    return counted
