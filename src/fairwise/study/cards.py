"""A person as participants see them: labels and values, and nothing that is not to be shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of a card: ``text`` is ready to be read, unit included, and not yet escaped."""

    label: str
    text: str


@dataclass(frozen=True)
class Card:
    """All that is shown of a person, in the order of the study's columns."""

    person: str
    rows: tuple[Row, ...]

    def differences(self, other: Card) -> tuple[bool, ...]:
        """Which rows of two cards of one study differ."""
        return tuple(mine != theirs for mine, theirs in zip(self.rows, other.rows, strict=True))
