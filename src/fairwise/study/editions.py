"""What participants of a study read in one of its languages: its words, its two texts, and everyone's card.

The files of the first language have plain names; those of another have its code in theirs: ``consent.de.md``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fairwise.study.cards import cards_of
from fairwise.study.languages import language
from fairwise.study.texts import left_to_fill_in, read_text, safe_html
from fairwise.study.translations import translated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from fairwise.study.cards import Card
    from fairwise.study.languages import Language
    from fairwise.study.settings import StudySettings

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
    """With all words in this language."""

    cards: Mapping[str, Card]
    """What is shown of each person, by id, in the order of the file."""

    consent_html: str
    task_html: str
    consent_text: str
    """As it is in its file."""

    consent_language: str
    """That of the text: the study's first, where it was not translated."""

    unfinished: tuple[str, ...]
    """What an operator has yet to fill in or to translate, with its file."""

    @classmethod
    def read(cls, folder: Path, settings: StudySettings, code: str, people: pa.Table, where: Path) -> Edition:
        """Read the texts and words of one language; `people` were read from the file `where`."""
        spoken, first = language(code), code == settings.languages[0]
        words, missing = (settings, ()) if first else translated(settings, code, folder / named(SETTINGS, code))
        consent, task = (_Document.read(folder, name, code, settings) for name in (CONSENT, TASK))
        return cls(
            language=spoken,
            settings=words,
            cards=cards_of(people, words.columns, where, spoken),
            consent_html=consent.html,
            task_html=task.html,
            consent_text=consent.text,
            consent_language=consent.language,
            unfinished=(*missing, *consent.unfinished, *task.unfinished),
        )

    @cached_property
    def consent_version(self) -> str:
        """Changes with every change of the consent text."""
        return version_of(self.consent_text)


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
            note = f"{file.name}: there is no such file; participants read {name} instead"
            html = f'<div lang="{own}" dir="{language(own).direction}">{original.html}</div>'
            return cls(original.text, own, html, (note,))
        text = read_text(file)
        return cls(text, code, safe_html(text), tuple(f"{file.name}: {mark}" for mark in left_to_fill_in(text)))
