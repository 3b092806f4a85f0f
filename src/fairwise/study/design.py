"""Design of a study: kinds of pairs, experiment groups, and what may be decided about people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
import pandas as pd
from pydantic import Field, StringConstraints, model_validator

from fairwise.errors import some
from fairwise.study.recruitment import Name
from fairwise.study.texts import Language, marked
from fairwise.study.toml import Input, Line, SettingsTable, Unit
from fairwise.tables.rows import Source, text_of

KINDS = ("fixed", "stratified", "anchors", "repeats", "checks", "active")
"""Kinds of pairs beside uniform ones."""

OFFERED_KINDS = ("anchors", "repeats", "checks", "fixed", "active")
"""Kinds of pairs in the forms of the console; stratified pairs also need strata."""

Count = Annotated[int, Field(ge=0, le=1000)]


class Design(SettingsTable):
    """Numbers of pairs of other kinds than uniform."""

    fixed: Annotated[Count, Field(title="Fixed"), Input("The same for every participant.", locked=True)] = 0
    """Pairs that are the same for every participant."""

    stratified: Count = 0
    """Pairs spread evenly over the combinations of the two people's strata."""

    anchors: Annotated[
        Count,
        Field(title="Anchors"),
        Input("The same pairs for several people, so that their agreement can be measured.", locked=True),
    ] = 0
    """Pairs from a pool that participants share, so that their agreement can be measured."""

    repeats: Annotated[
        Count,
        Field(title="Repeats"),
        Input("Earlier pairs once more with sides swapped: how steady are the answers?", locked=True),
    ] = 0
    """Earlier pairs once more with sides swapped; they measure how steady answers are, and do not count."""

    checks: Annotated[
        Count,
        Field(title="Checks"),
        Input("Two people with identical records: does the participant look?", locked=True),
    ] = 0
    """Pairs of two people with identical records; they measure attention, and do not count."""

    active: Annotated[
        Count,
        Field(title="Active"),
        Input("Chosen on the way, where the answer is least certain; their answers need weights later.", locked=True),
    ] = 0
    """Pairs chosen on the way, where the answer is least certain by what was answered so far; they need weights."""

    anchor_pool: Annotated[
        int,
        Field(ge=0, le=10_000, title="Anchor pairs in all"),
        Input("0: as many as everyone is shown, so that all are shown the same.", locked=True),
    ] = 0
    """Number of anchor pairs in all; 0: as many as everyone is shown, so that all are shown the same."""

    anchor_people: Annotated[int, Field(ge=1, title="People for each anchor pair"), Input("Who finish it.")] = 2
    """Number of finished participants that every anchor pair should have."""

    strata: tuple[Line, ...] = ()
    """The columns whose values divide people into strata, such as sex and race; at most 50 strata."""

    lease_hours: Annotated[
        int,
        Field(ge=1, le=24 * 365, title="Hours without an answer"),
        Input("After these, the anchors of someone who left are given to someone else."),
    ] = 24
    """Hours without an answer after which the anchors of someone who left are given to someone else."""

    @property
    def pool(self) -> int:
        """Number of anchor pairs."""
        return (self.anchor_pool or self.anchors) if self.anchors else 0

    @property
    def lease(self) -> timedelta:
        """Time for which someone who does not answer keeps their slot."""
        return timedelta(hours=self.lease_hours)

    @property
    def other_kinds(self) -> dict[str, int]:
        """Number of pairs of each other kind."""
        return {kind: number for kind in KINDS if (number := getattr(self, kind))}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if 0 < self.anchor_pool < self.anchors:
            raise ValueError(f"anchor_pool = {self.anchor_pool}: fewer than the {self.anchors} anchors of everyone")
        if self.stratified and not self.strata:
            raise ValueError("stratified pairs need strata: name the columns by which people are divided")
        return self


MOST_ARMS, MOST_SHARES = 10, 10
_Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20_000)]
T = TypeVar("T")


class Arm(SettingsTable):
    """One of them. What it does not change is as the study has it."""

    name: Annotated[Name, Field(title="Short name"), Input(locked=True)]
    """A short name under which it is kept with answers, such as control; participants never see it."""

    share: Annotated[
        int, Field(ge=1, le=MOST_SHARES, title="Share"), Input("2: twice as many people as 1.", locked=True)
    ] = 1
    """Relative number of participants in this group: 2 is twice as many as 1."""

    reasons: Annotated[bool, Field(title="The second round shows how others answered, and why"), Input(locked=True)] = (
        True
    )
    """Whether a second round shows how the others answered and their reasons; if not, people are only asked again."""

    question: Annotated[_Words, Field(title="The question about every pair"), Input("If empty: the study’s.")] = ""
    """Question about every pair; if empty, the study's question."""

    columns: Annotated[tuple[str, ...], Field(title="Columns that are shown"), Input(locked=True)] = ()
    """Names of the columns that are shown; if empty, all of them."""

    buttons: Annotated[
        Literal["usual", "reversed"],
        Field(title="Order of the buttons"),
        Input(options={"usual": "as usual", "reversed": "reversed"}, locked=True),
    ] = "usual"
    """The order of the buttons: usual or reversed."""

    text: Annotated[_Words, Field(title="A text above every pair"), Input("Markdown. May be empty.")] = ""
    """A text above every pair, in Markdown; may be empty."""

    @property
    def changes_the_first_round(self) -> bool:
        """Whether it matters already when the first pair is shown."""
        return bool(self.question or self.columns or self.text) or self.buttons != "usual"

    @property
    def treatment(self) -> dict[str, object]:
        """All that it does, without its name and share."""
        return self.model_dump(exclude={"name", "share"})

    @property
    def decisive(self) -> dict[str, object]:
        """Settings that are fixed once people are assigned: texts may be corrected, but not added or removed."""
        return self.model_dump() | {"question": bool(self.question), "text": bool(self.text)}

    def ordered(self, answers: Sequence[T]) -> tuple[T, ...]:
        """Return the answers in the order of the buttons."""
        return tuple(answers) if self.buttons == "usual" else tuple(reversed(answers))


def assigned_late(arms: Sequence[Arm]) -> bool:
    """Whether nothing differs before the second round: then people are assigned when they finish the first.

    So those who leave before leave no gap in any arm.
    """
    return bool(arms) and not any(arm.changes_the_first_round for arm in arms)


def common_columns(arms: Sequence[Arm], columns: Sequence[str]) -> list[str]:
    """Return those of the columns that every arm shows, in their order."""
    return [name for name in columns if all(not arm.columns or name in arm.columns for arm in arms)]


def check_arms(arms: Sequence[Arm], columns: Sequence[str], design: Design, *, second_round: bool) -> None:
    """Refuse arms that compare nothing, or that would show two people as if they did not differ."""
    if len(arms) == 1 or len(arms) > MOST_ARMS:
        raise ValueError(f"arms: {len(arms)}; allowed: from 2 to {MOST_ARMS}, or none")
    for at, arm in enumerate(arms):
        _check_arm(arm, arms[:at], columns, second_round=second_round)
    if not any(arm.columns for arm in arms):
        return
    common = common_columns(arms, columns)
    if not common:
        raise ValueError("arms: no column is shown in all of them; people are compared by what every arm shows")
    if design.active:
        raise ValueError("arms.columns: with active pairs, which are chosen by all columns, every arm shows all")
    if hidden := [name for name in design.strata if design.stratified and name not in common]:
        raise ValueError(f"design.strata: {hidden[0]!r} is not shown in every arm")


def _check_arm(arm: Arm, earlier: Sequence[Arm], columns: Collection[str], *, second_round: bool) -> None:
    for other in earlier:
        if arm.name == other.name:
            raise ValueError(f"two arms have the name {arm.name!r}")
        if arm.treatment == other.treatment:
            raise ValueError(f"the arms {other.name!r} and {arm.name!r} do the same: there is nothing to compare")
    if not (arm.reasons or second_round):
        raise ValueError(f"the arm {arm.name!r} is about a second round; needed: deliberation.on")
    if unknown := [name for name in arm.columns if name not in columns]:
        raise ValueError(f"the arm {arm.name!r} shows {unknown[0]!r}, which is not among the columns")
    if len(set(arm.columns)) < len(arm.columns):
        raise ValueError(f"the arm {arm.name!r} names a column twice")


def shows_reasons(arms: Sequence[Arm], name: str | None) -> bool:
    """Whether the second round shows someone how the others answered and why; in a study without arms, to everyone.

    Where there are arms, whoever is in none is shown nothing: they did not finish the first round before it ended.
    """
    return not arms or any(arm.reasons for arm in arms if arm.name == name)


OutcomeKind = Literal["yes-no", "tiers", "amount"]
MOST_DECISIONS = 12
"""More of them nobody reads beside every pair."""

Number = Annotated[float, Field(allow_inf_nan=False)]

_USUAL = {
    "yes-no": marked("getting the more favourable of the two possible decisions"),
    "tiers": marked("getting a better decision"),
    "more": marked("getting a larger amount"),
    "less": marked("getting a smaller amount"),
}


class Decision(SettingsTable):
    """One of the decisions that may be made about a person."""

    label: Annotated[Line, Field(title="Outcome in the file"), Input(locked=True)]
    """Label in the column of outcomes; it may be nobody's outcome."""

    words: Annotated[Line, Field(title="What participants read")]
    """Words that participants read, such as released under conditions."""

    value: Annotated[float, Field(ge=0, le=1, title="How good, 0 to 1"), Input(locked=True)]
    """Value for the person, from 0 to 1; participants read the decisions from best to worst."""


class OutcomeWords(SettingsTable):
    """Words for the two outcomes, where one of two things is decided."""

    good: Annotated[Line, Field(title="The good outcome, in a word or two")]
    """The good outcome in a word or two, such as released."""

    other: Annotated[Line, Field(title="The other outcome, in a word or two")]
    """The other outcome in a word or two, such as detained."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.good == self.other:
            raise ValueError(f"both outcomes have the words {self.good!r}")
        return self

    def by_label(self, labels: Iterable[Any], good: Any) -> dict[Any, str]:
        """Return the words of each label, of which one is the good one."""
        return {label: self.good if label == good else self.other for label in labels}


class Amount(SettingsTable):
    """Decision that is a number."""

    unit: Annotated[Unit, Field(title="Unit")] = ""
    """Unit that participants read behind an amount, such as euros; may be empty."""

    least: Annotated[Number, Field(title="The least amount"), Input(locked=True)]
    """The least amount that may be decided."""

    most: Annotated[Number, Field(title="The largest amount"), Input(locked=True)]
    """The largest amount that may be decided."""

    better: Annotated[
        Literal["more", "less"],
        Field(title="What is better for the person"),
        Input(options={"more": "a larger amount", "less": "a smaller amount"}, locked=True),
    ] = "more"
    """Direction that is better for the person: more, or less."""

    @model_validator(mode="after")
    def _least_first(self) -> Self:
        if self.least >= self.most:
            raise ValueError(f"least = {self.least:g} and most = {self.most:g}: the least must be below the most")
        return self

    def read_in(self, language: Language) -> tuple[str, str]:
        """Return the least and the largest amount as they are written in a language, the unit behind the second."""
        return language.number(self.least, places=6), self.in_full(self.most, language)

    def in_full(self, amount: float, language: Language) -> str:
        """Return an amount as somebody gave it, not rounded, with its unit."""
        return f"{language.number(amount, places=6)} {self.unit}".rstrip()

    def values(self, amounts: pd.Series[Any]) -> pd.Series[Any]:
        """Return how good each amount is, from 0 to 1: its share of the range, or what is left of it."""
        return amounts.map(self.value)

    def value(self, amount: float) -> float:
        """Return how good an amount is, likewise."""
        share = (amount - self.least) / self.span
        return share if self.better == "more" else 1 - share

    def amount(self, value: float) -> float:
        """Return the amount that is so good, from 0 to 1."""
        return self.least + self.span * (value if self.better == "more" else 1 - value)

    @property
    def span(self) -> float:
        """Difference between the largest and the least amount."""
        return self.most - self.least

    def written(self, amount: float, language: Language) -> str:
        """Return an amount, or a difference of two, with its unit as it is written in a language."""
        return f"{language.quantity(amount)}\N{NO-BREAK SPACE}{self.unit}".rstrip()


def check_decisions(decisions: Sequence[Decision], amount: Amount | None) -> None:
    """Refuse decisions between which nobody could choose; a ValueError says why."""
    if decisions and amount is not None:
        raise ValueError("decisions and amount are both given; what is decided is one of a few things, or a number")
    if len(decisions) == 1:
        raise ValueError("decisions: one is no choice; needed: at least two, or none")
    if len(decisions) > MOST_DECISIONS:
        raise ValueError(f"decisions: {len(decisions)} of them; at most {MOST_DECISIONS} can be read beside every pair")
    for what in ("label", "words"):
        twice, times = Counter(getattr(one, what) for one in decisions).most_common(1)[0] if decisions else ("", 0)
        if times > 1:
            raise ValueError(f"two decisions have the {what} {twice!r}")
    if decisions and len({one.value for one in decisions}) == 1:
        raise ValueError(
            f"decisions: every value is {decisions[0].value:g}, so that nobody could be treated better than another; "
            "needed: from 0 to 1, and not all alike"
        )


def kind_of(decisions: object, amount: object) -> OutcomeKind:
    """Say what is decided by which of the two settings there is."""
    return "tiers" if decisions else "yes-no" if amount is None else "amount"


def usual_meaning(content: Mapping[str, Any]) -> str:
    """Return our words for what it means to be treated well, in a study that says this of its decisions."""
    kind, amount = kind_of(content.get("decisions"), content.get("amount")), content.get("amount")
    if kind != "amount":
        return _USUAL[kind]
    better = amount.get("better") if isinstance(amount, Mapping) else getattr(amount, "better", None)
    return _USUAL["less" if better == "less" else "more"]


USUAL_MEANINGS = tuple(_USUAL.values())


def best_first(decisions: Sequence[Decision]) -> tuple[tuple[str, ...], ...]:
    """Return the words from best to worst; those that are equally good together."""
    ordered = sorted(decisions, key=lambda one: -one.value)
    return tuple(tuple(one.words for one in alike) for _, alike in groupby(ordered, key=lambda one: one.value))


def check_outcome(
    column: pd.Series[Any], source: Source, decisions: Sequence[Decision], amount: Amount | None
) -> pd.Series[Any]:
    """Return outcomes as the study's decisions have them: labels as text, or amounts as numbers.

    Every outcome must be the label of a decision, or an amount of the range. Two decisions as usual stay as they are.
    """
    name = str(column.name)
    cells = column.where(column.notna(), None)
    if decisions:
        labels = [one.label for one in decisions]
        texts = [None if cell is None else text_of(cell).strip() for cell in cells]
        bad = np.array([text not in labels for text in texts], dtype=bool)
        source.refuse(bad, name, cells, f"is not among the decisions; allowed: {some(labels)}")
        return pd.Series(texts, column.index, dtype=object, name=name)
    if amount is not None:
        numbers = pd.Series(pd.to_numeric(cells, errors="coerce"), dtype=np.float64)
        bad = ~numbers.between(amount.least, amount.most).to_numpy(dtype=bool)
        rule = f"is no amount that may be decided; allowed: a number from {amount.least:g} to {amount.most:g}"
        source.refuse(bad, name, cells, rule)
        return numbers
    return column
