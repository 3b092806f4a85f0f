"""A part of a study that is edited on a page of its own: its fields, what they hold, and what saving them changes."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairwise.study.settings import StudySettings
    from fairwise.web.console.fields import Field, Group
    from fairwise.web.shared.forms import Form


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
