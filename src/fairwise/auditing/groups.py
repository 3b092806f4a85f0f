"""Groups of people: by which columns they are told apart, and what each gains or loses by what people asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairwise.auditing.decisions import chances, person_costs
from fairwise.auditing.features import looks_protected
from fairwise.auditing.prices import unbound_model
from fairwise.errors import InputError
from fairwise.tables.frames import bands, in_order, is_numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.decisions import Labels
    from fairwise.auditing.error_measure import Model
    from fairwise.judgments import Judgments

NOT_KNOWN = "not known"
MOST_VALUES = 12
"""A column with more numbers than these is cut into bands; one with more words is not compared unless asked for."""

_LEAST_PEOPLE = 5
_CONFIDENCE = 0.95
_LONGEST_VALUE = 80


def default_groups(people: pd.DataFrame, called: Mapping[str, str]) -> list[str]:
    """Columns that look protected by their names, and tell apart a few groups of at least five people on average."""
    return [
        str(name)
        for name, column in people.items()
        if (looks_protected(str(name)) or looks_protected(called.get(str(name), "")))
        and (_is_cut(column) or 1 < column.nunique() <= min(MOST_VALUES, len(people) / _LEAST_PEOPLE))
    ]


def group_values(people: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The group of each person by each of these columns; numbers of many values are cut into bands of about a size."""
    missing = [name for name in names if name not in people.columns]
    if missing:
        raise InputError(f"groups: no such column of people: {missing[0]!r}; there are {', '.join(people.columns)}")
    values = {name: bands(people[name]) if _is_cut(people[name]) else people[name] for name in names}
    columns = pd.DataFrame(values, index=people.index).astype(object)
    return columns.where(columns.notna(), NOT_KNOWN)


def _is_cut(column: pd.Series[Any]) -> bool:
    return is_numeric(column) and column.nunique() > MOST_VALUES


def free_texts(people: pd.DataFrame) -> list[str]:
    """Columns of sentences, such as letters: one value of them is longer than a category's name would be."""
    texts = people.select_dtypes(include=["object", "string", "category"])
    longest = {str(name): column.astype(str).str.len().max() for name, column in texts.items()}
    return [name for name, length in longest.items() if length > _LONGEST_VALUE]


def gains(
    model: Model,
    people: Any,
    outcome: pd.Series[Any],
    judgments: Judgments,
    groups: pd.DataFrame,
    labels: Labels,
) -> pd.DataFrame:
    """What following people does to everyone and to each group, against a model of the same kind that does not.

    One line for everyone (``attribute`` and ``group`` are empty), then one for each group of each column:

    ``good_without``, ``good``: how well they are treated, the mean chance of the favourable label (of label 1 where
    none is) or the mean value of their labels; ``wrong_without``, ``wrong``: the mean chance of a wrong decision, or
    what decisions cost; ``good_change`` and ``wrong_change``: what is
    added, with ends ``_low`` and ``_high`` that hold the truth 95 times in 100 for other people of the group
    (NaN of one).
    """
    codes = outcome.to_numpy()
    both = [chances(one, people) for one in (unbound_model(model, people, outcome, judgments), model)]
    treated = [labels.treatment(chance) for chance in both]
    wrong = [person_costs(model, chance, codes) for chance in both]
    lines = [{"attribute": "", "group": ""} | _line(treated, wrong, np.ones(len(codes), dtype=bool))]
    for name, values in groups.items():
        for group in in_order(values.astype(str).unique()):
            members = (values.astype(str) == group).to_numpy()
            lines.append({"attribute": str(name), "group": group} | _line(treated, wrong, members))
    return pd.DataFrame(lines)


def _line(
    treated: Sequence[NDArray[np.float64]], wrong: Sequence[NDArray[np.float64]], members: NDArray[np.bool_]
) -> dict[str, float]:
    line: dict[str, float] = {"people": int(members.sum())}
    for name, (without, with_them) in (("good", treated), ("wrong", wrong)):
        change = (with_them - without)[members]
        mean, n = float(change.mean()), len(change)
        width = stdtrit(n - 1, (1 + _CONFIDENCE) / 2) * change.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        line |= {f"{name}_without": float(without[members].mean()), name: float(with_them[members].mean())}
        line |= {f"{name}_change": mean, f"{name}_change_low": mean - width, f"{name}_change_high": mean + width}
    return line
