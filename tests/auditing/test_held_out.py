"""Held-out error and violation: what is measured, on whom, and with how many independent units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.auditing import held_out
from fairwise.auditing.theorems import hoeffding
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.auditing.splits import By


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gives everyone the probability in column x, whatever it is fitted to, and remembers what that was."""

    seen: list[dict[str, Any]] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, judgments: Any = None, group: Any = None) -> Self:
        self.classes_ = np.unique(y)
        Given.seen.append({"people": X.index, "judgments": judgments, "group": group})
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.stack([1 - X["x"], X["x"]], axis=1)

    def predict(self, X: Any) -> Any:
        return self.classes_[(X["x"] > 0.5).astype(int)]


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.random(120), "z": rng.normal(size=120)}, index=range(1000, 1120))


@pytest.fixture
def outcome(people: pd.DataFrame) -> pd.Series:
    return (people["x"] + 0.3 * people["z"] > 0.5).astype(int)


@pytest.fixture
def judgments(people: pd.DataFrame) -> Judgments:
    rng = np.random.default_rng(1)
    rows = []
    for judge in range(12):
        shown = rng.choice(people.index, (10, 2), replace=False).tolist()
        rows += [{"judge": judge, "a": a, "b": b, "answer": "same"} for a, b in shown]
    return Judgments(rows, people=people, judge_attributes={judge: {"half": judge % 2} for judge in range(12)})


@pytest.mark.parametrize("by", ["pair", "person", "judge"])
def test_a_model_that_ignores_training_is_measured_right(
    by: By, people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    Given.seen.clear()
    result = held_out(Given(), people, outcome, judgments, by=by, gamma=0.1, n_repeats=4)
    assert result.by_split["part"].tolist() == ["training", "held out"] * 4
    first = result.by_split.iloc[1]
    trained_on = Given.seen[0]
    rest = people.index.difference(trained_on["people"])
    wrong = (people.loc[rest, "x"] > 0.5).astype(int) != outcome[rest]
    assert first["error"] == pytest.approx(wrong.mean())
    assert first["people"] == len(rest)
    used = trained_on["judgments"].frame[["judge", "a", "b"]].apply(tuple, axis=1)
    every = judgments.frame[["judge", "a", "b"]].apply(tuple, axis=1)
    left = judgments.frame[~every.isin(set(used))]
    if by == "person":
        left = left[left["a"].isin(rest) & left["b"].isin(rest)]
    gaps = (people["x"].loc[left["a"]].to_numpy() - people["x"].loc[left["b"]].to_numpy()).__abs__()
    assert first["answers"] == len(left)
    assert first["mean_violation"] == pytest.approx(gaps.mean())
    assert first["mean_excess"] == pytest.approx(np.maximum(gaps - 0.1, 0).mean() / 2)
    assert first["share_followed"] == pytest.approx((gaps <= 0.1).mean())
    mean = result.by_split[result.by_split["part"] == "held out"]["mean_violation"].mean()
    line = result.overall.loc["mean_violation"]
    assert line["held_out"] == pytest.approx(mean)
    assert line["low"] <= line["held_out"] <= line["high"]


def test_units_are_judges_by_judge_and_pairs_by_pair(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    by_judge = held_out(Given(), people, outcome, judgments, by="judge", folds=4).overall
    assert by_judge["units"]["mean_excess"] == 3
    assert by_judge["independent_units"]["mean_excess"] == pytest.approx(3)
    assert by_judge["hoeffding"]["mean_excess"] == pytest.approx(hoeffding(3))
    assert by_judge["units"]["error"] == 30
    by_pair = held_out(Given(), people, outcome, judgments, by="pair", folds=4).overall
    assert by_pair["units"]["mean_excess"] >= 28
    by_person = held_out(Given(), people, outcome, judgments, by="person").overall
    assert by_person["independent_units"]["mean_excess"] < by_person["units"]["mean_excess"]


def test_uneven_judges_are_worth_fewer(people: pd.DataFrame, outcome: pd.Series) -> None:
    ids = people.index.tolist()
    rows = [{"judge": "talker", "a": ids[i], "b": ids[i + 1], "answer": "same"} for i in range(50)]
    rows += [{"judge": f"j{i}", "a": ids[i], "b": ids[i + 60], "answer": "same"} for i in range(9)]
    result = held_out(Given(), people, outcome, Judgments(rows, people=people), by="judge", folds=2)
    assert result.overall["units"]["mean_violation"] == 5
    assert result.overall["independent_units"]["mean_violation"] < 2


def test_the_part_with_fewer_people_in_common_says_what_was_left_out(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    result = held_out(Given(), people, outcome, judgments, by="person")
    assert 0 < result.dropped < 1
    assert "left out" in str(result)
    assert held_out(Given(), people, outcome, judgments, by="judge").dropped == 0


def test_selection_probabilities_weight_the_answers(people: pd.DataFrame, outcome: pd.Series) -> None:
    """Far pairs were shown nine times as often; weighted, the average is that of all pairs."""
    rng = np.random.default_rng(2)
    rows = []
    for judge in range(200):
        a, b = rng.choice(people.index, 2, replace=False).tolist()
        chance = 0.9 if abs(people.loc[a, "x"] - people.loc[b, "x"]) > 0.3 else 0.1
        if rng.random() < chance:
            rows.append({"judge": judge, "a": a, "b": b, "answer": "same", "selection_probability": chance})
    frame = pd.DataFrame(rows)
    settings: dict[str, Any] = {"by": "judge", "folds": 2}
    x = people["x"]
    gaps = np.abs(x.loc[frame["a"]].to_numpy() - x.loc[frame["b"]].to_numpy())
    weighted = held_out(Given(), people, outcome, Judgments(frame, people=people), **settings)
    plain = held_out(
        Given(), people, outcome, Judgments(frame.drop(columns="selection_probability"), people=people), **settings
    )
    assert plain.overall["held_out"]["mean_violation"] == pytest.approx(gaps.mean(), abs=0.02)
    expected = np.average(gaps, weights=1 / frame["selection_probability"])
    assert weighted.overall["held_out"]["mean_violation"] == pytest.approx(expected, abs=0.03)
    assert expected < gaps.mean() - 0.1
    units = weighted.overall.loc["mean_violation"]
    assert units["independent_units"] < units["units"] / 1.5
    frame.loc[3, "selection_probability"] = np.nan
    with pytest.raises(InputError, match="selection_probability is empty in 1 of the"):
        held_out(Given(), people, outcome, Judgments(frame, people=people), **settings)
    nobody_knows = frame.assign(selection_probability=np.nan)
    again = held_out(Given(), people, outcome, Judgments(nobody_knows, people=people), **settings)
    pd.testing.assert_frame_equal(again.overall, plain.overall)


def test_a_constrained_model_keeps_its_training_judgments_better(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    model = PairwiseFairClassifier("tree", gamma=0.1)
    result = held_out(model, people, outcome, judgments, by="judge", n_repeats=2).overall
    assert result["training"]["mean_excess"] < 1e-6
    assert result["held_out"]["mean_excess"] > 0
    assert not hasattr(model, "classes_")  # a clone was fitted
    plain = held_out(LogisticRegression(), people, outcome, judgments, by="judge", n_repeats=2, gamma=0.1).overall
    assert plain["training"]["mean_excess"] > 0.01


def test_refits_may_be_made_to_decide_without_chance(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    """Then everyone is decided rightly or wrongly, and a pair alike or not."""
    model = PairwiseFairClassifier("tree", gamma=0.2)
    for certain in (True, False):
        lines = held_out(model, people, outcome, judgments, n_repeats=2, deterministic=certain).by_split
        wrong = lines.loc[lines["part"] == "held out", "error"] * 36  # of 120 people 30 %
        assert (abs(wrong - wrong.round()).max() < 1e-9) == certain


def test_ordered_answers_take_the_models_own_direction(people: pd.DataFrame, outcome: pd.Series) -> None:
    ids = people["x"].sort_values().index.tolist()
    rows = [
        {"judge": i % 6, "a": ids[i], "b": ids[-1 - i], "answer": "a_at_least_b"} for i in range(60)
    ]  # the one with less x is owed as much
    judgments = Judgments(rows, people=people)
    with pytest.raises(InputError, match="give favorable_label=0 or 1"):
        held_out(Given(), people, outcome, judgments)
    bad, good = (
        held_out(Given(), people, outcome, judgments, favorable_label=label).overall["held_out"]["share_followed"]
        for label in (1, 0)
    )
    assert bad < 0.5
    assert good == 1.0
    words = outcome.map({0: "no", 1: "yes"})
    assert held_out(Given(), people, words, judgments, favorable_label="no").overall["held_out"]["share_followed"] == 1


def test_fit_params_are_split_along(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments) -> None:
    Given.seen.clear()
    group = pd.Series(np.arange(len(people)), index=people.index)
    held_out(Given(), people, outcome, judgments, fit_params={"group": group}, n_repeats=1)
    assert Given.seen[0]["group"].index.equals(Given.seen[0]["people"])


def test_judges_keep_their_attributes(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments) -> None:
    Given.seen.clear()
    held_out(Given(), people, outcome, judgments, by="judge", n_repeats=1)
    attributes = Given.seen[0]["judgments"].judge_attributes
    assert 0 < len(attributes) < 12
    assert (attributes["half"] == attributes.index % 2).all()


def test_positions_and_plain_arrays_work(people: pd.DataFrame, outcome: pd.Series) -> None:
    rows = [{"judge": i % 5, "a": i, "b": i + 60, "answer": "same"} for i in range(50)]
    judgments = Judgments(rows, by="position")
    for by in ("pair", "person", "judge"):
        result = held_out(
            PairwiseFairClassifier("tree"),
            people.to_numpy(),
            outcome.to_numpy(),
            judgments,
            by=by,
            n_repeats=1,
        )
        assert np.isfinite(result.overall["held_out"]).all()


def test_the_same_seed_gives_the_same_result(people: pd.DataFrame, outcome: pd.Series, judgments: Judgments) -> None:
    one, two = (held_out(Given(), people, outcome, judgments, seed=4) for _ in range(2))
    pd.testing.assert_frame_equal(one.overall, two.overall)
    pd.testing.assert_frame_equal(one.by_split, two.by_split)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"by": "pairs"}, "by='pairs' is not allowed. Allowed: 'pair', 'person', 'judge'"),
        ({"test_size": 1.0}, "test_size=1.0"),
        ({"folds": 1}, "folds=1"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"confidence": 0}, "confidence=0"),
        ({"model": LogisticRegression}, "model: a classifier with fit is needed"),
        ({"judgments": [1]}, "a fairwise.Judgments is needed, not list"),
        ({"by": "judge", "folds": 30}, "by='judge': no answer is left for the held out part"),
        ({"gamma": 1.5}, "gamma=1.5"),
        ({"favorable_label": 3}, "favorable_label=3 is not one of the outcomes"),
    ],
)
def test_refusals(
    changed: dict[str, Any], message: str, people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    given: dict[str, Any] = {"model": Given(), "people": people, "outcome": outcome, "judgments": judgments}
    with pytest.raises(InputError, match=message):
        held_out(**(given | changed))


def test_people_and_outcomes_must_belong_together(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    with pytest.raises(InputError, match=r"use outcome.loc\[people.index\]"):
        held_out(Given(), people, outcome.iloc[::-1], judgments)
    with pytest.raises(InputError, match="120 people but 119 outcomes"):
        held_out(Given(), people, outcome.iloc[1:], judgments)
    with pytest.raises(InputError, match="two different values are needed; there are 1"):
        held_out(Given(), people, outcome * 0, judgments)
    with pytest.raises(InputError, match="a DataFrame indexed by person id is needed"):
        held_out(Given(), people.to_numpy(), outcome, judgments)


class Listening(Given):
    """Gives everyone x, and half of it to everyone once any judgment was predicted."""

    def fit(self, X: Any, y: Any, judgments: Any = None, group: Any = None) -> Self:
        self.part_ = 0.5 if judgments.n_predicted else 1.0
        super().fit(X, y, judgments, group)
        return self

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X.assign(x=self.part_ * X["x"]))


@pytest.fixture
def mixed(people: pd.DataFrame) -> Judgments:
    """Judges for whom whoever is within 0.3 in x is the same, and nothing is asked of others."""
    rng = np.random.default_rng(1)
    rows = []
    for judge in range(8):
        for a, b in rng.choice(people.index, (30, 2), replace=False).tolist():
            close = abs(people["x"][a] - people["x"][b]) < 0.3
            rows.append({"judge": judge, "a": a, "b": b, "answer": "same" if close else "no_constraint"})
    return Judgments(rows, people=people)


@pytest.mark.parametrize("by", ["pair", "person", "judge"])
def test_predicted_judgments_are_learned_from_the_training_part_and_compared(
    by: By, people: pd.DataFrame, outcome: pd.Series, mixed: Judgments
) -> None:
    Given.seen.clear()
    result = held_out(Listening(), people, outcome, mixed, by=by, gamma=0.0, n_repeats=2, n_predicted=40, coverage=0.7)
    assert len(Given.seen) == 4
    for asked, both in zip(Given.seen[:2], Given.seen[2:], strict=True):
        more = both["judgments"]
        assert more.n_predicted == 40
        assert more.asked().frame[["judge", "a", "b"]].equals(asked["judgments"].frame[["judge", "a", "b"]])
        predicted = more.frame[more.frame["design"] == "predicted"]
        known = asked["judgments"].person_ids().union(asked["people"])
        assert predicted[["a", "b"]].isin(known).all(axis=None)
        assert predicted["judge"].isin(asked["judgments"].frame["judge"]).all()
        assert (predicted["error_bound"] < 1).all()
    table = result.predicted
    assert table is not None
    assert table["asked"].to_numpy() == pytest.approx(result.overall["held_out"].to_numpy())
    assert table["difference"].to_numpy() == pytest.approx((table["with_predicted"] - table["asked"]).to_numpy())
    # Half of every x is half of every violation.
    assert table["difference"]["mean_violation"] == pytest.approx(-table["asked"]["mean_violation"] / 2)
    assert (table["low"] <= table["difference"] + 1e-12).all()
    assert (table["difference"] <= table["high"] + 1e-12).all()
    assert table["high"]["mean_violation"] < 0 or by == "judge"  # two judges held out are too few to tell
    assert "with predicted judgments as well" in str(result)


def test_without_predicted_judgments_there_is_nothing_to_compare(
    people: pd.DataFrame, outcome: pd.Series, judgments: Judgments
) -> None:
    assert held_out(Given(), people, outcome, judgments, n_repeats=1).predicted is None
    with pytest.raises(InputError, match="takes no judgments, so predicted ones change nothing"):
        held_out(LogisticRegression(), people, outcome, judgments, n_predicted=10)
    with pytest.raises(InputError, match="every answer is 'same'"):
        held_out(Given(), people, outcome, judgments, n_predicted=10)
    with pytest.raises(InputError, match="n_predicted"):
        held_out(Given(), people, outcome, judgments, n_predicted=-1)
