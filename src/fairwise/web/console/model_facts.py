"""What the page of a model says beside its numbers: its results by group, and what it says about one person."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.study.design import Amount, Decision
from fairwise.study.folder import StudyFolder
from fairwise.tables.columns import bands, in_order, is_numeric
from fairwise.tables.rows import text_of
from fairwise.web.console.turns import Turns
from fairwise.web.shared.forms import Form, may_mean_thousands

_MOST_GROUPS = 8
_MOST_COLUMNS = 12
_MOST_OPTIONS = 40


@dataclass(frozen=True)
class GroupResult:
    """How well the model treats those who have something in common, and how often it is wrong about them."""

    name: str | None
    """None for those of whom it is not known."""

    people: int
    good: float
    wrong: float
    recorded: float | None = None
    """Of amounts, the mean of theirs that were recorded."""


@dataclass(frozen=True)
class GroupsOfColumn:
    """The groups by one column."""

    label: str
    groups: tuple[GroupResult, ...]


def results_by_group(
    study: StudyFolder, good: Mapping[str, float], good_label: str | None, wrong_of: Mapping[str, float] | None = None
) -> list[GroupsOfColumn]:
    """How a model treats the groups of every column that participants see; numbers of many values in bands.

    `good` is how well each person is treated: their probability of the good outcome, or how good what they get is.
    `wrong_of` is how likely the model is wrong about each, which of two outcomes follows from that; of amounts, by how
    much it is.
    """
    people = study.people()
    people = people[people.index.isin(list(good))]
    chance = people.index.map(good).to_numpy(dtype=float)
    if wrong_of is None:
        is_good = study.outcome().reindex(people.index).map(text_of).to_numpy() == good_label
        wrong = np.where(is_good, 1.0 - chance, chance)
    else:
        wrong = people.index.map(wrong_of).to_numpy(dtype=float)
    amounts = study.settings.amount is not None
    recorded = {"recorded": study.outcome().reindex(people.index).to_numpy(dtype=float)} if amounts else {}
    found = []
    for column in study.settings.columns[:_MOST_COLUMNS]:
        names = _group_names(people[column.name])
        if names is None:
            continue
        table = pd.DataFrame({"name": names.array, "good": chance, "wrong": wrong, **recorded})
        groups = [
            GroupResult(
                None if pd.isna(name) else str(name),
                len(those),
                **{what: those[what].mean() for what in ("good", "wrong", *recorded)},
            )
            for name, those in table.groupby("name", sort=True, dropna=False, observed=True)
        ]
        found.append(GroupsOfColumn(column.label, tuple(groups)))
    return found


def _group_names(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """To which group each person belongs, in an order that makes sense; None where there are too many groups."""
    if values.nunique() <= _MOST_GROUPS:
        order = [text_of(value) for value in values.dropna().drop_duplicates().sort_values()]
        names = values.map(text_of, na_action="ignore")
    elif is_numeric(values):
        names = bands(values)
        order = in_order(names.dropna().unique())
    else:
        return None
    return names.astype(pd.CategoricalDtype(order, ordered=True))


@dataclass(frozen=True)
class PersonField:
    """One thing that is known of a person, as a form asks for it."""

    name: str
    label: str
    unit: str
    is_number: bool
    options: tuple[str, ...]
    """What can be chosen; empty for what is typed."""


def person_fields(study: StudyFolder) -> list[PersonField]:
    """Every column that participants see."""
    people = study.people()
    fields = []
    for column in study.settings.columns:
        values = people[column.name]
        is_number = is_numeric(values)
        kinds = () if is_number else sorted({text_of(value) for value in values.dropna().unique()})
        options = tuple(kinds) if len(kinds) <= _MOST_OPTIONS else ()
        fields.append(PersonField(column.name, column.label, column.unit, is_number, options))
    return fields


class PersonValueError(InputError):
    """Something that was filled in cannot be read; ``field`` is where."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


def person_of(form: Form, fields: Sequence[PersonField], people: pd.DataFrame, decimal: str = ".") -> dict[str, Any]:
    """What was filled in, as the table of people has it; `decimal` is how its reader writes decimals.

    A number that is none is an error that names its column, and so is one that could be two numbers.
    """
    person: dict[str, Any] = {}
    for place, field in enumerate(fields):
        name = f"value-{place}"
        text = form.text(name, 500)
        if not text:
            person[field.name] = None
        elif field.is_number:
            if may_mean_thousands(text, decimal):
                raise PersonValueError(name, f"{field.label}: write {text} without a mark between thousands")
            number = _number(text)
            if number is None:
                raise PersonValueError(name, f"{field.label}: {text} is not a number, such as 31 or 31.5")
            person[field.name] = number
        else:
            known = {text_of(value): value for value in people[field.name].dropna().unique()}
            value = known.get(text, text)
            person[field.name] = value.item() if isinstance(value, np.generic) else value
    return person


def _number(text: str) -> float | None:
    """A number as people type one: decimals with a point or a comma, thousands apart by spaces.

    >>> _number("31,5"), _number("2 400"), _number("nan"), _number("1e999")
    (31.5, 2400.0, None, None)
    """
    plain = re.sub(r"\s", "", text).replace(",", ".").replace("\N{MINUS SIGN}", "-")
    if not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", plain, re.IGNORECASE | re.ASCII):
        return None
    number = float(plain)
    return number if isfinite(number) else None


@dataclass(frozen=True)
class Score:
    """What a model says about one person."""

    good: float
    """How well they are treated: the chance of the good outcome, or how good what they get is."""

    decisions: tuple[tuple[str, float], ...]
    """Of several decisions, each in words with its chance, the best first."""

    amount: float | None
    """What they get, where that is an amount."""

    region: str | None
    rules: Sequence[Mapping[str, Any]]


_turns = Turns()


async def score(
    model: Path,
    person: Mapping[str, Any],
    labels: Mapping[str, str],
    good_label: str | None,
    language: str,
    decisions: Sequence[Decision] = (),
    amount: Amount | None = None,
    outcome_words: Mapping[str, str] | None = None,
) -> Score:
    """Ask a process of its own, as this one knows nothing of learning; `labels` are what columns are called.

    Only one such process runs at a time, as each takes some hundred megabytes; a few requests wait for it.
    """
    question = json.dumps({"person": person, "labels": labels, "language": language}).encode()
    code, answer = await _turns.run([sys.executable, "-m", "fairwise.jobs.score", str(model)], question)
    if code is None:
        raise InputError("The model took too long to answer; try it again")
    if code:
        raise InputError("The model cannot say anything about such a person")
    found = json.loads(answer)
    if amount is not None:
        given = found["amount"]
        return Score(amount.value(given), (), given, found["region"], found["rules"])
    chances, words = found["probabilities"], outcome_words or {one.label: one.words for one in decisions}
    rules = [{**rule, "label": words.get(text_of(rule["label"]), rule["label"])} for rule in found["rules"]]
    if not decisions:
        return Score(chances[good_label], (), None, found["region"], rules)
    ordered = sorted(decisions, key=lambda one: -one.value)
    good = sum(one.value * chances[one.label] for one in decisions)
    return Score(good, tuple((one.words, chances[one.label]) for one in ordered), None, found["region"], rules)
