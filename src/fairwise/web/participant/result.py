"""Back to the people: how the chosen model treats the pairs that a participant judged, once an operator shows it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store.errors import NotYet
from fairwise.store.jobs import find_job
from fairwise.store.study_state import Standing, standing
from fairwise.study.folder import OUTCOME
from fairwise.study.stages import Stage, StudyState
from fairwise.web.participant.base import ParticipantPages
from fairwise.web.shared.language_choice import language_of
from fairwise.web.shared.views import Result, result_of


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
