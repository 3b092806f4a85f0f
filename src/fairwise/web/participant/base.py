"""Base of all participants' pages: the participant of an address, their language, and their forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from fairwise.store import answers, participants
from fairwise.store.deliberation import shown_again
from fairwise.store.errors import NotOpen, NotYet, RoundOver, Unknown
from fairwise.store.housekeeping import Housekeeper
from fairwise.store.participants import Participant
from fairwise.store.quotas import Quotas
from fairwise.store.study_state import FIRST, require_open, standing
from fairwise.study.folder import Edition, StudyFolder
from fairwise.study.recruitment import Keys, filled
from fairwise.study.settings import ANSWERING, ENDS, Stage, StudyState
from fairwise.study.texts import marked
from fairwise.web.participant.answering import Answering
from fairwise.web.shared import views
from fairwise.web.shared.host import Host
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.requests import (
    MOST_FIELDS,
    MOST_QUESTION_FIELDS,
    PARAMETER,
    Form,
    read_form,
    visitor_language,
)

if TYPE_CHECKING:
    Handler = Callable[[Request], Awaitable[Response]]

T = TypeVar("T")
P = ParamSpec("P")
COOKIE = "fairwise_participant"
"""Cookie by which a device knows the participant who started on it."""

CHOOSE = marked("Choose one of the answers")
LONGEST_NONCE = 28  # of a form; a column of 32 has room for which of its answers it is


@dataclass(frozen=True)
class Services:
    """Everything that the pages of a study work with until its files change."""

    host: Host
    study: StudyFolder
    pages: Mapping[str, Pages]
    """Pages by language."""

    answering: Answering
    housekeeper: Housekeeper


class ParticipantPages(ABC):
    """Pages about one thing. A GET changes nothing; a POST changes, then redirects to a GET."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._folder, self._settings = services.study, services.study.settings
        self._keys, self._quotas = Keys(self._folder.secret), Quotas.of(self._settings)
        self._store, self._prefix = services.host.store, services.host.prefix

    @abstractmethod
    def routes(self) -> list[Route]:
        """Return the addresses of these pages."""

    def _get(self, path: str, handler: Handler, *, always: bool = False, late: bool = False) -> Route:
        """Return a page; `always` also while the study is not open, `late` also after the first round."""
        return Route(path, handler if always else self._while_open(handler, late=late), methods=["GET"])

    def _post(self, path: str, handler: Handler, *, always: bool = False, late: bool = False) -> Route:
        return Route(path, handler if always else self._while_open(handler, late=late), methods=["POST"])

    # Paused and closed. Pages use a state that is a second old at most; every write checks it again.

    @property
    def _is_open(self) -> bool:
        return self._services.host.standing.state == StudyState.OPEN

    @property
    def _is_first_round_over(self) -> bool:
        until = self._settings.deliberation.until
        return self._services.host.standing.first_is_over(datetime.now(UTC), until)

    def _while_open(self, handler: Handler, *, late: bool) -> Handler:
        """Shut own pages while the study is not open and after the first round, except for those who are done."""

        async def answer_while_open(request: Request) -> Response:
            is_over = not late and self._is_first_round_over
            if (is_over or not self._is_open) and "token" in request.path_params:
                with suppress(Unknown):
                    if (await self._participant(request)).stage not in ENDS:
                        raise RoundOver if self._is_open else NotOpen
            return await handler(request)

        return answer_while_open

    async def not_open(self, request: Request, resume: views.Resume | None = None, way_here: str = "") -> Response:
        """Say that the study is not open; a form that was sent is kept in the page, to be sent again."""
        state = await self._store.read(standing)
        sent = dict((await read_form(request, MOST_QUESTION_FIELDS)).fields) if request.method == "POST" else None
        own, pairs = None, []
        if "token" in request.path_params:
            with suppress(Unknown):  # a personal link that nobody has used
                await self._participant(request)
                own, pairs = self._own(request), await self._read(request, answers.appearances_of)
        is_closed = state.state == StudyState.CLOSED
        return self._page(
            request,
            "not_open",
            status=200 if sent is None else 409,
            own=own,
            closed=is_closed,
            here=way_here if way_here and sent is None else f"{self._prefix}{request.scope['path']}",
            resume=resume,
            sent=sent,
            result=is_closed and state.result_shown and any(pair.answer for pair in pairs),
            way_here=way_here,
        )

    async def round_over(self, request: Request, resume: views.Resume | None = None, way_here: str = "") -> Response:
        """Say that the first round is over, and what a participant can still do."""
        own, next_step = None, ""
        if "token" in request.path_params:
            with suppress(Unknown):  # a personal link that nobody has used
                participant = await self._participant(request)
                own, pairs = self._own(request), await self._read(request, answers.appearances_of)
                if self._services.host.standing.round != FIRST:
                    most = self._settings.deliberation.pairs
                    next_step = "second-round" if await self._read(request, shown_again, most=most) else ""
                elif participant.stage in ANSWERING and len(pairs) == self._settings.pairs:
                    next_step = "closing" if all(pair.answer for pair in pairs) else ""
        is_sent = request.method == "POST"
        return self._page(
            request,
            "round_over",
            status=409 if is_sent else 200,
            own=own,
            way_on=next_step,
            resume=resume,
            sent=is_sent and own is not None,
            way_here=way_here,
        )

    # Pages

    def _pages(self, request: Request, arm: str | None = None) -> Pages:
        """Return the pages in the visitor's language, as participants of an experiment group see them."""
        return self._services.pages[visitor_language(request.scope)].in_arm(arm)

    def _page(
        self, request: Request, template: str, arm: str | None = None, *, status: int = 0, **values: Any
    ) -> HTMLResponse:
        """Return a page; its status is 422 if there is a `problem` and no other is given."""
        html = self._pages(request, arm).render(template, **values)
        return HTMLResponse(html, status or (422 if values.get("problem") else 200))

    def _own_page(
        self, request: Request, template: str, arm: str | None = None, *, status: int = 0, **values: Any
    ) -> HTMLResponse:
        """Return a page of the participant whose token is in the address."""
        return self._page(request, template, arm, status=status, own=self._own(request), **values)

    def _say(self, request: Request, words: str) -> str:
        return self._pages(request).translate(words)

    def _message(self, request: Request, status: int, heading: str, text: str, **values: str) -> HTMLResponse:
        """Return a page that says something in the visitor's language."""
        heading, text = self._say(request, heading), self._say(request, text)
        return self._page(request, "message", status=status, heading=heading, text=text, **values)

    def _changed_too_often(self, request: Request) -> Response:
        heading = marked("You have changed this answer very often")
        text = marked("Your last answer to this pair is saved. It cannot be changed any more. You can go on.")
        return self._message(request, 409, heading, text, back=self._own(request).path)

    async def _no_place(self, request: Request) -> Response:
        """Say that others have taken the place of someone who agreed but did not answer for too long."""
        participant = await self._participant(request)
        address = self._settings.recruitment.screened_out_url
        if address:
            address = filled(address, panel_id=participant.panel_id, session=participant.panel_session, code="")
        return self._own_page(
            request,
            "screened_out",
            status=409 if request.method == "POST" else 200,
            full=True,
            back=views.WayBack.to(participant.came_by, address or None),
            way_here=self._own(request).path,
        )

    def _edition(self, request: Request, arm: str | None = None) -> Edition:
        return self._folder.editions[visitor_language(request.scope)].in_arm(arm)

    def _own(self, request: Request) -> views.OwnPages:
        token = request.path_params["token"]
        path = f"{self._prefix}/p/{token}"
        # On another device participants continue in the same language.
        language = f"?{PARAMETER}={visitor_language(request.scope)}" if len(self._services.pages) > 1 else ""
        link = f"{request.url.scheme}://{request.url.netloc}{path}{language}"
        return views.OwnPages(path=path, link=link, csrf=self._keys.form(token))

    # The store

    def _hash(self, request: Request) -> bytes:
        return self._keys.hashed(request.path_params["token"])

    async def _read(
        self,
        request: Request,
        query: Callable[Concatenate[Connection, bytes, P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T:
        """Return the result of a query about this participant."""
        token_hash = self._hash(request)
        return await self._store.read(lambda connection: query(connection, token_hash, *args, **options))

    async def _write(
        self,
        request: Request,
        change: Callable[Concatenate[Connection, bytes, P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T:
        """Change something of this participant while the study is open."""
        token_hash = self._hash(request)
        return await self._write_while_open(lambda connection: change(connection, token_hash, *args, **options))

    async def _write_while_open(self, change: Callable[[Connection], T]) -> T:
        def write(connection: Connection) -> T:
            require_open(connection)  # in the same transaction
            return change(connection)

        return await self._store.write(write)

    async def _participant(self, request: Request) -> Participant:
        return await self._read(request, participants.find)

    async def _participant_at(self, request: Request, *stages: Stage) -> Participant:
        participant = await self._participant(request)
        if participant.stage not in stages:
            raise NotYet
        return participant

    async def _arm(self, request: Request) -> str | None:
        """Return the participant's experiment group; studies without groups need no query."""
        return (await self._participant(request)).arm if self._settings.arms else None

    # Forms and redirects

    async def _own_form(self, request: Request, most_fields: int = MOST_FIELDS) -> Form:
        """Return the form if it was made for this participant."""
        form = await read_form(request, most_fields)
        if not self._keys.is_form(request.path_params["token"], form.text("csrf", 200)):
            raise HTTPException(403)
        return form

    def _forget_device(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path=f"{self._prefix}/")

    def _to(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self._prefix}{path}", 303)

    def _to_own(self, request: Request, path: str) -> RedirectResponse:
        return self._to(f"/p/{request.path_params['token']}{path}")
