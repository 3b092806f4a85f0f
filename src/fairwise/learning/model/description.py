"""What a fitted model is and what was asked of it, in words that name no judge and no person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from fairwise import notebook
from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import status_counts
from fairwise.learning.settings import JudgeBudgets
from fairwise.numbers import counted

if TYPE_CHECKING:
    from fairwise.learning.model.fitted import FittedMixture
    from fairwise.learning.model.fitted_amounts import FittedAmounts

    Fitted: TypeAlias = FittedMixture | FittedAmounts

_MOST_COLUMNS = 12


def to_html(model: FittedMixture) -> str:
    """What a notebook shows below scikit-learn's diagram: the model, and what is proved about it."""
    rules = model.group_rules_
    sections = [notebook.section("The model", notebook.table(facts(model), numbers=()))]
    if len(rules):
        lines = [(rule, f"{value:.4f}", f"{limit:.4f}") for rule, value, limit, _ in rules.itertuples(index=False)]
        head = ("On the training people", "Value", "Limit")
        sections.append(notebook.section("Statistical rules", notebook.table(lines, head=head, numbers=(1, 2))))
    return notebook.page(*sections, model.certificate_.to_html())


def facts(model: Fitted) -> list[tuple[str, str]]:
    """Names and words: what decides, on what, and what was asked of it."""
    asked = model.certificate_
    every = {
        "Decides": deciding(model),
        "Kind of rules": asked.hypothesis_class,
        **({"Amounts": _amounts(model)} if hasattr(model, "amounts_") else {"Labels": _labels(model)}),
        "Columns": _columns(model),
        "Judgments": judgments(model),
        "Tolerance (gamma)": f"{asked.gamma:g}",
        "Allowance (eta)": "no limit for the panel as a whole" if asked.eta is None else f"{asked.eta:g}",
        "Limits for judges": budgets(model.get_params(deep=False)["judge_budgets"]),
    }
    return [(name, words) for name, words in every.items() if words]


def deciding(model: Fitted) -> str:
    """Whether chance plays a part, and among how many rules."""
    weights = model.weights_
    if hasattr(model, "amounts_"):
        return f"without chance, by the mean of {counted(len(weights), 'rule')}"
    if is_certain(model):
        how = getattr(model, "derandomization_", None)
        return "everyone for certain, by one rule" + (f": {how.rule}" if how is not None else "")
    return f"by lot among {counted(len(weights), 'rule')}, of which one decides {weights.max():.0%} of the time"


def is_certain(model: Fitted) -> bool:
    """Whether no chance plays a part."""
    return hasattr(model, "amounts_") or len(model.weights_) == 1 or model._threshold is not None


def judgments(model: Fitted) -> str:
    """How many judgments the model was learned from and, where that is known, how many are followed."""
    number = model.certificate_.n_judgments
    if number == 0:
        return "none: the plain model"
    proved = model.certificate_
    some = f" ({counted(proved.n_simulated, 'judge')} of them simulated)" if proved.n_simulated else ""
    simulated = " of simulated judges" if proved.simulated else some
    if not hasattr(model, "prices_"):  # loaded from a file, which holds no judgment
        return "how many is not known" if number is None else f"{counted(number)}{simulated}"
    counts = status_counts(answered_rows(model.prices_)["status"])
    asking = counts["followed"] + counts["not_followed"]
    predicted = model.certificate_.n_predicted
    return (
        f"{counted(asking + counts['asks_nothing'])}{simulated}; "
        f"{counted(asking)} ask for something, {counted(counts['followed'])} of these are followed"
        f"{f'; besides {counted(predicted)} that were predicted' if predicted else ''}"
    )


def budgets(value: JudgeBudgets | None) -> str:
    """What is set for single judges, by number and never by name, and for the values of their attributes."""
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        return f"mean excess of at most {value:g} for every judge"
    single = sum(not isinstance(limit, Mapping) for limit in value.values())
    attributes = [str(name) for name, limit in value.items() if isinstance(limit, Mapping)]
    by_value = f"judges by {' and by '.join(attributes)}" if attributes else ""
    return "mean excess limited for " + " and ".join(
        filter(None, [counted(single, "single judge") if single else "", by_value])
    )


def _labels(model: FittedMixture) -> str:
    if len(model.classes_) > 2:
        values = model.label_values
        if values is None:
            return f"{', '.join(map(repr, model.classes_.tolist()))}; nothing is said of how good each is"
        return ", ".join(f"{label!r} (value {values[label]:g})" for label in sorted(values))
    first, second = model.classes_.tolist()
    favorable = model.favorable_label_
    which = "neither is said to be favourable" if favorable is None else f"{favorable!r} is the favourable one"
    return f"{first!r} and {second!r}; {which}"


def _amounts(model: FittedAmounts) -> str:
    low, high = model.amounts_[[0, -1]]
    better = {None: "which is better is not said", True: "more is better", False: "less is better"}
    return f"from {low:g} to {high:g}, rules say {len(model.amounts_)} of them; {better[model.larger_is_better]}"


def _columns(model: Fitted) -> str:
    names = [str(name) for name in model.features_]
    if not hasattr(model, "feature_names_in_"):
        return counted(len(names))
    more = len(names) - _MOST_COLUMNS
    return ", ".join(names[:_MOST_COLUMNS]) + (f" and {counted(more)} more" if more > 0 else "")
