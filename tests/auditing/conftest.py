"""A random panel and random scores, by seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.report_study import complete, found, study
from tests.support.sums import sums
from tests.support.three_decisions import tiers

from fairwise.judgments import Answer, Judgments

__all__ = ["complete", "found", "panel", "study", "sums", "tiers"]


@pytest.fixture(scope="session")
def panel() -> Callable[..., tuple[Judgments, pd.Series]]:
    """Judges about random pairs, weights and all four answers; and scores for everyone."""

    def make(seed: int, n_judges: int = 6, n_pairs: int = 8, n_people: int = 9, **more: Any) -> tuple[Judgments, Any]:
        rng = np.random.default_rng(seed)
        every = np.stack(np.triu_indices(n_people, k=1), axis=1)
        rows = [
            {"judge": f"j{judge}", "a": int(a), "b": int(b), "answer": str(answer), "weight": weight}
            for judge in range(n_judges)
            for (a, b), answer, weight in zip(
                rng.permuted(rng.choice(every, n_pairs, replace=False), axis=1),
                rng.choice([str(answer) for answer in Answer], n_pairs),
                rng.uniform(0.5, 2.0, n_pairs).round(2),
                strict=True,
            )
        ]
        scores = pd.Series(rng.random(n_people), index=range(n_people))
        return Judgments(rows, **more), scores

    return make
