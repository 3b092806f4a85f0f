"""How many judges: the formula, and simulated studies that agree with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.auditing import judge_correlation, plan
from fairwise.auditing.plan import design_effect
from fairwise.errors import InputError


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5, 1.0])
def test_simulated_studies_agree_with_the_formula(correlation: float) -> None:
    table = plan([40, 160], [10, 50], correlation=correlation, n_simulations=2000)
    assert table["simulated_half_width"].to_numpy() == pytest.approx(table["half_width"].to_numpy(), rel=0.1)


def test_the_design_effect() -> None:
    assert design_effect(50, 0) == 1
    assert design_effect(50, 1) == 50
    line = plan(20, 50, correlation=0.2, n_simulations=0).iloc[0]
    assert line["answers"] == 1000
    assert line["independent_answers"] == pytest.approx(1000 / 10.8)
    assert np.isnan(line["simulated_half_width"])


def test_the_judges_needed_are_just_enough() -> None:
    needed = int(plan(pairs=25, wanted=0.04, n_simulations=0)["judges"].iloc[0])
    table = plan([needed - 1, needed], 25, wanted=0.04, n_simulations=0)
    assert table["enough"].tolist() == [False, True]
    assert table["half_width"].iloc[1] <= 0.04 < table["half_width"].iloc[0]
    assert table["judges_needed"].tolist() == [needed, needed]


def test_more_pairs_help_less_and_less() -> None:
    table = plan(pairs=[1, 10, 100, 1000], correlation=0.1, n_simulations=0)
    assert table["judges"].is_monotonic_decreasing
    assert table["judges"].iloc[-1] > 0.1 * table["judges"].iloc[0] - 1  # rho of the judges remain needed


def test_the_guarantee_counts_judges_only() -> None:
    table = plan(43, [1, 50], n_simulations=0)
    assert table["guaranteed_half_width"].iloc[0] == table["guaranteed_half_width"].iloc[1]
    assert (table["guaranteed_half_width"] > table["half_width"]).all()


def test_a_study_of_ones_own_is_simulated() -> None:
    table = plan(
        10, 5, simulate=lambda judges, pairs, rng: float(rng.random() * judges * pairs / 50), n_simulations=4000
    )
    assert table["simulated_half_width"].iloc[0] == pytest.approx(0.475, abs=0.02)


def test_correlation_is_recovered_from_a_pilot_study() -> None:
    rng = np.random.default_rng(0)
    rates = rng.beta(0.25 * 4, 0.75 * 4, 400)  # correlation 1 / (1 + 4)
    judge = np.repeat(np.arange(400), 20)
    pilot = pd.DataFrame({"judge": judge, "excess": (rng.random(8000) < rates[judge]).astype(float)})
    assert judge_correlation(pilot) == pytest.approx(0.2, abs=0.04)
    alike = pilot.assign(excess=pilot["judge"] / 400)
    assert judge_correlation(alike) == pytest.approx(1.0)
    assert judge_correlation(pilot.assign(excess=0.0)) == 0.0
    unlike = pilot.assign(excess=np.tile([0.0, 1.0], 4000))
    assert judge_correlation(unlike) == 0.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"judges": 0}, "judges=0 is not allowed: it must be a whole number of at least 1"),
        ({"pairs": [10, 2.5]}, "pairs=2.5"),
        ({"wanted": 0}, "wanted=0"),
        ({"rate": 1}, "rate=1"),
        ({"correlation": 1.1}, "correlation=1.1"),
        ({"confidence": 95}, "confidence=95"),
        ({"n_simulations": -1}, "n_simulations=-1"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**changed)


def test_one_judge_has_no_correlation() -> None:
    with pytest.raises(InputError, match="at least two judges"):
        judge_correlation(pd.DataFrame({"judge": [1, 1], "excess": [0.1, 0.2]}))
