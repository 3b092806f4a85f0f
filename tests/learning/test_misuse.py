"""Ways to go wrong without noticing: each is refused, or does not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import make_people
from fairwise.errors import InputError, JudgmentsError
from fairwise.learning.deduplication import row_keys
from fairwise.learning.encoding import NumberColumn, TableEncoder

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE, OUTCOME = make_people(120, 3, 0)


def judged(people: pd.DataFrame = PEOPLE, n: int = 10) -> Judgments:
    ids = people.index.tolist()
    said = [{"judge": 1, "a": ids[2 * k], "b": ids[2 * k + 1], "answer": "same"} for k in range(n)]
    return Judgments(said, people=people)


def test_an_outer_pipeline_that_keeps_names_but_changes_values_is_refused() -> None:
    scaler = StandardScaler().set_output(transform="pandas")
    outer = Pipeline([("scale", scaler), ("model", PairwiseFairClassifier("tree"))])
    with pytest.raises(JudgmentsError, match=r"Judged person \d+ is .* but .* in X\. Preprocessing belongs inside"):
        outer.fit(PEOPLE * 100 + 50, OUTCOME, model__judgments=judged(PEOPLE * 100 + 50))


def test_people_who_look_the_same_may_be_given_again_with_missing_values_and_other_types() -> None:
    people = PEOPLE.assign(
        city=pd.Series(["a", None, "b"] * 40, index=PEOPLE.index, dtype=object), n=np.arange(120) % 4
    )
    model = PairwiseFairClassifier("tree").fit(
        people.assign(city=people["city"].astype("category"), n=people["n"].astype("Int64")),
        OUTCOME,
        judgments=judged(people),
    )
    assert model.certificate_.max_violation <= 0.1 + 1e-6


def test_draws_do_not_depend_on_the_type_of_a_batch() -> None:
    people = pd.DataFrame({"i": np.arange(60) % 7, "f": np.where(np.arange(60) % 5, PEOPLE.iloc[:60, 0], np.nan)})
    keys = row_keys(people)
    assert np.array_equal(row_keys(people.astype(object)), keys)
    assert np.array_equal(row_keys(people.astype(object).where(people.notna(), None)), keys)
    assert np.array_equal(row_keys(people.astype({"i": "category"})), keys)
    one_by_one = [row_keys(people.iloc[k].astype(object).to_frame().T)[0] for k in range(60)]
    assert np.array_equal(one_by_one, keys)


def test_a_pipelines_draws_are_the_same_one_record_at_a_time() -> None:
    people = PEOPLE.assign(n=np.arange(120) % 4)
    filling = make_pipeline(SimpleImputer(), LogisticRegression())
    model = PairwiseFairClassifier(filling, gamma=0.3).fit(people, OUTCOME, judgments=judged(people))
    all_at_once = model.predict(people)
    records = [model.predict(pd.DataFrame([record]))[0] for record in people.to_dict("records")]
    assert np.array_equal(records, all_at_once)


def test_an_accuracy_nobody_could_wait_for_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"nu=1e-06 needs .* rounds"):
        PairwiseFairClassifier("tree", solver="no-regret", nu=1e-6).fit(PEOPLE, OUTCOME, judgments=judged())


def test_more_rounds_than_anybody_could_wait_for_are_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"n_rounds=100000000 .* at most 10,000,000"):
        PairwiseFairClassifier("tree", solver="no-regret", n_rounds=10**8).fit(PEOPLE, OUTCOME, judgments=judged())


def test_boosted_trees_can_be_loaded_again(tmp_path: Path) -> None:
    model = PairwiseFairClassifier(HistGradientBoostingClassifier(max_iter=5), gamma=0.3)
    model.fit(PEOPLE, OUTCOME, judgments=judged()).save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(again.predict_proba(PEOPLE), model.predict_proba(PEOPLE))


def test_weights_in_another_order_are_refused() -> None:
    weights = pd.Series(np.arange(120) + 1.0, index=PEOPLE.index)
    with pytest.raises(InputError, match=r"sample_weight lists the same people in another order"):
        PairwiseFairClassifier("tree").fit(PEOPLE, OUTCOME, sample_weight=weights.iloc[::-1])


def test_messages_show_plain_numbers() -> None:
    for given in (
        {"gamma": np.float64(1.5)},
        {"eta": np.float64(2.0)},
        {"judge_budgets": {np.int64(3): np.float64(2)}},
    ):
        with pytest.raises(InputError) as refused:
            PairwiseFairClassifier("tree", **given).fit(PEOPLE, OUTCOME)
        assert "np." not in str(refused.value)
    with pytest.raises(InputError, match=r"for person 4\. Every"):
        PairwiseFairClassifier("tree").fit(PEOPLE, OUTCOME.astype(float).where(OUTCOME.index != 4))


def test_outcomes_of_different_kinds_are_refused() -> None:
    mixed = np.array(["yes", 0] * 60, dtype=object)
    with pytest.raises(InputError):
        PairwiseFairClassifier("tree").fit(PEOPLE, mixed)


def test_judges_in_budgets_are_matched_as_they_are_written() -> None:
    as_text = PairwiseFairClassifier("tree", eta=None, judge_budgets={"1": 0.01}).fit(
        PEOPLE, OUTCOME, judgments=judged()
    )
    as_number = PairwiseFairClassifier("tree", eta=None, judge_budgets={1: 0.01}).fit(
        PEOPLE, OUTCOME, judgments=judged()
    )
    assert as_text.certificate_.error == as_number.certificate_.error


def test_numbers_in_an_object_column_are_numbers() -> None:
    table = pd.DataFrame({"x": pd.Series([1, 2.5, None, 4], dtype=object)})
    encoder = TableEncoder.learn(table, np.ones(4), scaled=False)
    assert isinstance(encoder.columns[0], NumberColumn)
    assert encoder.encode(table)[:, 0].tolist() == [1.0, 2.5, 2.5, 4.0]


def test_numbers_too_large_to_scale_are_refused() -> None:
    huge = PEOPLE.assign(x=np.repeat([-1e308, 1e308], 60))
    with pytest.raises(InputError, match="'x' holds numbers too large"):
        PairwiseFairClassifier("linear").fit(huge, OUTCOME)


def test_no_lower_bound_is_below_zero() -> None:
    model = PairwiseFairClassifier("tree", solver="no-regret", n_rounds=3, lambda_bound=50.0)
    certificate = model.fit(PEOPLE, OUTCOME, judgments=judged()).certificate_
    assert certificate.lower_bound >= 0.0
    assert certificate.gap == pytest.approx(certificate.error - certificate.lower_bound)
