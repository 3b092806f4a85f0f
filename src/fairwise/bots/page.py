"""A page as a simulated person sees it: forms to fill in, two cards to compare, a receipt at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.study.cards import Card


SeenCard = tuple[tuple[str, str], ...]
"""Labels and values, in order."""

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_COLLECTED = {"h1", "dt", "dd", "textarea"}


@dataclass
class Form:
    """Where to send it, what is in it before anything is chosen, and what can be pressed."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    """Hidden fields and texts."""

    options: dict[str, list[str]] = field(default_factory=dict)
    """What can be chosen, by the name of the field."""

    buttons: list[tuple[str, str]] = field(default_factory=list)
    """Name and value of those that send something."""

    def values_of(self, name: str) -> list[str]:
        """What the buttons of this name stand for."""
        return [value for button, value in self.buttons if button == name]


@dataclass
class Page:
    """What matters of one page."""

    heading: str = ""
    forms: list[Form] = field(default_factory=list)
    """Only those that change something."""

    links: list[str] = field(default_factory=list)
    cards: list[SeenCard] = field(default_factory=list)
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
        self._form: Form | None = None
        self._rows: list[tuple[str, str]] | None = None
        self._text: list[str] | None = None
        self._textarea, self._label = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append((tag, set(given.get("class", "").split())))
        self.page.is_end |= "data-end" in given
        if tag in _COLLECTED:
            self._text = []
            self._textarea = given.get("name", "")
        elif tag == "section" and self._within("section", "card"):
            self._rows = []
        elif tag == "form" and given.get("method", "").lower() == "post":
            self._form = Form(given.get("action", ""))
            self.page.forms.append(self._form)
        elif tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        elif self._form is not None and "name" in given and "disabled" not in given:
            _add(self._form, tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag in _COLLECTED and self._text is not None:
            self._collected(tag, "".join(self._text))
            self._text = None
        while self._open and any(name == tag for name, _ in self._open):
            closed, classes = self._open.pop()
            if closed == tag:
                if tag == "section" and "card" in classes and self._rows is not None:
                    self.page.cards.append(tuple(self._rows))
                    self._rows = None
                break
        if tag == "form":
            self._form = None

    def handle_data(self, data: str) -> None:
        if self._text is not None and not self._within("span", "mark"):
            self._text.append(data)

    def _collected(self, tag: str, text: str) -> None:
        if tag == "textarea":
            if self._form is not None and self._textarea:
                self._form.fields[self._textarea] = text.removeprefix("\n")
        elif tag == "h1":
            self.page.heading = squeezed(text)
        elif tag == "dt":
            self._label = squeezed(text)
        elif self._rows is not None:
            self._rows.append((self._label, squeezed(text)))
        elif self._within("dd", "code"):
            self.page.receipt = squeezed(text)

    def _within(self, tag: str, of_class: str) -> bool:
        """Whether the innermost open element is this one."""
        return bool(self._open) and self._open[-1][0] == tag and of_class in self._open[-1][1]


def _add(form: Form, tag: str, given: dict[str, str]) -> None:
    name, value = given["name"], given.get("value", "")
    if tag == "button":
        form.buttons.append((name, value))
    elif tag == "input" and given.get("type") in {"radio", "checkbox"}:
        form.options.setdefault(name, []).append(value)
        if "checked" in given:
            form.fields[name] = value
    elif tag == "input":
        form.fields[name] = value


def squeezed(text: str) -> str:
    """As it is read: any amount of white space is one space."""
    return " ".join(text.split())


# Recognising people by what is shown of them, as a participant has nothing else to go by.


class Eyes:
    """Knows everyone's card. Of people with identical cards it sees the first: they differ in nothing shown."""

    def __init__(self, cards: Mapping[str, Card]) -> None:
        self._known: dict[SeenCard, str] = {}
        for person, card in cards.items():
            seen = tuple((squeezed(row.label), squeezed(row.text)) for row in card.rows)
            self._known.setdefault(seen, person)

    def two_people(self, page: Page) -> tuple[str, str]:
        """Who is on the left, and who on the right."""
        if len(page.cards) != 2:
            raise InputError(f"{page.heading}: {len(page.cards)} people on the page; needed: two")
        strangers = [card for card in page.cards if card not in self._known]
        if strangers:
            shown = ", ".join(f"{label}: {text}" for label, text in strangers[0])
            raise InputError(f"{page.heading}: shows someone who is not in this study's folder ({shown[:200]})")
        left, right = (self._known[card] for card in page.cards)
        return left, right
