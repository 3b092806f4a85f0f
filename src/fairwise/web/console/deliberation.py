"""The second round: ending the first, opening the second, which pairs it is about, and which reasons others read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairwise.judgments import Answer
from fairwise.store import deliberation
from fairwise.store.deliberation import GivenReason, ListedPair, TwoPeople
from fairwise.store.errors import NothingToDiscuss, NotYet
from fairwise.store.fit_files import Fitted
from fairwise.store.study_state import FIRST, SECOND, Standing, standing
from fairwise.study.cards import Card
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.templating import facts_of

_LONGEST_NAMES = 200_000
_REASON_NAME = re.compile(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}")


@dataclass(frozen=True)
class DiscussedPair:
    """A pair of the second round as operators see it."""

    listed: ListedPair
    people: tuple[Card, Card]
    counts: Mapping[Answer, int]
    """By the answers of the first round."""

    reasons: list[tuple[str, GivenReason]]
    """Return reasons under their keyed names and in this order, for owners only."""


class DeliberationPages(ConsolePages):
    """Everything that operators decide about the second round."""

    async def show(self, request: Request) -> Response:
        study, now = self._study(), datetime.now(UTC)
        settings = study.settings.deliberation
        if not settings.on:
            raise HTTPException(404)
        stands = await self._read(standing)
        prices, name_of = await self._beside(self._prices, stands), self._host.keys.reason_name
        is_owner = request.state.operator.is_owner

        def look(connection: Connection) -> tuple[list[DiscussedPair], deliberation.Returned]:
            second = stands.round == SECOND
            pairs = deliberation.round_list(connection) if second else deliberation.worth_discussing(connection, prices)
            counts = deliberation.first_counts(connection)
            by_pair = defaultdict[TwoPeople, list[tuple[str, GivenReason]]](list)
            for reason in deliberation.reasons_about(connection, {pair.two for pair in pairs}) if is_owner else []:
                by_pair[reason.two].append((name_of(reason.answer_id), reason))
            discussed = [
                DiscussedPair(
                    pair,
                    (study.cards[pair.a], study.cards[pair.b]),
                    counts.get(pair.two, {}),
                    sorted(by_pair[pair.two], key=lambda named: named[0]),
                )
                for pair in pairs
            ]
            return discussed, deliberation.returned(connection, settings.pairs)

        pairs, returned = await self._read(look)
        return self._page(
            request,
            "second_round",
            standing=stands,
            over=stands.first_is_over(now, settings.until),
            by_itself=settings,
            pairs=pairs,
            returned=returned,
            reported=[(name, reason) for pair in pairs for name, reason in pair.reasons if reason.waits],
            undecided=sum(reason.state is None for pair in pairs for _, reason in pair.reasons),
            facts=facts_of,
            answers=study.settings.allowed_answers,
            hides_columns=any(arm.columns and arm.reasons for arm in study.settings.arms),
        )

    def _prices(self, stands: Standing) -> Mapping[TwoPeople, float]:
        """Of the model that was chosen, if one was."""
        fitted = None if stands.chosen_job_id is None else Fitted.of(self._host.path, stands.chosen_job_id)
        return {} if fitted is None else fitted.pair_prices

    async def end(self, request: Request) -> Response:
        if not self._study().settings.deliberation.on:
            raise HTTPException(404)
        if request.state.form.text("sure", 3) != "yes":
            return self._to("/second-round?done=not-sure")
        stands = await self._read(standing)
        if stands.round != FIRST or stands.round_over:
            return self._to("/second-round?done=round-known")
        await self._noted(request, deliberation.END, "", partial(deliberation.end_first_round, at=datetime.now(UTC)))
        self._host.look_again()
        return self._to("/second-round?done=round-ended")

    async def begin(self, request: Request) -> Response:
        """Its list of pairs is made at this moment, and stays."""
        settings = self._study().settings.deliberation
        if not settings.on:
            raise HTTPException(404)
        if request.state.form.text("sure", 3) != "yes":
            return self._to("/second-round?done=not-sure")
        stands = await self._read(standing)
        if stands.round != FIRST:
            return self._to("/second-round?done=round-known")
        prices, at = await self._beside(self._prices, stands), datetime.now(UTC)
        change = partial(deliberation.open_second_round, at=at, until=settings.until, prices=prices)
        try:
            await self._noted(request, deliberation.OPEN, "", change)
        except NotYet:
            return self._to("/second-round?done=round-known")
        except NothingToDiscuss:
            return self._to("/second-round?done=nothing-to-discuss")
        self._host.look_again()
        return self._to("/second-round?done=round-opened")

    async def decide(self, request: Request) -> Response:
        """Release or hide the reasons that the form names: those that the operator saw, and no others."""
        form = request.state.form
        state, named = form.text("state", 10), set(form.text("reasons", _LONGEST_NAMES).split())
        if state not in deliberation.ACTIONS or not named or not all(map(_REASON_NAME.fullmatch, named)):
            raise HTTPException(404)
        name_of = self._host.keys.reason_name
        names = {one: name for one in await self._read(deliberation.reason_ids) if (name := name_of(one)) in named}
        change = partial(deliberation.decide_reasons, names=names, state=state)
        await self._changed(request, lambda connection, who, at: change(connection, operator=who, at=at))
        place = form.text("place", 9)
        return self._to(f"/second-round?done=reasons-decided{f'#pair-{place}' if place.isdigit() else ''}")

    routes = (
        ConsoleRoute("GET", "/admin/second-round", show, "viewer"),
        ConsoleRoute("POST", "/admin/second-round/end", end, "owner"),
        ConsoleRoute("POST", "/admin/second-round/open", begin, "owner"),
        ConsoleRoute("POST", "/admin/second-round/reasons", decide, "owner"),
    )
