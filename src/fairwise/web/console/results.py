"""Results: the chosen model, reports and their links, and votes on a trade-off."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from functools import cache, partial

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.errors import InputError
from fairwise.messages import marked
from fairwise.results.fits import best_trade_offs
from fairwise.store.errors import NotYet
from fairwise.store.fit_files import REPORTS, Fitted
from fairwise.store.jobs import Job, all_jobs, find_job, job_of_link, links_of, make_link, revoke_link
from fairwise.store.study_state import Standing, choose, standing
from fairwise.store.votes import (
    LEAST_OPTIONS,
    MOST_OPTIONS,
    Option,
    Vote,
    cast_ballots,
    close_vote,
    decide,
    ended_vote,
    last_vote,
    open_vote,
)
from fairwise.study.deliberation import FEWEST, Rule
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.web.console.base import ConsolePages, Rendering, console_language, get, post
from fairwise.web.shared.host import Host
from fairwise.web.shared.pages import Pages, pages_of
from fairwise.web.shared.requests import whole_number
from fairwise.web.shared.security import plain_page
from fairwise.web.shared.views import Result, letter_of, result_of

_LONGEST_WHY = 1000
VOTING_RULES = {
    Rule.APPROVAL: marked("Approval: everyone ticks what they find acceptable; what most people tick is chosen"),
    Rule.BORDA: marked("Points: everyone puts all options in order; each option below one gives it a point"),
    Rule.CONDORCET: marked("Majorities: what a majority prefers to each other option; if there is none, by points"),
}
# What the store refuses, so that it can be said in the console's languages.
VOTE_REFUSALS = (
    marked("A vote is open already. End it before you open another."),
    marked("Choose three to five points that differ."),
    marked("Say why you decide otherwise than the panel."),
)
_GROUPINGS = {"relation": marked("By relation to the decision"), "arm": marked("By experiment group")}


class VotingPages(ConsolePages):
    """One vote at a time; the page is about the last one."""

    @get("/admin/vote", "viewer")
    async def show(self, request: Request, problem: str | None = None) -> Response:
        self._study()
        vote, count = await self._store.read(_last_and_count)
        frontiers = {} if vote is not None and vote.is_open else await self._store.read(self._frontiers)
        return self._page(
            request,
            "votes",
            problem=problem,
            vote=vote,
            count=count,
            fewest=FEWEST,
            letters=[letter_of(at) for at in range(MOST_OPTIONS)],
            frontiers=frontiers,
            rules=VOTING_RULES,
            kinds=_GROUPINGS,
            relations={one.name: one.words for one in self._study().settings.relations},
            typed=request.state.form.fields if request.method == "POST" else {},
            longest=_LONGEST_WHY,
        )

    def _frontiers(self, connection: Connection) -> dict[int, list[Option]]:
        """Points of every fit that is done and has enough of them, by its number; of amounts there are none."""
        if self._study().settings.amount is not None:
            return {}
        frontiers = {}
        for job in all_jobs(connection):
            fitted = Fitted.of(self._host.path, job.id) if job.state == "done" else None
            points = [] if fitted is None else best_trade_offs(fitted.frontier, of_amounts=False)
            if len(points) >= LEAST_OPTIONS:
                frontiers[job.id] = [Option.of(point) for point in points]
        return frontiers

    @post("/admin/vote/open", "owner")
    async def begin(self, request: Request) -> Response:
        form = request.state.form
        job_id, name = form.number("fit", 1, 10**9) or 0, form.text("rule", 16)
        points = (await self._store.read(self._frontiers)).get(job_id, [])
        chosen = [point for at, point in enumerate(points) if f"point-{job_id}-{at}" in form.fields]
        rule = next((rule for rule in Rule if rule == name), Rule.APPROVAL)
        by, at = request.state.operator.name, datetime.now(UTC)
        change = partial(open_vote, job_id=job_id, rule=rule, options=chosen, by=by, at=at)
        try:
            await self._log_change(request, "vote opened", f"fit {job_id}", change)
        except InputError as error:
            return await self.show(request, str(error))
        return self._to("/vote?done=vote-opened")

    @post("/admin/vote/close", "owner")
    async def end(self, request: Request) -> Response:
        vote_id = request.state.form.number("vote", 1, 10**9) or 0
        change = partial(close_vote, vote_id=vote_id, at=datetime.now(UTC))
        await self._log_change(request, "vote ended", f"vote {vote_id}", change)
        return self._to("/vote?done=vote-ended")

    @post("/admin/vote/decide", "owner")
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
            await self._log_change(request, "vote decided", about, change)
        except InputError as error:
            return await self.show(request, str(error))
        except NotYet:
            return self._to("/vote")
        return self._to("/vote?done=vote-decided")


def _last_and_count(connection: Connection) -> tuple[Vote | None, int]:
    """Return the last vote and the number of ballots, which is all that is shown while it is open."""
    vote = last_vote(connection)
    if vote is None:
        return None, 0
    return vote, len(cast_ballots(connection, vote.id)) if vote.tally is None else vote.tally.count


# The report is a page of its own, with its style and its script inside. In a sandbox it has no origin, so whatever it
# does it can neither read nor send anything of the study; printing is a dialogue, which a sandbox must allow.
REPORT_POLICY = (
    "sandbox allow-scripts allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Its address may be a key, so nobody is told where a reader came from.
# The same whatever the reason, so that nobody learns from it which links there were.
_NO_REPORT = (
    marked("There is no report here"),
    marked(
        "The link was revoked or is not complete, or the report is just being made anew. Ask whoever gave you the link."
    ),
)
_HEADERS = {"content-security-policy": REPORT_POLICY, "referrer-policy": "no-referrer"}
_END = "</main>"


def read_report(host: Host, job: Job, language: str) -> str | None:
    """Return the report of a finished fit in a language, or in English if it has no other; None without a report."""
    fitted = Fitted.of(host.path, job.id) if job.state == "done" else None
    if fitted is None:
        return None
    for code in dict.fromkeys((language if language in REPORTS else "en", "en")):
        file = fitted.file(REPORTS[code])
        if file is not None:
            return with_vote(file.read_text("utf-8"), host, job.id, code)
    return None


def report_language(request: Request, host: Host) -> str:
    """Return the language in the address, or the study's first."""
    first = "en" if host.study is None else host.study.settings.languages[0]
    code = request.query_params.get("lang", first)
    return code if code in REPORTS else "en"


class ReportPages(ConsolePages):
    """Viewers read a report; owners say who else may."""

    @get("/admin/fits/{id:number}/report", "viewer")
    async def report(self, request: Request) -> Response:
        job = await self._job(request)
        html = await asyncio.to_thread(read_report, self._host, job, report_language(request, self._host))
        if html is None:
            raise HTTPException(404)
        return HTMLResponse(html, headers=_HEADERS)

    @get("/admin/fits/{id:number}/links", "owner")
    async def links(self, request: Request, link: str | None = None) -> Response:
        job = await self._job(request)
        return self._page(
            request,
            "report_links",
            job=job,
            links=await self._store.read(partial(links_of, job_id=job.id)),
            made=link,
            once=Keys.new(),
        )

    @post("/admin/fits/{id:number}/links", "owner")
    async def make(self, request: Request) -> Response:
        """Show the link, which is kept nowhere; the same form sent again makes the same link, not another."""
        job, once = await self._job(request), request.state.form.text("once", 40)
        if not once:
            return await self.links(request)
        token = self._host.keys.token(f"report {job.id} {once}")
        keep = partial(
            make_link,
            token_hash=Keys.hashed(token),
            job_id=job.id,
            operator_name=request.state.operator.name,
            at=datetime.now(UTC),
        )
        await self._log_change(request, "report link made", f"fit {job.id}", keep)
        base = f"{request.url.scheme}://{request.url.netloc}{self._host.prefix}"
        return await self.links(request, f"{base}/report/{token}")

    @post("/admin/fits/{id:number}/links/{link:number}/revoke", "owner")
    async def revoke(self, request: Request) -> Response:
        job, link_id = await self._job(request), request.path_params["link"]
        if link_id not in {link.id for link in await self._store.read(partial(links_of, job_id=job.id))}:
            raise HTTPException(404)
        revoke = partial(revoke_link, job_id=job.id, link_id=link_id, at=datetime.now(UTC))
        await self._log_change(request, "report link revoked", f"fit {job.id}, link {link_id}", revoke)
        return self._to(f"/fits/{job.id}/links?done=report-link-revoked")

    async def _job(self, request: Request) -> Job:
        job = await self._store.read(partial(find_job, job_id=request.path_params["id"]))
        if job is None:
            raise HTTPException(404)
        return job


def public_report_route(host: Host) -> Route:
    """Return the page of a report link; it shows the model as it is now, or nothing."""

    async def report(request: Request) -> Response:
        look_up = partial(job_of_link, token_hash=Keys.hashed(request.path_params["token"]))
        job = await host.store.read(look_up)
        language = report_language(request, host)
        translate = console_language(language).translate
        html = None if job is None else await asyncio.to_thread(read_report, host, job, language)
        # Somebody may have withdrawn, or the link been revoked, while the file was read.
        current = await host.store.read(look_up)
        if (
            html is None
            or job is None
            or current is None
            or (current.state, current.restarts) != (job.state, job.restarts)
        ):
            return plain_page(translate(_NO_REPORT[0]), translate(_NO_REPORT[1]), 404, language)
        return HTMLResponse(html, headers=_HEADERS)

    return Route("/report/{token}", report, methods=["GET"])


def with_vote(html: str, host: Host, job_id: int, language: str) -> str:
    """Return the report with a last section about the vote, if one has ended."""
    place, vote = html.rfind(_END), host.store.read_now(partial(ended_vote, job_id=job_id))
    if vote is None or vote.tally is None or place < 0:
        return html
    section = _rendering().page(
        "report_vote",
        language,
        vote=vote,
        rule=VOTING_RULES[vote.rule],
        letters=[letter_of(at) for at in range(MOST_OPTIONS)],
        tally=vote.tally,
    )
    return html[:place] + section + html[place:]


@cache
def _rendering() -> Rendering:
    """Return templates for sections without links."""
    return Rendering("")


class ResultPages(ConsolePages):
    """Result of the study, and whether participants see it."""

    _cached: tuple[StudyFolder, Pages] | None = None

    @get("/admin/results", "viewer")
    async def results(self, request: Request) -> Response:
        state, job = await self._store.read(_chosen)
        fitted = None if job is None else Fitted.of(self._host.path, job.id)
        place = None if fitted is None else fitted.own_place
        own = None if fitted is None or place is None else fitted.frontier[place]
        not_followed = Counter[str](one.judge for one in own.judgments) if own is not None else Counter[str]()
        example = next((judge for judge, _ in not_followed.most_common(1)), "")
        return self._page(
            request,
            "results",
            job=job,
            standing=state,
            shown=state.result_shown,
            summary=None if fitted is None else fitted.summary,
            touched=None if own is None else len(not_followed),
            touched_exactly=own is not None and len(own.judgments) == own.not_followed,
            example=example.removeprefix("p").lstrip("0") or "1",
        )

    @post("/admin/results/shown", "owner")
    async def show(self, request: Request) -> Response:
        """Show or hide the result of the model that was chosen when the page was made."""
        form = request.state.form
        choice, job_id = form.text("shown", 8), form.number("job", 1, 10**9)
        if choice not in ("yes", "no") or job_id is None:
            raise HTTPException(404)
        state, _ = await self._store.read(_chosen)
        if state.chosen_job_id != job_id:
            return self._to("/results?done=another-chosen")
        change = partial(choose, job_id=job_id, shown=choice == "yes")
        await self._log_change(request, "result shown" if choice == "yes" else "result hidden", f"fit {job_id}", change)
        return self._to(f"/results?done=result-{'shown' if choice == 'yes' else 'hidden'}")

    @get("/admin/results/preview", "viewer")
    async def preview(self, request: Request) -> Response:
        """Show the result page of one participant."""
        number, study = whole_number(request.query_params.get("participant", "")), self._host.study
        if study is None or number is None:
            raise HTTPException(404)

        def find_result(connection: Connection) -> Result | None:
            _, job = _chosen(connection)
            return None if job is None else result_of(connection, study, job, number, study.settings.languages[0])

        result = await self._store.read(find_result)
        if result is None:
            raise HTTPException(404)
        return HTMLResponse((await self._pages(study)).render("result", result=result))

    async def _pages(self, study: StudyFolder) -> Pages:
        if self._cached is None or self._cached[0] is not study:
            pages = await asyncio.to_thread(pages_of, study, self._host.prefix)
            self._cached = (study, pages[study.settings.languages[0]])
        return self._cached[1]


def _chosen(connection: Connection) -> tuple[Standing, Job | None]:
    state = standing(connection)
    return state, None if state.chosen_job_id is None else find_job(connection, state.chosen_job_id)
