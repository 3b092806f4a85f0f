"""The pages of a room: its code for the wall; and, if it talks, what phones and the wall show then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from markupsafe import Markup

from fairwise.judgments import Answer
from fairwise.store.recruitment import Room
from fairwise.study.cards import Card
from fairwise.study.settings import StudySettings
from fairwise.web.shared.views import InTurn, OnWall, OwnPages


class RoomPages(ABC):
    """A part of all pages of a study in one language."""

    settings: StudySettings
    _answer_words: Mapping[Answer, Mapping[str, object]]

    @abstractmethod
    def _render(
        self,
        name: str,
        *,
        own: OwnPages | None = None,
        problem: str | None = None,
        way_here: str = "",
        **values: object,
    ) -> str: ...

    def wall(self, room: Room, *, address: str, qr: Markup) -> str:
        """A room's code, to be read from afar."""
        return self._render("wall", room=room, address=address, qr=qr)

    def room(self, own: OwnPages, state: InTurn) -> str:
        """In a room that talks, while there is nothing to answer."""
        said = None if state.said is None else self._answer_words[state.said]
        return self._render("room", own=own, turn=state.turn, said=said, asked=state.asked, answered=state.answered)

    def talking_wall(self, room: Room, shown: OnWall, cards: tuple[Card, ...] | None, total: int) -> str:
        """What a room that talks is at, to be read from afar; ``cards`` are of the two people of its pair."""
        differ = cards[0].differences(cards[1]) if cards is not None and self.settings.mark_differences else ()
        return self._render("talking_wall", room=room, shown=shown, cards=cards, differ=differ, total=total)
