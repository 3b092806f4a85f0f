"""What holds for the labels of two people that are drawn by one number."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from fairwise.learning.model import predictions


def test_shared_draws_of_several_labels_keep_what_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the least mean difference over all joint draws, by a linear programme of the test's own."""
    rng = np.random.default_rng(0)
    more_often = 0
    for _ in range(200):
        k = int(rng.integers(2, 6))
        classes = np.arange(k)
        values = dict(zip(classes.tolist(), rng.choice([0.0, 0.2, 0.5, 1.0], size=k).tolist(), strict=True))
        value = np.array([values[label] for label in classes.tolist()])
        chances = rng.dirichlet(np.ones(k), size=2).round(2)
        chances[:, 0] += 1.0 - chances.sum(axis=1)
        order = predictions.best_first(values, classes)
        others = chances[:, 1] if k == 2 else chances[:, 1:]
        ends = np.unique(np.clip([0.0, 1.0, *np.cumsum(chances[:, order], axis=1).ravel(), *chances.ravel()], 0.0, 1.0))
        differ, distance, reached = 0.0, 0.0, np.zeros((2, k))
        for low, high in pairwise(ends):
            number = (low + high) / 2
            monkeypatch.setattr(predictions, "uniforms", lambda keys, number=number: np.full(len(keys), number))
            one, other = predictions.draw_labels(np.zeros((2, 1)), 0, "shared", others, order)
            differ += (high - low) * (one != other)
            distance += (high - low) * abs(value[one] - value[other])
            reached[0, one] += high - low
            reached[1, other] += high - low
        assert reached == pytest.approx(chances, abs=1e-9)
        costs = np.abs(value[:, None] - value[None, :]).ravel()
        sums = np.concatenate([np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))])
        least = linprog(costs, A_eq=sums[:-1], b_eq=chances.ravel()[:-1]).fun
        assert distance == pytest.approx(least, abs=1e-7)
        levels = np.unique(value)[1:]
        gaps = [chances[0, value >= level].sum() - chances[1, value >= level].sum() for level in levels]
        assert distance == pytest.approx(float(np.abs(gaps) @ np.diff(np.unique(value))), abs=1e-9)
        mean_gap = abs(float((chances[0] - chances[1]) @ value))
        if not gaps or min(gaps) >= 0 or max(gaps) <= 0:
            assert distance == pytest.approx(mean_gap, abs=1e-9)
        if k == 2:
            assert differ == pytest.approx(abs(others[0] - others[1]), abs=1e-9)
        more_often += differ > mean_gap + 0.01
    assert more_often > 50  # as the documentation says of more than two labels
