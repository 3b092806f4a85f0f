"""Back to the people: how the chosen model treats the pairs that a participant judged, once an operator shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.responses import HTMLResponse, Response

from fairwise.constraints.violations import Treatment
from fairwise.judgments.table import MEASURED_ONLY
from fairwise.store.errors import NotYet
from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import find_job
from fairwise.store.judged import judged
from fairwise.store.study_state import standing
from fairwise.study.folder import OUTCOME
from fairwise.web.participant.base import Asking
from fairwise.web.shared.language_choice import language_of
from fairwise.web.shared.views import PairResult, PanelResult, Result

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy import Connection
    from starlette.requests import Request

    from fairwise.store.jobs import Job
    from fairwise.study.folder import StudyFolder


def result_of(
    connection: Connection,
    study: StudyFolder,
    job: Job,
    number: int,
    language: str,
    finished_at: datetime | None = None,
) -> Result | None:
    """Return what the participant of a number is to see of a fit; None if the fit or their answers are not there."""
    fitted, said = Fitted.of(study.path, job.id), judged(connection, number)
    if fitted is None or not said:
        return None
    summary, good, cards = fitted.summary, fitted.good, study.editions[language].cards
    pairs = tuple(
        PairResult(
            number=one.position,
            a=cards[one.a],
            b=cards[one.b],
            treatment=Treatment(one.answer, good[one.a], good[one.b], summary.gamma),
            counts=one.design not in MEASURED_ONLY,
        )
        for one in said
    )
    panel = PanelResult(summary.judges, summary.asked, summary.honoured, summary.error, summary.error_without)
    return Result(pairs, panel, summary.gamma, is_newer=_is_newer(finished_at, job))


def _is_newer(finished_at: datetime | None, job: Job) -> bool:
    if finished_at is None or job.started_at is None:
        return False
    return finished_at > job.started_at


class ResultPages(Asking):
    """A page for everyone who has answered, and for nobody else."""

    routes = (("GET", "/p/{token}/result", "result"),)
    always = frozenset({"result"})

    async def result(self, request: Request) -> Response:
        """Those who still answer are led back to where they are: what others said is no help for that."""
        who, store = await self._who(request), self._store(request)
        stands = await store.read(standing)
        if not stands.result_shown or (who.stage != "finished" and stands.state != "closed"):
            raise NotYet
        chosen, language = stands.chosen_job_id, language_of(request.scope)

        def found(connection: Connection) -> Result | None:
            job = None if chosen is None else find_job(connection, chosen)
            if job is None:
                return None
            return result_of(connection, self._folder, job, who.number, language, who.finished_at)

        result = await store.read(found)
        if result is None:
            raise NotYet
        return HTMLResponse(self._in(request).result(self._me(request), result))


async def announced(request: Request, study: Path) -> str:
    """Say what the last page tells about the result: that it can be seen now, perhaps later, or never."""
    stands = await request.app.state.store.read(standing)
    if stands.result_shown and stands.chosen_job_id is not None:
        return "now"
    # Without outcomes there is never a model, and without a console nobody could choose one.
    possible = (study / OUTCOME).exists() and hasattr(request.app.state, "host")
    return "later" if possible else "never"
