"""Validation of a table of judgments: every column in one type, or an error that names the row."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from fairwise.errors import InputError, JudgmentsError, TableError, cut, quote, some
from fairwise.judgments.answer import Answer, PairDesign
from fairwise.tables.columns import has_ids, indexed_by, make_of, to_pandas
from fairwise.tables.rows import (
    PeopleIds,
    RowErrors,
    Source,
    did_you_mean,
    encode,
    integers_or_texts,
    is_integer,
    text_of,
)

_ZONE = re.compile(r"^[^T ]*[T ].*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$")
_LIGHTEST, _HEAVIEST = 1e-100, 1e100  # so that sums, products and squares of weights stay numbers
_LEAVE_OUT = "fill every row or leave the column out"


def _answers(column: pd.Series, errors: RowErrors) -> pd.Series:
    """Return the answers as plain text."""
    codes, texts = encode(column)
    known = np.append(np.isin(texts, [str(answer) for answer in Answer]), False)

    def rule(row: int) -> str:
        wanted = str(texts[codes[row]]).strip().lower().replace(" ", "_") if codes[row] >= 0 else ""
        return (
            f"is not an answer{did_you_mean(wanted, [str(answer) for answer in Answer])}; allowed: {', '.join(Answer)}"
        )

    errors.refuse(~known[codes], "answer", column, rule)
    return _texts(codes, texts)


def _weights(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return the weights: 0, or within a range in which they can be added and multiplied; none missing."""
    values, bad = _floats(column)
    errors.refuse(
        bad | ~(values >= 0), "weight", column, f"is not a weight; allowed: a number, 0 or more; {_LEAVE_OUT}"
    )
    extreme = (values > _HEAVIEST) | ((values > 0) & (values < _LIGHTEST))
    allowed = f"allowed: 0, or from {_LIGHTEST:g} to {_HEAVIEST:g}"
    errors.refuse(extreme, "weight", column, f"is too extreme a weight to be added up; {allowed}")
    return values


def _rounds(column: pd.Series, errors: RowErrors) -> NDArray[np.int64]:
    """Return the rounds: whole numbers from 1."""
    codes, texts = encode(column)
    numbers = np.array(
        [int(text) if good else 0 for text, good in zip(texts, is_integer(texts), strict=True)] + [0],
        dtype=np.int64,
    )[codes]
    errors.refuse(numbers < 1, "round", column, f"is not a round; allowed: whole numbers from 1; {_LEAVE_OUT}")
    return numbers


def _designs(column: pd.Series, errors: RowErrors) -> pd.Series:
    """Return the names of the designs; any name is allowed, but not none."""
    codes, texts = encode(column)
    errors.refuse(codes < 0, "design", column, f"is not a design; allowed: a name such as uniform; {_LEAVE_OUT}")
    return _texts(codes, texts)


def _seconds(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return how long each answer took, NaN where nobody knows."""
    values, bad = _floats(column)
    errors.refuse(bad | (values < 0), "seconds", column, "is not a duration; allowed: 0 or more seconds, or nothing")
    return values


def _selection_probabilities(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return each pair's chance of having been chosen, NaN where nobody knows."""
    values, bad = _floats(column)
    errors.refuse(
        bad | (values <= 0) | (values > 1),
        "selection_probability",
        column,
        "is not a probability; allowed: above 0 and at most 1, or nothing",
    )
    return values


def _error_bounds(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return what share of predicted rows like this one is wrong, at most; NaN where someone was asked."""
    values, bad = _floats(column)
    errors.refuse(bad | (values < 0) | (values > 1), "error_bound", column, "is no share; allowed: 0 to 1, or nothing")
    return values


def _times(column: pd.Series, errors: RowErrors) -> pd.Series:
    """Return when each answer was given in UTC (a time without a zone is taken as UTC), NaT where unknown."""
    if isinstance(column.dtype, pd.DatetimeTZDtype | np.dtypes.DateTime64DType):
        given = column.reset_index(drop=True)
        parsed = _in_range(pd.to_datetime(given, utc=True))
    else:
        codes, texts = encode(column)
        given = _texts(codes, texts)
        # Apart, because pandas 2 takes a time without a zone for one in the zone of the row above.
        zoned = given.str.contains(_ZONE, na=False).to_numpy(dtype=bool)
        parts = (given[zoned], given[~zoned])
        parsed = pd.concat(
            [_in_range(pd.to_datetime(part, utc=True, errors="coerce", format="ISO8601")) for part in parts]
        ).sort_index()
    errors.refuse(
        (parsed.isna() & given.notna()).to_numpy(),
        "answered_at",
        column,
        "is not a time; allowed: ISO 8601 from 1678 to 2261, such as 2025-01-31T12:00:00Z, or nothing",
    )
    return parsed


def _texts(codes: NDArray[np.intp], texts: NDArray[np.object_]) -> pd.Series:
    """Return the text of each code, None for the code -1."""
    return pd.Series([*texts, None], dtype=str).take(codes).reset_index(drop=True)


def _in_range(moments: pd.Series) -> pd.Series:
    """Return the moments in nanoseconds, NaT for a year that these do not reach."""
    return moments.where(moments.dt.year.between(1678, 2261)).astype("datetime64[ns, UTC]")


def _floats(column: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers, NaN where a cell is empty, and which cells hold anything but a finite number."""
    if pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_integer_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, np.isinf(values)
    codes, texts = encode(column)
    numbers = np.array([_number(text) for text in texts] + [0.0])
    bad = ~np.isfinite(numbers)[codes]
    numbers[-1] = np.nan
    return numbers[codes], bad


def _number(text: str) -> float:
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


REQUIRED = ("judge", "a", "b", "answer")
DEFAULTS = {"weight": 1.0, "round": 1, "design": PairDesign.UNIFORM.value}
_OPTIONAL: dict[str, Callable[[pd.Series, RowErrors], object]] = {
    "weight": _weights,
    "round": _rounds,
    "design": _designs,
    "seconds": _seconds,
    "answered_at": _times,
    "selection_probability": _selection_probabilities,
    "error_bound": _error_bounds,
}
COLUMNS = (*REQUIRED, *_OPTIONAL)
"""All that are interpreted."""


@dataclass(frozen=True)
class NormalTable:
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


def normalise(frame: pd.DataFrame, source: Source, people: PeopleIds | None, by: str) -> NormalTable:
    """Check every column that the format interprets and bring it to one type; all bad rows make one error."""
    _check_columns(frame, source)
    errors = RowErrors(source)
    judge, judges = encode(frame["judge"])
    errors.refuse(judge < 0, "judge", frame["judge"], "is no judge; every answer needs one")
    sides, ids = _people(frame, errors, people, by)
    answers = _answers(frame["answer"], errors)
    optional = {name: check(frame[name], errors) for name, check in _OPTIONAL.items() if name in frame}
    errors.raise_any()

    a, b = sides
    table: dict[str, object] = {
        "judge": integers_or_texts(judges).take(judge),
        "a": ids.take(a),
        "b": ids.take(b),
        "answer": answers,
    }
    table |= {name: optional.get(name, DEFAULTS.get(name)) for name in _OPTIONAL if name in {*optional, *DEFAULTS}}
    table |= {name: frame[name].array for name in frame.columns if name not in COLUMNS}
    good = pd.DataFrame(table, index=pd.RangeIndex(len(frame)))

    pair = np.minimum(a, b) * np.int64(len(ids)) + np.maximum(a, b)
    _check_unique(good, frame, judge, pair, source)
    judged = np.unique(sides if people is not None else sides[:, :0])
    return NormalTable(good, judge.astype(np.int64), pair, judged)


def _check_columns(frame: pd.DataFrame, source: Source) -> None:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise JudgmentsError(f"{source.where()}: columns given twice: {some(twice)}")
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        names = some(list(frame.columns)) if len(frame.columns) else "none at all"
        raise JudgmentsError(
            f"{source.where()}: missing {'columns' if len(missing) > 1 else 'column'} {', '.join(missing)}; "
            f"needed: {', '.join(REQUIRED)}; found: {names}"
        )


def _people(
    frame: pd.DataFrame, errors: RowErrors, people: PeopleIds | None, by: str
) -> tuple[NDArray[np.int64], pd.Index]:
    """Return a (2, rows) array of codes for a and b, and the ids that the codes stand for."""
    codes, texts = encode(pd.concat([frame["a"], frame["b"]], ignore_index=True))
    sides = codes.reshape(2, -1).astype(np.int64)
    for side, part in zip("ab", sides, strict=True):
        errors.refuse(part < 0, side, frame[side], "is nobody; every pair needs two people")
    same = (sides[0] == sides[1]) & (sides[0] >= 0)
    errors.refuse(same, "b", frame["b"], "is also a; a pair needs two different people")
    good = np.ones(len(texts), dtype=bool)
    if by == "position":
        good = is_integer(texts) & np.array([not text.startswith("-") for text in texts], dtype=bool)
        _note_people(errors, sides, texts, ~good, lambda _: "is not a row position; allowed: 0, 1, 2, …")
    if people is None:
        return sides, integers_or_texts(texts)
    positions = people.positions(texts)

    def rule(text: str) -> str:
        if by == "position":
            return f"is not a row of people; allowed: 0 to {len(people.labels) - 1}"
        return f"is not the id of anyone in people{people.hint(text)}"

    _note_people(errors, sides, texts, good & (positions < 0), rule)
    return np.append(positions, -1)[sides].astype(np.int64), people.labels


def _note_people(
    errors: RowErrors,
    sides: NDArray[np.int64],
    texts: NDArray[np.object_],
    bad: NDArray[np.bool_],
    rule: Callable[[str], str],
) -> None:
    """Note the rows in which one of the bad texts stands for a person."""
    by_code = np.append(bad, False)
    for side, codes in zip("ab", sides, strict=True):

        def complaint(row: int, codes: NDArray[np.int64] = codes) -> tuple[str, str]:
            text = texts[codes[row]]
            return cut(quote(text)), rule(text)

        errors.note(by_code[codes], side, complaint)


def _check_unique(
    table: pd.DataFrame,
    given: pd.DataFrame,
    judge: NDArray[np.intp],
    pair: NDArray[np.int64],
    source: Source,
) -> None:
    key = pd.DataFrame({"judge": judge, "pair": pair, "round": table["round"], "design": table["design"]})

    def complaint(second: int) -> tuple[str, str]:
        first = int((key == key.iloc[second]).all(axis=1).to_numpy().argmax())
        row = table.iloc[second]
        return f"judge {cut(quote(given['judge'].iloc[second]))}", (
            f"already answered about {cut(quote(row['a']))} and {cut(quote(row['b']))} in round "
            f"{row['round']}, design {row['design']}, at {source.place(first)}; "
            "allowed: one row per judge, pair (in either order), round and design"
        )

    errors = RowErrors(source)
    errors.note(key.duplicated().to_numpy(), None, complaint)
    errors.raise_any()


JudgeAttributes: TypeAlias = pd.DataFrame | IntoDataFrame | Mapping[Any, Mapping[str, Any]]

SIMULATED, AFFECTED = "simulated", "affected"
"""Attributes of judges, yes or no: whether they are programs, and whether such decisions affect them."""

YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}

_WHAT = "judge_attributes"
_ALLOWED = "allowed: a DataFrame indexed by judge, or a mapping such as {'ann': {'relation': 'expert'}}"


def match(given: JudgeAttributes | None, answered: pd.Series) -> pd.DataFrame:
    """Return one row for every judge who answered, sorted, with missing values where nothing was given.

    Judges are matched by their canonical text, as ids are. A row for somebody who gave no answer is refused, and so
    is a second row for the same judge.
    """
    judges = pd.Index(answered.unique(), name="judge").sort_values()
    if given is None:
        return pd.DataFrame(index=judges)
    table = _as_table(given)
    codes, texts = encode(table.index.to_series())
    if (codes < 0).any():
        raise JudgmentsError(f"{_WHAT}: {int((codes < 0).sum())} rows have no judge; every row needs one")
    listed = pd.Index(texts).take(codes)
    if not listed.is_unique:
        twice = listed[listed.duplicated()].unique()
        raise JudgmentsError(f"{_WHAT}: judges given twice: {some(twice)}; allowed: one row per judge")
    _, texts_of_judges = encode(judges.to_series())
    strangers = listed.difference(pd.Index(texts_of_judges), sort=False)
    if len(strangers):
        raise JudgmentsError(f"{_WHAT}: judges who gave no answer: {some(strangers)}; there are {some(judges)}")
    table = table.set_axis(listed, axis="index")
    for judge, mark in (table[SIMULATED].dropna() if SIMULATED in table else pd.Series(dtype=object)).items():
        if text_of(mark).casefold() not in YES_OR_NO:
            raise JudgmentsError(f"{_WHAT}: {SIMULATED} is {quote(mark)} for judge {quote(judge)}; allowed: yes or no")
    return table.reindex(texts_of_judges).set_axis(judges, axis="index")


def _as_table(given: JudgeAttributes) -> pd.DataFrame:
    frame = to_pandas(given)
    if isinstance(frame, pd.DataFrame):
        table = frame if has_ids(frame) or "judge" not in frame else frame.set_index("judge")
    elif isinstance(given, Mapping):
        odd = [judge for judge, row in given.items() if not isinstance(row, Mapping)]
        if odd:
            raise JudgmentsError(f"{_WHAT}: {odd[0]!r} has {given[odd[0]]!r}; {_ALLOWED}")
        table = pd.DataFrame([dict(row) for row in given.values()], index=pd.Index(list(given), dtype=object))
    else:
        raise JudgmentsError(f"{_WHAT}: {type(given).__name__} given; {_ALLOWED}")
    if table.index.nlevels > 1 or table.columns.nlevels > 1:
        raise JudgmentsError(f"{_WHAT}: index or columns have several levels; allowed: one judge, one name")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].unique()
        raise JudgmentsError(f"{_WHAT}: attributes given twice: {some(twice)}")
    if "judge" in table.columns:
        raise JudgmentsError(f"{_WHAT}: the judges belong in the index: table.set_index('judge')")
    return table


People: TypeAlias = pd.DataFrame | NDArray[Any]
By: TypeAlias = Literal["id", "position"]
Rounds: TypeAlias = Literal["last", "all"]


@dataclass(frozen=True)
class Reading:
    """Options for reading rows: ids or positions, designs that only measure, rounds that count."""

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
class CheckedTable:
    """Rows that passed every check; `people_ids` are the ids (or positions) of the rows of `people`.

    `judge_attributes` has a row for every judge, sorted. `panel` is that of the whole, if these rows are a part of it.
    """

    frame: pd.DataFrame
    counted: NDArray[np.bool_]
    judge_attributes: pd.DataFrame
    people: People | None
    people_ids: pd.Index | None
    how: Reading
    panel: pd.DataFrame | None = None

    @cached_property
    def predicted(self) -> NDArray[np.bool_]:
        """Mask of the rows that a model predicted."""
        return np.asarray(self.frame["design"] == PairDesign.PREDICTED, dtype=bool)

    def only(self, rows: NDArray[np.bool_]) -> "CheckedTable":
        """Return these rows, their judges and their people."""
        frame, everyone = self.frame[rows].reset_index(drop=True), self.judge_attributes
        part = replace(
            self,
            frame=frame,
            counted=self.counted[rows],
            judge_attributes=everyone[everyone.index.isin(frame["judge"])],
            panel=everyone if self.panel is None else self.panel,
        )
        if self.people is None or self.people_ids is None:
            return part
        judged = np.flatnonzero(self.people_ids.isin(sides(part.frame).unique()))
        return replace(part, people=rows_of(self.people, judged), people_ids=self.people_ids.take(judged))

    def without(self, rows: NDArray[np.bool_]) -> "CheckedTable":
        """Return the other rows; all judges and people stay."""
        frame = self.frame[~rows].reset_index(drop=True)
        return replace(self, frame=frame, counted=self.counted[~rows])


@contextmanager
def as_judgments_error() -> Iterator[None]:
    """Files, rows and ids of any table are checked alike; where these are of judgments, so are the errors."""
    try:
        yield
    except InputError as error:
        raise JudgmentsError(str(error)) from None


def check(
    frame: pd.DataFrame,
    source: Source,
    people: People | None,
    how: Reading,
    judge_attributes: JudgeAttributes | None = None,
) -> CheckedTable:
    """Check the table against its format, the people and what is said about the judges."""
    with as_judgments_error():
        ids = None if people is None else _ids_of(people, how.by)
        try:
            good = normalise(frame, source, ids, how.by)
        except TableError:
            hint = "" if ids is None or how.by == "position" else _ids_in_a_column(frame, people, ids)
            if hint:
                raise JudgmentsError(f"{source.where()}: {hint}") from None
            raise
    return CheckedTable(
        frame=good.frame,
        counted=_which_count(good, how),
        judge_attributes=match(judge_attributes, good.frame["judge"]),
        people=None if people is None else rows_of(people, good.judged),
        people_ids=None if ids is None else ids.labels.take(good.judged),
        how=how,
    )


def _ids_in_a_column(frame: pd.DataFrame, people: People | None, ids: PeopleIds) -> str:
    """Return advice if a column of people, not the index, holds all ids of the answers; else ""."""
    if not isinstance(people, pd.DataFrame) or not {"a", "b"} <= set(frame.columns):
        return ""
    _, texts = encode(pd.concat([frame["a"], frame["b"]], ignore_index=True))
    if not len(texts) or (ids.positions(texts) >= 0).any():
        return ""
    for place, name in enumerate(people.columns):
        with suppress(TableError):  # values that are no ids
            if (PeopleIds(pd.Index(people.iloc[:, place])).positions(texts) >= 0).all():
                return (
                    f"nobody in a or b is in the index of people ({some(ids.labels)}); column {name!r} of people has "
                    f"their ids: give id={name!r}"
                )
    return ""


def sides(rows: pd.DataFrame) -> pd.Series:
    """Return a and b of the first row, a and b of the second, and so on."""
    order = np.arange(2 * len(rows)).reshape(2, -1).T.ravel()
    return pd.concat([rows["a"], rows["b"]], ignore_index=True).iloc[order]


def rows_of(people: People, positions: NDArray[np.int64]) -> People:
    """Return a copy of these rows in the type they came in."""
    return people.iloc[positions] if isinstance(people, pd.DataFrame) else people[positions]


def need_method(caller: str, model: object, method: str) -> None:
    """Refuse what is no model of answers."""
    if isinstance(model, type) or not hasattr(model, method):
        raise InputError(f"{caller}: an AnswerModel, fitted, is needed, not {model!r}")


def as_people(
    people: People | IntoDataFrame | None, id_column: str | None, by: By, *, may_name_id: bool = True
) -> People | None:
    """Return people of any make as a table of pandas by id, or as an array; None as it is.

    ``may_name_id`` says whether the caller has an ``id=`` to be told of.
    """
    if people is None or by == "position":
        if id_column is not None:
            needed = "people=, whose column it is" if people is None else "by='id'; with by='position' rows are counted"
            raise JudgmentsError(f"id={id_column!r} goes with {needed}")
        return None if people is None else to_pandas(people)
    with as_judgments_error():
        table = to_pandas(people)
        if id_column is not None:
            return indexed_by(table, id_column, "people")
    if isinstance(table, pd.DataFrame) and not has_ids(table):
        advice = "say which column holds them, id='…', or that a and b are row positions, by='position'"
        if not may_name_id:
            advice = "give a DataFrame of pandas that is indexed by id"
        raise JudgmentsError(f"people: a {make_of(people)} has no index to look ids up in; {advice}")
    return table  # type: ignore[no-any-return]


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


def _which_count(good: NormalTable, how: Reading) -> NDArray[np.bool_]:
    counted = ~good.frame["design"].isin(how.measured_only).to_numpy(dtype=bool)
    if how.rounds == "all":
        return counted
    key = pd.DataFrame({"judge": good.judge, "pair": good.pair, "round": good.frame["round"]})[counted]
    last = key.groupby(["judge", "pair"], sort=False)["round"].transform("max")
    counted[counted] = (key["round"] == last).to_numpy(dtype=bool)
    return counted
