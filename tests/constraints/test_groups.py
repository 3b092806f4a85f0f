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
    UtilityParity,
)

from fairwise.constraints.groups import GroupRows, parity_moments
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


class OfMyOwn(EqualizedOdds):  # type: ignore[misc]
    """Tells everyone over 0 from the others besides, by a column of the table."""

    def load_data(self, X: Any, y: Any, *, sensitive_features: Any, **_: Any) -> None:
        events = pd.Series(np.where(X["x"] > 0, "over", "under"), index=y.index)
        UtilityParity.load_data(self, X, y, sensitive_features=sensitive_features, event=events)


def test_what_a_moment_of_ones_own_looks_at_is_its_own_business() -> None:
    table, labels, groups = people()
    rows = GroupRows.from_moments([OfMyOwn(difference_bound=0.1)], table, labels, groups)
    h = np.random.default_rng(1).random(60)
    over, in_a = table["x"].to_numpy() > 0, groups.to_numpy() == "a"
    (place,) = [place for place, name in enumerate(rows.names) if name.endswith("+ over a")]
    assert rows.matrix[place] @ h == pytest.approx(h[over & in_a].mean() - h[over].mean())


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


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: f"{type(moment).__name__}-{moment.ratio}")
def test_rows_on_points_have_the_values_of_rows_on_people(moment: Any) -> None:
    table, labels, groups = people()
    rng = np.random.default_rng(2)
    weights, point, h = rng.random(60), rng.integers(0, 10, 60), rng.random(12)
    one_by_one = GroupRows.from_moments([moment], table, labels, groups, weights)
    on_points = GroupRows.from_moments([moment], table, labels, groups, weights, point=point, n_points=12)
    assert on_points.matrix @ h == pytest.approx(one_by_one.matrix @ h[point], abs=1e-12)
    assert np.array_equal(on_points.limits, one_by_one.limits)


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: f"{type(moment).__name__}-{moment.ratio}")
@pytest.mark.parametrize("seed", range(5))
def test_a_weight_is_that_many_people(moment: Any, seed: int) -> None:
    """Also a weight of 0, of everyone in a group; and twice every weight changes nothing."""
    table, labels, groups = people()
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 4, 60)
    times[groups.to_numpy() == "c"] *= seed % 2
    weighted = GroupRows.from_moments([moment], table, labels, groups, times.astype(float))
    again = np.repeat(np.arange(60), times)
    repeated = GroupRows.from_moments(
        [moment], table.iloc[again], labels[again], groups.iloc[again], point=again, n_points=60
    )
    assert weighted.names == repeated.names
    assert np.array_equal(weighted.matrix, repeated.matrix)  # to the last bit, so that ties are broken alike
    assert np.array_equal(weighted.limits, repeated.limits)
    scaled = GroupRows.from_moments([moment], table, labels, groups, 0.3 * times.astype(np.float64))
    assert scaled.matrix == pytest.approx(weighted.matrix, abs=1e-12)
    assert scaled.limits == pytest.approx(weighted.limits, abs=1e-12)
    h = rng.random(60)
    assert weighted.matrix @ h == pytest.approx(
        GroupRows.from_moments([moment], table.iloc[again], labels[again], groups.iloc[again]).matrix @ h[again],
        abs=1e-12,
    )


@pytest.mark.parametrize("given", ["DemographicParity", [DemographicParity], [object()]])
def test_anything_but_parity_moments_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="Give fairlearn's parity moments"):
        parity_moments(given)


def test_one_moment_need_not_be_a_list() -> None:
    moment = DemographicParity(difference_bound=0.1)
    assert parity_moments(moment) == {None: [moment]}
    assert parity_moments({"deny": moment, "release": []}) == {"deny": [moment]}
    assert parity_moments(None) == parity_moments([]) == {}
