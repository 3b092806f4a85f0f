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
from fairwise.study.languages import language
from fairwise.study.settings import AnswerWords, StudySettings
from fairwise.study.texts import TITLE_DRAFT
from fairwise.study.toml import Contact, Line, Plain, SettingsFile, SettingsTable, Text, Unit, read_toml, setting_line

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
        translation = cls.checked(read_toml(file), str(file))
        for table in ("relations", "columns"):
            names = [row.name for row in getattr(settings, table)]
            if unknown := [name for name in getattr(translation, table) if name not in names]:
                there = f"study.toml has {', '.join(names) or 'none'}"
                raise InputError(f"{file}: {table}.{unknown[0]}: there is no such {table[:-1]}; {there}")
        return translation

    def toml(self) -> str:
        """Return the text of ``study.de.toml`` that says this and nothing else."""
        about = "# The words of study.toml in another language. What is not here stays in the study's first language."
        return f"{about}\n\n{tomlkit.dumps(self.content())}"


def translated(settings: StudySettings, code: str, file: Path) -> tuple[StudySettings, tuple[str, ...]]:
    """Return the settings in another language, and what is missing in its file."""
    words, missing = _words(settings, code, Translation.read(file, settings))
    first = language(settings.languages[0]).name
    notes = tuple(f"{file.name}: {name} is not translated; participants read it in {first}" for name in missing)
    return StudySettings.checked(settings.model_dump() | words, str(file)), notes


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
    return _words(settings, code, Translation())[0]


def _lines(words: Mapping[str, str]) -> Iterator[str]:
    """Those that there are, each behind #."""
    return (f"# {setting_line(name, text)}" for name, text in words.items() if text)


def _words(settings: StudySettings, code: str, translation: Translation) -> tuple[Plain, list[str]]:
    """Return the settings that are words, in a language, and the names of those that are not translated.

    A word is the translation; or ours in this language, where it is ours; or else that of the study's first language.
    """
    first, into = language(settings.languages[0]), language(code)
    missing: list[str] = []

    def word(name: str, text: str, translated: str | None, ours: str | None = None) -> str:
        if translated is not None:
            return translated
        if ours is not None and text == first.translate(ours):
            return into.translate(ours)
        if text and name != "contact":  # an address is the same in every language
            missing.append(name)
        return text

    ours = {name: StudySettings.model_fields[name].default for name in _WORDS} | {"title": TITLE_DRAFT}
    content: Plain = {
        name: word(name, getattr(settings, name), getattr(translation, name), ours[name]) for name in _WORDS
    }
    buttons, translated = settings.answer_words, translation.answer_words
    content["answer_words"] = {
        name: word(f"answer_words.{name}", getattr(buttons, name), getattr(translated, name), field.default)
        for name, field in AnswerWords.model_fields.items()
    }
    content["relations"] = [
        {**one.model_dump(), "words": word(f"relations.{one.name}", one.words, translation.relations.get(one.name))}
        for one in settings.relations
    ]
    content["columns"] = []
    for column in settings.columns:
        words = translation.columns.get(column.name, ColumnTranslation())
        label = word(f"columns.{column.name}.label", column.label, words.label)
        unit = word(f"columns.{column.name}.unit", column.unit, words.unit)
        content["columns"].append({"name": column.name, "label": label, "unit": unit})
    return content, missing
