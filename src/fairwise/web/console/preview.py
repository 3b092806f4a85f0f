"""Pages as participants will see them, in a frame of the console: made by what makes the real ones."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pyarrow as pa
from starlette.responses import HTMLResponse, Response

from fairwise.errors import InputError
from fairwise.study.cards import ID, Card, cards_of
from fairwise.study.folder import Edition
from fairwise.study.languages import language
from fairwise.study.settings import StudySettings
from fairwise.study.texts import safe_html
from fairwise.study.toml import Plain
from fairwise.study.translations import translated
from fairwise.web.console.uploads import UploadedPeople
from fairwise.web.shared.forms import Form
from fairwise.web.shared.pages import Pages
from fairwise.web.shared.security import POLICY
from fairwise.web.shared.views import OwnPages, Pair

# Forms in a frame like this go nowhere, and nobody but the console may show it.
FRAMED = {
    "content-security-policy": POLICY.replace("form-action 'self'", "form-action 'none'") + "; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
FRAMING = {"content-security-policy": f"{POLICY}; frame-src 'self'; connect-src 'self'; frame-ancestors 'none'"}
"""For the page that shows such a frame."""

# Links and forms of such a page lead nowhere.
_NOBODY = OwnPages(path="#", link="https://…/p/…", csrf="")


def framed(html: str) -> Response:
    """Return a page that may be shown in a frame of ours."""
    return HTMLResponse(html, headers=FRAMED)


def pair_preview(content: Plain, form: Form, upload: UploadedPeople, prefix: str) -> str:
    """Two people of the file, as the form says so far; an InputError says what is missing."""
    if not content["columns"]:
        raise InputError("Tick a column that participants see: then two people of your file appear here.")
    settings = StudySettings.checked({"title": "Comparing people", **content}, "study")
    code = form.text("preview", 16)
    code = code if code in settings.languages else settings.languages[0]
    if code != settings.languages[0]:
        settings, _ = translated(settings, code, Path("none"))
    a, b = _two_people(settings, upload, code, others=form.text("do", 10) == "others")
    pair = Pair(number=1, total=settings.pairs, answered=0, a=a, b=b)
    return Pages(settings, "", "", prefix, spoken=language(code)).pair(_NOBODY, pair)


def _two_people(settings: StudySettings, upload: UploadedPeople, code: str, *, others: bool) -> tuple[Card, Card]:
    """Two who differ in something that is shown, if there are such."""
    sample = upload.sample()
    shown = {column.name: sample[column.name] for column in settings.columns}
    people = pa.table({ID: [str(row) for row in range(sample.num_rows)], **{k: v for k, v in shown.items() if k != ID}})
    if ID in shown:
        raise InputError(f"A column called {ID} cannot be shown: the name is kept for people's ids. Give it another.")
    cards = list(cards_of(people, settings.columns, upload.name, language(code)).values())
    if len(cards) < 2:
        raise InputError(f"{upload.name}: there is only one person in it; a pair needs two.")
    if others:
        random.shuffle(cards)
    return next((two for two in combinations(cards, 2) if two[0].rows != two[1].rows), (cards[0], cards[1]))


def text_preview(edition: Edition, document: str, markdown: str, prefix: str) -> str:
    """A consent or task page with this text in it."""
    html = safe_html(markdown)
    consent, task = (html, "") if document == "consent" else ("", html)
    pages = Pages(edition.settings, consent, task, prefix, spoken=edition.language)
    if document == "consent":
        return pages.consent(start_key="", csrf="", resume=None)
    return pages.task(_NOBODY)
