"""Decisions that are not yes or no: several of them, each so good for the person, or an amount.

A study that says nothing of the kind is about two decisions. Participants read the words from best to worst, and never
anyone's outcome or a value; a model takes the values for how well people are treated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from fairwise.errors import some
from fairwise.study.languages import Language, marked
from fairwise.study.toml import Input, Line, SettingsTable, Unit
from fairwise.tables.rows import Source, text_of

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
    """As it is written in the column of outcomes; it may be nobody's outcome."""

    words: Annotated[Line, Field(title="What participants read")]
    """What participants read, such as released under conditions."""

    value: Annotated[float, Field(ge=0, le=1, title="How good, 0 to 1"), Input(locked=True)]
    """How good it is for the person, from 0 to 1; participants read the decisions from best to worst."""


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
    """What is decided is a number."""

    unit: Annotated[Unit, Field(title="Unit")] = ""
    """What participants read behind an amount, such as euros; may be empty."""

    least: Annotated[Number, Field(title="The least amount"), Input(locked=True)]
    """The least amount that may be decided."""

    most: Annotated[Number, Field(title="The largest amount"), Input(locked=True)]
    """The largest amount that may be decided."""

    better: Annotated[
        Literal["more", "less"],
        Field(title="What is better for the person"),
        Input(options={"more": "a larger amount", "less": "a smaller amount"}, locked=True),
    ] = "more"
    """What is better for the person: more, or less."""

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
        """From the least to the largest."""
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
