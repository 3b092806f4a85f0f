"""The certificate says what was measured and what was proved, and never more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.finite_oracle import ListedClassifiers

from fairwise.constraints.pairs import PairRows
from fairwise.learning.model.mixture import certify
from fairwise.learning.solvers.solution import Multipliers, Solution
from fairwise.learning.target import LabelTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.judgments import Judgments
    from fairwise.results.certificate import Certificate

TWO_LABELS = LabelTarget(np.array([0, 1]), 1.0 - np.eye(2))


@pytest.fixture
def pairs(said: Callable[..., Judgments]) -> PairRows:
    return PairRows.from_judgments(
        said(("ann", "x", "y", "same", 3.0), ("bea", "x", "z", "a_at_least_b"), ("bea", "y", "z", "no_constraint"))
    )


@pytest.fixture
def solution() -> Solution:
    return Solution(
        classifiers=ListedClassifiers(np.zeros((1, 1), dtype=np.uint8)),
        weights=np.ones(1),
        error=0.3,
        multipliers=Multipliers(np.zeros(3), np.zeros(0)),
        bound=0.28,
        exact=True,
        hypothesis_class="stumps",
        oracle_calls=17,
        trajectory={},
        stopped="gap",
        plain_error=0.25,
    )


def certificate(solution: Solution, pairs: PairRows, eta: float | None = 0.02) -> Certificate:
    level = {"x": 0.2, "y": 0.5, "z": 0.9}
    favorable = np.array([level[person] for person in pairs.people])
    asked: dict[str, Any] = {"gamma": 0.1, "eta": eta, "weighting": "answers", "target": TWO_LABELS}
    return certify(solution, pairs, error=0.3, constant_error=0.45, favorable=favorable, **asked)


def test_it_measures_what_the_definitions_say(solution: Solution, pairs: PairRows) -> None:
    found = certificate(solution, pairs)
    assert found.max_violation == pytest.approx(0.7)  # x should get what z gets
    assert found.mean_violation == pytest.approx(0.3)  # of 'same' alone
    assert found.mean_excess == pytest.approx((3 * 0.2 + 1 * 0.6) / (2 * 5))
    assert (found.oracle_calls, found.hypothesis_class, found.gamma, found.eta) == (17, "stumps", 0.1, 0.02)


def test_a_proof_has_a_bound_and_a_gap(solution: Solution, pairs: PairRows) -> None:
    found = certificate(solution, pairs)
    assert found.kind == "exact"
    assert found.lower_bound == found.oracle_bound == 0.28
    assert found.gap == pytest.approx(0.02)


def test_a_search_has_neither(solution: Solution, pairs: PairRows) -> None:
    found = certificate(replace(solution, exact=False), pairs)
    assert found.kind == "heuristic"
    assert np.isnan(found.lower_bound)
    assert np.isnan(found.gap)
    assert found.oracle_bound == 0.28


def test_a_proof_reads_as_one(solution: Solution, pairs: PairRows) -> None:
    text = str(certificate(solution, pairs))
    assert "Proven lower bound             0.2800   (gap 2.0e-02)" in text
    assert "No mixture of stumps that keeps the rules can have a lower error." in text
    assert "Error on the training people   0.3000" in text
    assert "0.7000   (asked: gamma = 0.1)" in text
    assert "0.1200   (asked: eta = 0.02)" in text
    assert "17" in text


def test_a_search_never_reads_as_a_proof(solution: Solution, pairs: PairRows) -> None:
    text = str(certificate(replace(solution, exact=False), pairs, eta=None))
    assert "No proof of optimality: heuristic search over stumps." in text
    assert "found nothing below 0.2800; something better may exist" in text
    assert "Proven" not in text
    assert "can have a lower error" not in text
    assert "no panel budget" in text
    assert "nan" not in text


def test_without_pairs_there_is_nothing_to_violate(solution: Solution, said: Callable[..., Judgments]) -> None:
    none = PairRows.from_judgments(said())
    asked: dict[str, Any] = {"gamma": 0.1, "eta": 0.0, "weighting": "panel", "target": TWO_LABELS}
    found = certify(solution, none, error=0.3, constant_error=0.45, favorable=np.empty(0), **asked)
    assert (found.max_violation, found.mean_violation, found.mean_excess) == (0.0, 0.0, 0.0)
    assert "gamma" not in str(found)
    assert "violation" not in str(found)


def test_the_plain_model_and_the_constant_stand_beside_the_error(solution: Solution, pairs: PairRows) -> None:
    found = certificate(solution, pairs)
    assert (found.plain_error, found.constant_error) == (0.25, 0.45)
    assert "Least found without any rule 0.2500; one label for everyone 0.4500" in str(found)


@pytest.mark.parametrize("bound", [-0.3, 0.1, 0.3, 0.31, 2.0])
def test_what_a_search_found_nothing_below_is_between_0_and_its_error(
    solution: Solution, pairs: PairRows, bound: float
) -> None:
    found = certificate(replace(solution, exact=False, bound=bound), pairs)
    assert found.oracle_bound == min(max(bound, 0.0), 0.3)


@pytest.mark.parametrize("stopped", ["iterations", "time", "oracle", "interrupted"])
def test_a_search_that_ended_early_says_so(solution: Solution, pairs: PairRows, stopped: Any) -> None:
    found = certificate(replace(solution, stopped=stopped), pairs)
    assert found.stopped == stopped
    [warning] = found.warnings
    assert "up to 0.0200 of the error may be left to gain" in warning
    assert f"Warning: {warning}" in str(found)


def test_it_warns_where_one_label_for_everyone_decides(solution: Solution, pairs: PairRows) -> None:
    assert certificate(replace(solution, constant_weight=0.4), pairs).warnings == ()
    [warning] = certificate(replace(solution, constant_weight=0.9, exact=False), pairs).warnings
    assert "decides 90% of the time" in warning
