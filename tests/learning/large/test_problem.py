"""Statistical rules, column generation and the descent oracle on a table that is read in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import (
    DemographicParity,
    EqualizedOdds,
    ErrorRateParity,
    FalsePositiveRateParity,
    TruePositiveRateParity,
)

from fairwise import Judgments, LargeTable, PairwiseFairClassifier
from fairwise.constraints.groups import GroupRows
from fairwise.learning.large import passes
from fairwise.learning.large.counting import histogram
from fairwise.learning.large.first_pass import read_summary
from fairwise.learning.oracles.linear import LinearClassifiers

GAMMA, BOUND = 0.1, 0.03
FPR = FalsePositiveRateParity(difference_bound=BOUND)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ROWS", 64)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 300
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 70, size=n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 1, size=n).round(1)),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], size=n),
        },
        index=pd.Index(np.arange(n) + 100, name="id"),
    )
    chance = 0.15 + 0.5 * (people["age"] > 40) + 0.25 * (people["city"] == "Ulm")
    return people.assign(paid=(rng.random(n) < chance).astype(int))


@pytest.fixture(scope="module")
def answers(table: pd.DataFrame) -> pd.DataFrame:
    pairs = np.random.default_rng(5).permutation(table.index.to_numpy())[:60].reshape(-1, 2)
    return pd.DataFrame({"judge": "simulated", "a": pairs[:, 0], "b": pairs[:, 1], "answer": "same"})


def in_blocks(table: pd.DataFrame, answers: pd.DataFrame, size: int = 97, **settings: Any) -> PairwiseFairClassifier:
    chunks = [table[start : start + size] for start in range(0, len(table), size)]
    source = LargeTable(chunks, outcome="paid", groups="city")
    return PairwiseFairClassifier(gamma=GAMMA, **settings).fit(source, None, judgments=Judgments(answers))


def in_memory(table: pd.DataFrame, answers: pd.DataFrame, **settings: Any) -> PairwiseFairClassifier:
    people = table.drop(columns="paid")
    return PairwiseFairClassifier(gamma=GAMMA, **settings).fit(
        people, table["paid"], judgments=Judgments(answers, people=people), sensitive_features=people["city"]
    )


@pytest.mark.parametrize(
    "moment",
    [
        DemographicParity(difference_bound=0.02),
        TruePositiveRateParity(ratio_bound=0.8, ratio_bound_slack=0.01),
        FalsePositiveRateParity(),
        EqualizedOdds(difference_bound=0.1),
        ErrorRateParity(ratio_bound=0.9),
    ],
    ids=lambda moment: type(moment).__name__,
)
def test_rules_on_cells_are_the_rules_on_people(table: pd.DataFrame, moment: Any) -> None:
    labels = table["paid"].to_numpy()
    names, group = np.unique(table["city"].to_numpy(dtype=str), return_inverse=True)
    cell = 2 * group + labels
    people = np.bincount(cell, minlength=2 * len(names)).astype(float)
    age = table[["age"]]
    one_by_one = GroupRows.from_moments([moment], age, labels, table["city"], point=cell, n_points=6)
    by_cell = GroupRows.from_moments([moment], age.iloc[:6], np.arange(6) % 2, np.repeat(names, 2), people)
    assert by_cell.names == one_by_one.names
    assert np.array_equal(by_cell.limits, one_by_one.limits)
    assert np.array_equal(by_cell.matrix, one_by_one.matrix)


def test_the_dynamics_with_statistical_rules_are_those_in_memory(table: pd.DataFrame, answers: pd.DataFrame) -> None:
    settings: dict[str, Any] = {"solver": "no-regret", "n_rounds": 80, "group_constraints": [FPR], "lambda_bound": 3.0}
    model = in_blocks(table, answers, estimator="linear-regression", **settings)
    other = in_memory(table, answers, estimator="linear-regression", **settings)
    people = table.drop(columns="paid")
    # The same labels in every round; chances are added up in another order, as like classifiers are merged in memory.
    assert model.predict_proba(people) == pytest.approx(other.predict_proba(people), abs=1e-12)
    assert len(np.unique(model.predict_proba(people))) > 5
    assert model.certificate_.error == pytest.approx(other.certificate_.error)
    assert model.certificate_.oracle_bound == pytest.approx(other.certificate_.oracle_bound)
    assert model.group_rules_["value"].to_numpy() == pytest.approx(other.group_rules_["value"].to_numpy())
    assert model.group_rules_["price"].to_numpy() == pytest.approx(other.group_rules_["price"].to_numpy())


@pytest.mark.parametrize("estimator", ["linear-regression", pytest.param("linear", marks=pytest.mark.slow)])
def test_column_generation_keeps_every_rule(table: pd.DataFrame, answers: pd.DataFrame, estimator: str) -> None:
    model = in_blocks(table, answers, 150, estimator=estimator, group_constraints=[FPR], tol=0.01)
    people, paid = table.drop(columns="paid"), table["paid"].to_numpy()
    chance = model.predict_proba(people)[:, 1]
    assert model.certificate_.error == pytest.approx(np.where(paid == 1, 1 - chance, chance).mean())
    of = pd.Series(chance, index=people.index)
    gaps = of.loc[answers["a"]].to_numpy() - of.loc[answers["b"]].to_numpy()
    assert np.abs(gaps).max() <= GAMMA + 1e-6
    rates = of[paid == 0].groupby(people["city"][paid == 0]).mean()
    assert (rates - of[paid == 0].mean()).abs().max() <= BOUND + 1e-6
    assert model.certificate_.error < min(paid.mean(), 1 - paid.mean())  # better than a constant


@pytest.mark.slow
def test_the_stronger_oracle_is_no_worse(table: pd.DataFrame, answers: pd.DataFrame) -> None:
    errors = {
        name: in_blocks(table, answers, 300, estimator=name, tol=0.001).certificate_.error
        for name in ("linear-regression", "linear")
    }
    assert errors["linear"] <= errors["linear-regression"] + 1e-9


@pytest.mark.parametrize("where", ["here", pytest.param("workers", marks=pytest.mark.slow)])
def test_however_it_is_cut_the_numbers_are_the_same(
    table: pd.DataFrame, answers: pd.DataFrame, where: str, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue("client") if where == "workers" else None
    table = table[table.index.isin(answers[["a", "b"]].to_numpy().ravel()) | (table.index % 4 == 0)]
    settings: dict[str, Any] = {"estimator": "linear", "group_constraints": [FPR], "tol": 0.02}
    first, *others = (in_blocks(table, answers, size, **settings) for size in (300, 50))
    source = LargeTable([table[:99], table[99:]], outcome="paid", groups="city")
    shared = PairwiseFairClassifier(gamma=GAMMA, **settings)
    others.append(shared.fit(source, None, judgments=Judgments(answers), client=client))
    assert len(first.weights_) > 1
    for model in others:
        for name, values in first.classifiers_.state().items():
            assert np.array_equal(model.classifiers_.state()[name], values)
        assert model.certificate_ == first.certificate_
        assert model.group_rules_.equals(first.group_rules_)


def test_a_histogram_tells_what_every_step_costs(table: pd.DataFrame) -> None:
    source = LargeTable([table], outcome="paid", groups="city")
    summary = read_summary(source, None)
    rows = summary.encoder.encode(table[list(source.features)])
    rng = np.random.default_rng(0)
    d = rows.shape[1]
    at = LinearClassifiers(rng.normal(size=(1, d)), rng.normal(size=1))
    edges = np.sort(rng.normal(size=(1 + d, 9)), axis=1)
    cost = rng.normal(size=6)
    between = np.einsum("jce,c->je", histogram(source, summary, at, edges), cost)
    found = np.cumsum(between, axis=1)[:, :-1]
    cell = 2 * pd.Index(summary.groups).get_indexer(pd.Index(table["city"])) + table["paid"].to_numpy()
    for j in range(1 + d):
        can_change = np.ones(len(rows), dtype=bool) if j == 0 else rows[:, j - 1] != 0.0
        for k, step in enumerate(edges[j]):
            coef, intercept = at.coef.copy(), at.intercept.copy()
            if j == 0:
                intercept += step
            else:
                coef[0, j - 1] += step
            label = LinearClassifiers(coef, intercept).labels(rows)[0] == 1
            assert found[j, k] == pytest.approx(cost[cell][label & can_change].sum())
