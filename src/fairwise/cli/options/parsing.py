"""What users write behind options: ranges, lists, a budget or none, rules for groups."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeVar

import typer

from fairwise.learning.settings import PARITIES, MaxThresholds

Parsed = TypeVar("Parsed")
_MOST_VALUES = 10_000
_KINDS = {kind: kind for kind in ("uniform", "fixed", "stratified", "anchors", "repeats", "checks", "active")}
_KINDS |= {"anchor": "anchors", "repeat": "repeats", "check": "checks"}


def parse_option(option: str, parse: Callable[[str], Parsed], text: str) -> Parsed:
    """Return what was written behind an option, or an error that names it."""
    try:
        return parse(text)
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint=f"'{option}'") from None


def typed_options(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that were typed."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE")


def fractions(text: str) -> tuple[float, ...]:
    """Return numbers from 0 to 1, sorted, each once; a range includes both its ends.

    >>> fractions("0:1:0.25")
    (0.0, 0.25, 0.5, 0.75, 1.0)
    >>> fractions("0.3, 0, 0.1:0.2:0.05")
    (0.0, 0.1, 0.15, 0.2, 0.3)
    """
    values = _numbers(text)
    outside = [value for value in values if not 0 <= value <= 1]
    if outside:
        raise typer.BadParameter(f"{outside[0]} is not a number from 0 to 1.")
    return tuple(float(value) for value in values)


def sizes(text: str) -> tuple[int, ...]:
    """Return whole numbers from 1, sorted, each once.

    >>> sizes("20,100:300:100")
    (20, 100, 200, 300)
    """
    values = _numbers(text)
    odd = [value for value in values if value < 1 or value != value.to_integral_value()]
    if odd:
        raise typer.BadParameter(f"{odd[0]} is not a whole number from 1.")
    return tuple(int(value) for value in values)


def _numbers(text: str) -> list[Decimal]:
    """Decimals, so that the third tenth is 0.3."""
    values: set[Decimal] = set()
    for part in text.split(","):
        ends = [_decimal(word, text) for word in part.split(":")]
        if len(ends) == 1:
            values.add(ends[0])
        elif len(ends) == 3:
            values.update(_range(*ends, text=part.strip()))
        else:
            raise typer.BadParameter(f"{part.strip()!r}: write from:to:step such as 0:1:0.1, or numbers with commas.")
    return sorted(values)


def _range(start: Decimal, stop: Decimal, step: Decimal, *, text: str) -> list[Decimal]:
    if step <= 0 or stop < start:
        raise typer.BadParameter(f"{text!r}: a range goes up, from:to:step with a step above 0.")
    steps = (stop - start) / step
    if steps > _MOST_VALUES:
        raise typer.BadParameter(f"{text!r}: that is {steps:.0f} values; at most {_MOST_VALUES} are allowed.")
    return [*(start + step * i for i in range(int(steps) + 1)), stop]


def _decimal(word: str, text: str) -> Decimal:
    try:
        value = Decimal(word.strip())
    except InvalidOperation:
        raise typer.BadParameter(f"{word.strip()!r} in {text!r} is not a number.") from None
    if not value.is_finite() or abs(value.adjusted()) > 30:
        raise typer.BadParameter(f"{word.strip()!r} in {text!r} is not a number that can be used here.")
    return value


def names(text: str) -> tuple[str, ...]:
    """Return names of columns.

    >>> names("race, sex")
    ('race', 'sex')
    """
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def mixture(text: str) -> dict[str, int]:
    """Return how many pairs of each kind are wanted, under the names of the settings.

    >>> mixture("28 uniform, 6 anchors, 1 repeat")
    {'uniform': 28, 'anchors': 6, 'repeats': 1}
    """
    numbers: dict[str, int] = {}
    for part in names(text):
        number, _, kind = part.partition(" ")
        kind = _KINDS.get(kind.strip().lower(), "")
        if not kind or not number.isascii() or not number.isdigit():
            allowed = ", ".join(dict.fromkeys(_KINDS.values()))
            raise typer.BadParameter(f"{part!r}: write a number and a kind, such as 6 anchors. Kinds: {allowed}.")
        if kind in numbers:
            raise typer.BadParameter(f"{kind} in {text!r} is there twice.")
        numbers[kind] = int(number)
    return numbers


@dataclass(frozen=True)
class BudgetOption:
    """A number from 0 to 1, or none at all."""

    limit: float | None

    def __str__(self) -> str:
        return "none" if self.limit is None else f"{self.limit:g}"


def budget(text: str | BudgetOption) -> BudgetOption:
    """Return a budget.

    >>> budget("none").limit is None, budget("0.05").limit
    (True, 0.05)
    """
    if isinstance(text, BudgetOption):  # the default
        return text
    if text.strip().lower() == "none":
        return BudgetOption(None)
    return BudgetOption(fraction(text))


@dataclass(frozen=True)
class ThresholdsOption:
    """How many thresholds a column of a tree may have: a number, all (None), or what is affordable (auto)."""

    most: MaxThresholds

    def __str__(self) -> str:
        return "all" if self.most is None else str(self.most)


def thresholds(text: str | ThresholdsOption) -> ThresholdsOption:
    """Return how many thresholds a column may have.

    >>> thresholds("16").most, thresholds("all").most, thresholds("auto").most
    (16, None, 'auto')
    """
    if isinstance(text, ThresholdsOption):  # the default
        return text
    match text.strip().lower():
        case "all":
            return ThresholdsOption(None)
        case "auto":
            return ThresholdsOption("auto")
        case number if number.isdecimal() and int(number) > 0:
            return ThresholdsOption(int(number))
    raise typer.BadParameter(f"{text!r} is not a whole number of at least 1, auto or all.")


def fraction(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is not a number from 0 to 1.")
    return value


@dataclass(frozen=True)
class GroupRuleOption:
    """A statistical rule: which rate, by how much it may differ, between the groups of which columns.

    Of amounts it is the mean error of each group, and the bound an amount.
    """

    moment: str
    bound: float
    columns: tuple[str, ...]


def group_rule(text: str | GroupRuleOption) -> GroupRuleOption:
    """Return a rule for groups.

    >>> group_rule("fpr:0.02:race+sex")
    GroupRuleOption(moment='fpr', bound=0.02, columns=('race', 'sex'))
    """
    if isinstance(text, GroupRuleOption):
        return text
    moment, _, rest = text.partition(":")
    bound, _, columns = rest.partition(":")
    if moment not in PARITIES:
        raise typer.BadParameter(f"{moment!r} in {text!r} is not a rate. Allowed: {', '.join(PARITIES)}.")
    if not columns.strip():
        raise typer.BadParameter(f"{text!r}: write rate:bound:column, such as fpr:0.02:race.")
    limit = _amount(bound) if moment == "error" else fraction(bound)
    return GroupRuleOption(moment, limit, tuple(part.strip() for part in columns.split("+") if part.strip()))


def _amount(text: str) -> float:
    """A number from 0 up; whether it is a share is known with the other options."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise typer.BadParameter(f"{text!r} is not a number from 0 up.")
    return value
