"""A study's own words in another of its languages: ``study.de.toml`` beside ``study.toml``.

A language is offered to participants once all of it is translated; what is missing is named in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import pyarrow as pa
import tomlkit
from pydantic import Field

from fairwise.errors import InputError, some
from fairwise.study.design import usual_meaning
from fairwise.study.questions import Option
from fairwise.study.settings import AnswerWords, StudySettings
from fairwise.study.texts import TITLE_DRAFT, language
from fairwise.study.toml import Contact, Line, Plain, SettingsFile, SettingsTable, Text, Unit, read_toml, setting_line

_WORDS = {
    "title": "the title",
    "question": "the question about every pair",
    "treated_well": "what “treated well” means",
    "relation_question": "the question about participants themselves",
    "contact": "whom to write to",
}

KEYS = {"decisions": "label", "relations": "name", "arms": "name", "questions": "name", "columns": "name"}
"""Setting by which a translation names the rows of a table."""


class ButtonTranslation(SettingsTable):
    """Words on the buttons."""

    same: Line | None = None
    a_at_least_b: Line | None = None
    b_at_least_a: Line | None = None
    no_constraint: Line | None = None


class ColumnTranslation(SettingsTable):
    """Label, unit and values of a column."""

    label: Line | None = None
    unit: Unit | None = None
    values: dict[Line, Line] = Field(default_factory=dict)
    """Words that are values, by what people.parquet has."""

    keep_values: bool | None = None
    """Whether the values are read as they are, such as names; then none is missing."""


class AmountTranslation(SettingsTable):
    """Unit of amounts."""

    unit: Unit | None = None


class ArmTranslation(SettingsTable):
    """Texts of an experiment group."""

    question: Text | None = None
    text: Text | None = None


class QuestionTranslation(SettingsTable):
    """A question of the study's own, and its options by what they are in the first language."""

    words: Line | None = None
    options: dict[Option, Option] = Field(default_factory=dict)

    def of(self, options: Sequence[str]) -> Self:
        """Return the same without what is no option any more."""
        return self.model_copy(update={"options": {one: self.options[one] for one in options if one in self.options}})


class Translation(SettingsFile):
    """Any of a study's words."""

    title: Line | None = None
    question: Text | None = None
    treated_well: Line | None = None
    relation_question: Line | None = None
    contact: Contact | None = None
    answer_words: ButtonTranslation = ButtonTranslation()
    decisions: dict[Line, Line] = Field(default_factory=dict)
    """The decisions in words, by their labels in study.toml."""

    amount: AmountTranslation = AmountTranslation()
    relations: dict[Line, Line] = Field(default_factory=dict)
    """Relations to the decision, by their names in study.toml."""

    arms: dict[Line, ArmTranslation] = Field(default_factory=dict)
    """Texts of experiment groups, by their names in study.toml."""

    questions: dict[Line, QuestionTranslation] = Field(default_factory=dict)
    """The study's own questions, by their names in study.toml."""

    columns: dict[Line, ColumnTranslation] = Field(default_factory=dict)
    """Words of columns, by their names in people.parquet."""

    @classmethod
    def read(cls, file: Path, settings: StudySettings) -> Self:
        """Read the file; one that is not there translates nothing."""
        if not file.exists():
            return cls()
        translation = cls.checked(read_toml(file), str(file))
        for table, key in KEYS.items():
            names = [getattr(row, key) for row in getattr(settings, table)]
            named_rows = translation.content().get(table, {})  # what is empty may be left of what was taken out
            if unknown := [name for name in named_rows if name not in names]:
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
    notes = tuple(f"{file.name}: {what} {_is_missing(code)}" for what in missing)
    return StudySettings.checked(settings.model_dump() | words, str(file)), notes


def _is_missing(code: str, verb: str = "is") -> str:
    name = language(code).name
    return f"{verb} not translated; {name} is not offered until {'it is' if verb == 'is' else 'they are'}"


# Values that are words, such as "married", are translated too; numbers and yes and no are read rightly in any language.

MOST_WORDS, LONGEST_WORD = 100, 200
"""Columns with more different values, or longer ones, are names and texts, which stay as they are."""

_LETTER = re.compile(r"[^\W\d_]")


def words_in(settings: StudySettings, people: pa.Table) -> dict[str, list[str]]:
    """Return by column what is to be translated of its values."""
    words_by_column = {column.name: _words_in(people[column.alt or column.name]) for column in settings.columns}
    return {
        name: words
        for name, words in words_by_column.items()
        if 0 < len(words) <= MOST_WORDS and max(map(len, words)) <= LONGEST_WORD
    }


def _words_in(column: pa.ChunkedArray) -> list[str]:
    if not pa.types.is_string(column.type):
        return []
    texts = {text.strip() for text in column.unique().to_pylist() if text}
    return sorted(text for text in texts if _LETTER.search(text))


def translated_values(
    settings: StudySettings, code: str, file: Path, people: pa.Table
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return the values in another language by column, and what is missing in its file."""
    columns, notes = Translation.read(file, settings).columns, []
    for name, words in words_in(settings, people).items():
        own = columns.get(name, ColumnTranslation())
        missing = [] if own.keep_values else [word for word in words if word not in own.values]
        label = next(column.label for column in settings.columns if column.name == name)
        if missing:
            values = f"{'value' if len(missing) == 1 else 'values'} of “{label}” ({some(missing)})"
            notes.append(f"{file.name}: the {values} {_is_missing(code, 'is' if len(missing) == 1 else 'are')}")
    return {name: column.values for name, column in columns.items()}, tuple(notes)


def draft(settings: StudySettings, code: str, values: Mapping[str, Sequence[str]]) -> str:
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
    if settings.decisions:
        lines += ["\n[decisions]", *_lines({part["label"]: part["words"] for part in content["decisions"]})]
    if settings.amount is not None and settings.amount.unit:
        lines += ["\n[amount]", *_lines({"unit": content["amount"]["unit"]})]
    if settings.relations:
        lines += ["\n[relations]", *_lines({part["name"]: part["words"] for part in content["relations"]})]
    for arm in content["arms"]:
        if own := {part: arm[part] for part in ("question", "text") if arm[part]}:
            lines += [f"\n[arms.{tomlkit.key(arm['name']).as_string()}]", *_lines(own)]
    for read, question in zip(content["questions"], settings.questions, strict=True):
        table = f"questions.{question.name}"
        lines += [f"\n[{table}]", *_lines({"words": read["words"]})]
        if question.options:
            lines += [f"\n[{table}.options]", *_lines(dict(zip(question.options, read["options"], strict=True)))]
    for column in content["columns"]:
        table = f"columns.{tomlkit.key(column['name']).as_string()}"
        lines += [f"\n[{table}]", *_lines({part: column[part] for part in ("label", "unit")})]
        if words := values.get(column["name"]):
            lines += [f"\n[{table}.values]", *_lines(dict(zip(words, words, strict=True)))]
    return "\n".join([*lines, ""])


def draft_words(settings: StudySettings, code: str) -> Plain:
    """Return what participants read in this language while nothing is translated."""
    return _words(settings, code, Translation())[0]


def _lines(words: Mapping[str, str]) -> Iterator[str]:
    """Yield a commented line for each text that is not empty."""
    return (f"# {setting_line(name, text)}" for name, text in words.items() if text)


def _words(settings: StudySettings, code: str, translation: Translation) -> tuple[Plain, list[str]]:
    """Return the settings that are words, in a language, and which of them are not translated.

    A word is the translation; or ours in this language, where it is ours; or else that of the study's first language.
    """
    first, into = language(settings.languages[0]), language(code)
    missing: list[str] = []

    def word(about: str, text: str, translated: str | None, ours: str | None = None) -> str:
        if translated is not None:
            return translated
        if ours is not None and text == first.translate(ours):
            return into.translate(ours)
        if text and about != _WORDS["contact"]:  # an address is the same in every language
            missing.append(about)
        return text

    ours = {name: StudySettings.model_fields[name].default for name in _WORDS} | {"title": TITLE_DRAFT}
    ours["treated_well"] = usual_meaning({"decisions": settings.decisions, "amount": settings.amount})
    content: Plain = {
        name: word(about, getattr(settings, name), getattr(translation, name), ours[name])
        for name, about in _WORDS.items()
    }
    buttons, translated = settings.answer_words, translation.answer_words
    content["answer_words"] = {
        name: word(
            f"the button “{getattr(buttons, name)}”", getattr(buttons, name), getattr(translated, name), field.default
        )
        for name, field in AnswerWords.model_fields.items()
    }
    content["decisions"] = [
        {
            **one.model_dump(),
            "words": word(f"the decision “{one.words}”", one.words, translation.decisions.get(one.label)),
        }
        for one in settings.decisions
    ]
    if (amount := settings.amount) is not None:
        unit = word(f"the unit “{amount.unit}” of amounts", amount.unit, translation.amount.unit)
        content["amount"] = {**amount.model_dump(), "unit": unit}
    content["relations"] = [
        {
            **one.model_dump(),
            "words": word(f"the choice “{one.words}”", one.words, translation.relations.get(one.name)),
        }
        for one in settings.relations
    ]
    content["arms"] = []
    for arm in settings.arms:
        own = translation.arms.get(arm.name, ArmTranslation())
        arm_question = word(f"the question of the arm “{arm.name}”", arm.question, arm.question and own.question)
        above = word(f"the text of the arm “{arm.name}”", arm.text, arm.text and own.text)
        content["arms"].append({**arm.model_dump(), "question": arm_question, "text": above})
    content["questions"] = []
    for question in settings.questions:
        theirs = translation.questions.get(question.name, QuestionTranslation())
        read = word(f"the question “{question.words}”", question.words, theirs.words)
        options = [word(f"the option “{one}”", one, theirs.options.get(one)) for one in question.options]
        content["questions"].append({**question.model_dump(), "words": read, "options": options})
    content["columns"] = []
    for column in settings.columns:
        words = translation.columns.get(column.name, ColumnTranslation())
        label = word(f"the label “{column.label}”", column.label, words.label)
        unit = word(f"the unit “{column.unit}”", column.unit, words.unit)
        content["columns"].append({**column.model_dump(), "label": label, "unit": unit})
    return content, missing
