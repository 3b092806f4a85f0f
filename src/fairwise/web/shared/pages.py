"""The pages of a study: from values to HTML, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from markupsafe import Markup

from fairwise.judgments import Answer
from fairwise.study.arms import Arm
from fairwise.study.decisions import usual_meaning
from fairwise.study.languages import Language, language
from fairwise.study.practice import MEANINGS, check_questions, practice_pair
from fairwise.study.questions import LONGEST_NUMBER, LONGEST_TEXT
from fairwise.study.recruitment import PANELS
from fairwise.study.settings import StudySettings
from fairwise.study.talking import Turn
from fairwise.study.texts import safe_html
from fairwise.web.shared.questions import AskedQuestion
from fairwise.web.shared.room_pages import RoomPages
from fairwise.web.shared.templating import (
    BEGINNING,
    LONG_VALUE,
    Pieces,
    below_heading,
    contact_link,
    facts_of,
    minutes,
    templates_of,
)
from fairwise.web.shared.views import (
    CLOSING_QUESTIONS,
    CONFIDENCE,
    LONGEST_CLOSING,
    LONGEST_WHY,
    TRIES,
    OthersReason,
    OwnPages,
    Pair,
    PairAgain,
    Receipt,
    Result,
    Resume,
    ReviewPair,
    SecondLookGroup,
    WayBack,
)
from fairwise.web.shared.vote_views import RULES, VoteView


class Pages(RoomPages):
    """Every page a participant may see, in one language; a study in several languages has several of these.

    ``settings`` say their words in this language; ``offered`` are all languages, if there are several; a ``notice``
    stands at the top of every page; of an ``arm`` come the order of the buttons and its text. ``consent_html`` and
    ``task_html`` are sanitised already; everything else is escaped here. Whatever is called a path (``own.path``,
    ``back``) comes with the prefix before it.
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
        self.of_arms: Mapping[str, Pages] = {}
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

    def in_arm(self, name: str | None) -> Pages:
        """Return the pages as participants of an arm see them; without one, these."""
        return self if name is None else self.of_arms.get(name, self)

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

    def withdraw(self, own: OwnPages) -> str:
        """The question whether they are sure."""
        return self._render("withdraw", own=own)

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
