"""What a user gives to ``fit`` and ``predict``, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d

from fairwise.errors import InputError, JudgmentsError, may_number_labels, quote, warn
from fairwise.judgments import Judgments
from fairwise.learning.encoding import LARGEST_EXACT, TOO_FINE, all_finite
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.settings import FitSettings, LabelValues, favorable_of
from fairwise.tables.columns import DATES, DURATIONS, has_ids, to_pandas

_HUGE = 100  # weights from 2**100 on, or below 2**-100


_INSIDE = (
    "Preprocessing belongs inside: give the whole Pipeline as estimator=, and the people's own table to fit, so that "
    "judged people are transformed like everyone else. Behind an outer Pipeline, let its steps return DataFrames, "
    'set_output(transform="pandas"), and give Judgments without people=.'
)

_WITHOUT_IDS = (
    "The judgments name people by id, but X is {}, whose rows have none. Give the people as a DataFrame indexed by id, "
    'or make Judgments(…, people=people, id="column") of a frame that has the ids in a column, or Judgments(…, '
    f'by="position"). {_INSIDE}'
)

NUMBERED = (
    "Some of scikit-learn, such as cross_val_predict and VotingClassifier, numbers labels from 0 on in sorted order "
    "before it fits: there, name labels by these numbers."
)
"""Advice for fits that scikit-learn makes for a user."""


def as_table(X: object, *, finite: bool = True) -> pd.DataFrame:
    """A DataFrame as it is; anything else as a matrix of (finite) numbers, its columns numbered."""
    if isinstance(X, pd.DataFrame):
        if len(X) == 0 or X.shape[1] == 0:
            raise InputError(
                f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) while a minimum of 1 is required."
            )
        if not X.columns.is_unique:
            twice = X.columns[X.columns.duplicated()][0]
            raise InputError(f"The people's table has two columns called {twice!r}.")
        if len({type(name) is str for name in X.columns}) > 1:
            raise InputError(f"The columns' names are of mixed types: {list(X.columns)[:8]}. Make them all text.")
        return X
    if getattr(getattr(X, "dtype", None), "kind", "f") in "OSU" and not _all_numbers(X):
        raise InputError("A plain array must hold numbers. Give a DataFrame to have categories and text encoded.")
    try:
        given = check_array(X, dtype="numeric", ensure_all_finite=False, estimator="PairwiseFairClassifier")
    except OverflowError as error:
        raise InputError(f"Input X holds a whole number that is too large for a float: {error}.") from None
    matrix = np.asarray(given, dtype=float)
    if given.dtype.kind in "iu":
        _refuse_inexact(given, matrix)
    if finite and not all_finite(matrix) and len(broken := np.argwhere(~np.isfinite(matrix))):
        row, column = broken[0]
        what = "NaN" if np.isnan(matrix[row, column]) else "infinity"
        raise InputError(
            f"Input X contains {what} (row {row}, column {column}; inf and NaN are refused in plain arrays). Give a "
            "DataFrame to have missing values handled, or a Pipeline that fills them."
        )
    return pd.DataFrame(matrix, copy=False)


def with_nan(table: pd.DataFrame) -> pd.DataFrame:
    """The same with NaN wherever text is missing: scikit-learn takes None and pandas' NA for something else."""
    texts = [
        name
        for name, column in table.items()
        if (column.dtype == object or getattr(column.dtype, "na_value", None) is pd.NA)
        and not pd.api.types.is_numeric_dtype(column)
        and column.hasnans
    ]
    alike = table.copy(deep=False) if texts else table
    for name in texts:
        alike[name] = table[name].astype(object).where(table[name].notna(), np.nan)
    return alike


def column_kinds(table: pd.DataFrame) -> dict[str, str]:
    """What each column holds: "number" or "text"."""
    numbers = pd.api.types.is_numeric_dtype
    return {str(name): "number" if numbers(column) else "text" for name, column in table.items()}


def _refuse_inexact(given: ClassArray, matrix: FloatArray) -> None:
    """A whole number that a float cannot hold would become its neighbour."""
    for row, column in np.argwhere(np.abs(matrix) >= LARGEST_EXACT):
        if int(matrix[row, column]) != int(given[row, column]):
            raise InputError(f"Input X is {given[row, column]} in row {row}, column {column}. {TOO_FINE}")


def _all_numbers(values: object) -> bool:
    """Whether an object or text array holds nothing but numbers (text is not numbers, whatever it spells)."""
    array = np.asarray(values)
    return array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.ravel())


def outcomes(y: object, table: pd.DataFrame) -> ClassArray:
    """The outcome of each person ``(n,)``, none of them missing."""
    if y is None:
        raise InputError(
            "This estimator requires y to be passed, but the target y is None: give each person's outcome."
        )
    y = to_pandas(y, table.index)
    if isinstance(y, pd.Series):
        if y.isna().any():
            raise InputError(
                f"The outcome is missing (NaN) for person {quote(y.index[y.isna()][0])}. Every person needs one."
            )
        if _is_reordered(y.index, table.index):
            raise InputError("The outcome lists the same people in another order: use outcome.loc[people.index].")
    if getattr(y, "ndim", 1) == 2:
        text = "A column-vector y was passed when a 1d array was expected: give a Series, or use y.ravel()."
        warn(text, DataConversionWarning)
    labels = column_or_1d(_plain(y))
    kind = labels.dtype.kind
    if kind not in "biu" and (pd.isna(labels).any() or (kind == "f" and np.isinf(labels).any())):
        raise InputError("Input y contains NaN, None or infinity: an outcome is missing. Every person needs one.")
    if len(labels) != len(table):
        raise InputError(f"There are {len(table)} people but {len(labels)} outcomes: inconsistent numbers of samples.")
    return np.asarray(labels)


def _plain(y: Any) -> Any:
    """Whole numbers and truth values as numpy has them: of pandas' own types scikit-learn makes floats."""
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        return pd.DataFrame({0: _plain(y.iloc[:, 0])})
    dtype = getattr(y, "dtype", None)
    if dtype is None or y.ndim != 1 or (isinstance(dtype, np.dtype) and dtype.kind != "O"):
        return y
    values = np.asarray(y, dtype=object)
    whole = pd.api.types.infer_dtype(values, skipna=False) in {"integer", "boolean"}
    return np.array(values.tolist()) if whole else y


def outcome_labels(y: object, table: pd.DataFrame) -> tuple[IntArray, ClassArray]:
    """Labels as 0, 1 and so on, and the classes they stand for, in sorted order."""
    labels = outcomes(y, table)
    refuse_times(labels)
    classes, codes = _classes(labels)
    if len(classes) < 2:
        raise InputError(
            f"Everyone has the same outcome, {classes.tolist()[0]!r}: with one class there is nothing to learn from."
        )
    return codes, classes


def refuse_times(labels: object) -> None:
    """Refuse dates and durations as labels: a model file could not say which ones they are."""
    kind = pd.api.types.infer_dtype(labels, skipna=True)
    if kind in DATES | DURATIONS:
        raise InputError(
            "The outcomes are dates or times. Decisions need names: give text, such as outcome.astype(str), or numbers "
            "of days to PairwiseFairRegressor."
        )


def _classes(labels: ClassArray) -> tuple[ClassArray, IntArray]:
    try:
        classes, codes = np.unique(labels, return_inverse=True)
        if labels.dtype.kind not in "biu" or 2 * len(classes) > len(labels):  # few whole numbers are labels
            check_classification_targets(labels)
    except TypeError:
        raise InputError(
            "The outcomes are of different kinds, such as numbers and text. Give values of one kind."
        ) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    return classes, codes.ravel().astype(np.intp)


def _is_reordered(index: pd.Index, other: pd.Index) -> bool:
    """Whether two indexes hold the same labels in different order."""
    return len(index) == len(other) and not index.equals(other) and bool(index.isin(other).all())


def person_weights(sample_weight: object, table: pd.DataFrame) -> FloatArray:
    """Non-negative weights, at least one above 0; all 1 where none are given.

    Only their ratios matter, so huge and tiny ones come in units of a power of two near the largest, which rounds
    nothing and keeps their sums within the range of a float.
    """
    if sample_weight is None:
        return np.ones(len(table))
    sample_weight = to_pandas(sample_weight, table.index)
    if isinstance(sample_weight, pd.Series) and _is_reordered(sample_weight.index, table.index):
        raise InputError("sample_weight lists the same people in another order: use sample_weight.loc[people.index].")
    _refuse_endless(sample_weight)
    try:
        checked = _check_sample_weight(sample_weight, table, dtype=np.float64, allow_all_zero_weights=True)
    except ValueError as error:
        raise InputError(f"sample_weight cannot be used: {error}") from None
    weights: FloatArray = np.asarray(checked)
    if not weights.any():
        raise InputError("Every sample_weight is zero: nothing to learn from.")
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise InputError(f"sample_weight is {weights[row]} for row {row}: weights must not be negative.")
    exponent = int(np.frexp(weights.max())[1])
    return weights if abs(exponent) < _HUGE else np.ldexp(weights, -exponent)


def _refuse_endless(sample_weight: object) -> None:
    """Name the first weight that is no finite number; what is no number at all is told by scikit-learn's check."""
    weights = np.asarray(sample_weight)
    if weights.ndim != 1 or weights.dtype.kind != "f":
        return
    for row in np.flatnonzero(~np.isfinite(weights))[:1]:
        what = "NaN" if np.isnan(weights[row]) else "infinity"
        raise InputError(f"sample_weight is {what} for row {row}: give every person a number of 0 or more.")


def group_labels(labels: Any, people: pd.Index, what: str) -> pd.Series:
    """One group label per person; several columns become one label for their combination."""
    if labels is None:
        raise InputError(f"group_constraints need to know the groups: give {what}= to fit.")
    labels = to_pandas(labels, people)
    frame = pd.DataFrame(labels)
    if len(frame) != len(people):
        raise InputError(f"There are {len(people)} people but {len(frame)} {what}.")
    if isinstance(labels, pd.Series | pd.DataFrame) and not frame.index.equals(people):
        raise InputError(f"{what} list the people in another order than X: use .loc[people.index].")
    missing = frame.isna().any(axis=1).to_numpy()
    if missing.any():
        raise InputError(f"{what} are missing for person {people[missing].tolist()[0]!r}.")
    groups = frame.iloc[:, 0] if frame.shape[1] == 1 else frame.astype(str).agg(", ".join, axis=1)
    return pd.Series(groups.to_numpy(), index=people)


def favorable_sign(settings: FitSettings, classes: ClassArray, judgments: Judgments | None) -> float:
    """+1 where label 1 (the second class) is favourable, -1 where label 0 is; 'same' does not notice."""
    favorable = favorable_class(settings.favorable_label, settings.label_values, classes)
    if favorable is None and judgments is not None and judgments.has_ordered:
        raise InputError(
            "Some answers are ordered ('A at least as well as B'), so it must be known which outcome is the good "
            f"one: give favorable_label={listed(classes.tolist(), ' or ')}."
        )
    return -1.0 if favorable == 0 else 1.0


def favorable_class(favorable_label: Any, label_values: LabelValues | None, classes: ClassArray) -> int | None:
    """Position of the good one among the two classes, in their sorted order; None where nothing says so."""
    labels = classes.tolist()
    if label_values is not None:
        refuse_unnamed(label_values, classes)
        return int(labels.index(favorable_of(label_values)))
    if favorable_label is None:
        return None
    matches = [np.ndim(favorable_label) == 0 and value == favorable_label for value in labels]
    if not any(matches):
        raise InputError(
            f"favorable_label={quote(favorable_label)} is not one of the outcomes: give {listed(labels, ' or ')}."
            + numbered_hint(labels)
        )
    return matches.index(True)


def refuse_unnamed(label_values: LabelValues, classes: ClassArray) -> None:
    """Refuse names of labels that are not those of the outcomes; of two outcomes, others may be decided besides."""
    labels = classes.tolist()
    unnamed = [label for label in labels if label not in label_values]
    if unnamed:
        outcomes = f"outcome{'s' if len(unnamed) > 1 else ''} {listed(unnamed)}"
        raise InputError(
            f"label_values does not say how good the {outcomes} {'are' if len(unnamed) > 1 else 'is'}: it is about "
            f"{listed(sorted(label_values))}. Name the outcomes as they are in y." + numbered_hint(labels)
        )


def may_be_numbered(y: object, classes: ClassArray) -> bool:
    """Return whether scikit-learn may have numbered these outcomes: it hands on a plain array of 0, 1 and so on.

    Some numbers may be missing, those of outcomes that are in other folds. A Series, a list or numbers of another type
    were never numbered, nor was what is given to ``fit`` directly.
    """
    plain = isinstance(y, np.ndarray) and y.dtype.kind in "iu"
    return plain and bool(classes[0] >= 0) and may_number_labels()


def numbered_hint(labels: list[Any]) -> str:
    """A sentence about scikit-learn's numbers, where outcomes are 0, 1 and so on."""
    return f" {NUMBERED}" if labels == list(range(len(labels))) else ""


def listed(labels: Sequence[Any], separator: str = ", ") -> str:
    """The first labels, as a message shows them."""
    return separator.join([*map(repr, labels[:6]), *(["…"] if len(labels) > 6 else [])])


def judged_table(
    judgments: Judgments, X: object, table: pd.DataFrame, ids: pd.Index, used: list[Any], *, finite: bool = True
) -> pd.DataFrame:
    """The rows of these judged people, with those columns of the training table that are used."""
    is_frame = isinstance(X, pd.DataFrame)
    if judgments.by == "id" and not (is_frame and (has_ids(table) or judgments.people is not None)):
        raise JudgmentsError(_WITHOUT_IDS.format("a frame without an index" if is_frame else "a plain array"))
    if judgments.people is None:
        judgments = judgments.about(table if is_frame else table.to_numpy())
    rows = judgments.people_rows(ids)
    if not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(rows, index=ids)
        if rows.shape[1] != table.shape[1]:
            raise JudgmentsError(f"The judged people have {rows.shape[1]} columns, X has {table.shape[1]}. {_INSIDE}")
        rows.columns = table.columns
    missing = [column for column in used if column not in rows.columns]
    if missing and missing[0] == rows.index.name:
        raise JudgmentsError(f"Column {missing[0]!r} of X holds the ids of the judged people: leave it out of X.")
    if missing:
        raise JudgmentsError(f"The judged people's table has no column {missing[0]!r}, which X has. {_INSIDE}")
    if not is_frame and finite:
        broken = rows.index[~np.isfinite(rows.to_numpy(dtype=float)).all(axis=1)]
        if len(broken):
            raise JudgmentsError(f"Judged person {broken.tolist()[0]!r} has NaN or infinity in the array of people.")
    rows = rows if rows.columns.tolist() == used else rows[used]
    if is_frame and has_ids(table) and judgments.by == "id":
        refuse_changed(rows, table if table.columns.tolist() == used else table[used])
    return rows


def refuse_changed(rows: pd.DataFrame, table: pd.DataFrame) -> None:
    """A judged person who is in the training table must look the same there, or the wrong rows would be constrained."""
    place = table.index.get_indexer(rows.index) if table.index.is_unique else np.full(len(rows), -1)
    known = place >= 0
    if (rows if known.all() else rows[known]).equals(table.take(place[known])):  # at once, as a rule
        return  # otherwise equal numbers may differ in type
    here = rows.index[known]
    for column in table.columns if len(here) else []:
        carried = rows.loc[here, column].astype(object)
        in_table = table.loc[here, column].astype(object)
        changed = ((carried != in_table) & ~(carried.isna() & in_table.isna())).to_numpy(dtype=bool)
        if changed.any():
            who = here[changed][0]
            raise JudgmentsError(
                f"Judged person {quote(who)} is {quote(carried[who])} in column {column!r} of the people that the "
                f"judgments carry, but {quote(in_table[who])} in X. {_INSIDE}"
            )


def require_judgments(judgments: object) -> Judgments | None:
    if judgments is None or isinstance(judgments, Judgments):
        return judgments
    if isinstance(to_pandas(judgments), pd.DataFrame):
        raise JudgmentsError(
            "judgments= is a bare DataFrame: wrap it in Judgments(frame, people=people), which checks it and keeps the "
            "judged people together with it."
        )
    raise JudgmentsError(f"judgments= must be a fairwise.Judgments, not {type(judgments).__name__}.")
