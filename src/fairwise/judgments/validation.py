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

Mask: TypeAlias = NDArray[np.bool_]
People: TypeAlias = pd.DataFrame | NDArray[Any]
By: TypeAlias = Literal["id", "position"]
Rounds: TypeAlias = Literal["last", "all"]
JudgeAttributes: TypeAlias = pd.DataFrame | IntoDataFrame | Mapping[Any, Mapping[str, Any]]

_ZONE = re.compile(r"^[^T ]*[T ].*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$")
_LIGHTEST, _HEAVIEST = 1e-100, 1e100  # so that sums, products and squares of weights stay numbers
_LEAVE_OUT = "fill every row or leave the column out"

# Columns: each function returns the values in one type and notes the rows that are not allowed.


def _answers(column: pd.Series, errors: RowErrors) -> pd.Series:
    answers = [str(answer) for answer in Answer]
    codes, texts = encode(column)
    is_answer = np.append(np.isin(texts, answers), False)

    def rule(row: int) -> str:
        word = str(texts[codes[row]]).strip().lower().replace(" ", "_") if codes[row] >= 0 else ""
        return f"is not an answer{did_you_mean(word, answers)}; allowed: {', '.join(answers)}"

    errors.refuse(~is_answer[codes], "answer", column, rule)
    return _texts(codes, texts)


def _weights(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    values, bad = _floats(column)
    errors.refuse(
        bad | ~(values >= 0), "weight", column, f"is not a weight; allowed: a number, 0 or more; {_LEAVE_OUT}"
    )
    extreme = (values > _HEAVIEST) | ((values > 0) & (values < _LIGHTEST))
    allowed = f"allowed: 0, or from {_LIGHTEST:g} to {_HEAVIEST:g}"
    errors.refuse(extreme, "weight", column, f"is too extreme a weight to be added up; {allowed}")
    return values


def _rounds(column: pd.Series, errors: RowErrors) -> NDArray[np.int64]:
    codes, texts = encode(column)
    numbers = [int(text) if good else 0 for text, good in zip(texts, is_integer(texts), strict=True)]
    rounds = np.array([*numbers, 0], dtype=np.int64)[codes]
    errors.refuse(rounds < 1, "round", column, f"is not a round; allowed: whole numbers from 1; {_LEAVE_OUT}")
    return rounds


def _designs(column: pd.Series, errors: RowErrors) -> pd.Series:
    codes, texts = encode(column)
    errors.refuse(codes < 0, "design", column, f"is not a design; allowed: a name such as uniform; {_LEAVE_OUT}")
    return _texts(codes, texts)


def _numbers(
    least: float, most: float, rule: str, *, above: bool = False
) -> Callable[[pd.Series, RowErrors], NDArray[np.float64]]:
    """Return a check of numbers within a range (`above` its lower end); empty cells are NaN."""

    def check_numbers(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
        values, bad = _floats(column)
        too_small = values <= least if above else values < least
        errors.refuse(bad | too_small | (values > most), str(column.name), column, rule)
        return values

    return check_numbers


def _times(column: pd.Series, errors: RowErrors) -> pd.Series:
    """Return when each answer was given in UTC (a time without a zone is taken as UTC), NaT where unknown."""
    if isinstance(column.dtype, pd.DatetimeTZDtype | np.dtypes.DateTime64DType):
        cells = column.reset_index(drop=True)
        times = _in_nanoseconds(pd.to_datetime(cells, utc=True))
    else:
        cells = _texts(*encode(column))
        # Apart, because pandas 2 takes a time without a zone for one in the zone of the row above.
        zoned = cells.str.contains(_ZONE, na=False).to_numpy(dtype=bool)
        parts = [
            _in_nanoseconds(pd.to_datetime(part, utc=True, errors="coerce", format="ISO8601"))
            for part in (cells[zoned], cells[~zoned])
        ]
        times = pd.concat(parts).sort_index()
    rule = "is not a time; allowed: ISO 8601 from 1678 to 2261, such as 2025-01-31T12:00:00Z, or nothing"
    errors.refuse((times.isna() & cells.notna()).to_numpy(), "answered_at", column, rule)
    return times


def _in_nanoseconds(times: pd.Series) -> pd.Series:
    """Return the times in nanoseconds, NaT for a year that these do not reach."""
    return times.where(times.dt.year.between(1678, 2261)).astype("datetime64[ns, UTC]")


def _texts(codes: NDArray[np.intp], texts: NDArray[np.object_]) -> pd.Series:
    """Return the text of each code, None for the code -1."""
    return pd.Series([*texts, None], dtype=str).take(codes).reset_index(drop=True)


def _floats(column: pd.Series) -> tuple[NDArray[np.float64], Mask]:
    """Return numbers, NaN where a cell is empty, and which cells hold anything but a finite number."""
    if pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_integer_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, np.isinf(values)
    codes, texts = encode(column)
    numbers = np.zeros(len(texts) + 1)
    for place, text in enumerate(texts):
        try:
            numbers[place] = float(text) if "_" not in text else np.nan
        except ValueError:
            numbers[place] = np.nan
    bad = ~np.isfinite(numbers)[codes]
    numbers[-1] = np.nan
    return numbers[codes], bad


REQUIRED = ("judge", "a", "b", "answer")
_DEFAULTS = {"weight": 1.0, "round": 1, "design": PairDesign.UNIFORM.value}
_OPTIONAL: dict[str, Callable[[pd.Series, RowErrors], object]] = {
    "weight": _weights,
    "round": _rounds,
    "design": _designs,
    "seconds": _numbers(0, np.inf, "is not a duration; allowed: 0 or more seconds, or nothing"),
    "answered_at": _times,
    "selection_probability": _numbers(
        0, 1, "is not a probability; allowed: above 0 and at most 1, or nothing", above=True
    ),
    "error_bound": _numbers(0, 1, "is no share; allowed: 0 to 1, or nothing"),
}
COLUMNS = (*REQUIRED, *_OPTIONAL)
"""All columns that are interpreted."""


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

    `frame` has the required columns, weight, round and design, the other optional columns of the table, and then every
    further column untouched. `judge_attributes` has a row for every judge, sorted. `panel` is that of the whole, if
    these rows are a part of it.
    """

    frame: pd.DataFrame
    counted: Mask
    judge_attributes: pd.DataFrame
    people: People | None
    people_ids: pd.Index | None
    how: Reading
    panel: pd.DataFrame | None = None

    @cached_property
    def predicted(self) -> Mask:
        """Mask of the rows that a model predicted."""
        return np.asarray(self.frame["design"] == PairDesign.PREDICTED, dtype=bool)

    def only(self, rows: Mask) -> "CheckedTable":
        """Return these rows, their judges and their people."""
        attributes = self.judge_attributes
        part = self.without(~rows)
        part = replace(
            part,
            judge_attributes=attributes[attributes.index.isin(part.frame["judge"])],
            panel=attributes if self.panel is None else self.panel,
        )
        if self.people is None or self.people_ids is None:
            return part
        judged = np.flatnonzero(self.people_ids.isin(sides(part.frame).unique()))
        return replace(part, people=rows_of(self.people, judged), people_ids=self.people_ids.take(judged))

    def without(self, rows: Mask) -> "CheckedTable":
        """Return the other rows; all judges and people stay."""
        return replace(self, frame=self.frame[~rows].reset_index(drop=True), counted=self.counted[~rows])


@contextmanager
def as_judgments_error() -> Iterator[None]:
    """Raise errors about files, rows and ids as errors about judgments."""
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
    """Check the table against its format, the people and the attributes of judges; all bad rows make one error."""
    with as_judgments_error():
        ids = None if people is None else _ids_of(people, how.by)
        try:
            return _checked(frame, source, people, ids, how, judge_attributes)
        except TableError:
            hint = "" if ids is None or how.by == "position" else _ids_in_a_column(frame, people, ids)
            if hint:
                raise JudgmentsError(f"{source.where()}: {hint}") from None
            raise


def _checked(
    frame: pd.DataFrame,
    source: Source,
    people: People | None,
    people_ids: PeopleIds | None,
    how: Reading,
    judge_attributes: JudgeAttributes | None,
) -> CheckedTable:
    _check_columns(frame, source)
    errors = RowErrors(source)
    judge, judges = encode(frame["judge"])
    errors.refuse(judge < 0, "judge", frame["judge"], "is no judge; every answer needs one")
    (a, b), ids = _person_codes(frame, errors, people_ids, how.by)
    answers = _answers(frame["answer"], errors)
    optional = {name: check_column(frame[name], errors) for name, check_column in _OPTIONAL.items() if name in frame}
    errors.raise_any()

    table: dict[str, object] = {
        "judge": integers_or_texts(judges).take(judge),
        "a": ids.take(a),
        "b": ids.take(b),
        "answer": answers,
    }
    table |= {name: optional.get(name, _DEFAULTS.get(name)) for name in _OPTIONAL if name in {*optional, *_DEFAULTS}}
    table |= {name: frame[name].array for name in frame.columns if name not in COLUMNS}
    rows = pd.DataFrame(table, index=pd.RangeIndex(len(frame)))

    pair = np.minimum(a, b) * np.int64(len(ids)) + np.maximum(a, b)
    key = pd.DataFrame({"judge": judge, "pair": pair, "round": rows["round"], "design": rows["design"]})
    _check_unique(key, rows, frame["judge"], source)
    counted = ~rows["design"].isin(how.measured_only).to_numpy(dtype=bool)
    if how.rounds == "last":
        last = key[counted].groupby(["judge", "pair"], sort=False)["round"].transform("max")
        counted[counted] = (key["round"][counted] == last).to_numpy(dtype=bool)
    attributes = match(judge_attributes, rows["judge"])
    if people is None or people_ids is None:
        return CheckedTable(rows, counted, attributes, None, None, how)
    judged = np.unique([a, b])
    return CheckedTable(rows, counted, attributes, rows_of(people, judged), people_ids.labels.take(judged), how)


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


def _person_codes(
    frame: pd.DataFrame, errors: RowErrors, people: PeopleIds | None, by: str
) -> tuple[NDArray[np.int64], pd.Index]:
    """Return a (2, rows) array of codes for a and b, and the ids that the codes stand for."""
    codes, texts = encode(pd.concat([frame["a"], frame["b"]], ignore_index=True))
    person = codes.reshape(2, -1).astype(np.int64)
    for side, part in zip("ab", person, strict=True):
        errors.refuse(part < 0, side, frame[side], "is nobody; every pair needs two people")
    same = (person[0] == person[1]) & (person[0] >= 0)
    errors.refuse(same, "b", frame["b"], "is also a; a pair needs two different people")

    def refuse_texts(bad: Mask, rule: Callable[[str], str]) -> None:
        for side, part in zip("ab", person, strict=True):

            def complaint(row: int, part: NDArray[np.int64] = part) -> tuple[str, str]:
                text = texts[part[row]]
                return cut(quote(text)), rule(text)

            errors.note(np.append(bad, False)[part], side, complaint)

    good = np.ones(len(texts), dtype=bool)
    if by == "position":
        good = is_integer(texts) & np.array([not text.startswith("-") for text in texts], dtype=bool)
        refuse_texts(~good, lambda _: "is not a row position; allowed: 0, 1, 2, …")
    if people is None:
        return person, integers_or_texts(texts)
    positions = people.positions(texts)

    def unknown(text: str) -> str:
        if by == "position":
            return f"is not a row of people; allowed: 0 to {len(people.labels) - 1}"
        return f"is not the id of anyone in people{people.hint(text)}"

    refuse_texts(good & (positions < 0), unknown)
    return np.append(positions, -1)[person].astype(np.int64), people.labels


def _check_unique(key: pd.DataFrame, rows: pd.DataFrame, judge: pd.Series, source: Source) -> None:
    def complaint(second: int) -> tuple[str, str]:
        first = int((key == key.iloc[second]).all(axis=1).to_numpy().argmax())
        row = rows.iloc[second]
        return f"judge {cut(quote(judge.iloc[second]))}", (
            f"already answered about {cut(quote(row['a']))} and {cut(quote(row['b']))} in round "
            f"{row['round']}, design {row['design']}, at {source.place(first)}; "
            "allowed: one row per judge, pair (in either order), round and design"
        )

    errors = RowErrors(source)
    errors.note(key.duplicated().to_numpy(), None, complaint)
    errors.raise_any()


_ATTRIBUTES = "judge_attributes"

SIMULATED, AFFECTED = "simulated", "affected"
"""Attributes of judges, yes or no: whether they are programs, and whether such decisions affect them."""

YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def match(attributes: JudgeAttributes | None, judge: pd.Series) -> pd.DataFrame:
    """Return one row for every judge, sorted, with missing values without attributes.

    Judges are matched by their canonical text, as ids are. A row for somebody who gave no answer is refused, and so
    is a second row for the same judge.
    """
    judges = pd.Index(judge.unique(), name="judge").sort_values()
    if attributes is None:
        return pd.DataFrame(index=judges)
    table = _attribute_table(attributes)
    codes, texts = encode(table.index.to_series())
    if (codes < 0).any():
        raise JudgmentsError(f"{_ATTRIBUTES}: {int((codes < 0).sum())} rows have no judge; every row needs one")
    listed = pd.Index(texts).take(codes)
    if not listed.is_unique:
        twice = listed[listed.duplicated()].unique()
        raise JudgmentsError(f"{_ATTRIBUTES}: judges given twice: {some(twice)}; allowed: one row per judge")
    _, texts_of_judges = encode(judges.to_series())
    strangers = listed.difference(pd.Index(texts_of_judges), sort=False)
    if len(strangers):
        raise JudgmentsError(f"{_ATTRIBUTES}: judges who gave no answer: {some(strangers)}; there are {some(judges)}")
    table = table.set_axis(listed, axis="index")
    for name, cell in (table[SIMULATED].dropna() if SIMULATED in table else pd.Series(dtype=object)).items():
        if text_of(cell).casefold() not in YES_OR_NO:
            raise JudgmentsError(
                f"{_ATTRIBUTES}: {SIMULATED} is {quote(cell)} for judge {quote(name)}; allowed: yes or no"
            )
    return table.reindex(texts_of_judges).set_axis(judges, axis="index")


def _attribute_table(attributes: JudgeAttributes) -> pd.DataFrame:
    allowed = "allowed: a DataFrame indexed by judge, or a mapping such as {'ann': {'relation': 'expert'}}"
    frame = to_pandas(attributes)
    if isinstance(frame, pd.DataFrame):
        table = frame if has_ids(frame) or "judge" not in frame else frame.set_index("judge")
    elif isinstance(attributes, Mapping):
        odd = [judge for judge, row in attributes.items() if not isinstance(row, Mapping)]
        if odd:
            raise JudgmentsError(f"{_ATTRIBUTES}: {odd[0]!r} has {attributes[odd[0]]!r}; {allowed}")
        table = pd.DataFrame([dict(row) for row in attributes.values()], index=pd.Index(list(attributes), dtype=object))
    else:
        raise JudgmentsError(f"{_ATTRIBUTES}: {type(attributes).__name__} given; {allowed}")
    if table.index.nlevels > 1 or table.columns.nlevels > 1:
        raise JudgmentsError(f"{_ATTRIBUTES}: index or columns have several levels; allowed: one judge, one name")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].unique()
        raise JudgmentsError(f"{_ATTRIBUTES}: attributes given twice: {some(twice)}")
    if "judge" in table.columns:
        raise JudgmentsError(f"{_ATTRIBUTES}: the judges belong in the index: table.set_index('judge')")
    return table


def sides(rows: pd.DataFrame) -> pd.Series:
    """Return a and b of the first row, a and b of the second, and so on."""
    order = np.arange(2 * len(rows)).reshape(2, -1).T.ravel()
    return pd.concat([rows["a"], rows["b"]], ignore_index=True).iloc[order]


def rows_of(people: People, positions: NDArray[np.int64]) -> People:
    """Return a copy of these rows in the type they came in."""
    return people.iloc[positions] if isinstance(people, pd.DataFrame) else people[positions]


def need_method(caller: str, model: object, method: str) -> None:
    """Refuse an object that is no model of answers."""
    if isinstance(model, type) or not hasattr(model, method):
        raise InputError(f"{caller}: an AnswerModel, fitted, is needed, not {model!r}")


def as_people(
    people: People | IntoDataFrame | None, id_column: str | None, by: By, *, may_name_id: bool = True
) -> People | None:
    """Return people of any make as a table of pandas by id, or as an array; None as it is.

    ``may_name_id`` says whether the caller has an ``id=`` that an error may mention.
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
