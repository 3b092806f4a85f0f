"""Forms made from the settings' own pydantic fields: from settings to a form, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, get_args, get_origin

from fairwise.study.deliberation import Deliberation
from fairwise.study.design import Amount, Arm, Decision, Design, OutcomeWords
from fairwise.study.questions import Question
from fairwise.study.recruitment import Recruitment, Relation
from fairwise.study.settings import AnswerWords, ShownColumn, StudySettings
from fairwise.study.toml import Input, Plain, SettingError, SettingsTable
from fairwise.tables.rows import text_of
from fairwise.web.shared.forms import Form, decimal_number

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
        asked = next((one for one in info.metadata if isinstance(one, Input)), Input())
        types = get_args(info.annotation) or (info.annotation,)
        longest = next((n for one in info.metadata if (n := getattr(one, "max_length", None))), _SHORT)
        is_text = str in types
        kind = "text" if longest > _LONGEST_LINE else "line"
        if get_origin(info.annotation) is tuple:
            kind, longest = "lines", _LONGEST_LINES
        elif not is_text:
            kind = "one_of" if asked.options else "yes" if bool in types else "decimal" if float in types else "number"
        may_be_empty = (is_text or kind == "lines") and not any(
            getattr(one, "min_length", None) for one in info.metadata
        )
        field = cls(
            path,
            info.title or name,
            kind,
            asked.hint,
            asked.options,
            optional=may_be_empty or NoneType in types,
            locked=asked.locked,
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
