"""Base of all pages of the console: templates, access, forms and the audit log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from babel.dates import format_datetime
from babel.numbers import format_decimal
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from fairwise.languages import SOURCE, Language, language_of, languages_of
from fairwise.messages import marked, translated
from fairwise.numbers import share_difference
from fairwise.results.simpler_models import group_rule
from fairwise.store import operators
from fairwise.store.errors import NotLoggedIn
from fairwise.store.operators import Operator
from fairwise.study.folder import StudyFolder
from fairwise.study.quality import Flag
from fairwise.study.texts import language
from fairwise.web.shared.host import Host
from fairwise.web.shared.pages import templates_of
from fairwise.web.shared.requests import Form, read_form, visitor_language
from fairwise.web.shared.security import StartPage, cookie_of

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
WORDS_OF_JOBS = (
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
    """Templates of the console in each of its languages."""

    def __init__(self, prefix: str, start_page: StartPage | None = None) -> None:
        self._environments = {code: _environment(prefix, console_language(code), start_page) for code in languages()}

    def page(self, template: str, code: str = SOURCE, **values: object) -> str:
        """Return a page; its template is a file under ``templates/``, without its ending."""
        return self._environments[code].get_template(f"{template}.html").render(**values)


def _environment(prefix: str, lang: Language, start_page: StartPage | None) -> Environment:
    environment = templates_of("fairwise.web.console", prefix, lang)
    environment.globals |= {
        "_": lang.translate,
        "spoken": lang,
        "offered": [language(code) for code in languages()],
        "admin": f"{prefix}/admin",
        "start_page": start_page,
        "said_done": DONE,
        "menu": MENU,
        "problem": None,
    }
    environment.filters |= {
        "moment": partial(moment, lang=lang),
        "percent": percent,
        "above": share_difference,
        "count": partial(count, lang=lang),
        "sentence": sentence,
        "evidence": partial(evidence, lang=lang),
        "group_rule": group_rule,
        "message": partial(translated, language=results_language(lang.code)),
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


def moment(at: datetime | None, lang: Language | None = None) -> str:
    """Return a moment as text.

    >>> from datetime import UTC, datetime
    >>> moment(datetime(2026, 3, 9, 14, 5, tzinfo=UTC))
    '9 Mar 2026, 14:05 UTC'
    """
    if at is None:
        return "–"
    return f"{format_datetime(at, 'd MMM y, HH:mm', locale=(lang or language(SOURCE)).locale)} UTC"


def count(number: int, lang: Language) -> str:
    """Return a whole number with marks between thousands."""
    return str(format_decimal(number, locale=lang.locale))


def sentence(words: str) -> str:
    """Return words as the beginning of a sentence; those behind the first stay as they are, as German nouns must.

    >>> sentence("immer dieselbe Taste")
    'Immer dieselbe Taste'
    """
    return words[:1].upper() + words[1:]


def evidence(flag: Flag, lang: Language) -> str:
    """Return what a flag rests on."""
    values = dict(flag.values)
    if "said" in values:
        values["said"] = lang.translate(str(values["said"]))
    if "middle" in values:
        values["middle"] = lang.decimal(str(values["middle"]))
    return lang.translate(flag.evidence) % values


def percent(share: float | None) -> str:
    """Return a share as text.

    >>> percent(0.254), percent(None)
    ('25 %', '–')
    """
    return "–" if share is None else f"{100 * share:.0f} %"


T = TypeVar("T")
COOKIE = "fairwise_operator"
# Tables of people may have many columns, and each of them several fields.
_MOST_FIELDS = 5000
# A session is marked as used at most so often; each time is a write.
_MARKED = timedelta(minutes=1)


Role = Literal["anyone", "viewer", "owner"]


@dataclass(frozen=True)
class ConsoleRoute:
    """A page or an action, and who may use it."""

    method: Literal["GET", "POST"]
    path: str
    handler: Callable[[Any, Request], Awaitable[Response]]
    role: Role
    """Owners may do whatever viewers may."""

    most_bytes: int = 0
    """Limit of a request that brings a file, read by its handler; 0 for a form."""


Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])


def get(path: str, role: Role) -> Callable[[Handler], Handler]:
    """Mark a method as the page at a path."""
    return _route("GET", path, role)


def post(path: str, role: Role, most_bytes: int = 0) -> Callable[[Handler], Handler]:
    """Mark a method as the action at a path."""
    return _route("POST", path, role, most_bytes)


def _route(method: Literal["GET", "POST"], path: str, role: Role, most_bytes: int = 0) -> Callable[[Handler], Handler]:
    def mark(handler: Handler) -> Handler:
        vars(handler)["route"] = ConsoleRoute(method, path, handler, role, most_bytes)
        return handler

    return mark


class ConsolePages:
    """Pages about one thing. A GET shows and changes nothing; a POST changes, then sends the browser to a GET.

    Handlers take the request; ``request.state.operator`` is who is logged in. Every route is refused to whoever may not
    use it before its handler is called, and every POST without a form of this session. What was allowed then may not be
    allowed any more when something is changed: every change goes through :meth:`_log_change`, which looks again.
    """

    routes: ClassVar[tuple[ConsoleRoute, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.routes = tuple(member.route for member in vars(cls).values() if hasattr(member, "route"))

    def __init__(self, host: Host, rendering: Rendering) -> None:
        self._host, self._rendering, self._store = host, rendering, host.store
        self._marked: dict[bytes, datetime] = {}

    def starlette_routes(self) -> list[Route]:
        return [Route(route.path, self._guarded(route), methods=[route.method]) for route in self.routes]

    def _guarded(self, route: ConsoleRoute) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            request.state.role = route.role
            try:
                await self._check(request)
            except NotLoggedIn:
                if route.method == "GET":
                    return self._to("/login")
                raise
            if route.method == "POST" and not route.most_bytes:
                request.state.form = await self._own_form(request)
            return await route.handler(self, request)

        return guarded

    async def _check(self, request: Request) -> None:
        """Find the operator and refuse those who may not use this route."""
        request.state.operator = await self._operator(request)
        if request.state.role != "anyone":
            operators.check_role(request.state.operator, request.state.role)

    async def _operator(self, request: Request) -> Operator | None:
        token = cookie_of(request, COOKIE)
        if token is None:
            return None
        now, token_hash = datetime.now(UTC), self._host.keys.hashed(token)
        operator = await self._store.read(partial(operators.operator_of, token_hash=token_hash, at=now))
        if operator is not None and now - self._marked.get(token_hash, now - 2 * _MARKED) > _MARKED:
            self._marked[token_hash] = now
            await self._store.write(partial(operators.use_session, token_hash=token_hash, at=now))
        return operator

    async def _own_form(self, request: Request) -> Form:
        """Return the form if it was made for this session and its sender may still send it."""
        form = await read_form(request, _MOST_FIELDS)
        self._check_form(request, form)
        await self._check(request)
        return form

    def _check_form(self, request: Request, form: Form) -> None:
        if not self._host.keys.is_form(self._subject(request), form.text("csrf", 200)):
            raise HTTPException(403)

    def _subject(self, request: Request) -> str:
        """Return what a form is signed for: the session, or nobody before there is one."""
        return f"console {cookie_of(request, COOKIE) or ''}"

    def _study(self) -> StudyFolder:
        """Return the study, or answer 404 if there is none."""
        if self._host.study is None:
            raise HTTPException(404)
        return self._host.study

    async def _log_change(self, request: Request, action: str, about: str, change: Callable[[Connection], T]) -> T:
        """Make a change and log it, if the operator may still make it, in one transaction."""
        return await self._store.write(self._authorised(request, action, about, change))

    async def _change_as_operator(self, request: Request, change: Callable[[Connection, Operator, datetime], T]) -> T:
        """Make a change that logs itself, if the operator may still make it."""
        return await self._store.write(self._by_operator(request, change))

    def _log_change_now(self, request: Request, action: str, about: str, change: Callable[[Connection], T]) -> T:
        """Make a change as `_log_change` does, from a thread."""
        return self._store.change_now(self._authorised(request, action, about, change))

    def _authorised(
        self, request: Request, action: str, about: str, change: Callable[[Connection], T]
    ) -> Callable[[Connection], T]:
        def log_and_change(connection: Connection, operator: Operator, now: datetime) -> T:
            operators.note(connection, operator, action, about, now)
            return change(connection)  # last, as some put files in their places

        return self._by_operator(request, log_and_change)

    def _by_operator(
        self, request: Request, change: Callable[[Connection, Operator, datetime], T]
    ) -> Callable[[Connection], T]:
        """Return a change that is refused if its operator may no longer make it."""
        token_hash, role = self._host.keys.hashed(cookie_of(request, COOKIE) or ""), request.state.role

        def authorised(connection: Connection) -> T:
            now = datetime.now(UTC)
            operator = operators.authorised(connection, token_hash, role, now)
            return change(connection, operator, now)

        return authorised

    def _page(
        self, request: Request, template: str, status: int = 0, *, problem: str | None = None, **values: object
    ) -> Response:
        """Return a page with the menu; `values` are what its template needs, `problem` is shown at its top."""
        csrf = self._host.keys.form(self._subject(request))
        html = self._rendering.page(
            template,
            visitor_language(request.scope),
            operator=getattr(request.state, "operator", None),
            csrf=csrf,
            here=f"{self._host.prefix}{request.url.path}",
            study=self._host.study,
            done=request.query_params.get("done"),
            problem=problem,
            **values,
        )
        return HTMLResponse(html, status or (422 if problem else 200))

    def _to(self, path: str) -> RedirectResponse:
        """Redirect to another page of the console."""
        return RedirectResponse(f"{self._host.prefix}/admin{path}", 303)
