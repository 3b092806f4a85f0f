"""What a fitted model is, in words that name no judge and no person: a model card, and what notebooks show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from sklearn.base import ClassifierMixin
from skops.card import Card

from fairwise import notebook
from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import FOLLOWED, NOT_FOLLOWED, status_counts
from fairwise.learning.settings import JudgeBudgets
from fairwise.numbers import counted
from fairwise.results.certificate import NOT_PROVED

if TYPE_CHECKING:
    from fairwise.learning.model.fitted import FittedModel
    from fairwise.learning.model.predictions import FittedClassifier, FittedRegressor


_MOST_COLUMNS = 12


def to_html(model: FittedModel) -> str:
    """Return what a notebook shows below scikit-learn's diagram: the model and its certificate."""
    rules = model.group_rules_
    sections = [notebook.section("The model", notebook.table(facts(model), numbers=()))]
    if len(rules):
        lines = [(rule, f"{value:.4f}", f"{limit:.4f}") for rule, value, limit, _ in rules.itertuples(index=False)]
        head = ("On the training people", "Value", "Limit")
        sections.append(notebook.section("Statistical rules", notebook.table(lines, head=head, numbers=(1, 2))))
    return notebook.page(*sections, model.certificate_.to_html())


def facts(model: FittedModel) -> list[tuple[str, str]]:
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


def deciding(model: FittedModel) -> str:
    """Whether chance plays a part, and among how many rules."""
    weights = model.weights_
    if hasattr(model, "amounts_"):
        return f"without chance, by the mean of {counted(len(weights), 'rule')}"
    if is_certain(model):
        how = getattr(model, "derandomization_", None)
        return "everyone for certain, by one rule" + (f": {how.rule}" if how is not None else "")
    return f"by lot among {counted(len(weights), 'rule')}, of which one decides {weights.max():.0%} of the time"


def is_certain(model: FittedModel) -> bool:
    """Whether no chance plays a part."""
    return hasattr(model, "amounts_") or len(model.weights_) == 1 or model._threshold is not None


def judgments(model: FittedModel) -> str:
    """Return how many judgments the model was learned from and, where known, how many it follows."""
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
    """Describe the budgets of single judges, by number and never by name, and of values of their attributes."""
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


def _labels(model: FittedClassifier) -> str:
    if len(model.classes_) > 2:
        values = model.label_values
        if values is None:
            return f"{', '.join(map(repr, model.classes_.tolist()))}; nothing is said of how good each is"
        return ", ".join(f"{label!r} (value {values[label]:g})" for label in sorted(values))
    first, second = model.classes_.tolist()
    favorable = model.favorable_label_
    which = "neither is said to be favourable" if favorable is None else f"{favorable!r} is the favourable one"
    return f"{first!r} and {second!r}; {which}"


def _amounts(model: FittedRegressor) -> str:
    low, high = model.amounts_[[0, -1]]
    better = {None: "which is better is not said", True: "more is better", False: "less is better"}
    return f"from {low:g} to {high:g}, rules say {len(model.amounts_)} of them; {better[model.larger_is_better]}"


def _columns(model: FittedModel) -> str:
    names = [str(name) for name in model.features_]
    if not hasattr(model, "feature_names_in_"):
        return counted(len(names))
    more = len(names) - _MOST_COLUMNS
    return ", ".join(names[:_MOST_COLUMNS]) + (f" and {counted(more)} more" if more > 0 else "")


TO_FILL_IN = "[More Information Needed]"  # skops' words
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_LIMITS = (
    "It is about people like those it was learned from: for others expect more errors and fewer judgments followed.",
    "Pairs of people whom nobody was asked about are not protected, except by what the model learned from others.",
    "Who was asked matters: other judges may ask for other things.",
    "The outcome that it predicts is what was recorded, which may itself be unfair.",
    "It is no verdict on justice: it says how far a model is from what some people said, and no more.",
)
_CHANCE = (
    "It decides by lot: `predict_proba` gives everyone's chances, and `predict` draws once for each person, the same "
    "for people who are the same to it."
)
_PAPER = """@inproceedings{jung2021elicitation,
  title = {An Algorithmic Framework for Fairness Elicitation},
  author = {Jung, Christopher and Kearns, Michael and Neel, Seth and Roth, Aaron and Stapleton, Logan and
            Wu, Zhiwei Steven},
  booktitle = {2nd Symposium on Foundations of Responsible Computing (FORC 2021)},
  year = {2021},
  url = {https://arxiv.org/abs/1905.10660}
}"""


def card(model: FittedModel) -> str:
    """The card as Markdown."""
    about, results = "Model description", "Model description/Evaluation Results"
    sections = {
        about: _description(model),
        f"{about}/Intended uses & limitations": _uses(model),
        f"{about}/Who was asked": _judges(model),
        f"{about}/Training Procedure": _training(model),
        f"{about}/Training Procedure/Hyperparameters": _table(_settings(model), ("Setting", "Value")),
        results: "On the people it was learned from.",
        f"{results}/What is proved, and what is not": _certificate(model),
        f"{results}/Judgments followed": _followed(model),
        f"{results}/Statistical rules": _rules(model),
        "How to Get Started with the Model": _start(model),
        "Model Card Authors": TO_FILL_IN,
        "Model Card Contact": TO_FILL_IN,
        "Citation": f"The framework:\n\n```bibtex\n{_PAPER}\n```\n\nThe software: Fairwise {version('fairwise')}.",
    }
    written: str = Card(model, model_diagram=False, template=sections).render()
    return written.lstrip("\n")


def _description(model: FittedModel) -> str:
    what = "A model of amounts" if hasattr(model, "amounts_") else "A classifier"
    words = (
        f"{what} learned with Fairwise: as accurate as was found to be possible while it respects what judges "
        "said about pairs of people."
    )
    return f"{words}\n\n{_table(facts(model), ('What', 'In words'))}"


def _uses(model: FittedModel) -> str:
    limits = _LIMITS if is_certain(model) else (_CHANCE, *_LIMITS)
    return f"Which decisions it is meant for, and who answers for them: {TO_FILL_IN}\n\n{_bullets(limits)}"


def _judges(model: FittedModel) -> str:
    number = model.certificate_.n_judgments
    if number == 0:
        return "Nobody: the model was learned without judgments."
    question = (
        "About two people at a time: whether they are to be treated the same, one at least as well as the other, or "
        f"whether nothing is asked for. The question in the words of the study: {TO_FILL_IN}"
    )
    more = f" {predicted}" if (predicted := model.certificate_.predicted_in_words()) else ""
    if not hasattr(model, "prices_"):
        count = (
            "an unknown number of judgments"
            if number is None
            else counted(number - model.certificate_.n_predicted, "judgment")
        )
        if model.certificate_.simulated:
            return f"**No real person was asked.** Simulated judges gave {count}.{more}\n\n{question}"
        unknown = "A model file holds no judgment, so how many judges there were, and who, is not known here"
        more += _some_simulated(model)
        return f"The model was learned from {count}.{more} {unknown}: {TO_FILL_IN}\n\n{question}"
    prices = answered_rows(model.prices_)
    pairs = {frozenset(pair) for pair in zip(prices["a"], prices["b"], strict=True)}
    about = f"{counted(len(prices), 'judgment')} about {counted(len(pairs), 'pair')} of people"
    n_judges = prices["judge"].nunique()
    if model.certificate_.simulated:
        who = f"**No real person was asked.** {counted(n_judges, 'simulated judge')} gave {about}."
    else:
        who = f"{counted(n_judges, 'judge')} gave {about}.{_some_simulated(model)} Who they are, and how they were "
        who += f"chosen: {TO_FILL_IN}"
    answers = [(answer, counted(count)) for answer, count in prices["answer"].value_counts().items()]
    return f"{who}{more}\n\n{question}\n\n{_table(answers, ('Answer', 'Judgments'))}"


def _some_simulated(model: FittedModel) -> str:
    number = model.certificate_.n_simulated
    return f" **Simulated, and no real person: {counted(number, 'judge')}.**" if number else ""


def _training(model: FittedModel) -> str:
    n_people = getattr(model, "n_people_", None)
    people = (
        "people, of whom a model file keeps no count" if n_people is None else counted(n_people, "person", "people")
    )
    calls = counted(model.certificate_.oracle_calls, "call")
    solver = model.get_params(deep=False).get("solver", "column-generation")
    source = f"Where the people and their outcomes come from: {TO_FILL_IN}"
    return f"Learned from {people}; solver {solver}, with {calls} of its oracle. {source}"


def _settings(model: FittedModel) -> Iterable[tuple[str, str]]:
    for name, value in sorted(model.get_params(deep=False).items()):
        if name == "judge_budgets":  # their keys may be names
            yield name, budgets(value) or "None"
        elif name == "group_constraints" and value is not None:
            yield name, ", ".join(type(moment).__name__ for moment in _moments(value))
        else:
            yield name, repr(value)


def _moments(asked: object) -> list[object]:
    """Rules as they were given: one, a list of them, or such by label."""
    parts = list(asked.values()) if isinstance(asked, Mapping) else [asked]
    return [moment for part in parts for moment in (part if isinstance(part, list | tuple) else [part])]


def _certificate(model: FittedModel) -> str:
    certificate = model.certificate_
    notes = [certificate.proved_in_words(), NOT_PROVED, *(f"Warning: {words}" for words in certificate.warnings)]
    return "\n\n".join([_table(certificate.rows(), ("Measure", "Value", "")), *map(_plain, notes)])


def _followed(model: FittedModel) -> str:
    if model.certificate_.n_judgments == 0:
        return "There are none."
    if not hasattr(model, "prices_"):
        return "Not known here: a model file holds no single judgment. The violations above are what it keeps."
    prices = answered_rows(model.prices_)
    asking = prices[prices["status"].isin([FOLLOWED, NOT_FOLLOWED])]
    if asking.empty:
        return "No judgment asks for anything."
    followed = asking["status"] == FOLLOWED
    by_judge = followed.groupby(asking["judge"]).mean()
    return (
        f"{counted(followed.sum())} of {counted(len(asking), 'judgment')} that ask for something are followed, "
        f"{followed.mean():.1%}: for single judges between {by_judge.min():.1%} and {by_judge.max():.1%}."
    )


def _rules(model: FittedModel) -> str:
    rules = model.group_rules_
    if rules.empty:
        return "None were asked for."
    lines = [(rule, f"{value:.4f}", f"{limit:.4f}") for rule, value, limit, _ in rules.itertuples(index=False)]
    return _table(lines, ("Rule", "Value", "Limit"))


def _start(model: FittedModel) -> str:
    name = type(model).__name__
    if isinstance(model, ClassifierMixin):
        *first, last = map(repr, model.classes_.tolist())
        use = f"model.predict_proba(people)  # chances of {', '.join(first)} and {last}, a row for each person"
    else:
        use = "model.predict(people)  # an amount for each person"
    code = f'from fairwise import {name}\n\nmodel = {name}.load("model.skops")\n{use}'
    return f"`people` is a table with the columns named above.\n\n```python\n{code}\n```"


def _table(rows: Iterable[Sequence[object]], head: Sequence[str]) -> str:
    lines = [head, ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _plain(text: object) -> str:
    """Anybody's text as Markdown that shows just this, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
