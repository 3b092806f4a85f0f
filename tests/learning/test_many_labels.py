"""Decisions that are not yes or no: the same programme, certificates and draws for any number of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity, ErrorRateParity, TruePositiveRateParity
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.support.listed_decisions import Decisions
from tests.support.rule_reader import RuleReader

from fairwise import Judgments, PairwiseFairClassifier, audit, frontier
from fairwise.auditing import held_out
from fairwise.errors import InputError
from fairwise.learning.oracles import make_oracle
from fairwise.learning.oracles.base import total_costs
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import examples
from fairwise.learning.preparation import prepare
from fairwise.learning.settings import FitSettings
from fairwise.learning.solvers.dispatch import solve

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas

VALUES = {"deny": 0.0, "conditions": 0.6, "release": 1.0}


def fitted(problem: Decisions, depth: int, **more: Any) -> PairwiseFairClassifier:
    model = PairwiseFairClassifier(
        "tree", max_depth=depth, label_values=problem.values, loss=problem.loss, tol=1e-10, **problem.settings, **more
    )
    sensitive = None if problem.rule is None else problem.group
    return model.fit(
        problem.people,
        problem.outcome,
        judgments=problem.judgments,
        sample_weight=problem.weight,
        sensitive_features=sensitive,
    )


def check_against_the_whole_programme(seed: int, k: int, depth: int) -> None:
    problem = Decisions.draw(seed, k)
    least, proved = problem.least_error(depth), fitted(problem, depth).certificate_
    assert proved.kind == "exact"
    assert proved.error == pytest.approx(least, abs=1e-9)
    assert proved.lower_bound == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_no_mixture_of_trees_is_better(seed: int) -> None:
    check_against_the_whole_programme(seed, k=3 + seed % 2, depth=1 + seed % 4 // 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 312))
def test_no_mixture_of_trees_is_better_on_300_problems(seed: int) -> None:
    check_against_the_whole_programme(seed, k=3 + seed % 2, depth=1 + seed % 3 // 2)


class Court:
    """People with three outcomes, and what simulated judges said about pairs of them."""

    def __init__(self, n: int = 150, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.people = pd.DataFrame(
            {"age": rng.integers(18, 60, n), "priors": rng.integers(0, 8, n), "charge": rng.choice(["F", "M"], n)},
            index=pd.Index([f"p{number}" for number in range(n)], name="id"),
        )
        risk = self.people["priors"] - 0.1 * self.people["age"] + rng.normal(size=n)
        self.outcome = pd.cut(risk, [-99, -1, 2, 99], labels=["release", "conditions", "deny"]).astype(str)
        rows = [
            {"judge": f"j{judge}", "a": f"p{a}", "b": f"p{b}", "answer": str(rng.choice(["same", "a_at_least_b"]))}
            for judge in range(3)
            for a, b in rng.integers(0, n, (6, 2))
            if a != b
        ]
        self.judgments = Judgments(pd.DataFrame(rows).drop_duplicates(["judge", "a", "b"]), people=self.people)


@pytest.fixture(scope="module")
def court() -> Court:
    return Court()


@pytest.fixture(scope="module")
def model(court: Court) -> PairwiseFairClassifier:
    made = PairwiseFairClassifier("tree", gamma=0.1, label_values=VALUES)
    return made.fit(court.people, court.outcome, judgments=court.judgments)


ESTIMATORS = ["tree", "linear", "linear-regression", LogisticRegression(), DecisionTreeClassifier(max_depth=2)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_kind_of_classifier_keeps_the_judgments(court: Court, estimator: Any) -> None:
    made = PairwiseFairClassifier(estimator, gamma=0.1, label_values=VALUES, max_iter=15)
    made.fit(court.people, court.outcome, judgments=court.judgments)
    proved, chances = made.certificate_, made.predict_proba(court.people)
    assert chances.shape == (len(court.people), 3)
    assert np.allclose(chances.sum(axis=1), 1.0)
    wrong = 1.0 - chances[np.arange(len(chances)), np.searchsorted(made.classes_, court.outcome)]
    assert wrong.mean() == pytest.approx(proved.error, abs=1e-9)
    assert proved.max_violation <= 0.1 + 1e-6
    assert proved.error <= proved.constant_error + 1e-9
    assert proved.plain_error <= proved.error + 1e-9


def test_an_audit_of_the_values_says_what_the_certificate_says(court: Court, model: PairwiseFairClassifier) -> None:
    treated = pd.Series(model.predict_value(court.people), index=court.people.index)
    expected = model.predict_proba(court.people) @ [VALUES[label] for label in model.classes_]
    assert np.allclose(treated, expected)
    overall = audit(treated, court.judgments, gamma=0.1, favorable_label=1).overall
    numbers = overall.iloc[:, 0] if "max_violation" in overall.index else overall.iloc[0]
    assert float(numbers["max_violation"]) == pytest.approx(model.certificate_.max_violation)
    assert model.prices_["violation"].max() == pytest.approx(model.certificate_.max_violation)


def test_draws_follow_the_chances_in_any_batch(court: Court, model: PairwiseFairClassifier) -> None:
    labels = model.predict(court.people)
    assert np.array_equal(labels[::3], model.predict(court.people.iloc[::3]))
    assert set(labels) <= set(model.classes_)
    chances, counts = model.predict_proba(court.people), np.zeros((len(court.people), 3))
    for seed in range(200):
        drawn = model.set_params(random_state=seed)
        drawn._seed = seed
        counts += drawn.predict(court.people)[:, None] == model.classes_
    assert np.abs(counts / 200 - chances).max() < 0.2
    assert ((chances == 0) <= (counts == 0)).all()


def test_a_shared_draw_never_ranks_two_people_against_both_their_chances(
    court: Court, model: PairwiseFairClassifier
) -> None:
    """Whoever has better chances of at least every value gets no worse label."""
    values = np.array([VALUES[label] for label in model.classes_])
    order = np.argsort(-values)
    reached = np.cumsum(model.predict_proba(court.people)[:, order], axis=1)
    drawn = np.array([VALUES[label] for label in model.predict(court.people, draw="shared")])
    better = (reached[:, None, :] >= reached[None, :, :]).all(axis=2)
    assert (drawn[:, None] - drawn[None, :])[better].min() >= 0


def test_two_labels_by_the_general_way_are_the_same_fit(court: Court) -> None:
    """A table of one column instead of a vector, and values instead of a sign."""
    outcome = (court.outcome == "release").astype(int)
    for estimator, sign in [("tree", 1), ("tree", 0), ("linear-regression", 1)]:
        params = PairwiseFairClassifier(estimator, gamma=0.1, favorable_label=sign, tol=1e-9).get_params(deep=False)
        usual = prepare(params, court.people, outcome, court.judgments)
        points = replace(usual.problem.points, error_cost=usual.problem.points.error_cost[:, None])
        values = np.array([1.0 - sign, sign])
        general = replace(usual.problem, points=points, label_values=values)
        settings = FitSettings.of(params)
        columns = [] if usual.encoder is None else usual.encoder.outputs
        table_oracle = make_oracle(settings, points, columns, 0)
        if estimator == "linear-regression":  # whose vector has compiled games to start from: one answer is compared
            cost = np.random.default_rng(0).normal(size=len(points.error_cost))
            by_vector = usual.oracle.best_response(cost).labels(points.rows)
            assert np.array_equal(table_oracle.best_response(cost[:, None]).labels(points.rows), by_vector)
            continue
        one, two = solve(usual.problem, usual.oracle, settings), solve(general, table_oracle, settings)
        assert two.error == pytest.approx(one.error, abs=1e-12)
        assert two.bound == pytest.approx(one.bound, abs=1e-12)
        assert np.allclose(two.weights, one.weights, atol=1e-12)
        assert np.array_equal(two.classifiers.labels(points.rows), one.classifiers.labels(points.rows))
        assert np.allclose(two.multipliers.rows, one.multipliers.rows, atol=1e-12)


def test_values_between_0_and_1_of_two_labels_scale_the_difference(court: Court) -> None:
    """A gamma of 0.1 on values that are half apart is one of 0.2 on probabilities."""
    outcome = court.outcome == "release"
    halves = PairwiseFairClassifier("tree", gamma=0.1, label_values={False: 0.25, True: 0.75}, tol=1e-9)
    whole = PairwiseFairClassifier("tree", gamma=0.2, label_values={False: 0, True: 1}, tol=1e-9)
    one, two = (made.fit(court.people, outcome, judgments=court.judgments).certificate_ for made in (halves, whole))
    assert one.error == pytest.approx(two.error, abs=1e-8)
    assert one.max_violation == pytest.approx(two.max_violation / 2, abs=1e-8)


def test_a_label_that_is_nobodys_outcome_may_be_decided(court: Court) -> None:
    """Outcomes are yes or no; a third decision that costs little either way is taken."""
    outcome = court.outcome.replace({"conditions": "deny"})
    loss = pd.DataFrame(
        {"deny": [0.0, 0.0, 1.0], "conditions": [0.2, 0.0, 0.2], "release": [1.0, 0.0, 0.0]},
        index=["deny", "conditions", "release"],
    )
    made = PairwiseFairClassifier("tree", gamma=0.0, label_values=VALUES, loss=loss)
    made.fit(court.people, outcome, judgments=court.judgments)
    assert made.classes_.tolist() == ["conditions", "deny", "release"]
    assert made.certificate_.error <= 0.2 + 1e-9
    assert made.predict_proba(court.people)[:, 0].max() > 0


def test_labels_that_scikit_learn_numbered_are_the_same_model(court: Court, model: PairwiseFairClassifier) -> None:
    numbers = np.searchsorted(model.classes_, court.outcome)
    with pytest.raises(InputError, match="how good the outcomes 0, 1, 2 are"):
        PairwiseFairClassifier("tree", gamma=0.1, label_values=VALUES).fit(court.people, numbers)
    values = {number: VALUES[label] for number, label in enumerate(model.classes_)}
    other = PairwiseFairClassifier("tree", gamma=0.1, label_values=values)
    other.fit(court.people, numbers, judgments=court.judgments)
    assert np.array_equal(other.predict_proba(court.people), model.predict_proba(court.people))
    assert other.favorable_label_ == 2


def test_the_papers_dynamics_take_several_labels(court: Court, model: PairwiseFairClassifier) -> None:
    game = PairwiseFairClassifier(
        "tree", gamma=0.1, label_values=VALUES, solver="no-regret", n_rounds=400, lambda_bound=3.0
    )
    game.fit(court.people, court.outcome, judgments=court.judgments)
    assert game.certificate_.lower_bound <= model.certificate_.error + 1e-9
    assert game.certificate_.max_violation < 0.3


def test_values_of_other_numbers_are_not_those_of_the_outcomes(court: Court) -> None:
    numbers = pd.Series(np.unique(court.outcome, return_inverse=True)[1], court.people.index)
    values = {1: 0, 2: 0.5, 3: 1}
    with pytest.raises(InputError, match="how good the outcome 0 is: it is about 1, 2, 3"):
        PairwiseFairClassifier("tree", label_values=values).fit(court.people, numbers, judgments=court.judgments)
    with pytest.raises(InputError, match=r"how good the outcomes 0, 1, 2 are: it is about 10, 20, 30.*scikit-learn"):
        PairwiseFairClassifier("tree", label_values={10 * label: value for label, value in values.items()}).fit(
            court.people, numbers, judgments=court.judgments
        )
    shifted = PairwiseFairClassifier("tree", label_values=values).fit(
        court.people, numbers + 1, judgments=court.judgments
    )
    own = PairwiseFairClassifier("tree", label_values={label - 1: value for label, value in values.items()})
    own.fit(court.people, numbers, judgments=court.judgments)
    assert np.array_equal(own.predict_proba(court.people), shifted.predict_proba(court.people))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "3 different outcomes, 'conditions', 'deny', 'release'.*give label_values="),
        ({"favorable_label": "release"}, "give label_values=.*instead of favorable_label"),
        ({"label_values": {"deny": 0, "release": 1}}, "does not say how good the outcome 'conditions' is"),
        ({"label_values": {**VALUES, "release": 1.5}}, "from 0 to 1 and not all alike"),
        ({"label_values": dict.fromkeys(VALUES, 0.5)}, "from 0 to 1 and not all alike"),
        ({"label_values": VALUES, "loss": [[0, 1], [1, 0]]}, "loss=.* is not allowed: give a DataFrame"),
        ({"label_values": VALUES, "loss": pd.DataFrame({"deny": [1.0]}, index=["deny"])}, "loss: its rows are 'deny'"),
        (
            {"label_values": VALUES, "loss": pd.DataFrame(-1.0, index=list(VALUES), columns=list(VALUES))},
            "costs -1.0; give numbers from 0 up",
        ),
        (
            {"label_values": VALUES, "loss": pd.DataFrame(0.0, index=list(VALUES), columns=list(VALUES))},
            "every cost is 0",
        ),
        (
            {"label_values": VALUES, "loss": pd.DataFrame("x", index=list(VALUES), columns=list(VALUES))},
            "a cost is no number",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(court: Court, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PairwiseFairClassifier("tree", **settings).fit(court.people, court.outcome, judgments=court.judgments)


def test_without_judgments_nobody_needs_to_say_how_good_a_label_is(court: Court) -> None:
    for estimator in ("tree", "linear"):
        plain = PairwiseFairClassifier(estimator).fit(court.people, court.outcome)
        labels = plain.predict(court.people)
        assert np.array_equal(labels, plain.classes_[plain.predict_proba(court.people).argmax(axis=1)])
        assert (labels == court.outcome).mean() == pytest.approx(1 - plain.certificate_.error)
        with pytest.raises(InputError, match="How good each label is was not said"):
            plain.predict_value(court.people)


def test_too_many_labels_are_amounts(court: Court) -> None:
    amounts = np.arange(len(court.people)) % 70
    with pytest.raises(InputError, match=r"70 different values.*PairwiseFairRegressor"):
        PairwiseFairClassifier("tree").fit(court.people.iloc[:140], amounts[:140])


def test_examples_to_learn_from_weigh_errors_by_their_cost() -> None:
    """Errors on them, weighted, are the cost of a classifier and a constant."""
    rng = np.random.default_rng(0)
    cost = rng.normal(size=(40, 3))
    point, label, weight = examples(cost)
    given = rng.integers(4, size=(50, 40)).astype(np.uint8)
    errors = ((given[:, point] != label) * weight).sum(axis=1)
    assert np.ptp(errors - total_costs(given, cost)) < 1e-12
    one, two = examples(cost[:, :1]), examples(cost[:, 0])
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_linear_scores_are_the_same_in_any_batch() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 5))
    classifiers = LinearClassifiers(rng.normal(size=(4, 2, 5)), rng.normal(size=(4, 2)))
    labels = classifiers.labels(rows)
    assert np.array_equal(labels[:, 17:30], classifiers.labels(rows[17:30]))
    scores = np.concatenate([np.zeros((4, 1, 200)), classifiers.coef @ rows.T + classifiers.intercept[:, :, None]], 1)
    assert np.array_equal(labels, scores.argmax(axis=1))
    assert LinearClassifiers.constants(5, 3).labels(rows)[:, 0].tolist() == [0, 1, 2]


def test_rules_in_words_decide_as_the_model_does(court: Court, model: PairwiseFairClassifier) -> None:
    text, chances = str(model.rules_), model.predict_proba(court.people)
    for place, label in enumerate(model.classes_):
        assert np.allclose(RuleReader(text, one=label).probability(court.people), chances[:, place], atol=1e-12)
    told = str(model.explain(court.people.iloc[[3]]))
    assert all(
        (label in told.split("\n", maxsplit=1)[0]) == (chances[3, place] > 0)
        for place, label in enumerate(model.classes_)
    )
    assert "value 0.6" in model.card()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_points_in_words_are_the_sums_that_decide(court: Court) -> None:
    made = PairwiseFairClassifier("linear", gamma=0.1, label_values=VALUES, max_iter=5, max_classifiers=3)
    made.fit(court.people, court.outcome, judgments=court.judgments)
    for person in range(5):
        labels = made.classifiers_.labels(made._rows(court.people))[:, person]
        row: dict[str, Any] = {str(k): v for k, v in court.people.iloc[person].items()}
        for (_, rule), label in zip(made.rules_, labels, strict=True):
            if hasattr(rule, "others"):
                assert np.argmax([0.0, *(part.total(row) for part in rule.others)]) == label
                assert rule.lines()[0] == (0, "points for deny:")


@pytest.mark.parametrize("estimator", ["tree", "linear", LogisticRegression()], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_file_holds_labels_values_and_losses(court: Court, estimator: Any, tmp_path: Path) -> None:
    loss = pd.DataFrame(1.0 - np.eye(3), index=sorted(VALUES), columns=sorted(VALUES))
    made = PairwiseFairClassifier(estimator, label_values=VALUES, loss=loss, max_iter=4)
    made.fit(court.people, court.outcome, judgments=court.judgments).save(tmp_path / "model.skops")
    read = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert np.array_equal(read.predict_proba(court.people), made.predict_proba(court.people))
    assert np.array_equal(read.predict(court.people), made.predict(court.people))
    assert np.array_equal(read.predict_value(court.people), made.predict_value(court.people))
    assert read.label_values == VALUES
    assert read.loss is not None
    pd.testing.assert_frame_equal(read.loss, loss)


def test_a_frontier_falls_and_ends_at_the_plain_error(court: Court, model: PairwiseFairClassifier) -> None:
    curve = frontier(
        court.people, court.outcome, court.judgments, gammas=[0, 0.1, 1], estimator="tree", label_values=VALUES
    )
    assert curve["error"].is_monotonic_decreasing
    assert curve["error"].iloc[1] == pytest.approx(model.certificate_.error, abs=1e-4)
    assert curve["error"].iloc[2] == pytest.approx(model.certificate_.plain_error, abs=1e-4)
    assert (curve["kind"] == "exact").all()


def test_held_out_people_are_measured_by_the_values(court: Court) -> None:
    made = PairwiseFairClassifier("tree", max_depth=1, label_values=VALUES)
    measured = held_out(made, court.people, court.outcome, court.judgments, n_repeats=2).overall
    assert 0 < measured["held_out"]["error"] < 1
    assert measured["training"]["mean_excess"] == pytest.approx(0, abs=1e-6)


def test_a_smaller_model_keeps_the_rules(model: PairwiseFairClassifier) -> None:
    smaller = model.simplify(max_classifiers=4)
    assert len(smaller.weights_) <= 4
    assert smaller.certificate_.max_violation <= 0.1 + 1e-6
    assert smaller.certificate_.error >= model.certificate_.lower_bound - 1e-9


def test_rules_for_groups_hold_for_the_label_that_is_named(court: Court) -> None:
    group = court.people["charge"]
    rates = {}
    for asked in ({"deny": DemographicParity(difference_bound=0.01)}, [DemographicParity(difference_bound=0.01)]):
        made = PairwiseFairClassifier("tree", label_values=VALUES, group_constraints=asked)
        made.fit(court.people, court.outcome, judgments=court.judgments, sensitive_features=group)
        chances = pd.DataFrame(made.predict_proba(court.people), columns=made.classes_, index=court.people.index)
        rates[type(asked)] = (chances.groupby(group).mean() - chances.mean()).abs().max()
        assert made.group_rules_["rule"].str.startswith("'deny': DemographicParity").any()
    assert rates[dict]["deny"] <= 0.01 + 1e-6
    assert rates[list].max() <= 0.01 + 1e-6
    with pytest.raises(InputError, match="ErrorRateParity of more than two labels at once"):
        PairwiseFairClassifier("tree", label_values=VALUES, group_constraints=ErrorRateParity()).fit(
            court.people, court.outcome, sensitive_features=group
        )
    with pytest.raises(InputError, match="group_constraints: 'jail' is none of the labels 'conditions', 'deny'"):
        PairwiseFairClassifier("tree", label_values=VALUES, group_constraints={"jail": DemographicParity()}).fit(
            court.people, court.outcome, sensitive_features=group
        )


def with_rule_about_value(seed: int, k: int) -> Decisions:
    problem = Decisions.draw(seed, k)
    asked = {"value": [DemographicParity(difference_bound=0.05)]}
    return replace(problem, rule="value", settings=problem.settings | {"group_constraints": asked})


@pytest.mark.parametrize("seed", range(12))
def test_a_rule_about_the_mean_value_of_groups_against_the_whole_programme(seed: int) -> None:
    problem = with_rule_about_value(seed, k=2 + seed % 3)
    least, model = problem.least_error(1), fitted(problem, 1)
    assert model.certificate_.kind == "exact"
    assert model.certificate_.error == pytest.approx(least, abs=1e-9)
    treated = model.predict_value(problem.people)
    for row in model.group_rules_.to_dict("records"):
        assert row["rule"].startswith("value: DemographicParity")
        members = (problem.group == str(row["rule"]).split()[-1]).to_numpy()
        gap = np.average(treated[members], weights=problem.weight[members]) - np.average(
            treated, weights=problem.weight
        )
        assert row["value"] == pytest.approx(gap if " + " in row["rule"] else -gap, abs=1e-9)
        assert (row["limit"], row["value"] <= 0.05 + 1e-9) == (0.05, True)


def test_rules_about_the_value_sometimes_cost_something() -> None:
    """So that the test above can fail."""
    free = [
        replace(p, rule=None, settings=p.settings | {"group_constraints": None}).least_error(1) for p in values_of()
    ]
    assert max(p.least_error(1) - without for p, without in zip(values_of(), free, strict=True)) > 1e-3


def values_of() -> list[Decisions]:
    return [with_rule_about_value(seed, k=2 + seed % 3) for seed in range(12)]


def test_what_is_no_rule_about_the_value_is_refused(court: Court) -> None:
    for settings, words in (
        ({"group_constraints": {"value": [ErrorRateParity()]}, "label_values": VALUES}, "of 'value' there is Demogr"),
        ({"group_constraints": {"value": [DemographicParity()]}}, "about 'value' need label_values"),
    ):
        with pytest.raises(InputError, match=words):
            PairwiseFairClassifier("tree", **settings).fit(
                court.people, court.outcome, sensitive_features=court.people["charge"]
            )


def test_a_label_that_is_nobodys_has_no_true_positive_rate(court: Court) -> None:
    rule, values = [TruePositiveRateParity(difference_bound=0.05)], {**VALUES, "never": 0.3}
    groups = court.people["charge"]
    model = PairwiseFairClassifier("tree", max_depth=1, label_values=values, group_constraints=rule)
    rules = model.fit(court.people, court.outcome, sensitive_features=groups).group_rules_["rule"]
    assert {name.split(":")[0] for name in rules} == {repr(label) for label in VALUES}
    with pytest.raises(InputError, match="'never' is nobody's outcome here"):
        model.set_params(group_constraints={"never": rule}).fit(court.people, court.outcome, sensitive_features=groups)


def test_costs_of_labels_that_are_whole_numbers_are_found_where_outcomes_are_floats(court: Court) -> None:
    codes = court.outcome.map({"deny": 0.0, "conditions": 1.0, "release": 2.0})
    costs = pd.DataFrame([[0, 1, 2], [1, 0, 1], [3, 1, 0]])
    one, other = (
        PairwiseFairClassifier("tree", label_values={0: 0, 1: 0.6, 2: 1}, loss=costs, max_depth=1).fit(
            court.people, outcome, judgments=court.judgments
        )
        for outcome in (codes, codes.astype(int))
    )
    assert one.certificate_.error == other.certificate_.error
