"""Repeats, sides and checks, against counting by hand; intervals against scipy's own."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments, check_failures, position_bias, repeat_consistency
from fairwise.judgments.reliability import Share, clopper_pearson, fair_coin, wilson

SWAPPED = {str(answer): str(answer.swapped()) for answer in Answer}


def row(judge: str, a: int, b: int, answer: str, design: str = "uniform", number: int = 1) -> dict[str, Any]:
    return {"judge": judge, "a": a, "b": b, "answer": answer, "design": design, "round": number}


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_and_p_values_are_scipy_s(hits: int, more: int, confidence: float) -> None:
    n = hits + more - 1
    if not n:
        return
    low, high = wilson(hits, n, confidence)
    test = binomtest(hits, n, 0.5)
    interval = test.proportion_ci(confidence, method="wilson")
    assert (float(low), float(high)) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert float(fair_coin(hits, n)) == pytest.approx(test.pvalue)
    low, high = clopper_pearson(hits, n, confidence)
    interval = test.proportion_ci(confidence, method="exact")
    assert (float(low), float(high)) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_nothing_to_count_is_nan() -> None:
    nothing = Share.out_of(0, 0, 0.95)
    assert np.isnan([nothing.share, nothing.low, nothing.high, float(fair_coin(0, 0))]).all()
    assert str(nothing) == "0 of 0"
    assert str(Share.out_of(3, 4, 0.95)) == "3 of 4, 75% (95% interval 30% to 95%)"
    assert wilson(0, 10, 0.95)[0] == 0
    assert wilson(10, 10, 0.95)[1] == 1
    assert np.isnan(clopper_pearson(0, 0, 0.95)).all()
    assert clopper_pearson(0, 10, 0.95)[0] == 0
    assert clopper_pearson(10, 10, 0.95)[1] == 1
    with pytest.raises(InputError, match="confidence=2; allowed"):
        wilson(1, 2, 2)


class TestRepeats:
    rows = (
        row("ann", 1, 2, "a_at_least_b"),
        row("ann", 2, 1, "b_at_least_a", "repeat"),  # the same, seen from the other side
        row("ann", 1, 3, "a_at_least_b"),
        row("ann", 3, 1, "a_at_least_b", "repeat"),  # the opposite
        row("bea", 1, 2, "same"),
        row("bea", 1, 2, "same", "repeat"),
        row("bea", 4, 5, "same", "repeat"),  # nothing to compare with
        row("cal", 1, 2, "same"),
    )

    def test_sides_are_swapped_back(self) -> None:
        found = repeat_consistency(Judgments([*self.rows]))
        assert (found.overall.count, found.overall.of, found.unmatched) == (2, 3, 1)
        assert found.by_judge["repeated"].to_dict() == {"ann": 2, "bea": 1, "cal": 0}
        assert found.by_judge["equal"].to_dict() == {"ann": 1, "bea": 1, "cal": 0}
        assert found.by_judge.loc["ann", "share"] == 0.5
        assert found.by_judge.loc["cal", ["share", "low", "high"]].isna().all()
        assert found.differing.to_dict("records") == [
            {"judge": "ann", "a": 3, "b": 1, "answer": "a_at_least_b", "original": "b_at_least_a"}
        ]
        assert str(found) == "Repeated pairs answered the same way again: 2 of 3, 67% (95% interval 21% to 94%)."

    def test_the_original_is_the_last_one_before(self) -> None:
        rows = [
            row("ann", 1, 2, "same", number=1),
            row("ann", 1, 2, "no_constraint", number=2),
            row("ann", 1, 2, "a_at_least_b", number=3),
            row("ann", 1, 2, "no_constraint", "repeat", number=2),
        ]
        found = repeat_consistency(Judgments(rows))
        assert (found.overall.count, found.overall.of) == (1, 1)

    def test_a_check_is_no_original(self) -> None:
        rows = [row("ann", 1, 2, "same", "check"), row("ann", 1, 2, "same", "repeat")]
        found = repeat_consistency(Judgments(rows))
        assert (found.overall.of, found.unmatched) == (0, 1)
        assert str(found) == "Repeated pairs: none, so self-consistency is unknown."

    @given(st.lists(st.tuples(st.sampled_from(Answer), st.sampled_from(Answer), st.booleans()), max_size=8), st.data())
    def test_the_order_of_rows_and_the_sides_do_not_matter(self, said: list[Any], data: st.DataObject) -> None:
        rows = []
        for pair, (first, second, swap) in enumerate(said):
            rows.append(row("ann", 2 * pair, 2 * pair + 1, first))
            a, b = (2 * pair + 1, 2 * pair) if swap else (2 * pair, 2 * pair + 1)
            rows.append(row("ann", a, b, SWAPPED[second] if swap else second, "repeat"))
        found = repeat_consistency(Judgments(data.draw(st.permutations(rows))))
        assert found.overall.count == sum(first == second for first, second, _ in said)
        assert found.overall.of == len(said)
        assert len(found.differing) == found.overall.of - found.overall.count


class TestSides:
    def test_the_left_is_counted_by_judge(self) -> None:
        rows = [row("ann", 1, b, "a_at_least_b") for b in range(2, 12)]
        rows += [row("bea", 1, b, "b_at_least_a") for b in range(2, 5)] + [row("bea", 1, 9, "same")]
        rows += [row("cal", 1, 9, "same"), row("bea", 2, 1, "a_at_least_b", "repeat")]
        found = position_bias(Judgments(rows))
        assert found.by_judge["ordered"].to_dict() == {"ann": 10, "bea": 3, "cal": 0}
        assert found.by_judge["left"].to_dict() == {"ann": 10, "bea": 0, "cal": 0}
        assert found.by_judge.loc["ann", "p_value"] == pytest.approx(2 / 2**10)
        assert found.by_judge["p_value"].isna().to_dict() == {"ann": False, "bea": False, "cal": True}
        assert (found.overall.count, found.overall.of) == (10, 13)
        assert found.p_value == pytest.approx(binomtest(10, 13).pvalue)
        assert "favour the left: 10 of 13, 77%" in str(found)
        assert "p = 0.092" in str(found)

    def test_swapping_all_sides_mirrors_it(self) -> None:
        rng = np.random.default_rng(0)
        rows = [row("ann", 0, b, str(rng.choice([*SWAPPED]))) for b in range(1, 40)]
        mirrored = [r | {"a": r["b"], "b": r["a"], "answer": SWAPPED[r["answer"]]} for r in rows]
        one, other = position_bias(Judgments(rows)), position_bias(Judgments(mirrored))
        assert one.overall.count + other.overall.count == one.overall.of == other.overall.of
        assert one.p_value == other.p_value

    def test_without_ordered_answers_nothing_can_show(self) -> None:
        found = position_bias(Judgments([row("ann", 1, 2, "same")]))
        assert np.isnan(found.p_value)
        assert str(found) == "Ordered answers: none, so a preference for one side cannot show."


def test_checks_that_failed_are_listed() -> None:
    rows = [
        row("ann", 1, 2, "same", "check"),
        row("ann", 3, 4, "a_at_least_b", "check", 2),
        row("bea", 1, 2, "same", "check"),
        row("cal", 1, 2, "no_constraint"),
    ]
    found = check_failures(Judgments(rows))
    assert found.by_judge["shown"].to_dict() == {"ann": 2, "bea": 1, "cal": 0}
    assert found.by_judge["failed"].to_dict() == {"ann": 1, "bea": 0, "cal": 0}
    assert found.failures.to_dict("records") == [{"judge": "ann", "a": 3, "b": 4, "answer": "a_at_least_b", "round": 2}]
    assert str(found) == "Checks not answered 'same': 1 of 3, 33% (95% interval 6% to 79%)."
    assert str(check_failures(Judgments(rows[3:]))) == "Checks: none were shown."


def test_judges_of_whom_nothing_is_known_still_have_a_row() -> None:
    judgments = Judgments([row("ann", 1, 2, "same")])
    for found in (repeat_consistency(judgments), position_bias(judgments), check_failures(judgments)):
        assert found.by_judge.index.tolist() == ["ann"]
        assert found.by_judge.iloc[:, 0].tolist() == [0]
    assert repeat_consistency(Judgments([])).by_judge.empty
    assert isinstance(position_bias(Judgments([])).by_judge, pd.DataFrame)
