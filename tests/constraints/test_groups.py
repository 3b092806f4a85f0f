"""fairlearn's moments as rows: the same numbers as fairlearn's own gamma and bound, for any labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import (
    DemographicParity,
    EqualizedOdds,
    ErrorRateParity,
    FalsePositiveRateParity,
    TruePositiveRateParity,
)

from fairwise.constraints.groups import GroupRows, checked_moments
from fairwise.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas

MOMENTS = [
    DemographicParity(difference_bound=0.03),
    DemographicParity(ratio_bound=0.8, ratio_bound_slack=0.01),
    TruePositiveRateParity(difference_bound=0.02),
    FalsePositiveRateParity(ratio_bound=0.9),
    EqualizedOdds(difference_bound=0.05),
    ErrorRateParity(difference_bound=0.1),
]


def people(n: int = 60) -> tuple[pd.DataFrame, Any, pd.Series[Any]]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=n)}, index=np.arange(n) + 1000)
    return table, rng.integers(0, 2, n), pd.Series(rng.choice(["a", "b", "c"], n), index=table.index)


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: f"{type(moment).__name__}-{moment.ratio}")
def test_rows_are_fairlearns_own_numbers(moment: Any) -> None:
    table, labels, groups = people()
    rows = GroupRows.from_moments([moment], table, labels, groups)
    loaded = type(moment)(difference_bound=0.1)
    loaded.ratio, loaded.eps = moment.ratio, moment.eps
    loaded.load_data(table, pd.Series(labels), sensitive_features=groups)
    rng = np.random.default_rng(1)
    for h in (rng.integers(0, 2, 60), rng.random(60)):
        over = loaded.gamma(lambda _, h=h: h) - loaded.bound()
        assert np.allclose(rows.matrix @ h - rows.limits, over)


def test_the_given_moment_is_not_touched() -> None:
    table, labels, groups = people()
    moment = DemographicParity(difference_bound=0.03)
    for _ in range(2):
        GroupRows.from_moments([moment], table, labels, groups)
    assert not moment.data_loaded


def test_extremes_are_reached_and_never_passed() -> None:
    table, labels, groups = people()
    rows = GroupRows.from_moments([EqualizedOdds(difference_bound=0.1)], table, labels, groups)
    least, most = rows.extremes()
    for q in range(len(rows)):
        assert rows.matrix[q] @ (rows.matrix[q] > 0) == pytest.approx(most[q])
        assert rows.matrix[q] @ (rows.matrix[q] < 0) == pytest.approx(least[q])


def test_folding_keeps_every_value() -> None:
    table, labels, groups = people()
    rows = GroupRows.from_moments([DemographicParity(difference_bound=0.1)], table, labels, groups)
    point = np.random.default_rng(2).integers(0, 10, 60)
    h = np.random.default_rng(3).integers(0, 2, 10)
    assert np.allclose(rows.folded(point, 10).matrix @ h, rows.matrix @ h[point])


@pytest.mark.parametrize("given", ["DemographicParity", [DemographicParity], [object()]])
def test_anything_but_parity_moments_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="Give fairlearn's parity moments"):
        checked_moments(given)


def test_one_moment_need_not_be_a_list() -> None:
    moment = DemographicParity(difference_bound=0.1)
    assert checked_moments(moment) == [moment]
    assert checked_moments(None) == []
