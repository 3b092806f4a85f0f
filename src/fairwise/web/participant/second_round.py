"""The second round, where the study has one: what the others said, and whether one keeps or changes one's answer.

Each page is made from what is known at that moment, so that nothing of somebody who withdrew stays on it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store import deliberation
from fairwise.store.answers import Appearance
from fairwise.store.deliberation import Opinion
from fairwise.store.errors import ChangedTooOften, NotOpen, NotYet, Unknown
from fairwise.store.participants import Participant
from fairwise.store.recording import NewAnswer, SentAnswer, record_all
from fairwise.store.store import Batchable
from fairwise.store.study_state import FIRST, SECOND, Standing, require_open, standing
from fairwise.study.design import shows_reasons
from fairwise.study.schedules import PairAnswer
from fairwise.study.settings import StudyState
from fairwise.web.participant.base import LONGEST_NONCE, ParticipantPages
from fairwise.web.participant.onboarding import CHOOSE
from fairwise.web.shared import views
from fairwise.web.shared.views import LONGEST_WHY, OthersAnswer, OthersReason, PairAgain


class SecondRoundPages(ParticipantPages):
    """Its pages, and what other pages must know about it."""

    def routes(self) -> list[Route]:
        return [  # whoever finished the first round is not at an end here: each page looks whether the study is open
            self._get("/p/{token}/second-round", self.begin, always=True),
            self._get("/p/{token}/second-round/end", self.end, always=True),
            self._get("/p/{token}/second-round/{position:number}", self.pair, always=True),
            self._post("/p/{token}/second-round/{position:number}", self.answer, always=True),
            self._get("/p/{token}/second-round/{position:number}/report/{reason}", self.report, always=True),
            self._post("/p/{token}/second-round/{position:number}/report/{reason}", self.hide, always=True),
        ]

    async def way_there(self, request: Request) -> str:
        """Where someone is led who comes back: to its beginning or its end, or nowhere if it is not for them now."""
        stands = await self._store.read(standing)
        if not self._is_on(stands) or stands.state != StudyState.OPEN:
            return ""
        shown = await self._shown(request)
        if not shown:
            return ""
        return "/second-round/end" if all(_of_round(pair, SECOND) for pair in shown) else "/second-round"

    def _is_on(self, stands: Standing) -> bool:
        return self._settings.deliberation.on and stands.round == SECOND

    async def _shown(self, request: Request) -> list[Appearance]:
        return await self._read(request, deliberation.shown_again, most=self._settings.deliberation.pairs)

    async def _shown_now(self, request: Request) -> list[Appearance]:
        """What someone is shown again, while they may answer."""
        stands = await self._store.read(standing)
        if not self._is_on(stands):
            raise NotYet
        if stands.state != StudyState.OPEN:
            raise NotOpen
        shown = await self._shown(request)
        if not shown:
            raise NotYet
        return shown

    async def begin(self, request: Request) -> Response:
        return await self._list(request, done=False)

    async def end(self, request: Request) -> Response:
        return await self._list(request, done=True)

    async def _list(self, request: Request, *, done: bool) -> Response:
        shown, who = await self._shown_now(request), await self._participant(request)
        pairs = [self._view(request, shown, pair, who) for pair in shown]
        finished = all(pair.pair.answer for pair in pairs)
        if finished != done:
            return self._to_own(request, "/second-round/end" if finished else "/second-round")
        return HTMLResponse(self._pages(request, who.arm).second_round(self._own(request), pairs, done=done))

    async def pair(self, request: Request) -> Response:
        return await self._pair(request)

    async def _pair(self, request: Request, problem: str | None = None) -> Response:
        again = await self._pair_again(request)
        reported = "reported" in request.query_params
        pages = self._pages(request, await self._arm(request))
        page = pages.pair_again(self._own(request), again, reported=reported, problem=problem)
        return HTMLResponse(page, 422 if problem else 200)

    async def _pair_again(self, request: Request) -> PairAgain:
        shown, who = await self._shown_now(request), await self._participant(request)
        position = request.path_params["position"]
        pair = next((one for one in shown if one.position == position), None)
        if pair is None:
            raise NotYet
        if not shows_reasons(self._settings.arms, who.arm):
            return self._view(request, shown, pair, who)
        others = await self._store.read(partial(deliberation.opinion, pair=pair))
        return self._view(request, shown, pair, who, others)

    def _view(
        self,
        request: Request,
        shown: list[Appearance],
        pair: Appearance,
        who: Participant,
        others: Opinion | None = None,
    ) -> PairAgain:
        cards, first, now = self._edition(request, who.arm).cards, _of_round(pair, FIRST), _of_round(pair, SECOND)
        assert first is not None
        view = views.Pair(
            number=shown.index(pair) + 1,
            total=len(shown),
            answered=sum(_of_round(one, SECOND) is not None for one in shown),
            a=cards[pair.a],
            b=cards[pair.b],
            answer=now and now.answer,
            why="" if now is None else now.why,
            key=pair.key,
            nonce=self._keys.new(),
            stamp=self._keys.time(pair.key),
        )
        told = self._told(others) if others is not None else ()
        return PairAgain(
            pair.position, view, first.answer, first.why, shows_reasons(self._settings.arms, who.arm), told
        )

    def _told(self, others: Opinion) -> tuple[OthersAnswer, ...]:
        """In the order of the buttons; reasons in one that follows from no author, time or length."""
        if others.counts is None:
            return ()
        found = sorted((self._keys.reason_name(one.answer_id), one) for one in others.reasons)
        return tuple(
            OthersAnswer(
                answer,
                others.counts.get(answer, 0),
                tuple(OthersReason(name, one.text) for name, one in found if one.answer == answer),
            )
            for answer in self._settings.allowed_answers
        )

    async def answer(self, request: Request) -> Response:
        form = await self._own_form(request)
        answer = form.answer(self._settings.allowed_answers)
        if answer is None:
            return await self._pair(request, problem=self._pages(request).translate(CHOOSE))
        key = form.text("key", 32)
        new = NewAnswer(
            key=key,
            nonce=form.text("nonce", LONGEST_NONCE),
            answer=answer,
            why=form.text("why", LONGEST_WHY),
            confidence=None,
            seconds=self._keys.seconds_since(key, form.text("stamp", 200)),
            at=datetime.now(UTC),
        )
        try:
            policy = deliberation.second_round_policy(self._settings.deliberation.pairs)
            await self._store.write(Batchable(record_all, SentAnswer(self._hash(request), new, policy)))
        except ChangedTooOften:
            return self._changed_too_often(request)
        left = [pair.position for pair in await self._shown_now(request) if not _of_round(pair, SECOND)]
        return self._to_own(request, f"/second-round/{left[0]}" if left else "/second-round/end")

    # Reasons that nobody should read

    async def report(self, request: Request) -> Response:
        reason = await self._reason(request)
        position = request.path_params["position"]
        return HTMLResponse(self._pages(request).report_reason(self._own(request), position, reason))

    async def hide(self, request: Request) -> Response:
        """Only what this participant is shown can be reported, and only while it is shown."""
        await self._own_form(request)
        who, position, name = await self._participant(request), *map(request.path_params.get, ("position", "reason"))
        shown = next((pair for pair in await self._shown_now(request) if pair.position == position), None)

        def change(connection: Connection) -> None:
            require_open(connection)
            if shown is None or not shows_reasons(self._settings.arms, who.arm):
                raise Unknown
            for one in deliberation.opinion(connection, shown).reasons:
                if self._keys.reason_name(one.answer_id) == name:
                    deliberation.report_reason(connection, one.answer_id, name, datetime.now(UTC))

        await self._store.write(change)
        return self._to_own(request, f"/second-round/{position}?reported")

    async def _reason(self, request: Request) -> OthersReason:
        others, name = (await self._pair_again(request)).others, request.path_params["reason"]
        found = [reason for one in others for reason in one.reasons if reason.name == name]
        if not found:  # hidden meanwhile, or its author withdrew
            raise Unknown
        return found[0]


def _of_round(pair: Appearance, turn: int) -> PairAnswer | None:
    """The last answer of a round."""
    return next((one for one in reversed(pair.versions) if one.round == turn), None)
