"""One small study with everything in it, fitted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import load_compas
from fairwise.reporting import Findings, findings
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from collections.abc import Callable

GAMMAS = (0.0, 0.3, 1.0)


@pytest.fixture(scope="session")
def study() -> dict[str, Any]:
    """People, outcomes, judgments of judges with a relation, a fitted model, and a frontier by hand."""
    people, outcome = load_compas()
    people, outcome = people.iloc[:1000], outcome.iloc[:1000]
    simulated = simulate_panel(people, n_judges=6, n_pairs=20, answers="four", seed=0)
    relation = {judge: {"relation": "affected" if i < 2 else "expert"} for i, judge in enumerate(simulated.judges)}
    judgments = Judgments(simulated.frame, people=people, judge_attributes=relation)
    models = [
        PairwiseFairClassifier("tree", gamma=gamma, eta=0.01, favorable_label=0).fit(
            people, outcome, judgments=judgments
        )
        for gamma in GAMMAS
    ]
    curve = pd.DataFrame(
        [
            {
                "judge": "panel",
                "gamma": model.gamma,
                "eta": model.eta,
                "error": model.certificate_.error,
                "max_violation": model.certificate_.max_violation,
                "mean_violation": model.certificate_.mean_violation,
                "mean_excess": model.certificate_.mean_excess,
                "lower_bound": model.certificate_.lower_bound,
                "kind": model.certificate_.kind,
                "error_low": model.certificate_.error - 0.012,
                "error_high": model.certificate_.error + 0.012,
            }
            for model in models
        ]
    )
    return {"people": people, "outcome": outcome, "judgments": judgments, "model": models[1], "frontier": curve}


@pytest.fixture(scope="session")
def found(study: dict[str, Any]) -> Callable[..., Findings]:
    """Findings of the study; whatever is given replaces what the study has."""

    def make(**given: Any) -> Findings:
        settings = study | {"groups": ["race", "sex"], "simulated": True} | given
        return findings(**settings)

    return make


@pytest.fixture(scope="session")
def complete(found: Callable[..., Findings]) -> Findings:
    return found(question="Should these two be treated the same?", date="1 May 2026")


NASTY = "<script>alert(1)</script><b onclick='x' style=\"y\">$x$ 後藤"


@pytest.fixture(scope="session")
def nasty() -> Findings:
    """Text that would break a page, a figure or a layout, wherever text can come from."""
    people = pd.DataFrame(
        {NASTY: [1.5, 2, 3, 4, 5, 6, 7, 8], "a_very_long_column_name_" * 5: [NASTY] * 4 + ["ünïcødé"] * 4},
        index=pd.Index([NASTY, *"bcdefgh"], name="id"),
    )
    outcome = pd.Series([0, 0, 0, 0, 1, 1, 1, 1], index=people.index)
    judgments = Judgments(
        [
            {"judge": NASTY * 3, "a": NASTY, "b": "h", "answer": "same", "design": "uniform"},
            {"judge": "\x08$", "a": NASTY, "b": "h", "answer": "a_at_least_b", "design": "uniform"},
            {"judge": "q", "a": "b", "b": "c", "answer": "no_constraint", "design": NASTY},
        ],
        people=people,
        judge_attributes={"q": {NASTY: NASTY}},
    )
    model = PairwiseFairClassifier("tree", gamma=0.0, favorable_label=1, max_depth=1)
    model.fit(people, outcome, judgments=judgments)
    columns = list(people.columns)
    return findings(
        model,
        people,
        judgments,
        outcome,
        groups=columns[1:],
        question=NASTY,
        design=NASTY,
        title=NASTY,
        date=NASTY,
        labels={0: NASTY, 1: NASTY},
    )
