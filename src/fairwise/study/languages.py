"""The languages that participants may read; how a language is read and written is in ``fairwise.languages``."""

from __future__ import annotations

from fairwise.languages import SOURCE, Language, language_of, languages_of
from fairwise.messages import marked

__all__ = ["SOURCE", "Language", "available", "language", "marked"]


def available() -> tuple[str, ...]:
    """Codes of all languages that there are."""
    return languages_of("fairwise.study")


def language(code: str) -> Language:
    """Return one of the available languages."""
    return language_of("fairwise.study", code)
