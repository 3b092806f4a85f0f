"""From values to the console's HTML, in the language of whoever reads it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from babel.dates import format_datetime
from babel.numbers import format_decimal

from fairwise.languages import SOURCE, Language, language_of, languages_of
from fairwise.messages import marked, translated
from fairwise.numbers import share_difference
from fairwise.results.simpler_models import group_rule
from fairwise.study.quality import Flag
from fairwise.study.texts import language
from fairwise.web.shared.security import StartPage
from fairwise.web.shared.templating import templates_of

if TYPE_CHECKING:
    from jinja2 import Environment

LANGUAGE_COOKIE = "fairwise_console_language"

# Words for ``?done=``: what was just done, said at the top of the page one comes to.
DONE = {
    "saved": marked("Saved."),
    "fit-started": marked("The model was put in the queue."),
    "model-chosen": marked("The model was chosen. Participants see nothing of it yet."),
    "vote-opened": marked("The vote is open. Participants who have finished find it under their own link."),
    "vote-ended": marked("The vote has ended."),
    "vote-decided": marked("Your decision is kept."),
    "result-shown": marked("Participants can see the result now."),
    "result-hidden": marked("Participants no longer see the result."),
    "another-chosen": marked("Another model has been chosen in the meantime, so nothing was changed."),
    "made": marked(
        "The study was made. It is paused: complete its texts, look through it, then open it on the overview."
    ),
    "sample-made": marked(
        "The sample study was made: 43 simulated people have answered it, and it is open. Take part "
        "yourself, or see under Models what following the answers costs."
    ),
    "tried": marked("The trial is over, and everything that you answered in it is deleted."),
    "discarded": marked("The file was deleted."),
    "opened": marked("The study is open: people can take part now."),
    "paused": marked("The study is paused: nobody can answer until you open it again."),
    "closed": marked("The study is closed, for good."),
    "not-sure": marked("Nothing was changed: tick the box beside the button first."),
    "state-known": marked("Nothing was changed: somebody else has paused, opened or closed the study in the meantime."),
    "round-ended": marked("The first round is over: nobody can begin or answer in it any more."),
    "round-opened": marked("The second round is open: participants can come back by their own link."),
    "round-known": marked("Nothing was changed: the rounds have moved on in the meantime."),
    "nothing-to-discuss": marked("Nothing was changed: no pair is disputed or dear that four people answered."),
    "reasons-decided": marked("Decided."),
    "account-added": marked("The account was made."),
    "account-removed": marked("The account was removed, and its sessions ended."),
    "excluded": marked("This participant is left out from now on."),
    "included": marked("This participant is back in."),
    "erased": marked("The participant was erased."),
    "erased-later": marked(
        "The participant was erased. The files of the database were in use, so that deleted answers may "
        "still be read from them by someone who has the files. The server tries again within the hour."
    ),
    "ids-listed": marked("The list was changed: only these ids are let in."),
    "ids-deleted": marked("The list was deleted: any id is let in."),
    "report-link-revoked": marked("The link was revoked: nobody can read the report by it any more."),
    "link-revoked": marked("The link was revoked: nobody can begin by it any more."),
    "room-opened": marked("The room is open."),
    "room-closed": marked("The room is closed. Whoever is in can go on."),
    "password-changed": marked("The password was changed. All other sessions of this account ended."),
}

# What jobs and measures say, which come from where nobody knows the console's language.
SAID_ELSEWHERE = (
    marked("Reading the answers"),
    marked("Comparing both rounds"),
    marked("Learning what people mean"),
    marked("Fitting the model"),
    marked("Tracing the frontier"),
    marked("Leaving out each participant"),
    marked("Measuring on people left out"),
    marked("Writing the report"),
    marked("no pair was answered by two judges"),
    marked("all their answers are the same answer"),
    marked("without one of so few judges there is nothing left to compare"),
    marked("no judge differs from the others"),
)

# Path, words, and whether only owners may go there.
MENU = (
    ("", marked("Overview"), False),
    ("/study", marked("Study"), True),
    ("/coming", marked("Links and rooms"), True),
    ("/participants", marked("Participants"), False),
    ("/second-round", marked("Second round"), False),
    ("/fits", marked("Models"), False),
    ("/results", marked("Results"), False),
    ("/downloads", marked("Downloads"), True),
    ("/trail", marked("Trail"), True),
    ("/accounts", marked("Accounts"), True),
    ("/help", marked("Help"), False),
)


# What is read instead of a page, by its status.
REFUSALS = {
    401: (marked("You are not logged in any more"), marked("Log in again, then do it once more. Nothing was changed.")),
    403: (
        marked("This is not for you to do"),
        marked("It needs an owner's account, or the form is too old. Nothing was changed."),
    ),
    404: (marked("There is no such page"), marked("It may have been there before. Nothing was changed.")),
    413: (marked("That was too large"), marked("The file is larger than what is taken here. Nothing was changed.")),
    503: (
        marked("The database cannot be reached at the moment"),
        marked("Wait a minute, then reload. Nothing was lost."),
    ),
    507: (
        marked("The disk of the server is full"),
        marked("Make room there, then do it once more. Nothing was changed."),
    ),
}
REFUSED_OTHERWISE = (marked("Something went wrong"), marked("Nothing was changed. The log of the server says more."))


class Rendering:
    """All templates of the console, in each of its languages."""

    def __init__(self, prefix: str, start_page: StartPage | None = None) -> None:
        self._environments = {code: _environment(prefix, console_language(code), start_page) for code in languages()}

    def page(self, template: str, code: str = SOURCE, **values: object) -> str:
        """Return a page; its template is a file under ``templates/``, without its ending."""
        return self._environments[code].get_template(f"{template}.html").render(**values)


def _environment(prefix: str, spoken: Language, start_page: StartPage | None) -> Environment:
    environment = templates_of("fairwise.web.console", prefix, spoken)
    environment.globals |= {
        "_": spoken.translate,
        "spoken": spoken,
        "offered": [language(code) for code in languages()],
        "admin": f"{prefix}/admin",
        "start_page": start_page,
        "said_done": DONE,
        "menu": MENU,
        "problem": None,
    }
    environment.filters |= {
        "moment": partial(moment, spoken=spoken),
        "percent": percent,
        "above": share_difference,
        "count": partial(count, spoken=spoken),
        "sentence": sentence,
        "evidence": partial(evidence, spoken=spoken),
        "group_rule": group_rule,
        "message": partial(translated, language=results_language(spoken.code)),
    }
    return environment


def languages() -> tuple[str, ...]:
    """Codes of the languages that the console is in."""
    return languages_of("fairwise.web.console")


def console_language(code: str) -> Language:
    """Return a language with what the console says in it; English where it says nothing in this one."""
    return language_of("fairwise.web.console", code if code in languages() else SOURCE)


def results_language(code: str) -> Language:
    """Return a language of messages in results; English where they have no translation."""
    return language_of("fairwise.results", code if code in languages_of("fairwise.results") else SOURCE)


def moment(at: datetime | None, spoken: Language | None = None) -> str:
    """Return a moment as text.

    >>> from datetime import UTC, datetime
    >>> moment(datetime(2026, 3, 9, 14, 5, tzinfo=UTC))
    '9 Mar 2026, 14:05 UTC'
    """
    if at is None:
        return "–"
    return f"{format_datetime(at, 'd MMM y, HH:mm', locale=(spoken or language(SOURCE)).locale)} UTC"


def count(number: int, spoken: Language) -> str:
    """Return a whole number with marks between thousands."""
    return str(format_decimal(number, locale=spoken.locale))


def sentence(words: str) -> str:
    """Return words as the beginning of a sentence; those behind the first stay as they are, as German nouns must.

    >>> sentence("immer dieselbe Taste")
    'Immer dieselbe Taste'
    """
    return words[:1].upper() + words[1:]


def evidence(flag: Flag, spoken: Language) -> str:
    """Return what a flag rests on."""
    values = dict(flag.values)
    if "said" in values:
        values["said"] = spoken.translate(str(values["said"]))
    if "middle" in values:
        values["middle"] = spoken.decimal(str(values["middle"]))
    return spoken.translate(flag.evidence) % values


def percent(share: float | None) -> str:
    """Return a share as text.

    >>> percent(0.254), percent(None)
    ('25 %', '–')
    """
    return "–" if share is None else f"{100 * share:.0f} %"
