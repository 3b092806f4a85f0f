"""The form for a model, its settings in words, two models compared, and the figure of a frontier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isnan
from typing import NamedTuple

from fairwise.errors import InputError
from fairwise.languages import Language
from fairwise.messages import marked
from fairwise.numbers import in_100, share_difference
from fairwise.results.fits import FitSummary, FrontierPoint, best_trade_offs
from fairwise.study.design import Amount
from fairwise.study.fit_choices import ESTIMATORS, FitChoices
from fairwise.study.folder import StudyFolder
from fairwise.web.shared.requests import Form, decimal_number

_RATES = {
    "dp": marked("How often the model says {one}"),
    "tpr": marked("How often it says {one} where that is right"),
    "fpr": marked("How often it says {one} where {zero} is right"),
    "eo": marked("Both of these two: {one} where that is right, {one} where {zero} is right"),
    "error": marked("How often it is wrong"),
}
_RATES_OF_SEVERAL = {
    "dp": marked("How often the model makes each decision"),
    "tpr": marked("How often it makes each decision where that is right"),
    "fpr": marked("How often it makes each decision where another is right"),
    "eo": marked("Both of these two: each decision where it is right, and where another is"),
}
RULES = (1, 2)
"""Numbers of the rules about groups that the form has room for."""

WITHOUT = "without-{}"
"""The field of the form that keeps a column from the model, by the column's number."""

_NUMBERS = ("gamma", "eta", "judge_budget")
_TICKED = ("deterministic", "finished_only", "include_simulated", "case_details", "weighted", "influence")
_OF_LABELS = ("deterministic", "influence")
FIRST_VALUES = {
    "estimator": "tree",
    "max_depth": "2",
    "gamma": "0.1",
    "eta": "0",
    "influence": "yes",
}
"""Values of the form before anything is typed."""

# How far to follow: three choices, each a point of the frontier where one is known.

OWN = "own"
"""The choice of those who give an allowance themselves."""

_CLOSE = 1e-9


@dataclass(frozen=True)
class Aim:
    """One of the choices, with what it costs where that is known."""

    name: str
    title: str
    about: str
    eta: float | None = None
    error: float | None = None
    followed: int = 0
    not_followed: int = 0

    @property
    def asked(self) -> int:
        return self.followed + self.not_followed

    def at(self, point: FrontierPoint) -> Aim:
        """Return this choice with the numbers of a point of the frontier."""
        counts = {name: getattr(point, name) for name in ("eta", "error", "followed", "not_followed")}
        return replace(self, **counts)


EVERYTHING = Aim(
    "everything",
    marked("Follow everything"),
    marked("Every answer is followed, whatever it costs."),
    eta=0.0,
)
BALANCED = Aim(
    "balanced",
    marked("Balanced"),
    marked("Answers that cost most are left aside, up to where leaving more aside gains little."),
)
ACCURACY = Aim(
    "accuracy",
    marked("Accuracy first"),
    marked("Answers are followed only as far as that costs nothing."),
)


def aims_of(points: Sequence[FrontierPoint], *, of_amounts: bool = False) -> list[Aim]:
    """Return the choices on offer, those first that follow most: both ends of the frontier and its bend.

    Without a frontier they are its ends, whose allowances need none. Two ends that are one point are one choice.
    """
    best = best_trade_offs(points, of_amounts=of_amounts)
    if not best:
        return [EVERYTHING, ACCURACY]
    first, last = best[0], best[-1]
    everything = EVERYTHING.at(first)
    if first.not_followed:
        everything = replace(everything, about=marked("As many answers as possible are followed, whatever it costs."))
    if first is last:
        return [everything]

    def below_straight_line(point: FrontierPoint) -> float:
        share = (point.not_followed - first.not_followed) / (last.not_followed - first.not_followed)
        return first.error + share * (last.error - first.error) - point.error

    bend = max(best, key=below_straight_line)
    balanced = [BALANCED.at(bend)] if below_straight_line(bend) > _CLOSE * first.error else []
    return [everything, *balanced, ACCURACY.at(last)]


def values_of(choices: FitChoices, columns: Sequence[str]) -> dict[str, str]:
    """Return the values of the form for a model like an earlier one, without its name."""
    texts = ("estimator", "max_depth", "favorable_label")
    values = {name: str(getattr(choices, name) or "") for name in texts} | {"aim": OWN}
    values |= {name: f"{number:g}" for name in _NUMBERS if (number := getattr(choices, name)) is not None}
    for k, rule in zip(RULES, choices.group_rules, strict=False):
        values |= {f"rate{k}": rule.rate, f"bound{k}": f"{rule.bound:.12g}", "column": rule.column}
    if choices.predicted:
        values |= {"predicted": str(choices.predicted), "coverage": f"{choices.coverage:g}"}
    if choices.features is not None:
        values |= {WITHOUT.format(k): "yes" for k, name in enumerate(columns) if name not in choices.features}
    return values | {name: "yes" for name in _TICKED if getattr(choices, name)}


def choices_of(form: Form, study: StudyFolder, points: Sequence[FrontierPoint] = ()) -> FitChoices:
    """Return what was asked for; whatever cannot be is an error that says what is allowed.

    `points` are those of the frontier that the form was made with.
    """
    numbers: dict[str, object] = {name: _number(form, name) for name in _NUMBERS}
    estimator = form.text("estimator", 20)
    name = form.text("aim", 20)
    offered = aims_of(points, of_amounts=study.settings.amount is not None)
    aim = next((one for one in offered if one.name == name), None)
    if aim is None and name in (EVERYTHING.name, BALANCED.name, ACCURACY.name):
        raise InputError(marked("Choose again how far to follow the answers: the choices have changed."))
    if aim is not None:
        numbers["eta"] = aim.eta
    content = {
        "name": form.text("name", 100) or (aim.title if aim else ESTIMATORS.get(estimator, ("Model",))[0]),
        "estimator": estimator,
        "max_depth": form.text("max_depth", 4),
        "favorable_label": form.text("favorable_label", 500) or None,
        "gamma": numbers["gamma"],
        "eta": None if numbers["eta"] in ("", None) else numbers["eta"],
        "judge_budget": numbers["judge_budget"] or None,
        "predicted": form.text("predicted", 10) or 0,
        "coverage": _number(form, "coverage") or FitChoices.model_fields["coverage"].default,
        **{name: form.text(name, 8) == "yes" for name in _TICKED},
        "features": _features(form, [column.name for column in study.settings.columns]),
        "group_rules": _group_rules(form, study),
    }
    return FitChoices.checked(content, study)


def _group_rules(form: Form, study: StudyFolder) -> list[dict[str, str]]:
    """Return the rules with a rate or, for amounts, with a bound."""
    bounds = {k: _number(form, f"bound{k}") for k in RULES}
    if study.settings.amount is None:
        rates = {k: form.text(f"rate{k}", 20) for k in RULES}
    else:
        rates = {k: "error" if bound else "" for k, bound in bounds.items()}
        for bound in filter(None, bounds.values()):
            if decimal_number(bound) is None:
                raise InputError(f"The mean error of a group: {bound!r} is no number; write digits only, such as 1500.")
    column = form.text("column", 500)
    return [{"rate": rate, "bound": bounds[k], "column": column} for k, rate in rates.items() if rate]


def _features(form: Form, columns: Sequence[str]) -> list[str] | None:
    """The columns that were not kept from the model; None where none was."""
    kept = [name for k, name in enumerate(columns) if not form.text(WITHOUT.format(k), 8)]
    return None if len(kept) == len(columns) else kept


def _number(form: Form, name: str) -> str:
    """Return a number with a point; other texts are returned as typed, and refused later."""
    text = form.text(name, 20)
    return text if decimal_number(text) is None else text.replace(",", ".")


def rates(outcomes: Sequence[str], language: Language) -> dict[str, str]:
    """Return what may have to be alike between groups, in words that name the study's outcomes if they are two.

    Where there are none, as of amounts, there is nothing.
    """
    if not outcomes:
        return {}
    if len(outcomes) > 2:
        return {name: language.translate(words) for name, words in _RATES_OF_SEVERAL.items()}
    zero, one = (f"“{outcome}”" for outcome in outcomes)
    return {name: language.translate(words).format(zero=zero, one=one) for name, words in _RATES.items()}


def in_words(
    choices: FitChoices,
    columns: Mapping[str, str],
    outcomes: Sequence[str],
    language: Language,
    amount: Amount | None = None,
) -> dict[str, str]:
    """Return each setting with what it is; `columns` are their labels by name.

    Where an `amount` is decided there are no `outcomes`, and some settings are not of amounts.
    """
    say = language.translate
    estimator = say(ESTIMATORS[choices.estimator][0])
    if choices.estimator == "tree":
        estimator = say(marked("{model}, questions in a row: {depth}")).format(model=estimator, depth=choices.max_depth)
    rules = _rules_in_words(choices, columns, rates(outcomes, language), language, amount)
    predicted = say(marked("up to {number}, sure to {coverage}")).format(
        number=choices.predicted, coverage=language.decimal(f"{choices.coverage:g}")
    )
    words = {
        "name": choices.name,
        "estimator": estimator,
        **({} if choices.favorable_label is None else {"favorable_label": choices.favorable_label}),
        "gamma": language.decimal(f"{choices.gamma:g}"),
        "eta": _limit(choices.eta, language),
        "judge_budget": _limit(choices.judge_budget, language),
        "features": say(marked("everything")) if choices.features is None else _listed(choices.features, columns),
        "group_rules": "; ".join(rules) or say(marked("none")),
        "deterministic": say(
            marked("decides without a lot") if choices.deterministic else marked("decides by lot where that is best")
        ),
        "predicted": predicted if choices.predicted else say(marked("none")),
        "weighted": say(marked("by how likely it is meant") if choices.weighted else marked("all alike")),
        "influence": say(marked("found out") if choices.influence else marked("not found out")),
        "finished_only": say(
            marked("those who finished") if choices.finished_only else marked("everyone who answered")
        ),
        "include_simulated": say(
            marked("count as real ones do")
            if choices.include_simulated
            else marked("left out where there are real ones")
        ),
        "case_details": say(marked("shown") if choices.case_details else marked("not shown")),
    }
    asked = {name: text for name, text in words.items() if amount is None or name not in _OF_LABELS}
    return {FitChoices.model_fields[name].title or name: text for name, text in asked.items()}


def _rules_in_words(
    choices: FitChoices, columns: Mapping[str, str], rates: Mapping[str, str], language: Language, amount: Amount | None
) -> list[str]:
    """Describe each rule about groups."""
    if amount is None:
        words = language.translate(marked("{rate}: {column}, at most {bound} from everyone"))
    else:
        words = language.translate(marked("mean error of each group: {column}, at most {bound}"))
    return [
        words.format(
            rate=rates.get(rule.rate, ""),
            column=columns.get(rule.column, rule.column),
            bound=language.decimal(f"{rule.bound:g}") if amount is None else amount.in_full(rule.bound, language),
        )
        for rule in choices.group_rules
    ]


def _listed(names: Sequence[str], labels: Mapping[str, str]) -> str:
    return ", ".join(labels.get(name, name) for name in names)


def _limit(allowance: float | None, language: Language) -> str:
    return language.translate(marked("no limit")) if allowance is None else language.decimal(f"{allowance:g}")


# Where the points of a frontier are in its figure: error upwards, the allowance to the right.

WIDTH, HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 20, 18, 58
_TICKS = 5
_DIGITS, _WIDE_LEFT = 3, 116  # errors of more digits need more room; the style sheet knows both numbers


@dataclass(frozen=True)
class Tick:
    """A line of the grid, and what it stands for."""

    at: float
    words: str


@dataclass(frozen=True)
class Figure:
    """Places in a drawing of WIDTH by HEIGHT."""

    spots: tuple[tuple[float, float], ...]
    """Coordinates of each point."""

    across: tuple[Tick, ...]
    upwards: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM

    @property
    def has_long_numbers(self) -> bool:
        """Whether it leaves more room for the numbers at its side."""
        return self.left > _LEFT

    @property
    def line(self) -> str:
        """Through all points."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.spots)


def draw_figure(etas: Sequence[float], errors: Sequence[float], scale: float = 100) -> Figure:
    """Return the figure of a frontier of one point or more; an error is written as so many times what it is."""
    across, upwards = _ticks(min(etas), max(etas)), _ticks(min(errors), max(errors), 0.5 / scale)
    digits = max(0, math.ceil(-math.log10(scale * (upwards[1] - upwards[0])) - 1e-9))
    words = [f"{scale * error:.{digits}f}" for error in upwards]
    wide = scale == 1 and max(len(word.replace(".", "")) for word in words) > _DIGITS  # amounts; errors are below 100
    left = _WIDE_LEFT if wide else _LEFT

    def x_of(eta: float) -> float:
        return left + (eta - across[0]) / (across[-1] - across[0]) * (WIDTH - left - _RIGHT)

    def y_of(error: float) -> float:
        return HEIGHT - _BOTTOM - (error - upwards[0]) / (upwards[-1] - upwards[0]) * (HEIGHT - _TOP - _BOTTOM)

    return Figure(
        spots=tuple((x_of(eta), y_of(error)) for eta, error in zip(etas, errors, strict=True)),
        across=tuple(Tick(x_of(eta), f"{eta:g}") for eta in across),
        upwards=tuple(Tick(y_of(error), word) for error, word in zip(upwards, words, strict=True)),
        left=left,
    )


def _ticks(least: float, most: float, half: float = 0.005) -> list[float]:
    """Round numbers from below the least to above the most, two at least; those around a single one are so far off.

    >>> _ticks(0.31, 0.344), _ticks(0.2, 0.2)
    ([0.31, 0.32, 0.33, 0.34, 0.35], [0.195, 0.2, 0.205])
    """
    if most - least < 1e-9:  # one point, or a flat line: in the middle
        return [round(least + turn * half, 9) for turn in ((-1, 0, 1) if least >= half else (0, 1, 2))]
    rough = (most - least) / (_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough - 1e-12)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [round(turn * step, 9) for turn in range(first, last + 1)]


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
    language: Language,
    amount: Amount | None = None,
) -> list[ComparisonRow]:
    """Return settings in words, then numbers; a difference is what the right one has more.

    With an `amount`, errors and differences of two people are such amounts.
    """
    lines = [ComparisonRow(name, words, right[0][name], "") for name, words in left[0].items()]
    one, other = left[1], right[1]
    proved, other_proved = one.certificate, other.certificate
    yes, no = language.translate(marked("yes")), language.translate(marked("no"))
    proofs = [yes if certificate.kind == "exact" else no for certificate in (proved, other_proved)]
    if amount is None:
        lines += _errors(one, other, language)
    else:
        lines += _mean_errors(one, other, language, amount)
    lines += [
        _counts(marked("Answers that ask for something"), one.asked, other.asked),
        _counts(marked("Followed"), one.followed, other.followed),
        _counts(marked("Not followed"), one.not_followed, other.not_followed),
        _chances(marked("Furthest difference"), proved.max_violation, other_proved.max_violation, language, amount),
        _chances(
            marked("Mean difference where “the same” was answered"),
            proved.mean_violation,
            other_proved.mean_violation,
            language,
            amount,
        ),
        ComparisonRow(marked("Proved to be the best of its kind"), proofs[0], proofs[1], ""),
        _counts(marked("Participants in it"), one.judges, other.judges),
        _counts(marked("Simulated participants among them"), one.simulated, other.simulated),
    ]
    return lines


def _errors(one: FitSummary, other: FitSummary, language: Language) -> list[ComparisonRow]:
    """Return rows about how often each model is wrong."""
    left, right = (share_difference(fit.certificate.error, fit.error_without_judgments) for fit in (one, other))
    costs = [_points(f"{cost}", language) for cost in (left, right)]
    without = one.error_without_judgments, other.error_without_judgments
    return [
        _shares(marked("Wrong with the answers"), one.certificate.error, other.certificate.error, language),
        _shares(marked("Wrong about people left out"), _new_error(one), _new_error(other), language),
        _shares(marked("Wrong without the answers"), *without, language),
        ComparisonRow(marked("Cost of the answers"), costs[0], costs[1], _signed(right - left, language)),
        _shares(
            marked("Wrong about people left out, without the answers"), _plain_error(one), _plain_error(other), language
        ),
    ]


def _new_error(fit: FitSummary) -> float | None:
    return None if fit.held_out is None else fit.held_out.error


def _plain_error(fit: FitSummary) -> float | None:
    return None if fit.held_out is None else fit.held_out.plain.error


def _mean_errors(one: FitSummary, other: FitSummary, language: Language, amount: Amount) -> list[ComparisonRow]:
    """Return rows about the mean error of each model's amounts."""
    with_answers = one.certificate, other.certificate
    without = one.error_without_judgments, other.error_without_judgments
    mixtures, means = [fit.error for fit in with_answers], [fit.mean_error for fit in with_answers]
    cost = [error - plain for error, plain in zip(mixtures, without, strict=True)]
    rows = {
        marked("Mean error with the answers"): mixtures,
        marked("Mean error of what people are given"): means,
        marked("Mean error about people left out"): [_or_nan(_new_error(fit)) for fit in (one, other)],
        marked("Mean error about people left out, without the answers"): [
            _or_nan(_plain_error(fit)) for fit in (one, other)
        ],
        marked("Mean error without the answers"): without,
        marked("Cost of the answers"): cost,
    }
    return [_amounts(name, left, right, language, amount) for name, (left, right) in rows.items()]


def _or_nan(error: float | None) -> float:
    return float("nan") if error is None else error


def _amounts(name: str, one: float, other: float, language: Language, amount: Amount) -> ComparisonRow:
    left, right = ("–" if isnan(value) else amount.written(value, language) for value in (one, other))
    if left == right or isnan(one) or isnan(other):
        return ComparisonRow(name, left, right, "")
    more = amount.written(other - one, language)
    return ComparisonRow(name, left, right, f"+{more}" if other > one else more)


def _shares(name: str, one: float | None, other: float | None, language: Language) -> ComparisonRow:
    left, right = ("–" if share is None else f"{language.in_100(share)} %" for share in (one, other))
    if one is None or other is None:
        return ComparisonRow(name, left, right, "")
    return ComparisonRow(name, left, right, _signed(share_difference(other, one), language))


def _counts(name: str, one: int, other: int) -> ComparisonRow:
    return ComparisonRow(name, str(one), str(other), _signed(Decimal(other - one)))


def _chances(name: str, one: float, other: float, language: Language, amount: Amount | None) -> ComparisonRow:
    """Return a row of two differences of chances, in percentage points, or of amounts."""
    if amount is not None:
        return _amounts(name, one * amount.span, other * amount.span, language, amount)
    left, right = ("–" if isnan(value) else _points(f"{in_100(value)}", language) for value in (one, other))
    if isnan(one) or isnan(other):
        return ComparisonRow(name, left, right, "")
    return ComparisonRow(name, left, right, _signed(share_difference(other, one), language))


def _points(number: str, language: Language) -> str:
    """Format percentage points with a real minus sign."""
    words = language.translate(marked("%(points)s points"))
    return words % {"points": language.decimal(number).replace("-", MINUS)}


def _signed(more: Decimal, language: Language | None = None) -> str:
    """Format a difference, in points if a language is given; empty if there is none."""
    if not more:
        return ""
    return f"{more:+f}".replace("-", MINUS) if language is None else _points(f"{more:+f}", language)
