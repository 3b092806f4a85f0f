"""Templates of all pages, and what the pages of a study share, made once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import accumulate, zip_longest
from math import ceil
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from markupsafe import Markup

from fairwise import templates
from fairwise.study.cards import MEANINGS, Card, Row
from fairwise.study.design import Arm, usual_meaning
from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT
from fairwise.study.recruitment import PANELS
from fairwise.study.settings import StudySettings
from fairwise.study.texts import Language, language, safe_html
from fairwise.web.shared.views import CLOSING_QUESTIONS, CONFIDENCE, LONGEST_CLOSING, LONGEST_WHY, OwnPages

if TYPE_CHECKING:
    from jinja2 import Environment


# The style and the script that pages name: read once, and named by their content so that browsers may keep them.

_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


@cache
def read_static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of every style and script under ``static/``, by name."""
    kept = [(file, file.name.rpartition(".")[2]) for file in files("fairwise.web.shared").joinpath("static").iterdir()]
    return {file.name: (file.read_bytes(), _MEDIA_TYPES[kind]) for file, kind in kept if kind in _MEDIA_TYPES}


def version_of(content: bytes) -> str:
    """What ``?v=`` says: it changes whenever the file does, so an old copy is never shown."""
    return hashlib.sha256(content).hexdigest()[:12]


def static_addresses(prefix: str) -> dict[str, str]:
    """Where browsers find every one of these files, by name."""
    return {
        name: f"{prefix}/static/{name}?v={version_of(content)}" for name, (content, _) in read_static_files().items()
    }


# People side by side.

# Longer values get the whole width of a phone; much longer ones are folded to their beginning, so that the answers stay
# near what they are about.
WIDE_VALUE, LONG_VALUE, BEGINNING = 40, 240, 120


@dataclass(frozen=True)
class ComparedRow:
    """What is told of several people in one line."""

    label: str
    rows: tuple[Row, ...]

    @property
    def wide(self) -> bool:
        """Whether it needs more room than a column of a phone has."""
        return any(row.picture or len(row.text) > WIDE_VALUE for row in self.rows)


def compared_rows(cards: Sequence[Card]) -> Iterator[ComparedRow]:
    """Line by line; all cards are of one study."""
    return (ComparedRow(rows[0].label, rows) for rows in zip(*(card.rows for card in cards), strict=True))


def contact_link(contact: str) -> Markup | str:
    """Whom one may write to; if it is a mail address and nothing else, it can be pressed.

    >>> contact_link("me@example.org")
    Markup('<a href="mailto:me@example.org">me@example.org</a>')
    >>> contact_link("Room 7, Town Hall")
    'Room 7, Town Hall'
    """
    if not re.fullmatch(r"[^\s@,;:<>()?&]+@[^\s@,;:<>()?&]+\.[^\s@,;:<>()?&]+", contact):
        return contact
    return Markup('<a href="mailto:{}">{}</a>').format(quote(contact, safe="@"), contact)


def templates_of(package: str, prefix: str, spoken: Language | None = None) -> Environment:
    """Return the templates of a package, escaped by default, and in a language if one is given."""
    environment = templates.environment(package, catalogue=None if spoken is None else spoken.catalogue)
    environment.globals |= {"prefix": prefix, "static": static_addresses(prefix)}
    if spoken is not None:
        environment.filters |= {"number": spoken.number, "percent": spoken.percent}
    return environment


_LINES_KEPT = 16_384  # of some hundred bytes each


class Pieces:
    """Parts of the page of a pair that many pages have in common, each made once and kept."""

    def __init__(self, environment: Environment) -> None:
        made: Any = environment.get_template("pieces.html").module
        self._comparison, self._line = made.comparison, made.compared_line
        self._same_line = lru_cache(_LINES_KEPT)(partial(made.compared_line, pictures=""))
        self.meaning = lru_cache(made.meaning)
        self.buttons = lru_cache(made.buttons)
        self.meanings = lru_cache(made.meanings)

    def comparison(self, names: Sequence[object], cards: Sequence[Card], differ: Sequence[bool], pictures: str) -> str:
        """People side by side; of a short line it is likely that others are shown the same one."""
        names, lines = tuple(names), list[str]()
        for line, differs in zip_longest(compared_rows(cards), differ):
            is_short = not line.wide
            lines.append(
                self._same_line(names, line, differs) if is_short else self._line(names, line, differs, pictures)
            )
        made: str = self._comparison(names, Markup("".join(lines)))  # noqa: S704 - each was made by a template
        return made


# What is told of a person in the list of all answers: as many facts as there is room for.
_MOST_FACTS, _LONGEST_FACTS, _LONGEST_FACT = 6, 110, 40


def facts_of(card: Card) -> list[Row]:
    """The first that are told of a person, so that one knows them again."""
    short = [row for row in card.rows if len(row.text) <= _LONGEST_FACT][:_MOST_FACTS]
    lengths = accumulate(len(row.label) + len(row.text) for row in short)
    return [row for row, length in zip(short, lengths, strict=True) if length <= _LONGEST_FACTS]


def below_heading(html: str) -> Markup:
    """A document under the heading of its page: where it has a first-level heading, all of them go one level down."""
    if "<h1" in html:
        html = re.sub(r"(</?h)([1-5])\b", lambda found: f"{found[1]}{int(found[2]) + 1}", html)
    return Markup(html)  # noqa: S704 - sanitised by whoever read it


# About how long it takes, a guess on the safe side: to read everything, for a pair, to say why, for a question.
_SECONDS_TO_READ, _SECONDS_A_PAIR, _SECONDS_TO_EXPLAIN, _SECONDS_A_QUESTION = 150, 15, 10, 15


def minutes(settings: StudySettings) -> int:
    """About how long it takes to take part."""
    explaining = _SECONDS_TO_EXPLAIN * (settings.ask_why + settings.ask_confidence)
    asked = _SECONDS_A_QUESTION * len(settings.questions)
    return ceil((_SECONDS_TO_READ + settings.pairs * (_SECONDS_A_PAIR + explaining) + asked) / 60)


class StudyPages:
    """What all pages of a study have in common, in one language.

    ``settings`` say their words in this language; ``offered`` are all languages, if there are several; a ``notice``
    stands at the top of every page; of an ``arm`` come the order of the buttons and its text. ``consent_html`` and
    ``task_html`` are sanitised already; everything else is escaped here.
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
        prefix = prefix.rstrip("/")
        self.language = spoken or language(settings.languages[0])
        self.translate = self.language.translate
        self.settings = settings
        buttons = settings.allowed_answers if arm is None else arm.ordered(settings.allowed_answers)
        self.of_arms: Mapping[str, Self] = {}
        """The same for participants of each arm, if there are any."""

        self._answer_words = {
            answer: {
                "key": key,
                "value": answer.value,
                "words": settings.words_of(answer),
                "means": self.translate(MEANINGS[answer]),
            }
            for key, answer in enumerate(buttons, start=1)
        }
        environment = templates_of("fairwise.web.shared", prefix, self.language)
        environment.globals |= {
            "_": self.translate,  # faster than Jinja's own, which is for texts with values in them
            "settings": settings,
            "contact": contact_link(settings.contact),
            "language": self.language,
            "offered": offered,
            "notice": notice,
            "consent_html": below_heading(consent_html),
            "task_html": below_heading(task_html),
            "answers": list(self._answer_words.values()),
            "closing_questions": [(name, self.translate(text)) for name, text in CLOSING_QUESTIONS],
            "panel": PANELS.get(settings.recruitment.panel),
            "confidence_words": [(value, self.translate(words)) for value, words in CONFIDENCE],
            "tiers_say_it": bool(settings.tiers)
            and settings.treated_well == self.translate(usual_meaning(vars(settings))),
            "LONG_VALUE": LONG_VALUE,
            "BEGINNING": BEGINNING,
            "minutes": minutes(settings),
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
        """Return the pages as participants of an arm see them; without one, these."""
        return self if name is None else self.of_arms.get(name, self)

    def _render(
        self,
        name: str,
        *,
        own: OwnPages | None = None,
        problem: str | None = None,
        way_here: str = "",
        **values: object,
    ) -> str:
        """``way_here`` is the address of the page, where that is not what the browser shows."""
        return self._templates[f"{name}.html"].render(own=own, problem=problem, way_here=way_here, **values)
