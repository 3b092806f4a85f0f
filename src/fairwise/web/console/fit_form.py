"""The form that asks for a fit: what it offers, what was typed, and settings in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.study.fit_choices import ESTIMATORS, FitChoices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairwise.study.folder import StudyFolder
    from fairwise.web.shared.forms import Form

_RATES = {
    "dp": "How often the model says {one}",
    "tpr": "How often it says {one} where that is right",
    "fpr": "How often it says {one} where {zero} is right",
    "eo": "Both of these two: {one} where that is right, {one} where {zero} is right",
    "error": "How often it is wrong",
}
RULES = (1, 2)
"""Numbers of the rules about groups that the form has room for."""

_NUMBERS = ("gamma", "eta", "judge_budget")
FIRST_VALUES = {"estimator": "tree", "max_depth": "2", "gamma": "0.1", "eta": "0"}
"""What the form says before anything is typed."""


def values_of(choices: FitChoices) -> dict[str, str]:
    """What the form says for a fit like one that was asked for before; it has no name yet."""
    texts = ("estimator", "max_depth", "favorable_label")
    values = {name: str(getattr(choices, name)) for name in texts}
    values |= {name: f"{number:g}" for name in _NUMBERS if (number := getattr(choices, name)) is not None}
    for k, rule in zip(RULES, choices.group_rules, strict=False):
        values |= {f"rate{k}": rule.rate, f"bound{k}": f"{rule.bound:g}", "column": rule.column}
    return values | ({"finished_only": "yes"} if choices.finished_only else {})


def choices_of(form: Form, study: StudyFolder) -> FitChoices:
    """Return what was asked for; whatever cannot be is an error that says what is allowed."""
    numbers = {name: _number(form, name) for name in _NUMBERS}
    estimator = form.text("estimator", 20)
    content = {
        "name": form.text("name", 100) or ESTIMATORS.get(estimator, ("Fit",))[0],
        "estimator": estimator,
        "max_depth": form.text("max_depth", 4),
        "favorable_label": form.text("favorable_label", 500),
        "gamma": numbers["gamma"],
        "eta": numbers["eta"] or None,
        "judge_budget": numbers["judge_budget"] or None,
        "finished_only": form.text("finished_only", 8) == "yes",
        "group_rules": [
            {"rate": rate, "bound": _number(form, f"bound{k}"), "column": form.text("column", 500)}
            for k in RULES
            if (rate := form.text(f"rate{k}", 20))
        ],
    }
    return FitChoices.checked(content, study)


def _number(form: Form, name: str) -> str:
    return form.text(name, 20).replace(",", ".")


def rates(outcomes: Sequence[str]) -> dict[str, str]:
    """Return what may have to be alike between groups, in words that name the study's two outcomes."""
    zero, one = (f"“{outcome}”" for outcome in outcomes)
    return {name: words.format(zero=zero, one=one) for name, words in _RATES.items()}


def in_words(choices: FitChoices, columns: Mapping[str, str], outcomes: Sequence[str]) -> dict[str, str]:
    """Return each setting with what it is; `columns` are their labels by name."""
    depth = choices.max_depth
    questions = f", {depth} {'question' if depth == 1 else 'questions'} in a row" * (choices.estimator == "tree")
    rules = [
        f"{rates(outcomes)[rule.rate]}: {columns.get(rule.column, rule.column)}, at most {rule.bound:g} from everyone"
        for rule in choices.group_rules
    ]
    words = {
        "name": choices.name,
        "estimator": ESTIMATORS[choices.estimator][0] + questions,
        "favorable_label": choices.favorable_label,
        "gamma": f"{choices.gamma:g}",
        "eta": _limit(choices.eta),
        "judge_budget": _limit(choices.judge_budget),
        "group_rules": "; ".join(rules) or "none",
        "finished_only": "those who finished" if choices.finished_only else "everyone who answered",
    }
    return {FitChoices.model_fields[name].title or name: text for name, text in words.items()}


def _limit(budget: float | None) -> str:
    return "no limit" if budget is None else f"{budget:g}"
