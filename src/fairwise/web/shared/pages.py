"""Templates of participants' pages, rendered in each language and experiment group."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, zip_longest
from math import ceil
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from markupsafe import Markup

from fairwise import templates
from fairwise.judgments import Answer
from fairwise.languages import Language
from fairwise.study.cards import MEANINGS, Card, Row, check_questions, practice_pair
from fairwise.study.design import Arm, usual_meaning
from fairwise.study.folder import StudyFolder
from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT
from fairwise.study.recruitment import PANELS
from fairwise.study.settings import StudySettings
from fairwise.study.texts import language, safe_html
from fairwise.web.shared.requests import static_addresses
from fairwise.web.shared.views import (
    CLOSING_QUESTIONS,
    CONFIDENCE,
    LONGEST_CLOSING,
    LONGEST_WHY,
    RULES,
    TRIES,
    OwnPages,
    Pair,
)

if TYPE_CHECKING:
    from jinja2 import Environment

WIDE_VALUE = 40
"""Characters of a value that fits into a column on a phone."""

LONG_VALUE, BEGINNING = 240, 120
"""Characters of a value that is folded, and of its beginning that stays visible."""

_LINES_KEPT = 16_384  # of some hundred bytes each
# Facts about a person in the list of all answers: as many as there is room for.
_MOST_FACTS, _LONGEST_FACTS, _LONGEST_FACT = 6, 110, 40
# Cautious guesses of how long it takes to read everything, for a pair, to say why, for a question.
_SECONDS_TO_READ, _SECONDS_A_PAIR, _SECONDS_TO_EXPLAIN, _SECONDS_A_QUESTION = 150, 15, 10, 15

_OPTIONAL: Mapping[str, object] = {
    "own": None,
    "resume": None,
    "way_back": None,
    "problem": None,
    "pressed": None,
    "turn": None,
    "tries": 0,
    "wrong": (),
    "chosen": {},
    "way_here": "",
    "undo": "",
    "typed": "",
    "saved": "",
    "back": "",
    "result": "never",
    "second_round": "never",
    **dict.fromkeys(
        ("after", "again", "contests", "done", "full", "kept", "practice", "reported", "vote", "voted"), False
    ),
}
"""Values of templates that a page may leave out."""


@dataclass(frozen=True)
class ComparedRow:
    """One column's values of several people."""

    label: str
    rows: tuple[Row, ...]

    @property
    def wide(self) -> bool:
        """Whether it needs more room than a column on a phone."""
        return any(row.picture or len(row.text) > WIDE_VALUE for row in self.rows)


class Pieces:
    """Parts that many pages of pairs have in common, each rendered once and cached."""

    def __init__(self, environment: Environment) -> None:
        macros: Any = environment.get_template("pieces.html").module
        self._comparison, self._line = macros.comparison, macros.compared_line
        self._cached_line = lru_cache(_LINES_KEPT)(partial(macros.compared_line, pictures=""))
        self.meaning = lru_cache(macros.meaning)
        self.buttons = lru_cache(macros.buttons)
        self.meanings = lru_cache(macros.meanings)

    def comparison(self, names: Sequence[object], cards: Sequence[Card], differ: Sequence[bool], pictures: str) -> str:
        """Return people side by side; short lines are cached, as others are likely to see the same ones."""
        names, lines = tuple(names), list[str]()
        for rows, differs in zip_longest(zip(*(card.rows for card in cards), strict=True), differ):
            line = ComparedRow(rows[0].label, rows)
            render = partial(self._line, pictures=pictures) if line.wide else self._cached_line
            lines.append(render(names, line, differs))
        html: str = self._comparison(names, Markup("".join(lines)))  # noqa: S704 - each was made by a template
        return html


class Pages:
    """Every page that a participant may see, in one language and, if there are any, one experiment group.

    `settings` have their words in this language; `offered` are all languages if there are several; a `notice` stands at
    the top of every page; an `arm` decides the order of the buttons and may have a text. `consent_html` and `task_html`
    are sanitised already; everything else is escaped here.
    """

    def __init__(
        self,
        settings: StudySettings,
        consent_html: str,
        task_html: str,
        prefix: str = "",
        *,
        spoken: Language | None = None,
        offered: Sequence[Language] = (),
        notice: Markup | None = None,
        arm: Arm | None = None,
    ) -> None:
        self.language = spoken or language(settings.languages[0])
        self.translate = self.language.translate
        self.settings = settings
        self.of_arms: Mapping[str, Self] = {}
        """Pages of each experiment group by its name."""

        buttons = settings.allowed_answers if arm is None else arm.ordered(settings.allowed_answers)
        answers = {
            answer: {
                "key": key,
                "value": answer.value,
                "words": settings.words_of(answer),
                "means": self.translate(MEANINGS[answer]),
            }
            for key, answer in enumerate(buttons, start=1)
        }
        environment = templates_of("fairwise.web.shared", prefix.rstrip("/"), self.language)
        environment.globals |= {
            **_OPTIONAL,
            "_": self.translate,  # faster than Jinja's own, which is for texts with values in them
            "settings": settings,
            "contact": contact_link(settings.contact),
            "language": self.language,
            "offered": offered,
            "notice": notice,
            "consent_html": below_heading(consent_html),
            "task_html": below_heading(task_html),
            "answers": list(answers.values()),
            "answer_words": answers,
            "closing_questions": [(name, self.translate(text)) for name, text in CLOSING_QUESTIONS],
            "check_questions": check_questions(settings, self.translate),
            "practice_pair": self._practice_pair,
            "differences": self._differences,
            "facts": facts_of,
            "panel": PANELS.get(settings.recruitment.panel),
            "confidence_words": [(value, self.translate(words)) for value, words in CONFIDENCE],
            "rules": RULES,
            "tiers_say_it": bool(settings.tiers)
            and settings.treated_well == self.translate(usual_meaning(vars(settings))),
            "TRIES": TRIES,
            "LONG_VALUE": LONG_VALUE,
            "BEGINNING": BEGINNING,
            "minutes": _minutes(settings),
            "sides": (self.translate("A"), self.translate("B")),
            "LONGEST_CLOSING": LONGEST_CLOSING,
            "LONGEST_WHY": LONGEST_WHY,
            "LONGEST_NUMBER": LONGEST_NUMBER,
            "LONGEST_TEXT": LONGEST_TEXT,
            "arm_html": Markup(safe_html(arm.text)) if arm and arm.text else "",  # noqa: S704 - sanitised
        }
        environment.globals["pieces"] = Pieces(environment)
        self._templates = {name: environment.get_template(name) for name in environment.list_templates(["html"])}
        for template in self._templates.values():  # every page begins with a copy of these, and of a dict that is fast
            template.globals = dict(template.globals)

    def in_arm(self, name: str | None) -> Self:
        """Return the pages as participants of an experiment group see them; without one, these."""
        return self if name is None else self.of_arms.get(name, self)

    def render(self, template: str, own: OwnPages | None = None, **values: object) -> str:
        """Return a page as HTML; `own` is the participant who sees it, `values` are what its template needs.

        Every path among the values (``own.path``, ``back``) has the prefix before it.
        """
        return self._templates[f"{template}.html"].render(own=own, **values)

    def _practice_pair(self, pressed: Answer | None) -> Pair:
        a, b = practice_pair(self.translate)
        return Pair(number=1, total=1, answered=0, a=a, b=b, answer=pressed)

    def _differences(self, a: Card, b: Card) -> tuple[bool, ...]:
        """Return which rows of two people are marked as different."""
        return a.differences(b) if self.settings.mark_differences else ()


def pages_of(
    folder: StudyFolder, prefix: str, notice: Callable[[str], Markup] = lambda _: Markup()
) -> dict[str, Pages]:
    """Return the pages of a study in each language that it offers; `notice` takes the code of a language."""
    languages = [folder.editions[code].language for code in folder.offered]

    def pages_in(code: str, arm: Arm | None = None) -> Pages:
        edition = folder.editions[code].in_arm(None if arm is None else arm.name)
        return Pages(
            edition.settings,
            edition.consent_html,
            edition.task_html,
            prefix,
            spoken=edition.language,
            offered=languages if len(languages) > 1 else [],
            notice=notice(code),
            arm=arm,
        )

    pages = {code: pages_in(code) for code in folder.offered}
    for code, shared in pages.items():
        shared.of_arms = {arm.name: pages_in(code, arm) for arm in folder.editions[code].settings.arms}
    return pages


def templates_of(package: str, prefix: str, lang: Language) -> Environment:
    """Return the templates of a package in a language, escaped by default."""
    environment = templates.environment(package, catalogue=lang.catalogue)
    environment.globals |= {"prefix": prefix, "static": static_addresses(prefix)}
    environment.filters |= {"number": lang.number, "percent": lang.percent}
    return environment


def contact_link(contact: str) -> Markup | str:
    """Return the contact address; if it is a mail address and nothing else, as a link.

    >>> contact_link("me@example.org")
    Markup('<a href="mailto:me@example.org">me@example.org</a>')
    >>> contact_link("Room 7, Town Hall")
    'Room 7, Town Hall'
    """
    if not re.fullmatch(r"[^\s@,;:<>()?&]+@[^\s@,;:<>()?&]+\.[^\s@,;:<>()?&]+", contact):
        return contact
    return Markup('<a href="mailto:{}">{}</a>').format(quote(contact, safe="@"), contact)


def facts_of(card: Card) -> list[Row]:
    """Return the first facts about a person, by which one recognises them."""
    short = [row for row in card.rows if len(row.text) <= _LONGEST_FACT][:_MOST_FACTS]
    lengths = accumulate(len(row.label) + len(row.text) for row in short)
    return [row for row, length in zip(short, lengths, strict=True) if length <= _LONGEST_FACTS]


def below_heading(html: str) -> Markup:
    """Return a document for a page with a heading: if it has a first-level heading, all go one level down."""
    if "<h1" in html:
        html = re.sub(r"(</?h)([1-5])\b", lambda tag: f"{tag[1]}{int(tag[2]) + 1}", html)
    return Markup(html)  # noqa: S704 - sanitised by whoever read it


def _minutes(settings: StudySettings) -> int:
    """Return about how many minutes it takes to take part."""
    explaining = _SECONDS_TO_EXPLAIN * (settings.ask_why + settings.ask_confidence)
    questions = _SECONDS_A_QUESTION * len(settings.questions)
    return ceil((_SECONDS_TO_READ + settings.pairs * (_SECONDS_A_PAIR + explaining) + questions) / 60)
