"""Which model is chosen, and whether participants see what it does with their pairs."""

from __future__ import annotations

from collections import Counter
from functools import partial

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import Job, find_job
from fairwise.store.study_state import Standing, choose, standing
from fairwise.study.folder import StudyFolder
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.shared.forms import whole_number
from fairwise.web.shared.pages import Pages, pages_of
from fairwise.web.shared.views import Result, result_of


class ResultPages(ConsolePages):
    """What comes out of the study, and who sees it."""

    _made: tuple[StudyFolder, Pages] | None = None

    async def results(self, request: Request) -> Response:
        stands, job = await self._read(_chosen)
        fitted = None if job is None else Fitted.of(self._host.path, job.id)
        place = None if fitted is None else fitted.own_place
        own = None if fitted is None or place is None else fitted.frontier[place]
        not_followed = Counter[str](one.judge for one in own.judgments) if own is not None else Counter[str]()
        example = next((judge for judge, _ in not_followed.most_common(1)), "")
        return self._page(
            request,
            "results",
            job=job,
            standing=stands,
            shown=stands.result_shown,
            summary=None if fitted is None else fitted.summary,
            touched=None if own is None else len(not_followed),
            touched_exactly=own is not None and len(own.judgments) == own.not_followed,
            example=example.removeprefix("p").lstrip("0") or "1",
        )

    async def show(self, request: Request) -> Response:
        """Only of the model that was chosen when the page was made: another may have been chosen since."""
        form = request.state.form
        wanted, job_id = form.text("shown", 8), form.number("job", 1, 10**9)
        if wanted not in ("yes", "no") or job_id is None:
            raise HTTPException(404)
        stands, _ = await self._read(_chosen)
        if stands.chosen_job_id != job_id:
            return self._to("/results?done=another-chosen")
        change = partial(choose, job_id=job_id, shown=wanted == "yes")
        await self._noted(request, "result shown" if wanted == "yes" else "result hidden", f"fit {job_id}", change)
        return self._to(f"/results?done=result-{'shown' if wanted == 'yes' else 'hidden'}")

    async def preview(self, request: Request) -> Response:
        """The page of one participant, as they see it or would see it."""
        number, study = whole_number(request.query_params.get("participant", "")), self._host.study
        if study is None or number is None:
            raise HTTPException(404)

        def find_result(connection: Connection) -> Result | None:
            _, job = _chosen(connection)
            return None if job is None else result_of(connection, study, job, number, study.settings.languages[0])

        result = await self._read(find_result)
        if result is None:
            raise HTTPException(404)
        return HTMLResponse((await self._pages(study)).result(None, result))

    async def _pages(self, study: StudyFolder) -> Pages:
        if self._made is None or self._made[0] is not study:
            made = await self._beside(pages_of, study, self._host.prefix)
            self._made = (study, made[study.settings.languages[0]])
        return self._made[1]

    routes = (
        ConsoleRoute("GET", "/admin/results", results, "viewer"),
        ConsoleRoute("GET", "/admin/results/preview", preview, "viewer"),
        ConsoleRoute("POST", "/admin/results/shown", show, "owner"),
    )


def _chosen(connection: Connection) -> tuple[Standing, Job | None]:
    stands = standing(connection)
    return stands, None if stands.chosen_job_id is None else find_job(connection, stands.chosen_job_id)
