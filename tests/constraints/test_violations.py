"""One definition of violation, excess and followed, for one pair and for many, and whole numbers that add up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairwise.auditing import audit
from fairwise.constraints.violations import (
    Treatment,
    TreatmentStatus,
    excess,
    is_followed,
    status_counts,
    status_of,
    violation,
)
from fairwise.judgments import Answer, Judgments

shares = st.floats(0, 1) | st.sampled_from([0.0, 0.005, 0.015, 0.495, 0.5, 0.505, 0.985, 0.995, 1.0])
treatments = st.builds(Treatment, st.sampled_from(Answer), shares, shares, shares)


@pytest.mark.parametrize(
    ("answer", "good_a", "good_b", "violation"),
    [
        (Answer.A_AT_LEAST_B, 0.4, 0.52, 0.12),
        (Answer.A_AT_LEAST_B, 0.52, 0.4, 0.0),
        (Answer.B_AT_LEAST_A, 0.52, 0.4, 0.12),
        (Answer.B_AT_LEAST_A, 0.4, 0.52, 0.0),
        (Answer.SAME, 0.4, 0.52, 0.12),
        (Answer.SAME, 0.52, 0.4, 0.12),
        (Answer.NO_CONSTRAINT, 0.0, 1.0, 0.0),
    ],
)
def test_by_how_much_an_answer_is_violated(answer: Answer, good_a: float, good_b: float, violation: float) -> None:
    assert Treatment(answer, good_a, good_b, 0.1).violation == pytest.approx(violation)


def test_gamma_decides_only_what_is_let_pass() -> None:
    two = (Answer.SAME, 0.4, 0.52)
    assert [Treatment(*two, gamma).violation for gamma in (0.0, 0.1, 0.3)] == pytest.approx([0.12] * 3)
    assert [Treatment(*two, gamma).excess for gamma in (0.0, 0.1, 0.3)] == pytest.approx([0.12, 0.02, 0.0])
    statuses = [Treatment(*two, gamma).status for gamma in (0.0, 0.1, 0.12, 0.3)]
    assert statuses == [
        TreatmentStatus.NOT_FOLLOWED,
        TreatmentStatus.NOT_FOLLOWED,
        TreatmentStatus.NEARLY,
        TreatmentStatus.NEARLY,
    ]
    assert Treatment(Answer.SAME, 0.4, 0.4, 0.0).status == TreatmentStatus.KEPT


@given(treatments)
def test_sides_do_not_matter(one: Treatment) -> None:
    other = Treatment(one.answer.swapped(), one.good_b, one.good_a, one.gamma)
    assert (other.violation, other.excess, other.status) == (one.violation, one.excess, one.status)
    assert other.in_hundred == one.in_hundred[::-1]


@given(treatments)
@example(Treatment(Answer.SAME, 1.0, 0.995, 0.0))
def test_whole_numbers_say_what_is_the_case_and_add_up(one: Treatment) -> None:
    a, b = one.in_hundred
    assert abs(a - b) == one.more_in_hundred
    assert 0 <= min(a, b) <= max(a, b) <= 100
    assert abs(a - 100 * one.good_a) <= 1
    assert abs(b - 100 * one.good_b) <= 1
    assert abs(one.more_in_hundred - 100 * abs(one.good_a - one.good_b)) <= 0.5 + 1e-9


def test_a_judgment_is_followed_up_to_gamma_and_the_precision_of_a_fit() -> None:
    answer = np.array(["same", "a_at_least_b", "b_at_least_a", "same", "no_constraint"], dtype=object)
    violations = np.array([0.0, 0.1 + 5e-7, 0.1 + 5e-6, 1.0, 0.0])
    status = status_of(answer, violations, 0.1)
    assert status.tolist() == ["followed", "followed", "not followed", "not followed", "asks nothing"]
    assert status_counts(status) == {"followed": 2, "not_followed": 2, "asks_nothing": 1}


def test_numbers_and_arrays_are_measured_alike() -> None:
    reference, owed = np.array([0.8, 0.5, 0.6]), np.array([0.5, 0.8, 0.55])
    violations = violation(reference, owed)
    assert violations == pytest.approx([0.3, 0.0, 0.05])
    assert excess(violations, 0.1) == pytest.approx([0.2, 0.0, 0.0])
    assert is_followed(violations, 0.1).tolist() == [False, True, True]
    for k in range(3):
        assert violation(float(reference[k]), float(owed[k])) == violations[k]
        assert excess(float(violations[k]), 0.1) == excess(violations, 0.1)[k]
        assert bool(is_followed(float(violations[k]), 0.1)) == bool(is_followed(violations, 0.1)[k])


@pytest.mark.parametrize("favorable_label", [0, 1])
def test_an_audit_measures_the_same(favorable_label: int) -> None:
    generator = np.random.default_rng(7)
    people = [f"person {k}" for k in range(30)]
    good = pd.Series(generator.uniform(size=30), index=people)
    pairs = [generator.choice(people, 2, replace=False) for _ in range(60)]
    said = [list(Answer)[k % 4] for k in range(60)]
    rows = [(f"p{k}", a, b, str(answer)) for k, ((a, b), answer) in enumerate(zip(pairs, said, strict=True))]
    table = pd.DataFrame(rows, columns=["judge", "a", "b", "answer"])
    scores = good if favorable_label else 1 - good
    measured = audit(scores, Judgments(table), gamma=0.1, favorable_label=favorable_label).by_judge
    measured = measured.set_index("judge")
    for judge, a, b, answer in rows:
        mine = Treatment(Answer(answer), good[a], good[b], 0.1)
        if mine.status != TreatmentStatus.ASKS_NOTHING:
            assert measured.loc[judge, "max_violation"] == pytest.approx(mine.violation), (judge, answer)
