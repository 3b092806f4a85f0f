"""The study in the console: sections, previews, its state, and trials."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairwise.errors import InputError
from fairwise.store.erasure import note_deletion
from fairwise.store.schema import participants, study
from fairwise.store.store import claim
from fairwise.store.study_state import set_state, standing
from fairwise.study.cards import ID, Card, cards_of
from fairwise.study.folder import Edition, StudyFolder
from fairwise.study.questions import questions_on_page
from fairwise.study.settings import StudySettings, StudyState
from fairwise.study.texts import LONGEST, language, marked, safe_html
from fairwise.study.toml import Plain, SettingError
from fairwise.study.translations import translated
from fairwise.web.console.base import ConsolePages, Rendering, get, post
from fairwise.web.console.settings_form import LOCKED, Section
from fairwise.web.console.study_editor import QuestionsSection, TextSection, questions_preview, sections_of
from fairwise.web.console.uploads import UploadedPeople
from fairwise.web.shared.host import HOURS_KEPT, Host, Trials
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.requests import Form, visitor_language
from fairwise.web.shared.security import POLICY
from fairwise.web.shared.views import OwnPages, Pair

# Pages as participants will see them, in a frame of the console: made by what makes the real ones.

# Forms in a frame like this go nowhere, and nobody but the console may show it.
FRAMED = {
    "content-security-policy": POLICY.replace("form-action 'self'", "form-action 'none'") + "; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
FRAMING = {"content-security-policy": f"{POLICY}; frame-src 'self'; connect-src 'self'; frame-ancestors 'none'"}
"""Headers of a page that shows such a frame."""

# Links and forms of such a page lead nowhere.
_NOBODY = OwnPages(path="#", link="https://…/p/…", csrf="")


def framed(html: str) -> Response:
    """Return a page that may be shown in a frame of ours."""
    return HTMLResponse(html, headers=FRAMED)


def pair_preview(content: Plain, form: Form, upload: UploadedPeople, prefix: str) -> str:
    """Two people of the file, as the form says so far; an InputError says what is missing."""
    if not content["columns"]:
        raise InputError(marked("Tick a column that participants see: then two people of your file appear here."))
    settings = StudySettings.checked({"title": "Comparing people", **content}, "study")
    code = form.text("preview", 16)
    code = code if code in settings.languages else settings.languages[0]
    if code != settings.languages[0]:
        settings, _ = translated(settings, code, Path("none"))
    a, b = _two_people(settings, upload, code, shuffle=form.text("do", 10) == "others")
    pair = Pair(number=1, total=settings.pairs, answered=0, a=a, b=b)
    return Pages(settings, "", "", prefix, spoken=language(code)).render("pair", _NOBODY, pair=pair)


def _two_people(settings: StudySettings, upload: UploadedPeople, code: str, *, shuffle: bool) -> tuple[Card, Card]:
    """Two who differ in something that is shown, if there are such."""
    sample = upload.sample()
    columns = {column.name: sample[column.name] for column in settings.columns}
    people = pa.table(
        {ID: [str(row) for row in range(sample.num_rows)], **{k: v for k, v in columns.items() if k != ID}}
    )
    if ID in columns:
        raise InputError(f"A column called {ID} cannot be shown: the name is kept for people's ids. Give it another.")
    cards = list(cards_of(people, settings.columns, upload.name, language(code)).values())
    if len(cards) < 2:
        raise InputError(f"{upload.name}: there is only one person in it; a pair needs two.")
    if shuffle:
        random.shuffle(cards)
    return next((two for two in combinations(cards, 2) if two[0].rows != two[1].rows), (cards[0], cards[1]))


def text_preview(edition: Edition, document: str, markdown: str, prefix: str) -> str:
    """A consent or task page with this text in it."""
    html = safe_html(markdown)
    consent, task = (html, "") if document == "consent" else ("", html)
    pages = Pages(edition.settings, consent, task, prefix, spoken=edition.language)
    if document == "consent":
        return pages.render("consent", start_key="", csrf="")
    return pages.render("task", _NOBODY)


# Changing the files of a study that is served: checked as a whole before, and changed all at once.

_READ = (".toml", ".md", ".parquet", ".key")


class ChangedMeanwhile(Exception):  # noqa: N818 - nobody's fault
    """Error: someone else has changed the same file in the meantime."""


@dataclass(frozen=True)
class Edit:
    """A study with some of its files changed, whole and checked, and not yet in place."""

    study: StudyFolder
    home: Path
    before: Mapping[str, str]
    """Versions of the files before the change."""

    why_locked: str = LOCKED
    """Message for a change that comes too late."""

    def take_effect(self, connection: Connection, fingerprint: str) -> None:
        """Put the files in place, if nobody else has changed them; done twice it is done once.

        `fingerprint` is the study's as it was. Several processes take turns, as each first writes to the study's row.
        """
        draft = self.study.path
        if not any((draft / name).exists() for name in self.before):
            return
        connection.execute(sa.update(study).values(state=study.c.state))
        if self.study.fingerprint != fingerprint:
            if is_locked(connection):
                raise InputError(self.why_locked)
            claim(connection, self.study.fingerprint)
        if any(version(self.home / name) != before_version for name, before_version in self.before.items()):
            raise ChangedMeanwhile
        for name in self.before:
            (draft / name).replace(self.home / name)


@contextmanager
def edited(
    home: Path, changes: Mapping[str, str], before: Mapping[str, str], why_locked: str = LOCKED
) -> Iterator[Edit]:
    """Try changed texts in a copy of the study; an InputError says what is wrong, as if it were about the study."""
    draft = Path(tempfile.mkdtemp(prefix=".edit.", suffix=".part", dir=home))
    try:
        for file in home.iterdir():
            if file.is_file() and file.suffix in _READ and file.name not in changes:
                try:
                    os.link(file, draft / file.name)
                except OSError:  # not everywhere may a file have two names
                    shutil.copy2(file, draft / file.name)
        for name, text in changes.items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
        try:
            study_draft = StudyFolder.open(draft)
        except InputError as error:
            raise InputError(str(error).replace(f"{draft}{os.sep}", "")) from None
        yield Edit(study_draft, home, before, why_locked)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def discard_drafts(home: Path) -> None:
    """Delete what a process that was killed left behind."""
    for left in (*home.glob(".edit.*.part"), *home.glob(".study.*.part")):
        shutil.rmtree(left, ignore_errors=True)


def version(file: Path) -> str:
    """Return the hash of a file's content; empty if there is none."""
    with suppress(FileNotFoundError):
        return hashlib.sha256(file.read_bytes()).hexdigest()[:24]
    return ""


def has_participants(connection: Connection) -> bool:
    """Whether anyone takes part, or did."""
    return connection.execute(sa.select(participants.c.id).limit(1)).first() is not None


def is_locked(connection: Connection) -> bool:
    """Whether what decides about pairs must stay as it is."""
    return has_participants(connection) or standing(connection).state == StudyState.OPEN


_TRIES = 5
_MEANWHILE = marked(
    "Someone else saved this part while you were changing it. What you typed is still here, and what they saved can be "
    "seen in another tab. Saving now puts yours in the place of theirs."
)
_DONE = {StudyState.OPEN: "opened", StudyState.PAUSED: "paused", StudyState.CLOSED: "closed"}


class _NotFromHere(Exception):  # noqa: N818 - someone else was faster, or it is closed
    """The study is not in a state from which it may come to the one that is wanted."""


def _missing(note: str, parts: Mapping[str, Section]) -> tuple[str, Section | None]:
    """Return what is to be completed, and the section instead of the file."""
    file, _, words = note.partition(": ")
    part = parts.get(file)
    return (note, None) if part is None else (words.removeprefix("[FILL IN: ").removesuffix("]"), part)


class StudyPages(ConsolePages):
    """The study as its operators decide about it."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        discard_drafts(host.path)

    @get("/admin/study", "owner")
    async def show(self, request: Request) -> Response:
        study = self._host.study
        if study is None:
            return self._page(request, "no_study")
        try:
            sections = sections_of(self._host.path)
        except InputError as error:
            heading = "The files of the study were changed, and cannot be read"
            return self._page(request, "message", 500, heading=heading, text=str(error))
        is_begun = await self._store.read(has_participants)
        parts = {section.files[0]: section for section in reversed(list(sections.values()))}
        unfinished = [_missing(note, parts) for note in study.unfinished]
        return self._page(request, "study", all_sections=sections.values(), begun=is_begun, unfinished=unfinished)

    def _section(self, request: Request) -> Section:
        self._study()
        try:
            section = sections_of(self._host.path).get(request.path_params["part"])
        except InputError:  # the list of all sections says why
            raise HTTPException(500) from None
        if section is None:
            raise HTTPException(404)
        return section

    @get("/admin/study/{part}", "owner")
    async def section(self, request: Request) -> Response:
        section = self._section(request)
        return await self._show_section(request, section, section.values)

    async def _show_section(
        self,
        request: Request,
        section: Section,
        values: Mapping[str, str],
        problem: str | None = None,
        *,
        status: int = 200,
        error: InputError | None = None,
    ) -> Response:
        locked, wrong = await self._store.read(is_locked), error if isinstance(error, SettingError) else None
        response = self._page(
            request,
            section.template,
            status,
            problem=problem,
            problem_at=wrong.path if wrong and any(field.path == wrong.path for field in section.fields) else "",
            reason=wrong.reason if wrong else "",
            section=section,
            values=values,
            token=section.token,
            locked=locked and any(field.locked for field in section.fields),
            why_locked=section.why_locked,
            begun=await self._store.read(has_participants),
            meanwhile=status == 409,
            longest=LONGEST,
        )
        response.headers.update(FRAMING)
        return response

    @get("/admin/study/{part}/preview", "owner")
    async def first_preview(self, request: Request) -> Response:
        section = self._section(request)
        return await self._show_preview(request, section, Form(section.values))

    @post("/admin/study/{part}/preview", "owner")
    async def preview(self, request: Request) -> Response:
        return await self._show_preview(request, self._section(request), request.state.form)

    async def _show_preview(self, request: Request, section: Section, form: Form) -> Response:
        if not isinstance(section, QuestionsSection):
            return await asyncio.to_thread(
                self._preview, section, form.text("text", LONGEST)
            )  # of long ones it takes long
        locked = await self._store.read(is_locked)
        try:
            settings = section.proposed(form, locked=locked)
            before, after = (questions_on_page(settings.questions, when) for when in ("before", "after"))
            when = form.text("show", 10) or ("after" if after and not before else "before")
            return framed(questions_preview(settings, self._host.prefix, _NOBODY, when))
        except InputError as error:
            text = str(error).removeprefix("study: ")
            return framed(self._rendering.page("preview_note", visitor_language(request.scope), text=text))

    def _preview(self, section: Section, text: str) -> Response:
        edition = self._study().editions.get(section.code) if isinstance(section, TextSection) else None
        if edition is None or not isinstance(section, TextSection):
            raise HTTPException(404)
        return framed(text_preview(edition, section.document, text, self._host.prefix))

    # Saving

    @post("/admin/study/{part}", "owner")
    async def save(self, request: Request) -> Response:
        form = request.state.form
        for _ in range(_TRIES):
            section = self._section(request)
            if form.text("token", 64) != section.token:
                return await self._show_section(request, section, form.fields, _MEANWHILE, status=409)
            try:
                await self._saved(request, section)
            except ChangedMeanwhile:  # another part of the same file, unless the token says otherwise
                continue
            except InputError as error:
                problem = str(error).removeprefix("study: ")
                return await self._show_section(request, section, form.fields, problem, status=422, error=error)
            self._host.look_again()
            return self._to(f"/study/{section.name}?done=saved")
        return await self._show_section(request, section, form.fields, _MEANWHILE, status=409)

    async def _saved(self, request: Request, section: Section) -> None:
        before = {name: version(self._host.path / name) for name in section.files}
        # Read before its versions were: if it was changed between, they are not those of what was read.
        if self._section(request).token != section.token:
            raise ChangedMeanwhile
        locked = await self._store.read(is_locked)
        changes = await asyncio.to_thread(section.changes, request.state.form, locked=locked)
        if not changes:
            return
        versions = {name: before[name] for name in changes}
        fingerprint = self._study().fingerprint

        def check_and_change() -> None:
            with edited(self._host.path, changes, versions, section.why_locked) as edit:

                def change(connection: Connection) -> None:
                    edit.take_effect(connection, fingerprint)

                self._log_change_now(request, "study changed", f"{section.title}{section.suffix}", change)

        await asyncio.to_thread(check_and_change)

    # Open, pause, close

    @post("/admin/state", "owner")
    async def change_state(self, request: Request) -> Response:
        study, form = self._study(), request.state.form
        state = next((one for one in StudyState if one == form.text("state", 10)), None)
        if state is None:
            raise HTTPException(404)
        sure = "sure" in form.fields
        if not sure and (state == StudyState.CLOSED or (state == StudyState.OPEN and study.unfinished)):
            return self._to("?done=not-sure")

        def change(connection: Connection) -> None:
            if not state.may_follow(standing(connection).state):
                raise _NotFromHere
            if set_state(connection, state):
                note_deletion(connection)

        try:
            await self._log_change(request, f"study {_DONE[state]}", study.settings.title, change)
        except _NotFromHere:
            return self._to("?done=state-known")
        self._host.look_again()
        return self._to(f"?done={_DONE[state]}")


TRIED = "study tried"
"""Entry in the audit log when a trial ends."""

NOTICE = marked("This is a trial: nothing that you answer here is kept.")
END = marked("End the trial")


class TrialPages(ConsolePages):
    """Begin and end a trial; its own pages are those of participants, see ``web/trial_site.py``."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._trials = Trials(host.path, host.keys, host.prefix)
        self._trials.discard_old()

    @get("/admin/try", "owner")
    async def show(self, request: Request) -> Response:
        study = self._study()
        link = self._trials.link(self._trials.name_of(request.state.operator))
        return self._page(
            request, "try", link=link, pairs=study.settings.pairs, hours=HOURS_KEPT, arms=study.settings.arms
        )

    @post("/admin/try", "owner")
    async def begin(self, request: Request) -> Response:
        self._trials.discard_old()
        name = self._trials.name_of(request.state.operator)
        link = await asyncio.to_thread(self._trials.begin, name, self._study(), request.state.form.text("arm", 100))
        asyncio.get_running_loop().call_later(HOURS_KEPT * 3600 + 60, self._trials.discard_old)
        return RedirectResponse(link, 303)

    @post("/admin/try/end", "owner")
    async def end(self, request: Request) -> Response:
        study, name = self._study(), self._trials.name_of(request.state.operator)
        if self._trials.link(name) is not None:
            await asyncio.to_thread(self._trials.end, name)
            await self._log_change(request, TRIED, study.settings.title, lambda _: None)
        return self._to("?done=tried")
