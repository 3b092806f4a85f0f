"""Votes on which model to use, and what the chosen model does with a participant's own pairs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
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
from fairwise.web.shared.requests import Form, visitor_language
from fairwise.web.shared.views import Result, VoteView, options_of, result_of

_PLACES = marked("Give every option a place of its own")


class OwnResultPages(ParticipantPages):
    """The result for those who have answered."""

    def routes(self) -> list[Route]:
        return [self._get("/p/{token}/result", self.result, always=True)]

    async def result(self, request: Request) -> Response:
        """Show the result once an operator shows it; who still answers is led back to where they are."""
        participant, state = await self._participant(request), await self._store.read(standing)
        if not state.result_shown or (participant.stage != Stage.FINISHED and state.state != StudyState.CLOSED):
            raise NotYet
        job_id, language = state.chosen_job_id, visitor_language(request.scope)

        def read(connection: Connection) -> Result | None:
            job = None if job_id is None else find_job(connection, job_id)
            if job is None:
                return None
            number, finished_at, arm = participant.number, participant.finished_at, participant.arm
            return result_of(connection, self._folder, job, number, language, finished_at, arm)

        result = await self._store.read(read)
        if result is None:
            raise NotYet
        return self._own_page(request, "result", participant.arm, result=result)


def announced(state: Standing, study: Path) -> str:
    """Return whether the result can be seen now, perhaps later, or never."""
    if state.result_shown and state.chosen_job_id is not None:
        return "now"
    return "later" if (study / OUTCOME).exists() else "never"  # without outcomes there is never a model


class VotePages(ParticipantPages):
    """Votes; open also while the study is paused or closed, as they mostly come when all have answered."""

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/vote", self.vote, always=True),
            self._post("/p/{token}/vote", self.cast, always=True),
        ]

    async def vote(self, request: Request) -> Response:
        vote = await self._open_vote(request)
        ballot = await self._read(request, votes.own_ballot, vote_id=vote.id)
        places = {option: place for place, option in enumerate(ballot or (), start=1)}
        return self._show(request, vote, places, saved="saved" in request.query_params)

    async def cast(self, request: Request) -> Response:
        form = await self._own_form(request)
        vote = await self._open_vote(request)
        if form.number("vote", 1, 10**9) != vote.id:  # another was opened since the page was made
            return self._to_own(request, "/vote")
        ballot, places = _read_ballot(form, vote)
        if not is_ballot(ballot, len(vote.options), vote.rule):
            return self._show(request, vote, places, problem=self._say(request, _PLACES))
        token_hash, at = self._hash(request), datetime.now(UTC)
        await self._store.write(lambda connection: votes.cast(connection, token_hash, vote.id, ballot, at=at))
        return self._to_own(request, "/vote?saved")

    async def _open_vote(self, request: Request) -> Vote:
        await self._participant_at(request, Stage.FINISHED)
        vote = await self._store.read(votes.last_vote)
        if vote is None or not vote.is_open:
            raise NotYet
        return vote

    def _show(
        self,
        request: Request,
        vote: Vote,
        places: Mapping[int, int],
        *,
        problem: str | None = None,
        saved: bool = False,
    ) -> Response:
        options = options_of(vote.options, self._pages(request).language, places)
        view = VoteView(vote.id, vote.rule, options, saved)
        return self._own_page(request, "vote", vote=view, problem=problem)


def _read_ballot(form: Form, vote: Vote) -> tuple[Ballot, dict[int, int]]:
    """Return the ballot in a form, and the place that it gives to each option."""
    options = range(len(vote.options))
    if not vote.rule.ranks:
        approved = tuple(option for option in options if f"option-{option}" in form.fields)
        return approved, dict.fromkeys(approved, 1)
    places = {option: form.number(f"option-{option}", 1, len(options)) or 0 for option in options}
    if sorted(places.values()) != [option + 1 for option in options]:
        return (), places
    return tuple(sorted(options, key=places.__getitem__)), places
