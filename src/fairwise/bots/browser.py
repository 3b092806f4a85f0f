"""A browser that knows forms and nothing else, and never leaves the site it was opened on."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from ipaddress import ip_address
from typing import Self

import httpx2

from fairwise.errors import InputError
from fairwise.study.cards import Card
from fairwise.study.recruitment import FORCED_AGENT, SIMULATED_AGENT

# A page as a simulated person sees it: forms to fill in, two cards to compare, a receipt at the end.

SeenCard = tuple[tuple[str, str], ...]
"""Labels and values, in order."""

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_COLLECTED = {"h1", "th", "td", "dd", "textarea"}


@dataclass
class PageForm:
    """Form of a page: its address, initial fields and buttons."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    """Hidden fields and texts."""

    options: dict[str, list[str]] = field(default_factory=dict)
    """Options by the name of the field; of a select list only its name."""

    buttons: list[tuple[str, str]] = field(default_factory=list)
    """Name and value of those that send something."""

    def values_of(self, name: str) -> list[str]:
        """Return the values of the buttons with this name."""
        return [value for button, value in self.buttons if button == name]


@dataclass
class SeenOpinion:
    """Number of others who gave an answer, and number of reasons on the page."""

    count: int
    reasons: int = 0


@dataclass
class Page:
    """Content of one page."""

    heading: str = ""
    forms: list[PageForm] = field(default_factory=list)
    """Forms that change something."""

    links: list[str] = field(default_factory=list)
    cards: list[SeenCard] = field(default_factory=list)
    first: str = ""
    """Own answer of the first round, in a second round."""

    others: dict[str, SeenOpinion] = field(default_factory=dict)
    """Answers of others on the page, in a second round."""

    receipt: str = ""
    is_end: bool = False
    """Whether one cannot go on, and need not."""

    @classmethod
    def read(cls, html: str) -> Page:
        """Read a page; whatever is not understood is passed over."""
        reader = _Reader()
        reader.feed(html)
        reader.close()
        return reader.page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: list[tuple[str, set[str]]] = []
        self._form: PageForm | None = None
        self._opinion: SeenOpinion | None = None
        self._people: list[list[tuple[str, str]]] | None = None
        """Cells of the table of people, so far."""

        self._text: list[str] | None = None
        self._textarea, self._label, self._column = "", "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append((tag, set(attributes.get("class", "").split())))
        self.page.is_end |= "data-end" in attributes
        if tag in _COLLECTED:
            self._text = []
            self._textarea = attributes.get("name", "")
        elif tag == "table" and self._within("table", "compared"):
            self._people = []
        elif tag == "tr":
            self._column = 0
        elif tag == "img" and self._text is not None:
            self._text.append(attributes.get("alt", ""))
        elif tag == "form" and attributes.get("method", "").lower() == "post":
            self._form = PageForm(attributes.get("action", ""))
            self.page.forms.append(self._form)
            self.page.first = attributes.get("data-first", self.page.first)
        elif tag == "li":
            self._see_opinion(attributes)
        elif tag == "a" and "href" in attributes:
            self.page.links.append(attributes["href"])
        elif self._form is not None and "name" in attributes and "disabled" not in attributes:
            _add(self._form, tag, attributes)

    def _see_opinion(self, attributes: dict[str, str]) -> None:
        """An answer of others, or a reason within it."""
        if "data-answer" in attributes:
            self._opinion = SeenOpinion(int(attributes["data-count"]))
            self.page.others[attributes["data-answer"]] = self._opinion
        elif self._opinion is not None and any("reasons" in classes for _, classes in self._open):
            self._opinion.reasons += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _COLLECTED and self._text is not None:
            self._collected(tag, "".join(self._text))
            self._text = None
        while self._open and any(name == tag for name, _ in self._open):
            closed, classes = self._open.pop()
            if closed == tag:
                if "compared" in classes and self._people is not None:
                    self.page.cards += [tuple(person) for person in self._people if person]
                    self._people = None
                break
        if tag == "form":
            self._form = None

    def handle_data(self, data: str) -> None:
        is_hidden = any(name == "summary" or "hidden" in classes for name, classes in self._open)
        if self._text is not None and not is_hidden:  # the beginning of a folded text, and what only some hear
            self._text.append(data)

    def _collected(self, tag: str, text: str) -> None:
        if tag == "textarea":
            if self._form is not None and self._textarea:
                self._form.fields[self._textarea] = text.removeprefix("\n")
        elif tag == "h1":
            self.page.heading = squeezed(text)
        elif tag == "th":
            self._label = squeezed(text)
        elif tag == "td" and self._people is not None:
            if len(self._people) == self._column:
                self._people.append([])
            if self._label:
                self._people[self._column].append((self._label, squeezed(text)))
            self._column += 1
        elif self._within("dd", "code"):
            self.page.receipt = squeezed(text)

    def _within(self, tag: str, of_class: str) -> bool:
        """Whether the innermost open element is this one."""
        return bool(self._open) and self._open[-1][0] == tag and of_class in self._open[-1][1]


def _add(form: PageForm, tag: str, attributes: dict[str, str]) -> None:
    name, value = attributes["name"], attributes.get("value", "")
    if tag == "button":
        form.buttons.append((name, value))
    elif tag == "select":
        form.options.setdefault(name, [])
    elif tag == "input" and attributes.get("type") in {"radio", "checkbox"}:
        form.options.setdefault(name, []).append(value)
        if "checked" in attributes:
            form.fields[name] = value
    elif tag == "input":
        form.fields[name] = value


def squeezed(text: str) -> str:
    """Return a text with any white space as one space."""
    return " ".join(text.split())


# Recognising people by what is shown of them, as a participant has nothing else to go by.


class Recognition:
    """Knows everyone's card, in each arm. Of people with identical cards it sees the first: nothing shown differs."""

    def __init__(self, *cards: Mapping[str, Card]) -> None:
        self._known: dict[SeenCard, str] = {}
        for person, card in (one for everyone in cards for one in everyone.items()):
            seen = tuple((squeezed(row.label), squeezed(row.text)) for row in card.rows)
            self._known.setdefault(seen, person)

    def two_people(self, page: Page) -> tuple[str, str]:
        """Return the ids of the people on the left and on the right."""
        if len(page.cards) != 2:
            raise InputError(f"{page.heading}: {len(page.cards)} people on the page; needed: two")
        strangers = [card for card in page.cards if card not in self._known]
        if strangers:
            card = ", ".join(f"{label}: {text}" for label, text in strangers[0])
            raise InputError(f"{page.heading}: shows someone who is not in this study's folder ({card[:200]})")
        left, right = (self._known[card] for card in page.cards)
        return left, right


# Between pages.

_MOST_REDIRECTS = 5
_PATIENCE = 60.0  # seconds; a server with hundreds of participants may take its time


class Browser:
    """One window with cookies of its own; every call returns the page that one then looks at."""

    def __init__(self, site: httpx2.URL, certificates: ssl.SSLContext, *, force: bool = False) -> None:
        self._site = site
        self._client = httpx2.AsyncClient(
            headers={"origin": _origin(site), "user-agent": FORCED_AGENT if force else SIMULATED_AGENT},
            verify=certificates,
            timeout=_PATIENCE,
            trust_env=False,  # no proxy between a machine and itself
        )
        self._where = site

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    @property
    def address(self) -> str:
        """Current address without its query."""
        return str(self._where.copy_with(query=None))

    async def start(self, entrance: str = "/") -> Page:
        """Open the page by which one comes in."""
        return await self._load(self._client.build_request("GET", f"{self._site}{entrance}"))

    async def follow(self, link: str) -> Page:
        return await self._load(self._client.build_request("GET", self._where.join(link)))

    async def send(self, form: PageForm, more: Mapping[str, str]) -> Page:
        """Send what the form holds, and what was chosen or pressed."""
        data = {**form.fields, **more}
        return await self._load(self._client.build_request("POST", self._where.join(form.action), data=data))

    async def _load(self, request: httpx2.Request) -> Page:
        for _ in range(_MOST_REDIRECTS):
            self._stay_here(request.url)
            try:
                response = await self._client.send(request)
            except httpx2.ConnectError:
                raise InputError(f"{self._site}: nothing answers there; start the study with: fairwise serve") from None
            except httpx2.HTTPError as error:
                raise InputError(f"{self._place(request)}: {type(error).__name__} {error}".rstrip()) from None
            if response.next_request is None:
                return self._seen(response)
            request = response.next_request
        raise InputError(f"{self._place(request)}: sends one in circles")

    def _seen(self, response: httpx2.Response) -> Page:
        self._where = response.url
        page = Page.read(response.text)
        if response.status_code != httpx2.codes.OK:
            raise InputError(f"{self._place(response.request)}: {response.status_code} {page.heading}".rstrip())
        return page

    def _stay_here(self, url: httpx2.URL) -> None:
        if _origin(url) != _origin(self._site):
            raise InputError(f"{self._site}: sends one to another site, {_origin(url)}, where nobody should go")

    def _place(self, request: httpx2.Request) -> str:
        """Return method and path of a request without the token, which is somebody's key."""
        return f"{self._site}, {request.method} …/{request.url.path.rpartition('/')[2]}"


def _origin(url: httpx2.URL) -> str:
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"


def checked_address(url: str, *, allow_remote: bool = False) -> httpx2.URL:
    """Return the address of a study, without a slash at its end; another machine's is refused unless allowed."""
    try:
        address = httpx2.URL(url.strip().rstrip("/"))
    except httpx2.InvalidURL as error:
        raise InputError(f"{url}: not an address: {error}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InputError(f"{url}: not the address of a study; needed: http://… or https://…")
    if not allow_remote and not is_loopback(address.host):
        raise InputError(
            f"{url}: is not on this machine, and simulated answers would be kept beside those of real people; "
            "if that is what you want, add --allow-remote"
        )
    return address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, told by its name alone; nothing is looked up."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
