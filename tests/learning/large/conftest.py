"""A crowd that is read in small blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from tests.support.crowds import Crowd

from fairwise.learning.large import passes

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ROWS", 64)


@pytest.fixture
def make_crowd(small_blocks: None) -> Callable[..., Crowd]:  # noqa: ARG001
    def make(seed: int = 0, n: int = 700) -> Crowd:
        rng = np.random.default_rng(seed)
        people = pd.DataFrame(
            {
                "age": rng.integers(18, 70, size=n),
                "born": rng.integers(0, 10**6, size=n) + 1e9,  # a large number that hardly varies
                "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 1, size=n).round(1)),
                "city": np.array(["Ulm", "Bonn", "Kiel", None])[rng.choice(4, size=n, p=[0.5, 0.3, 0.1, 0.1])],
                "member": rng.random(n) < 0.5,
            },
            index=pd.Index(rng.permutation(n) + 100, name="id"),
        )
        people.loc[people.index[: n - 60], "rare"] = 1.0  # missing in the last block only
        people.loc[people.index[-1], "city"] = "Rom"  # a category that only the last block has
        people["rare"] = people["rare"] + people["member"]
        chance = 0.2 + 0.5 * (people["age"] > 40) + 0.2 * (people["city"] == "Ulm")
        outcome = pd.Series((rng.random(n) < chance).astype(int), index=people.index, name="paid")
        pairs = {tuple(sorted(pair)) for pair in rng.choice(people.index, size=(80, 2)).tolist() if pair[0] != pair[1]}
        kinds = ["same", "a_at_least_b", "no_constraint"]
        said = [
            {"judge": f"j{i % 3}", "a": a, "b": b, "answer": kinds[rng.choice(3, p=[0.7, 0.2, 0.1])]}
            for i, (a, b) in enumerate(sorted(pairs))
        ]
        return Crowd(people, outcome, pd.DataFrame(said))

    return make
