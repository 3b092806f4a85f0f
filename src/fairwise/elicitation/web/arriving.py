"""How people come in: by whichever way they came, to the consent page, and from there to their own pages."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import segno
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from fairwise.elicitation.arrivals import PANELS, Arrival, Incomplete
from fairwise.elicitation.languages import marked
from fairwise.elicitation.recruitment_settings import filled
from fairwise.elicitation.store import participants
from fairwise.elicitation.store.invitations import invitation
from fairwise.elicitation.store.problems import Full, NotInvited, StoreProblem, TakesPartAlready, Unknown, Withdrew
from fairwise.elicitation.store.quotas import is_full
from fairwise.elicitation.store.rooms import find_room, read_code
from fairwise.elicitation.web import views
from fairwise.elicitation.web.asking import Asking, while_open
from fairwise.elicitation.web.cookies import cookie_of
from fairwise.elicitation.web.forms import read_form

if TYPE_CHECKING:
    from starlette.requests import Request

    from fairwise.elicitation.store.rooms import Room

COOKIE = "fairwise_participant"
_MONTH = 30 * 24 * 3600
_REFRESH_SECONDS = 15

_NO_SUCH_ROOM = marked("There is no open room with this code. Look at the code again, or ask whoever gave it to you")
_TEXT_CHANGED = marked("This text was changed while you were reading. Please read it again, then say whether you agree")


class ArrivalPages(Asking):
    """Everything before someone takes part. Nobody is counted, and nothing is kept, until they agree."""

    routes = (
        ("GET", "/", "welcome"),
        ("POST", "/consent", "consent"),
        ("GET", "/consent", "again"),
        ("GET", "/declined", "declined"),
        ("GET", "/room", "ask_code"),
        ("POST", "/room", "take_code"),
        ("GET", "/room/{code}", "room"),
        ("GET", "/room/{code}/wall", "wall"),
    )

    async def welcome(self, request: Request) -> Response:
        """For those who come by the open link or from the panel."""
        if not self._is_open(request):
            return await self.not_open(request, await self._resumed(request, None))
        recruitment = self._settings.recruitment
        try:
            arrival = Arrival.from_panel(recruitment.panel, request.query_params) if recruitment.panel else None
        except Incomplete:
            return self._incomplete(request)
        if arrival is not None:
            return await self._ask_consent(request, arrival)
        if recruitment.open:
            return await self._ask_consent(request, Arrival.by_open_link())
        resume = await self._resumed(request, None)
        return HTMLResponse(self._in(request).closed_door(code_csrf=self._code_form(), resume=resume))

    def _incomplete(self, request: Request) -> Response:
        said = self._in(request)
        panel = PANELS[self._settings.recruitment.panel]
        text = said.say("Go back to %(panel)s, accept the study there, and open it again from there.") % {
            "panel": panel
        }
        return HTMLResponse(said.message(heading=said.say("This link is not complete"), text=text), 404)

    async def invited(self, request: Request) -> Response:
        """For those who open a personal link by which nobody takes part (any more)."""
        said = self._in(request)
        token = request.path_params["token"]
        state = await self._read(request, invitation)
        if state == "invited":
            return await self._ask_consent(request, Arrival.by_personal_link(token))
        if state == "withdrawn":
            return HTMLResponse(said.withdrawn())
        if state == "revoked":
            return self._not_invited(request, Arrival.by_personal_link(token))
        raise Unknown

    def _not_invited(self, request: Request, arrival: Arrival) -> Response:
        said = self._in(request)
        heading = said.say("This link no longer works")
        text = said.say("Whoever gave it to you has closed it. Ask them for another one.")
        return HTMLResponse(said.message(heading=heading, text=text, way_here=self._way_here(arrival)), 410)

    async def again(self, request: Request) -> Response:
        """For a reload of what was a form."""
        said = self._in(request)
        text = said.say("Open the link again by which you came here.")
        return HTMLResponse(said.message(heading=said.say("This page cannot be opened like that"), text=text), 404)

    def _way_here(self, arrival: Arrival) -> str:
        return f"{self._prefix}{arrival.address}"

    # Rooms

    async def ask_code(self, request: Request) -> Response:
        return self._ask_code(request)

    def _ask_code(self, request: Request, problem: str | None = None, typed: str = "") -> Response:
        page = self._in(request).closed_door(code_csrf=self._code_form(), problem=problem, typed=typed)
        return HTMLResponse(page, 422 if problem else 200)

    async def take_code(self, request: Request) -> Response:
        form = await read_form(request)
        if not self._keys.is_form("room", form.text("csrf", 200)):
            raise HTTPException(403)
        typed = form.text("code", 40)
        code = read_code(typed)
        room = await self._store(request).read(partial(find_room, code=code))
        if room is None or not room.is_open:
            return self._ask_code(request, self._in(request).say(_NO_SUCH_ROOM), typed)
        return self._to(f"/room/{code}")

    async def room(self, request: Request) -> Response:
        found = await self._room(request)
        if found is None or not found.is_open:
            return self._ask_code(request, self._in(request).say(_NO_SUCH_ROOM))
        return await self._ask_consent(request, Arrival.into_room(found.code))

    async def wall(self, request: Request) -> Response:
        """For the wall: the code, large, and as a picture for phones."""
        found = await self._room(request)
        if found is None:
            raise Unknown
        here = request.url
        address = f"{here.scheme}://{here.netloc}{self._prefix}/room"
        picture = segno.make(f"{address}/{found.code}", micro=False)
        qr = Markup(picture.svg_inline(border=2, omitsize=True, dark="#000", light="#fff"))  # noqa: S704 - drawn here
        page = self._in(request).wall(found, address=address, qr=qr)
        return HTMLResponse(page, headers={"refresh": str(_REFRESH_SECONDS)})

    async def _room(self, request: Request) -> Room | None:
        code = read_code(request.path_params["code"])
        return await self._store(request).read(partial(find_room, code=code))

    def _code_form(self) -> str:
        return self._keys.form("room")

    # Consent

    async def _ask_consent(self, request: Request, arrival: Arrival, problem: str | None = None) -> Response:
        resume = await self._resumed(request, arrival)
        if not self._is_open(request):
            return await self.not_open(request, resume)
        if resume is None and arrival.came_by in PANELS:
            look = partial(participants.panel_state, arrival=arrival, mark=self._mark(arrival))
            state = await self._store(request).read(look)
            if state is not None:
                return self._refused(request, arrival, state)
        if resume is None and await self._is_full(request):
            return self._refused(request, arrival, Full())
        # Signed together with the version of the text that is being read.
        version = self._edition(request).consent_version
        csrf = f"{version}.{self._keys.form(f'consent {version} {arrival.start_key}')}"
        page = self._in(request).consent(
            start_key=arrival.start_key, csrf=csrf, resume=resume, problem=problem, way_here=self._way_here(arrival)
        )
        return HTMLResponse(page, 422 if problem else 200)

    def _mark(self, arrival: Arrival) -> bytes | None:
        return self._keys.mark(arrival.came_by, arrival.who) if arrival.came_by in PANELS else None

    async def _resumed(self, request: Request, arrival: Arrival | None) -> str | None:
        """Where this person left off: told by the panel's link, or by this device if it is the same person."""
        tokens = [cookie_of(request, COOKIE)]
        if arrival is not None and arrival.is_lasting:
            tokens.insert(0, arrival.token(self._keys))
        for token in tokens:
            if token is None:
                continue
            try:
                came = await self._store(request).read(partial(participants.came, token_hash=self._keys.hashed(token)))
            except Unknown:
                continue
            # On a shared machine the last one to come may have been somebody else.
            if arrival is None or arrival.came_by not in PANELS or arrival.who == came.panel_id:
                return f"{self._prefix}/p/{token}"
        return None

    async def _is_full(self, request: Request) -> bool:
        most, since = self._settings.recruitment.most, datetime.now(UTC) - self._settings.design.lease
        return most > 0 and await self._store(request).read(partial(is_full, most=most, since=since))

    async def consent(self, request: Request) -> Response:
        form = await read_form(request)
        start_key = form.text("start_key", 400)
        version, _, signature = form.text("csrf", 200).partition(".")
        if not self._keys.is_form(f"consent {version} {start_key}", signature):
            raise HTTPException(403)
        arrival = Arrival.parsed(start_key)
        decision = form.text("decision", 20)
        if decision == "decline":
            return self._to("/declined")
        if decision != "agree":
            problem = self._in(request).say("Say whether you agree to take part")
            return await self._ask_consent(request, arrival, problem)
        if version != self._edition(request).consent_version:
            return await self._ask_consent(request, arrival, self._in(request).say(_TEXT_CHANGED))
        try:
            return await self._take_part(request, arrival)
        except (Full, NotInvited, TakesPartAlready, Withdrew) as problem:
            return self._refused(request, arrival, problem)

    def _refused(self, request: Request, arrival: Arrival, problem: StoreProblem) -> Response:
        """The same page for whoever asks and for whoever agrees, so that it can be opened again."""
        if isinstance(problem, Full):
            return self._full(request, arrival)
        if isinstance(problem, NotInvited):
            return self._not_invited(request, arrival)
        if isinstance(problem, Withdrew):
            return HTMLResponse(self._in(request).withdrawn())
        return self._takes_part_already(request, arrival)

    async def _take_part(self, request: Request, arrival: Arrival) -> Response:
        token, edition = arrival.token(self._keys), self._edition(request)
        consent = participants.Consent(
            token_hash=self._keys.hashed(token),
            version=edition.consent_version,
            at=datetime.now(UTC),
            first_stage=self._stages[0],
            lease=self._settings.design.lease,
            language=edition.language.code,
            text=participants.ConsentText(edition.consent_language, edition.consent_text),
            arrival=arrival,
            most=self._settings.recruitment.most,
            mark=self._mark(arrival),
        )
        start = partial(participants.start, consent=consent, schedule=self._folder.places, new_key=self._keys.new)
        await self._store(request).write(partial(while_open, change=start))
        response = self._to(f"/p/{token}")
        response.set_cookie(
            COOKIE,
            token,
            max_age=_MONTH,
            path=f"{self._prefix}/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",
        )
        return response

    async def declined(self, request: Request) -> Response:
        return HTMLResponse(self._in(request).declined())

    def _full(self, request: Request, arrival: Arrival) -> Response:
        back = None
        if arrival.came_by in PANELS and (address := self._settings.recruitment.screened_out_url):
            back = filled(address, panel_id=arrival.who, session=arrival.session, code="")
        way_back = views.WayBack.to(arrival.came_by, back)
        page = self._in(request).screened_out(None, full=True, back=way_back, way_here=self._way_here(arrival))
        return HTMLResponse(page)

    def _takes_part_already(self, request: Request, arrival: Arrival) -> Response:
        said = self._in(request)
        text = said.say(
            "Someone has begun with this ID already. If it was you, go on in the browser in which you began, or with "
            "your own link. If it was not you, write to those who run the study."
        )
        heading = said.say("You have started already")
        return HTMLResponse(said.message(heading=heading, text=text, way_here=self._way_here(arrival)), 409)
