"""Making a study in the browser: upload a table, choose, look at a pair as participants will, make it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fairwise.errors import InputError
from fairwise.simulation import draw_panel
from fairwise.store import simulated
from fairwise.store.store import claim
from fairwise.store.study_state import set_state
from fairwise.study.design import OFFERED_KINDS, Amount, Decision
from fairwise.study.new_study import drafted_sample, drafted_study, readable
from fairwise.study.settings import MOST_PAIRS, StudySettings, StudyState
from fairwise.study.texts import SOURCE, available, language, marked
from fairwise.study.toml import Plain
from fairwise.tables.files import DECIMALS
from fairwise.tables.look import ENCODINGS, ColumnLook, FileFormat
from fairwise.tables.parsing import SEPARATORS
from fairwise.web.console import study_pages
from fairwise.web.console.base import ConsolePages, Rendering, get, post
from fairwise.web.console.settings_form import KINDS, ROWS, FormField, decided, first_decided, with_suggestions
from fairwise.web.console.uploads import HOURS_KEPT, MOST_BYTES, NoFile, UploadedPeople, Uploads, receive_file
from fairwise.web.shared.host import Host
from fairwise.web.shared.requests import Form, visitor_language, whole_number

if TYPE_CHECKING:
    import pandas as pd

# What comes around the file: its name, and the token of the form.
_AROUND = 64 * 1024
_LABEL, _UNIT = FormField.at("columns.0.label"), FormField.at("columns.0.unit")
_WORDS = tuple(FormField.at(name) for name in ("title", "question", "treated_well", "contact"))
_PAIRS = FormField.at("pairs", optional=True)
_KINDS = tuple(FormField.at(f"design.{kind}", path=kind, optional=True) for kind in OFFERED_KINDS)
# Beside uniform pairs, by what share of all pairs: so that agreement, steadiness and attention can be measured.
_MIXED = {"anchors": 0.16, "repeats": 0.1, "checks": 0.06}
_NO_OUTCOME = "none"
_REPLACED = marked("You uploaded other files meanwhile. Upload this one again.")
_COLUMN_KINDS = {"number": marked("numbers"), "text": marked("words"), "yes_no": marked("yes or no")}
_ID = re.compile(r"(^|[^a-z])(id|nr|no|number|key|person|code)$", re.IGNORECASE)


@dataclass(frozen=True)
class StudyChoices:
    """Everything, complete and sensible as far as the form alone can tell."""

    id_column: str
    outcome: str | None
    show: Sequence[str]
    settings: Plain
    as_many_checks_as_possible: bool
    """Whether checks, which need two people who look the same, were asked for only where there are such."""

    def settings_for(self, people: pd.DataFrame) -> Plain:
        """The settings, for these people."""
        if not self.as_many_checks_as_possible:
            return self.settings
        alike = people.groupby(list(self.show), dropna=False, observed=True).size()
        identical = int((alike * (alike - 1) // 2).sum())
        design = self.settings["design"]
        return {**self.settings, "design": {**design, "checks": min(design["checks"], identical)}}


def first_values(upload: UploadedPeople) -> dict[str, str]:
    """Return the values of the form before anything is chosen; no column is ticked."""
    values = {"id": str(_likely_id(upload)), "outcome": "", "answers": "four", "design": "mixed", "pairs": "50"}
    values |= {
        "first": SOURCE,
        **first_decided(),
        **{field.path: "" for field in _WORDS},
        **{field.path: "0" for field in _KINDS},
    }
    for number, column in enumerate(upload.columns):
        values |= {f"label-{number}": readable(column.name), f"unit-{number}": "", f"place-{number}": str(number + 1)}
    return values


def _likely_id(upload: UploadedPeople) -> int:
    unique = [k for k, column in enumerate(upload.columns) if column.tells_apart]
    named = [k for k in unique if _ID.search(upload.columns[k].name)]
    return (named or unique or [0])[0]


def choices_of(form: Form, upload: UploadedPeople) -> StudyChoices:
    """Return everything that was chosen; an InputError names the first thing that is missing."""
    id_column = _column(form, "id", upload)
    if id_column is None:
        raise InputError(marked("Choose the column that tells people apart"))
    outcome = _column(form, "outcome", upload)
    if outcome is None and form.text("outcome", 10) != _NO_OUTCOME:
        raise InputError(marked("Choose the column with the outcome, or say that there is none"))
    columns = _columns(form, upload)
    if not columns:
        raise InputError(marked("Tick at least one column that participants see"))
    settings = settings_of(form, upload)
    if "treated_well" not in settings and not settings.keys() & {"decisions", "amount"}:
        raise InputError(marked("Say what the favourable outcome is, such as: being released until the trial"))
    return StudyChoices(
        id_column, outcome, [column["name"] for column in columns], settings, form.text("design", 10) == "mixed"
    )


def settings_of(form: Form, upload: UploadedPeople) -> Plain:
    """Return the settings in a form; empty words are left out, so that the defaults apply."""
    words = {field.path: text for field in _WORDS if (text := field.read(form))}
    first = form.text("first", 16)
    languages = [first, *(code for code in available() if code != first and f"also-{code}" in form.fields)]
    pairs = _PAIRS.number(form)
    if not 1 <= pairs <= MOST_PAIRS:
        raise InputError(f"{_PAIRS.label}: {pairs}; allowed: 1 to {MOST_PAIRS}")
    return {
        **words,
        **decided(form),
        "languages": languages,
        "answers": form.text("answers", 10),
        "pairs": pairs,
        "design": _design(form, pairs),
        "columns": _columns(form, upload),
    }


def _columns(form: Form, upload: UploadedPeople) -> list[dict[str, str]]:
    """Return the columns that participants see, in the chosen order."""
    ticked = [number for number in range(len(upload.columns)) if f"show-{number}" in form.fields]

    def place(number: int) -> tuple[int, int]:
        place = whole_number(form.text(f"place-{number}", 9))
        return len(upload.columns) if place is None else place, number

    return [
        {
            "name": upload.columns[number].name,
            "label": form.text(f"label-{number}", _LABEL.longest) or readable(upload.columns[number].name),
            "unit": form.text(f"unit-{number}", _UNIT.longest),
        }
        for number in sorted(ticked, key=place)
    ]


def mixed(pairs: int) -> dict[str, int]:
    """Return the number of pairs of each special kind.

    >>> mixed(50)
    {'anchors': 8, 'repeats': 5, 'checks': 3}
    """
    return {kind: round(share * pairs) for kind, share in _MIXED.items()}


def _design(form: Form, pairs: int) -> dict[str, int]:
    design = form.text("design", 10)
    if design == "own":
        return {field.path: field.number(form) for field in _KINDS}
    return mixed(pairs) if design == "mixed" else {}


def _column(form: Form, name: str, upload: UploadedPeople) -> str | None:
    """Return the column with the chosen number."""
    number = form.number(name, 0, len(upload.columns) - 1)
    return None if number is None else upload.columns[number].name


def _look_at(place: str, upload: UploadedPeople) -> ColumnLook | None:
    number = whole_number(place)
    return upload.columns[number] if number is not None and number < len(upload.columns) else None


class StudyWizardPages(ConsolePages):
    """Steps from a table to a study, which is created atomically in the last one."""

    def __init__(self, host: Host, rendering: Rendering) -> None:
        super().__init__(host, rendering)
        self._uploads = Uploads(host.path)
        self._uploads.make_room()
        self._telling: dict[tuple[str, FileFormat, str, bool], dict[str, str]] = {}

    # The table

    @get("/admin/new", "owner")
    async def start(self, request: Request, problem: str | None = None, status: int = 0) -> Response:
        there, most = self._host.has_study, MOST_BYTES // 1024**2
        return self._page(request, "new", status, problem=problem, there=there, most=most, hours=HOURS_KEPT)

    @post("/admin/new", "owner", most_bytes=MOST_BYTES + _AROUND)
    async def upload(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind != "multipart/form-data":
            await self._own_form(request)
            return await self.start(request, marked("Choose a file"))
        if self._host.has_study:
            return await self.start(request, status=409)
        operator_id = request.state.operator.id
        name = self._uploads.new(operator_id)

        def check(form: Form) -> None:
            self._check_form(request, form)
            self._uploads.make_room(operator_id)

        try:
            into = self._uploads.place(name) / "received"
            called = await receive_file(request, into, check)
            await self._check(request)
            await self._uploads.look_at(name, called)
        except NoFile:
            self._uploads.discard(name)
            return await self.start(request, marked("Choose a file"))
        except InputError as error:
            self._uploads.discard(name)
            return await self.start(request, str(error))
        except FileNotFoundError:
            return await self.start(request, _REPLACED)
        except BaseException:
            self._uploads.discard(name)
            raise
        asyncio.get_running_loop().call_later(HOURS_KEPT * 3600 + 60, self._uploads.make_room)
        return self._to(f"/new/{name}/file")

    # What was understood of it

    @get("/admin/new/{upload}/file", "owner")
    async def file(self, request: Request, problem: str | None = None) -> Response:
        if self._host.has_study:
            return self._to("/new")
        upload = self._upload(request)
        return self._page(
            request,
            "file",
            problem=problem,
            upload=upload,
            kinds=_COLUMN_KINDS,
            encodings=ENCODINGS,
            separators=SEPARATORS,
            decimals=DECIMALS,
        )

    @post("/admin/new/{upload}/file", "owner")
    async def read_as(self, request: Request) -> Response:
        """Read the same file in another format."""
        upload, form = self._upload(request), request.state.form
        allowed = {"encoding": ENCODINGS, "separator": SEPARATORS, "decimal": DECIMALS}
        chosen = {name: form.fields.get(name, "") for name in allowed}
        file_format = FileFormat(**{name: value if value in allowed[name] else "" for name, value in chosen.items()})
        try:
            await self._uploads.look_at(upload.id, upload.name, file_format)
        except InputError as error:
            return await self.file(request, upload.problem(error))
        except FileNotFoundError:
            return await self.start(request, _REPLACED)
        return self._to(f"/new/{upload.id}/file")

    @post("/admin/new/{upload}/discard", "owner")
    async def discard(self, request: Request) -> Response:
        self._uploads.discard(self._upload(request).id)
        return self._to("/new?done=discarded")

    def _upload(self, request: Request) -> UploadedPeople:
        upload = self._uploads.find(request.path_params["upload"])
        if upload is None:
            raise HTTPException(404)
        return upload

    # What is chosen

    @get("/admin/new/{upload}", "owner")
    async def choose(self, request: Request) -> Response:
        if self._host.has_study:
            return self._to("/new")
        upload = self._upload(request)
        return self._choose(request, upload, first_values(upload))

    def _choose(
        self, request: Request, upload: UploadedPeople, values: Mapping[str, str], problem: str | None = None
    ) -> Response:
        response = self._page(
            request,
            "choose",
            problem=problem,
            upload=upload,
            values=with_suggestions(values, _look_at(values.get("outcome", ""), upload)),
            kinds=_KINDS,
            decided=KINDS,
            rows=ROWS,
            decision=Decision.model_fields,
            amount=Amount.model_fields,
            no_outcome=_NO_OUTCOME,
            mixed=", ".join(f"{number} {kind}" for kind, number in mixed(50).items()),
            languages=[language(code) for code in available()],
            also=[code for code in available() if f"also-{code}" in values],
            fields=StudySettings.model_fields,
        )
        response.headers.update(study_pages.FRAMING)
        return response

    @get("/admin/new/{upload}/preview", "owner")
    async def first_preview(self, request: Request) -> Response:
        upload = self._upload(request)
        return await asyncio.to_thread(self._preview, request, Form(first_values(upload)), upload)

    @post("/admin/new/{upload}/preview", "owner")
    async def preview(self, request: Request) -> Response:
        return await asyncio.to_thread(self._preview, request, request.state.form, self._upload(request))

    def _preview(self, request: Request, form: Form, upload: UploadedPeople) -> Response:
        try:
            settings = settings_of(form, upload)
            self._refuse_telling(settings, _column(form, "outcome", upload), upload, amounts="amount" in settings)
            html = study_pages.pair_preview(settings, form, upload, self._host.prefix)
        except InputError as error:
            text = upload.problem(error)
            return study_pages.framed(self._rendering.page("preview_note", visitor_language(request.scope), text=text))
        return study_pages.framed(html)

    def _refuse_telling(self, settings: Plain, outcome: str | None, upload: UploadedPeople, *, amounts: bool) -> None:
        """Refuse columns that tell the outcome, in the preview already."""
        if outcome is None:
            return
        key = (upload.id, upload.format, outcome, amounts)
        if key not in self._telling:
            self._telling = {key: upload.telling(outcome, amounts=amounts)}
        for column in settings["columns"]:
            if column["name"] in self._telling[key]:
                raise InputError(f"{column['name']}: {self._telling[key][column['name']]}")

    # The study

    @post("/admin/new/{upload}", "owner")
    async def make(self, request: Request) -> Response:
        if self._host.has_study:
            return await self.start(request, status=409)
        upload, form = self._upload(request), request.state.form
        try:
            choices = choices_of(form, upload)
            await asyncio.to_thread(self._make, request, upload, choices)
        except InputError as error:
            return self._choose(request, upload, form.fields, upload.problem(error))
        self._uploads.discard_all()
        self._host.look_again()
        return self._to("/study?done=made")

    def _make(self, request: Request, upload: UploadedPeople, choices: StudyChoices) -> None:
        people = upload.read(choices.id_column)
        settings = choices.settings_for(people.table)
        with drafted_study(self._host.path, people, choices.show, settings, outcome=choices.outcome) as draft:

            def appear(connection: Connection) -> None:
                claim(connection, draft.study.fingerprint)
                set_state(connection, StudyState.PAUSED)
                draft.appear()

            self._log_change_now(request, "study made", draft.study.settings.title, appear)

    @post("/admin/sample", "owner")
    async def make_sample(self, request: Request) -> Response:
        """A study to try everything on, open and with the answers of simulated people."""
        if self._host.has_study:
            return await self.start(request, status=409)
        try:
            await asyncio.to_thread(self._make_sample, request)
        except InputError as error:
            return await self.start(request, str(error))
        self._uploads.discard_all()
        self._host.look_again()
        return self._to("?done=sample-made")

    def _make_sample(self, request: Request) -> None:
        with drafted_sample(self._host.path) as draft:

            def appear(connection: Connection) -> None:
                claim(connection, draft.study.fingerprint)
                simulated.take_part(connection, draft.study, draw_panel(), at=datetime.now(UTC))
                draft.appear()

            self._log_change_now(request, "sample study made", draft.study.settings.title, appear)
