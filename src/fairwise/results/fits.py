"""Results of a fit as a job stores them and pages show them: its numbers, its rules, its frontier and its judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Protocol, TypeVar

import pandas as pd

from fairwise.numbers import in_100, points, quantity, share_difference
from fairwise.results.base import Result
from fairwise.results.certificate import Certificate, HeldOutErrors
from fairwise.results.simpler_models import Derandomization


@dataclass(frozen=True)
class NotFollowed(Result):
    """Judgment that is violated by more than a fit lets pass."""

    judge: str
    a: str
    b: str
    answer: str
    violation: float


@dataclass(frozen=True)
class FrontierPoint(Result):
    """One of the models between following every judgment and following none."""

    gamma: float
    eta: float
    error: float
    max_violation: float
    mean_violation: float
    mean_excess: float
    lower_bound: float
    kind: str
    followed: int
    not_followed: int
    judgments: tuple[NotFollowed, ...]
    """The most expensive of those not followed."""

    own: bool = False
    """Whether it is the fit itself."""

    answers_low: float | None = None
    """Least error on other days, when the same people answer a little differently; None if not measured."""

    answers_high: float | None = None


@dataclass(frozen=True)
class Frontier(Result):
    """Models at several allowances, and how far the most expensive prices move with answers of other days."""

    points: tuple[FrontierPoint, ...]
    prices: tuple[Mapping[str, Any], ...] = ()

    def table(self) -> pd.DataFrame:
        """Return a line for each point, as :func:`fairwise.frontier` does."""
        columns = [name for name in FrontierPoint.__dataclass_fields__ if name not in ("judgments", "own")]
        rows = [{name: getattr(point, name) for name in columns} for point in self.points]
        return pd.DataFrame(rows, columns=pd.Index(columns)).assign(judge="panel")


class TradeOff(Protocol):
    """Model that may be chosen, in numbers about everyone together."""

    @property
    def error(self) -> float: ...

    @property
    def followed(self) -> int: ...

    @property
    def not_followed(self) -> int: ...


AnyTradeOff = TypeVar("AnyTradeOff", bound=TradeOff)


def best_trade_offs(points: Sequence[AnyTradeOff], *, of_amounts: bool) -> list[AnyTradeOff]:
    """Return the points that no other beats on the two numbers that pages print, those first that follow most.

    Among points that are printed alike the first one stays.
    """

    def printed(point: AnyTradeOff) -> tuple[Decimal, Decimal]:
        followed = in_100(point.followed / max(point.followed + point.not_followed, 1))
        return quantity(point.error) if of_amounts else in_100(point.error), -followed

    best: list[AnyTradeOff] = []
    for point in sorted(points, key=printed):
        if not best or printed(point)[1] < printed(best[-1])[1]:
            best.append(point)
    return best[::-1]


@dataclass(frozen=True)
class DecisionResult(Result):
    """One of several decisions: how good it is, and shares of people; None where there is nobody to take them of."""

    words: str
    value: float
    given: float
    """Share of people to whom the model gives it."""

    really: float
    """Share of people for whom it is right."""

    right: float | None
    """Share for whom it is right, of those to whom it is given."""

    reached: float | None
    """Share to whom it is given, of those for whom it is right."""


@dataclass(frozen=True)
class Predicted(Result):
    """Judgments that nobody gave, but a model of answers predicted."""

    answers: int
    in_force: int
    followed: int
    error_bound: float
    """Share of them that is wrong, at most (95 %)."""


@dataclass(frozen=True)
class Headline(Result):
    """Claims of a report's first page, as numbers.

    Attributes
    ----------
    participants, simulated
        How many people and programs answered, and how many of them are programs.
    affected, affected_not_known
        Of the people, how many such decisions affect, and of how many that is not known.
    asked, followed
        Answers that ask for something, and those that the model follows.
    people, error, plain_error, constant_error
        How many people are decided about, and errors on them: of the model, of the same kind of model without
        judgments, and of giving everyone the outcome ``constant``; None where there are no outcomes.
    proved
        Whether no better model of its kind is possible.
    held_out
        The same errors on new people, where they were measured.
    """

    participants: int
    simulated: int
    affected: int
    affected_not_known: int
    asked: int
    followed: int
    people: int
    error: float
    plain_error: float | None
    constant_error: float | None
    constant: str | None
    proved: bool
    held_out: HeldOutErrors | None

    @property
    def compared(self) -> tuple[float, float | None, float | None]:
        """Errors of the model, of the plain one and of the constant: on new people where that was measured."""
        held = self.held_out
        if held is None:
            return self.error, self.plain_error, self.constant_error
        return held.error, held.plain.error, held.constant.error


@dataclass(frozen=True)
class FitSummary(Result):
    """A fit in numbers. Errors are shares of all people decided about; of amounts, by how much they are missed."""

    settings: Mapping[str, Any]
    judges: int
    headline: Headline
    answers: int
    people: int
    certificate: Certificate
    error_without_judgments: float
    error_of_guessing: float
    held_out: HeldOutErrors | None
    """Errors on new people, beside those of models without answers; None if there were too few to measure them."""

    followed: int
    not_followed: int
    asks_nothing: int
    predicted: Predicted | None = None
    """Predicted answers it was made with besides; all other counts are of given ones."""

    derandomization: Derandomization | None = None
    """Costs of deciding without chance, where the model does."""

    group_rules: tuple[Mapping[str, Any], ...] = ()
    labels: tuple[str, ...] = ()
    decisions: tuple[DecisionResult, ...] = ()
    """Decisions, the best first, if there are more than two."""

    times: Mapping[str, str] = field(default_factory=dict)

    @property
    def simulated(self) -> int:
        """Number of simulated participants among the judges."""
        return self.headline.simulated

    @property
    def asked(self) -> int:
        """Number of judgments that ask for something."""
        return self.followed + self.not_followed

    @property
    def compared(self) -> tuple[float, float]:
        """Errors with and without the judgments, on new people where that was measured."""
        if self.held_out is None:
            return self.certificate.error, self.error_without_judgments
        return self.held_out.error, self.held_out.plain.error

    @property
    def cost(self) -> Decimal:
        """Decisions in 100 that are wrong because of the judgments: the difference of `compared` as printed."""
        return share_difference(*self.compared)

    @property
    def left_to_gain(self) -> Decimal:
        """Decisions in 100 that another model could put right at most, as proved and as printed."""
        return share_difference(self.certificate.error, self.certificate.lower_bound)


@dataclass(frozen=True)
class RuleText(Result):
    """Text of one rule: how often it decides (None if it is all there is), its first line, and those below."""

    number: int
    share: float | None
    head: str
    lines: tuple[tuple[int, str], ...]
    """Indentation and text of each line."""


@dataclass(frozen=True)
class ModelRuleTexts(Result):
    """A model as rules in one language, those first that decide most often."""

    lead: str
    rules: tuple[RuleText, ...]
    left_out: int
    """Number of rules that are not shown."""

    notes: tuple[str, ...]


@dataclass(frozen=True)
class Absence(Result):
    """Model without the answers of a participant, or of several who have something in common."""

    who: str
    error: float
    error_change: float
    followed: int
    people_changed: int
    """Number of people who would be treated differently, by a percentage point or more."""

    largest_change: float
    """Largest change of anyone's chance."""

    @property
    def points(self) -> Decimal:
        """Largest change in percentage points."""
        return points(self.largest_change)


@dataclass(frozen=True)
class JudgeInfluence(Result):
    """Models without each participant, each kind of them, and those few who change the error most."""

    judges: tuple[Absence, ...]
    groups: Mapping[str, tuple[Absence, ...]]
    together: tuple[Absence, ...]
    """Each is about its participant and all before it."""

    def of(self, judge: str) -> Absence | None:
        """Return the absence of one participant, if their answers are in the model."""
        return next((one for one in self.judges if one.who == judge), None)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return a table of the judges, of each kind of them, and of those who change the error most together."""
        parts = {"judges": self.judges, **self.groups, "together": self.together}
        return {name: pd.DataFrame(map(asdict, rows)) for name, rows in parts.items()}
