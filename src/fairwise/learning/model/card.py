"""A model card: the sections of skops' template, filled with what a fitted or loaded model knows about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from sklearn.base import ClassifierMixin
from skops.card import Card

from fairwise.constraints.pairs import answered_rows
from fairwise.constraints.violations import FOLLOWED, NOT_FOLLOWED
from fairwise.learning.model.description import budgets, facts, is_certain
from fairwise.numbers import counted
from fairwise.results.certificate import NOT_PROVED

if TYPE_CHECKING:
    from fairwise.learning.model.description import Fitted

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


def card(model: Fitted) -> str:
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


def _description(model: Fitted) -> str:
    what = "A model of amounts" if hasattr(model, "amounts_") else "A classifier"
    words = (
        f"{what} learned with Fairwise: as accurate as was found to be possible while it respects what judges "
        "said about pairs of people."
    )
    return f"{words}\n\n{_table(facts(model), ('What', 'In words'))}"


def _uses(model: Fitted) -> str:
    limits = _LIMITS if is_certain(model) else (_CHANCE, *_LIMITS)
    return f"Which decisions it is meant for, and who answers for them: {TO_FILL_IN}\n\n{_bullets(limits)}"


def _judges(model: Fitted) -> str:
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


def _some_simulated(model: Fitted) -> str:
    number = model.certificate_.n_simulated
    return f" **Simulated, and no real person: {counted(number, 'judge')}.**" if number else ""


def _training(model: Fitted) -> str:
    n_people = getattr(model, "n_people_", None)
    people = (
        "people, of whom a model file keeps no count" if n_people is None else counted(n_people, "person", "people")
    )
    calls = counted(model.certificate_.oracle_calls, "call")
    solver = model.get_params(deep=False).get("solver", "column-generation")
    source = f"Where the people and their outcomes come from: {TO_FILL_IN}"
    return f"Learned from {people}; solver {solver}, with {calls} of its oracle. {source}"


def _settings(model: Fitted) -> Iterable[tuple[str, str]]:
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


def _certificate(model: Fitted) -> str:
    certificate = model.certificate_
    notes = [certificate.proved_in_words(), NOT_PROVED, *(f"Warning: {words}" for words in certificate.warnings)]
    return "\n\n".join([_table(certificate.rows(), ("Measure", "Value", "")), *map(_plain, notes)])


def _followed(model: Fitted) -> str:
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


def _rules(model: Fitted) -> str:
    rules = model.group_rules_
    if rules.empty:
        return "None were asked for."
    lines = [(rule, f"{value:.4f}", f"{limit:.4f}") for rule, value, limit, _ in rules.itertuples(index=False)]
    return _table(lines, ("Rule", "Value", "Limit"))


def _start(model: Fitted) -> str:
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
