"""What a fit found, as it is read from the files that it left: in numbers, in words, and what single people changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Protocol, Self, TypeVar

from fairwise.constraints.certificate import Certificate, HeldOutErrors
from fairwise.numbers import in_100, points, quantity, share_difference


@dataclass(frozen=True)
class NotFollowed:
    """A judgment that is violated by more than a fit lets pass."""

    judge: str
    a: str
    b: str
    answer: str
    violation: float


@dataclass(frozen=True)
class FrontierPoint:
    """One of the models between following every judgment and following none."""

    eta: float
    own: bool
    """Whether it is the fit itself."""

    error: float
    max_violation: float
    followed: int
    not_followed: int
    judgments: tuple[NotFollowed, ...]
    """Those not followed, the dearest first, and only so many."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        names = ("judge", "a", "b", "answer", "violation")
        judgments = [NotFollowed(*(one[name] for name in names)) for one in content["judgments"]]
        return cls(
            **{name: content[name] for name in ("eta", "own", "error", "max_violation", "followed", "not_followed")},
            judgments=tuple(judgments),
        )


class TradeOff(Protocol):
    """A model that may be chosen, in numbers about everyone together."""

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
class WithoutChance:
    """What a model that decides without chance adds and breaks, against the mixture that it was made from."""

    rule: str
    error_added: float
    judgments_broken: int
    judgments_counted: int
    largest_excess: float
    group_rules_broken: Mapping[str, float]
    budgets_broken: Mapping[str, float]

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(**{one.name: content[one.name] for one in fields(cls)})


@dataclass(frozen=True)
class DecisionResult:
    """One of several decisions: how good it is, and shares of people; None where there is nobody to take them of."""

    words: str
    value: float
    given: float
    """To whom the model gives it."""

    really: float
    """For whom it is right."""

    right: float | None
    """Of those to whom it is given, for whom it is right."""

    reached: float | None
    """Of those for whom it is right, to whom it is given."""


@dataclass(frozen=True)
class Summary:
    """A fit in numbers. Errors are shares of all people decided about; of amounts, by how much they are missed."""

    certificate: Certificate
    error_without: float
    held_out: float | None
    """How often such a model is wrong about people it was not made from; None where that was not measured."""

    new_people: HeldOutErrors | None
    """Errors on new people, beside those of models without answers; None if the fit did not measure them."""

    judges: int
    simulated: int
    """Number of simulated participants among them; older fits know only all or none."""

    followed: int
    not_followed: int
    predicted: int = 0
    """How many predicted answers it was made with besides; all other counts are of given ones."""

    predicted_followed: int = 0
    predicted_error: float | None = None
    """What share of the predicted answers is wrong, at most."""

    without_chance: WithoutChance | None = None
    """What that adds and breaks, where the model decides so."""

    decisions: tuple[DecisionResult, ...] = ()
    """Where there are several, the best first."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        predicted, single = content.get("predicted") or {}, content.get("derandomization")
        held_out, headline = content.get("held_out") or {}, content.get("headline") or {}
        return cls(
            Certificate.from_json(content["certificate"]),
            error_without=content["error_without_judgments"],
            held_out=held_out.get("error"),
            new_people=HeldOutErrors.from_json(held_out) if "plain" in held_out else None,
            simulated=headline.get("simulated", 0),
            without_chance=None if single is None else WithoutChance.from_json(single),
            decisions=tuple(DecisionResult(**one) for one in content.get("decisions", ())),
            predicted=predicted.get("answers", 0),
            predicted_followed=predicted.get("followed", 0),
            predicted_error=predicted.get("error_bound"),
            **{name: content[name] for name in ("judges", "followed", "not_followed")},
        )

    @property
    def asked(self) -> int:
        """How many judgments ask for something."""
        return self.followed + self.not_followed

    @property
    def compared(self) -> tuple[float, float]:
        """Errors with and without the judgments, on new people where that was measured."""
        if self.new_people is None:
            return self.certificate.error, self.error_without
        return self.new_people.error, self.new_people.plain.error

    @property
    def cost(self) -> Decimal:
        """Return how many more decisions in 100 are wrong than without the judgments, both of `compared` as printed."""
        return share_difference(*self.compared)

    @property
    def left_to_gain(self) -> Decimal:
        """How many decisions in 100 are proved to be the most that another model could put right; likewise."""
        return share_difference(self.certificate.error, self.certificate.lower_bound)


@dataclass(frozen=True)
class RuleWords:
    """One rule of a model: how often it decides (None if it is all there is), its first line, and those below."""

    number: int
    share: float | None
    head: str
    lines: tuple[tuple[int, str], ...]
    """Each with how deep it is."""


@dataclass(frozen=True)
class ModelWords:
    """A model as rules in words, those first that decide most often."""

    lead: str
    rules: tuple[RuleWords, ...]
    left_out: int
    """How many more rules there are."""

    notes: tuple[str, ...]
    kind: str
    """What kind of rules the model is made of."""

    warnings: tuple[str, ...]
    rule: str
    """The rule of a model that decides without chance."""

    names: Mapping[str, str]
    """Rules about groups and allowances that it breaks, by what the summary calls them."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any], summary: Summary) -> Self:
        certificate, single = summary.certificate, summary.without_chance
        rules = [
            RuleWords(one["number"], one["share"], one["head"], tuple((depth, text) for depth, text in one["lines"]))
            for one in content["rules"]
        ]
        return cls(
            content["lead"],
            tuple(rules),
            content["left_out"],
            tuple(content["notes"]),
            content.get("kind", certificate.hypothesis_class),  # fits of before 0.2 say these in their summary alone
            tuple(content.get("warnings", certificate.warnings)),
            content.get("rule") or ("" if single is None else single.rule),
            {**content.get("group_rules", {}), **content.get("budgets", {})},
        )


@dataclass(frozen=True)
class Absence:
    """What a model would be without somebody's answers."""

    who: str
    """A participant, or what those left out together have in common."""

    error_change: float
    people_changed: int
    """How many of the people decided about would be treated differently, by a percentage point or more."""

    largest_change: float
    """The furthest that anyone's chance would move."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(**{one.name: content[one.name] for one in fields(cls)})

    @property
    def points(self) -> Decimal:
        """The difference in percentage points."""
        return points(self.largest_change)


@dataclass(frozen=True)
class InfluenceFound:
    """What a model would be without each participant, each kind of them, and those few who change the error most."""

    judges: tuple[Absence, ...]
    groups: Mapping[str, tuple[Absence, ...]]
    together: tuple[Absence, ...]
    """Found one after the other; each is about its participant and all before it."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        groups = {name: tuple(map(Absence.from_json, rows)) for name, rows in content["groups"].items()}
        judges, together = (tuple(map(Absence.from_json, content[name])) for name in ("judges", "together"))
        return cls(judges, groups, together)

    def of(self, judge: str) -> Absence | None:
        """Of one participant, if their answers are in the model."""
        return next((one for one in self.judges if one.who == judge), None)


@dataclass(frozen=True)
class EffectsFound:
    """What talking did, by arm and against the control arm (:class:`fairwise.auditing.Effects`); None: not known."""

    control: str | None
    confidence: float
    arms: Sequence[Mapping[str, Any]]
    """The control arm first, everyone last."""

    tests: Sequence[Mapping[str, Any]]
    """Their statements are in the language that was asked for."""

    notes: Sequence[str]
    learned: Sequence[Mapping[str, Any]]
    """What would be learned before and after, by arm; empty where that is not told."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any], language: str) -> Self:
        """In a language, English where it says nothing in this one."""
        words = content["languages"].get(language, {})
        tests = [test | {"statement": words.get(test["statement"], test["statement"])} for test in content["tests"]]
        notes = [words.get(note, note) for note in content["notes"]]
        learned = content.get("learned") or ()
        return cls(content["control"], content["confidence"], content["arms"], tests, notes, learned)

    @property
    def knows_reasons(self) -> bool:
        """Whether it is told what was changed to what most of the reasons are for."""
        return "towards_reasons" in self.arms[-1]

    @property
    def compared(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The tests by the arm that they are about."""
        return {arm: [test for test in self.tests if test["arm"] == arm] for arm in self._names}

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(test["arm"] for test in self.tests))
