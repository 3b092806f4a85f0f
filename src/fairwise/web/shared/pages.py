"""Templates of participants' pages, rendered in each language and experiment group."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, zip_longest
from math import ceil
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from markupsafe import Markup

from fairwise import templates
from fairwise.judgments import Answer
from fairwise.store.recruitment import Room
from fairwise.study.arms import Arm
from fairwise.study.cards import Card, Row
from fairwise.study.decisions import usual_meaning
from fairwise.study.folder import StudyFolder
from fairwise.study.languages import Language, language
from fairwise.study.practice import MEANINGS, check_questions, practice_pair
from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT
from fairwise.study.recruitment import PANELS
from fairwise.study.settings import StudySettings
from fairwise.study.talking import Turn
from fairwise.study.texts import safe_html
from fairwise.web.shared.requests import AskedQuestion, static_addresses
from fairwise.web.shared.views import (
    CLOSING_QUESTIONS,
    CONFIDENCE,
    LONGEST_CLOSING,
    LONGEST_WHY,
    RULES,
    TRIES,
    InTurn,
    OnWall,
    OthersReason,
    OwnPages,
    Pair,
    PairAgain,
    Receipt,
    Result,
    Resume,
    ReviewPair,
    SecondLookGroup,
    VoteView,
    WayBack,
)

if TYPE_CHECKING:
    from jinja2 import Environment


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


class Pages(StudyPages):
    """Every page a participant may see, in one language; a study in several languages has several of these.

    Whatever is called a path (``own.path``, ``back``) comes with the prefix before it.
    """

    def consent(
        self,
        *,
        start_key: str,
        csrf: str,
        resume: Resume | None,
        contests: bool = False,
        problem: str | None = None,
        way_here: str = "",
    ) -> str:
        """What the study asks for; ``contests`` of someone whose id was used by another."""
        return self._render(
            "consent",
            start_key=start_key,
            csrf=csrf,
            resume=resume,
            contests=contests,
            problem=problem,
            way_here=way_here,
        )

    def closed_door(
        self,
        *,
        code_csrf: str,
        resume: Resume | None = None,
        problem: str | None = None,
        typed: str = "",
    ) -> str:
        """For those who need a personal link or a room's code; ``typed`` is a code that was not right."""
        return self._render("closed_door", csrf=code_csrf, resume=resume, problem=problem, typed=typed)

    def whose_device(self, *, resume: Resume, way_here: str) -> str:
        """In a room, before anything else: whether it was they who began on this device."""
        return self._render("whose_device", resume=resume, way_here=way_here)

    def id_taken(self, *, start_key: str, csrf: str | None, panel: str, left: bool, way_here: str) -> str:
        """Someone began under their id of a panel, or ``left``; with ``csrf`` they may say that it was not them."""
        return self._render("id_taken", start_key=start_key, csrf=csrf, panel=panel, left=left, way_here=way_here)

    def relation(self, own: OwnPages, *, problem: str | None = None) -> str:
        """What a participant is to the decision."""
        return self._render("relation", own=own, problem=problem)

    def questions(
        self, own: OwnPages, asked: Sequence[AskedQuestion], *, after: bool = False, again: bool = False
    ) -> str:
        """The study's own questions before the pairs or ``after`` them; ``again`` after a second look."""
        problem = next((one.problem for one in asked if one.problem), None)
        return self._render("questions", own=own, problem=problem, asked=asked, after=after, again=again)

    def screened_out(
        self, own: OwnPages | None, *, full: bool = False, back: WayBack | None = None, way_here: str = ""
    ) -> str:
        """For those who cannot take part, as there are enough people, or enough like them."""
        return self._render("screened_out", own=own, full=full, back=back, way_here=way_here)

    def declined(self) -> str:
        """After "I do not agree"."""
        return self._render("declined")

    def withdrawn(self) -> str:
        """After everything was deleted."""
        return self._render("withdrawn")

    def task(self, own: OwnPages) -> str:
        """What there is to do, and how."""
        return self._render("task", own=own)

    def check(
        self,
        own: OwnPages,
        *,
        tries: int,
        problem: str | None = None,
        wrong: Collection[str] = (),
        given: Mapping[str, str] | None = None,
    ) -> str:
        """Questions about the buttons, after so many tries.

        ``wrong`` names those to look at again, ``given`` is what was chosen.
        """
        return self._render(
            "check",
            own=own,
            tries=tries,
            tries_left=TRIES - tries,
            questions=check_questions(self.settings, self.translate),
            problem=problem,
            wrong=wrong,
            given=given or {},
        )

    def check_failed(self, own: OwnPages) -> str:
        """What the answers mean, for those who go on without having shown that they know."""
        return self._render("check_failed", own=own)

    def practice(self, own: OwnPages, *, pressed: Answer | None = None, problem: str | None = None) -> str:
        """A made-up pair, whose answer is not kept; after a press, what that meant."""
        a, b = practice_pair(self.translate)
        pair = Pair(number=1, total=1, answered=0, a=a, b=b, answer=pressed)
        return self.pair(own, pair, problem=problem, practice=True)

    def pair(
        self,
        own: OwnPages,
        pair: Pair,
        *,
        undo: str = "",
        problem: str | None = None,
        practice: bool = False,
        again: bool = False,
        turn: Turn | None = None,
    ) -> str:
        """Two people and the question, ``again`` in a second look, or at the ``turn`` of a room that talks.

        ``undo`` leads back to the answer that was saved just now, if one was.
        """
        return self._render(
            "pair",
            own=own,
            pair=pair,
            differ=self._marked(pair),
            undo=undo,
            pressed=self._answer_words[pair.answer] if practice and pair.answer else None,
            problem=problem,
            practice=practice,
            again=again,
            turn=turn,
        )

    def why(self, own: OwnPages, pair: Pair) -> str:
        """After an answer was saved: why, and how sure one is."""
        return self._render("why", own=own, pair=pair, differ=self._marked(pair))

    def _marked(self, pair: Pair) -> tuple[bool, ...]:
        return pair.a.differences(pair.b) if self.settings.mark_differences else ()

    def review(self, own: OwnPages, pairs: Sequence[ReviewPair], *, undo: str = "", problem: str | None = None) -> str:
        """All pairs with their answers; ``undo`` leads back to the one saved just now, if one was."""
        return self._render(
            "review",
            own=own,
            pairs=pairs,
            facts=facts_of,
            done=sum(pair.answer is not None for pair in pairs),
            left=[pair.number for pair in pairs if pair.people and pair.answer is None],
            undo=undo,
            problem=problem,
        )

    def second_look(
        self, own: OwnPages, groups: Sequence[SecondLookGroup], *, saved: str = "", kept: bool = False
    ) -> str:
        """Answers side by side; ``saved`` is the number of a pair just answered, ``kept`` that one could not be."""
        return self._render("second_look", own=own, groups=groups, saved=saved, kept=kept)

    def round_over(
        self, own: OwnPages | None, *, way_on: str, resume: Resume | None, sent: bool, way_here: str = ""
    ) -> str:
        """After the first round: ``way_on`` is what is left to do there, of closing, second-round or nothing."""
        return self._render("round_over", own=own, way_on=way_on, resume=resume, sent=sent, way_here=way_here)

    def second_round(self, own: OwnPages, pairs: Sequence[PairAgain], *, done: bool = False) -> str:
        """Where the second round begins, or ends when all is ``done``."""
        left = [pair.position for pair in pairs if pair.pair.answer is None]
        return self._render("second_round", own=own, pairs=pairs, left=left, done=done)

    def pair_again(self, own: OwnPages, again: PairAgain, *, reported: bool = False, problem: str | None = None) -> str:
        """A pair in the second round; ``reported`` after somebody's reason was."""
        differ = self._marked(again.pair)
        return self._render("pair_again", own=own, again=again, differ=differ, reported=reported, problem=problem)

    def report_reason(self, own: OwnPages, position: int, reason: OthersReason) -> str:
        """The question whether somebody else's reason is to be hidden."""
        return self._render("report_reason", own=own, position=position, reason=reason)

    def closing(self, own: OwnPages, *, again: bool = False) -> str:
        """The three open questions, ``again`` after a second look."""
        return self._render("closing", own=own, again=again)

    def vote(self, own: OwnPages, vote: VoteView) -> str:
        """Which model to use, among a few."""
        words = self.translate(RULES[vote.rule])
        return self._render("vote", own=own, problem=vote.problem, vote=vote, rule_words=words)

    def thanks(
        self,
        own: OwnPages,
        receipt: Receipt,
        way_back: WayBack | None = None,
        result: str = "never",
        second_round: str = "never",
        *,
        vote: bool = False,
    ) -> str:
        """The end, with a receipt, and the way back for those whom a panel sent.

        ``result`` says whether they can see what became of their answers: now, perhaps later, or never; and
        ``second_round`` likewise whether they are asked once more; ``vote`` that they can choose a model.
        """
        return self._render(
            "thanks",
            own=own,
            receipt=receipt,
            finished=self.language.moment(receipt.finished_at),
            way_back=way_back,
            result=result,
            second_round=second_round,
            vote=vote,
        )

    def result(self, own: OwnPages | None, result: Result) -> str:
        """How the chosen model treats someone's pairs; without ``own``, as operators may look at it."""
        return self._render("result", own=own, result=result)

    def withdraw(self, own: OwnPages, *, voted: bool = False) -> str:
        """The question whether they are sure."""
        return self._render("withdraw", own=own, voted=voted)

    def not_open(
        self,
        own: OwnPages | None,
        *,
        closed: bool,
        here: str,
        resume: Resume | None,
        sent: Mapping[str, str] | None,
        result: bool = False,
        way_here: str = "",
    ) -> str:
        """While nobody may answer, or any more; ``sent`` is what came just now, to be sent again to ``here``."""
        return self._render(
            "not_open",
            own=own,
            closed=closed,
            here=here,
            resume=resume,
            sent=sent,
            result=result,
            way_here=way_here,
        )

    def message(self, *, heading: str, text: str, back: str | None = None, way_here: str = "") -> str:
        """Anything that went another way than planned."""
        return self._render("message", heading=heading, text=text, back=back, way_here=way_here)

    def wall(self, room: Room, *, address: str, qr: Markup) -> str:
        """A room's code, to be read from afar."""
        return self._render("wall", room=room, address=address, qr=qr)

    def room(self, own: OwnPages, state: InTurn) -> str:
        """In a room that talks, while there is nothing to answer."""
        said = None if state.said is None else self._answer_words[state.said]
        return self._render("room", own=own, turn=state.turn, said=said, asked=state.asked, answered=state.answered)

    def talking_wall(self, room: Room, shown: OnWall, cards: tuple[Card, ...] | None, total: int) -> str:
        """What a room that talks is at, to be read from afar; ``cards`` are of the two people of its pair."""
        differ = cards[0].differences(cards[1]) if cards is not None and self.settings.mark_differences else ()
        return self._render("talking_wall", room=room, shown=shown, cards=cards, differ=differ, total=total)


def pages_of(
    folder: StudyFolder, prefix: str, notice: Callable[[str], Markup] = lambda _: Markup()
) -> dict[str, Pages]:
    """Return the pages of a study in each language that it offers; ``notice`` by the code of a language."""
    languages = [folder.editions[code].language for code in folder.offered]
    offered = languages if len(languages) > 1 else []

    def made(code: str, arm: Arm | None = None) -> Pages:
        edition = folder.editions[code].in_arm(None if arm is None else arm.name)
        return Pages(
            edition.settings,
            edition.consent_html,
            edition.task_html,
            prefix,
            spoken=edition.language,
            offered=offered,
            notice=notice(code),
            arm=arm,
        )

    pages = {code: made(code) for code in folder.offered}
    for code, of_all in pages.items():
        of_all.of_arms = {arm.name: made(code, arm) for arm in folder.editions[code].settings.arms}
    return pages
