"""The way into a study: panels, personal links and rooms, the consent page, and the first own page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import segno
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairwise.messages import marked
from fairwise.store import participants
from fairwise.store.errors import Full, NotInvited, NotListed, StoreProblem, TakesPartAlready, Unknown, Withdrew
from fairwise.store.export import has_real_people
from fairwise.store.recruitment import invitation
from fairwise.store.rooms import Room, find_room, read_code
from fairwise.store.study_state import require_first_round
from fairwise.study.recruitment import (
    FORCED_AGENT,
    PANELS,
    PARAMETER,
    ROOM,
    SIMULATED_AGENT,
    Arrival,
    Incomplete,
    Keys,
    NotSigned,
    PanelKeys,
    Recruitment,
    filled,
)
from fairwise.study.settings import ENDS, first_stage
from fairwise.web.participant.base import COOKIE, ParticipantPages, Services
from fairwise.web.participant.rounds import TalkingPages
from fairwise.web.shared import views
from fairwise.web.shared.requests import read_form
from fairwise.web.shared.security import SECONDS, Attempts, consent_limits, cookie_of

_log = logging.getLogger("fairwise")
_CHECKED = "checked"
_NOT_ME = "not me"
_LONGEST_SIGNATURE = 200
_LONGEST_KEY = 400
_DAY = 24 * 3600
_MONTH = 30 * _DAY
_REFRESH_SECONDS = 15
_TALK_BEGINS_SECONDS = 3  # on a wall whose room is about to talk, and everybody looks at it

# Only programs read this.
_REAL_PEOPLE = "Real people have answered this study: simulated ones are let in by --force alone"

_NO_SUCH_ROOM = marked("There is no open room with this code. Look at the code again, or ask whoever gave it to you")
_TEXT_CHANGED = marked("This text was changed while you were reading. Please read it again, then say whether you agree")
_INCOMPLETE = marked("Go back to %(panel)s, accept the study there, and open it again from there.")
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


class Visitor(NamedTuple):
    """A person who opens the consent page or sends it."""

    arrival: Arrival
    signed: bool = False
    """Whether a panel vouched for who they are."""

    contests: bool = False
    """Whether they say that somebody else used their id before."""


class PanelDoor:
    """Visitors from the panel: identified by its signature if it signs its links, else by the address."""

    def __init__(self, recruitment: Recruitment, keys: Keys) -> None:
        self._panel, self._studies, self._keys = recruitment.panel, recruitment.panel_studies, keys
        self._panel_keys = PanelKeys.read(recruitment.panel_keys) if recruitment.panel_keys else None
        self._warned = False

    def visitor(self, query: Mapping[str, str]) -> Visitor | None:
        """Return the visitor of an address; None if no panel sent one. Raises Incomplete or NotSigned."""
        if not self._panel:
            return None
        signed = self._panel_keys is not None and PARAMETER in query
        if self._panel_keys is not None and signed:
            try:
                query = self._panel_keys.claims(query[PARAMETER], self._studies, datetime.now(UTC).timestamp())
            except NotSigned:
                if not self._warned:  # once: anyone can make up tokens, and fill a log
                    self._warned = True
                    _log.warning(
                        "A link from the panel is not signed by panel_keys; if real people see that, renew them"
                    )
                raise
        arrival = Arrival.from_panel(self._panel, query)
        if arrival is None:
            return None
        if self._panel_keys is not None and not signed:
            if not self._keys.is_form(_checked(arrival), query.get(_CHECKED, "")[:_LONGEST_SIGNATURE]):
                raise NotSigned
            signed = True
        return Visitor(arrival, signed)

    def address(self, visitor: Visitor) -> str:
        """Return the address of the same page; our own signature replaces the panel's, which expires."""
        if not visitor.signed:
            return visitor.arrival.address
        return f"{visitor.arrival.address}&{_CHECKED}={self._keys.form(_checked(visitor.arrival))}"

    def returned(self, start_key: str, *, contests: bool = False) -> Visitor | None:
        """Return the visitor that a form names; only its signature proves it: see `form_subject`."""
        try:
            arrival = Arrival.parsed(start_key)
        except TypeError:
            return None
        signed = self._panel_keys is not None and arrival.came_by in PANELS
        return Visitor(arrival, signed, contests and not signed)


def _checked(arrival: Arrival) -> str:
    return f"sent by panel {arrival.start_key}"


def form_subject(purpose: str, visitor: Visitor) -> str:
    """Return what a form for a visitor is signed for: its purpose, who came, and whether a panel vouched for it.

    So forms that were opened before the study had the panel's keys are worth nothing afterwards.
    """
    return f"{purpose} {visitor.arrival.start_key}{' vouched for' if visitor.signed else ''}"


def consent_subject(version: str, visitor: Visitor) -> str:
    """Return what a consent form is signed for, with the version of the text."""
    return form_subject(f"consent {version}", visitor)


class ConsentPages(ParticipantPages):
    """Everything before someone takes part. Nothing is stored or counted until they agree."""

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
            self._get("/consent", self.reloaded),
            self._get("/declined", self.declined),
            self._get("/room", self.ask_code),
            self._post("/room", self.take_code),
            self._get("/room/{code}", self.room),
            self._get("/room/{code}/wall", self.wall),
        ]

    async def welcome(self, request: Request) -> Response:
        """Answer those who come by the open link or from the panel."""
        try:
            from_panel = self._panel.visitor(request.query_params)
        except (Incomplete, NotSigned):
            if not self._is_open:
                return await self.not_open(request)
            heading = self._say(request, marked("This link is not complete"))
            text = self._say(request, _INCOMPLETE) % {"panel": PANELS[self._settings.recruitment.panel]}
            return self._page(request, "message", status=404, heading=heading, text=text)
        visitor = from_panel or Visitor(Arrival.by_open_link())
        if from_panel is not None or self._settings.recruitment.open or not self._is_open:
            return await self._ask_consent(request, visitor)
        resume = await self._resume(request, visitor)
        return self._page(request, "closed_door", csrf=self._keys.form("room"), resume=resume)

    async def not_me(self, request: Request) -> Response:
        """Forget who started on this device."""
        form = await read_form(request)
        visitor = self._panel.returned(form.text("start_key", _LONGEST_KEY))
        if visitor is None or not self._keys.is_form(form_subject(_NOT_ME, visitor), form.text("csrf", 200)):
            raise HTTPException(403)
        response = self._to(self._panel.address(visitor))
        self._forget_device(response)
        return response

    async def invited(self, request: Request) -> Response:
        """Answer those whose personal link belongs to no participant, or no longer."""
        token = request.path_params["token"]
        state = await self._read(request, invitation)
        if state == "invited":
            return await self._ask_consent(request, Visitor(Arrival.by_personal_link(token)))
        if state == "withdrawn":
            return self._page(request, "withdrawn")
        if state == "revoked":
            return self._refuse(request, Visitor(Arrival.by_personal_link(token)), NotInvited())
        raise Unknown

    async def reloaded(self, request: Request) -> Response:
        """Answer a reload of what was a form."""
        text = marked("Open the link again by which you came here.")
        return self._message(request, 404, marked("This page cannot be opened like that"), text)

    def _way_here(self, visitor: Visitor) -> str:
        return f"{self._prefix}{self._panel.address(visitor)}"

    # Rooms

    async def ask_code(self, request: Request, problem: str | None = None, typed: str = "") -> Response:
        words = None if problem is None else self._say(request, problem)
        return self._page(request, "closed_door", csrf=self._keys.form("room"), problem=words, typed=typed)

    async def take_code(self, request: Request) -> Response:
        form = await read_form(request)
        if not self._keys.is_form("room", form.text("csrf", 200)):
            raise HTTPException(403)
        typed = form.text("code", 40)
        code = read_code(typed)
        room = await self._store.read(partial(find_room, code=code))
        if room is None or not room.is_open:
            return await self.ask_code(request, _NO_SUCH_ROOM, typed)
        return self._to(f"/room/{code}")

    async def room(self, request: Request) -> Response:
        room = await self._room(request)
        if room is None or not room.is_open:
            return await self.ask_code(request, _NO_SUCH_ROOM)
        visitor = Visitor(Arrival.into_room(room.code))
        resume = await self._resume(request, visitor)
        if resume is None or not self._is_open:
            return await self._ask_consent(request, visitor)
        # In a room devices go from hand to hand, so it is asked first whose answers these are.
        return self._page(request, "whose_device", resume=resume, way_here=self._way_here(visitor))

    async def wall(self, request: Request) -> Response:
        """Show the room's code, large and as a picture for phones."""
        room = await self._room(request)
        if room is None:
            raise Unknown
        talking = await self._talking.wall(request, room)
        if talking is not None:
            return talking
        address = f"{request.url.scheme}://{request.url.netloc}{self._prefix}/room"
        picture = segno.make(f"{address}/{room.code}", micro=False)
        qr = Markup(picture.svg_inline(border=2, omitsize=True, dark="#000", light="#fff"))  # noqa: S704 - drawn here
        response = self._page(request, "wall", room=room, address=address, qr=qr)
        seconds = _TALK_BEGINS_SECONDS if self._settings.deliberation.rooms else _REFRESH_SECONDS
        response.headers["refresh"] = str(seconds)
        return response

    async def _room(self, request: Request) -> Room | None:
        code = read_code(request.path_params["code"])
        return await self._store.read(partial(find_room, code=code))

    # Consent

    async def _ask_consent(self, request: Request, visitor: Visitor, problem: str | None = None) -> Response:
        arrival = visitor.arrival
        resume, way_here = await self._resume(request, visitor), self._way_here(visitor)
        if not self._is_open or self._is_first_round_over:
            if arrival.came_by == ROOM:  # devices go from hand to hand
                resume = None
            show = self.round_over if self._is_open else self.not_open
            return await show(request, resume, way_here)
        if resume is None and arrival.came_by in PANELS:
            query = partial(participants.panel_state, arrival=arrival, mark=self._mark(arrival), signed=visitor.signed)
            state = await self._store.read(partial(query, contests=visitor.contests))
            if state is not None:
                return self._refuse(request, visitor, state)
        if resume is None and await self._is_full():
            return self._refuse(request, visitor, Full())
        return self._page(
            request,
            "consent",
            start_key=arrival.start_key,
            csrf=self._consent_form(request, visitor),
            resume=resume,
            contests=visitor.contests,
            problem=None if problem is None else self._say(request, problem),
            way_here=way_here,
        )

    def _consent_form(self, request: Request, visitor: Visitor) -> str:
        """Return the token of a consent form, signed with the version of its text and whether a panel vouched."""
        version = self._edition(request).consent_version
        return f"{version}.{self._keys.form(consent_subject(version, visitor))}"

    def _mark(self, arrival: Arrival) -> bytes | None:
        return self._keys.mark(arrival.came_by, arrival.who) if arrival.came_by in PANELS else None

    async def _resume(self, request: Request, visitor: Visitor) -> views.Resume | None:
        """Return where this person left off, by the panel's link, or by this device if it is the same person.

        Those who have come to an end have nothing to continue: the next to use the device may be somebody else.
        """
        arrival = visitor.arrival
        own = arrival.token(self._keys) if arrival.is_lasting else None
        for token in (own, cookie_of(request, COOKIE)):
            if token is None:
                continue
            try:
                participant = await self._store.read(partial(participants.find, token_hash=self._keys.hashed(token)))
            except Unknown:
                continue
            path = f"{self._prefix}/p/{token}"
            if token == own:
                return views.Resume(path)
            # On a shared machine the last one to come may have been somebody else.
            is_same = arrival.came_by not in PANELS or arrival.who == participant.panel_id
            if is_same and participant.stage not in ENDS:
                if visitor.signed and participant.panel_signed:  # the panel vouched both times
                    return views.Resume(path)
                return views.Resume(path, self._keys.form(form_subject(_NOT_ME, visitor)), arrival.start_key)
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
            return self._refuse(request, visitor, problem)

    async def _may_begin_from_here(self, request: Request, arrival: Arrival) -> bool:
        """Count who begins from an address; a participant who sends the form again is not counted."""
        recruitment, address = self._settings.recruitment, request.client.host if request.client else ""
        in_room = arrival.came_by == ROOM
        most = recruitment.most_from_address_in_rooms if in_room else recruitment.most_from_address
        try:
            await self._store.read(partial(participants.find, token_hash=self._keys.hashed(arrival.token(self._keys))))
        except Unknown:
            if await self._is_full():  # checked again when they begin; here it keeps nobody's answer waiting
                raise Full from None
            return await asyncio.to_thread(self._attempts.begin, *consent_limits(address, most, in_room=in_room))
        return True

    def _too_many(self, request: Request, visitor: Visitor) -> Response:
        heading = marked("Very many people have begun from this network")
        text = marked(
            "Only so many can begin from one network within a quarter of an hour. Nothing is lost. Please try again in "
            "a quarter of an hour, or from another network."
        )
        way_here = self._way_here(visitor)
        response = self._message(request, 429, heading, text, back=way_here, way_here=way_here)
        response.headers["retry-after"] = str(SECONDS)
        return response

    def _refuse(self, request: Request, visitor: Visitor, problem: StoreProblem) -> Response:
        """Return the same page for a visitor and after they agree, so that it can be opened again."""
        arrival, way_here = visitor.arrival, self._way_here(visitor)
        if isinstance(problem, Full):
            back = self._settings.recruitment.screened_out_url if arrival.came_by in PANELS else ""
            address = filled(back, panel_id=arrival.who, session=arrival.session, code="") if back else None
            panel = views.WayBack.to(arrival.came_by, address)
            return self._page(request, "screened_out", full=True, back=panel, way_here=way_here)
        if type(problem) in _REFUSALS:
            return self._message(request, *_REFUSALS[type(problem)], way_here=way_here)
        has_left = isinstance(problem, Withdrew)
        return self._page(
            request,
            "id_taken",
            status=200 if has_left else 409,
            start_key=arrival.start_key,
            # A visitor for whom the panel vouched is the one who began; of others nobody knows.
            csrf=None if visitor.signed else self._consent_form(request, visitor),
            panel=PANELS[arrival.came_by],
            left=has_left,
            way_here=way_here,
        )

    async def _take_part(self, request: Request, visitor: Visitor) -> Response:
        agent = request.headers.get("user-agent", "")
        if agent == SIMULATED_AGENT and not self._settings.simulated and await self._store.read(has_real_people):
            return self._message(request, 409, _REAL_PEOPLE, "")
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

        def begin(connection: Connection) -> None:
            require_first_round(connection, consent.at, self._settings.deliberation.until)
            participants.start(
                connection,
                consent=consent,
                schedule=self._folder.places,
                new_key=self._keys.new,
                arms=self._folder.arms_at_start,
            )

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
        return self._page(request, "declined")
