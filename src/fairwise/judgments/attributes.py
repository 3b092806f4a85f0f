"""What is known about the judges themselves: any attributes, one row per judge."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import pandas as pd

from fairwise.errors import JudgmentsError
from fairwise.tables.ids import encode, some

JudgeAttributes: TypeAlias = pd.DataFrame | Mapping[Any, Mapping[str, Any]]

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
    _, known = encode(judges.to_series())
    strangers = listed.difference(pd.Index(known), sort=False)
    if len(strangers):
        raise JudgmentsError(f"{_WHAT}: judges who gave no answer: {some(strangers)}; there are {some(judges)}")
    return table.set_axis(listed, axis="index").reindex(known).set_axis(judges, axis="index")


def _as_table(given: JudgeAttributes) -> pd.DataFrame:
    if isinstance(given, pd.DataFrame):
        table = given
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
