"""What every part of the editor of a study has in common: its fields, and which files change when it is saved."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from fairwise.study.folder import SETTINGS, named
from fairwise.study.settings import StudySettings
from fairwise.study.texts import marked
from fairwise.study.toml import Plain, SettingError
from fairwise.study.translations import KEYS, Translation
from fairwise.web.console.settings_form import FormField, Group, group_of, put
from fairwise.web.shared.forms import Form

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
    """What stands behind the title and is not translated: the language that it is in."""

    about: str
    previewed: bool = False
    """Whether beside the form there is the page that participants will see."""

    why_locked: str = LOCKED
    """What is said while some of it must stay as it is."""

    files: Sequence[str]
    """Which files are changed with it; the first is what it is about."""

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
        """What the form says before anything is changed."""
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
    """Some of the settings."""

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
        """Which list of the settings the form is about, and which of its rows they have, in their order."""
        return "", []

    def _settings(self, content: Plain) -> Plain:
        """What the settings are to be; `content` is what the form says."""
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
    """Which rows of a list somebody wrote anything in."""
    return [k for k, row in enumerate(rows) if any(value not in ("", None) for value in row.values())]


def _names(settings: StudySettings, table: str) -> set[str]:
    return {getattr(row, KEYS[table]) for row in getattr(settings, table)}
