"""An audit says what was asked and what happens, in words anyone can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fairwise.auditing import audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.judgments import Judgments

    Said = Callable[..., Judgments]


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
