"""Recognising people by what is shown of them, as a participant has nothing else to go by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.bots.page import squeezed
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.bots.page import Page, SeenCard
    from fairwise.study.cards import Card


class Eyes:
    """Knows everyone's card. Of people with identical cards it sees the first: they differ in nothing shown."""

    def __init__(self, cards: Mapping[str, Card]) -> None:
        self._known: dict[SeenCard, str] = {}
        for person, card in cards.items():
            seen = tuple((squeezed(row.label), squeezed(row.text)) for row in card.rows)
            self._known.setdefault(seen, person)

    def two_people(self, page: Page) -> tuple[str, str]:
        """Who is on the left, and who on the right."""
        if len(page.cards) != 2:
            raise InputError(f"{page.heading}: {len(page.cards)} people on the page; needed: two")
        strangers = [card for card in page.cards if card not in self._known]
        if strangers:
            shown = ", ".join(f"{label}: {text}" for label, text in strangers[0])
            raise InputError(f"{page.heading}: shows someone who is not in this study's folder ({shown[:200]})")
        left, right = (self._known[card] for card in page.cards)
        return left, right
