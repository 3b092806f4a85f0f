"""Results of a model by group and for one person, and the processes that compute them."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.messages import marked
from fairwise.study.design import Amount, Decision
from fairwise.study.folder import StudyFolder
from fairwise.tables.columns import bands, in_order, is_numeric
from fairwise.tables.rows import text_of
from fairwise.web.shared.requests import Form, may_mean_thousands

MOST_WAITING = 4
"""Requests at a time, with the one whose program runs."""

LONGEST_SECONDS = 50
"""Time limit of a request, waiting included: proxies give up after a minute."""

_BUSY = marked("The server is computing for other people at the moment; try it again in a minute")


class _Queue:
    def __init__(self) -> None:
        self.lock, self.requests = asyncio.Lock(), 0


class Turns:
    """The requests of one server process for programs of one kind, whichever study they are about."""

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()

    async def run(
        self,
        command: Sequence[str],
        question: bytes,
        seconds: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[int | None, bytes]:
        """Return how a program ended, None if it took too long, and what it wrote; it ends with the request."""
        queue = self._queues.setdefault(asyncio.get_running_loop(), _Queue())
        if queue.requests >= MOST_WAITING:
            raise InputError(_BUSY)
        queue.requests += 1
        try:
            async with asyncio.timeout(LONGEST_SECONDS), queue.lock:
                return await _run(command, question, seconds, environment)
        except TimeoutError:
            return None, b""
        finally:
            queue.requests -= 1


async def _run(
    command: Sequence[str], question: bytes, seconds: float | None, environment: Mapping[str, str] | None
) -> tuple[int | None, bytes]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(question), seconds)
    except TimeoutError:
        return None, b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output


_MOST_GROUPS = 8
_MOST_COLUMNS = 12
_MOST_OPTIONS = 40


@dataclass(frozen=True)
class GroupResult:
    """Result of a model for a group: how well it is treated, and how often the model is wrong."""

    name: str | None
    """Name of the group; None for people whose value is missing."""

    people: int
    good: float
    wrong: float
    recorded: float | None = None
    """Mean of the recorded amounts, if amounts are decided."""


@dataclass(frozen=True)
class GroupsOfColumn:
    """The groups by one column."""

    label: str
    groups: tuple[GroupResult, ...]


def results_by_group(
    study: StudyFolder, good: Mapping[str, float], good_label: str | None, wrong_of: Mapping[str, float] | None = None
) -> list[GroupsOfColumn]:
    """Return how a model treats the groups of every visible column; columns of many numbers are grouped in bands.

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
    columns = []
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
        columns.append(GroupsOfColumn(column.label, tuple(groups)))
    return columns


def _group_names(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return the ordered group of each person, or None if there are too many groups."""
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
    """Field of a form for one column of a person."""

    name: str
    label: str
    unit: str
    is_number: bool
    options: tuple[str, ...]
    """Choices; empty if the value is typed."""


def person_fields(study: StudyFolder) -> list[PersonField]:
    """Return a field for every column that participants see."""
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
    """Return the person in a form as the table of people has them; `decimal` is the reader's decimal mark.

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
            values = {text_of(value): value for value in people[field.name].dropna().unique()}
            value = values.get(text, text)
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
    """Result of a model for one person."""

    good: float
    """Chance of the good outcome, or how good the decision is."""

    decisions: tuple[tuple[str, float], ...]
    """Chance of each of several decisions, the best first."""

    amount: float | None
    """Amount that is decided, if amounts are."""

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
    answer = json.loads(answer)
    if amount is not None:
        decided = answer["amount"]
        return Score(amount.value(decided), (), decided, answer["region"], answer["rules"])
    chances, words = answer["probabilities"], outcome_words or {one.label: one.words for one in decisions}
    rules = [{**rule, "label": words.get(text_of(rule["label"]), rule["label"])} for rule in answer["rules"]]
    if not decisions:
        return Score(chances[good_label], (), None, answer["region"], rules)
    ordered = sorted(decisions, key=lambda one: -one.value)
    good = sum(one.value * chances[one.label] for one in decisions)
    return Score(good, tuple((one.words, chances[one.label]) for one in ordered), None, answer["region"], rules)
