"""Small and derandomised models keep what they say they keep, measured by definitions written out anew.

Random people, weights, judgments, budgets and rules about groups, also such as no single classifier keeps. None of the
package's own rows, budgets or statuses takes part in the measuring.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity, EqualizedOdds, ErrorRateParity, FalsePositiveRateParity
from tests.support.moments import MOMENTS

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.errors import InputError
from fairwise.learning.model.mixture import broken_rules
from fairwise.learning.solvers.column_generation import ColumnGeneration

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas

PROBLEMS = 40
BOUNDS: list[dict[str, float]] = [
    {"difference_bound": 0.0},
    {"difference_bound": 0.02},
    {"difference_bound": 0.1},
    {"ratio_bound": 0.8},
    {"ratio_bound": 0.9, "ratio_bound_slack": 0.03},
]
ANSWERS = ["same", "same", "a_at_least_b", "b_at_least_a", "no_constraint"]
KEPT = 1e-6  # to which precision a rule is kept


@dataclass(frozen=True, eq=False)
class Case:
    """A fit and everything it was given."""

    people: pd.DataFrame
    outcome: Any
    group: Any
    weight: Any
    said: pd.DataFrame
    moments: list[Any]
    model: PairwiseFairClassifier

    def over(self, probability: Any) -> dict[str, float]:
        """By how much each rule about groups is over its bound, from its definition."""
        y, w = self.outcome, self.weight
        found = {}
        for moment in self.moments:
            events = {"label=0": y == 0, "label=1": y == 1}
            if isinstance(moment, DemographicParity | ErrorRateParity):
                events = {"all": y >= 0}
            elif not isinstance(moment, EqualizedOdds):
                del events["label=1" if isinstance(moment, FalsePositiveRateParity) else "label=0"]
            wrong = np.where(y == 1, 1 - probability, probability)
            value = wrong if isinstance(moment, ErrorRateParity) else probability
            for event, there in events.items():
                everyone = np.average(value[there], weights=w[there])
                for group in np.unique(self.group[there]):
                    own = there & (self.group == group)
                    members = np.average(value[own], weights=w[own])
                    name = type(moment).__name__
                    found[f"{name} + {event} {group}"] = moment.ratio * members - everyone - moment.eps
                    found[f"{name} - {event} {group}"] = moment.ratio * everyone - members - moment.eps
        return found

    def error(self, probability: Any) -> float:
        return float(np.average(np.abs(self.outcome - probability), weights=self.weight))

    def violations(self, probability: Any) -> Any:
        """Of every answer that asks for something."""
        favorable = probability if self.model.favorable_label == 1 else 1 - probability
        a, b = favorable[self.said["a"]], favorable[self.said["b"]]
        answer = self.said["answer"].to_numpy()
        by_answer = {"same": np.abs(a - b), "a_at_least_b": np.maximum(b - a, 0), "b_at_least_a": np.maximum(a - b, 0)}
        return np.select([answer == name for name in by_answer], list(by_answer.values()))[answer != "no_constraint"]

    def mean_violation(self, probability: Any) -> float:
        weight = self.said["weight"].to_numpy()[self.said["answer"] != "no_constraint"]
        return float(np.average(self.violations(probability), weights=weight)) if len(weight) else 0.0

    def probability(self, model: PairwiseFairClassifier) -> Any:
        return model.predict_proba(self.people)[:, 1]

    def total_over(self, probability: Any) -> float:
        return sum(by for by in self.over(probability).values() if by > KEPT)


def a_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(14, 40))
    people = pd.DataFrame({"x": rng.normal(size=n).round(1), "z": rng.integers(0, 3, n)})
    group = rng.choice(["a", "b", "c"][: rng.integers(2, 4)], n)
    group[:4] = list("aabb")
    outcome = (people["x"].to_numpy() + 1.5 * (group == "a") + rng.normal(size=n) > 0.6).astype(int)
    outcome[:4] = [0, 1, 0, 1]
    weight = rng.integers(1, 5, n).astype(float) if rng.random() < 0.6 else np.ones(n)
    said = pd.DataFrame(
        [
            {
                "judge": "uvw"[number % 3],
                **dict(zip("ab", sorted(rng.choice(n, 2, replace=False).tolist()), strict=True)),
                "answer": str(rng.choice(ANSWERS)),
                "weight": float(rng.choice([0.5, 1.0, 2.0])),
            }
            for number in range(int(rng.integers(2, 9)))
        ]
    ).drop_duplicates(["judge", "a", "b"])
    kinds = rng.choice(len(MOMENTS), size=int(rng.integers(0, 3)), replace=False)
    moments = [MOMENTS[kind](**BOUNDS[rng.integers(len(BOUNDS))]) for kind in kinds]
    budgets: list[Any] = [None, None, 0.05, {"u": 0.0}, {"u": 0.02, "v": 0.1}]
    played: dict[str, Any] = {"solver": "no-regret", "n_rounds": 60, "lambda_bound": 3.0}
    model = PairwiseFairClassifier(
        "tree",
        max_depth=int(rng.integers(1, 3)),
        gamma=float(rng.choice([0.0, 0.05, 0.3])),
        eta=[0.0, 0.02, None][rng.integers(3)],
        judge_budgets=budgets[rng.integers(len(budgets))],
        weighting=str(rng.choice(["answers", "panel"])),  # type: ignore[arg-type]
        favorable_label=int(rng.integers(2)),
        group_constraints=moments or None,
        tol=float(rng.choice([1e-4, 1e-9])),
        **(played if rng.random() < 0.15 else {}),
    )
    asking = said[said["answer"] != "no_constraint"]
    named = model.judge_budgets if isinstance(model.judge_budgets, dict) else {}
    if not set(named) <= set(asking["judge"]):
        model.set_params(judge_budgets=None)
    sensitive = group if model.group_constraints else None
    model.fit(
        people, outcome, judgments=Judgments(said, people=people), sample_weight=weight, sensitive_features=sensitive
    )
    return Case(people, outcome, group, weight, said, moments, model)


def kept_as_before(case: Case, smaller: PairwiseFairClassifier) -> None:
    """Every rule and budget that the model keeps is kept, and none is broken by more."""
    model, before, after = case.model, case.probability(case.model), case.probability(smaller)
    own = case.over(after)
    assert all(own[name] <= max(by, 0.0) + KEPT for name, by in case.over(before).items())
    rules = smaller.group_rules_.set_index("rule")
    assert (rules["value"] - rules["limit"]).to_dict() == pytest.approx(own, abs=1e-9)
    values = [instance._reached(model._after_fit()[0].problem)[1] for instance in (model, smaller)]
    broken = [broken_rules(model._after_fit()[0].problem, reached)[1] for reached in values]
    assert all(by <= broken[0].get(name, 0.0) + KEPT for name, by in broken[1].items())
    if model.eta is not None:
        allowed = max(model.eta, model.certificate_.mean_excess)
        assert smaller.certificate_.mean_excess <= allowed + KEPT
    if model.eta == 0.0:
        allowed = max(model.gamma, model.certificate_.max_violation)
        assert smaller.certificate_.max_violation <= allowed + KEPT


def check_simplified(case: Case) -> None:
    model, errors = case.model, []
    slack = model.tol if model.solver == "column-generation" else 0.0
    for most in (1, 2, 3, None):
        try:
            smaller = model.simplify(max_classifiers=most)
        except InputError:
            if most == 1 and case.moments:  # half of each constant keeps every rule
                continue
            raise
        kept_as_before(case, smaller)
        told, certificate, count = smaller.simplification_, smaller.certificate_, len(smaller.weights_)
        assert count <= min(len(model.weights_), most or len(model.weights_))
        assert (told.classifiers, told.classifiers_removed) == (count, len(model.weights_) - count)
        assert told.error == certificate.error == pytest.approx(case.error(case.probability(smaller)), abs=1e-9)
        assert told.error_added == pytest.approx(certificate.error - model.certificate_.error)
        assert certificate.lower_bound == model.certificate_.lower_bound
        if slack:  # it keeps its rules, so that nothing that does either is below
            assert certificate.error >= certificate.lower_bound - 1e-7
        errors.append(certificate.error)
    if slack:  # an average of a game may be made better by being made small
        assert all(after <= before + slack + 1e-7 for before, after in pairwise(errors))
    assert errors[-1] <= max(model.certificate_.error, model.certificate_.lower_bound + slack) + 1e-7


def check_fit(case: Case) -> None:
    """As small as it can be found: within ``tol`` of the bound, and no larger than the programme's own mixture.

    That programme is the one with the least mean excess for this error, which may need more classifiers than others.
    """
    model = case.model
    if model.solver != "column-generation":
        return
    prepared, solution = model._after_fit()
    search = ColumnGeneration(prepared.problem, prepared.oracle)  # type: ignore[attr-defined]
    found = search.solve(tol=model.tol)
    least = search.with_least_excess(prepared.problem, max(found.error, found.bound + model.tol))
    vertex = search.pool.solve(least)
    assert len(model.weights_) <= np.count_nonzero(vertex.weights > 1e-9)
    assert model.certificate_.gap <= model.tol + 1e-9
    _, values = model._reached(prepared.problem)
    assert not any(broken_rules(prepared.problem, values))
    assert solution.weights.sum() == pytest.approx(1.0)


def check_derandomised(case: Case, mean_violation: float | None) -> None:
    model, single = case.model, case.model.derandomize(mean_violation=mean_violation)
    probability, told = case.probability(single), single.derandomization_
    assert set(probability) <= {0.0, 1.0}

    # What it says is so.
    own = case.over(probability)
    assert told.group_rules_broken == pytest.approx({name: by for name, by in own.items() if by > KEPT}, abs=1e-9)
    violations = case.violations(probability)
    broken = violations > model.gamma + KEPT
    assert (told.judgments_broken, told.judgments_counted) == (broken.sum(), len(violations))
    assert told.largest_excess == pytest.approx(max(violations.max(initial=0.0) - model.gamma, 0.0))
    assert told.error == single.certificate_.error == pytest.approx(case.error(probability))
    mean_before = case.mean_violation(case.probability(model))
    allowed = mean_before if mean_violation is None else mean_violation
    assert told.mean_violation == pytest.approx(case.mean_violation(probability), abs=1e-9)
    assert told.mean_violation_added == pytest.approx(told.mean_violation - mean_before, abs=1e-9)
    assert told.mean_violation_allowed == pytest.approx(allowed, abs=1e-9)

    # Below the bound only for the reason given.
    certificate = single.certificate_
    threshold = told.rule.startswith("label 1 where")
    if certificate.gap < -1e-7:
        breaks = bool(told.group_rules_broken or told.budgets_broken)
        assert breaks or threshold
        assert breaks == ("breaks the rules" in str(certificate))
        assert threshold == ("a threshold on a mixture" in str(certificate))
    assert not (threshold and len(single.weights_) == 1)

    # No classifier found, threshold or constant would have been better.
    solution = model._after_fit()[1]
    rows = model._rows(case.people)
    found = model.classifiers_ if solution.pool is None else solution.pool
    mixed = case.probability(model)
    candidates = [*found.labels(rows), *((mixed >= cut).astype(float) for cut in [*np.unique(mixed), 2.0])]

    def measures(labels: Any) -> tuple[float, float, float, int]:
        excess = max(case.mean_violation(labels) - allowed, 0.0)
        count = int((case.violations(labels) > model.gamma + KEPT).sum())
        return (round(case.total_over(labels), 7), round(excess, 7), round(case.error(labels), 7), count)

    assert measures(probability) == min(measures(labels.astype(float)) for labels in candidates)
    # Where some rule keeps everything, so does this one, and the promise is kept.
    kept = [labels for labels in candidates if case.total_over(labels.astype(float)) == 0]
    assert bool(kept) == (not told.group_rules_broken)
    if not case.moments:
        assert told.mean_violation <= allowed + 1e-9


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_simpler_models_keep_what_they_say(seed: int) -> None:
    case = a_case(seed)
    check_fit(case)
    check_simplified(case)
    for mean_violation in (None, 0.1):
        check_derandomised(case, mean_violation)
