"""One function per column: its values in one type; those that are not allowed are noted as errors."""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.judgments.answer import Answer
from fairwise.tables.rows import RowErrors, did_you_mean, encode, is_integer

_ZONE = re.compile(r"^[^T ]*[T ].*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$")
_LIGHTEST, _HEAVIEST = 1e-100, 1e100  # so that sums, products and squares of weights stay numbers
_LEAVE_OUT = "fill every row or leave the column out"


def answers(column: pd.Series, errors: RowErrors) -> pd.Series:
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


def weights(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return the weights: 0, or within a range in which they can be added and multiplied; none missing."""
    values, bad = _floats(column)
    errors.refuse(
        bad | ~(values >= 0), "weight", column, f"is not a weight; allowed: a number, 0 or more; {_LEAVE_OUT}"
    )
    extreme = (values > _HEAVIEST) | ((values > 0) & (values < _LIGHTEST))
    allowed = f"allowed: 0, or from {_LIGHTEST:g} to {_HEAVIEST:g}"
    errors.refuse(extreme, "weight", column, f"is too extreme a weight to be added up; {allowed}")
    return values


def rounds(column: pd.Series, errors: RowErrors) -> NDArray[np.int64]:
    """Return the rounds: whole numbers from 1."""
    codes, texts = encode(column)
    numbers = np.array(
        [int(text) if good else 0 for text, good in zip(texts, is_integer(texts), strict=True)] + [0],
        dtype=np.int64,
    )[codes]
    errors.refuse(numbers < 1, "round", column, f"is not a round; allowed: whole numbers from 1; {_LEAVE_OUT}")
    return numbers


def designs(column: pd.Series, errors: RowErrors) -> pd.Series:
    """Return the names of the designs; any name is allowed, but not none."""
    codes, texts = encode(column)
    errors.refuse(codes < 0, "design", column, f"is not a design; allowed: a name such as uniform; {_LEAVE_OUT}")
    return _texts(codes, texts)


def seconds(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return how long each answer took, NaN where nobody knows."""
    values, bad = _floats(column)
    errors.refuse(bad | (values < 0), "seconds", column, "is not a duration; allowed: 0 or more seconds, or nothing")
    return values


def selection_probabilities(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return each pair's chance of having been chosen, NaN where nobody knows."""
    values, bad = _floats(column)
    errors.refuse(
        bad | (values <= 0) | (values > 1),
        "selection_probability",
        column,
        "is not a probability; allowed: above 0 and at most 1, or nothing",
    )
    return values


def error_bounds(column: pd.Series, errors: RowErrors) -> NDArray[np.float64]:
    """Return what share of predicted rows like this one is wrong, at most; NaN where someone was asked."""
    values, bad = _floats(column)
    errors.refuse(bad | (values < 0) | (values > 1), "error_bound", column, "is no share; allowed: 0 to 1, or nothing")
    return values


def times(column: pd.Series, errors: RowErrors) -> pd.Series:
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
