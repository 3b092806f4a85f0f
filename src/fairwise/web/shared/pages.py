"""The pages of a study: from values to HTML, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from markupsafe import Markup

from fairwise.judgments import Answer
from fairwise.store.rooms import Room
from fairwise.study.cards import Card, check_questions, practice_pair
from fairwise.study.deliberation import Turn
from fairwise.study.design import Arm
from fairwise.study.folder import StudyFolder
from fairwise.web.shared.forms import AskedQuestion
from fairwise.web.shared.templating import (
    StudyPages,
    facts_of,
)
from fairwise.web.shared.views import (
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
    WayBack,
)
from fairwise.web.shared.vote_views import RULES, VoteView


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
