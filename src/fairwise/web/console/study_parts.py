"""All parts of a study that can be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.study.editions import SETTINGS
from fairwise.study.settings import StudySettings
from fairwise.web.console import settings_parts as topics
from fairwise.web.console.words_parts import TextPart, TranslationPart

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairwise.web.console.part import Part


_OF_SETTINGS = (
    topics.WordsPart,
    topics.ColumnsPart,
    topics.SwitchesPart,
    topics.RelationsPart,
    topics.RecruitmentPart,
    topics.PairsPart,
    topics.LanguagesPart,
)


def parts_of(home: Path) -> Mapping[str, Part]:
    """Every part of a study by its name, as its files are now."""
    settings = StudySettings.read(home / SETTINGS)
    parts: list[Part] = [
        *(TextPart(home, settings, document, code) for document in ("consent", "task") for code in settings.languages),
        *(kind(home, settings) for kind in _OF_SETTINGS),
        *(TranslationPart(home, settings, code) for code in settings.languages[1:]),
    ]
    return {part.name: part for part in parts}
