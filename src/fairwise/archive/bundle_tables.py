"""Check the tables of a bundle cell by cell, before anything is made of them: columns, values, and nothing twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import pandas as pd

from fairwise.archive.bundle import (
    ANSWER_MODELS,
    ANSWERS,
    BALLOTS,
    CLOSINGS,
    CONSENTS,
    EXCLUSIONS,
    PARTICIPANTS,
    QUESTIONS,
    REASONS,
    ROUND_PAIRS,
    SCHEDULE,
    VOTES,
    Bundle,
)
from fairwise.errors import InputError
from fairwise.store.study_state import FIRST, SECOND
from fairwise.store.tables import CAME_BY, REASON_STATES
from fairwise.study.deliberation import Chosen, Rule
from fairwise.study.settings import Stage, StudySettings
from fairwise.study.texts import available

_LARGEST = 2**31 - 1  # that databases keep
_SURENESS = range(1, 6)
_LONGEST_NAME, _LONGEST_VERSION = 100, 16


@dataclass(frozen=True)
class _Kind:
    """What a cell may hold."""

    allowed: str
    fits: Callable[[str], bool]

    @property
    def or_nothing(self) -> _Kind:
        return _Kind(f"{self.allowed}, or nothing", lambda cell: cell == "" or self.fits(cell))


@dataclass(frozen=True)
class _Table:
    """What a table may hold."""

    columns: Mapping[str, _Kind]
    once: tuple[tuple[str, ...], ...]
    """Columns that together say what a row is about."""

    later: frozenset[str] = field(default=frozenset())
    """Columns that older bundles do not have."""


def _one_of(values: Iterable[object]) -> _Kind:
    allowed = [str(value) for value in values]
    return _Kind(", ".join(allowed), allowed.__contains__)


def _text(longest: int | None = None) -> _Kind:
    if longest is None:
        return _Kind("a text", lambda cell: "\0" not in cell)
    return _Kind(f"1 to {longest} characters", lambda cell: "\0" not in cell and 1 <= len(cell) <= longest)


def _whole(least: int) -> _Kind:
    def fits(cell: str) -> bool:
        plain = cell.isascii() and cell.isdigit() and len(cell) <= len(str(_LARGEST))
        return plain and str(int(cell)) == cell and least <= int(cell) <= _LARGEST

    return _Kind(f"a whole number from {least}", fits)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) and float(cell) >= 0
    except ValueError:
        return False


def _is_moment(cell: str) -> bool:
    try:
        return datetime.fromisoformat(cell).tzinfo is not None
    except ValueError:
        return False


_NUMBER = _Kind("a number from 0", _is_number)
_MOMENT = _Kind("a time such as 2026-01-31T12:00:00+00:00", _is_moment)


def _tables(settings: StudySettings) -> dict[str, _Table]:
    # Without any, nobody is asked; those who were asked before the question was taken away said what they said.
    relation = _one_of(one.name for one in settings.relations) if settings.relations else _text(_LONGEST_NAME)
    arm = _one_of(one.name for one in settings.arms)
    number, text = _whole(1), _text()
    return {
        PARTICIPANTS: _Table(
            {
                "number": number,
                "slot": _whole(0),
                "consent_version": _text(_LONGEST_VERSION),
                "consented_at": _MOMENT,
                "stage": _one_of(Stage),
                "check_tries": _whole(0),
                "finished_at": _MOMENT.or_nothing,
                "language": _one_of(available()).or_nothing,
                "came_by": _one_of(CAME_BY),
                "relation": relation.or_nothing,
                "simulated": _one_of(("yes", "no")),
                "arm": arm.or_nothing,
                "arm_turn": _whole(0).or_nothing,
                "arm_kept": _one_of(("yes", "no")),
            },
            once=(("number",),),
            later=frozenset({"language", "came_by", "relation", "simulated", "arm", "arm_turn", "arm_kept"}),
        ),
        SCHEDULE: _Table(
            {
                "number": number,
                "position": number,
                "a": text,
                "b": text,
                "design": text,
                "selection_probability": _NUMBER.or_nothing,
                "answers_known": number.or_nothing,
                "answer_model": number.or_nothing,
            },
            once=(("number", "position"),),
            later=frozenset({"answers_known", "answer_model"}),
        ),
        ANSWERS: _Table(
            {
                "number": number,
                "position": number,
                "version": number,
                "answer": _one_of(settings.allowed_answers),
                "why": text,
                "confidence": _one_of(_SURENESS).or_nothing,
                "seconds": _NUMBER.or_nothing,
                "answered_at": _MOMENT,
                "round": _one_of((FIRST, SECOND)),
                "sequence": number,
            },
            once=(("number", "position", "version"), ("sequence",)),
            later=frozenset({"round", "sequence"}),
        ),
        CLOSINGS: _Table({"number": number, "rules": text, "expressible": text, "comments": text}, once=(("number",),)),
        ANSWER_MODELS: _Table(
            {"number": number, "learned_from": _whole(0), "made_at": _MOMENT, "parameters": text}, once=(("number",),)
        ),
        EXCLUSIONS: _Table(
            {"number": number, "reason": text, "excluded_at": _MOMENT, "included_at": _MOMENT.or_nothing}, once=()
        ),
        CONSENTS: _Table(
            {"version": _text(_LONGEST_VERSION), "language": _one_of(available()), "text": text}, once=(("version",),)
        ),
        QUESTIONS: _Table(
            {
                "number": number,
                "question": _one_of(question.name for question in settings.questions),
                "answer": text,
                "written": text,
            },
            once=(("number", "question"),),
        ),
        ROUND_PAIRS: _Table(
            {"rank": number, "a": text, "b": text, "chosen_as": _one_of(Chosen)}, once=(("rank",), ("a", "b"))
        ),
        REASONS: _Table(
            {
                "number": number,
                "position": number,
                "version": number,
                "state": _one_of(REASON_STATES),
                "decided_at": _MOMENT.or_nothing,
                "reported_at": _MOMENT.or_nothing,
            },
            once=(("number", "position", "version"),),
        ),
        VOTES: _Table(
            {
                "vote": number,
                "rule": _one_of(Rule),
                "options": text,
                "opened_at": _MOMENT,
                "closed_at": _MOMENT,
                "tally": text,
                "chosen": _whole(0).or_nothing,
                "why": text,
                "decided_at": _MOMENT.or_nothing,
            },
            once=(("vote",),),
            later=frozenset({"tally"}),
        ),
        BALLOTS: _Table(
            {"number": number, "vote": number, "ballot": text, "cast_at": _MOMENT}, once=(("number", "vote"),)
        ),
    }


def checked_tables(bundle: Bundle, settings: StudySettings) -> dict[str, pd.DataFrame]:
    """Return all tables by name, those that are not there empty; refuse the first cell that cannot be."""
    found = {}
    for name, allowed in _tables(settings).items():
        table = bundle.table(name)
        if name in bundle.files:
            _check(f"{bundle.path}: {name}", table, allowed)
        found[name] = table if name in bundle.files else table.reindex(columns=list(allowed.columns))
    return found


def _check(where: str, table: pd.DataFrame, allowed: _Table) -> None:
    names = list(table.columns)
    for column in allowed.columns:
        if column not in names and column not in allowed.later:
            raise InputError(f"{where} has no column {column!r}")
    for column in names:
        if column not in allowed.columns or names.count(column) > 1:
            raise InputError(f"{where} has a column {column!r} that does not belong there, or is there twice")
        kind = allowed.columns[column]
        wrong = {cell for cell in table[column].unique() if not kind.fits(cell)}
        if wrong:
            row = next(at for at, cell in enumerate(table[column], start=2) if cell in wrong)
            cell = _short(table[column].iloc[row - 2])
            raise InputError(f"{where}, row {row}, column {column}: {cell}; allowed: {kind.allowed}")
    for key in allowed.once:
        if not set(key) <= set(names):
            continue
        again = table.duplicated(list(key))
        if again.any():
            row = int(again.to_numpy().argmax())
            about = ", ".join(f"{column} {_short(table[column].iloc[row])}" for column in key)
            raise InputError(f"{where}, row {row + 2}: {about} is there twice; allowed: once")


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= _LONGEST_NAME else f"{cell[:_LONGEST_NAME]}…")
