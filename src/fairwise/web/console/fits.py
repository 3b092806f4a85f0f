"""Models: the list, the form for a new one, and the page of each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.languages import Language
from fairwise.messages import marked
from fairwise.results.fits import FrontierPoint
from fairwise.store.answers import anyone_answered
from fairwise.store.export import participant_counts
from fairwise.store.fit_files import MODEL, PRICES, REPORT, Fitted
from fairwise.store.jobs import Job, all_jobs, find_job, submit, want_cancel
from fairwise.store.study_state import choose, standing
from fairwise.study.fit_choices import (
    DEEPEST,
    ESTIMATORS,
    MOST_LEFT_OUT,
    FitChoices,
    estimators_for,
    outcome_labels,
)
from fairwise.study.folder import OUTCOME, StudyFolder
from fairwise.web.console.base import ConsolePages, console_language, get, post
from fairwise.web.console.fit_form import (
    FIRST_VALUES,
    OWN,
    RULES,
    WITHOUT,
    Figure,
    aims_of,
    choices_of,
    compared,
    draw_figure,
    in_words,
    rates,
    values_of,
)
from fairwise.web.console.scoring import person_fields, person_of, results_by_group, score
from fairwise.web.shared.requests import visitor_language, whole_number

LISTED_AT_FIRST, LISTED = 20, 1000
"""Judgments not followed that are listed at first, and on request."""

# So many details of a person stand in a line of a table.
_FIRST = 4
_ANSWER_WORDS = {
    Answer.SAME: marked("treat both the same"),
    Answer.A_AT_LEAST_B: marked("A at least as well as B"),
    Answer.B_AT_LEAST_A: marked("B at least as well as A"),
    Answer.NO_CONSTRAINT: marked("either may be treated better"),
}
_BUSY = ("waiting", "running")


def _language(request: Request) -> Language:
    """Return the reader's language."""
    return console_language(visitor_language(request.scope))


class FitPages(ConsolePages):
    """Viewers see all fits; owners ask for them, stop them, choose one and take its model away."""

    @get("/admin/fits", "viewer")
    async def fits(self, request: Request) -> Response:
        jobs, state = await self._store.read(all_jobs), await self._store.read(standing)
        listed = [(job, choices_of_job(job), self._fitted(job)) for job in jobs]
        return self._page(
            request,
            "fits",
            jobs=[(job, settings, None if fitted is None else fitted.summary) for job, settings, fitted in listed],
            models={name: words for name, (words, _) in ESTIMATORS.items()},
            finished=[job for job, _, fitted in listed if fitted is not None],
            chosen=state.chosen_job_id,
            is_live=any(job.state in _BUSY for job in jobs),
            advice=await self._advice(),
        )

    # Asking for a fit

    async def _advice(self) -> str | None:
        """Say why there can be no fit and what to do about it; None if there can be one."""
        study = self._host.study
        if study is None:
            return marked(
                "There is no study yet, and so nothing to learn a model from. An owner makes one on the page “Study”."
            )
        if not (study.path / OUTCOME).exists():
            return marked(
                "This study was made without outcomes, so nobody can say how often a model is wrong. Make a study from "
                "the same table, choosing the column that says how things turned out, before people answer."
            )
        if not await self._store.read(anyone_answered):
            return marked("Nobody has answered yet. As soon as someone has, you can learn a model here.")
        try:
            labels = await asyncio.to_thread(_outcomes, study)
        except InputError as error:
            return str(error)
        return _unfit_outcomes(study, labels)

    @get("/admin/fits/new", "owner")
    async def ask(self, request: Request) -> Response:
        like, study = request.query_params.get("like", ""), self._host.study
        if not like or study is None:
            return await self._ask(request, FIRST_VALUES)
        columns = [column.name for column in study.settings.columns]
        return await self._ask(request, values_of(choices_of_job(await self._job(whole_number(like))), columns))

    async def _newest_frontier(self) -> tuple[int | None, list[FrontierPoint]]:
        """Return the newest model that has a frontier, and the frontier."""
        for job in await self._store.read(all_jobs):
            fitted = self._fitted(job)
            points = [] if fitted is None else await asyncio.to_thread(getattr, fitted, "frontier")
            if points:
                return job.id, points
        return None, []

    async def _ask(self, request: Request, values: Mapping[str, str], problem: str | None = None) -> Response:
        advice, study = await self._advice(), self._host.study
        if study is None or advice:
            return self._page(request, "fit_new", advice=advice, problem=problem)
        labels = await asyncio.to_thread(_outcomes, study)
        frontier_of, points = await self._newest_frontier()
        aims = aims_of(points, of_amounts=study.settings.amount is not None)
        if values.get("aim") not in (OWN, *(aim.name for aim in aims)):
            values = {**values, "aim": aims[(len(aims) - 1) // 2].name}  # the middle one where there are three
        return self._page(
            request,
            "fit_new",
            advice=None,
            aims=aims,
            frontier_of=frontier_of,
            treated_well=study.settings.treated_well,
            problem=problem,
            values=values,
            models=estimators_for(study),
            depths=range(1, DEEPEST + 1),
            rules=RULES,
            fields=FitChoices.model_fields,
            labels=labels,
            decisions=sorted(study.settings.decisions, key=lambda one: -one.value),
            rates=rates(labels, _language(request)),
            columns=[(column.name, column.label) for column in study.settings.columns],
            most_left_out=MOST_LEFT_OUT,
            keeps_some=any(WITHOUT.format(k) in values for k in range(len(study.settings.columns))),
            people=await self._store.read(participant_counts),
        )

    @post("/admin/fits", "owner")
    async def start(self, request: Request) -> Response:
        form, study = request.state.form, self._host.study
        advice = await self._advice()
        if study is None or advice:
            return await self._ask(request, form.fields, advice)
        try:
            _, points = await self._newest_frontier()
            choices = await asyncio.to_thread(choices_of, form, study, points)
        except InputError as error:
            return await self._ask(request, form.fields, str(error))
        return await self._submit(request, choices)

    async def _submit(self, request: Request, choices: FitChoices) -> Response:
        settings, operator = choices.model_dump(mode="json"), request.state.operator.name
        put = partial(submit, settings=settings, operator_name=operator, at=datetime.now(UTC))
        job_id = await self._log_change(request, "fit started", choices.name, put)
        return self._to(f"/fits/{job_id}?done=fit-started")

    @post("/admin/fits/{id:number}/cancel", "owner")
    async def cancel(self, request: Request) -> Response:
        job = await self._job(request.path_params["id"])
        if job.state in _BUSY:
            await self._log_change(request, "fit stopped", f"fit {job.id}", partial(want_cancel, job_id=job.id))
        return self._to(f"/fits/{job.id}")

    # What came out

    @get("/admin/fits/{id:number}", "viewer")
    async def fit(self, request: Request) -> Response:
        job, state, study = (
            await self._job(request.path_params["id"]),
            await self._store.read(standing),
            self._host.study,
        )
        fitted = self._fitted(job)
        model = None if fitted is None else fitted.file(MODEL)
        points = [] if fitted is None else await asyncio.to_thread(lambda: fitted.frontier)
        own = None if fitted is None else fitted.own_place
        place = request.query_params.get("at", "")
        at = next((k for k in range(len(points)) if str(k) == place), own or 0)
        return self._page(
            request,
            "fit",
            job=job,
            choices=choices_of_job(job),
            described=await self._described(request, job),
            chosen=state.chosen_job_id == job.id,
            summary=None if fitted is None else fitted.summary,
            has_report=fitted is not None and fitted.file(REPORT) is not None,
            has_model=model is not None,
            has_prices=fitted is not None and fitted.file(PRICES) is not None,
            influence=None if fitted is None else await asyncio.to_thread(lambda: fitted.influence),
            talked=None if fitted is None else await asyncio.to_thread(lambda: fitted.effects),
            rules=None if fitted is None else await asyncio.to_thread(fitted.rules, _language(request).code),
            points=points,
            figure=_figure(points, study),
            own=own,
            at=at,
            most=LISTED if "all" in request.query_params else LISTED_AT_FIRST,
            cards={} if study is None else study.cards,
            labels=[] if study is None else [column.label for column in study.settings.columns[:_FIRST]],
            said=_ANSWER_WORDS,
            **await asyncio.to_thread(self._facts, job, fitted),
        )

    def _facts(self, job: Job, fitted: Fitted | None) -> dict[str, Any]:
        """Return the columns of the model and its results by group."""
        study, choices = self._host.study, choices_of_job(job)
        if study is None or fitted is None:
            return {"groups": [], "columns": [], "looks_at": [], "treated_well": "", "several": False}
        labels = [column.label for column in study.settings.columns if _may_use(choices, column.name)]
        try:
            groups = results_by_group(study, fitted.good, choices.favorable_label, fitted.wrong)
        except (InputError, FileNotFoundError):  # outcomes or scores that are not there any more
            groups = []
        columns = person_fields(study)
        return {
            "groups": groups,
            "columns": columns,
            "looks_at": labels,
            "treated_well": study.settings.treated_well,
            "several": bool(study.settings.decisions),
        }

    @get("/admin/fits/{id:number}/score", "viewer")
    async def to_score(self, request: Request) -> Response:
        """Redirect to the form. The input is not stored."""
        return self._to(f"/fits/{request.path_params['id']}#person")

    @post("/admin/fits/{id:number}/score", "viewer")
    async def score(self, request: Request) -> Response:
        """Show what the model says about a person, who is not stored."""
        job, study, form = await self._job(request.path_params["id"]), self._study(), request.state.form
        file = await self._file(request, MODEL)
        fields = await asyncio.to_thread(person_fields, study)
        result, problem, problem_at = None, None, None
        language = _language(request)
        try:
            person = await asyncio.to_thread(lambda: person_of(form, fields, study.people(), language.decimal(".")))
            labels = {field.name: field.label for field in fields}
            good, decisions = choices_of_job(job).favorable_label, study.settings.decisions
            words = study.settings.outcome_words
            named = None if words is None else words.by_label(await asyncio.to_thread(_outcomes, study), good)
            result = await score(file, person, labels, good, language.code, decisions, study.settings.amount, named)
        except InputError as error:
            problem, problem_at = str(error), getattr(error, "field", None)
        return self._page(
            request,
            "score",
            problem=problem,
            problem_at=problem_at,
            job=job,
            columns=fields,
            values=form.fields,
            score=result,
            treated_well=study.settings.treated_well,
        )

    @get("/admin/fits/{id:number}/model", "owner")
    async def model(self, request: Request) -> Response:
        file, job_id = await self._file(request, MODEL), request.path_params["id"]
        await self._log_change(request, "downloaded", f"model {job_id}", lambda _: None)
        return FileResponse(file, filename=f"fit-{job_id}.skops", media_type="application/octet-stream")

    @get("/admin/fits/{id:number}/prices", "owner")
    async def prices(self, request: Request) -> Response:
        file, job_id = await self._file(request, PRICES), request.path_params["id"]
        await self._log_change(request, "downloaded", f"what each answer costs, model {job_id}", lambda _: None)
        return FileResponse(file, filename=f"fit-{job_id}.prices.parquet", media_type="application/octet-stream")

    @post("/admin/fits/{id:number}/point", "owner")
    async def fit_point(self, request: Request) -> Response:
        """Start the same fit with the allowance of a point of its frontier."""
        job = await self._job(request.path_params["id"])
        fitted, at = self._fitted(job), request.state.form.number("at", 0, 10**6)
        points = [] if fitted is None else fitted.frontier
        if at is None or at >= len(points):
            raise HTTPException(404)
        choices, eta = choices_of_job(job), points[at].eta
        plain_name = re.split(r" \((?:allowance|budget) ", choices.name)[0]
        name = f"{plain_name} (allowance {eta:g})"
        return await self._submit(request, FitChoices.checked({**choices.model_dump(), "eta": eta, "name": name}))

    @post("/admin/fits/{id:number}/choose", "owner")
    async def choose(self, request: Request) -> Response:
        """Choose a model; participants see nothing of it before an owner shows it."""
        job = await self._job(request.path_params["id"])
        if self._fitted(job) is None:
            raise HTTPException(404)
        await self._log_change(request, "model chosen", f"fit {job.id}", partial(choose, job_id=job.id, shown=False))
        return self._to("/results?done=model-chosen")

    @get("/admin/fits/compare", "viewer")
    async def compare(self, request: Request) -> Response:
        sides = []
        for name in ("a", "b"):
            job = await self._job(whole_number(request.query_params.get(name, "")))
            fitted = self._fitted(job)
            if fitted is None:
                raise HTTPException(404)
            sides.append((job, await self._described(request, job), fitted.summary))
        left, right = (side[1:] for side in sides)
        amount = None if self._host.study is None else self._host.study.settings.amount
        lines = compared(left, right, _language(request), amount)
        return self._page(request, "fits_compared", sides=sides, lines=lines)

    # What all of these need

    async def _job(self, job_id: int | None) -> Job:
        job = None if job_id is None else await self._store.read(partial(find_job, job_id=job_id))
        if job is None:
            raise HTTPException(404)
        return job

    def _fitted(self, job: Job) -> Fitted | None:
        return Fitted.of(self._host.path, job.id) if job.state == "done" else None

    async def _file(self, request: Request, name: str) -> Path:
        fitted = self._fitted(await self._job(request.path_params["id"]))
        file = None if fitted is None else fitted.file(name)
        if file is None:
            raise HTTPException(404)
        return file

    async def _described(self, request: Request, job: Job) -> dict[str, str]:
        study = self._host.study
        columns = {} if study is None else {column.name: column.label for column in study.settings.columns}
        amount = None if study is None else study.settings.amount
        return in_words(
            choices_of_job(job), columns, await asyncio.to_thread(_labels, study), _language(request), amount
        )


def _may_use(choices: FitChoices, column: str) -> bool:
    return choices.features is None or column in choices.features


def choices_of_job(job: Job) -> FitChoices:
    """Return all settings of a fit, also those that went without saying."""
    return FitChoices.of_job(job.settings)


@lru_cache(maxsize=2)
def _outcomes(study: StudyFolder) -> tuple[str, ...]:
    """Return the outcomes, cached for each study."""
    return outcome_labels(study)


def _unfit_outcomes(study: StudyFolder, labels: tuple[str, ...]) -> str | None:
    if len(labels) != 2 and study.settings.outcome_kind == "yes-no":
        return f"A model needs exactly two different outcomes. The column of this study has {len(labels)}."
    return None


def _figure(points: list[FrontierPoint], study: StudyFolder | None) -> Figure | None:
    """Return the figure of a frontier, with errors in 100 decisions or amounts."""
    scale = 100 if study is None or study.settings.amount is None else 1
    return draw_figure([point.eta for point in points], [point.error for point in points], scale) if points else None


def _labels(study: StudyFolder | None) -> tuple[str, ...]:
    """Return the outcomes; placeholders if there are none any more, nothing for amounts."""
    if study is not None and study.settings.amount is not None:
        return ()
    try:
        labels = () if study is None else _outcomes(study)
    except InputError:
        labels = ()
    return labels if len(labels) >= 2 else ("0", "1")
