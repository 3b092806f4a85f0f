"""Settings of a study, read from ``study.toml`` and checked as a whole, and the stages that follow from them."""

from __future__ import annotations

import tomllib
from collections import Counter
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fairwise.judgments import Answer
from fairwise.study.deliberation import Deliberation
from fairwise.study.design import (
    KINDS,
    USUAL_MEANINGS,
    Amount,
    Arm,
    Decision,
    Design,
    OutcomeKind,
    OutcomeWords,
    best_first,
    check_arms,
    check_decisions,
    kind_of,
    usual_meaning,
)
from fairwise.study.questions import MOST_QUESTIONS, Question, questions_on_page
from fairwise.study.recruitment import Recruitment, Relation
from fairwise.study.texts import SOURCE, available, language, marked
from fairwise.study.toml import (
    Contact,
    Input,
    Line,
    Plain,
    SettingsFile,
    SettingsTable,
    Text,
    Unit,
    explained_lines,
    read_toml,
    setting_line,
)

TWO_ANSWERS = (Answer.SAME, Answer.NO_CONSTRAINT)
_EXAMPLES = {
    "relations": (
        "twice or more",
        'name = "applicant"',
        'words = "Such a decision was made about me"',
        "affected = true",
    ),
    "arms": ("twice or more", 'name = "reversed"', 'buttons = "reversed"'),
    "questions": ("as often as needed", 'name = "age"', 'words = "How old are you?"', 'kind = "number"'),
}
MOST_PAIRS = 1000
_TABLES, _ROWS = (
    ("design", "deliberation", "recruitment", "answer_words", "outcome_words", "amount"),
    ("decisions", "relations", "arms", "questions", "columns"),
)
_UNUSUAL = ("outcome_words", "decisions", "amount")  # said nowhere in a study about two decisions
FOUR_ANSWERS = (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)


def _check_language(code: str) -> str:
    if code not in available():
        raise ValueError(f"there is no such language; there are {', '.join(available())}")
    return code


class ShownColumn(SettingsTable):
    """A column of the people table that participants see."""

    name: Line
    """The name in people.parquet."""

    label: Annotated[Line, Field(title="Label")]
    """Label that participants read before the value."""

    unit: Annotated[Unit, Field(title="Unit"), Input(locked=True)] = ""
    """Unit that participants read behind the value, such as years; may be empty."""

    alt: str = ""
    """Column with words for pictures; the values of this column are then files in the folder images."""


class AnswerWords(SettingsTable):
    """Words on the buttons."""

    same: Annotated[Line, Field(title="Button: the same")] = marked("The two should be treated the same")
    """Words for the answer same."""

    a_at_least_b: Annotated[Line, Field(title="Button: A at least as well as B")] = marked(
        "Person A should be treated at least as well as person B"
    )
    """Words for the answer a_at_least_b; not shown where there are two answers."""

    b_at_least_a: Annotated[Line, Field(title="Button: B at least as well as A")] = marked(
        "Person B should be treated at least as well as person A"
    )
    """Words for the answer b_at_least_a; not shown where there are two answers."""

    no_constraint: Annotated[Line, Field(title="Button: either may be treated better")] = marked(
        "Either may be treated better than the other"
    )
    """Words for the answer no_constraint."""


class StudySettings(SettingsFile):
    """A study as its operator wants it."""

    title: Annotated[Line, Field(title="Name of the study"), Input("At the top of every page.")]
    """The name of the study, at the top of every page."""

    languages: Annotated[tuple[Annotated[str, AfterValidator(_check_language)], ...], Field(min_length=1)] = (SOURCE,)
    """The languages that participants may choose from; the first is the language of this file."""

    question: Annotated[Text, Field(title="The question about every pair")] = marked(
        "In your view, as a matter of fairness, how should these two people be treated, compared with each other?"
    )
    """Question about every pair."""

    treated_well: Annotated[
        Line, Field(title="The favourable outcome, in words"), Input("What it means here to be treated well.")
    ] = USUAL_MEANINGS[0]
    """The favourable outcome in words: what it means here to be treated well."""

    answers: Annotated[
        Literal["four", "two"],
        Field(title="Answers"),
        Input(options={"four": "all four", "two": "two: the same, or either may be treated better"}, locked=True),
    ] = "four"
    """The answers offered: all four, or two (same and no_constraint)."""

    pairs: Annotated[
        int, Field(ge=1, le=MOST_PAIRS, title="Pairs for each participant"), Input("From 1 to 1000.", locked=True)
    ] = 50
    """Number of pairs for each participant, 1 to 1000, of any kind."""

    seed: Annotated[
        int,
        Field(ge=0, le=2**63 - 1, title="Seed"),
        Input("Any whole number; from it follows who is shown which.", locked=True),
    ] = 0
    """Seed that decides who is shown which pairs; any whole number from 0."""

    mark_differences: Annotated[bool, Field(title="Mark the rows in which the two people differ")] = False
    """Whether rows in which the two people differ are marked."""

    ask_why: Annotated[bool, Field(title="A reason may be written beside every answer")] = False
    """Whether a reason may be written beside every answer."""

    ask_confidence: Annotated[bool, Field(title="Participants may say how sure they are")] = False
    """Whether participants may say how sure they are of an answer."""

    comprehension_check: Annotated[bool, Field(title="Questions about the buttons first, in at most two tries")] = False
    """Whether participants must first show, in at most two tries, that they understood the buttons."""

    check_must_pass: Annotated[bool, Field(title="Whoever fails both tries is screened out")] = False
    """Whether those who fail both tries are screened out; otherwise they go on, and it is kept that they failed."""

    practice: Annotated[bool, Field(title="A practice pair first, which does not count")] = True
    """Whether there is a practice pair first, which does not count."""

    second_look: Annotated[bool, Field(title="A second look at the end, where answers contradict each other")] = False
    """Whether participants are shown, at the end, where they contradicted themselves, and may revise it."""

    relation_question: Annotated[Line, Field(title="The question")] = marked("What is your relation to this decision?")
    """Question that everyone is asked first, if there are relations to choose from."""

    contact: Annotated[Contact, Field(title="Whom participants may write to")] = ""
    """Contact address for participants; shown on every page that may raise a question."""

    retention_days: Annotated[
        int,
        Field(ge=0, le=36500, title="Days after which texts, names and panel's ids are deleted"),
        Input("From when someone finished; names and ids once the study is closed. 0: never."),
    ] = 0
    """Days after which texts are deleted, and once the study is closed also names and panel's ids; 0 keeps all."""

    simulated: Annotated[
        bool,
        Field(title="No real people take part"),
        Input("For trying it out with simulated people. Every page and every report then says so."),
    ] = False
    """Whether no real people take part, as in the demo; every page and every report then says so."""

    design: Design = Design()
    """Numbers of pairs of other kinds; the rest are uniform: drawn anew for everyone."""

    deliberation: Deliberation = Deliberation()
    """Whether there is a second round, in which participants see how the others answered."""

    recruitment: Recruitment = Recruitment()
    """Rules for who may take part, and where they are sent afterwards."""

    answer_words: AnswerWords = AnswerWords()
    """Words on the buttons."""

    outcome_words: OutcomeWords | None = None
    """Words for the two outcomes of a study, used by pages and reports."""

    decisions: tuple[Decision, ...] = ()
    """Decisions about a person, where there are more than the two outcomes."""

    amount: Amount | None = None
    """Range of amounts, for studies that decide an amount, and which direction is better."""

    relations: tuple[Relation, ...] = ()
    """Relations of participants to the decision; if there are none, nobody is asked."""

    arms: tuple[Arm, ...] = ()
    """Groups to which chance assigns participants, each shown something else; if there are none, all see the same."""

    questions: Annotated[tuple[Question, ...], Field(max_length=MOST_QUESTIONS)] = ()
    """Questions of one's own, each asked once, on a page before or after the pairs."""

    columns: Annotated[tuple[ShownColumn, ...], Field(min_length=1)]
    """Columns that are shown of a person, in this order; these are the columns of people.parquet."""

    @property
    def uniform(self) -> int:
        """Number of uniform pairs for each participant."""
        return self.pairs - sum(self.design.other_kinds.values())

    @property
    def mixture(self) -> dict[str, int]:
        """Number of pairs of each kind for each participant."""
        return ({"uniform": self.uniform} if self.uniform else {}) | self.design.other_kinds

    @property
    def allowed_answers(self) -> tuple[Answer, ...]:
        """Answers in the order of the buttons and of the keys 1 to 4."""
        return TWO_ANSWERS if self.answers == "two" else FOUR_ANSWERS

    @property
    def outcome_kind(self) -> OutcomeKind:
        """Kind of decision: one of two, one of several with values, or an amount."""
        return kind_of(self.decisions, self.amount)

    @property
    def label_values(self) -> dict[str, float] | None:
        """Value of each decision by its label; None for two decisions or amounts."""
        return {one.label: one.value for one in self.decisions} or None

    @property
    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """The decisions in words, from best to worst, those that are equally good together."""
        return best_first(self.decisions)

    def words_of(self, answer: Answer) -> str:
        """Return the words on the button of an answer."""
        words: str = getattr(self.answer_words, answer.value)
        return words

    @model_validator(mode="before")
    @classmethod
    def _added_up(cls, content: object) -> object:
        """Put `pairs` in place of ``design.uniform``: where a design says that, they are the sum of all kinds."""
        design = content.get("design") if isinstance(content, dict) else None
        if not isinstance(content, dict) or not isinstance(design, dict) or "uniform" not in design:
            return content
        numbers = [design.get(kind, 0) for kind in ("uniform", *KINDS)]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError(f"design.uniform = {design['uniform']!r}: each kind needs a whole number from 0")
        total = sum(numbers)
        if content.get("pairs", total) != total:
            raise ValueError(f"pairs = {content['pairs']}, but design adds up to {total}; leave out one of the two")
        other_settings = {name: value for name, value in design.items() if name != "uniform"}
        return {**content, "pairs": total, "design": other_settings}

    @model_validator(mode="after")
    def _check_design(self) -> Self:
        if self.uniform < 0:
            raise ValueError(f"pairs = {self.pairs}, but design alone adds up to {self.pairs - self.uniform}")
        original = self.pairs - self.design.repeats - self.design.checks - self.design.active
        if self.design.repeats > original:
            raise ValueError(f"design.repeats = {self.design.repeats}: there are only {original} pairs to repeat")
        if not original and self.design.active:
            raise ValueError("design.active: another pair that counts must come first; add uniform ones, for example")
        if not original:
            raise ValueError("design has nothing but checks, which do not count")
        unknown = [name for name in self.design.strata if name not in {column.name for column in self.columns}]
        if unknown:
            raise ValueError(f"design.strata: {unknown[0]!r} is not among the columns")
        shared = self.design.fixed + self.design.anchors
        self.deliberation.check(shared=shared, fixed=self.design.fixed, second_look=self.second_look)
        return self

    @model_validator(mode="after")
    def _someone_may_come(self) -> Self:
        if len(self.relations) == 1:
            raise ValueError("relations: one is no choice; needed: at least two, or none")
        if self.relations and all(relation.most == 0 for relation in self.relations):
            raise ValueError("relations: nobody could take part, as every one of them has most = 0")
        if self.check_must_pass and not self.comprehension_check:
            raise ValueError("check_must_pass is on, but comprehension_check is off")
        return self

    def in_arm(self, arm: Arm) -> Self:
        """Return what participants of an arm are shown."""
        columns = tuple(column for column in self.columns if not arm.columns or column.name in arm.columns)
        return self.model_copy(update={"question": arm.question or self.question, "columns": columns})

    @model_validator(mode="after")
    def _arms_differ(self) -> Self:
        names = [column.name for column in self.columns]
        check_arms(self.arms, names, self.design, second_round=self.deliberation.on)
        return self

    @model_validator(mode="before")
    @classmethod
    def _our_words_in_its_language(cls, content: object) -> object:
        """A study that begins in another language than English has our words in that language too."""
        if not isinstance(content, dict):
            return content
        codes = content.get("languages")
        first = codes[0] if isinstance(codes, list | tuple) and codes else SOURCE
        if first not in available():
            return content
        say = language(first).translate
        if content.get("treated_well", say(USUAL_MEANINGS[0])) in map(
            say, USUAL_MEANINGS
        ):  # ours, of any kind of study
            content = {**content, "treated_well": say(usual_meaning(content))}
        if first == SOURCE:
            return content
        ours = {name: say(cls.model_fields[name].default) for name in ("question", "relation_question")}
        buttons = {name: say(field.default) for name, field in AnswerWords.model_fields.items()}
        own = content.get("answer_words", {})
        return {**ours, **content, "answer_words": {**buttons, **own} if isinstance(own, dict) else own}

    @model_validator(mode="after")
    def _all_differ(self) -> Self:
        if (twice := _twice([*self.languages])) is not None:
            raise ValueError(f"the language {twice!r} is there twice")
        for what in ("name", "label"):
            if (twice := _twice([getattr(column, what) for column in self.columns])) is not None:
                raise ValueError(f"two columns have the {what} {twice!r}")
        for rows in ("relations", "questions"):
            for what in ("name", "words"):
                if (twice := _twice([getattr(row, what) for row in getattr(self, rows)])) is not None:
                    raise ValueError(f"two {rows} have the {what} {twice!r}")
        if (twice := _twice([self.words_of(answer) for answer in self.allowed_answers])) is not None:
            raise ValueError(f"two answers have the words {twice!r}")
        check_decisions(self.decisions, self.amount)
        if self.outcome_words is not None and self.outcome_kind != "yes-no":
            raise ValueError(
                "outcome_words are for two outcomes; decisions have words of their own, and amounts a unit"
            )
        return self

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read ``study.toml``; errors name the file, the setting, its value and what is allowed."""
        return cls.checked(read_toml(Path(path)), str(path))

    def toml(self) -> str:
        """Return the text of ``study.toml``: every setting below a line that explains it."""
        lines = ["# The settings of a study. Do not change them once people have begun to answer."]
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name in _UNUSUAL and not value:
                continue
            lines += ["", f"# {field.description}"]
            if name in _TABLES:
                lines += [f"[{name}]", *explained_lines(value)]
            elif name not in _ROWS:
                lines += [setting_line(name, value)]
            elif not value:
                often, *example = _EXAMPLES[name]
                lines += [f"# For example, {often}:", f"# [[{name}]]", *(f"# {line}" for line in example)]
            for number, row in enumerate(value if name in _ROWS else ()):
                lines += [""] * bool(number) + [f"[[{name}]]", *explained_lines(row, number == 0)]
        return "\n".join([*lines, ""])

    def _as_written(self, text: str) -> Plain:
        """Leave out `pairs` where the file has ``design.uniform``, because they are the sum."""
        content, design = super()._as_written(text), tomllib.loads(text).get("design", {})
        if "uniform" in design:
            del content["pairs"]
            content["design"]["uniform"] = design["uniform"]
        return content


def _twice(values: list[str]) -> str | None:
    return next((value for value, count in Counter(values).items() if count > 1), None)


class StudyState(StrEnum):
    """State of a study, decided by an operator."""

    OPEN = "open"
    """People may begin and answer."""

    PAUSED = "paused"
    """Nobody may begin or answer for the time being."""

    CLOSED = "closed"
    """Nobody may begin or answer any more."""

    def may_follow(self, state: str) -> bool:
        """Whether a study in another state may come to this one; from closed there is no way back."""
        return state not in (self, StudyState.CLOSED)


class Stage(StrEnum):
    """Stage of a participant, as stored; everyone begins after the consent page."""

    RELATION = "relation"
    QUESTIONS = "questions"
    """Questions before the pairs; those after the pairs belong to the stage `PAIRS`."""

    TASK = "task"
    CHECK = "check"
    PRACTICE = "practice"
    PAIRS = "pairs"
    SECOND_LOOK = "second_look"
    FINISHED = "finished"
    SCREENED_OUT = "screened_out"


ENDS = (Stage.FINISHED, Stage.SCREENED_OUT)
"""Stages after which nothing follows."""

ANSWERING = (Stage.PAIRS, Stage.SECOND_LOOK)
"""Stages in which answers are given, and from which one finishes."""

_ORDER = (Stage.RELATION, Stage.QUESTIONS, Stage.TASK, Stage.CHECK, Stage.PRACTICE, Stage.PAIRS)


def first_stage(settings: StudySettings) -> Stage:
    """Return where participants of this study begin."""
    return next(stage for stage in _ORDER if _wants(settings, stage))


def stage_after(stage: Stage, settings: StudySettings) -> Stage:
    """Return what comes next on the way to the pairs, also after a stage that was switched off meanwhile."""
    return next(later for later in _ORDER[_ORDER.index(stage) + 1 :] if _wants(settings, later))


def _wants(settings: StudySettings, stage: Stage) -> bool:
    conditions = {
        Stage.RELATION: bool(settings.relations),
        Stage.QUESTIONS: bool(questions_on_page(settings.questions, "before")),
        Stage.CHECK: settings.comprehension_check,
        Stage.PRACTICE: settings.practice,
    }
    return conditions.get(stage, True)
