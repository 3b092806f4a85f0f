"""A study on disk: a folder that is read and checked as a whole before anybody is asked anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fairwise.errors import InputError, some
from fairwise.study.cards import ID, Card, card_columns, cards_of, check_pictures, names_of
from fairwise.study.design import Arm, assigned_late, check_outcome
from fairwise.study.questions import decisive as decisive_questions
from fairwise.study.schedules import ArmTurns, DifferingPairs, Schedules, ShownPair
from fairwise.study.settings import StudySettings
from fairwise.study.texts import Language, language, left_to_fill_in, read_text, safe_html
from fairwise.study.translations import translated, translated_values
from fairwise.tables.files import PeopleFile, read_parquet
from fairwise.tables.rows import Source, text_of

# What participants of a study read in one of its languages: its words, its two texts, and everyone's card.

SETTINGS, CONSENT, TASK = "study.toml", "consent.md", "task.md"


def named(name: str, code: str | None) -> str:
    """Return the name of a file in another language than the first.

    >>> named("consent.md", "de")
    'consent.de.md'
    """
    stem, _, kind = name.partition(".")
    return name if code is None else f"{stem}.{code}.{kind}"


@dataclass(frozen=True, eq=False)
class Edition:
    """A study in one language."""

    language: Language
    settings: StudySettings
    """Settings with all words in this language."""

    cards: Mapping[str, Card]
    """Card of each person, by id, in the order of the file."""

    consent_html: str
    task_html: str
    consent_text: str
    """Consent text as in its file."""

    consent_language: str
    """Language of the consent text; the study's first where it was not translated."""

    is_complete: bool
    """Whether all of it is in this language; only then it is offered."""

    unfinished: tuple[str, ...]
    """Texts that an operator has yet to fill in or to translate, with their files."""

    @classmethod
    def read(cls, folder: Path, settings: StudySettings, code: str, people: pa.Table, where: Path) -> Edition:
        """Read the texts and words of one language; `people` were read from the file `where`."""
        own_language, first = language(code), code == settings.languages[0]
        words, values, missing = settings, None, list[str]()
        if not first:
            file = folder / named(SETTINGS, code)
            words, untranslated = translated(settings, code, file)
            values, words_left = translated_values(settings, code, file, people)
            missing = [*untranslated, *words_left]
        consent, task = (_Document.read(folder, name, code, settings) for name in (CONSENT, TASK))
        return cls(
            language=own_language,
            settings=words,
            cards=cards_of(people, words.columns, where, own_language, values),
            consent_html=consent.html,
            task_html=task.html,
            consent_text=consent.text,
            consent_language=consent.language,
            is_complete=not missing and consent.language == task.language == code,
            unfinished=(*missing, *consent.unfinished, *task.unfinished),
        )

    @cached_property
    def consent_version(self) -> str:
        """Changes with every change of the consent text."""
        return version_of(self.consent_text)

    def in_arm(self, name: str | None) -> Edition:
        """Return the edition for participants of an arm; without one, this edition."""
        return self if name is None else self._in_arms.get(name, self)

    @cached_property
    def _in_arms(self) -> dict[str, Edition]:
        return {
            arm.name: replace(self, settings=self.settings.in_arm(arm), cards=self._cards(arm))
            for arm in self.settings.arms
        }

    def _cards(self, arm: Arm) -> Mapping[str, Card]:
        if not arm.columns:
            return self.cards
        places = [place for place, column in enumerate(self.settings.columns) if column.name in arm.columns]
        return {
            person: Card(person, tuple(card.rows[place] for place in places)) for person, card in self.cards.items()
        }


def version_of(consent_text: str) -> str:
    """Return the name of a consent text: the beginning of its SHA-256."""
    return hashlib.sha256(consent_text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Document:
    """A text in a language, or in the first one if it was not translated."""

    text: str
    language: str
    html: str
    unfinished: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path, name: str, code: str, settings: StudySettings) -> _Document:
        own = settings.languages[0]
        file = folder / named(name, None if code == own else code)
        if code != own and not file.exists():
            original = cls.read(folder, name, own, settings)
            about = "the consent text" if name == CONSENT else "the description of the task"
            note = f"{file.name}: {about} is not translated; {language(code).name} is not offered until it is"
            html = f'<div lang="{own}" dir="{language(own).direction}">{original.html}</div>'
            return cls(original.text, own, html, (note,))
        text = read_text(file)
        return cls(text, code, safe_html(text), tuple(f"{file.name}: {mark}" for mark in left_to_fill_in(text)))


# Scores of a current model, by which active pairs may be chosen: ``scores.parquet``, which is shown to nobody.

SCORE = "score"


def read_scores(file: Path, people: Collection[str]) -> dict[str, float]:
    """Return how likely each person gets the good label; everyone must have a score, and nobody else."""
    table = read_parquet(file)
    if table.column_names != [ID, SCORE]:
        raise InputError(f"{file}: needed: the columns {ID!r} and {SCORE!r}; found: {some(table.column_names)}")
    ids, scores = (table[name].to_pylist() for name in (ID, SCORE))
    if len(ids) != len(people) or set(ids) != set(people):
        raise InputError(f"{file}: its people are not those of the study")
    for person, score in zip(ids, scores, strict=True):
        if not isinstance(score, float) or not 0 <= score <= 1:
            raise InputError(f"{file}, person {person!r}: {score!r}; needed: a probability from 0 to 1")
    return dict(zip(ids, scores, strict=True))


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Scores in a column of an operator's file: probabilities of label 1, and which label is the good one.

    Where there is no such label they say how well each person is treated.
    """

    file: PeopleFile
    column: str
    favorable_label: int | None

    def table(self, ids: pa.Array) -> pa.Table:
        """Return these people's probabilities of the good label."""
        cells, source = self.file.column(self.column), self.file.source
        ones = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
        meaning = "how well someone is treated" if self.favorable_label is None else "the probability of label 1"
        rule = f"is not {meaning}; allowed: a number from 0 to 1"
        source.refuse(~((ones >= 0) & (ones <= 1)), self.column, cells.where(cells.notna(), None), rule)
        good = 1 - ones if self.favorable_label == 0 else ones
        score_by_person = dict(zip((text_of(person) for person in self.file.table.index), good.tolist(), strict=True))
        people = ids.to_pylist()
        missing = [person for person in people if person not in score_by_person]
        if missing:
            raise InputError(f"{source.where()}: no score for {len(missing)} of the people: {some(missing)}")
        return pa.table({ID: ids, SCORE: pa.array([score_by_person[person] for person in people], pa.float64())})


PEOPLE, OUTCOME, SCORES, SECRET = "people.parquet", "outcome.parquet", "scores.parquet", "secret.key"
SECRET_BYTES = 32


@dataclass(frozen=True, eq=False)
class StudyFolder:
    """All that a running study reads, and nothing about outcomes unless a fit asks for them."""

    path: Path
    settings: StudySettings
    secret: bytes
    editions: Mapping[str, Edition]
    """Words and cards by language, the study's first language first."""

    schedules: Schedules
    fingerprint: str
    """Hash of the study: changes with the people, with every value that is shown, and with the pairs drawn."""

    unfinished: tuple[str, ...]
    """Texts that an operator has yet to fill in, with their files."""

    scores: Mapping[str, float] | None
    """Probability of the good label by a current model, for active pairs; shown to nobody."""

    pictures: frozenset[str]
    """Names of the files with people's pictures."""

    tried_arm: str | None = None
    """Experiment group of everyone in a trial of the study."""

    @classmethod
    def open(cls, path: str | PathLike[str]) -> StudyFolder:
        """Read a study; errors name the file, the setting, the value and what is allowed."""
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder; make a study with: fairwise study new {folder}")
        settings = StudySettings.read(folder / SETTINGS)
        people = read_parquet(folder / PEOPLE)
        editions = {code: Edition.read(folder, settings, code, people, folder / PEOPLE) for code in settings.languages}
        cards = editions[settings.languages[0]].cards
        schedules = Schedules({person: card.rows for person, card in cards.items()}, settings, str(folder / SETTINGS))
        pictures = check_pictures(folder, cards, language(settings.languages[0]).translate("not known"))
        scores = read_scores(folder / SCORES, cards) if (folder / SCORES).exists() else None
        return cls(
            path=folder,
            settings=settings,
            secret=read_secret(folder / SECRET),
            editions=editions,
            schedules=schedules,
            fingerprint=_fingerprint(settings, cards, scores),
            unfinished=tuple(note for edition in editions.values() for note in edition.unfinished),
            scores=scores,
            pictures=pictures,
        )

    @property
    def first(self) -> Edition:
        """Edition in the study's first language."""
        return self.editions[self.settings.languages[0]]

    @property
    def offered(self) -> tuple[str, ...]:
        """The languages that participants may choose from: the first, and all that are complete."""
        first = self.settings.languages[0]
        return tuple(code for code, edition in self.editions.items() if code == first or edition.is_complete)

    @property
    def cards(self) -> Mapping[str, Card]:
        """Card of each person, by id, in the order of the file and in the study's first language."""
        return self.first.cards

    @property
    def consent_version(self) -> str:
        """Changes with every change of the consent text in the first language."""
        return self.first.consent_version

    @property
    def person_ids(self) -> tuple[str, ...]:
        """Ids of all people in the order of the file."""
        return tuple(self.cards)

    @property
    def pairs(self) -> DifferingPairs:
        """All pairs of people who differ in something that is shown."""
        return self.schedules.pairs

    def schedule(self, participant_number: int, slot: int) -> tuple[ShownPair, ...]:
        """Return the pairs that this participant is shown, in order, but for active ones."""
        return self.schedules.of(participant_number, slot)

    def places(self, participant_number: int, slot: int) -> tuple[ShownPair | None, ...]:
        """Return the same with None where an active pair comes, which is chosen when the one before it was answered."""
        return self.schedules.places(participant_number, slot)

    @property
    def arms_at_start(self) -> ArmTurns | None:
        """The arms in their order, where people are assigned when they agree; None if there are none, or later."""
        arms = self.settings.arms
        return self._arm_turns if arms and not assigned_late(arms) else None

    @property
    def arms_at_end(self) -> ArmTurns | None:
        """Arms in their order, where people are assigned when they finish the first round; else None."""
        return self._arm_turns if assigned_late(self.settings.arms) else None

    @property
    def _arm_turns(self) -> ArmTurns:
        arms = [arm for arm in self.settings.arms if self.tried_arm in (None, arm.name)]
        return ArmTurns(arms, self.settings.seed)

    def people(self) -> pd.DataFrame:
        """Return everyone with the values behind what is shown, by id; no pictures: nothing is learned from them."""
        people: pd.DataFrame = read_parquet(self.path / PEOPLE).to_pandas().set_index(ID)
        return people.drop(columns=card_columns([column for column in self.settings.columns if column.alt]))

    def outcome(self) -> pd.Series[Any]:
        """Return the outcomes by person, for a fit: labels of decisions as text, and amounts as numbers.

        Nothing else opens their file.
        """
        file = self.path / OUTCOME
        if not file.exists():
            raise InputError(f"{file}: there is no such file; this study was made without --outcome")
        frame = read_parquet(file).to_pandas()
        if frame.columns[0] != ID or len(frame.columns) != 2:
            raise InputError(f"{file}: needed: a column {ID!r} and one of outcomes; found: {some(frame.columns)}")
        if len(frame) != len(self.cards) or set(frame[ID]) != set(self.cards):
            raise InputError(f"{file}: its people are not those of {PEOPLE}")
        outcome: pd.Series[Any] = frame.set_index(ID).iloc[:, 0].loc[list(self.cards)]
        source = Source(str(file), labels=outcome.index)
        return check_outcome(outcome, source, self.settings.decisions, self.settings.amount)


def read_secret(file: Path) -> bytes:
    """Return the secret of a study, which is long enough that nobody guesses what follows from it."""
    try:
        secret = file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file; without it links and forms cannot be trusted") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    if len(secret) < SECRET_BYTES:
        raise InputError(f"{file}: {len(secret)} bytes; needed: at least {SECRET_BYTES} random bytes")
    return secret


def _fingerprint(settings: StudySettings, cards: Mapping[str, Card], scores: Mapping[str, float] | None) -> str:
    """Return the hash of what decides which pairs are shown and which answers they allow, not of words."""
    decisive = settings.model_dump(include={"pairs", "seed", "answers"})
    if settings.design.other_kinds:
        decisive["design"] = settings.design.model_dump(exclude={"anchor_people", "lease_hours"}, exclude_defaults=True)
    if settings.decisions:
        decisive["decisions"] = settings.label_values
    if settings.amount is not None:
        decisive["amount"] = settings.amount.model_dump(exclude={"unit"})
    if settings.arms:
        decisive["arms"] = [arm.decisive for arm in settings.arms]
    if settings.questions:
        decisive["questions"] = decisive_questions(settings.questions)
    names = [column.name for column in settings.columns]
    seen = hashlib.sha256(json.dumps([decisive, names], sort_keys=True).encode())
    for person, card in cards.items():
        seen.update(json.dumps([person, *(row.text for row in card.rows), *sorted(names_of([card]))]).encode())
    if scores is not None:
        seen.update(json.dumps([scores[person] for person in cards]).encode())
    return seen.hexdigest()
