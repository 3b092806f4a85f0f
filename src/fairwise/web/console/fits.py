"""What would these judgments cost? Fits: asking for one, watching it, and what came out."""

from __future__ import annotations

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
from fairwise.study.texts import Language, marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.console.fit_comparison import compared
from fairwise.web.console.fit_views import (
    FIRST_VALUES,
    OWN,
    RULES,
    WITHOUT,
    Figure,
    aims_of,
    choices_of,
    drawn,
    in_words,
    rates,
    values_of,
)
from fairwise.web.console.model_facts import person_fields, person_of, results_by_group, score
from fairwise.web.console.rendering import console_language
from fairwise.web.shared.forms import whole_number
from fairwise.web.shared.language_choice import language_of

SHOWN, LISTED = 20, 1000
"""So many of the judgments not followed are shown at first, and on request."""

# So many details of a person stand in a line of a table.
_FIRST = 4
_SAID = {
    Answer.SAME: marked("treat both the same"),
    Answer.A_AT_LEAST_B: marked("A at least as well as B"),
    Answer.B_AT_LEAST_A: marked("B at least as well as A"),
    Answer.NO_CONSTRAINT: marked("either may be treated better"),
}
_BUSY = ("waiting", "running")


def _spoken(request: Request) -> Language:
    """The language of whoever reads the page."""
    return console_language(language_of(request.scope))


class FitPages(ConsolePages):
    """Viewers see all fits; owners ask for them, stop them, choose one and take its model away."""

    async def fits(self, request: Request) -> Response:
        jobs, stands = await self._read(all_jobs), await self._read(standing)
        listed = [(job, asked(job), self._fitted(job)) for job in jobs]
        return self._page(
            request,
            "fits",
            jobs=[(job, settings, None if found is None else found.summary) for job, settings, found in listed],
            models={name: words for name, (words, _) in ESTIMATORS.items()},
            finished=[job for job, _, found in listed if found is not None],
            chosen=stands.chosen_job_id,
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
        if not await self._read(anyone_answered):
            return marked("Nobody has answered yet. As soon as someone has, you can learn a model here.")
        try:
            labels = await self._beside(_outcomes, study)
        except InputError as error:
            return str(error)
        return _unfit_outcomes(study, labels)

    async def ask(self, request: Request) -> Response:
        like, study = request.query_params.get("like", ""), self._host.study
        if not like or study is None:
            return await self._ask(request, FIRST_VALUES)
        columns = [column.name for column in study.settings.columns]
        return await self._ask(request, values_of(asked(await self._job(whole_number(like))), columns))

    async def _known_frontier(self) -> tuple[int | None, list[FrontierPoint]]:
        """The newest model of which it is known what each degree of following costs, and that."""
        for job in await self._read(all_jobs):
            fitted = self._fitted(job)
            points = [] if fitted is None else await self._beside(getattr, fitted, "frontier")
            if points:
                return job.id, points
        return None, []

    async def _ask(self, request: Request, values: Mapping[str, str], problem: str | None = None) -> Response:
        advice, study = await self._advice(), self._host.study
        if study is None or advice:
            return self._page(request, "fit_new", advice=advice, problem=problem)
        labels = await self._beside(_outcomes, study)
        frontier_of, points = await self._known_frontier()
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
            rates=rates(labels, _spoken(request)),
            columns=[(column.name, column.label) for column in study.settings.columns],
            most_left_out=MOST_LEFT_OUT,
            keeps_some=any(WITHOUT.format(k) in values for k in range(len(study.settings.columns))),
            people=await self._read(participant_counts),
        )

    async def start(self, request: Request) -> Response:
        form, study = request.state.form, self._host.study
        advice = await self._advice()
        if study is None or advice:
            return await self._ask(request, form.fields, advice)
        try:
            _, points = await self._known_frontier()
            choices = await self._beside(choices_of, form, study, points)
        except InputError as error:
            return await self._ask(request, form.fields, str(error))
        return await self._submit(request, choices)

    async def _submit(self, request: Request, choices: FitChoices) -> Response:
        settings, operator = choices.model_dump(mode="json"), request.state.operator.name
        put = partial(submit, settings=settings, operator_name=operator, at=datetime.now(UTC))
        job_id = await self._noted(request, "fit started", choices.name, put)
        return self._to(f"/fits/{job_id}?done=fit-started")

    async def cancel(self, request: Request) -> Response:
        job = await self._job(request.path_params["id"])
        if job.state in _BUSY:
            await self._noted(request, "fit stopped", f"fit {job.id}", partial(want_cancel, job_id=job.id))
        return self._to(f"/fits/{job.id}")

    # What came out

    async def fit(self, request: Request) -> Response:
        job, stands, study = await self._job(request.path_params["id"]), await self._read(standing), self._host.study
        fitted = self._fitted(job)
        model = None if fitted is None else fitted.file(MODEL)
        points = [] if fitted is None else await self._beside(lambda: fitted.frontier)
        own = None if fitted is None else fitted.own_place
        given = request.query_params.get("at", "")
        at = next((place for place in range(len(points)) if str(place) == given), own or 0)
        return self._page(
            request,
            "fit",
            job=job,
            choices=asked(job),
            described=await self._described(request, job),
            chosen=stands.chosen_job_id == job.id,
            summary=None if fitted is None else fitted.summary,
            has_report=fitted is not None and fitted.file(REPORT) is not None,
            has_model=model is not None,
            has_prices=fitted is not None and fitted.file(PRICES) is not None,
            influence=None if fitted is None else await self._beside(lambda: fitted.influence),
            talked=None if fitted is None else await self._beside(lambda: fitted.effects),
            rules=None if fitted is None else await self._beside(fitted.rules, _spoken(request).code),
            points=points,
            figure=_figure(points, study),
            own=own,
            at=at,
            most=LISTED if "all" in request.query_params else SHOWN,
            cards={} if study is None else study.cards,
            labels=[] if study is None else [column.label for column in study.settings.columns[:_FIRST]],
            said=_SAID,
            **await self._beside(self._facts, job, fitted),
        )

    def _facts(self, job: Job, fitted: Fitted | None) -> dict[str, Any]:
        """What the model looks at, and how it treats groups."""
        study, choices = self._host.study, asked(job)
        if study is None or fitted is None:
            return {"groups": [], "columns": [], "looks_at": [], "treated_well": "", "several": False}
        shown = [column.label for column in study.settings.columns if _may_use(choices, column.name)]
        try:
            groups = results_by_group(study, fitted.good, choices.favorable_label, fitted.wrong)
        except (InputError, FileNotFoundError):  # outcomes or scores that are not there any more
            groups = []
        columns = person_fields(study)
        return {
            "groups": groups,
            "columns": columns,
            "looks_at": shown,
            "treated_well": study.settings.treated_well,
            "several": bool(study.settings.decisions),
        }

    async def to_score(self, request: Request) -> Response:
        """Where a person is typed in; who was, is kept nowhere, so that there is nothing to load again."""
        return self._to(f"/fits/{request.path_params['id']}#person")

    async def score(self, request: Request) -> Response:
        """What the model says about a person, who is kept nowhere."""
        job, study, form = await self._job(request.path_params["id"]), self._study(), request.state.form
        file = await self._file(request, MODEL)
        fields = await self._beside(person_fields, study)
        found, problem, problem_at = None, None, None
        spoken = _spoken(request)
        try:
            person = await self._beside(lambda: person_of(form, fields, study.people(), spoken.decimal(".")))
            labels = {field.name: field.label for field in fields}
            good, decisions = asked(job).favorable_label, study.settings.decisions
            words = study.settings.outcome_words
            named = None if words is None else words.by_label(await self._beside(_outcomes, study), good)
            found = await score(file, person, labels, good, spoken.code, decisions, study.settings.amount, named)
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
            score=found,
            treated_well=study.settings.treated_well,
        )

    async def model(self, request: Request) -> Response:
        file, job_id = await self._file(request, MODEL), request.path_params["id"]
        await self._noted(request, "downloaded", f"model {job_id}", lambda _: None)
        return FileResponse(file, filename=f"fit-{job_id}.skops", media_type="application/octet-stream")

    async def prices(self, request: Request) -> Response:
        file, job_id = await self._file(request, PRICES), request.path_params["id"]
        await self._noted(request, "downloaded", f"what each answer costs, model {job_id}", lambda _: None)
        return FileResponse(file, filename=f"fit-{job_id}.prices.parquet", media_type="application/octet-stream")

    async def fit_point(self, request: Request) -> Response:
        """The same fit with the allowance of one point of its frontier."""
        job = await self._job(request.path_params["id"])
        fitted, at = self._fitted(job), request.state.form.number("at", 0, 10**6)
        points = [] if fitted is None else fitted.frontier
        if at is None or at >= len(points):
            raise HTTPException(404)
        choices, eta = asked(job), points[at].eta
        plain_name = re.split(r" \((?:allowance|budget) ", choices.name)[0]
        name = f"{plain_name} (allowance {eta:g})"
        return await self._submit(request, FitChoices.checked({**choices.model_dump(), "eta": eta, "name": name}))

    async def choose(self, request: Request) -> Response:
        """Not shown to participants before an owner says so of this very model."""
        job = await self._job(request.path_params["id"])
        if self._fitted(job) is None:
            raise HTTPException(404)
        await self._noted(request, "model chosen", f"fit {job.id}", partial(choose, job_id=job.id, shown=False))
        return self._to("/results?done=model-chosen")

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
        lines = compared(left, right, _spoken(request), amount)
        return self._page(request, "fits_compared", sides=sides, lines=lines)

    # What all of these need

    async def _job(self, job_id: int | None) -> Job:
        job = None if job_id is None else await self._read(partial(find_job, job_id=job_id))
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
        return in_words(asked(job), columns, await self._beside(_labels, study), _spoken(request), amount)

    routes = (
        ConsoleRoute("GET", "/admin/fits", fits, "viewer"),
        ConsoleRoute("POST", "/admin/fits", start, "owner"),
        ConsoleRoute("GET", "/admin/fits/new", ask, "owner"),
        ConsoleRoute("GET", "/admin/fits/compare", compare, "viewer"),
        ConsoleRoute("GET", "/admin/fits/{id:number}", fit, "viewer"),
        ConsoleRoute("GET", "/admin/fits/{id:number}/score", to_score, "viewer"),
        ConsoleRoute("POST", "/admin/fits/{id:number}/score", score, "viewer"),
        ConsoleRoute("GET", "/admin/fits/{id:number}/model", model, "owner"),
        ConsoleRoute("GET", "/admin/fits/{id:number}/prices", prices, "owner"),
        ConsoleRoute("POST", "/admin/fits/{id:number}/cancel", cancel, "owner"),
        ConsoleRoute("POST", "/admin/fits/{id:number}/point", fit_point, "owner"),
        ConsoleRoute("POST", "/admin/fits/{id:number}/choose", choose, "owner"),
    )


def _may_use(choices: FitChoices, column: str) -> bool:
    return choices.features is None or column in choices.features


def asked(job: Job) -> FitChoices:
    """Return all settings of a fit, also those that went without saying."""
    return FitChoices.of_job(job.settings)


@lru_cache(maxsize=2)
def _outcomes(study: StudyFolder) -> tuple[str, ...]:
    """Read once of each study; a host opens it anew when its files change."""
    return outcome_labels(study)


def _unfit_outcomes(study: StudyFolder, labels: tuple[str, ...]) -> str | None:
    if len(labels) != 2 and study.settings.outcome_kind == "yes-no":
        return f"A model needs exactly two different outcomes. The column of this study has {len(labels)}."
    return None


def _figure(points: list[FrontierPoint], study: StudyFolder | None) -> Figure | None:
    """Of errors in 100 decisions, or of amounts."""
    scale = 100 if study is None or study.settings.amount is None else 1
    return drawn([point.eta for point in points], [point.error for point in points], scale) if points else None


def _labels(study: StudyFolder | None) -> tuple[str, ...]:
    """The outcomes, or what stands for two where there are none any more; of amounts none."""
    if study is not None and study.settings.amount is not None:
        return ()
    try:
        labels = () if study is None else _outcomes(study)
    except InputError:
        labels = ()
    return labels if len(labels) >= 2 else ("0", "1")
