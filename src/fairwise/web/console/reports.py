"""Reports: reading one in either language, and links by which others may read it without an account.

What the panel chose is put into the report of the model that was voted on whenever somebody reads it. A vote comes
after the report was written, ballots go with who withdraws, and a decision may change: so none of it is kept in the
file.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import cache, partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store.fit_files import REPORTS, Fitted
from fairwise.store.jobs import Job, find_job, job_of_link, links_of, make_link, revoke_link
from fairwise.store.votes import MOST_OPTIONS, ended_vote
from fairwise.study.recruitment import Keys
from fairwise.study.texts import marked
from fairwise.web.console.base import ConsolePages, ConsoleRoute
from fairwise.web.console.rendering import Rendering, console_language
from fairwise.web.console.votes import RULES
from fairwise.web.shared.host import Host
from fairwise.web.shared.security import plain_page
from fairwise.web.shared.vote_views import letter_of

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
    """The report of a fit that is done, in a language or, of fits that have it in one only, in that; else None."""
    fitted = Fitted.of(host.path, job.id) if job.state == "done" else None
    if fitted is None:
        return None
    for code in dict.fromkeys((language if language in REPORTS else "en", "en")):
        file = fitted.file(REPORTS[code])
        if file is not None:
            return with_vote(file.read_text("utf-8"), host, job.id, code)
    return None


def language_asked(request: Request, host: Host) -> str:
    """The one in the address, or the study's first."""
    first = "en" if host.study is None else host.study.settings.languages[0]
    asked = request.query_params.get("lang", first)
    return asked if asked in REPORTS else "en"


class ReportPages(ConsolePages):
    """Viewers read a report; owners say who else may."""

    async def report(self, request: Request) -> Response:
        job = await self._job(request)
        html = await self._beside(read_report, self._host, job, language_asked(request, self._host))
        if html is None:
            raise HTTPException(404)
        return HTMLResponse(html, headers=_HEADERS)

    async def links(self, request: Request, made: str | None = None) -> Response:
        job = await self._job(request)
        return self._page(
            request,
            "report_links",
            job=job,
            links=await self._read(partial(links_of, job_id=job.id)),
            made=made,
            once=Keys.new(),
        )

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
        await self._noted(request, "report link made", f"fit {job.id}", keep)
        base = f"{request.url.scheme}://{request.url.netloc}{self._host.prefix}"
        return await self.links(request, f"{base}/report/{token}")

    async def revoke(self, request: Request) -> Response:
        job, link_id = await self._job(request), request.path_params["link"]
        if link_id not in {link.id for link in await self._read(partial(links_of, job_id=job.id))}:
            raise HTTPException(404)
        revoke = partial(revoke_link, job_id=job.id, link_id=link_id, at=datetime.now(UTC))
        await self._noted(request, "report link revoked", f"fit {job.id}, link {link_id}", revoke)
        return self._to(f"/fits/{job.id}/links?done=report-link-revoked")

    async def _job(self, request: Request) -> Job:
        job = await self._read(partial(find_job, job_id=request.path_params["id"]))
        if job is None:
            raise HTTPException(404)
        return job

    routes = (
        ConsoleRoute("GET", "/admin/fits/{id:number}/report", report, "viewer"),
        ConsoleRoute("GET", "/admin/fits/{id:number}/links", links, "owner"),
        ConsoleRoute("POST", "/admin/fits/{id:number}/links", make, "owner"),
        ConsoleRoute("POST", "/admin/fits/{id:number}/links/{link:number}/revoke", revoke, "owner"),
    )


def public_report_route(host: Host) -> Route:
    """The page that such a link leads to: for whoever has it, and of the model as it is now or not at all."""

    async def report(request: Request) -> Response:
        look_up = partial(job_of_link, token_hash=Keys.hashed(request.path_params["token"]))
        job = await host.store.read(look_up)
        language = language_asked(request, host)
        translate = console_language(language).translate
        html = None if job is None else await asyncio.to_thread(read_report, host, job, language)
        # Somebody may have withdrawn, or the link been revoked, while the file was read.
        again = await host.store.read(look_up)
        if html is None or job is None or again is None or (again.state, again.restarts) != (job.state, job.restarts):
            return plain_page(translate(_NO_REPORT[0]), translate(_NO_REPORT[1]), 404, language)
        return HTMLResponse(html, headers=_HEADERS)

    return Route("/report/{token}", report, methods=["GET"])


def with_vote(html: str, host: Host, job_id: int, language: str) -> str:
    """The report with a last section about the vote that has ended; as it is if there is none."""
    place, vote = html.rfind(_END), host.store.read_now(partial(ended_vote, job_id=job_id))
    if vote is None or vote.tally is None or place < 0:
        return html
    section = _rendering().page(
        "report_vote",
        language,
        vote=vote,
        rule=RULES[vote.rule],
        letters=[letter_of(at) for at in range(MOST_OPTIONS)],
        tally=vote.tally,
    )
    return html[:place] + section + html[place:]


@cache
def _rendering() -> Rendering:
    """Of sections without links."""
    return Rendering("")
