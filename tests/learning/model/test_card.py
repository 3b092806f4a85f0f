"""The model card: the sections of skops' template, true numbers, nobody's name, and what a loaded model cannot know."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from markdown_it import MarkdownIt
from sklearn.exceptions import NotFittedError

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from tests.learning.conftest import Town

NASTY = "<img src=x onerror=alert(1)> | *b* `c` $x$"


@pytest.fixture(scope="module")
def fitted(town: Town) -> PairwiseFairClassifier:
    budgets = {"ann": 0.5, "bea": 0.5}
    model = PairwiseFairClassifier(
        "tree", gamma=0.1, judge_budgets=budgets, group_constraints=[DemographicParity(difference_bound=0.2)]
    )
    return model.fit(town.people, town.outcome, judgments=town.judgments, sensitive_features=town.people["city"])


def titles(card: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", card, re.MULTILINE)


def test_it_has_the_sections_of_the_template_in_their_order(fitted: PairwiseFairClassifier) -> None:
    assert titles(fitted.card()) == [
        "Model description",
        "Intended uses & limitations",
        "Who was asked",
        "Training Procedure",
        "Hyperparameters",
        "Evaluation Results",
        "What is proved, and what is not",
        "Judgments followed",
        "Statistical rules",
        "How to Get Started with the Model",
        "Model Card Authors",
        "Model Card Contact",
        "Citation",
    ]


def test_its_numbers_are_the_models(fitted: PairwiseFairClassifier) -> None:
    card = fitted.card()
    assert f"| Error on the training people | {fitted.certificate_.error:.4f} |" in card
    assert "3 judges gave 12 judgments about 12 pairs of people" in card
    assert "12 of 12 judgments that ask for something are followed, 100.0%" in card
    assert f"Learned from {fitted.n_people_} people" in card
    assert "DemographicParity" in card
    for rule, value in fitted.group_rules_[["rule", "value"]].itertuples(index=False):
        assert f"| {rule} | {value:.4f} |" in card.replace("\\", "")


def test_judgments_that_nobody_gave_are_not_counted_as_given(town: Town) -> None:
    frame = town.judgments.frame
    frame.loc[frame.index[-3:], ["design", "error_bound"]] = "predicted", 0.1
    model = PairwiseFairClassifier("tree", gamma=1.0, favorable_label=1)
    model.fit(town.people, town.outcome, judgments=Judgments(frame, people=town.people))
    card = model.card()
    assert "9 of 9 judgments that ask for something are followed, 100.0%" in card
    assert "9; 9 ask for something, 9 of these are followed; besides 3 that were predicted" in card


def test_it_names_no_judge_and_no_person(fitted: PairwiseFairClassifier, town: Town) -> None:
    card = fitted.card()
    for name in (*town.judgments.judges, *town.people.index):
        assert not re.search(rf"\b{name}\b", card)
    assert "mean excess limited for 2 single judges" in card


def test_of_a_loaded_model_it_says_what_is_not_known(fitted: PairwiseFairClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.skops")
    card = PairwiseFairClassifier.load(tmp_path / "model.skops").card()
    assert titles(card) == titles(fitted.card())
    assert "The model was learned from 12 judgments. A model file holds no judgment" in card
    assert "Not known here: a model file holds no single judgment" in card
    assert f"| Error on the training people | {fitted.certificate_.error:.4f} |" in card


def test_simulated_judges_are_called_so_and_real_ones_are_not(
    fitted: PairwiseFairClassifier, town: Town, tmp_path: Path
) -> None:
    judgments = simulate_panel(town.people[["age"]], n_judges=2, n_pairs=3, seed=0)
    model = PairwiseFairClassifier("tree", max_depth=1).fit(town.people[["age"]], town.outcome, judgments=judgments)
    assert "**No real person was asked.** 2 simulated judges gave 6 judgments" in model.card()
    assert "| Judgments | 6 of simulated judges; " in model.card()
    model.save(tmp_path / "model.skops")
    card = PairwiseFairClassifier.load(tmp_path / "model.skops").card()
    assert "**No real person was asked.** Simulated judges gave 6 judgments." in card
    assert "| Judgments | 6 of simulated judges |" in card
    assert "simulated" not in fitted.card()
    one, other = judgments.judges
    mixed = judgments.frame.replace({"judge": {one: "ann", other: "p00007"}})
    known = {"ann": {"simulated": "no"}, "p00007": {"simulated": "yes"}}
    mixed_judgments = Judgments(mixed, people=town.people[["age"]], judge_attributes=known)
    model.fit(town.people[["age"]], town.outcome, judgments=mixed_judgments)
    assert (model.certificate_.n_simulated, model.certificate_.simulated) == (1, False)
    assert "**Simulated, and no real person: 1 judge.**" in model.card()
    assert "| Judgments | 6 (1 judge of them simulated); " in model.card()
    model.save(tmp_path / "model.skops")
    assert "**Simulated, and no real person: 1 judge.**" in PairwiseFairClassifier.load(tmp_path / "model.skops").card()


def test_a_plain_model_asked_nobody(town: Town) -> None:
    card = PairwiseFairClassifier("tree").fit(town.people, town.outcome).card()
    assert "Nobody: the model was learned without judgments." in card
    assert "everyone for certain, by one rule" in card
    assert "decides by lot" not in card


def test_anybodys_text_is_shown_and_not_rendered() -> None:
    people = pd.DataFrame({NASTY: range(8)}, index=list("abcdefgh"))
    outcome = pd.Series([NASTY, "good"] * 4, index=people.index)
    judgments = Judgments([{"judge": "j", "a": "a", "b": "h", "answer": "same"}], people=people)
    card = PairwiseFairClassifier("tree", max_depth=1).fit(people, outcome, judgments=judgments).card()
    html = MarkdownIt("commonmark").enable("table").render(card)
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt; | *b* `c` $x$" in html


def test_an_unfitted_model_has_none() -> None:
    with pytest.raises(NotFittedError):
        PairwiseFairClassifier().card()
