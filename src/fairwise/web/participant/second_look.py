"""A second look, where the study wants it: answers that do not fit together are shown once more and may be changed.

What is shown follows from the answers of the first round alone, and so stays the same while someone is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.judgments import Answer
from fairwise.store import answers, participants
from fairwise.store.answers import Appearance
from fairwise.store.errors import NotYet
from fairwise.store.participants import Participant
from fairwise.study.cards import Card
from fairwise.study.quality import Compared, Contradiction, contradictions
from fairwise.study.schedules import PairAnswer
from fairwise.study.settings import Stage
from fairwise.web.participant.base import ParticipantPages, Services
from fairwise.web.shared import views

_REMEMBERED = 1000


class SecondLookPages(ParticipantPages):
    """Its page, and what other pages must know about it."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        # They are needed for every page and every change of mind, take tens of milliseconds, and stay the same.
        self._remembered = lru_cache(_REMEMBERED)(self._find)

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/second-look", self.second_look),
            self._post("/p/{token}/second-look", self.begin),
        ]

    async def begin(self, request: Request) -> Response:
        """From the list of answers: to the second look, or on to the last questions if there is nothing to show."""
        await self._own_form(request)
        who = await self._participant(request)
        if who.stage == Stage.PAIRS:
            pairs = await self._read(request, answers.appearances_of)
            if any(pair.answer is None for pair in pairs) or not await self._read(request, self.thoughts):
                return self._to_own(request, "/closing")
            await self._write(request, participants.move_on, leaving=Stage.PAIRS, to=Stage.SECOND_LOOK)
        return self._to_own(request, "/second-look")

    async def second_look(self, request: Request) -> Response:
        who = await self._participant_at(request, Stage.SECOND_LOOK)
        both = await self._read(request, answers.first_and_current)
        thoughts = self._thoughts(both, who.arm)
        if not thoughts:  # the operator has switched it off in the meantime
            return self._to_own(request, "/closing")
        answered = {current.position: (first.answer, current.answer) for first, current in both}
        cards = self._edition(request, who.arm).cards
        groups = [_group(thought, answered, cards) for thought in thoughts]
        query = request.query_params
        page = self._pages(request, who.arm).second_look(
            self._own(request), groups, saved=query.get("saved", ""), kept="kept" in query
        )
        return HTMLResponse(page)

    def thoughts(self, connection: Connection, token_hash: bytes) -> tuple[Contradiction, ...]:
        """What a participant is to be shown once more."""
        if not self._settings.second_look:
            return ()
        arm = participants.find(connection, token_hash).arm if self._settings.arms else None
        return self._thoughts(answers.first_and_current(connection, token_hash), arm)

    def positions(self, connection: Connection, token_hash: bytes) -> set[int]:
        """Which pairs that are."""
        return {pair.position for thought in self.thoughts(connection, token_hash) for pair in thought.pairs}

    async def shows(self, request: Request, pair: Appearance) -> bool:
        """Whether someone is there, and this pair is among them."""
        return pair.stage == Stage.SECOND_LOOK and pair.position in await self._read(request, self.positions)

    async def comes_first(self, request: Request, who: Participant) -> None:
        """Refuse to go past it."""
        if who.stage == Stage.PAIRS and len(await self._read(request, self.thoughts)):
            raise NotYet

    def _thoughts(self, both: list[tuple[PairAnswer, PairAnswer]], arm: str | None) -> tuple[Contradiction, ...]:
        if not self._settings.second_look:
            return ()
        return self._remembered(tuple(first for first, _ in both), arm)

    def _find(self, first_answers: tuple[PairAnswer, ...], arm: str | None) -> tuple[Contradiction, ...]:
        # As people look in the study's first language, so that reading another one changes nothing.
        cards = self._folder.first.in_arm(arm).cards
        looks = {who: cards[who].rows for one in first_answers for who in (one.a, one.b)}
        return contradictions(first_answers, looks)


def _group(
    thought: Contradiction, answered: Mapping[int, tuple[Answer, Answer]], cards: Mapping[str, Card]
) -> views.SecondLookGroup:
    pairs = []
    for pair in thought.pairs:
        first, current = answered[pair.position]
        before = None if current == first else _numbered(pair, first)
        pairs.append(views.SecondLookPair(pair.position, _numbered(pair, current), before))
    return views.SecondLookGroup(thought.kind, tuple(cards[person] for person in thought.people), tuple(pairs))


def _numbered(pair: Compared, answer: Answer) -> views.NumberedAnswer:
    """The answer about people who are numbered, whichever sides they were on."""
    one, other = (pair.a + 1, pair.b + 1)
    if answer == Answer.B_AT_LEAST_A or (one > other and not answer.ordered):
        one, other, answer = other, one, answer.swapped()
    return views.NumberedAnswer(answer, one, other)
