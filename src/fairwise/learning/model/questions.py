"""Questions about one column of a person, in the people's own units, and what their answers tell about others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isnan, nextafter

from fairwise.tables.columns import Kind, date_text, duration_text

Person = Mapping[str, float | str | None]
"""A person's values by column: a number, a category as text, or None where it is missing."""

_PLAIN = re.compile(r"[\w.+-]+")
_TAKEN = {"missing", "not", "at", "above"}  # words that follow "is" in a question
_SHORT = 8  # so many characters of a number are read at a glance


@dataclass(frozen=True)
class Wording:
    """Format of columns, labels and numbers.

    Where ``exact``, so that a program can read them back: numbers with all their digits, and whatever is not one plain
    word in quotation marks, as in JSON. Otherwise for people: long numbers are rounded to four digits.

    ``say`` gives a text in the language of who reads, its places in braces untouched, and ``decimal`` a number that is
    written with a point as it is written there; nothing is changed for English.
    """

    labels: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, Kind] = field(default_factory=dict)
    """Columns of dates and of durations."""

    exact: bool = True
    say: Callable[[str], str] = str
    decimal: Callable[[str], str] = str

    def column(self, name: str) -> str:
        words = self.columns.get(name, name)
        return quoted(words) if self.exact else words

    def category(self, value: str) -> str:
        plain = quoted(value) if value not in _TAKEN else json.dumps(value)
        return plain if self.exact or plain == value else self.say("“{value}”").format(value=value)

    def label(self, which: float) -> str:
        return self.labels[int(which)]

    def number(self, value: float) -> str:
        text = repr(float(value)).removesuffix(".0")
        return self.decimal(text if self.exact or len(text) <= _SHORT else f"{value:.4g}")

    def value(self, column: str, value: float | str | None) -> str:
        """Format a person's value in a column."""
        if value is None:
            return self.say("missing")
        if isinstance(value, str):
            return self.category(value)
        kind = self.times.get(column)
        if kind is None or not isfinite(value):
            return self.number(value)
        return date_text(value) if kind == "date" else duration_text(value)

    def unit(self, column: str, value: float) -> str:
        """A difference of two values of a column: of dates it is a duration."""
        return duration_text(value, exact=self.exact) if column in self.times else self.number(value)

    def share(self, value: float) -> str:
        """Format a share in percent and, where ``exact``, also as the very number."""
        percent = f"{self.decimal(f'{100 * value:.1f}')} %"
        return f"{percent} ({self.number(value)})" if self.exact else percent


def quoted(text: str) -> str:
    """A plain word as it is, anything else in quotation marks as in JSON."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True)
class Known:
    """Knowledge of one column from answers: a number in ``(low, high]``, a category or which not, missing or not."""

    low: float = -inf
    high: float = inf
    missing: bool | None = None
    category: str | None = None
    others: frozenset[str] = frozenset()


@dataclass(frozen=True)
class AtMost:
    """Whether a number is at most ``limit``; a missing one counts as ``fill``, or is not where that is NaN."""

    column: str
    limit: float
    fill: float

    def words(self, wording: Wording, *, yes: bool = True) -> str:
        if yes:
            text = wording.say("{column} is at most {limit}")
        elif isnan(self.fill):
            text = wording.say("{column} is above {limit} or missing")
        else:
            text = wording.say("{column} is above {limit}")
        return text.format(column=wording.column(self.column), limit=wording.value(self.column, self.limit))

    def holds(self, person: Person) -> bool:
        return _number(person[self.column], self.fill) <= self.limit

    def answer(self, known: Known) -> bool | None:
        """The answer that follows from what is known, or None."""
        if known.missing and isnan(self.fill):
            return False
        return True if known.high <= self.limit else False if known.low >= self.limit else None

    def learned(self, known: Known, *, yes: bool) -> Known:
        if yes and isnan(self.fill):
            known = replace(known, missing=False)
        return replace(known, high=self.limit) if yes else replace(known, low=self.limit)


@dataclass(frozen=True)
class Is:
    """Whether a category is this one; a missing one counts as ``fill``, or is none where that is None.

    ``others`` are the column's other categories in training, which people read instead of what a value is not.
    ``may_be_missing`` says whether a value without a fill was missing in training.
    """

    column: str
    category: str
    fill: str | None = None
    others: tuple[str, ...] = field(default=(), compare=False)
    may_be_missing: bool = field(default=False, compare=False)

    def words(self, wording: Wording, *, yes: bool = True) -> str:
        category = self.category if yes or wording.exact or len(self.others) != 1 else self.others[0]
        if yes or (category != self.category and not self.may_be_missing):
            text = wording.say("{column} is {category}")
        elif category != self.category:
            text = wording.say("{column} is {category} or missing")
        elif self.may_be_missing and not wording.exact:
            text = wording.say("{column} is missing or not {category}")
        else:
            text = wording.say("{column} is not {category}")
        return text.format(column=wording.column(self.column), category=wording.category(category))

    def of_person(self, person: Person) -> Is | IsMissing:
        """The question as it is answered with no for this person: about a value that is missing or was never seen."""
        value = person[self.column]
        if value is None and self.fill is None:
            return IsMissing(self.column)
        return self if value is None or value in self.others else replace(self, others=(), may_be_missing=False)

    def holds(self, person: Person) -> bool:
        value = person[self.column]
        return (self.fill if value is None else value) == self.category

    def amount(self, person: Person) -> float:
        return float(self.holds(person))

    def answer(self, known: Known) -> bool | None:
        if known.category is not None:
            return known.category == self.category
        return False if known.missing or self.category in known.others else None

    def learned(self, known: Known, *, yes: bool) -> Known:
        return replace(known, category=self.category) if yes else replace(known, others=known.others | {self.category})


@dataclass(frozen=True)
class IsMissing:
    """Whether a value is missing; of a number, which then counts as ``fill``."""

    column: str
    fill: float | None = None

    def words(self, wording: Wording, *, yes: bool = True) -> str:
        text = wording.say("{column} is missing") if yes else wording.say("{column} is not missing")
        return text.format(column=wording.column(self.column))

    def holds(self, person: Person) -> bool:
        return person[self.column] is None

    def amount(self, person: Person) -> float:
        return float(self.holds(person))

    def answer(self, known: Known) -> bool | None:
        elsewhere = self.fill is not None and not known.low < self.fill <= known.high
        return False if elsewhere or known.category is not None else known.missing

    def learned(self, known: Known, *, yes: bool) -> Known:
        if yes and self.fill is not None:
            known = replace(known, low=nextafter(self.fill, -inf), high=self.fill)
        return replace(known, missing=yes)


@dataclass(frozen=True)
class Each:
    """Number of units above a base, ``(x - above) / unit``; a missing number counts as ``fill``.

    ``spread`` is about a standard deviation of the training people.
    """

    column: str
    unit: float
    above: float
    fill: float
    spread: float

    def words(self, wording: Wording) -> str:
        unit, column = wording.unit(self.column, self.unit), wording.column(self.column)
        if not self.above and self.column not in wording.times:
            return wording.say("for each {unit} of {column}").format(unit=unit, column=column)
        text = wording.say("for each {unit} of {column} above {above}")
        return text.format(unit=unit, column=column, above=wording.value(self.column, self.above))

    def amount(self, person: Person) -> float:
        return (_number(person[self.column], self.fill) - self.above) / self.unit


Question = AtMost | Is | IsMissing


def _number(value: float | str | None, fill: float) -> float:
    return fill if value is None else float(value)
