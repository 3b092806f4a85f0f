"""An audit's numbers are those the rest of the package defines, and they behave as they should."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from tests.support.examples import examples

from fairwise import PairwiseFairClassifier
from fairwise.auditing import audit
from fairwise.constraints.pairs import PairRows, attribute_budgets, judge_budgets
from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments

if TYPE_CHECKING:
    from fairwise.constraints.pairs import Weighting

    Panel = Callable[..., tuple[Judgments, pd.Series]]
    Said = Callable[..., Judgments]


VALUES = ["max_violation", "mean_violation", "mean_excess", "fairness_loss", "share_followed"]
seeds = st.integers(0, 10_000)


def values(result: Any) -> list[float]:
    return [float(result.overall[name]["value"]) for name in VALUES]


@pytest.mark.parametrize("weighting", ["answers", "panel"])
@examples(30)
@given(seed=seeds, gamma=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_values_are_those_of_the_pair_rows(panel: Panel, weighting: Weighting, seed: int, gamma: float) -> None:
    judgments, scores = panel(seed)
    rows = PairRows.from_judgments(judgments)
    favorable = 1 - scores.loc[rows.people].to_numpy()
    excess = np.maximum(rows.violations(favorable) - gamma, 0)
    result = audit(scores, judgments, gamma, favorable_label=0, weighting=weighting)
    assert values(result)[:4] == pytest.approx(
        [
            rows.violations(favorable).max(),
            rows.mean_violation(favorable),
            rows.shares(weighting) @ excess,
            rows.shares("panel") @ excess,
        ]
    )


@examples(30)
@given(seed=seeds)
def test_a_judges_mean_excess_is_what_their_budget_bounds(panel: Panel, seed: int) -> None:
    judgments, scores = panel(seed)
    result = audit(scores, judgments, 0.05, favorable_label=1)
    rows = PairRows.from_judgments(judgments)
    excess = np.maximum(rows.violations(scores.loc[rows.people].to_numpy()) - 0.05, 0)
    by_judge = result.by_judge.set_index("judge")
    for budget in judge_budgets(rows, 1.0):
        used = float(budget.shares @ excess[budget.rows])
        assert by_judge["mean_excess"][budget.name.removeprefix("judge ")] == pytest.approx(used)


@pytest.mark.parametrize("weighting", ["answers", "panel"])
@examples(30)
@given(seed=seeds)
def test_a_groups_mean_excess_is_what_its_budget_bounds(panel: Panel, weighting: Weighting, seed: int) -> None:
    relation = {f"j{number}": {"relation": "affected" if number % 3 else "expert"} for number in range(6)}
    judgments, scores = panel(seed, judge_attributes=relation)
    result = audit(scores, judgments, 0.05, favorable_label=1, weighting=weighting)
    rows = PairRows.from_judgments(judgments)
    excess = np.maximum(rows.violations(scores.loc[rows.people].to_numpy()) - 0.05, 0)
    by_value = result.by_attribute.set_index("value")["mean_excess"]
    limits = {"relation": {"affected": 1.0, "expert": 1.0}}
    budgets = attribute_budgets(rows, judgments.judge_attributes, limits, weighting)
    for budget in budgets:
        used = float(budget.shares @ excess[budget.rows])
        assert by_value[budget.name.removeprefix("relation ")] == pytest.approx(used)
    assert len(budgets) == 2


def test_a_pair_answered_in_two_rounds_counts_once_in_a_judges_budget() -> None:
    rows = [{"judge": "u", "a": 1, "b": 2, "answer": "same", "round": turn} for turn in (1, 2)]
    twice = Judgments(rows, rounds="all")
    result = audit(pd.Series({1: 0.0, 2: 1.0}), twice, gamma=0.0)
    assert result.by_judge[["answers", "pairs", "mean_excess"]].to_numpy().tolist() == [[2.0, 1.0, 0.5]]
    assert result.by_pair["judges"].tolist() == [1]


@examples(30)
@given(seed=seeds, constant=st.floats(0, 1))
def test_a_constant_violates_nothing(panel: Panel, seed: int, constant: float) -> None:
    judgments, scores = panel(seed)
    result = audit(scores * 0 + constant, judgments, 0.0, favorable_label=1)
    assert values(result) == [0, 0, 0, 0, 1]
    assert result.worst() == []
    assert set(result.judgments["status"]) <= {"followed", "asks nothing"}


@examples(30)
@given(seed=seeds, factor=st.floats(0.01, 1))
def test_violations_scale_with_the_scores(panel: Panel, seed: int, factor: float) -> None:
    judgments, scores = panel(seed)
    whole = audit(scores, judgments, 0.0, favorable_label=1)
    part = audit(scores * factor, judgments, 0.0, favorable_label=1)
    assert values(part)[:4] == pytest.approx([factor * value for value in values(whole)[:4]])


@examples(30)
@given(seed=seeds)
def test_sides_order_and_labels_do_not_matter(panel: Panel, seed: int) -> None:
    judgments, scores = panel(seed)
    plain = audit(scores, judgments, 0.1, favorable_label=1)
    frame = judgments.frame
    swapped = frame.assign(a=frame["b"], b=frame["a"], answer=[str(Answer(x).swapped()) for x in frame["answer"]])
    shuffled = Judgments(swapped.sample(frac=1, random_state=seed))
    other = audit(1 - scores.sample(frac=1, random_state=seed), shuffled, 0.1, favorable_label=0)
    turned = {"a_at_least_b": "b_at_least_a", "b_at_least_a": "a_at_least_b"}
    mirrored = other.overall.rename(columns=turned)[plain.overall.columns]
    pd.testing.assert_frame_equal(plain.overall, mirrored)  # intervals too
    pd.testing.assert_frame_equal(plain.by_judge, other.by_judge)
    assert sorted(plain.by_pair["excess"]) == pytest.approx(sorted(other.by_pair["excess"]))


def test_an_answer_of_weight_two_is_the_answer_of_two_judges(said: Said) -> None:
    scores = pd.Series({1: 0.1, 2: 0.5, 3: 0.9})
    more = ("u", 2, 3, "no_constraint")
    heavy = audit(scores, said(more, ("v", 1, 2, "same", 2.0)), 0.1)
    two = audit(scores, said(more, ("v", 1, 2, "same"), ("w", 1, 2, "same")), 0.1)
    for name in ("mean_violation", "mean_excess", "share_followed"):
        assert heavy.overall[name]["value"] == pytest.approx(two.overall[name]["value"])
    assert heavy.by_pair["weight"].tolist() == two.by_pair["weight"].tolist()


def test_by_pair_counts_answers_from_one_side(said: Said) -> None:
    judgments = said(
        ("u", 1, 2, "a_at_least_b"),
        *[(judge, 2, 1, "b_at_least_a") for judge in ("v", "w")],
        ("x", 2, 1, "a_at_least_b"),
        ("y", 3, 1, "same"),
    )
    table = audit(pd.Series({1: 0.2, 2: 0.6, 3: 0.25}), judgments, 0.1, favorable_label=1).by_pair
    worst = table.iloc[0]
    assert worst[["a", "b", "a_at_least_b", "b_at_least_a", "same", "judges"]].tolist() == [1, 2, 3, 1, 0, 4]
    assert worst["violation"] == pytest.approx(0.4)
    assert worst["excess"] == pytest.approx(0.3)
    assert table["violation"].is_monotonic_decreasing
    assert len(table) == 2


def test_every_judge_is_there_and_every_answer_has_a_status() -> None:
    rows = [
        {"judge": "u", "a": 1, "b": 2, "answer": "same", "design": "uniform"},
        {"judge": "u", "a": 1, "b": 3, "answer": "same", "design": "uniform"},
        {"judge": "v", "a": 1, "b": 2, "answer": "same", "design": "check"},
        {"judge": "w", "a": 2, "b": 3, "answer": "no_constraint", "design": "uniform"},
    ]
    result = audit(pd.Series({1: 0.0, 2: 1.0, 3: 0.1}), Judgments(rows), 0.1)
    assert result.judgments["status"].tolist() == ["not followed", "followed", "asks nothing"]
    assert result.by_judge["judge"].tolist() == ["u", "v", "w"]
    assert result.by_judge["in_force"].tolist() == [2, 0, 0]
    assert result.by_judge["not_followed"].tolist() == [1, 0, 0]
    assert result.by_judge["share_followed"].isna().tolist() == [False, True, True]


def test_the_judges_of_an_attribute_are_audited_as_if_alone(panel: Panel) -> None:
    relation = {f"j{number}": {"relation": "affected" if number % 2 else "expert"} for number in range(5)}
    judgments, scores = panel(3, judge_attributes=relation)  # j5 said nothing about themselves
    table = audit(scores, judgments, 0.1, favorable_label=1, weighting="panel").by_attribute
    assert table["attribute"].tolist() == ["relation"] * 3
    assert table["value"].isna().tolist() == [False, False, True]
    for line in table[table["value"].notna()].to_dict("records"):
        mine = [judge for judge, known in relation.items() if known["relation"] == line["value"]]
        alone = audit(scores, judgments.select(mine), 0.1, favorable_label=1, weighting="panel")
        assert [line[name] for name in VALUES] == pytest.approx(values(alone))
        assert line["judges"] == len(mine)
        assert line["mean_excess_low"] <= line["mean_excess"] <= line["mean_excess_high"]


def test_without_attributes_the_table_is_empty_but_has_its_columns(panel: Panel) -> None:
    judgments, scores = panel(0)
    table = audit(scores, judgments, favorable_label=1).by_attribute
    assert len(table) == 0
    assert {"attribute", "value", "mean_excess", "mean_excess_low"} <= set(table.columns)


def test_ids_match_however_they_are_written(said: Said) -> None:
    judgments = said(("u", 7, 12, "same"))
    for index in ([7, 12, 1], ["7", "12", "x"], [7.0, 12.0, 1.5]):
        result = audit(pd.Series([0.2, 0.7, 0.0], index=index), judgments)
        assert result.overall["mean_violation"]["value"] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="nothing for these people: 7"):
        audit(pd.Series([0.2, 0.7], index=["007", "12"]), judgments)


def test_positions_take_an_array() -> None:
    judgments = Judgments([{"judge": "u", "a": 0, "b": 2, "answer": "same"}], by="position")
    assert audit(np.array([0.1, 0.5, 0.4]), judgments).overall["max_violation"]["value"] == pytest.approx(0.3)


def test_nothing_said_is_nothing_violated() -> None:
    result = audit(pd.Series({1: 0.5}), Judgments([]))
    assert values(result)[:4] == [0, 0, 0, 0]
    assert result.by_judge.empty
    assert result.by_pair.empty
    assert "0 answers" in str(result)


def test_it_agrees_with_the_learners_certificate_and_prices() -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"x": rng.normal(size=80), "z": rng.normal(size=80)})
    outcome = pd.Series((people["x"] + rng.normal(size=80) > 0).astype(int))
    rows = [
        {"judge": f"j{i % 3}", "a": i, "b": i + 1, "answer": ["same", "a_at_least_b", "no_constraint"][i % 4 % 3]}
        for i in range(40)
    ]
    judgments = Judgments(rows, people=people)
    model = PairwiseFairClassifier("tree", gamma=0.1, eta=0.01, favorable_label=0)
    model.fit(people, outcome, judgments=judgments)
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    result = audit(scores, judgments, 0.1, favorable_label=0)
    for name in ("max_violation", "mean_violation", "mean_excess"):
        assert result.overall[name]["value"] == pytest.approx(getattr(model.certificate_, name), abs=1e-12)
    assert result.judgments["violation"].to_numpy() == pytest.approx(model.prices_["violation"].to_numpy())
    assert result.judgments["status"].tolist() == model.prices_["status"].tolist()
    assert model.prices_["status"].nunique() == 3
    constant = DummyClassifier().fit(people, outcome).predict_proba(people)[:, 1]
    assert audit(pd.Series(constant, index=people.index), judgments, favorable_label=0).worst() == []


def test_what_the_learner_keeps_to_its_tolerance_is_followed(said: Said) -> None:
    judgments = said(("u", 1, 2, "same"))
    assert audit(pd.Series({1: 0.5, 2: 0.6 + 5e-7}), judgments, 0.1).judgments["status"].tolist() == ["followed"]
    assert audit(pd.Series({1: 0.5, 2: 0.6 + 5e-6}), judgments, 0.1).judgments["status"].tolist() == ["not followed"]


GOOD_LABEL = pd.Series({"Williams": 0.5, "Blake": 0.8, "McEnroe": 0.9})


def test_80_percent_against_50_at_gamma_one_tenth(said: Callable[..., Judgments]) -> None:
    result = audit(GOOD_LABEL, said(("u", "Williams", "Blake", "a_at_least_b")), gamma=0.1, favorable_label=1)
    assert result.overall["max_violation"]["value"] == pytest.approx(0.3)
    assert result.judgments["excess"].tolist() == pytest.approx([0.2])
    assert result.worst() == ["Person Williams was to be treated at least as well as Blake, but gets 0.50 against 0.80"]


def test_half_and_seventy_percent_of_stakeholders_break_eta_007(said: Callable[..., Judgments]) -> None:
    shown = []
    for judge in range(10):
        shown += [
            (judge, "Williams", "Blake", "a_at_least_b" if judge < 5 else "no_constraint"),
            (judge, "Williams", "McEnroe", "a_at_least_b" if judge < 7 else "no_constraint"),
            (judge, "Blake", "McEnroe", "no_constraint"),
        ]
    result = audit(GOOD_LABEL, said(*shown), gamma=0, favorable_label=1)
    expected = (0.5 * 0.3 + 0.7 * 0.4) / 6
    assert result.overall["fairness_loss"]["value"] == pytest.approx(expected)
    assert result.overall["mean_excess"]["value"] == pytest.approx(expected)  # all judges saw the same pairs
    assert result.overall["share_followed"]["value"] == 0.0


def test_where_the_label_is_bad_the_debt_turns_round(said: Callable[..., Judgments]) -> None:
    judgments = said(("u", "Williams", "Blake", "a_at_least_b"))
    assert audit(GOOD_LABEL, judgments, favorable_label=0).overall["max_violation"]["value"] == 0.0
    assert audit(1 - GOOD_LABEL, judgments, favorable_label=0).overall["max_violation"]["value"] == pytest.approx(0.3)


def test_an_ordered_pair_in_probabilities_of_the_good_outcome(said: Said) -> None:
    judgments = said((1, 6432, 6000, "a_at_least_b"))
    result = audit(pd.Series({6432: 0.69, 6000: 0.26}), judgments, favorable_label=0)
    assert result.worst() == ["Person 6432 was to be treated at least as well as 6000, but gets 0.31 against 0.74"]


def test_the_debt_is_named_from_the_other_side_too(said: Said) -> None:
    judgments = said((1, "x", "y", "b_at_least_a"))
    assert audit(pd.Series({"x": 0.9, "y": 0.2}), judgments, favorable_label=1).worst() == [
        "Person y was to be treated at least as well as x, but gets 0.20 against 0.90"
    ]


def test_same_names_the_one_who_gets_less_first(said: Said) -> None:
    judgments = said((1, "x", "y", "same"))
    assert audit(pd.Series({"x": 0.9, "y": 0.2}), judgments).worst() == [
        "Person y was to be treated the same as x, but gets 0.20 against 0.90"
    ]


def test_worst_first_at_most_n_and_none_within_gamma(said: Said) -> None:
    judgments = said((1, 1, 2, "same"), (1, 1, 3, "same"), (1, 1, 4, "same"))
    result = audit(pd.Series({1: 0.0, 2: 0.05, 3: 0.4, 4: 0.9}), judgments, 0.1)
    assert [sentence.split(",")[0].rsplit(" ", 1)[1] for sentence in result.worst()] == ["4", "3"]
    assert result.worst(1) == result.worst()[:1]


def test_the_summary_holds_the_numbers(said: Said) -> None:
    judgments = said((1, 1, 2, "same"), (2, 1, 3, "no_constraint"), (3, 2, 3, "same"))
    text = str(audit(pd.Series({1: 0.0, 2: 0.5, 3: 0.5}), judgments, 0.1))
    assert "3 answers of 3 judges about 3 pairs of 3 people" in text
    assert "2 ask for something; 1 of these are broken by more than 0.1" in text
    assert "0.2500" in text  # mean violation
    assert " to " in text  # an interval


def test_simulated_judges_are_called_so() -> None:
    said = [{"judge": f"simulated-{n}", "a": 1, "b": 2, "answer": "same"} for n in range(2)]
    for judgments, who in ((said, "2 simulated judges"), ([*said, said[0] | {"judge": "ann"}], "3 judges")):
        result = audit(pd.Series({1: 0.0, 2: 0.5}), Judgments(judgments), 0.1)
        assert f"of {who} about" in str(result)
        assert f"of {who}<" in result._repr_html_()


@pytest.mark.parametrize("better", [0, 1])
def test_amounts_are_audited_as_shares_of_their_range(
    panel: Callable[..., tuple[Judgments, pd.Series]], better: int
) -> None:
    judgments, scores = panel(3)
    groups = pd.Series(np.where(scores.index < 4, "x", "y"), index=scores.index, name="side")
    shares = audit(scores, judgments, 0.1, better, groups=groups)
    amounts = audit(500 + 1500 * scores, judgments, 0.1, better, groups=groups, score_range=(500, 2000))
    for table in ("overall", "by_judge", "by_pair"):
        pd.testing.assert_frame_equal(getattr(amounts, table), getattr(shares, table))
    assert amounts.by_group is not None
    assert shares.by_group is not None
    assert list(amounts.by_group) == ["attribute", "group", "people", "mean_score"]
    np.testing.assert_allclose(amounts.by_group["mean_score"], 500 + 1500 * shares.by_group["selection_rate"])
    assert amounts.group_gaps is not None
    assert shares.group_gaps is not None
    np.testing.assert_allclose(amounts.group_gaps["mean_score"], 1500 * shares.group_gaps["selection_rate"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"score_range": (0.2, 1)}, "is not in score_range.*allowed: 0.2 to 1"),
        ({"score_range": (1, 0)}, "the least comes first"),
        ({"score_range": 3}, "give .least, largest., or None"),
        ({"score_range": (0, np.inf)}, "give .least, largest., or None"),
        ({"score_range": (0, 1), "classes": ["a", "b"]}, "is for amounts"),
    ],
)
def test_a_range_that_does_not_fit_is_refused(
    panel: Callable[..., tuple[Judgments, pd.Series]], given: dict[str, Any], told: str
) -> None:
    judgments, scores = panel(3)
    scores = scores.where(scores.index != scores.index[0], 0.0)
    with pytest.raises(InputError, match=told):
        audit(scores, judgments, 0.1, 1, **given)


def test_answers_that_nobody_gave_are_not_counted_as_given() -> None:
    """All that is counted is that of the answers given; averages are those of all rows, as a certificate has them."""
    rows = [
        {"judge": "u", "a": 0, "b": 1, "answer": "same"},
        {"judge": "u", "a": 0, "b": 2, "answer": "a_at_least_b"},
        {"judge": "v", "a": 1, "b": 2, "answer": "no_constraint"},
    ]
    nobody = [
        {"judge": "u", "a": 1, "b": 3, "answer": "same", "design": "predicted", "error_bound": 0.1},
        {"judge": "v", "a": 2, "b": 3, "answer": "same", "design": "predicted", "error_bound": 0.1},
    ]
    scores = np.array([0.5, 0.5, 0.9, 0.1])
    attributes = {"u": {"kind": "x"}, "v": {"kind": "y"}}
    given = Judgments(rows, by="position", judge_attributes=attributes)
    both = Judgments(
        [*({**row, "design": "uniform", "error_bound": np.nan} for row in rows), *nobody],
        by="position",
        judge_attributes=attributes,
    )
    alone, whole = (audit(scores, said, gamma=0.1, favorable_label=1) for said in (given, both))
    counts = ["answers", "in_force", "not_followed", "same", "a_at_least_b", "no_constraint", "share_followed"]
    pd.testing.assert_frame_equal(whole.overall[counts], alone.overall[counts])
    assert whole.overall.loc["value", "predicted"] == 2
    assert whole.overall.loc["value", "max_violation"] == pytest.approx(0.8)
    columns = ["judge", "answers", "pairs", "in_force", "followed", "not_followed", "share_followed"]
    pd.testing.assert_frame_equal(whole.by_judge[columns], alone.by_judge[columns])
    pd.testing.assert_frame_equal(
        whole.by_attribute[["answers", "in_force"]], alone.by_attribute[["answers", "in_force"]]
    )
    assert "Audit of 3 judgments of 2 judges" in whole._repr_html_()
    assert "3 answers of 2 judges, and 2 predicted," in str(whole)
    assert "2 ask for something; 1 of these are broken" in str(whole)
