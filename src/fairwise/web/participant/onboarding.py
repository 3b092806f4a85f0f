"""Pages beside the pairs: relation, task, comprehension check, practice, own questions and the second look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairwise.judgments import Answer
from fairwise.messages import marked
from fairwise.store import answers, participants
from fairwise.store.answers import Appearance
from fairwise.store.errors import NotYet
from fairwise.store.participants import Participant
from fairwise.store.quotas import choose_relation
from fairwise.study.cards import Card, check_questions
from fairwise.study.quality import Compared, Contradiction, contradictions
from fairwise.study.questions import Question, Refusal, questions_on_page
from fairwise.study.schedules import PairAnswer
from fairwise.study.settings import ANSWERING, Stage, stage_after
from fairwise.web.participant.base import CHOOSE, ParticipantPages, Services
from fairwise.web.shared import views
from fairwise.web.shared.requests import MOST_QUESTION_FIELDS, Form, questions_with_values, typed_in
from fairwise.web.shared.views import TRIES

_NOT_RIGHT = marked("Not all of that is right. Read what your answer means, then try once more")
_CACHED_CONTRADICTIONS = 1000


class OnboardingPages(ParticipantPages):
    """Each page leads to the next that the study has."""

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/relation", self.relation),
            self._post("/p/{token}/relation", self.choose_relation),
            self._get("/p/{token}/task", self.task),
            self._post("/p/{token}/task", self.leave_task),
            self._get("/p/{token}/check", self.check),
            self._post("/p/{token}/check", self.try_check),
            self._get("/p/{token}/practice", self.practice),
            self._post("/p/{token}/practice", self.leave_practice),
        ]

    async def relation(self, request: Request) -> Response:
        """Ask what a participant is to the decision."""
        await self._participant_at(request, Stage.RELATION)
        return self._own_page(request, "relation")

    async def choose_relation(self, request: Request) -> Response:
        form = await self._own_form(request)
        if not self._settings.relations:  # taken away while somebody was there
            return await self._move_on(request, Stage.RELATION)
        name = form.text("relation", 100)
        relation = next((relation for relation in self._settings.relations if relation.name == name), None)
        if relation is None:
            return self._own_page(request, "relation", problem=self._say(request, CHOOSE))
        await self._write(
            request,
            choose_relation,
            relation=relation.name,
            most=relation.most,
            **self._quotas.since(datetime.now(UTC)),
            onward=stage_after(Stage.RELATION, self._settings),
        )
        return self._to_own(request, "")

    async def task(self, request: Request) -> Response:
        return self._own_page(request, "task", (await self._participant(request)).arm)

    async def leave_task(self, request: Request) -> Response:
        await self._own_form(request)
        return await self._move_on(request, Stage.TASK)

    async def check(self, request: Request) -> Response:
        participant = await self._participant_at(request, Stage.CHECK)
        tries = participant.check_tries
        problem = self._say(request, _NOT_RIGHT) if tries else None
        return self._own_page(request, "check", participant.arm, status=200, tries=tries, problem=problem)

    async def try_check(self, request: Request) -> Response:
        """Take one of two tries; then everyone continues, and the number of tries is stored."""
        form = await self._own_form(request)
        participant = await self._participant_at(request, Stage.CHECK)
        before = form.number("tries", 0, TRIES)
        if before is None or not await self._write(request, participants.count_try, before=before):
            return self._to_own(request, "/check")  # sent twice, or from another tab: this try was taken already
        tries, check = before + 1, check_questions(self._settings)
        chosen = {question.name: form.text(question.name, 100) for question in check}
        wrong = [question.name for question in check if chosen[question.name] != question.right]
        if wrong and tries < TRIES:
            problem = self._say(request, _NOT_RIGHT)
            return self._own_page(
                request, "check", participant.arm, tries=tries, problem=problem, wrong=wrong, chosen=chosen
            )
        if wrong and self._settings.check_must_pass:
            await self._write(request, participants.move_on, leaving=Stage.CHECK, to=Stage.SCREENED_OUT)
            return self._to_own(request, "")
        next_page = await self._move_on(request, Stage.CHECK)
        return self._own_page(request, "check_failed", participant.arm) if wrong else next_page

    async def practice(self, request: Request) -> Response:
        participant = await self._participant_at(request, Stage.PRACTICE)
        pressed = Form(dict(request.query_params)).answer(self._settings.allowed_answers)
        return self._own_page(request, "practice", participant.arm, pressed=pressed)

    async def leave_practice(self, request: Request) -> Response:
        """Say what a button means, as often as it is pressed, or continue."""
        form = await self._own_form(request)
        if "done" in form.fields:
            return await self._move_on(request, Stage.PRACTICE)
        pressed = form.answer(self._settings.allowed_answers)
        if pressed is None:
            arm = await self._arm(request)
            return self._own_page(request, "practice", arm, problem=self._say(request, CHOOSE))
        return self._to_own(request, f"/practice?answer={pressed.value}")

    async def _move_on(self, request: Request, leaving: Stage) -> Response:
        await self._write(request, participants.move_on, leaving=leaving, to=stage_after(leaving, self._settings))
        return self._to_own(request, "")


class SecondLookPages(ParticipantPages):
    """Answers that contradict each other, shown once more to be changed or kept.

    The choice follows from the answers of the first round alone, so it stays the same while a participant is there.
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        # Needed for every page and every change; computing them takes tens of milliseconds.
        self._cached_contradictions = lru_cache(_CACHED_CONTRADICTIONS)(self._compute_contradictions)

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/second-look", self.second_look),
            self._post("/p/{token}/second-look", self.begin),
        ]

    async def begin(self, request: Request) -> Response:
        """Go from the list of answers to the second look, or to the last questions if there is nothing to show."""
        await self._own_form(request)
        participant = await self._participant(request)
        if participant.stage == Stage.PAIRS:
            pairs = await self._read(request, answers.appearances_of)
            if any(pair.answer is None for pair in pairs) or not await self._read(request, self.contradictions):
                return self._to_own(request, "/closing")
            await self._write(request, participants.move_on, leaving=Stage.PAIRS, to=Stage.SECOND_LOOK)
        return self._to_own(request, "/second-look")

    async def second_look(self, request: Request) -> Response:
        arm = (await self._participant_at(request, Stage.SECOND_LOOK)).arm
        contradictory = await self._read(request, self.contradictions)
        if not contradictory:  # the operator has switched it off in the meantime
            return self._to_own(request, "/closing")
        both = await self._read(request, answers.first_and_current)
        by_position = {current.position: (first.answer, current.answer) for first, current in both}
        cards, query = self._edition(request, arm).cards, request.query_params
        return self._own_page(
            request,
            "second_look",
            arm,
            groups=[_group(one, by_position, cards) for one in contradictory],
            saved=query.get("saved", ""),
            kept="kept" in query,
        )

    def contradictions(self, connection: Connection, token_hash: bytes) -> tuple[Contradiction, ...]:
        """Return the answers that a participant is shown once more."""
        if not self._settings.second_look:
            return ()
        arm = participants.find(connection, token_hash).arm if self._settings.arms else None
        both = answers.first_and_current(connection, token_hash)
        return self._cached_contradictions(tuple(first for first, _ in both), arm)

    def positions(self, connection: Connection, token_hash: bytes) -> set[int]:
        """Return the positions of these pairs."""
        return {pair.position for one in self.contradictions(connection, token_hash) for pair in one.pairs}

    async def shows(self, request: Request, pair: Appearance) -> bool:
        """Return whether a participant is in the second look and this pair is part of it."""
        return pair.stage == Stage.SECOND_LOOK and pair.position in await self._read(request, self.positions)

    async def require_done(self, request: Request, participant: Participant) -> None:
        """Refuse to skip the second look."""
        if participant.stage == Stage.PAIRS and len(await self._read(request, self.contradictions)):
            raise NotYet

    def _compute_contradictions(
        self, first_answers: tuple[PairAnswer, ...], arm: str | None
    ) -> tuple[Contradiction, ...]:
        # By how people look in the study's first language, so that reading another one changes nothing.
        cards = self._folder.first.in_arm(arm).cards
        looks = {person: cards[person].rows for pair in first_answers for person in (pair.a, pair.b)}
        return contradictions(first_answers, looks)


def _group(
    contradiction: Contradiction, by_position: Mapping[int, tuple[Answer, Answer]], cards: Mapping[str, Card]
) -> views.SecondLookGroup:
    pairs = []
    for pair in contradiction.pairs:
        first, current = by_position[pair.position]
        before = None if current == first else _numbered(pair, first)
        pairs.append(views.SecondLookPair(pair.position, _numbered(pair, current), before))
    return views.SecondLookGroup(
        contradiction.kind, tuple(cards[person] for person in contradiction.people), tuple(pairs)
    )


def _numbered(pair: Compared, answer: Answer) -> views.NumberedAnswer:
    """Return an answer about numbered people, whichever sides they were on."""
    one, other = (pair.a + 1, pair.b + 1)
    if answer == Answer.B_AT_LEAST_A or (one > other and not answer.ordered):
        one, other, answer = other, one, answer.swapped()
    return views.NumberedAnswer(answer, one, other)


class QuestionPages(ParticipantPages):
    """The study's own questions: one address for those before and after the pairs; the stage decides which."""

    def __init__(self, services: Services, second_look: SecondLookPages) -> None:
        super().__init__(services)
        self._second_look = second_look

    def routes(self) -> list[Route]:
        return [
            self._get("/p/{token}/questions", self.questions, late=True),
            self._post("/p/{token}/questions", self.keep, late=True),
        ]

    async def are_left(self, request: Request) -> bool:
        """Return whether the questions after the pairs are still to be answered."""
        names = {question.name for question in questions_on_page(self._settings.questions, "after")}
        return bool(names) and not names <= (await self._read(request, participants.question_answers_of)).keys()

    async def questions(self, request: Request) -> Response:
        participant = await self._participant(request)
        if not await self._may_answer(request, participant):
            return self._to_own(request, "/closing")  # which says what is left
        page = self._questions_of(participant)
        if not page:
            return await self._continue(request, participant, [])
        stored = await self._read(request, participants.question_answers_of)
        typed = {question.name: question.typed(stored.get(question.name, "")) for question in page}
        return self._ask(request, participant, typed, {})

    async def keep(self, request: Request) -> Response:
        form = await self._own_form(request, MOST_QUESTION_FIELDS)
        participant = await self._participant(request)
        if not await self._may_answer(request, participant):
            raise NotYet
        page = self._questions_of(participant)
        typed = {question.name: typed_in(form, question) for question in page}
        valid, problems = [], {}
        for question in page:
            try:
                valid.append((question, question.answer(typed[question.name])))
            except Refusal as refusal:
                words = self._say(request, refusal.words)
                if refusal.limit is not None:
                    words %= {"limit": self._pages(request).language.number(refusal.limit)}
                problems[question.name] = words
        if problems:
            return self._ask(request, participant, typed, problems)
        return await self._continue(request, participant, valid)

    def _questions_of(self, participant: Participant) -> list[Question]:
        """Return the questions of the page at this stage, in the study's first language."""
        if participant.stage != Stage.QUESTIONS and participant.stage not in ANSWERING:
            raise NotYet
        return questions_on_page(
            self._settings.questions, "before" if participant.stage == Stage.QUESTIONS else "after"
        )

    async def _may_answer(self, request: Request, participant: Participant) -> bool:
        """Return whether all pairs are answered, where that comes first."""
        if participant.stage not in ANSWERING:
            return True
        pairs = await self._read(request, answers.appearances_of)
        if len(pairs) < self._settings.pairs or any(pair.answer is None for pair in pairs):
            return False
        await self._second_look.require_done(request, participant)
        return True

    async def _continue(
        self, request: Request, participant: Participant, valid: list[tuple[Question, str]]
    ) -> Response:
        stage = Stage(participant.stage)
        to = stage_after(stage, self._settings) if stage == Stage.QUESTIONS else stage
        await self._write(request, participants.save_question_answers, answers=valid, leaving=stage, to=to)
        return self._to_own(request, "" if stage == Stage.QUESTIONS else "/closing")

    def _ask(
        self,
        request: Request,
        participant: Participant,
        typed: Mapping[str, Collection[str]],
        problems: Mapping[str, str],
    ) -> Response:
        names = {question.name for question in self._questions_of(participant)}
        translated = [question for question in self._edition(request).settings.questions if question.name in names]
        page = questions_with_values(translated, typed, problems)
        return self._own_page(
            request,
            "questions",
            problem=next((one.problem for one in page if one.problem), None),
            asked=page,
            after=participant.stage in ANSWERING,
            again=participant.stage == Stage.SECOND_LOOK,
        )
