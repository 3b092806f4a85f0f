"""How people come in: by whichever way they came, to the consent page, and from there to their own pages."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial

import segno
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fairwise.store import participants
from fairwise.store.errors import Full, NotInvited, NotListed, StoreProblem, TakesPartAlready, Unknown, Withdrew
from fairwise.store.export import has_real_people
from fairwise.store.recruitment import invitation
from fairwise.store.rooms import Room, find_room, read_code
from fairwise.store.study_state import require_first_round
from fairwise.study.recruitment import (
    FORCED_AGENT,
    PANELS,
    ROOM,
    SIMULATED_AGENT,
    Arrival,
    Incomplete,
    NotSigned,
    filled,
)
from fairwise.study.settings import ENDS, first_stage
from fairwise.study.texts import marked
from fairwise.web.participant.base import COOKIE, ParticipantPages, Services
from fairwise.web.participant.panel import PanelDoor, Visitor, consent_subject, form_subject
from fairwise.web.participant.talking import TalkingPages
from fairwise.web.shared import views
from fairwise.web.shared.attempts import SECONDS, Attempts, consent_limits
from fairwise.web.shared.forms import read_form
from fairwise.web.shared.security import cookie_of

_DAY = 24 * 3600
_MONTH = 30 * _DAY
_REFRESH_SECONDS = 15
_TALK_BEGINS_SECONDS = 3  # on a wall whose room is about to talk, and everybody looks at it
_LONGEST_KEY = 400
_NOT_ME = "not me"

# Only programs read this.
_AMONG_PEOPLE = "Real people have answered this study: simulated ones are let in by --force alone"

_NO_SUCH_ROOM = marked("There is no open room with this code. Look at the code again, or ask whoever gave it to you")
_TEXT_CHANGED = marked("This text was changed while you were reading. Please read it again, then say whether you agree")

_REFUSALS: dict[type[StoreProblem], tuple[int, str, str]] = {
    NotInvited: (
        410,
        marked("This link no longer works"),
        marked("Whoever gave it to you has closed it. Ask them for another one."),
    ),
    NotListed: (
        403,
        marked("Your ID is not on the list"),
        marked("Only people whose ID is on a list can take part. Write to those who run the study."),
    ),
}


class ConsentPages(ParticipantPages):
    """Everything before someone takes part. Nobody is counted, and nothing is kept, until they agree."""

    def __init__(self, services: Services, talking: TalkingPages) -> None:
        super().__init__(services)
        self._talking = talking
        self._attempts = Attempts(self._folder.path, self._keys)
        self._panel = PanelDoor(self._settings.recruitment, self._keys)

    def routes(self) -> list[Route]:
        return [
            self._get("/", self.welcome),
            self._post("/not-me", self.not_me),
            self._post("/consent", self.consent),
            self._get("/consent", self.again),
            self._get("/declined", self.declined),
            self._get("/room", self.ask_code),
            self._post("/room", self.take_code),
            self._get("/room/{code}", self.room),
            self._get("/room/{code}/wall", self.wall),
        ]

    async def welcome(self, request: Request) -> Response:
        """For those who come by the open link or from the panel."""
        try:
            sent = self._panel.visitor(request.query_params)
        except (Incomplete, NotSigned):
            return self._incomplete(request) if self._is_open else await self.not_open(request)
        visitor = sent or Visitor(Arrival.by_open_link())
        if sent is not None or self._settings.recruitment.open or not self._is_open:
            return await self._ask_consent(request, visitor)
        resume = await self._resumed(request, visitor)
        return HTMLResponse(self._pages(request).closed_door(code_csrf=self._code_form(), resume=resume))

    async def not_me(self, request: Request) -> Response:
        """Forget who began on this device, for whoever uses it now."""
        form = await read_form(request)
        visitor = self._panel.returned(form.text("start_key", _LONGEST_KEY))
        if visitor is None or not self._keys.is_form(form_subject(_NOT_ME, visitor), form.text("csrf", 200)):
            raise HTTPException(403)
        response = self._to(self._panel.address(visitor))
        self._forget_device(response)
        return response

    def _incomplete(self, request: Request) -> Response:
        pages, panel = self._pages(request), PANELS[self._settings.recruitment.panel]
        text = marked("Go back to %(panel)s, accept the study there, and open it again from there.")
        heading, text = pages.translate(marked("This link is not complete")), pages.translate(text) % {"panel": panel}
        return HTMLResponse(pages.message(heading=heading, text=text), 404)

    async def invited(self, request: Request) -> Response:
        """For those who open a personal link by which nobody takes part (any more)."""
        token = request.path_params["token"]
        state = await self._read(request, invitation)
        if state == "invited":
            return await self._ask_consent(request, Visitor(Arrival.by_personal_link(token)))
        if state == "withdrawn":
            return HTMLResponse(self._pages(request).withdrawn())
        if state == "revoked":
            return self._refused(request, Visitor(Arrival.by_personal_link(token)), NotInvited())
        raise Unknown

    async def again(self, request: Request) -> Response:
        """For a reload of what was a form."""
        text = marked("Open the link again by which you came here.")
        return self._message(request, 404, marked("This page cannot be opened like that"), text)

    def _way_here(self, visitor: Visitor) -> str:
        return f"{self._prefix}{self._panel.address(visitor)}"

    # Rooms

    async def ask_code(self, request: Request) -> Response:
        return self._ask_code(request)

    def _ask_code(self, request: Request, problem: str | None = None, typed: str = "") -> Response:
        pages = self._pages(request)
        words = None if problem is None else pages.translate(problem)
        page = pages.closed_door(code_csrf=self._code_form(), problem=words, typed=typed)
        return HTMLResponse(page, 422 if problem else 200)

    async def take_code(self, request: Request) -> Response:
        form = await read_form(request)
        if not self._keys.is_form("room", form.text("csrf", 200)):
            raise HTTPException(403)
        typed = form.text("code", 40)
        code = read_code(typed)
        room = await self._store.read(partial(find_room, code=code))
        if room is None or not room.is_open:
            return self._ask_code(request, _NO_SUCH_ROOM, typed)
        return self._to(f"/room/{code}")

    async def room(self, request: Request) -> Response:
        room = await self._room(request)
        if room is None or not room.is_open:
            return self._ask_code(request, _NO_SUCH_ROOM)
        visitor = Visitor(Arrival.into_room(room.code))
        resume = await self._resumed(request, visitor)
        if resume is None or not self._is_open:
            return await self._ask_consent(request, visitor)
        # In a room devices go from hand to hand: nobody is shown another's answers for want of a question.
        return HTMLResponse(self._pages(request).whose_device(resume=resume, way_here=self._way_here(visitor)))

    async def wall(self, request: Request) -> Response:
        """For the wall: the code, large, and as a picture for phones."""
        room = await self._room(request)
        if room is None:
            raise Unknown
        talking = await self._talking.wall(request, room)
        if talking is not None:
            return talking
        here = request.url
        address = f"{here.scheme}://{here.netloc}{self._prefix}/room"
        picture = segno.make(f"{address}/{room.code}", micro=False)
        qr = Markup(picture.svg_inline(border=2, omitsize=True, dark="#000", light="#fff"))  # noqa: S704 - drawn here
        page = self._pages(request).wall(room, address=address, qr=qr)
        seconds = _TALK_BEGINS_SECONDS if self._settings.deliberation.rooms else _REFRESH_SECONDS
        return HTMLResponse(page, headers={"refresh": str(seconds)})

    async def _room(self, request: Request) -> Room | None:
        code = read_code(request.path_params["code"])
        return await self._store.read(partial(find_room, code=code))

    def _code_form(self) -> str:
        return self._keys.form("room")

    # Consent

    async def _ask_consent(self, request: Request, visitor: Visitor, problem: str | None = None) -> Response:
        arrival = visitor.arrival
        resume, way = await self._resumed(request, visitor), self._way_here(visitor)
        if not self._is_open:
            if arrival.came_by == ROOM:  # devices go from hand to hand
                resume = None
            return await self.not_open(request, resume, way)
        if self._first_is_over:
            return await self.round_over(request, resume if arrival.came_by != ROOM else None, way)
        if resume is None and arrival.came_by in PANELS:
            look = partial(participants.panel_state, arrival=arrival, mark=self._mark(arrival), signed=visitor.signed)
            state = await self._store.read(partial(look, contests=visitor.contests))
            if state is not None:
                return self._refused(request, visitor, state)
        if resume is None and await self._is_full():
            return self._refused(request, visitor, Full())
        pages = self._pages(request)
        page = pages.consent(
            start_key=arrival.start_key,
            csrf=self._consent_form(request, visitor),
            resume=resume,
            contests=visitor.contests,
            problem=None if problem is None else pages.translate(problem),
            way_here=way,
        )
        return HTMLResponse(page, 422 if problem else 200)

    def _consent_form(self, request: Request, visitor: Visitor) -> str:
        """Signed together with the version of the text that is being read, and with whether a panel vouched."""
        version = self._edition(request).consent_version
        return f"{version}.{self._keys.form(consent_subject(version, visitor))}"

    def _mark(self, arrival: Arrival) -> bytes | None:
        return self._keys.mark(arrival.came_by, arrival.who) if arrival.came_by in PANELS else None

    async def _resumed(self, request: Request, visitor: Visitor) -> views.Resume | None:
        """Where this person left off: told by the panel's link, or by this device if it is the same person.

        Whoever has come to an end on a device has nothing to go on with: the next to use it may be somebody else.
        """
        arrival = visitor.arrival
        own = arrival.token(self._keys) if arrival.is_lasting else None
        for token in (own, cookie_of(request, COOKIE)):
            if token is None:
                continue
            try:
                who = await self._store.read(partial(participants.find, token_hash=self._keys.hashed(token)))
            except Unknown:
                continue
            if token == own:
                return views.Resume(f"{self._prefix}/p/{token}")
            # On a shared machine the last one to come may have been somebody else.
            same = arrival.came_by not in PANELS or arrival.who == who.panel_id
            if same and who.stage not in ENDS:
                if visitor.signed and who.panel_signed:  # the panel vouched both times; else a device is whoever's
                    return views.Resume(f"{self._prefix}/p/{token}")
                csrf = self._keys.form(form_subject(_NOT_ME, visitor))
                return views.Resume(f"{self._prefix}/p/{token}", csrf, arrival.start_key)
        return None

    async def _is_full(self) -> bool:
        at = datetime.now(UTC)
        return self._quotas.most > 0 and await self._store.read(partial(self._quotas.are_full, at=at))

    async def consent(self, request: Request) -> Response:
        form = await read_form(request)
        start_key, decision = form.text("start_key", _LONGEST_KEY), form.text("decision", 20)
        version, _, signature = form.text("csrf", 200).partition(".")
        contests = decision == "contest" or form.text("contests", 3) == "yes"
        visitor = self._panel.returned(start_key, contests=contests)
        if visitor is None or not self._keys.is_form(consent_subject(version, visitor), signature):
            raise HTTPException(403)
        if decision == "decline":
            return self._to("/declined")
        if decision != "agree":
            problem = None if decision == "contest" else marked("Say whether you agree to take part")
            return await self._ask_consent(request, visitor, problem)
        if version != self._edition(request).consent_version:
            return await self._ask_consent(request, visitor, _TEXT_CHANGED)
        try:
            if not await self._may_begin_from_here(request, visitor.arrival):
                return self._too_many(request, visitor)
            return await self._take_part(request, visitor)
        except (Full, NotInvited, NotListed, TakesPartAlready, Withdrew) as problem:
            return self._refused(request, visitor, problem)

    async def _may_begin_from_here(self, request: Request, arrival: Arrival) -> bool:
        """Count who begins from an address; whoever takes part already only sent the form once more."""
        recruitment, address = self._settings.recruitment, request.client.host if request.client else ""
        in_room = arrival.came_by == ROOM
        most = recruitment.most_from_address_in_rooms if in_room else recruitment.most_from_address
        try:
            await self._store.read(partial(participants.find, token_hash=self._keys.hashed(arrival.token(self._keys))))
        except Unknown:
            if await self._is_full():  # asked again when they begin; here it keeps nobody's answer waiting
                raise Full from None
            begin = partial(self._attempts.begin, *consent_limits(address, most, in_room=in_room))
            return await asyncio.to_thread(begin)
        return True

    def _too_many(self, request: Request, visitor: Visitor) -> Response:
        heading = marked("Very many people have begun from this network")
        text = marked(
            "Only so many can begin from one network within a quarter of an hour. Nothing is lost. Please try again in "
            "a quarter of an hour, or from another network."
        )
        way = self._way_here(visitor)
        response = self._message(request, 429, heading, text, back=way, way_here=way)
        response.headers["retry-after"] = str(SECONDS)
        return response

    def _refused(self, request: Request, visitor: Visitor, problem: StoreProblem) -> Response:
        """The same page for whoever asks and for whoever agrees, so that it can be opened again."""
        if isinstance(problem, Full):
            return self._full(request, visitor)
        if type(problem) in _REFUSALS:
            return self._message(request, *_REFUSALS[type(problem)], way_here=self._way_here(visitor))
        left = isinstance(problem, Withdrew)
        # Whoever the panel vouched for is the one who began; of others nobody knows.
        csrf = None if visitor.signed else self._consent_form(request, visitor)
        page = self._pages(request).id_taken(
            start_key=visitor.arrival.start_key,
            csrf=csrf,
            panel=PANELS[visitor.arrival.came_by],
            left=left,
            way_here=self._way_here(visitor),
        )
        return HTMLResponse(page, 200 if left else 409)

    async def _take_part(self, request: Request, visitor: Visitor) -> Response:
        agent = request.headers.get("user-agent", "")
        if agent == SIMULATED_AGENT and not self._settings.simulated and await self._store.read(has_real_people):
            return self._message(request, 409, _AMONG_PEOPLE, "")
        arrival = visitor.arrival
        token, edition = arrival.token(self._keys), self._edition(request)
        consent = participants.Consent(
            token_hash=self._keys.hashed(token),
            version=edition.consent_version,
            at=datetime.now(UTC),
            first_stage=first_stage(self._settings),
            lease=self._quotas.lease,
            hold=self._quotas.hold,
            language=edition.language.code,
            text=participants.ConsentText(edition.consent_language, edition.consent_text),
            arrival=arrival,
            most=self._quotas.most,
            mark=self._mark(arrival),
            group_mark=self._keys.group_mark(arrival.came_by, arrival.who) if arrival.came_by in PANELS else None,
            signed=visitor.signed,
            contests=visitor.contests,
            simulated=agent in (SIMULATED_AGENT, FORCED_AGENT),
        )
        start = partial(
            participants.start,
            consent=consent,
            schedule=self._folder.places,
            new_key=self._keys.new,
            arms=self._folder.arms_at_start,
        )

        def begin(connection: Connection) -> None:
            require_first_round(connection, consent.at, self._settings.deliberation.until)
            start(connection)

        await self._write_while_open(begin)
        response = self._to(f"/p/{token}")
        response.set_cookie(
            COOKIE,
            token,
            max_age=_DAY if arrival.came_by == ROOM else _MONTH,
            path=f"{self._prefix}/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )
        return response

    async def declined(self, request: Request) -> Response:
        return HTMLResponse(self._pages(request).declined())

    def _full(self, request: Request, visitor: Visitor) -> Response:
        arrival, back = visitor.arrival, None
        if arrival.came_by in PANELS and (address := self._settings.recruitment.screened_out_url):
            back = filled(address, panel_id=arrival.who, session=arrival.session, code="")
        way_back, way = views.WayBack.to(arrival.came_by, back), self._way_here(visitor)
        return HTMLResponse(self._pages(request).screened_out(None, full=True, back=way_back, way_here=way))
