"""What the page of a model says beside its numbers: its results by group, and what it says about one person."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.study.folder import StudyFolder
from fairwise.tables.ids import text_of
from fairwise.web.shared.forms import Form

_MOST_GROUPS = 8
_MOST_COLUMNS = 12
_MOST_OPTIONS = 40
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class GroupResult:
    """How the model treats those who have something in common. Both are shares of them."""

    name: str | None
    """None for those of whom it is not known."""

    people: int
    good: float
    wrong: float


@dataclass(frozen=True)
class GroupsOfColumn:
    """The groups by one column."""

    label: str
    groups: tuple[GroupResult, ...]


def results_by_group(study: StudyFolder, good: Mapping[str, float], good_label: str) -> list[GroupsOfColumn]:
    """How a model treats the groups of every column that participants see; numbers of many values in three parts.

    `good` is each person's probability of the good outcome.
    """
    people = study.people()
    people = people[people.index.isin(list(good))]
    chance = people.index.map(good).to_numpy(dtype=float)
    is_good = study.outcome().reindex(people.index).map(text_of).to_numpy() == good_label
    wrong = np.where(is_good, 1.0 - chance, chance)
    found = []
    for column in study.settings.columns[:_MOST_COLUMNS]:
        names = _group_names(people[column.name])
        if names is None:
            continue
        table = pd.DataFrame({"name": names.array, "good": chance, "wrong": wrong})
        groups = [
            GroupResult(None if pd.isna(name) else str(name), len(those), those["good"].mean(), those["wrong"].mean())
            for name, those in table.groupby("name", sort=True, dropna=False, observed=True)
        ]
        found.append(GroupsOfColumn(column.label, tuple(groups)))
    return found


def _group_names(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """To which group each person belongs, in an order that makes sense; None where there are too many groups."""
    if values.nunique() <= _MOST_GROUPS:
        order = [text_of(value) for value in values.dropna().drop_duplicates().sort_values()]
        names = values.map(text_of, na_action="ignore")
    elif pd.api.types.is_numeric_dtype(values.dtype):
        low, high = (float(values.quantile(share)) for share in (1 / 3, 2 / 3))
        order = [f"≤ {low:g}", f"{low:g} – {high:g}", f"> {high:g}"]
        parts = np.select([values <= low, values <= high], order[:2], order[2])
        names = pd.Series(parts, index=values.index).mask(values.isna())
    else:
        return None
    return names.astype(pd.CategoricalDtype(list(dict.fromkeys(order)), ordered=True))


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
        is_number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        kinds = () if is_number else sorted({text_of(value) for value in values.dropna().unique()})
        options = tuple(kinds) if len(kinds) <= _MOST_OPTIONS else ()
        fields.append(PersonField(column.name, column.label, column.unit, is_number, options))
    return fields


def person_of(form: Form, fields: Sequence[PersonField], people: pd.DataFrame) -> dict[str, Any]:
    """What was filled in, as the table of people has it; a number that is none is an error that names its column."""
    person: dict[str, Any] = {}
    for place, field in enumerate(fields):
        text = form.text(f"value-{place}", 500)
        if not text:
            person[field.name] = None
        elif field.is_number:
            try:
                person[field.name] = float(text.replace(",", "."))
            except ValueError:
                raise InputError(f"{field.label}: {text} is not a number") from None
        else:
            known = {text_of(value): value for value in people[field.name].dropna().unique()}
            value = known.get(text, text)
            person[field.name] = value.item() if isinstance(value, np.generic) else value
    return person


@dataclass(frozen=True)
class Score:
    """What a model says about one person."""

    good: float
    region: str | None
    rules: Sequence[Mapping[str, Any]]


async def score(model: Path, person: Mapping[str, Any], good_label: str) -> Score:
    """Ask a process of its own, as this one knows nothing of learning."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "fairwise.jobs.score", str(model)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told, _ = await asyncio.wait_for(process.communicate(json.dumps(person).encode()), _PATIENCE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise InputError("The model took too long to answer; try it again") from None
    if process.returncode:
        raise InputError("The model cannot say anything about such a person")
    found = json.loads(told)
    return Score(found["probabilities"][good_label], found["region"], found["rules"])
