"""A frontier of amounts: in units of the loss, and at each point what a fit with that gamma and eta finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.sums import Sums

from fairwise import PairwiseFairClassifier, PairwiseFairRegressor
from fairwise.auditing import frontier
from fairwise.auditing.frontier import Curve
from fairwise.errors import InputError

GAMMAS = (0.0, 0.1, 1.0)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_each_point_is_what_a_fit_there_finds(sums: Sums, loss: str) -> None:
    model = PairwiseFairRegressor(max_depth=1, loss=loss, outcome_range=(0, 600), larger_is_better=True, grid=9)
    curve = frontier(sums.people, sums.outcome, sums.judgments, gammas=GAMMAS, etas=[0.0, 0.01], model=model)
    unit = 600.0**2 if loss == "squared" else 600.0
    for row in curve.to_dict("records"):
        own = PairwiseFairRegressor(**{**model.get_params(), "gamma": row["gamma"], "eta": row["eta"]})
        own.fit(sums.people, sums.outcome, judgments=sums.judgments)
        proved = own.certificate_
        # Each is proved to be within tol of the best.
        assert row["error"] == pytest.approx(proved.error, abs=2e-4 * unit)
        assert row["lower_bound"] <= proved.error + 1e-6 * unit
        assert proved.lower_bound <= row["error"] + 1e-6 * unit
        assert row["max_violation"] <= row["gamma"] + 1e-6 or row["eta"] > 0
        assert row["mean_excess"] <= row["eta"] + 1e-6
        assert row["mean_error"] <= row["error"] + 1e-6 * unit
        assert 0 <= row["error_low"] < row["error"] < row["error_high"] <= unit
    at_eta_0 = curve[curve["eta"] == 0]
    assert at_eta_0["error"].is_monotonic_decreasing


def test_a_point_says_of_groups_what_its_model_predicts(sums: Sums) -> None:
    weights = np.where(sums.people["town"] == "Aix", 2.0, 1.0)
    weights[:3] = 0.0  # whom nobody counts
    model = PairwiseFairRegressor(gamma=0.1, max_depth=1, outcome_range=(0, 600), larger_is_better=False, grid=9)
    model.fit(sums.people, sums.outcome, judgments=sums.judgments, sample_weight=weights)
    more: dict[str, Any] = {"sample_weight": weights, "groups": sums.people["town"], "start": model}
    row = frontier(sums.people, sums.outcome, sums.judgments, gammas=[0.1], model=model, **more).iloc[0]
    given = model.predict(sums.people)
    assert row["error"] == pytest.approx(model.certificate_.error, abs=1e-4 * 600**2)
    if row["error"] == pytest.approx(model.certificate_.error, rel=1e-9):  # the same mixture, so the same means
        assert row["mean_error"] == pytest.approx(model.certificate_.mean_error)
    for town in ("Aix", "Bonn"):
        here = (sums.people["town"] == town).to_numpy()
        assert row[f"amount {town}"] == pytest.approx(np.average(given[here], weights=weights[here]), rel=0.05)
        assert row[f"value {town}"] == pytest.approx(1 - row[f"amount {town}"] / 600)


def test_judges_alone_and_least_squares(sums: Sums) -> None:
    model = PairwiseFairRegressor("linear-regression", outcome_range=(0, 600), larger_is_better=True, grid=9)
    curve = frontier(sums.people, sums.outcome, sums.judgments, gammas=[0.0, 1.0], by="judge", model=model)
    assert set(curve["judge"]) == set(sums.judgments.judges)
    assert curve["error"].between(1.0, 600**2).all()
    assert curve["lower_bound"].isna().all()


def test_a_curve_of_amounts_belongs_to_its_model_alone(sums: Sums) -> None:
    model = sums.model
    curve = frontier(sums.people, sums.outcome, sums.judgments, gammas=GAMMAS, model=model)
    own = Curve.of(curve, model, n_people=len(sums.people))
    assert own.chosen is not None
    assert own.chosen.error == model.certificate_.error
    assert own.chosen.low < own.chosen.error < own.chosen.high
    halved = curve.assign(error=curve["error"] / 2, lower_bound=curve["lower_bound"] / 2)
    with pytest.raises(InputError, match="cannot be of the people"):
        Curve.of(halved, model)


def test_what_cannot_be_asked(sums: Sums) -> None:
    given = (sums.people, sums.outcome, sums.judgments)
    with pytest.raises(InputError, match="leave max_depth= out"):
        frontier(*given, model=sums.model, max_depth=1)
    with pytest.raises(InputError, match="grid=1 is not allowed"):
        frontier(*given, model=PairwiseFairRegressor(grid=1))
    with pytest.raises(InputError, match="larger amount is better"):
        frontier(*given, gammas=[0.1], model=PairwiseFairRegressor())


def test_a_model_gives_its_settings_to_labels_too(sums: Sums) -> None:
    yes = (sums.outcome > 300).astype(int)
    settings: dict[str, Any] = {"estimator": "tree", "max_depth": 1, "favorable_label": 1}
    named = frontier(sums.people, yes, sums.judgments, gammas=GAMMAS, **settings)
    of_model = frontier(sums.people, yes, sums.judgments, gammas=GAMMAS, model=PairwiseFairClassifier(**settings))
    pd.testing.assert_frame_equal(named, of_model)
