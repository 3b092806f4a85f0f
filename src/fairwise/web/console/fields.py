"""Fields of a form about settings: from settings to the form, and back."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairwise.study.settings import StudySettings
    from fairwise.web.shared.forms import Form


_WHOLE = re.compile(r"\d{1,19}")


@dataclass(frozen=True)
class Field:
    """One setting, by its path: ``recruitment.most``, or ``columns.2.label``."""

    path: str
    label: str
    kind: Literal["line", "text", "yes", "number", "one_of"] = "line"
    hint: str = ""
    options: Sequence[tuple[str, str]] = ()
    optional: bool = False
    locked: bool = False
    """Whether it decides which pairs are shown, or what is shown of people."""

    longest: int = 500

    def shown(self, content: Any) -> str:
        """Return its value as a form has it."""
        value = at(content, self.path)
        if value is None or value is False:
            return ""
        return "yes" if value is True else str(value)

    def read(self, form: Form) -> Any:
        """Return the value that a form gives it."""
        if self.kind == "yes":
            return self.path in form.fields
        text = form.text(self.path, self.longest)
        if self.kind != "number":
            return text
        if not text and self.optional:
            return None
        if not _WHOLE.fullmatch(text):
            raise InputError(f"{self.label}: {text!r} is not a whole number from 0")
        return int(text)


@dataclass(frozen=True)
class Group:
    """Fields that belong together."""

    title: str = ""
    fields: Sequence[Field] = field(default_factory=tuple)
    about: str = ""


def at(content: Any, path: str) -> Any:
    """Return what is at a path.

    >>> at({"columns": [{"label": "Age"}]}, "columns.0.label")
    'Age'
    """
    for step in path.split("."):
        if isinstance(content, list | tuple):
            content = content[int(step)] if int(step) < len(content) else None
        else:
            content = None if content is None else content.get(step)
    return content


def put(content: Any, path: str, value: Any) -> None:
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


# A part of a study that is edited on a page of its own: its fields, what they hold, and what saving them changes.


class Part(ABC):
    """Something that is saved by itself."""

    template: ClassVar[str] = "part"
    name: str
    title: str
    about: str = ""
    files: Sequence[str]
    """Which files are changed with it; the first is what it is about."""

    def __init__(self, home: Path, settings: StudySettings) -> None:
        self.home, self.settings = home, settings

    @cached_property
    def groups(self) -> Sequence[Group]:
        return self._groups()

    @property
    def fields(self) -> list[Field]:
        return [one for group in self.groups for one in group.fields]

    @cached_property
    def values(self) -> dict[str, str]:
        """What the form says before anything is changed."""
        return {one.path: one.shown(self._content()) for one in self.fields}

    @property
    def token(self) -> str:
        """Says whether it is still as it was when the form was made."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()[:24]

    @abstractmethod
    def _groups(self) -> Sequence[Group]: ...

    @abstractmethod
    def _content(self) -> Any: ...

    @abstractmethod
    def changes(self, form: Form, *, locked: bool) -> dict[str, str]:
        """Return the files that change, with what they will say; an InputError names what is wrong."""
