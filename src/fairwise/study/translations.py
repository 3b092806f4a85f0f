"""A study's own words in another of its languages: ``study.de.toml`` beside ``study.toml``.

Whatever is not translated stays in the study's first language, and is named, so that nobody overlooks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import tomlkit
from pydantic import Field

from fairwise.errors import InputError
from fairwise.study.languages import Language, language
from fairwise.study.settings import AnswerWords, StudySettings
from fairwise.study.texts import TITLE_DRAFT
from fairwise.study.toml import (
    Contact,
    Line,
    Plain,
    SettingsFile,
    SettingsTable,
    Text,
    Unit,
    read_toml,
    setting_line,
)

_WORDS = ("title", "question", "treated_well", "relation_question", "contact")


class ButtonTranslation(SettingsTable):
    """What the buttons say."""

    same: Line | None = None
    a_at_least_b: Line | None = None
    b_at_least_a: Line | None = None
    no_constraint: Line | None = None


class ColumnTranslation(SettingsTable):
    """What participants read before and behind a value."""

    label: Line | None = None
    unit: Unit | None = None


class Translation(SettingsFile):
    """Any of a study's words."""

    title: Line | None = None
    question: Text | None = None
    treated_well: Line | None = None
    relation_question: Line | None = None
    contact: Contact | None = None
    answer_words: ButtonTranslation = ButtonTranslation()
    relations: dict[Line, Line] = Field(default_factory=dict)
    """What participants may be to the decision, by its name in study.toml."""

    columns: dict[Line, ColumnTranslation] = Field(default_factory=dict)
    """By the name in people.parquet."""

    @classmethod
    def read(cls, file: Path, settings: StudySettings) -> Self:
        """Read the file; one that is not there translates nothing."""
        if not file.exists():
            return cls()
        found = cls.checked(read_toml(file), str(file))
        for several in ("relations", "columns"):
            names = [part.name for part in getattr(settings, several)]
            if unknown := [name for name in getattr(found, several) if name not in names]:
                there = f"study.toml has {', '.join(names)}" if names else "study.toml has none"
                raise InputError(f"{file}: {several}.{unknown[0]}: there is no such {several[:-1]}; {there}")
        return found

    def toml(self) -> str:
        """Return the text of ``study.de.toml`` that says this and nothing else."""
        lines = ["# The words of study.toml in another language. What is not here stays in the study's first language."]
        return "\n".join([*lines, "", tomlkit.dumps(self.content())])


def translated(settings: StudySettings, code: str, file: Path) -> tuple[StudySettings, tuple[str, ...]]:
    """Return the settings in another language, and what is missing in its file."""
    found = _Words(settings, language(code), Translation.read(file, settings))
    content = settings.model_dump() | found.content()
    said = language(settings.languages[0]).name
    missing = tuple(f"{file.name}: {name} is not translated; participants read it in {said}" for name in found.missing)
    return StudySettings.checked(content, str(file)), missing


def draft(settings: StudySettings, code: str) -> str:
    """Return the text of a new ``study.de.toml``: every word behind #, in this language where we have it."""
    content = draft_words(settings, code)
    lines = [
        f"# The words of study.toml in another language: {language(code).name}.",
        "# Translate each and take away its #. Those that are ours are translated already: leave them or change them.",
        "",
        *_lines({name: content[name] for name in _WORDS}),
        "\n[answer_words]",
        *_lines(content["answer_words"]),
    ]
    if settings.relations:
        lines += ["\n[relations]", *_lines({part["name"]: part["words"] for part in content["relations"]})]
    for column in content["columns"]:
        lines += [f"\n[columns.{tomlkit.key(column.pop('name')).as_string()}]", *_lines(column)]
    return "\n".join([*lines, ""])


def draft_words(settings: StudySettings, code: str) -> Plain:
    """Return what participants read in this language while nothing is translated."""
    return _Words(settings, language(code), Translation()).content()


def _lines(words: Mapping[str, str]) -> Iterator[str]:
    """Those that there are, each behind #."""
    return (f"# {setting_line(name, text)}" for name, text in words.items() if text)


class _Words:
    """What is said in a language, word by word; whatever is not is noted."""

    def __init__(self, settings: StudySettings, into: Language, given: Translation) -> None:
        self._settings, self._into, self._given = settings, into, given
        self._own = language(settings.languages[0])
        self.missing: list[str] = []

    def content(self) -> Plain:
        """Settings that hold words, and words only."""
        settings, given = self._settings, self._given
        usual = {name: StudySettings.model_fields[name].default for name in _WORDS} | {"title": TITLE_DRAFT}
        buttons = {name: field.default for name, field in AnswerWords.model_fields.items()}
        self.missing = []
        return {
            **{name: self._word(name, getattr(settings, name), getattr(given, name), usual[name]) for name in _WORDS},
            "answer_words": {
                name: self._word(
                    f"answer_words.{name}",
                    getattr(settings.answer_words, name),
                    getattr(given.answer_words, name),
                    words,
                )
                for name, words in buttons.items()
            },
            "relations": [*self._relations()],
            "columns": [*self._columns()],
        }

    def _relations(self) -> Iterator[Plain]:
        for relation in self._settings.relations:
            given = self._given.relations.get(relation.name)
            words = self._word(f"relations.{relation.name}", relation.words, given)
            yield relation.model_dump() | {"words": words}

    def _columns(self) -> Iterator[dict[str, str]]:
        for column in self._settings.columns:
            given = self._given.columns.get(column.name, ColumnTranslation())
            where = f"columns.{column.name}"
            label = self._word(f"{where}.label", column.label, given.label)
            unit = self._word(f"{where}.unit", column.unit, given.unit)
            yield {"name": column.name, "label": label, "unit": unit}

    def _word(self, name: str, own: str, given: str | None, usual: object = None) -> str:
        """The translation that is given; or ours, of words that are ours; or else the word of the first language."""
        if given is not None:
            return given
        if isinstance(usual, str) and own == self._own.say(usual):
            return self._into.say(usual) if usual else ""
        if own and name != "contact":  # an address is the same in every language
            self.missing.append(name)
        return own
