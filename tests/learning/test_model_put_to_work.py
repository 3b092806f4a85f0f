"""What a model can do, together: some columns of a polars frame, rules, a file, fewer rules, no chance, ONNX, card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from tests.support.rule_reader import RuleReader

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import load_german_credit
from fairwise.errors import InputError
from fairwise.simulation import simulate_panel

FEATURES = ["checking_account", "duration_months", "savings", "amount_dm"]


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    """People and answers as polars frames, and a model of some of the columns."""
    table, outcome = load_german_credit()
    answers = simulate_panel(table, n_judges=3, n_pairs=20, seed=3).frame
    people = pl.from_pandas(table.reset_index())
    judgments = Judgments(pl.from_pandas(answers), people=people, id="id")
    paid = pl.Series("paid", outcome.to_numpy())
    table_only = people.drop("id")
    model = PairwiseFairClassifier("tree", features=FEATURES, gamma=0.2, favorable_label=1)
    model.fit(table_only, paid, judgments=judgments)
    return {"table": table, "people": table_only, "outcome": paid, "judgments": judgments, "model": model}


def test_the_same_people_get_the_same_probabilities_in_every_form(study: dict[str, Any], tmp_path: Path) -> None:
    model, people = study["model"], study["people"]
    probability = model.predict_proba(people)
    assert np.array_equal(probability, model.predict_proba(people.select(FEATURES)))
    assert np.array_equal(probability, model.predict_proba(study["table"]))
    model.save(tmp_path / "model.skops")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops")
    for one in (model, loaded):
        assert np.array_equal(one.predict_proba(people), probability)
        told = RuleReader(str(one.rules_)).probability(study["table"])
        np.testing.assert_allclose(told, probability[:, 1], rtol=0, atol=1e-12)
        graph = onnxruntime.InferenceSession(one.to_onnx().SerializeToString())
        given = {entry.name: people[entry.name].to_numpy()[:, None] for entry in graph.get_inputs()}
        kinds = {entry.name: np.float64 if entry.type == "tensor(double)" else object for entry in graph.get_inputs()}
        given = {name: column.astype(kinds[name]) for name, column in given.items()}
        assert set(given) == set(FEATURES)
        np.testing.assert_allclose(graph.run(None, given)[0], probability, rtol=0, atol=1e-12)
        written = one.card().replace("\\", "")  # Markdown's own
        assert all(name in written for name in FEATURES)
        assert "installment" not in written
        explained = str(one.explain(people[7]))
        assert not any(column in explained for column in set(people.columns) - set(FEATURES))


def test_a_loaded_model_is_made_smaller_and_certain_on_the_same_people(study: dict[str, Any], tmp_path: Path) -> None:
    study["model"].save(tmp_path / "model.skops")
    loaded = PairwiseFairClassifier.load(tmp_path / "model.skops")
    given = (study["people"], study["outcome"])
    certain = loaded.derandomize(*given, judgments=study["judgments"])
    assert set(np.unique(certain.predict_proba(study["people"]))) <= {0.0, 1.0}
    smaller = loaded.simplify(*given, judgments=study["judgments"], max_classifiers=2)
    assert len(smaller.weights_) <= 2
    assert smaller.certificate_.lower_bound == pytest.approx(loaded.certificate_.lower_bound)
    for one in (certain, smaller):
        told = RuleReader(str(one.rules_)).probability(study["table"])
        np.testing.assert_allclose(told, one.predict_proba(study["people"])[:, 1], rtol=0, atol=1e-12)


def test_a_number_in_the_place_of_people_is_refused(study: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"mean_violation=0\.1"):
        study["model"].derandomize(0.1)
    with pytest.raises(InputError, match="First come the training people"):
        study["model"].simplify(pd.Series([1.0, 2.0]), max_classifiers=2)
