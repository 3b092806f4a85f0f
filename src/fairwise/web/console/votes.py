"""The panel chooses the trade-off: an operator opens a vote on points of a frontier, ends it, and decides."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from fairwise.errors import InputError
from fairwise.results.fits import best_trade_offs
from fairwise.store.errors import NotYet
from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import all_jobs
from fairwise.store.votes import (
    LEAST_OPTIONS,
    MOST_OPTIONS,
    Option,
    Vote,
    cast_ballots,
    close_vote,
    decide,
    last_vote,
    open_vote,
)
from fairwise.study.deliberation import FEWEST, Rule
from fairwise.study.texts import marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.vote_views import letter_of

_LONGEST_WHY = 1000
RULES = {
    Rule.APPROVAL: marked("Approval: everyone ticks what they find acceptable; what most people tick is chosen"),
    Rule.BORDA: marked("Points: everyone puts all options in order; each option below one gives it a point"),
    Rule.CONDORCET: marked("Majorities: what a majority prefers to each other option; if there is none, by points"),
}
# What the store refuses, so that it can be said in the console's languages.
REFUSALS = (
    marked("A vote is open already. End it before you open another."),
    marked("Choose three to five points that differ."),
    marked("Say why you decide otherwise than the panel."),
)
_KINDS = {"relation": marked("By relation to the decision"), "arm": marked("By experiment group")}


class VotePages(ConsolePages):
    """One vote at a time; the page is about the last one."""

    async def show(self, request: Request, problem: str | None = None) -> Response:
        self._study()
        vote, count = await self._read(_last_and_count)
        frontiers = {} if vote is not None and vote.is_open else await self._read(self._frontiers)
        return self._page(
            request,
            "votes",
            problem=problem,
            vote=vote,
            count=count,
            fewest=FEWEST,
            letters=[letter_of(at) for at in range(MOST_OPTIONS)],
            frontiers=frontiers,
            rules=RULES,
            kinds=_KINDS,
            relations={one.name: one.words for one in self._study().settings.relations},
            typed=request.state.form.fields if request.method == "POST" else {},
            longest=_LONGEST_WHY,
        )

    def _frontiers(self, connection: Connection) -> dict[int, list[Option]]:
        """Points of every fit that is done and has enough of them, by its number; of amounts there are none."""
        if self._study().settings.amount is not None:
            return {}
        found = {}
        for job in all_jobs(connection):
            fitted = Fitted.of(self._host.path, job.id) if job.state == "done" else None
            points = [] if fitted is None else best_trade_offs(fitted.frontier, of_amounts=False)
            if len(points) >= LEAST_OPTIONS:
                found[job.id] = [Option.of(point) for point in points]
        return found

    async def begin(self, request: Request) -> Response:
        form = request.state.form
        job_id, name = form.number("fit", 1, 10**9) or 0, form.text("rule", 16)
        points = (await self._read(self._frontiers)).get(job_id, [])
        chosen = [point for at, point in enumerate(points) if f"point-{job_id}-{at}" in form.fields]
        rule = next((rule for rule in Rule if rule == name), Rule.APPROVAL)
        by, at = request.state.operator.name, datetime.now(UTC)
        change = partial(open_vote, job_id=job_id, rule=rule, options=chosen, by=by, at=at)
        try:
            await self._noted(request, "vote opened", f"fit {job_id}", change)
        except InputError as error:
            return await self.show(request, str(error))
        return self._to("/vote?done=vote-opened")

    async def end(self, request: Request) -> Response:
        vote_id = request.state.form.number("vote", 1, 10**9) or 0
        change = partial(close_vote, vote_id=vote_id, at=datetime.now(UTC))
        await self._noted(request, "vote ended", f"vote {vote_id}", change)
        return self._to("/vote?done=vote-ended")

    async def settle(self, request: Request) -> Response:
        form = request.state.form
        vote_id, why = form.number("vote", 1, 10**9) or 0, form.text("why", _LONGEST_WHY)
        chosen, adopts = form.number("chosen", 0, MOST_OPTIONS - 1), "none" not in form.text("chosen", 8)
        if chosen is None and adopts:
            return await self.show(request, marked("Say which option you adopt, or that you adopt none."))
        by, at = request.state.operator.name, datetime.now(UTC)

        def change(connection: Connection) -> None:
            vote = last_vote(connection)
            if vote is None or vote.id != vote_id:
                raise NotYet
            decide(connection, vote_id, chosen, why, by=by, at=at)

        about = f"vote {vote_id}: {'none' if chosen is None else letter_of(chosen)}" + (f" ({why})" if why else "")
        try:
            await self._noted(request, "vote decided", about, change)
        except InputError as error:
            return await self.show(request, str(error))
        except NotYet:
            return self._to("/vote")
        return self._to("/vote?done=vote-decided")

    routes = (
        ConsoleRoute("GET", "/admin/vote", show, "viewer"),
        ConsoleRoute("POST", "/admin/vote/open", begin, "owner"),
        ConsoleRoute("POST", "/admin/vote/close", end, "owner"),
        ConsoleRoute("POST", "/admin/vote/decide", settle, "owner"),
    )


def _last_and_count(connection: Connection) -> tuple[Vote | None, int]:
    """The last vote; while it is open nothing else is shown than how many have voted, so that nobody steers it."""
    vote = last_vote(connection)
    if vote is None:
        return None, 0
    return vote, len(cast_ballots(connection, vote.id)) if vote.tally is None else vote.tally.count
