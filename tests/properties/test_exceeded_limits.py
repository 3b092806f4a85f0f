"""A certificate warns of exactly those limits that were asked for and are exceeded by more than ``tol``.

Measured from what a model gives people, by definitions written out anew; no row or budget of the package takes part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity

from fairwise import Judgments, LargeTable, PairwiseFairClassifier
from fairwise.learning.large import passes

pytestmark = pytest.mark.filterwarnings("ignore")

PLAYED: dict[str, Any] = {"solver": "no-regret", "n_rounds": 15}
WORDS = {
    "gamma": "the largest violation of a pair is",
    "eta": "the mean excess is",
    "judges": "budgets of judges are overspent",
    "groups": "rules about groups are broken",
}
BOUND = 0.05


class Asked:
    """Random people, answers and limits."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = 50
        self.people = pd.DataFrame({"x": rng.normal(size=n).round(1), "z": rng.integers(0, 4, n)})
        self.group = pd.Series(rng.choice(["f", "m"], n), name="group")
        chance = self.people["x"] + (self.group == "f") + rng.normal(size=n)
        self.outcome = pd.Series((chance > 0.5).astype(int), name="paid")
        pairs = sorted({tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(10)})
        kinds = rng.choice(["same", "a_at_least_b", "no_constraint"], len(pairs), p=[0.6, 0.3, 0.1])
        judges = rng.choice(["u", "v"], len(pairs))
        self.said = pd.DataFrame(pairs, columns=["a", "b"]).assign(answer=kinds, judge=judges)
        self.gamma, self.tol = float(rng.choice([0.0, 0.05, 0.2])), float(rng.choice([1e-4, 0.03]))
        self.eta = [0.0, 0.02, 0.1, None][rng.integers(4)]
        self.budgets: Any = [None, 0.0, 0.03, {"u": 0.01}][rng.integers(4)]
        self.settings: dict[str, Any] = {
            "gamma": self.gamma,
            "eta": self.eta,
            "judge_budgets": self.budgets,
            "favorable_label": 1,
            "tol": self.tol,
        }
        self.groups = bool(rng.integers(2))
        if self.groups:
            self.settings["group_constraints"] = [DemographicParity(difference_bound=BOUND)]

    def in_memory(self, estimator: str, **settings: Any) -> PairwiseFairClassifier:
        model = PairwiseFairClassifier(estimator, **self.settings, **settings)
        sensitive = self.group if self.groups else None
        said = Judgments(self.said, people=self.people)
        return model.fit(self.people, self.outcome, judgments=said, sensitive_features=sensitive)

    def in_blocks(self) -> PairwiseFairClassifier:
        frame = self.people.assign(group=self.group, paid=self.outcome)
        table = LargeTable([frame], outcome="paid", groups="group", columns=["x", "z"])
        model = PairwiseFairClassifier("linear-regression", **self.settings, **PLAYED)
        return model.fit(table, None, judgments=Judgments(self.said))

    def exceeded(self, model: PairwiseFairClassifier) -> dict[str, float]:
        """By how much each kind of limit is exceeded, at most; below 0 where it is kept."""
        given = model.predict_proba(self.people)[:, 1]
        ahead = given[self.said["b"]] - given[self.said["a"]]
        one_sided = np.where(self.said["answer"] == "no_constraint", 0.0, np.maximum(ahead, 0.0))
        violation = np.where(self.said["answer"] == "same", np.abs(ahead), one_sided)
        excess = np.maximum(violation - self.gamma, 0.0)
        judge = self.said["judge"].to_numpy()
        limits = self.budgets if isinstance(self.budgets, dict) else dict.fromkeys(np.unique(judge), self.budgets)
        limits = {one: limit for one, limit in limits.items() if limit is not None and (judge == one).any()}
        hard = np.full(len(self.said), self.eta == 0.0) | np.isin(judge, [one for one in limits if limits[one] == 0])
        rates = [abs(given[self.group == group].mean() - given.mean()) for group in "fm"]
        return {
            "gamma": float((violation - self.gamma)[hard].max(initial=-1.0)),
            "eta": -1.0 if self.eta is None else excess.mean() / 2 - self.eta,
            "judges": max([excess[judge == one].mean() / 2 - limit for one, limit in limits.items()], default=-1.0),
            "groups": max(rates) - BOUND if self.groups else -1.0,
        }


@pytest.mark.parametrize("seed", range(240))
def test_it_warns_of_what_is_exceeded_and_of_nothing_else(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ROWS", 16)
    asked = Asked(seed)
    kind = seed % 6
    if kind == 0:
        models = [asked.in_blocks()]
    elif kind in (1, 2):
        models = [asked.in_memory(["linear-regression", "tree"][kind - 1], **PLAYED)]
    else:
        model = asked.in_memory(
            ["tree", "linear-regression", "tree"][kind - 3], max_classifiers=[None, None, 1][kind - 3]
        )
        models = [model, model.simplify(max_classifiers=2), model.derandomize()]
    for model in models:
        said = [warning for warning in model.certificate_.warnings if warning.startswith("A limit is exceeded: ")]
        for name, by in asked.exceeded(model).items():
            if abs(by - asked.tol) > 1e-9:
                assert any(WORDS[name] in warning for warning in said) == (by > asked.tol), (name, by, said)


def test_a_fit_warns_although_its_oracle_proves_all_it_says() -> None:
    asked = Asked(2)
    asked.settings |= {"eta": 0.0, "gamma": 0.0, "tol": 1e-4}
    with pytest.warns(UserWarning, match="A limit is exceeded: the largest violation of a pair is .* above gamma = 0"):
        model = asked.in_memory("tree", solver="no-regret", nu=0.5)
    assert (model.certificate_.kind, model.certificate_.stopped) == ("exact", "gap")
