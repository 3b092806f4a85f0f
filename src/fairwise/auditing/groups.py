"""Groups of people: by which columns they are told apart, and what each gains or loses by what people asked for.

Also which columns a model uses, and which of them it should perhaps not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fairwise.auditing.decisions import chances, person_costs
from fairwise.auditing.prices import unbound_model
from fairwise.errors import InputError
from fairwise.learning.model.estimator_rules import EstimatorRule
from fairwise.tables.columns import bands, in_order, is_numeric

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
# What laws against discrimination name most often, as it is written in the names of columns.
_PROTECTED = {
    *("sex", "sexual", "gender", "orientation", "marital", "married", "pregnancy", "pregnant"),
    *("race", "racial", "ethnicity", "ethnic", "colour", "color", "caste", "origin"),
    *("nationality", "citizenship", "citizen", "foreign", "religion", "religious", "belief", "faith"),
    *("age", "birth", "disability", "disabled", "handicap"),
}


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
    """Compare everyone and each group with a model of the same kind that follows nobody.

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


@dataclass(frozen=True)
class FeatureUse:
    """The columns of a model's table by what becomes of them, under the names that people read.

    Attributes
    ----------
    used, idle, unused
        What the model looks at; what it might, but no rule of it asks about; and what it was given but must not use.
        Of estimators whose rules are not known in words, whatever they may use is used.
    protected
        Those used that were named as protected, such as the columns of groups.
    suspected
        Those used whose name looks like one that is commonly protected.
    """

    used: tuple[str, ...]
    idle: tuple[str, ...]
    unused: tuple[str, ...]
    protected: tuple[str, ...]
    suspected: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: Model,
        protected: Iterable[str],
        called: Mapping[str, str] | None = None,
    ) -> FeatureUse:
        """``protected`` are columns that were named so; ``called`` is what people read instead of a column's name."""
        words = {} if called is None else called
        named = set(protected)
        allowed = [str(name) for name in model.features_]
        asked = set(allowed if any(isinstance(rule, EstimatorRule) for _, rule in model.rules_) else model.rules_.asked)
        used = [name for name in allowed if name in asked]
        every = [str(name) for name in getattr(model, "feature_names_in_", allowed)]
        shown = {name: words.get(name, name) for name in every}
        return cls(
            used=tuple(shown[name] for name in used),
            idle=tuple(shown[name] for name in allowed if name not in asked),
            unused=tuple(shown[name] for name in every if name not in allowed),
            protected=tuple(shown[name] for name in used if name in named),
            suspected=tuple(
                shown[name]
                for name in used
                if name not in named and (looks_protected(name) or looks_protected(shown[name]))
            ),
        )


def looks_protected(name: str) -> bool:
    """Whether a word of a column's name is one of those that are commonly protected.

    >>> looks_protected("personal_status_sex"), looks_protected("ageAtArrest"), looks_protected("mileage")
    (True, True, False)
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return not _PROTECTED.isdisjoint(word.lower() for word in words)
