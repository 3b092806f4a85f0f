"""Words of reports: numbers as people read them, and measures in plain words, in the report's language."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.auditing.groups import NOT_KNOWN
from fairwise.judgments import Answer
from fairwise.judgments.agreement import decimals
from fairwise.judgments.answer import PairDesign
from fairwise.languages import Language, language_of, languages_of
from fairwise.messages import marked, translated
from fairwise.numbers import digits_beside, in_100, points, record_number, share_difference

if TYPE_CHECKING:
    from decimal import Decimal

    from fairwise.auditing.findings import Findings


NOTHING = "\N{EN DASH}"
_SPACE = "\N{NO-BREAK SPACE}"
_ANSWERS = {
    Answer.SAME: marked("treat the two the same"),
    Answer.A_AT_LEAST_B: marked("treat A at least as well as B"),
    Answer.B_AT_LEAST_A: marked("treat B at least as well as A"),
    Answer.NO_CONSTRAINT: marked("leave the model free"),
}
_DESIGNS: dict[str, str] = {
    PairDesign.UNIFORM: marked("drawn at random, every pair equally likely (also assumed where nothing was recorded)"),
    PairDesign.STRATIFIED: marked("spread evenly over the combinations of the groups that two people are of"),
    PairDesign.FIXED: marked("the same pairs for every participant"),
    PairDesign.ANCHOR: marked("shown to several participants, to compare them"),
    PairDesign.REPEAT: marked("shown again with sides swapped, to see how steady an answer is; asks for nothing"),
    PairDesign.CHECK: marked("two identical records, to see whether a participant pays attention; asks for nothing"),
    PairDesign.ACTIVE: marked("chosen because earlier answers left them open"),
    PairDesign.PREDICTED: marked("asked of nobody: what a model of this participant's answers is sure they would say"),
}
_DESIGN_NAMES: dict[str, str] = {
    PairDesign.UNIFORM: marked("uniform"),
    PairDesign.STRATIFIED: marked("stratified"),
    PairDesign.FIXED: marked("fixed"),
    PairDesign.ANCHOR: marked("anchor"),
    PairDesign.REPEAT: marked("repeat"),
    PairDesign.CHECK: marked("check"),
    PairDesign.ACTIVE: marked("active"),
    PairDesign.PREDICTED: marked("predicted"),
}
_OWN_DESIGN = marked("a design of the study's own")


class Words:
    """Numbers and words in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.translate, self.ngettext = language.translate, language.ngettext

    def counted(self, number: float) -> str:
        """5829 is 5,829."""
        return self.language.grouped(int(number))

    def answers(self, number: int) -> str:
        """Format a number of answers."""
        return self.ngettext("{count} answer", "{count} answers", number).format(count=self.counted(number))

    def people(self, number: int, simulated: int) -> str:
        """Format the number of people who were asked, and of simulated ones among them."""
        if simulated and simulated == number:
            words = self.ngettext("{count} simulated person", "{count} simulated people", number)
        elif simulated:
            words = self.translate("{count} people ({simulated} of them simulated)")
        else:
            words = self.ngettext("{count} person", "{count} people", number)
        return words.format(count=self.counted(number), simulated=self.counted(simulated))

    def some_simulated(self, simulated: int, everyone: int) -> str:
        """Return a sentence on how many of the participants are simulated, or "" where none or all are."""
        if not 0 < simulated < everyone:
            return ""
        text = self.ngettext(
            "{simulated} of the {all} participants is simulated: a program, whose answers are nobody’s opinion.",
            "{simulated} of the {all} participants are simulated: programs, whose answers are nobody’s opinion.",
            simulated,
        )
        return text.format(simulated=self.counted(simulated), all=self.counted(everyone))

    def percent(self, share: float | None, digits: int = 1) -> str:
        """0.345 is 34.5 %."""
        return NOTHING if _missing(share) else f"{self.in_100(share, digits)}{_SPACE}%"  # type: ignore[arg-type]

    def in_100(self, share: float, digits: int = 1) -> str:
        """0.345 is 34.5 of 100."""
        return self.number(in_100(share, digits))

    def short_in_100(self, share: float) -> str:
        """0.34 is 34 of 100, and 0.345 is 34.5: the same without needless decimals."""
        return self.language.short_in_100(share)

    def number(self, number: Decimal) -> str:
        """A number as it is, written as it is written here."""
        return self.language.decimal(_minus(f"{number:f}"))

    def points(self, width: float) -> str:
        """Format a difference of two shares in percentage points."""
        return self._points(points(width))

    def points_above(self, one: float, other: float) -> str:
        """Format the difference of two shares as `percent` prints them."""
        return self._points(share_difference(one, other))

    def signed(self, one: float, other: float) -> str:
        """Format a bare number with its sign: +4.2, or +4."""
        number = share_difference(one, other).normalize() + 0
        return f"{'+' if number > 0 else ''}{self.number(number)}"

    def largest_difference(self, shares: Sequence[float]) -> str:
        """Format the difference of the largest and the smallest of some shares, as printed."""
        numbers = [share for share in shares if not _missing(share)]
        return self.number(share_difference(max(numbers), min(numbers))) if numbers else NOTHING

    def _points(self, number: Decimal) -> str:
        plain = number.normalize() + 0
        words = self.ngettext("{number} percentage point", "{number} percentage points", float(plain))
        return words.format(number=self.number(plain))

    def decimal(self, number: float | None, digits: int = 2) -> str:
        """Format a number without a minus before zero."""
        return self.language.decimal(decimal(number, digits))

    def quantity(self, number: float | None) -> str:
        """A cost or an amount, with four digits that count; from 1,000 on without decimals."""
        if _missing(number):
            return NOTHING
        assert number is not None
        return self.language.quantity(number)

    def setting(self, value: float | None) -> str:
        """0.3 rather than 0.300; a word where a limit is off."""
        if value is None or math.isnan(value):
            return self.translate("none")
        return self.language.decimal(f"{value:g}")

    def interval(self, low: float | None, high: float | None, digits: int = 1, beside: float | None = None) -> str:
        """The words to follow a share whose interval is known, and none otherwise.

        Each end gets as many decimals as it takes to see on which side of ``beside`` it is.
        """
        if low is None or high is None or _missing(low) or _missing(high):
            return ""
        decimals = [digits if beside is None else digits_beside(100 * end, 100 * beside, digits) for end in (low, high)]
        ends = {"low": self.percent(low, decimals[0]), "high": self.percent(high, decimals[1])}
        return self.translate(" (between {low} and {high})").format(**ends)

    def price(self, price: float) -> str:
        """A price in people: how many decisions in 10,000 ten percentage points more on the pair would put right."""
        if _missing(price):
            return NOTHING
        people = 1000 * price
        return self.decimal(people, 0 if people >= 10 else 1 if people >= 1 else 2)

    def listed(self, names: Sequence[object], most: int = 5) -> str:
        """List some names, and how many more there are."""
        some, more = [str(name) for name in names[:most]], len(names) - most
        if more > 0:
            return self.translate("{names} and {count} more").format(names=", ".join(some), count=more)
        return self.translate(" and ").join(filter(None, [", ".join(some[:-1]), *some[-1:]]))

    def value(self, value: Any) -> str:
        """A value of a person's record: no needless decimals, and words for nothing."""
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return self.translate("not known")
        return self.language.decimal(record_number(value)) if isinstance(value, float) else str(value)

    def group(self, name: str) -> str:
        """Name of a group."""
        return self.translate("not known") if name == NOT_KNOWN else name

    def answer(self, answer: str) -> str:
        """Describe what an answer asks for."""
        return self.translate(_ANSWERS[Answer(answer)])

    def design(self, design: str) -> str:
        """Describe how pairs of a design are chosen."""
        return self.translate(_DESIGNS.get(design, _OWN_DESIGN))

    def design_name(self, design: str) -> str:
        """Name of a design; one of the study's own keeps its name."""
        return self.translate(_DESIGN_NAMES[design]) if design in _DESIGN_NAMES else design

    def sentence(self, text: str) -> str:
        """Translate a message; other text stays as it is."""
        return str(translated(text, self.language))

    def coefficient(self, number: float | None) -> str:
        """A measure of agreement, with as many decimals as it takes to see whether it is above chance."""
        if _missing(number):
            return NOTHING
        return self.language.decimal(_minus(decimals(float(number))))  # type: ignore[arg-type]


def languages() -> tuple[str, ...]:
    """Codes of the languages that a report may be in."""
    return languages_of("fairwise.results")


def words_in(code: str) -> Words:
    """Numbers and words in one of these languages."""
    return Words(language_of("fairwise.results", code))


ENGLISH = words_in("en")


def decimal(number: float | None, digits: int = 2) -> str:
    """Format a number as in English, without a minus before zero."""
    return NOTHING if _missing(number) else _minus(f"{round(float(number), digits) + 0.0:.{digits}f}")  # type: ignore[arg-type]


def shortened(name: object, most: int) -> str:
    """A name that fits beside a figure."""
    text = printable(str(name))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Replace control characters, which no page and no figure may hold."""
    return "".join(char if char.isprintable() else " " for char in text)


def capitalised(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _minus(number: str) -> str:
    """A minus that is as wide as a plus, and read aloud as one."""
    return number.replace("-", "\N{MINUS SIGN}")


def _missing(number: float | None) -> bool:
    return number is None or math.isnan(number)


_NAMES = {
    "share": marked("Wrong decisions in 100"),
    "cost": marked("Mean cost of a decision"),
    "squared": marked("Mean squared error"),
    "absolute": marked("Mean error"),
}


class ErrorWords:
    """Errors of one kind, in the language of a report."""

    def __init__(self, measure: ErrorMeasure | None = None, words: Words = ENGLISH) -> None:
        self.measure, self.words = measure or ErrorMeasure(), words
        self.is_share = self.measure.is_share

    @property
    def name(self) -> str:
        """Name of the error."""
        return self.words.translate(_NAMES[self.measure.kind])

    def error(self, error: float | None) -> str:
        """34.5 %, or a cost with its unit."""
        if error is None or isnan(error):
            return NOTHING
        if self.is_share:
            return self.words.percent(error)
        square = "²" if self.measure.kind == "squared" else ""
        unit = f"\N{NO-BREAK SPACE}{self.measure.unit}{square}" if self.measure.unit else ""
        return f"{self.words.quantity(error)}{unit}"

    def short(self, error: float) -> str:
        """Format an error beside its name: decisions in 100, or a bare number."""
        return self.words.in_100(error) if self.is_share else self.words.quantity(error)

    def interval(self, low: float | None, high: float | None) -> str:
        """The words to follow an error whose interval is known, and none otherwise."""
        if low is None or high is None or isnan(low) or isnan(high):
            return ""
        ends = {"low": self.error(low), "high": self.error(high)}
        return self.words.translate(" (between {low} and {high})").format(**ends)

    def above(self, one: float, other: float) -> str:
        """Format the difference of two errors: percentage points, or a cost."""
        return self.words.points_above(one, other) if self.is_share else self.error(one - other)

    def change(self, change: float) -> str:
        """Format a change of an error."""
        return self.words.points(change) if self.is_share else self.error(change)

    def signed(self, one: float, other: float) -> str:
        """Format the difference of two errors as a bare number with its sign."""
        if self.is_share:
            return self.words.signed(one, other)
        return f"{'+' if one > other else ''}{self.words.quantity(one - other)}"

    def shows(self, one: float, other: float) -> Decimal | float:
        """Return the difference of two errors as printed: above, below or equal to 0."""
        if self.is_share:
            return share_difference(one, other)
        return 0.0 if self.error(one) == self.error(other) else one - other

    def price(self, price: float) -> str:
        """Format what 10 points more for a pair would save: wrong decisions in 10,000, or part of the mean cost."""
        return self.words.price(price) if self.is_share else self.error(price / 10)


class TreatmentWords:
    """Words for treatment: the chance of the good outcome, points from 0 to 100, or an amount."""

    def __init__(self, findings: Findings, words: Words) -> None:
        self.labels, self.amounts, self.words = findings.labels, findings.amounts, words
        self.is_chance = self.labels.label_values is None

    @property
    def name(self) -> str:
        """Name of the treatment."""
        if self.is_chance:
            return self.words.translate("Chance of “{label}”").format(label=self.labels.treated)
        return self.words.translate("How well treated, 0 to 100")

    @property
    def name_of_one(self) -> str:
        """Name of what :meth:`gets` returns."""
        return self.name if self.amounts is None else self.words.translate("Amount")

    def quantity(self, amount: float) -> str:
        """An amount with its unit."""
        unit = "" if self.amounts is None or not self.amounts.unit else f"\N{NO-BREAK SPACE}{self.amounts.unit}"
        return f"{self.words.quantity(amount)}{unit}"

    def gets(self, treated: float) -> str:
        """Format what one person gets."""
        if self.amounts is not None:
            return self.quantity(self.amounts.amount(treated))
        return self.words.percent(treated) if self.is_chance else self.words.in_100(treated)

    def differ(self, width: float) -> str:
        """Format a difference between two people."""
        if self.amounts is not None:
            return self.quantity(width * (self.amounts.high - self.amounts.low))
        if self.is_chance:
            return self.words.points(width)
        return self.words.translate("{points} of 100 points").format(points=self.words.number(points(width)))
