"""Honoured, given up, asks nothing: the one definition."""

from __future__ import annotations

import numpy as np

from fairwise.constraints.status import status_of


def test_a_judgment_is_honoured_up_to_gamma_and_the_precision_of_a_fit() -> None:
    answer = np.array(["same", "a_at_least_b", "b_at_least_a", "same", "no_constraint"], dtype=object)
    violation = np.array([0.0, 0.1 + 5e-7, 0.1 + 5e-6, 1.0, 0.0])
    expected = ["honoured", "honoured", "given up", "given up", "asks nothing"]
    assert status_of(answer, violation, 0.1).tolist() == expected
