"""Who is asking for a page: the participant of its address, the language they read, the form they sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

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
from fairwise.web.shared.forms import MOST_FIELDS, MOST_QUESTION_FIELDS, Form, read_form
from fairwise.web.shared.host import Host
from fairwise.web.shared.language_choice import PARAMETER, language_of
from fairwise.web.shared.pages import Pages

if TYPE_CHECKING:
    Handler = Callable[[Request], Awaitable[Response]]

T = TypeVar("T")
P = ParamSpec("P")
COOKIE = "fairwise_participant"
"""By which a device knows who began on it."""

LONGEST_NONCE = 28  # of a form; a column of 32 has room for which of its answers it is


@dataclass(frozen=True)
class Services:
    """What the pages of a study work with, as long as its files stay as they are."""

    host: Host
    study: StudyFolder
    pages: Mapping[str, Pages]
    """In each of the study's languages."""

    answering: Answering
    housekeeper: Housekeeper


class ParticipantPages(ABC):
    """What every page of a participant needs to know, and where it may lead."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._folder, self._settings = services.study, services.study.settings
        self._keys, self._quotas = Keys(self._folder.secret), Quotas.of(self._settings)
        self._store, self._prefix = services.host.store, services.host.prefix

    @abstractmethod
    def routes(self) -> list[Route]: ...

    def _get(self, path: str, handler: Handler, *, always: bool = False, late: bool = False) -> Route:
        """A page; ``always`` also while the study is paused, and after it was closed; ``late``: after round 1."""
        return Route(path, handler if always else self._while_open(handler, late=late), methods=["GET"])

    def _post(self, path: str, handler: Handler, *, always: bool = False, late: bool = False) -> Route:
        return Route(path, handler if always else self._while_open(handler, late=late), methods=["POST"])

    # Paused and closed. Pages go by what was known a second ago at most; whatever is written is checked with it.

    @property
    def _is_open(self) -> bool:
        return self._services.host.standing.state == StudyState.OPEN

    @property
    def _first_is_over(self) -> bool:
        """Whether nobody may begin or answer in the first round any more."""
        stands, until = self._services.host.standing, self._settings.deliberation.until
        return stands.first_is_over(datetime.now(UTC), until)

    def _while_open(self, answer: Handler, *, late: bool) -> Handler:
        """Own pages are shut while the study is, and after the first round, but for those who have come to an end."""

        async def answer_while_open(request: Request) -> Response:
            over = not late and self._first_is_over
            if (over or not self._is_open) and "token" in request.path_params:
                try:
                    who = await self._participant(request)
                except Unknown:
                    return await answer(request)
                if who.stage not in ENDS:
                    raise RoundOver if self._is_open else NotOpen
            return await answer(request)

        return answer_while_open

    async def not_open(self, request: Request, resume: views.Resume | None = None, way_here: str = "") -> Response:
        """That nobody can answer; what was sent is kept in the page, to be sent again."""
        stands = await self._store.read(standing)
        sent = dict((await read_form(request, MOST_QUESTION_FIELDS)).fields) if request.method == "POST" else None
        own, own_answers = None, []
        if "token" in request.path_params:
            with suppress(Unknown):  # a personal link that nobody has used
                await self._participant(request)
                own, own_answers = self._own(request), await self._read(request, answers.appearances_of)
        closed = stands.state == StudyState.CLOSED
        result = closed and stands.result_shown and any(pair.answer for pair in own_answers)
        here = way_here if way_here and sent is None else f"{self._prefix}{request.scope['path']}"
        page = self._pages(request).not_open(
            own, closed=closed, here=here, resume=resume, sent=sent, result=result, way_here=way_here
        )
        return HTMLResponse(page, 200 if sent is None else 409)

    async def round_over(self, request: Request, resume: views.Resume | None = None, way_here: str = "") -> Response:
        """That the first round is over, and what is left to do."""
        own, way_on = None, ""
        if "token" in request.path_params:
            with suppress(Unknown):  # a personal link that nobody has used
                who = await self._participant(request)
                own, pairs = self._own(request), await self._read(request, answers.appearances_of)
                most = self._settings.deliberation.pairs
                if self._services.host.standing.round != FIRST:
                    way_on = "second-round" if await self._read(request, shown_again, most=most) else ""
                elif who.stage in ANSWERING and len(pairs) == self._settings.pairs and all(p.answer for p in pairs):
                    way_on = "closing"
        sent = request.method == "POST" and own is not None
        page = self._pages(request).round_over(own, way_on=way_on, resume=resume, sent=sent, way_here=way_here)
        return HTMLResponse(page, 409 if request.method == "POST" else 200)

    def _pages(self, request: Request, arm: str | None = None) -> Pages:
        """The pages in the language that this visitor reads, and as those of their arm see them."""
        return self._services.pages[language_of(request.scope)].in_arm(arm)

    def _message(
        self, request: Request, status: int, heading: str, text: str, *, back: str | None = None, way_here: str = ""
    ) -> HTMLResponse:
        """Anything that went another way than planned; words that are marked, in the language of this visitor."""
        pages = self._pages(request)
        heading, text = pages.translate(heading), pages.translate(text)
        return HTMLResponse(pages.message(heading=heading, text=text, back=back, way_here=way_here), status)

    def _changed_too_often(self, request: Request) -> Response:
        heading = marked("You have changed this answer very often")
        text = marked("Your last answer to this pair is saved. It cannot be changed any more. You can go on.")
        return self._message(request, 409, heading, text, back=self._own(request).path)

    async def _no_place(self, request: Request) -> Response:
        """To who agreed, answered nothing for too long, and finds that others came in their place."""
        who = await self._participant(request)
        address = self._settings.recruitment.screened_out_url
        back = filled(address, panel_id=who.panel_id, session=who.panel_session, code="") if address else None
        way_back = views.WayBack.to(who.came_by, back)
        page = self._pages(request).screened_out(
            self._own(request), full=True, back=way_back, way_here=self._own(request).path
        )
        return HTMLResponse(page, 409 if request.method == "POST" else 200)

    def _edition(self, request: Request, arm: str | None = None) -> Edition:
        return self._folder.editions[language_of(request.scope)].in_arm(arm)

    async def _arm(self, request: Request) -> str | None:
        """The arm of this participant; nobody is asked where there are none."""
        return (await self._participant(request)).arm if self._settings.arms else None

    def _hash(self, request: Request) -> bytes:
        return self._keys.hashed(request.path_params["token"])

    async def _read(
        self,
        request: Request,
        question: Callable[Concatenate[Connection, bytes, P], T],
        *args: P.args,
        **more: P.kwargs,
    ) -> T:
        """The answer to a question about this participant."""
        token_hash = self._hash(request)
        return await self._store.read(lambda connection: question(connection, token_hash, *args, **more))

    async def _write(
        self,
        request: Request,
        change: Callable[Concatenate[Connection, bytes, P], T],
        *args: P.args,
        **more: P.kwargs,
    ) -> T:
        """A change of this participant's, while the study is open."""
        token_hash = self._hash(request)
        return await self._write_while_open(lambda connection: change(connection, token_hash, *args, **more))

    async def _write_while_open(self, change: Callable[[Connection], T]) -> T:
        def write(connection: Connection) -> T:
            require_open(connection)  # in the same transaction
            return change(connection)

        return await self._store.write(write)

    async def _participant(self, request: Request) -> Participant:
        return await self._read(request, participants.find)

    async def _participant_at(self, request: Request, *stages: Stage) -> Participant:
        who = await self._participant(request)
        if who.stage not in stages:
            raise NotYet
        return who

    async def _own_form(self, request: Request, most_fields: int = MOST_FIELDS) -> Form:
        """The form, if it was made for this participant."""
        form = await read_form(request, most_fields)
        if not self._keys.is_form(request.path_params["token"], form.text("csrf", 200)):
            raise HTTPException(403)
        return form

    def _own(self, request: Request) -> views.OwnPages:
        token = request.path_params["token"]
        path = f"{self._prefix}/p/{token}"
        base = request.url
        # On another device, too, they read on in the language they have read so far.
        language = f"?{PARAMETER}={language_of(request.scope)}" if len(self._services.pages) > 1 else ""
        link = f"{base.scheme}://{base.netloc}{path}{language}"
        return views.OwnPages(path=path, link=link, csrf=self._keys.form(token))

    def _forget_device(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path=f"{self._prefix}/")

    def _to(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self._prefix}{path}", 303)

    def _to_own(self, request: Request, path: str) -> RedirectResponse:
        return self._to(f"/p/{request.path_params['token']}{path}")
