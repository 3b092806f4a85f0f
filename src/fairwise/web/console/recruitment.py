"""Recruitment: the study's own links, personal links, lists of ids, and rooms."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import ceil
from urllib.parse import quote

import segno
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairwise.messages import marked
from fairwise.store import recruitment, rooms
from fairwise.store.export import defused
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import PANELS, Keys, is_panel_id
from fairwise.web.console.base import ConsolePages, console_language, get, post
from fairwise.web.shared.requests import whole_number

MOST_LINKS = 1000
"""Links that can be made at once."""

_LONGEST_NAME = 200
_LONGEST_LINE = 600
"""Longest name with an e-mail address."""

_PAGE_SIZE = 50
# What each panel puts into its own gaps.
_PANEL_LINKS = {
    "prolific": "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
    "sona": "?survey_code=%SURVEY_CODE%",
    "mturk": "",
}
_STATES = {
    "invited": marked("not used yet"),
    "used": marked("used"),
    "revoked": marked("revoked"),
    "withdrawn": marked("withdrew"),
}
_LONGEST_LETTER = 5000
_SEPARATOR = re.compile(r"[\s<>()@,;]")


@dataclass(frozen=True)
class Address:
    """Something to send people or to put on a wall."""

    text: str

    @property
    def picture(self) -> Markup:
        """QR code for phones."""
        qr = segno.make(self.text, micro=False)
        return Markup(qr.svg_inline(border=2, omitsize=True, dark="#000", light="#fff"))  # noqa: S704 - drawn here


@dataclass(frozen=True)
class PersonalLink:
    """A personal link with its letter, known only now."""

    name: str
    email: str
    link: str
    subject: str
    letter: str

    @property
    def mailto(self) -> str:
        """Opens a mail program with the letter in it."""
        return mailto(self.email, self.subject, self.letter)


def mailto(address: str, subject: str, letter: str) -> str:
    """An address that opens a mail program with a letter, to be looked through and sent."""
    lines = "\r\n".join(letter.splitlines())
    return f"mailto:{quote(address, safe='@')}?subject={quote(subject)}&body={quote(lines)}"


def name_and_address(line: str) -> tuple[str, str]:
    """Part a line into a name and an e-mail address; each may be missing.

    >>> name_and_address("Ada Example <ada@example.org>"), name_and_address("Bo"), name_and_address("c@example.org")
    (('Ada Example', 'ada@example.org'), ('Bo', ''), ('', 'c@example.org'))
    """
    before, at, after = line.rpartition("@")
    domain = after.rstrip(">) \t")
    local = _SEPARATOR.split(before)[-1]
    if not (at and local and "." in domain[1:-1]) or _SEPARATOR.search(domain):
        return line, ""
    return before.removesuffix(local).rstrip(",;<( \t").strip(), f"{local}@{domain}"


_LETTER = marked(
    "Hello {name},\n\n"
    "please take part in “{title}”: you compare pairs of people and say how they should be treated. There are no right "
    "or wrong answers. It takes about {minutes} minutes; you can stop and go on at any time.\n\n"
    "Your personal link, which is for you alone:\n{link}\n\n"
    "Thank you.\n{contact}"
)
_OPEN_LETTER = marked(
    "Hello,\n\n"
    "please take part in “{title}”: you compare pairs of people and say how they should be treated. There are no right "
    "or wrong answers. It takes about {minutes} minutes; you can stop and go on at any time.\n\n"
    "The link to the study, which everyone can use:\n{link}\n\n"
    "Thank you.\n{contact}"
)


class RecruitmentPages(ConsolePages):
    """Recruitment, for owners: whoever has a link can answer by it."""

    @get("/admin/coming", "owner")
    async def coming(
        self,
        request: Request,
        problem: str | None = None,
        count: str = "",
        names: str = "",
        ids: str = "",
        letter: str = "",
    ) -> Response:
        study = self._host.study
        if study is None:
            return self._to("")
        page_text, state = request.query_params.get("page", ""), request.query_params.get("state", "")
        everyone = await self._store.read(recruitment.all_invited)
        invitations = [one for one in everyone if state in ("", one.state) or state not in _STATES]
        pages = max(1, ceil(len(invitations) / _PAGE_SIZE))
        page = min(max(1, whole_number(page_text) or 1), pages)
        settings, base = study.settings.recruitment, self._base(request)
        draft = self._letter(study)
        return self._page(
            request,
            "coming",
            problem=problem,
            base=base,
            open_link=Address(f"{base}/") if settings.open else None,
            open_letter=mailto("", study.settings.title, _filled(self._letter(study, _OPEN_LETTER), "", f"{base}/")),
            letter=letter or draft,
            panel=PANELS.get(settings.panel),
            panel_link=f"{base}/{_PANEL_LINKS[settings.panel]}" if settings.panel else None,
            signed=bool(settings.panel_keys),
            listed=await self._store.read(recruitment.how_many_listed),
            ids=ids,
            rooms=await self._store.read(rooms.all_rooms),
            links=invitations[(page - 1) * _PAGE_SIZE : page * _PAGE_SIZE],
            found=len(invitations),
            everyone=len(everyone),
            states=_STATES,
            state=state if state in _STATES else "",
            page=page,
            pages=pages,
            count=count,
            names=names,
            once=Keys.new(),
            most=MOST_LINKS,
        )

    def _base(self, request: Request) -> str:
        """Return the address of the study, as this page was reached."""
        return f"{request.url.scheme}://{request.url.netloc}{self._host.prefix}"

    @staticmethod
    def _letter(study: StudyFolder, letter: str = _LETTER) -> str:
        """A letter to begin with, in the study's own language."""
        translate = console_language(study.settings.languages[0]).translate
        minutes = max(5, round(study.settings.pairs * _SECONDS_A_PAIR / 300) * 5)
        return (
            translate(letter)
            .format(
                title=study.settings.title,
                minutes=minutes,
                contact=study.settings.contact,
                name="{name}",
                link="{link}",
            )
            .rstrip()
        )

    # Personal links

    @post("/admin/coming/links", "owner")
    async def make_links(self, request: Request) -> Response:
        """Show the links, which are kept nowhere; the same form sent again makes the same links, not others."""
        form, study = request.state.form, self._study()
        once, count, written = form.text("once", 40), form.text("count", 9), form.text("names", 300_000)
        letter = form.text("letter", _LONGEST_LETTER) or self._letter(study)
        lines = [line.strip() for line in written.splitlines() if line.strip()]
        number = form.number("count", 1, MOST_LINKS)
        problem = _problem(count, number, lines)
        people = [] if problem else [name_and_address(line) for line in lines]
        long = next((name for name, _ in people if len(name) > _LONGEST_NAME), None)
        if long is not None:
            problem = f"The name {long[:40]}… is longer than {_LONGEST_NAME} characters"
        if problem or not once:
            return await self.coming(
                request, problem or marked("Send the form once more"), count, written, letter=letter
            )
        called = people or [("", "")] * (number or 0)
        names = [name or email.partition("@")[0] for name, email in called]
        tokens = [self._host.keys.token(f"link {once} {at} {name}") for at, name in enumerate(names)]
        kept = [(Keys.hashed(token), name) for token, name in zip(tokens, names, strict=True)]
        keep = partial(recruitment.invite_once, people=kept, at=datetime.now(UTC))
        await self._log_change(request, "links made", str(len(called)), keep)
        addresses = [f"{self._base(request)}/p/{token}" for token in tokens]
        links = [
            PersonalLink(name, email, address, study.settings.title, _filled(letter, name, address))
            for name, (_, email), address in zip(names, called, addresses, strict=True)
        ]
        file = f"links-{datetime.now(UTC):%Y-%m-%d}.csv"
        return self._page(request, "links_made", made=links, csv=_as_csv(links), file=file)

    @post("/admin/coming/links/{id:number}/revoke", "owner")
    async def revoke(self, request: Request) -> Response:
        which: int = request.path_params["id"]
        if which not in {one.id for one in await self._store.read(recruitment.all_invited)}:
            raise HTTPException(404)
        revoke = partial(recruitment.revoke_one, invitation_id=which, at=datetime.now(UTC))
        await self._log_change(request, "link revoked", str(which), revoke)
        return self._to("/coming?done=link-revoked")

    # Ids that may come from the panel

    @post("/admin/coming/ids", "owner")
    async def list_ids(self, request: Request) -> Response:
        """Add to the list; once there is one, nobody else is let in."""
        study, written = self._host.study, request.state.form.text("ids", 300_000)
        if study is None or not study.settings.recruitment.panel:
            raise HTTPException(404)
        ids = [one.strip() for one in written.splitlines() if one.strip()]
        wrong = next((place for place, one in enumerate(ids, start=1) if not is_panel_id(one)), None)
        if wrong is not None:
            problem = f"{ids[wrong - 1][:40]!r} in line {wrong} is no id; allowed: letters, digits and _ . ~ -"
            return await self.coming(request, problem, ids=written)
        if not ids:
            return await self.coming(request, marked("Give the ids that may come, one in a line"))
        marks = [self._host.keys.mark(study.settings.recruitment.panel, one) for one in ids]
        keep = partial(recruitment.list_ids, marks=marks, at=datetime.now(UTC))
        await self._log_change(request, "ids listed", str(len(ids)), keep)
        return self._to("/coming?done=ids-listed")

    @post("/admin/coming/ids/delete", "owner")
    async def delete_list(self, request: Request) -> Response:
        await self._log_change(request, "list of ids deleted", "", recruitment.delete_list)
        return self._to("/coming?done=ids-deleted")

    # Rooms

    @post("/admin/coming/rooms", "owner")
    async def open_room(self, request: Request) -> Response:
        name = request.state.form.text("name", _LONGEST_NAME)
        if not name:
            return await self.coming(request, marked("Give the room a name, such as Class 7b"))
        await self._log_change(request, "room opened", name, partial(rooms.open_room, name=name, at=datetime.now(UTC)))
        return self._to("/coming?done=room-opened")

    @post("/admin/coming/rooms/{code}/close", "owner")
    async def close_room(self, request: Request) -> Response:
        code = rooms.read_code(request.path_params["code"])
        if await self._store.read(partial(rooms.find_room, code=code)) is None:
            raise HTTPException(404)
        await self._log_change(request, "room closed", code, partial(rooms.close_room, code=code, at=datetime.now(UTC)))
        return self._to("/coming?done=room-closed")


_SECONDS_A_PAIR = 18


def _filled(letter: str, name: str, link: str) -> str:
    """The letter of one person; whatever else is in braces stays."""
    text = letter.replace("{name}", name).replace("{link}", link)
    return text if name else text.replace(" ,", ",", 1)


def _problem(count: str, number: int | None, lines: Sequence[str]) -> str | None:
    """Say in one sentence what is wrong with a form for links; lines are only counted and measured."""
    if bool(count) == bool(lines):
        return marked("Give either a number of links or names, one in a line")
    if count and number is None:
        return f"{count} is not a number of links; allowed: 1 to {MOST_LINKS}"
    if len(lines) > MOST_LINKS:
        return f"{len(lines)} names; allowed: at most {MOST_LINKS} at once"
    long = next((line for line in lines if len(line) > _LONGEST_LINE), None)
    return None if long is None else f"The name {long[:40]}… is longer than {_LONGEST_NAME} characters"


def _as_csv(links: Sequence[PersonalLink]) -> str:
    """An address that holds the file itself: the server has the links no more when the page was sent."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "email", "link", "subject", "letter"])
    for one in links:
        writer.writerow([defused(one.name), defused(one.email), one.link, defused(one.subject), defused(one.letter)])
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue())}"
