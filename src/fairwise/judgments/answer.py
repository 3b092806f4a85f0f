"""The four things a judge can say about two people, A on the left and B on the right, and tables of them as numbers."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.tables.rows import text_of


class Answer(StrEnum):
    """One answer; each member is also the plain string that tables hold.

    >>> Answer("a_at_least_b").swapped()
    <Answer.B_AT_LEAST_A: 'b_at_least_a'>
    """

    SAME = "same"
    A_AT_LEAST_B = "a_at_least_b"
    B_AT_LEAST_A = "b_at_least_a"
    NO_CONSTRAINT = "no_constraint"

    def swapped(self) -> "Answer":
        """Return the same opinion with the two people on each other's side."""
        return _SWAPPED.get(self, self)

    @property
    def ordered(self) -> bool:
        """Whether it asks for one of the two to be treated at least as well, but not the other way round."""
        return self in _SWAPPED


_SWAPPED = {Answer.A_AT_LEAST_B: Answer.B_AT_LEAST_A, Answer.B_AT_LEAST_A: Answer.A_AT_LEAST_B}


class PairDesign(StrEnum):
    """Why a pair was shown; each member is also the plain string that tables hold."""

    UNIFORM = "uniform"
    FIXED = "fixed"
    STRATIFIED = "stratified"
    ANCHOR = "anchor"
    REPEAT = "repeat"
    CHECK = "check"
    ACTIVE = "active"
    PREDICTED = "predicted"


Ints = NDArray[np.int64]

# The codes of the answers about (first, second).
SAME, FIRST, SECOND, NEITHER = range(4)
_CODES = {Answer.SAME: SAME, Answer.A_AT_LEAST_B: FIRST, Answer.B_AT_LEAST_A: SECOND, Answer.NO_CONSTRAINT: NEITHER}
_SWAPPED_CODES = np.array([SAME, SECOND, FIRST, NEITHER])


@dataclass(frozen=True, eq=False)
class Oriented:
    """``R`` answers as numbers, in the order of the rows they came from.

    Attributes
    ----------
    judges, people
        Who the codes stand for, sorted.
    judge, first, second
        ``(R,)`` codes; ``first < second``.
    answer
        ``(R,)`` codes: the two are the SAME, FIRST at least as well as second, SECOND at least as well as first,
        NEITHER.
    pair
        ``(R,)`` a number for each unordered pair: ``first * len(people) + second``.
    """

    judges: pd.Index
    people: pd.Index
    judge: Ints
    first: Ints
    second: Ints
    answer: Ints

    @property
    def pair(self) -> Ints:
        return self.first * max(len(self.people), 1) + self.second

    def only(self, rows: NDArray[np.bool_] | Ints) -> "Oriented":
        """Return some of the rows; the codes stay as they are."""
        parts = (self.judge, self.first, self.second, self.answer)
        return Oriented(self.judges, self.people, *(part[rows] for part in parts))


def orient(rows: pd.DataFrame) -> Oriented:
    """Bring columns judge, a, b and answer to one side."""
    judge, judges = _sorted_codes(rows["judge"])
    codes, people = _sorted_codes(pd.concat([rows["a"], rows["b"]], ignore_index=True))
    a, b = codes.reshape(2, -1)
    codes_of_answers, answers = pd.factorize(rows["answer"])
    answer = np.array([_CODES[Answer(text)] for text in answers], dtype=np.int64)[codes_of_answers]
    answer = np.where(a > b, _SWAPPED_CODES[answer], answer)
    return Oriented(judges, people, judge, np.minimum(a, b), np.maximum(a, b), answer)


def _sorted_codes(column: pd.Series) -> tuple[Ints, pd.Index]:
    """Return codes and distinct values, in an order that does not depend on the rows'."""
    codes, values = pd.factorize(column)
    distinct = pd.Index(values)
    # Ids of several types cannot be compared, their texts can.
    keys = pd.Index([text_of(value) for value in distinct], dtype=str) if distinct.dtype == object else distinct
    order = keys.argsort()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], distinct.take(order)
