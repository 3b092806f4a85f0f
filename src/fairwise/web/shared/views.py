"""Values that pages show, not yet escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from sqlalchemy import Connection

from fairwise.constraints.violations import Treatment
from fairwise.judgments import Answer
from fairwise.judgments.table import MEASURED_ONLY
from fairwise.languages import Language
from fairwise.messages import marked
from fairwise.results.fits import Absence
from fairwise.store.answers import current_answers
from fairwise.store.export import judge_name
from fairwise.store.fit_files import Fitted
from fairwise.store.jobs import Job
from fairwise.store.rooms import RoomAnswers
from fairwise.store.votes import Option
from fairwise.study.cards import Card
from fairwise.study.deliberation import Rule, Step, Turn
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import PANELS

# What participants are asked beside the pairs, and how much and how often they may say.

# As many characters as the fields take; a browser sends each line break as two.
LONGEST_WHY = 2_000
LONGEST_CLOSING = 10_000

CLOSING_QUESTIONS = (
    ("rules", marked("How did you decide? If you had rules of your own, please tell us in your own words.")),
    ("expressible", marked("Could you say what you think is fair with these answers? If not, what was missing?")),
    ("comments", marked("Is there anything else you want to tell us?")),
)
CONFIDENCE = (
    (1, marked("Not at all sure")),
    (2, marked("A little sure")),
    (3, marked("Somewhat sure")),
    (4, marked("Quite sure")),
    (5, marked("Very sure")),
)

# At the comprehension check.
TRIES = 2


@dataclass(frozen=True)
class OwnPages:
    """Addresses of a participant's own pages, and the token of their forms."""

    path: str
    """``/p/TOKEN`` with the prefix before it; also the link with which they can go on elsewhere."""

    link: str
    """Path with scheme and host, to be copied."""

    csrf: str


@dataclass(frozen=True)
class Resume:
    """Page where someone left off.

    Where only this device tells that it was they, with what the form "That is not me" carries, by which it forgets.
    """

    path: str
    csrf: str = ""
    start_key: str = ""


@dataclass(frozen=True)
class Pair:
    """A pair to be judged, ``number`` of ``total``."""

    number: int
    total: int
    answered: int
    a: Card
    b: Card
    answer: Answer | None = None
    """The one that is current; beside it what was written, also if it could not be saved."""

    why: str = ""
    confidence: int | None = None
    key: str = ""
    """Unguessable name of this appearance."""

    nonce: str = ""
    """Nonce of this form, which counts once."""

    stamp: str = ""
    """When the page was made, signed: from it the time to answer is known."""


@dataclass(frozen=True)
class InTurn:
    """State of a phone in a room that talks, while there is nothing to answer."""

    turn: Turn
    said: Answer | None = None
    """Answer of this participant, on the wall's sides."""

    asked: bool = False
    """Whether an answer can still be changed."""

    answered: bool = False


@dataclass(frozen=True)
class OnWall:
    """State of the wall of a room that talks."""

    turn: Turn
    present: int
    answered: int
    """Number of answers at this turn."""

    counts: tuple[Mapping[str, int], ...] = ()
    """Number of each answer: alone, and after talking. Empty while nothing is shown, or for too few people."""

    @classmethod
    def of(cls, turn: Turn, inside: RoomAnswers, fewest: int) -> Self:
        """Counts of a round are shown if at least ``fewest`` answered in it."""
        alone, together = ({answer.value: n for answer, n in counts.items()} for counts in (inside.alone, inside.again))
        counts_of_step = {Step.SHOWN: (alone,), Step.COMPARED: (alone, together)}.get(turn.step, ())
        enough = all(sum(counts.values()) >= fewest for counts in counts_of_step)
        answered = together if turn.step in (Step.AGAIN, Step.COMPARED) else alone
        return cls(turn, inside.present, sum(answered.values()), counts_of_step if enough else ())

    @property
    def most(self) -> int:
        return max(1, *(sum(counts.values()) for counts in self.counts))

    @property
    def tag(self) -> str:
        """Another one whenever something else is to be shown."""
        counts = ".".join(f"{answer}={n}" for one in self.counts for answer, n in sorted(one.items()))
        return f"{self.turn}-{self.present}-{self.answered}-{counts}"


@dataclass(frozen=True)
class ReviewPair:
    """A pair in the list of all answers; one that is chosen later has no people yet."""

    number: int
    people: tuple[Card, Card] | None
    answer: Answer | None


@dataclass(frozen=True)
class OthersReason:
    """Why somebody else gave an answer; `name` tells it from others, and nothing about whose it is."""

    name: str
    text: str


@dataclass(frozen=True)
class OthersAnswer:
    """Number of other participants who gave an answer to a pair, and their reasons."""

    answer: Answer
    count: int
    reasons: tuple[OthersReason, ...] = ()


@dataclass(frozen=True)
class PairAgain:
    """A pair in the second round, with what was said about it so far."""

    position: int
    """Position of the pair in the first round."""

    pair: Pair
    """Its answer is that of the second round, None before it; `number` and `total` count what is shown again."""

    first: Answer
    first_why: str = ""
    shows_others: bool = True
    """Whether this participant is shown what others said at all."""

    others: tuple[OthersAnswer, ...] = ()
    """Opinions on every answer; empty if too few others answered."""

    @property
    def n_others(self) -> int:
        return sum(one.count for one in self.others)


@dataclass(frozen=True)
class Receipt:
    """Receipt of a participant."""

    code: str
    answers: int
    finished_at: datetime


@dataclass(frozen=True)
class WayBack:
    """Back to the panel that sent someone."""

    panel: str
    """Its name as people know it."""

    address: str | None
    """Address of the panel, if the study has it."""

    code: str = ""
    """Completion code for the panel."""

    @classmethod
    def to(cls, came_by: str, address: str | None, code: str = "") -> WayBack | None:
        """Return the way back; None for those whom no panel sent."""
        return cls(PANELS[came_by], address, code) if came_by in PANELS else None


@dataclass(frozen=True)
class NumberedAnswer:
    """An answer about two people who are numbered: of the ordered ones, always that `one` comes first."""

    answer: Answer
    one: int
    other: int


@dataclass(frozen=True)
class SecondLookPair:
    """A pair in a second look; ``before`` is the first answer, if another one is current."""

    number: int
    current: NumberedAnswer
    before: NumberedAnswer | None


@dataclass(frozen=True)
class SecondLookGroup:
    """Answers that do not fit together, about people who are numbered from 1."""

    kind: str
    people: tuple[Card, ...]
    pairs: tuple[SecondLookPair, ...]

    @property
    def changed(self) -> bool:
        """Whether any of them is not what it was at first."""
        return any(pair.before for pair in self.pairs)

    @property
    def differences(self) -> tuple[bool, ...]:
        """Rows that are not the same for all of them."""
        return tuple(len(set(rows)) > 1 for rows in zip(*(card.rows for card in self.people), strict=True))


@dataclass(frozen=True)
class PairResult:
    """Treatment of a participant's pair by the chosen model."""

    number: int
    a: Card
    b: Card
    treatment: Treatment
    counts: bool
    """Whether the answer set a rule for the model; repeats and checks only measure something."""

    @property
    def group(self) -> str:
        """Under which heading it is shown."""
        return str(self.treatment.status) if self.counts else "measured"


@dataclass(frozen=True)
class PanelResult:
    """Result of the chosen model for everyone's answers. Errors are as in a fit's `Summary`."""

    people: int
    simulated: int
    """Number of simulated participants who gave answers."""

    asked: int
    """Number of answers that ask for something."""

    followed: int
    error: float
    error_without: float


@dataclass(frozen=True)
class Result:
    """Result as a participant sees it."""

    pairs: tuple[PairResult, ...]
    panel: PanelResult
    gamma: float
    is_newer: bool
    """Whether they finished only after the model was made, which then does not know their answers."""

    absence: Absence | None = None
    """Effect of leaving out their answers, if it was computed."""

    def of(self, group: str) -> list[PairResult]:
        """The pairs of a group, those first that the model is furthest from."""
        pairs = [pair for pair in self.pairs if pair.group == group]
        return sorted(pairs, key=lambda pair: (-round(pair.treatment.violation, 6), pair.number))


# How a model treats the pairs that one participant judged: for that participant, and for the console's preview.


def result_of(
    connection: Connection,
    study: StudyFolder,
    job: Job,
    number: int,
    language: str,
    finished_at: datetime | None = None,
    arm: str | None = None,
) -> Result | None:
    """Return what the participant of a number is to see of a fit; None if the fit or their answers are not there.

    Of the people, they see what those of their `arm` do.
    """
    fitted, own_answers = Fitted.of(study.path, job.id), current_answers(connection, number)
    if fitted is None or not own_answers:
        return None
    summary, good, cards = fitted.summary, fitted.good, study.editions[language].in_arm(arm).cards
    error, gamma = summary.certificate.error, summary.certificate.gamma
    pairs = tuple(
        PairResult(
            number=one.position,
            a=cards[one.a],
            b=cards[one.b],
            treatment=Treatment(one.answer, good[one.a], good[one.b], gamma),
            counts=one.design not in MEASURED_ONLY,
        )
        for one in own_answers
    )
    counts = summary.judges - summary.simulated, summary.simulated, summary.asked, summary.followed
    panel = PanelResult(*counts, error, summary.error_without_judgments)
    influence = fitted.influence
    absence = None if influence is None else influence.of(judge_name(number))
    return Result(pairs, panel, gamma, is_newer=_is_newer(finished_at, job), absence=absence)


def _is_newer(finished_at: datetime | None, job: Job) -> bool:
    if finished_at is None or job.started_at is None:
        return False
    return finished_at > job.started_at


RULES = {
    Rule.APPROVAL: marked("Tick every option that you find acceptable. The option that most people tick is chosen."),
    Rule.BORDA: marked(
        "Put the options in order: 1 is the one you like best. An option gets a point for every option that somebody "
        "puts below it, and the one with most points is chosen."
    ),
    Rule.CONDORCET: marked(
        "Put the options in order: 1 is the one you like best. The option that most people prefer to each of the "
        "others is chosen. If there is none, an option gets a point for every option that somebody puts below it, and "
        "the one with most points is chosen."
    ),
}


@dataclass(frozen=True)
class OptionView:
    """One option in words."""

    letter: str
    wrong: str
    """Wrong decisions in 100."""

    followed: str
    """Followed answers of 100 that ask for something."""

    wrong_share: float
    followed_share: float
    place: int
    """Place that the participant gave it; 0 for none."""


@dataclass(frozen=True)
class VoteView:
    """A vote as somebody sees it."""

    id: int
    rule: Rule
    options: Sequence[OptionView]
    saved: bool = False
    """Whether their choice was kept just now."""


def letter_of(option: int) -> str:
    """Return what an option is called.

    >>> letter_of(1)
    'B'
    """
    return "ABCDE"[option]


def options_of(
    options: Sequence[Option], language: Language, places: Mapping[int, int] | None = None
) -> list[OptionView]:
    """Return the options in a language."""
    views = []
    for at, option in enumerate(options):
        followed = option.followed / max(option.followed + option.not_followed, 1)
        numbers = (
            language.short_in_100(option.error),
            language.short_in_100(followed),
            100 * option.error,
            100 * followed,
        )
        views.append(OptionView(letter_of(at), *numbers, (places or {}).get(at, 0)))
    return views
