"""Judgments, pairs and people as the numbers that the model of answers works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError, JudgmentsError, some
from fairwise.judgments.answer import FIRST, NEITHER, SAME, SECOND, Answer, PairDesign, orient
from fairwise.judgments.table import Judgments
from fairwise.judgments.validation import By
from fairwise.tables.columns import has_ids, is_numeric, make_of, to_pandas
from fairwise.tables.rows import PeopleIds, encode

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

# Rarer categories count as one, so that a column of names does not become a thousand features.
_CATEGORIES = 12
_MISSING = ("missing",)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A number, in standard deviations from the mean; and its rank, as 3 beside 2 may say more than 30 beside 20."""

    name: object
    mean: float
    scale: float
    values: Floats
    """The distinct values, ascending."""

    ranks: Floats
    """Standardised rank of each value; empty without ranks, or with fewer than three values."""

    @classmethod
    def learn(cls, column: pd.Series, *, ranked: bool) -> NumberColumn:
        numbers = _floats(column)
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.size:
            return cls(column.name, 0.0, 1.0, np.empty(0), np.empty(0))
        values, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - (counts - 1) / 2
        spread = middle[place].std() or 1.0
        ranks = (middle - middle[place].mean()) / spread if ranked and len(values) > 2 else np.empty(0)
        return cls(column.name, float(numbers.mean()), float(numbers.std()) or 1.0, values, ranks)

    def standardised(self, numbers: Floats) -> Floats:
        """The mean, which is 0, where a number is not known."""
        return np.nan_to_num((numbers - self.mean) / self.scale)

    def merits(self, numbers: Floats) -> list[Floats]:
        """Return the columns in which one person can be ahead of another."""
        ranked = [np.nan_to_num(np.interp(numbers, self.values, self.ranks))] if self.ranks.size else []
        return [self.standardised(numbers), *ranked]


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category; rare values, and those that were not there to learn from, are the last one. Missing is one too."""

    name: object
    codes: dict[object, int]
    shares: Floats
    """Share of each code."""

    @classmethod
    def learn(cls, column: pd.Series) -> CategoryColumn:
        """The commonest have a code of their own; of equally common ones what is missing first, then as they appear."""
        codes, values = pd.factorize(_keys(column))
        counts = np.bincount(codes, minlength=len(values))
        order = sorted(range(len(values)), key=lambda code: (-counts[code], values[code] != _MISSING, code))
        numbers = {values[code]: min(number, _CATEGORIES - 1) for number, code in enumerate(order)}
        coded = np.array([numbers[value] for value in values], dtype=np.int64)
        return cls(column.name, numbers, np.bincount(coded, weights=counts) / max(len(column), 1))

    def code(self, column: pd.Series) -> Ints:
        """Return the code of each person; an unseen value gets the next code, or that of rare values."""
        strange = min(len(self.shares), _CATEGORIES - 1)
        return _keys(column).map(lambda value: self.codes.get(value, strange)).to_numpy(dtype=np.int64)

    def indicators(self, codes: Ints) -> Floats:
        """Return 1 for each person's category, minus its share."""
        return np.equal.outer(codes, np.arange(len(self.shares))) - self.shares


@dataclass(frozen=True, eq=False)
class PeopleEncoder:
    """Turns rows of people into numbers by what it learned from some of them; knows no outcomes."""

    columns: tuple[object, ...]
    numbers: tuple[NumberColumn, ...]
    categories: tuple[CategoryColumn, ...]
    """Columns of categories, and for numbers with gaps whether a value is missing."""

    plain: bool
    """Whether differences are all that counts: no ranks of numbers, and not where the two stand."""

    @classmethod
    def learn(cls, people: pd.DataFrame, *, plain: bool = False) -> PeopleEncoder:
        """Read a table of what is shown, one column for each thing that is shown."""
        if not people.columns.size or not people.columns.is_unique:
            raise InputError("people: at least one column is needed, and each once")
        named = [people[name] for name in people.columns]
        numbers = [column for column in named if is_numeric(column)]
        category_sources = [column.isna() if is_numeric(column) else column for column in named]
        categories = [
            each for each, column in zip(category_sources, named, strict=True) if not is_numeric(column) or each.any()
        ]
        return cls(
            tuple(people.columns),
            tuple(NumberColumn.learn(column, ranked=not plain) for column in numbers),
            tuple(CategoryColumn.learn(column) for column in categories),
            plain,
        )

    def encode(self, people: pd.DataFrame) -> EncodedPeople:
        """Return these people as numbers; they need the columns that were learned from, in any order."""
        missing = [name for name in self.columns if name not in people.columns]
        if missing:
            raise InputError(f"people: without the columns {some(missing)}, which the answers were learned with")
        numbers = [self._number(column, people) for column in self.numbers]
        codes = [column.code(self._category(column, people)) for column in self.categories]
        standardised = [column.standardised(values) for column, values in zip(self.numbers, numbers, strict=True)]
        merits = [each for column, values in zip(self.numbers, numbers, strict=True) for each in column.merits(values)]
        indicators = [column.indicators(code) for column, code in zip(self.categories, codes, strict=True)]
        n = len(people)
        return EncodedPeople(
            numbers=_stacked(standardised, n),
            codes=_stacked(codes, n).astype(np.int64),
            merits=_stacked([*merits, *indicators], n),
            levels=_stacked([] if self.plain else [*standardised, *indicators], n),
        )

    def _number(self, column: NumberColumn, people: pd.DataFrame) -> Floats:
        values = people[column.name]
        if not is_numeric(values):
            raise InputError(
                f"people: {column.name!r} held numbers when the answers were learned, and now holds others"
            )
        return _floats(values)

    def _category(self, column: CategoryColumn, people: pd.DataFrame) -> pd.Series:
        is_number = column.name in {number.name for number in self.numbers}
        return people[column.name].isna() if is_number else people[column.name]

    @property
    def merit_columns(self) -> list[object]:
        """Column of people behind each feature of `EncodedPeople.merit_differences`."""
        numbers = [column.name for column in self.numbers for _ in range(1 + bool(column.ranks.size))]
        return [*numbers, *self._indicator_columns()]

    @property
    def distance_columns(self) -> list[object]:
        """Column of people behind each feature of `EncodedPeople.distances`; None for the first, which is always 1."""
        numbers = [column.name for column in self.numbers]
        levels = [] if self.plain else [*numbers, *self._indicator_columns()]
        return [None, *numbers, *(column.name for column in self.categories), *levels]

    def _indicator_columns(self) -> list[object]:
        return [column.name for column in self.categories for _ in column.shares]


@dataclass(frozen=True, eq=False)
class EncodedPeople:
    """Records of n people as standardised numbers, codes of categories, merits and levels."""

    numbers: Floats
    """``(n, N)``."""

    codes: Ints
    """``(n, C)``."""

    merits: Floats
    """``(n, T)``: numbers, their ranks, indicators of categories."""

    levels: Floats
    """``(n, L)``: numbers and indicators."""

    def distances(self, left: Ints, right: Ints) -> Floats:
        """Return ``(R, 1 + N + C + L)``: 1, |difference| of numbers, whether categories differ, mean levels of the two.

        Nothing here changes, not in the last digit, if the two change sides.
        """
        return np.hstack(
            [
                np.ones((len(left), 1)),
                np.abs(self.numbers[left] - self.numbers[right]),
                self.codes[left] != self.codes[right],
                (self.levels[left] + self.levels[right]) / 2,
            ]
        )

    def merit_differences(self, left: Ints, right: Ints) -> Floats:
        """Return ``(R, T)``: the signed difference of each merit. All signs turn, exactly, if the two change sides."""
        difference: Floats = self.merits[left] - self.merits[right]
        return difference


def _floats(column: pd.Series) -> Floats:
    numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise InputError(f"people: {column.name!r} holds an infinite number; leave empty what is not known")
    return numbers


def _keys(column: pd.Series) -> pd.Series:
    """The values as something that is equal to itself, which a missing value is not."""
    values = column.astype(object)
    return values.where(values.notna(), None).map(lambda value: _MISSING if value is None else value)


def _stacked(parts: Sequence[NDArray[np.generic]], n: int) -> Floats:
    return np.column_stack(parts).astype(np.float64) if parts else np.empty((n, 0))


_CODED = {SAME: Answer.SAME, FIRST: Answer.A_AT_LEAST_B, SECOND: Answer.B_AT_LEAST_A, NEITHER: Answer.NO_CONSTRAINT}
_QUICKEST = 0.1  # seconds; whatever is quicker is as quick


# The ordered ones first, because exchanging the first two must change no digit: see `softmax`.
ORDER = (Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.SAME, Answer.NO_CONSTRAINT)


@dataclass(frozen=True)
class Scale:
    """The answers that can be given, and how they follow from blocks of coefficients.

    With features t of who is ahead and s of how far the two are apart (``EncodedPeople``), answers have utilities

        a_at_least_b  λ·t      b_at_least_a  -λ·t      same  θ·s      no_constraint  φ·s

    and probabilities proportional to their exponentials, over those that can be given: Davidson's model of comparisons
    with ties, whose ties depend on the pair. Changing sides turns the sign of t and leaves s, so it exchanges the two
    ordered answers and nothing else. Without ordered answers `no_constraint` has utility 0.
    """

    answers: tuple[Answer, ...]
    """Possible answers in the order of `ORDER`."""

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Scale:
        """Return the scale with these answers; ordered answers are symmetric."""
        ordered = any(answer.ordered for answer in answers)
        return cls(tuple(answer for answer in ORDER if (ordered if answer.ordered else answer in answers)))

    @cached_property
    def places(self) -> dict[Answer, int]:
        return {answer: place for place, answer in enumerate(self.answers)}

    @cached_property
    def signs(self) -> Floats:
        """``(B, K)``: with which sign each block's score counts for each answer."""
        ordered = Answer.A_AT_LEAST_B in self.answers
        rows = [[1.0 if a is Answer.A_AT_LEAST_B else -1.0 if a is Answer.B_AT_LEAST_A else 0.0 for a in self.answers]]
        ties = [answer for answer in self.answers if not answer.ordered]
        rows += [[float(each is answer) for each in self.answers] for answer in (ties if ordered else ties[:1])]
        return np.array(rows if ordered else rows[1:])

    def blocks(self, people: EncodedPeople, left: Ints, right: Ints) -> list[Floats]:
        """Return the features of each block, ``(R, F_b)``."""
        distances = people.distances(left, right)
        merit_differences = [people.merit_differences(left, right)] if Answer.A_AT_LEAST_B in self.answers else []
        return [*merit_differences, *[distances] * (len(self.signs) - len(merit_differences))]

    def in_four(self, probabilities: Floats) -> Floats:
        """Return ``(..., K)`` probabilities as ``(..., 4)`` in the order of `Answer`."""
        result = np.zeros((*probabilities.shape[:-1], len(Answer)))
        result[..., [list(Answer).index(answer) for answer in self.answers]] = probabilities
        return result


@dataclass(frozen=True, eq=False)
class AnswerRows:
    """N answers, of which several may be about one pair; pairs are numbered per judge."""

    judge: Ints
    """``(N,)``."""

    pair: Ints
    """``(N,)``: which of the P pairs of judges."""

    answer: Ints
    """``(N,)``: places in the scale."""

    pace: Floats
    """``(N,)``: the logarithm of seconds, standardised; 0 where nobody knows."""

    n_answers: int
    """K."""


@dataclass(frozen=True, eq=False)
class AnsweredPairs:
    """Answered pairs of each judge, the sides in one order, without predicted rows."""

    judges: list[object]
    people: list[object]
    """Ids, in the order of `first` and `second`."""

    judge: Ints
    """``(P,)``, and likewise:"""

    first: Ints
    second: Ints
    check: np.ndarray
    """Whether the two are identical, so that `same` is meant."""

    rows: AnswerRows
    """Every answer, several of them perhaps about one pair."""

    row: Ints
    """``(N,)``: where each of them stands in the judgments' frame."""

    weight: Floats
    """``(N,)``: how many of all pairs each stands for, 1 on average; from the chance with which it was chosen."""

    @property
    def is_repeated(self) -> np.ndarray:
        """``(P,)``: which pairs a judge answered more than once."""
        return np.bincount(self.rows.pair, minlength=len(self.judge)) > 1

    def only(self, pairs: np.ndarray) -> AnsweredPairs:
        """Return some of the pairs, chosen by a mask ``(P,)``; numbers of judges and people stay."""
        number = np.cumsum(pairs) - 1
        keep = pairs[self.rows.pair]
        rows = replace(
            self.rows,
            judge=self.rows.judge[keep],
            pair=number[self.rows.pair[keep]],
            answer=self.rows.answer[keep],
            pace=self.rows.pace[keep],
        )
        parts = {name: getattr(self, name)[pairs] for name in ("judge", "first", "second", "check")}
        return replace(self, **parts, rows=rows, row=self.row[keep], weight=self.weight[keep])


def which_answers(judgments: Judgments, allowed: Sequence[str] | None) -> Scale:
    """Return the answers that can be given: those wanted, or those that were given."""
    present = without_predictions(judgments.frame)["answer"].unique()
    if not len(present):
        raise JudgmentsError("judgments: nobody has answered, so there is nothing to learn from")
    if allowed is not None:
        unknown = [answer for answer in allowed if answer not in set(Answer)]
        if unknown:
            raise InputError(f"answers: {some(unknown)}; allowed: {some(map(str, Answer))}")
    scale = Scale.of([Answer(answer) for answer in (present if allowed is None else allowed)])
    beyond = [answer for answer in present if answer not in scale.answers]
    if beyond:
        raise InputError(f"answers: without {some(beyond)}, which somebody gave")
    if len(scale.answers) < 2:
        raise InputError(
            f"judgments: every answer is {str(scale.answers[0])!r}, which says nothing about when another would be "
            "given; if others could be, name them all: answers=['same', 'no_constraint']"
        )
    return scale


def without_predictions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that somebody answered, not those that a model predicted."""
    return frame[frame["design"] != PairDesign.PREDICTED]


def answered_pairs(judgments: Judgments, scale: Scale, pace: tuple[float, float] | None = None) -> AnsweredPairs:
    """Read all rows, of all rounds and designs; `pace` is mean and spread of log-seconds, else taken from these."""
    frame = without_predictions(judgments.frame)
    rows = orient(frame)
    check = (frame["design"] == PairDesign.CHECK).to_numpy(dtype=bool) & (Answer.SAME in scale.answers)
    key = pd.DataFrame({"judge": rows.judge, "first": rows.first, "second": rows.second, "check": check})
    pair: Ints = key.groupby(["judge", "first", "second", "check"], sort=True).ngroup().to_numpy().astype(np.int64)
    _, representative = np.unique(pair, return_index=True)
    places = np.array([scale.places.get(_CODED[code], -1) for code in range(len(_CODED))])
    answer = places[rows.answer]
    if (answer < 0).any():
        strange = frame["answer"].iloc[int((answer < 0).argmax())]
        raise InputError(f"judgments: {strange!r} is not among the answers that the model learned from")
    return AnsweredPairs(
        judges=rows.judges.tolist(),
        people=rows.people.tolist(),
        judge=rows.judge[representative],
        first=rows.first[representative],
        second=rows.second[representative],
        check=check[representative],
        rows=AnswerRows(rows.judge, pair, answer, _pace(frame, pace), len(scale.answers)),
        row=frame.index.to_numpy(dtype=np.int64),
        weight=_design_weights(frame),
    )


def log_seconds(frame: pd.DataFrame) -> Floats:
    """Return the logarithms of how long answers took, NaN where nobody knows."""
    if "seconds" not in frame:
        return np.full(len(frame), np.nan)
    return np.asarray(np.log(np.maximum(frame["seconds"].to_numpy(dtype=np.float64), _QUICKEST)))


def usual_pace(judgments: Judgments) -> tuple[float, float]:
    """Return mean and standard deviation of the logarithm of seconds."""
    logs = log_seconds(without_predictions(judgments.frame))
    logs = logs[~np.isnan(logs)]
    return (float(logs.mean()), float(logs.std()) or 1.0) if logs.size else (0.0, 1.0)


def _pace(frame: pd.DataFrame, usual: tuple[float, float] | None) -> Floats:
    mean, spread = usual or (0.0, 1.0)
    return np.clip(np.nan_to_num((log_seconds(frame) - mean) / spread), -3, 3)


def _design_weights(frame: pd.DataFrame) -> Floats:
    """Return 1 / selection_probability, of each design 1 on average; 1 where no probability is known."""
    if "selection_probability" not in frame:
        return np.ones(len(frame))
    weight = 1 / frame["selection_probability"]
    weight /= weight.groupby(frame["design"].to_numpy()).transform("mean")
    return weight.fillna(1.0).to_numpy(dtype=np.float64)


@dataclass(frozen=True, eq=False)
class WantedPairs:
    """Pairs to predict answers about: places of judges, -1 for somebody new, and of people."""

    judge: Ints
    left: Ints
    right: Ints
    index: pd.Index
    """Index of the table of pairs."""


def read_pairs(pairs: object, judges: Sequence[object], people: pd.Index) -> WantedPairs:
    """Check a table with columns judge, a and b; judges whom nobody knows are new members of the panel."""
    frame = to_pandas(pairs)
    if not isinstance(frame, pd.DataFrame):
        try:
            frame = pd.DataFrame(frame)
        except (ValueError, TypeError) as error:
            raise InputError("pairs: not a table; allowed: a DataFrame with the columns judge, a and b") from error
    missing = [name for name in ("judge", "a", "b") if name not in frame.columns]
    if missing:
        raise InputError(f"pairs: without {some(missing)}; needed: the columns judge, a and b (any other is ignored)")
    ids = PeopleIds(people)
    sides = []
    for side in ("a", "b"):
        codes, texts = encode(frame[side])
        place = np.append(ids.positions(texts), -1)[codes]
        if (place < 0).any():
            row = int((place < 0).argmax())
            who = "empty, which" if codes[row] < 0 else some([frame[side].iloc[row]])
            raise InputError(
                f"pairs, row {row + 1}, column {side}: {who} is nobody in people; to predict answers about "
                "others, give their rows: people=…"
            )
        sides.append(place.astype(np.int64))
    nobody = frame["judge"].isna().to_numpy()
    if nobody.any():
        raise InputError(
            f"pairs, row {int(nobody.argmax()) + 1}, column judge: empty; needed: a judge's name, or any other for "
            "somebody new"
        )
    codes, texts = encode(frame["judge"])
    judge_places = PeopleIds(pd.Index(judges, dtype=object)).positions(texts)
    return WantedPairs(
        judge=np.append(judge_places, -1)[codes].astype(np.int64),
        left=sides[0],
        right=sides[1],
        index=frame.index if has_ids(frame) else pd.RangeIndex(len(frame)),
    )


def people_of(judgments: Judgments) -> pd.DataFrame:
    """Return the judged people, by the ids (or positions) that the judgments name them with."""
    if not isinstance(judgments, Judgments):
        raise InputError(f"judgments: Judgments are needed, not {type(judgments).__name__}")
    if judgments.people is None:
        raise JudgmentsError(
            "judgments: made without people=, so nobody's features are known; see judgments.about(people)"
        )
    ids = pd.Index(pd.unique(np.concatenate([judgments.frame[side].to_numpy() for side in ("a", "b")])))
    return pd.DataFrame(judgments.people_rows(ids)).set_axis(ids, axis="index")


def people_table(people: object, by: By) -> pd.DataFrame:
    """Return whom pairs name, by id or position: everybody in a table, or those whom judgments are about."""
    if isinstance(people, Judgments):
        return people_of(people)
    table = to_pandas(people)
    if by == "position":
        if not isinstance(table, pd.DataFrame | np.ndarray):
            raise InputError(f"people: a DataFrame or an array is needed, not {type(people).__name__}")
        return pd.DataFrame(table).reset_index(drop=True)
    if not isinstance(table, pd.DataFrame) or not has_ids(table):
        kind = make_of(people) if isinstance(table, pd.DataFrame) else type(people).__name__
        raise InputError(f"people: a pandas DataFrame with ids in its index is needed, not {kind}")
    return table
