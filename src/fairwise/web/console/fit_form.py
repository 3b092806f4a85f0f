"""The form that asks for a fit: what it offers, what was typed, and settings in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwise.study.fit_choices import DEEPEST, FitChoices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairwise.study.folder import StudyFolder
    from fairwise.web.shared.forms import Form

MODELS = {
    "tree": "Decision tree",
    "linear": "Weighted score",
    "logistic": "Logistic regression",
}
MODEL_HELP = {
    "tree": "A few yes-or-no questions, easy to explain. The only kind with a proof that no other tree does better.",
    "linear": "Every detail adds or takes away points. Usually the most accurate.",
    "logistic": "The model that statisticians know best. The fastest.",
}
_RATES = {
    "dp": "How often the model says {one}",
    "tpr": "How often it says {one} where that is right",
    "fpr": "How often it says {one} where {zero} is right",
    "eo": "Both of these two: {one} where that is right, {one} where {zero} is right",
    "error": "How often it is wrong",
}
DEPTHS = range(1, DEEPEST + 1)
_MOST_RULES = 2
_WHOLE = {"name": 100, "estimator": 20, "max_depth": 4, "favorable_label": 500, "column": 500}
_NUMBERS = ("gamma", "eta", "judge_budget")


@dataclass(frozen=True)
class Typed:
    """What stands in the fields; kept as it was typed, so that nothing is lost if it cannot be taken."""

    name: str = ""
    estimator: str = "tree"
    max_depth: str = "2"
    favorable_label: str = ""
    gamma: str = "0.1"
    eta: str = "0"
    judge_budget: str = ""
    column: str = ""
    rules: tuple[tuple[str, str], ...] = (("", ""),) * _MOST_RULES
    """Rate and bound of each."""

    finished_only: bool = False

    @classmethod
    def of(cls, form: Form) -> Typed:
        rules = tuple((form.text(f"rate{k}", 20), form.text(f"bound{k}", 20)) for k in range(1, _MOST_RULES + 1))
        texts = {name: form.text(name, longest) for name, longest in _WHOLE.items()}
        numbers = {name: form.text(name, 20) for name in _NUMBERS}
        return cls(**texts, **numbers, rules=rules, finished_only=form.text("finished_only", 8) == "yes")

    @classmethod
    def like(cls, settings: Mapping[str, Any]) -> Typed:
        """The fields of a form for a fit that was asked for before."""
        rules = tuple((rule["rate"], f"{rule['bound']:g}") for rule in settings["group_rules"][:_MOST_RULES])
        numbers = {name: "" if settings[name] is None else f"{settings[name]:g}" for name in _NUMBERS}
        return cls(
            **numbers,
            estimator=settings["estimator"],
            max_depth=str(settings["max_depth"]),
            favorable_label=settings["favorable_label"],
            column=settings["group_rules"][0]["column"] if settings["group_rules"] else "",
            rules=(*rules, *((("", ""),) * (_MOST_RULES - len(rules)))),
            finished_only=settings["finished_only"],
        )

    def settings(self, study: StudyFolder) -> FitChoices:
        """Return what was asked for; whatever cannot be is an error that says what is allowed."""
        numbers = {name: getattr(self, name).replace(",", ".") for name in _NUMBERS}
        content = {
            **numbers,
            "eta": numbers["eta"] or None,
            "judge_budget": numbers["judge_budget"] or None,
            "estimator": self.estimator,
            "max_depth": self.max_depth,
            "favorable_label": self.favorable_label,
            "finished_only": self.finished_only,
            "group_rules": [
                {"rate": rate, "bound": bound.replace(",", "."), "column": self.column}
                for rate, bound in self.rules
                if rate
            ],
            "name": self.name or MODELS.get(self.estimator, "Fit"),
        }
        return FitChoices.checked(content, study)


def rates(outcomes: Sequence[str]) -> dict[str, str]:
    """Return what may have to be alike between groups, in words that name the study's two outcomes."""
    zero, one = (f"“{outcome}”" for outcome in outcomes)
    return {name: words.format(zero=zero, one=one) for name, words in _RATES.items()}


def in_words(settings: Mapping[str, Any], columns: Mapping[str, str], outcomes: Sequence[str]) -> dict[str, str]:
    """Return each setting with what it is; `columns` are their labels by name."""
    depth = settings["max_depth"]
    questions = f", {depth} {'question' if depth == 1 else 'questions'} in a row" * (settings["estimator"] == "tree")
    said = rates(outcomes)
    rules = [
        f"{said[rule['rate']]}: {columns.get(rule['column'], rule['column'])}, at most {rule['bound']:g} from everyone"
        for rule in settings["group_rules"]
    ]
    return {
        "Name": settings["name"],
        "Kind of model": MODELS[settings["estimator"]] + questions,
        "The good outcome": settings["favorable_label"],
        "Tolerance γ": f"{settings['gamma']:g}",
        "Allowance η": _limit(settings["eta"]),
        "Allowance for each participant": _limit(settings["judge_budget"]),
        "Rules about groups": "; ".join(rules) or "none",
        "Whose answers count": "those who finished" if settings["finished_only"] else "everyone who answered",
    }


def _limit(allowance: float | None) -> str:
    return "no limit" if allowance is None else f"{allowance:g}"
