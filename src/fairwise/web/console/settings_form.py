"""Forms that are generated from the pydantic fields of the settings, and the sections that use them."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, get_args, get_origin

from fairwise.errors import InputError
from fairwise.messages import marked
from fairwise.study.cards import ID
from fairwise.study.deliberation import Deliberation
from fairwise.study.design import MOST_DECISIONS, Amount, Arm, Decision, Design, OutcomeWords, check_outcome
from fairwise.study.folder import OUTCOME, SETTINGS, named
from fairwise.study.new_study import readable
from fairwise.study.questions import Question
from fairwise.study.recruitment import Recruitment, Relation
from fairwise.study.settings import AnswerWords, ShownColumn, StudySettings
from fairwise.study.toml import Input, Plain, SettingError, SettingsTable
from fairwise.study.translations import KEYS, Translation
from fairwise.tables.files import read_parquet
from fairwise.tables.look import ColumnLook
from fairwise.tables.rows import Source, text_of
from fairwise.web.shared.requests import Form, decimal_number

_TABLES: Mapping[str, type[SettingsTable]] = {
    "": StudySettings,
    "design": Design,
    "deliberation": Deliberation,
    "recruitment": Recruitment,
    "answer_words": AnswerWords,
    "decisions": Decision,
    "outcome_words": OutcomeWords,
    "amount": Amount,
    "relations": Relation,
    "arms": Arm,
    "questions": Question,
    "columns": ShownColumn,
}
_WHOLE, _SIGNED = re.compile(r"\d{1,19}"), re.compile(r"-?\d{1,19}")
_SHORT, _LONGEST_LINE, _LONGEST_LINES = 500, 1000, 10_000


@dataclass(frozen=True)
class FormField:
    """One setting as a form asks for it, by its path: ``recruitment.most``, or ``columns.2.label``."""

    path: str
    label: str
    kind: str = "line"
    """One of line, text, lines, yes, number, decimal, one_of."""

    hint: str = ""
    options: Mapping[str, str] | None = None
    optional: bool = False
    locked: bool = False
    longest: int = _SHORT
    signed: bool = False
    """Whether a number may be below 0."""

    @classmethod
    def at(cls, path: str, /, **changes: Any) -> FormField:
        """Return the field of a setting as the settings declare it, but for `changes`."""
        table, _, name = path.rpartition(".")
        info = _TABLES[table.partition(".")[0]].model_fields[name]
        widget = next((one for one in info.metadata if isinstance(one, Input)), Input())
        types = get_args(info.annotation) or (info.annotation,)
        longest = next((n for one in info.metadata if (n := getattr(one, "max_length", None))), _SHORT)
        is_text = str in types
        kind = "text" if longest > _LONGEST_LINE else "line"
        if get_origin(info.annotation) is tuple:
            kind, longest = "lines", _LONGEST_LINES
        elif not is_text:
            kind = "one_of" if widget.options else "yes" if bool in types else "decimal" if float in types else "number"
        may_be_empty = (is_text or kind == "lines") and not any(
            getattr(one, "min_length", None) for one in info.metadata
        )
        field = cls(
            path,
            info.title or name,
            kind,
            widget.hint,
            widget.options,
            optional=may_be_empty or NoneType in types,
            locked=widget.locked,
            longest=longest,
            signed=any(getattr(one, "ge", 0) < 0 for one in info.metadata),
        )
        return replace(field, **changes)

    def text_of(self, content: Plain) -> str:
        """Return its value as a form has it."""
        value = value_at(content, self.path)
        if value is None or (value is False and self.kind == "yes"):
            return ""
        if isinstance(value, list):
            return "\n".join(map(str, value))
        return ("yes" if value else "no") if isinstance(value, bool) else text_of(value)

    def read(self, form: Form) -> str | float | bool | list[str] | None:
        """Return the value that a form gives it."""
        if self.kind == "yes":
            return self.path in form.fields
        text = form.text(self.path, self.longest)
        if self.kind == "lines":
            return [line.strip() for line in text.splitlines() if line.strip()]
        if self.kind not in ("number", "decimal"):
            return None if self.kind == "one_of" and self.optional and not text else text
        if not text and self.optional:
            return None
        return self._whole(text) if self.kind == "number" else self._decimal(text)

    def number(self, form: Form) -> int:
        """Return the number that a form gives it, 0 for none."""
        text = form.text(self.path, self.longest)
        return self._whole(text) if text or not self.optional else 0

    def _whole(self, text: str) -> int:
        if not (_SIGNED if self.signed else _WHOLE).fullmatch(text):
            reason = f"{text!r} is not a whole number{'' if self.signed else ' from 0'}"
            raise SettingError(f"{self.label}: {reason}", self.path, reason)
        return int(text)

    def _decimal(self, text: str) -> float:
        number = decimal_number(text)
        if number is None:
            reason = f"{text!r} is not a number, such as 0.5"
            raise SettingError(f"{self.label}: {reason}", self.path, reason)
        return number


def value_at(content: object, path: str) -> object:
    """Return what is at a path, None if nothing is.

    >>> value_at({"columns": [{"label": "Age"}]}, "columns.0.label")
    'Age'
    """
    for step in path.split("."):
        if isinstance(content, list):
            content = content[int(step)] if int(step) < len(content) else None
        else:
            content = content.get(step) if isinstance(content, dict) else None
    return content


def put(content: Any, path: str, value: object) -> None:
    """Put a value at a path that is there but for its last step; lists grow by one."""
    *steps, last = path.split(".")
    for step in steps:
        if isinstance(content, list):
            if int(step) == len(content):
                content.append({})
            content = content[int(step)]
        else:
            content = content[step]
    content[int(last) if isinstance(content, list) else last] = value


@dataclass(frozen=True)
class Group:
    """Fields that belong together."""

    title: str
    fields: Sequence[FormField]
    about: str = ""


def group_of(title: str, paths: str | Iterable[str], **changes: Any) -> Group:
    paths = paths.split() if isinstance(paths, str) else paths
    return Group(title, [FormField.at(path, **changes) for path in paths])


LOCKED = marked(
    "What decides which pairs are shown, or what is shown of people, can be changed only before the first participant "
    "begins, and not while the study is open: answers before and after would be answers to different questions."
)


class Section(ABC):
    """A part of a study that is edited on a page of its own, and saved by itself."""

    template: ClassVar[str] = "section"
    name: str
    title: str
    suffix: str = ""
    """Language behind the title, which is not translated."""

    about: str
    previewed: bool = False
    """Whether beside the form there is the page that participants will see."""

    why_locked: str = LOCKED
    """Message while some fields are locked."""

    files: Sequence[str]
    """Files that the section changes; the first is the one it is about."""

    def __init__(self, home: Path, settings: StudySettings) -> None:
        self.home, self.settings = home, settings

    @cached_property
    def groups(self) -> Sequence[Group]:
        return self._groups()

    @property
    def fields(self) -> list[FormField]:
        return [field for group in self.groups for field in group.fields]

    @cached_property
    def values(self) -> dict[str, str]:
        """Values of the form before anything is changed."""
        content = self._content()
        return {field.path: field.text_of(content) for field in self.fields}

    @property
    def token(self) -> str:
        """Says whether it is still as it was when the form was made."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()[:24]

    def _text(self, name: str) -> str:
        file = self.home / name
        return file.read_text(encoding="utf-8-sig") if file.exists() else ""

    @abstractmethod
    def _groups(self) -> Sequence[Group]: ...

    @abstractmethod
    def _content(self) -> Plain: ...

    @abstractmethod
    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        """Return the files that change, with what they will say; a SettingError names what is wrong."""


class SettingsSection(Section):
    """Section of some settings."""

    layout: ClassVar[Mapping[str, str]]
    """Titles of groups, each with the paths of its fields."""

    def __init__(self, home: Path, settings: StudySettings) -> None:
        super().__init__(home, settings)
        self.files = (SETTINGS, *(named(SETTINGS, code) for code in settings.languages[1:]))

    def _groups(self) -> Sequence[Group]:
        return [group_of(title, paths) for title, paths in self.layout.items()]

    def _content(self) -> Plain:
        return self.settings.model_dump(mode="json")

    def _rows(self, content: Plain) -> tuple[str, list[int]]:  # noqa: ARG002 - for sections about a list
        """Return the list that the form is about, and the rows to keep in their order."""
        return "", []

    def _settings(self, content: Plain) -> Plain:
        """Return the new settings from the content of the form."""
        return content

    def proposed(self, form: Form, *, locked: bool) -> StudySettings:
        """Return the settings as the form says them; a SettingError names what is wrong."""
        content = self._content()
        for field in self.fields:
            if not (field.locked and locked):
                put(content, field.path, field.read(form))
        name, rows = self._rows(content)
        if name:
            content[name] = [content[name][row] for row in rows]
        try:
            return StudySettings.checked(self._settings(content), "study")
        except SettingError as error:
            first, *steps = error.path.split(".")
            if first == name and steps:  # the row as it is in the form
                error.path = ".".join([first, str(rows[int(steps[0])]), *steps[1:]])
            raise

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        new = self.proposed(form, locked=locked)
        changed = {SETTINGS: self.settings.edited(self._text(SETTINGS), new)} if new != self.settings else {}
        return changed | self._translations_of_what_is_left(new)

    def _translations_of_what_is_left(self, new: StudySettings) -> dict[str, str]:
        options = {question.name: question.options for question in new.questions}
        files = {}
        for code in new.languages[1:]:
            file = named(SETTINGS, code)
            old = Translation.read(self.home / file, self.settings)
            left = {
                table: {name: words for name, words in getattr(old, table).items() if name in _names(new, table)}
                for table in ("decisions", "relations", "arms")
            }
            left["questions"] = {
                name: words.of(options[name]) for name, words in old.questions.items() if name in options
            }
            if any(left[table] != getattr(old, table) for table in left):
                files[file] = old.edited(self._text(file), old.model_copy(update=left))
        return files


def filled(rows: Sequence[Mapping[str, object]]) -> list[int]:
    """Return the rows of a list that are not empty."""
    return [k for k, row in enumerate(rows) if any(value not in ("", None) for value in row.values())]


def _names(settings: StudySettings, table: str) -> set[str]:
    return {getattr(row, KEYS[table]) for row in getattr(settings, table)}


KINDS: Mapping[str, str] = {
    "yes-no": marked("One of two things, such as released or not"),
    "tiers": marked("One of several things, each better or worse for the person"),
    "amount": marked("An amount, such as how much is lent"),
}
ROWS = range(MOST_DECISIONS)
_PARTS = tuple(Decision.model_fields)
_ENDS = ("least", "most")
_LONGEST = 500
_BLANK = 3


def first_decided() -> dict[str, str]:
    """Return the values of the form before anything is chosen."""
    return {"kind": "yes-no", "amount-unit": "", "amount-better": "more"}


def with_suggestions(values: Mapping[str, str], outcome: ColumnLook | None) -> dict[str, str]:
    """Return the form with suggestions from the outcomes: labels with words, or the range.

    How good each is nobody can guess.
    """
    filled_in = dict(values)
    if outcome is None:
        return filled_in
    if filled_in.get("kind") == "tiers" and not any(
        filled_in.get(f"decision-{part}-{row}") for row in ROWS for part in _PARTS
    ):
        for row, label in enumerate(outcome.labels):
            filled_in |= {f"decision-label-{row}": label, f"decision-words-{row}": readable(label).lower()}
    if filled_in.get("kind") == "amount" and not any(filled_in.get(f"amount-{end}") for end in _ENDS):
        filled_in |= {f"amount-{end}": number for end, number in zip(_ENDS, outcome.ends, strict=False)}
    return filled_in


def decided(form: Form) -> Plain:
    """Return the decisions of a form as settings; nothing for two outcomes."""
    kind = form.text("kind", 10)
    if kind == "tiers":
        return {"decisions": _decisions(form)}
    if kind == "amount":
        better, unit = form.text("amount-better", 10), form.text("amount-unit", 40)
        ends = {end: _end(form, end) for end in _ENDS}
        return {"amount": {"unit": unit, "better": "less" if better == "less" else "more", **ends}}
    return {}


def _decisions(form: Form) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {part: form.text(f"decision-{part}-{row}", _LONGEST) for part in _PARTS} for row in ROWS
    ]
    filled_in = [row for row in rows if any(row.values())]
    if len(filled_in) < 2:
        raise InputError(marked("Say what may be decided, at least two things, and how good each is for the person"))
    for row in filled_in:
        about = row["words"] or row["label"]
        for part, words in (("label", "as it is written in the file"), ("words", "in the participants' words")):
            if not row[part]:
                raise InputError(f"The decision “{about}”: say what it is {words}")
        value = decimal_number(row["value"])
        if value is None or not 0 <= value <= 1:
            prefix = f"{row['value']!r} is no answer; " if row["value"] else ""
            raise InputError(f"How good is “{about}” for the person? {prefix}give a number from 0 to 1, such as 0.6")
        row["value"] = value
    return filled_in


def _end(form: Form, end: str) -> float:
    text, title = form.text(f"amount-{end}", 40), Amount.model_fields[end].title
    number = decimal_number(text)
    if number is None:
        raise InputError(f"{title}: {text!r} is no number; write it in digits, such as 20000")
    return number


class DecisionsSection(SettingsSection):
    name, title = "decisions", marked("What is decided")
    about = marked("Fill in the part that fits: words for one of two things, several decisions, or an amount.")

    def _groups(self) -> Sequence[Group]:
        count = min(len(self.settings.decisions) + _BLANK, MOST_DECISIONS)
        rows = [
            group_of(f"Decision {k + 1}", [f"decisions.{k}.{name}" for name in Decision.model_fields], optional=True)
            for k in range(count)
        ]
        rows[0] = replace(rows[0], about=marked("Participants read the words, from best to worst, and no numbers."))
        amount = group_of(marked("An amount"), [f"amount.{name}" for name in Amount.model_fields], optional=True)
        fields = [f"outcome_words.{name}" for name in OutcomeWords.model_fields]
        two = replace(
            group_of(marked("One of two things"), fields, optional=True),
            about=marked("Pages and reports use these words instead of what stands in the file."),
        )
        return (two, *rows, amount)

    def _content(self) -> Plain:
        content = super()._content()
        return {**content, **{name: content[name] or {} for name in ("outcome_words", "amount")}}

    def _rows(self, content: Plain) -> tuple[str, list[int]]:
        return "decisions", filled(content["decisions"])

    def _settings(self, content: Plain) -> Plain:
        filled_in = {name: value for name, value in content["amount"].items() if value not in ("", None)}
        words = {name: value for name, value in content["outcome_words"].items() if value}
        return {
            **content,
            "outcome_words": words or None,
            "amount": filled_in if filled_in.keys() - {"better"} else None,
        }

    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        """Return the changed files; decisions that do not fit the outcomes are refused."""
        changed = super().changes(form, locked=locked)
        file = self.home / OUTCOME
        if SETTINGS in changed and file.exists():
            new = StudySettings.checked(tomllib.loads(changed[SETTINGS]), SETTINGS)
            outcome = read_parquet(file).to_pandas().set_index(ID).iloc[:, 0]
            check_outcome(outcome, Source("people", labels=outcome.index), new.decisions, new.amount)
            if new.outcome_kind == "yes-no" and outcome.nunique() != 2:
                raise InputError(f"there are {outcome.nunique()} different outcomes; say what may be decided")
        return changed
