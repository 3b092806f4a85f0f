"""Back to the people who have answered: a vote on which model to use, and what the chosen one does.

The vote is in numbers about everyone together; the result is how the chosen model treats the pairs that a participant
judged, once an operator shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store import votes
from fairwise.store.errors import NotYet
from fairwise.store.jobs import find_job
from fairwise.store.study_state import Standing, standing
from fairwise.store.votes import Vote
from fairwise.study.deliberation import Ballot, is_ballot
from fairwise.study.folder import OUTCOME
from fairwise.study.settings import Stage, StudyState
from fairwise.study.texts import marked
from fairwise.web.participant.base import ParticipantPages
from fairwise.web.shared.forms import Form
from fairwise.web.shared.language_choice import language_of
from fairwise.web.shared.views import Result, result_of
from fairwise.web.shared.vote_views import VoteView, options_of

_PLACES = marked("Give every option a place of its own")


class OwnResultPages(ParticipantPages):
    """A page for everyone who has answered, and for nobody else."""

    def routes(self) -> list[Route]:
        return [self._get("/p/{token}/result", self.result, always=True)]

    async def result(self, request: Request) -> Response:
        """Those who still answer are led back to where they are: what others said is no help for that."""
        who, stands = await self._participant(request), await self._store.read(standing)
        if not stands.result_shown or (who.stage != Stage.FINISHED and stands.state != StudyState.CLOSED):
            raise NotYet
        chosen, language = stands.chosen_job_id, language_of(request.scope)

        def read(connection: Connection) -> Result | None:
            job = None if chosen is None else find_job(connection, chosen)
            if job is None:
                return None
            return result_of(connection, self._folder, job, who.number, language, who.finished_at, who.arm)

        result = await self._store.read(read)
        if result is None:
            raise NotYet
        return HTMLResponse(self._pages(request, who.arm).result(self._own(request), result))


def announced(stands: Standing, study: Path) -> str:
    """Say what the last page tells about the result: that it can be seen now, perhaps later, or never."""
    if stands.result_shown and stands.chosen_job_id is not None:
        return "now"
    return "later" if (study / OUTCOME).exists() else "never"  # without outcomes there is never a model


class VotePages(ParticipantPages):
    """Open also while the study is paused, and after it was closed: votes mostly come when all have answered."""

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/vote", self.vote, always=True),
            self._post("/p/{token}/vote", self.cast, always=True),
        ]

    async def vote(self, request: Request) -> Response:
        vote = await self._open_vote(request)
        ballot = await self._read(request, votes.own_ballot, vote_id=vote.id)
        places = {option: place for place, option in enumerate(ballot or (), start=1)}
        return self._page(request, vote, places, saved="saved" in request.query_params)

    async def cast(self, request: Request) -> Response:
        form = await self._own_form(request)
        vote = await self._open_vote(request)
        if form.number("vote", 1, 10**9) != vote.id:  # another was opened since the page was made
            return self._to_own(request, "/vote")
        ballot, places = _ballot(form, vote)
        if not is_ballot(ballot, len(vote.options), vote.rule):
            return self._page(request, vote, places, problem=self._pages(request).translate(_PLACES))
        token_hash, at = self._hash(request), datetime.now(UTC)
        await self._store.write(lambda connection: votes.cast(connection, token_hash, vote.id, ballot, at=at))
        return self._to_own(request, "/vote?saved")

    async def _open_vote(self, request: Request) -> Vote:
        await self._participant_at(request, Stage.FINISHED)
        vote = await self._store.read(votes.last_vote)
        if vote is None or not vote.is_open:
            raise NotYet
        return vote

    def _page(
        self,
        request: Request,
        vote: Vote,
        places: Mapping[int, int],
        *,
        problem: str | None = None,
        saved: bool = False,
    ) -> Response:
        pages = self._pages(request)
        options = options_of(vote.options, pages.language, places)
        view = VoteView(vote.id, vote.rule, options, problem, saved)
        return HTMLResponse(pages.vote(self._own(request), view), 422 if problem else 200)


def _ballot(form: Form, vote: Vote) -> tuple[Ballot, dict[int, int]]:
    """What the form says, and the place that it gives to each option."""
    options = range(len(vote.options))
    if not vote.rule.ranks:
        approved = tuple(option for option in options if f"option-{option}" in form.fields)
        return approved, dict.fromkeys(approved, 1)
    places = {option: form.number(f"option-{option}", 1, len(options)) or 0 for option in options}
    if sorted(places.values()) != [option + 1 for option in options]:
        return (), places
    return tuple(sorted(options, key=places.__getitem__)), places
