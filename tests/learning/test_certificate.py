"""The certificate says what was measured and what was proved, and never more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairwise.constraints.pairs import PairRows
from fairwise.learning.certificate import Certificate, certify
from fairwise.learning.multipliers import Multipliers
from fairwise.learning.oracles.finite import ListedClassifiers
from fairwise.learning.result import Solution

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.judgments import Judgments


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
    )


def certificate(solution: Solution, pairs: PairRows, eta: float | None = 0.02) -> Certificate:
    level = {"x": 0.2, "y": 0.5, "z": 0.9}
    favorable = np.array([level[person] for person in pairs.people])
    return certify(solution, pairs, error=0.3, favorable=favorable, gamma=0.1, eta=eta, weighting="answers")


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
    found = certify(solution, none, error=0.3, favorable=np.empty(0), gamma=0.1, eta=0.0, weighting="panel")
    assert (found.max_violation, found.mean_violation, found.mean_excess) == (0.0, 0.0, 0.0)
