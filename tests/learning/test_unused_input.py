"""What has no effect on a fit is warned of, and a certificate speaks of rules only where there are any."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor
from fairwise.learning.settings import parity

EMPTY = "judgments holds no answer"
GROUPS = "sensitive_features has no effect without rules about groups"
BUDGETS = "judge_budgets has no effect without judgments"


@pytest.mark.slow
def test_a_fit_is_truthful_about_what_it_was_asked() -> None:
    rng = np.random.default_rng(0)
    seen: set[tuple[str, ...]] = set()
    for _ in range(200):
        n = int(rng.integers(8, 14))
        people = pd.DataFrame({"x": rng.integers(0, 3, n), "z": rng.integers(0, 3, n)})
        outcome = pd.Series(np.arange(n) % 2, people.index)
        answer = [{"judge": "j", "a": 0, "b": 1, "answer": str(rng.choice(["same", "no_constraint"]))}]
        measured = [{**answer[0], "design": "repeat"}]
        judgments = [None, Judgments([]), Judgments(measured, people=people), Judgments(answer, people=people)][
            rng.integers(4)
        ]
        groups = people["x"] > 0 if rng.random() < 0.5 and people["x"].gt(0).nunique() == 2 else None
        rules = [parity("dp", 0.5)] if groups is not None and rng.random() < 0.5 else None
        budgets = 0.5 if rng.random() < 0.5 else None
        amounts = rules is None and rng.random() < 0.3
        made: Any = PairwiseFairRegressor if amounts else PairwiseFairClassifier
        more: dict[str, Any] = {"grid": 3} if amounts else {"group_constraints": rules}
        model = made("tree", max_depth=1, max_thresholds=2, judge_budgets=budgets, **more)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(people, outcome, judgments=judgments, sensitive_features=groups)
        has_answers = judgments is not None and judgments.frame["design"].ne("repeat").any()
        expected = [
            *([EMPTY] if judgments is not None and not has_answers else []),
            *([GROUPS] if groups is not None and rules is None else []),
            *([BUDGETS] if budgets is not None and not has_answers else []),
        ]
        assert [str(one.message).startswith(text) for one, text in zip(caught, expected, strict=True)] == [
            True for _ in expected
        ]
        assert {one.filename for one in caught} <= {__file__}
        has_rules = rules is not None or (has_answers and answer[0]["answer"] == "same")
        assert ("keeps the rules" in str(model.certificate_)) == has_rules
        assert ("keeps the rules" in model.certificate_.proved_in_words()) == has_rules
        seen.add((*expected, str(has_rules)))
    assert len(seen) > 8


def test_the_table_may_be_read_in_blocks() -> None:
    block = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [0, 0, 1, 1]})
    with pytest.warns(UserWarning, match=EMPTY):
        PairwiseFairClassifier("linear-regression").fit([block], "y", judgments=Judgments([]))
