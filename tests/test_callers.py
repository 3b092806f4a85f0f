"""Warnings point to the line that called this package."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor, frontier
from fairwise.auditing import held_out

if TYPE_CHECKING:
    from collections.abc import Callable

N = 16
PEOPLE = pd.DataFrame({"x": np.arange(N) % 5.0, "z": np.arange(N) % 3.0, "town": list("ab" * (N // 2))})
OUTCOME = pd.Series(np.arange(N) % 2, PEOPLE.index)
JUDGMENTS = Judgments([{"judge": "j", "a": a, "b": a + 3, "answer": "same"} for a in range(6)], people=PEOPLE)
MODEL = PairwiseFairClassifier("tree", max_depth=1).fit(PEOPLE, OUTCOME, judgments=JUDGMENTS)
ELSEWHERE = PEOPLE.assign(town="elsewhere")


def hurried(**settings: Any) -> PairwiseFairClassifier:
    return PairwiseFairClassifier("tree", gamma=0.0, time_limit=1e-9, **settings)


CALLS: dict[str, Callable[[], object]] = {
    "fit": lambda: hurried().fit(PEOPLE, OUTCOME, judgments=JUDGMENTS),
    "fit amounts": lambda: PairwiseFairRegressor(time_limit=1e-9, grid=3).fit(
        PEOPLE, OUTCOME * 2.0, judgments=JUDGMENTS
    ),
    "predict": lambda: MODEL.predict(ELSEWHERE),
    "predict_proba": lambda: MODEL.predict_proba(ELSEWHERE),
    "predict_value": lambda: (
        PairwiseFairClassifier("tree", favorable_label=1).fit(PEOPLE, OUTCOME).predict_value(ELSEWHERE)
    ),
    "held_out": lambda: held_out(hurried(), PEOPLE, OUTCOME, JUDGMENTS, n_repeats=1),
    "frontier": lambda: frontier(
        PEOPLE, OUTCOME, JUDGMENTS, gammas=[0.1], model=PairwiseFairClassifier("tree", judge_budgets=0.1)
    ),
    "fit a column": lambda: MODEL.fit(PEOPLE, OUTCOME.to_frame(), judgments=JUDGMENTS),
    "fit blocks": lambda: PairwiseFairClassifier("linear-regression").fit(
        [PEOPLE.assign(y=OUTCOME)], "y", judgments=Judgments([])
    ),
    "read numbers as categories": lambda: PairwiseFairClassifier("tree").fit(
        PEOPLE.assign(x=["?", *"123456789012345"]), OUTCOME
    ),
    "explain": lambda: MODEL.explain(ELSEWHERE.iloc[[0]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_to_the_caller(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught or name in ("held_out", "frontier")
    assert {warning.filename for warning in caught} <= {__file__}
