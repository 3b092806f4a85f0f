"""Two fits line by line."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import isnan
from typing import NamedTuple

from fairwise.numbers import in_100, share_difference
from fairwise.results.fits import FitSummary
from fairwise.study.design import Amount
from fairwise.study.texts import Language, marked

MINUS = "\N{MINUS SIGN}"


class ComparisonRow(NamedTuple):
    """One thing about both."""

    name: str
    left: str
    right: str
    difference: str


def compared(
    left: tuple[Mapping[str, str], FitSummary],
    right: tuple[Mapping[str, str], FitSummary],
    spoken: Language,
    amount: Amount | None = None,
) -> list[ComparisonRow]:
    """Return settings in words, then numbers; a difference is what the right one has more.

    With an `amount`, errors and differences of two people are such amounts.
    """
    lines = [ComparisonRow(name, words, right[0][name], "") for name, words in left[0].items()]
    one, other = left[1], right[1]
    proved, other_proved = one.certificate, other.certificate
    if amount is None:
        lines += _errors(one, other, spoken)
    else:
        lines += _mean_errors(one, other, spoken, amount)
    lines += [
        _counts(marked("Answers that ask for something"), one.asked, other.asked),
        _counts(marked("Followed"), one.followed, other.followed),
        _counts(marked("Not followed"), one.not_followed, other.not_followed),
        _chances(marked("Furthest difference"), proved.max_violation, other_proved.max_violation, spoken, amount),
        _chances(
            marked("Mean difference where “the same” was answered"),
            proved.mean_violation,
            other_proved.mean_violation,
            spoken,
            amount,
        ),
        ComparisonRow(marked("Proved to be the best of its kind"), _proved(one, spoken), _proved(other, spoken), ""),
        _counts(marked("Participants in it"), one.judges, other.judges),
        _counts(marked("Simulated participants among them"), one.simulated, other.simulated),
    ]
    return lines


def _errors(one: FitSummary, other: FitSummary, spoken: Language) -> list[ComparisonRow]:
    """How often each is wrong."""
    without = one.error_without_judgments, other.error_without_judgments
    return [
        _shares(marked("Wrong with the answers"), one.certificate.error, other.certificate.error, spoken),
        _shares(marked("Wrong about people left out"), _new_error(one), _new_error(other), spoken),
        _shares(marked("Wrong without the answers"), *without, spoken),
        _differences(marked("Cost of the answers"), _training_cost(one), _training_cost(other), spoken),
        _shares(
            marked("Wrong about people left out, without the answers"), _plain_error(one), _plain_error(other), spoken
        ),
    ]


def _training_cost(fit: FitSummary) -> Decimal:
    return share_difference(fit.certificate.error, fit.error_without_judgments)


def _new_error(fit: FitSummary) -> float | None:
    return None if fit.held_out is None else fit.held_out.error


def _plain_error(fit: FitSummary) -> float | None:
    return None if fit.held_out is None else fit.held_out.plain.error


def _mean_errors(one: FitSummary, other: FitSummary, spoken: Language, amount: Amount) -> list[ComparisonRow]:
    """How far the amounts of each are from those recorded."""
    with_answers, without = (
        (one.certificate, other.certificate),
        (one.error_without_judgments, other.error_without_judgments),
    )
    drawn, given = [fit.error for fit in with_answers], [fit.mean_error for fit in with_answers]
    cost = [error - plain for error, plain in zip(drawn, without, strict=True)]
    rows = {
        marked("Mean error with the answers"): drawn,
        marked("Mean error of what people are given"): given,
        marked("Mean error about people left out"): [_or_nan(_new_error(fit)) for fit in (one, other)],
        marked("Mean error about people left out, without the answers"): [
            _or_nan(_plain_error(fit)) for fit in (one, other)
        ],
        marked("Mean error without the answers"): without,
        marked("Cost of the answers"): cost,
    }
    return [_amounts(name, left, right, spoken, amount) for name, (left, right) in rows.items()]


def _or_nan(error: float | None) -> float:
    return float("nan") if error is None else error


def _amounts(name: str, one: float, other: float, spoken: Language, amount: Amount) -> ComparisonRow:
    left, right = ("–" if isnan(value) else amount.written(value, spoken) for value in (one, other))
    if left == right or isnan(one) or isnan(other):
        return ComparisonRow(name, left, right, "")
    more = amount.written(other - one, spoken)
    return ComparisonRow(name, left, right, f"+{more}" if other > one else more)


def _proved(fit: FitSummary, spoken: Language) -> str:
    return spoken.translate(marked("yes") if fit.certificate.kind == "exact" else marked("no"))


def _shares(name: str, one: float | None, other: float | None, spoken: Language) -> ComparisonRow:
    left, right = ("–" if share is None else f"{spoken.in_100(share)} %" for share in (one, other))
    if one is None or other is None:
        return ComparisonRow(name, left, right, "")
    return ComparisonRow(name, left, right, _signed(share_difference(other, one), spoken))


def _differences(name: str, one: Decimal, other: Decimal, spoken: Language) -> ComparisonRow:
    left, right = (_points(f"{number}", spoken) for number in (one, other))
    return ComparisonRow(name, left, right, _signed(other - one, spoken))


def _counts(name: str, one: int, other: int) -> ComparisonRow:
    return ComparisonRow(name, str(one), str(other), _signed(Decimal(other - one)))


def _chances(name: str, one: float, other: float, spoken: Language, amount: Amount | None) -> ComparisonRow:
    """Differences of two chances, in percentage points, or of two amounts."""
    if amount is not None:
        return _amounts(name, one * amount.span, other * amount.span, spoken, amount)
    left, right = ("–" if isnan(value) else _points(f"{in_100(value)}", spoken) for value in (one, other))
    if isnan(one) or isnan(other):
        return ComparisonRow(name, left, right, "")
    return ComparisonRow(name, left, right, _signed(share_difference(other, one), spoken))


def _points(number: str, spoken: Language) -> str:
    """So many percentage points, with a real minus."""
    words = spoken.translate(marked("%(points)s points"))
    return words % {"points": spoken.decimal(number).replace("-", MINUS)}


def _signed(more: Decimal, spoken: Language | None = None) -> str:
    """A difference, of points where a language is given; nothing where there is none."""
    if not more:
        return ""
    return f"{more:+f}".replace("-", MINUS) if spoken is None else _points(f"{more:+f}", spoken)
