"""Bands for answers of another day: what must hold of any, whatever is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import AnswerModel, Judgments, PairwiseFairClassifier
from fairwise.auditing import answer_bands, frontier
from fairwise.auditing.answer_bands import another_day, drawn
from fairwise.auditing.pool_solving import AnswerPool
from fairwise.datasets import make_people
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.simulation import simulate_panel

PEOPLE, OUTCOME = make_people(60, 3, 5)
POINTS = [(0.0, 0.0), (0.0, 0.02), (0.0, 0.05), (0.0, None)]


class Steady(AnswerModel):
    """A model of people who say the same again with a probability that we choose."""

    same = 1.0

    def meant(self, judgments: Judgments) -> pd.Series:
        return super().meant(judgments) * 0 + self.same

    def fit(self, judgments: Judgments) -> AnswerModel:
        super().fit(judgments)
        self.reliability_["probability"] = 1.0
        return self


@pytest.fixture(scope="module")
def judgments() -> Judgments:
    return simulate_panel(PEOPLE, n_judges=3, n_pairs=8, seed=2, answers="four")


@pytest.fixture(scope="module")
def model(judgments: Judgments) -> PairwiseFairClassifier:
    learner = PairwiseFairClassifier("tree", max_depth=1, gamma=0.0, eta=0.02, favorable_label=1)
    return learner.fit(PEOPLE, OUTCOME, judgments=judgments)


def bands_of(model: PairwiseFairClassifier, judgments: Judgments, same: float, **more: Any) -> Any:
    answers = Steady()
    answers.same = same
    tables = PEOPLE, OUTCOME, judgments
    return answer_bands(model, *tables, answers.fit(judgments), points=POINTS, **{"n_draws": 4, **more})


def test_who_always_says_the_same_has_no_band(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    found = bands_of(model, judgments, 1.0)
    assert found.answers_changed == 0
    np.testing.assert_allclose(found.errors["answers_low"], found.errors["error"], atol=1e-9)
    np.testing.assert_allclose(found.errors["answers_high"], found.errors["error"], atol=1e-9)
    np.testing.assert_allclose(found.prices["low"], found.prices["high"], atol=1e-9)
    assert found.errors["error"].iloc[0] == pytest.approx(model.certificate_.error, abs=1e-4)


def test_bands_hold_the_point_and_widen_with_noise(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    little, much = (bands_of(model, judgments, same) for same in (0.95, 0.5))
    for found in (little, much):
        assert (found.errors["answers_low"] <= found.errors["error"]).all()
        assert (found.errors["answers_high"] >= found.errors["error"]).all()
        assert (found.prices["low"] <= found.prices["price"]).all()
        assert (found.prices["high"] >= found.prices["price"]).all()
    widths = [float((one.errors["answers_high"] - one.errors["answers_low"]).sum()) for one in (little, much)]
    assert 0 < widths[0] < widths[1]
    assert little.answers_changed < much.answers_changed
    free = much.errors[much.errors["eta"].isna()].iloc[0]
    assert free["answers_low"] == pytest.approx(free["answers_high"], abs=1e-9)  # where nobody is listened to


def test_days_are_those_of_the_seed(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    one, same, other = (bands_of(model, judgments, 0.6, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one.errors, same.errors)
    pd.testing.assert_frame_equal(one.prices, same.prices)
    assert not one.errors.equals(other.errors)


def test_no_oracle_is_asked_about_a_day(
    model: PairwiseFairClassifier, judgments: Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = AnswerPool.search(model, PEOPLE, OUTCOME, judgments, POINTS, [], {})
    before, _ = pool.solved(judgments)

    def refused(*_: object) -> None:
        raise AssertionError("the oracle was asked")

    monkeypatch.setattr(TreeOracle, "_answer", refused)
    after, _ = pool.solved(judgments)
    np.testing.assert_array_equal(before, after)
    day = judgments.with_answers([str(Answer.NO_CONSTRAINT)] * len(judgments.frame))
    assert pool.solved(day)[0].max() <= before.max() + 1e-9


def test_the_pool_holds_the_best_mixtures_for_the_answers_given(
    model: PairwiseFairClassifier, judgments: Judgments
) -> None:
    pool = AnswerPool.search(model, PEOPLE, OUTCOME, judgments, POINTS, [], {})
    etas = [eta for _, eta in POINTS]
    curve = frontier(
        PEOPLE, OUTCOME, judgments, gammas=[0.0], etas=etas, estimator="tree", max_depth=1, favorable_label=1
    )
    np.testing.assert_allclose(pool.solved(judgments)[0], curve["error"], atol=2e-4)


def test_errors_over_the_pool_are_never_below_those_of_a_fit(
    model: PairwiseFairClassifier, judgments: Judgments
) -> None:
    pool = AnswerPool.search(model, PEOPLE, OUTCOME, judgments, POINTS[:2], [], {})
    chances = another_day(AnswerModel().fit(judgments), judgments)
    for seed in range(3):
        day = drawn(judgments, chances, np.random.default_rng(seed))
        errors, _ = pool.solved(day)
        for (gamma, eta), error in zip(POINTS[:2], errors, strict=True):
            again = PairwiseFairClassifier("tree", max_depth=1, gamma=gamma, eta=eta, favorable_label=1)
            assert error >= again.fit(PEOPLE, OUTCOME, judgments=day).certificate_.lower_bound - 1e-6


def test_another_day_is_like_the_model_says(judgments: Judgments) -> None:
    answers = AnswerModel().fit(judgments)
    chances = another_day(answers, judgments)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert chances.min() >= 0
    columns = [str(answer) for answer in Answer]
    said = np.array([columns.index(answer) for answer in judgments.frame["answer"]])
    kept = chances[np.arange(len(said)), said]
    assert 0.5 < kept.mean() < 1
    rng = np.random.default_rng(0)
    days = [drawn(judgments, chances, rng).frame["answer"].map(columns.index).to_numpy() for _ in range(400)]
    shares = np.stack([(np.array(days) == place).mean(axis=0) for place in range(4)], axis=1)
    assert np.abs(shares - chances).max() < 0.12  # four standard deviations of a share of 400
    assert drawn(judgments, chances, rng).frame.drop(columns="answer").equals(judgments.frame.drop(columns="answer"))


def test_a_frontier_gets_its_bands(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    found = bands_of(model, judgments, 0.6)
    settings: dict[str, Any] = {"estimator": "tree", "max_depth": 1, "favorable_label": 1}
    curve = frontier(PEOPLE, OUTCOME, judgments, gammas=[0.0], etas=[0.0, 0.01, None], **settings)
    banded = found.on(curve)
    assert banded["answers_low"].notna().tolist() == [True, False, True]  # 0.01 was not asked for
    assert (banded["answers_low"] <= banded["error"])[[0, 2]].all()
    assert banded.drop(columns=["answers_low", "answers_high"]).equals(curve)


def test_predicted_judgments_move_too_and_are_counted_apart(judgments: Judgments) -> None:
    answers = Steady().fit(judgments)
    more = judgments.extended(answers, 60, 0.6, people=PEOPLE)
    asked, everyone = (set(one.frame[["a", "b"]].to_numpy().ravel()) for one in (judgments, more))
    assert everyone > asked, "some of whom nobody was asked about"
    chances = another_day(answers, more)
    np.testing.assert_allclose(chances[: len(judgments.frame)], another_day(answers, judgments), atol=1e-12)
    rows = more.frame.tail(more.n_predicted)
    said = rows["answer"].map([str(answer) for answer in Answer].index)
    np.testing.assert_allclose(chances[rows.index, said], rows["weight"], atol=1e-12)
    learner = PairwiseFairClassifier("tree", max_depth=1, gamma=0.0, eta=0.02, favorable_label=1)
    fitted = learner.fit(PEOPLE, OUTCOME, judgments=more)
    found = answer_bands(fitted, PEOPLE, OUTCOME, more, answers, n_draws=4)
    assert found.answers_changed == 0, "of the answers given none changes; what is predicted is no answer"
    pairs = {frozenset(pair) for pair in judgments.frame[["a", "b"]].to_numpy().tolist()}
    assert {frozenset(pair) for pair in found.prices.index} <= pairs


def test_what_has_no_band_is_refused(judgments: Judgments, model: PairwiseFairClassifier) -> None:
    answers = AnswerModel().fit(judgments)
    with pytest.raises(InputError, match="n_draws=1 is not allowed"):
        answer_bands(model, PEOPLE, OUTCOME, judgments, answers, n_draws=1)
    with pytest.raises(InputError, match="random_state=-1 is not allowed"):
        answer_bands(model, PEOPLE, OUTCOME, judgments, answers, random_state=-1)
    with pytest.raises(InputError, match="not fitted; call fit"):
        answer_bands(model, PEOPLE, OUTCOME, judgments, AnswerModel())
    with pytest.raises(InputError, match="an AnswerModel, fitted, is needed, not None"):
        answer_bands(model, PEOPLE, OUTCOME, judgments, None)  # type: ignore[arg-type]
    paper = PairwiseFairClassifier("tree", max_depth=1, solver="no-regret", n_rounds=5, favorable_label=1)
    paper.fit(PEOPLE, OUTCOME, judgments=judgments)
    with pytest.raises(InputError, match='bands need a model of solver="column-generation"'):
        answer_bands(paper, PEOPLE, OUTCOME, judgments, answers)


def test_a_third_label_that_is_never_worth_it_changes_no_band(
    model: PairwiseFairClassifier, judgments: Judgments
) -> None:
    loss = pd.DataFrame([[0, 1, 9], [1, 0, 9], [9, 9, 0]], index=[0, 1, 2], columns=[0, 1, 2])
    several = {"favorable_label": None, "label_values": {0: 0.0, 1: 1.0, 2: 0.5}, "loss": loss}
    three = PairwiseFairClassifier(**(model.get_params() | several)).fit(PEOPLE, OUTCOME, judgments=judgments)
    one, other = (bands_of(own, judgments, 0.7) for own in (model, three))
    assert other.answers_changed == one.answers_changed
    np.testing.assert_allclose(other.errors, one.errors, atol=2e-4)  # searches stop at a gap of 1e-4
    assert (one.errors["answers_high"] - one.errors["answers_low"]).max() > 0.01


def test_a_misspelt_setting_is_named(model: PairwiseFairClassifier, judgments: Judgments) -> None:
    with pytest.raises(InputError, match="sample_weights= is not known"):
        bands_of(model, judgments, 0.7, sample_weights=1)
