"""Which thresholds trees are searched over where nobody says: all of a small table, the quantiles of a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.estimators import fit

from fairwise import PairwiseFairClassifier
from fairwise.datasets import load_adult, load_compas, load_german_credit
from fairwise.learning.preparation import prepare
from fairwise.simulation import Roles, simulate_panel

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from tests.learning.conftest import Town


def searched_over(load: Callable[[], tuple[pd.DataFrame, pd.Series]], **settings: Any) -> str:
    return prepare(PairwiseFairClassifier("tree", **settings).get_params(deep=False), *load()).oracle.hypothesis_class


def test_all_of_a_small_table_and_some_of_a_large_one() -> None:
    assert searched_over(load_compas) == "decision trees of depth 2 over all 132 thresholds of 14 columns"
    assert searched_over(load_compas, max_depth=4).endswith("over all 132 thresholds of 14 columns")
    assert searched_over(load_german_credit).endswith("over all 1068 thresholds of 61 columns")
    assert searched_over(load_adult).endswith("over 1200 of 22138 thresholds of 108 columns")
    assert searched_over(load_adult, max_thresholds=16).endswith("of 22138 thresholds of 108 columns")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_small_table_is_fitted_as_if_all_were_asked_for(town: Town, depth: int) -> None:
    usual = fit(town, estimator="tree", max_depth=depth)
    every = fit(town, estimator="tree", max_depth=depth, max_thresholds=None)
    assert usual.certificate_ == every.certificate_
    assert np.array_equal(usual.predict_proba(town.people), every.predict_proba(town.people))


@pytest.mark.slow
def test_adult_works_without_settings() -> None:
    people, outcome = load_adult()
    roles = Roles(demographics=("sex", "age", "race"), record=("education_level", "hours_per_week", "occupation"))
    judgments = simulate_panel(people, n_judges=20, n_pairs=50, answers="four", seed=1, roles=roles)
    model = PairwiseFairClassifier("tree", favorable_label=1).fit(people, outcome, judgments=judgments)
    found = model.certificate_
    assert found.hypothesis_class == "decision trees of depth 2 over 1200 of 22138 thresholds of 108 columns"
    assert (found.kind, found.stopped) == ("exact", "gap")
    assert found.max_violation <= 0.1 + 1e-6
    assert found.plain_error < found.error < found.constant_error + 1e-9
