"""Claims of a report's first page, recomputed from the export by other means, in random studies of every kind."""

from __future__ import annotations

import io
import json
import re
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.fitting import answered, made_here, study_of, submitted

from fairwise.auditing.held_out import answer_index
from fairwise.auditing.splits import splits
from fairwise.constraints.pairs import PairRows
from fairwise.jobs.work import SPLITS
from fairwise.learning.any_model import load_model
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.results.certificate import HeldOutErrors
from fairwise.store.export import judges, judgments
from fairwise.store.fit_files import MODEL, REPORT, SCORES, SUMMARY, Fitted, job_folder
from fairwise.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from fairwise.jobs.fit_data import FitData
    from fairwise.study.folder import StudyFolder

KINDS: dict[str, dict[str, Any]] = {
    "two labels": {},
    "three labels": {
        "decisions": [
            {"label": "0", "words": "home", "value": 1.0},
            {"label": "1", "words": "conditions", "value": 0.6},
            {"label": "2", "words": "custody", "value": 0.0},
        ]
    },
    "amounts": {"amount": {"unit": "DM", "least": 0, "most": 10_000, "better": "more"}},
}
AFFECTED = {"applicant": True, "expert": False, "other": None}
GAMMA, CLOSE = 0.1, 1e-6


def relations(*, known: bool) -> list[dict[str, Any]]:
    return [
        {"name": name, "words": f"I am {name}"} | ({"affected": mark} if known and mark is not None else {})
        for name, mark in AFFECTED.items()
    ]


def table_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The same after it was a CSV file."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype=str, keep_default_na=False)


def losses(outcome: pd.Series[Any], given: list[Any]) -> Any:
    """``(n, k)`` what each label, or amount, costs each person."""
    right = outcome.to_numpy()[:, None]
    return np.abs(right - np.array(given)) if outcome.dtype.kind == "f" else (right != np.array(given, dtype=object))


def least_of_stumps(people: pd.DataFrame, costs: Any) -> float:
    """The least mean cost of a question about one column with one answer for each side."""
    least = costs.mean(axis=0).min()
    for name in people:
        values = people[name].to_numpy()
        for value in np.unique(values):
            yes = values <= value if people[name].dtype.kind in "if" else values == value
            if 0 < yes.sum() < len(yes):
                both = costs[yes].sum(axis=0).min() + costs[~yes].sum(axis=0).min()
                least = min(least, both / len(yes))
    return float(least)


def labels_of(model: Any) -> list[Any]:
    return list(model.amounts_ if isinstance(model, PairwiseFairRegressor) else model.classes_)


def mean_costs(model: Any, people: pd.DataFrame, outcome: pd.Series[Any]) -> Any:
    """``(n,)`` the mean cost of what a model decides about each person."""
    of_amounts = isinstance(model, PairwiseFairRegressor)
    chances = model.amount_probabilities(people) if of_amounts else model.predict_proba(people)
    return (chances * losses(outcome, labels_of(model))).sum(axis=1)


def settings_of(data: FitData) -> Any:
    """An unfitted model as it was asked for, in this test's own words."""
    asked = data.settings
    common: dict[str, Any] = {"max_depth": 1, "gamma": asked.gamma, "eta": asked.eta, "random_state": 0}
    if data.amount is not None:
        ends = (data.amount.least, data.amount.most)
        return PairwiseFairRegressor("tree", loss="absolute", outcome_range=ends, larger_is_better=True, **common)
    values = {one.label: one.value for one in data.decisions} or None
    return PairwiseFairClassifier("tree", favorable_label=None if values else 0, label_values=values, **common)


def on_new_people(data: FitData) -> dict[str, Any]:
    """Errors on people left out, with models of this test's own."""
    index = answer_index(data.judgments, PairRows.from_judgments(data.judgments), data.people, len(data.people))
    every = splits(index, "pair", test_size=0.3, folds=None, n_repeats=SPLITS, seed=0)
    lines = []
    for split in every:
        known, new = split.train_people, split.test_people
        frame = data.judgments.frame.iloc[data.judgments.counted()["row"].to_numpy()[split.train]]
        asked = type(data.judgments)(frame.reset_index(drop=True), people=data.people)
        fair = settings_of(data).fit(data.people.iloc[known], data.outcome.iloc[known], judgments=asked)
        plain = settings_of(data).set_params(**({} if data.amount else {"favorable_label": None}))
        plain = plain.fit(data.people.iloc[known], data.outcome.iloc[known])
        best = losses(data.outcome.iloc[known], labels_of(fair)).mean(axis=0).argmin()
        rest = data.people.iloc[new], data.outcome.iloc[new]
        constant = losses(rest[1], labels_of(fair))[:, best].mean()
        lines.append([mean_costs(fair, *rest).mean(), mean_costs(plain, *rest).mean(), constant])
    error, without, constant = np.mean(lines, axis=0)
    return {"error": error, "plain": without, "constant": constant}


@dataclass(frozen=True)
class Learned:
    """A study whose model was made, what was exported, and what the report claims."""

    study: StudyFolder
    data: FitData
    who: pd.DataFrame
    said: pd.DataFrame
    claims: dict[str, Any]
    known: bool

    @property
    def files(self) -> Path:
        return job_folder(self.study.path, 1)


def learned(seed: int, home: Path) -> Learned:
    """A random study with its model."""
    rng = np.random.default_rng([34, seed])
    kind, crowd = [*product(KINDS, ("real", "mixed", "mixed", "simulated", "trial"))][seed % 15]
    included, known = (bool(rng.random() < share) for share in (0.4, 0.7))
    more = KINDS[kind] | {"relations": relations(known=known), "simulated": crowd == "trial"}
    study = study_of(home, n_people=50, pairs_each=5, **more)
    with closing(Store.open(study.path / "study.sqlite", study.fingerprint)) as store:
        for place in range(int(rng.integers(3, 6))):
            simulated = crowd == "simulated" or (crowd == "mixed" and place % 2 == 0)
            relation = [*AFFECTED, None][int(rng.integers(4))]
            answered(study, store, int(rng.integers(1, 4)), simulated=simulated, relation=relation, seed=seed + place)
        asked: dict[str, Any] = {"max_depth": 1, "gamma": GAMMA, "eta": 0.03, "frontier": False, "influence": False}
        asked["favorable_label"] = "0" if kind == "two labels" else None
        submitted(store, **asked, include_simulated=included)
        data = made_here(study, store)
        who = table_of(store.read_now(lambda connection: judges(connection, study.settings))).set_index("judge")
        said = table_of(store.read_now(judgments).frame)
    claims = json.loads((job_folder(study.path, 1) / SUMMARY).read_text("utf-8"))["headline"]
    is_program = who["simulated"] == "yes"
    counted = who if included or is_program.all() else who[~is_program]
    return Learned(study, data, counted, said[said["judge"].isin(counted.index)], claims, known)


def check_people(one: Learned) -> None:
    claims, is_program = one.claims, one.who["simulated"] == "yes"
    marks = [AFFECTED.get(name) if one.known else None for name in one.who["relation"][~is_program]]
    assert claims["participants"] == len(one.who)
    assert claims["simulated"] == int(is_program.sum())
    assert claims["affected"] == marks.count(True)
    assert claims["affected_not_known"] == marks.count(None)


def check_answers(one: Learned) -> None:
    scores = pd.read_parquet(one.files / SCORES).set_index("id")["good"]
    said = one.said[one.said["answer"] != "no_constraint"]
    more_for_a = (said["a"].map(scores) - said["b"].map(scores)).to_numpy()
    against = {"same": np.abs(more_for_a), "a_at_least_b": -more_for_a, "b_at_least_a": more_for_a}
    gaps = np.select([said["answer"] == answer for answer in against], list(against.values()))
    assert (one.claims["asked"], one.claims["followed"]) == (len(said), int((gaps <= GAMMA + CLOSE).sum()))


def check_errors(one: Learned) -> None:
    claims, outcome, people = one.claims, one.data.outcome, one.study.people()
    model = load_model(one.files / MODEL)
    costs = losses(outcome, labels_of(model))
    assert claims["people"] == len(people)
    assert claims["error"] == pytest.approx(mean_costs(model, people, outcome).mean(), rel=CLOSE)
    assert claims["plain_error"] == pytest.approx(least_of_stumps(people, costs), rel=CLOSE)
    assert claims["constant_error"] == pytest.approx(costs.mean(axis=0).min(), rel=CLOSE)
    assert claims["proved"]
    assert model.certificate_.n_simulated == claims["simulated"]


def check_new_people(one: Learned) -> None:
    fitted = Fitted.of(one.study.path, 1)
    assert fitted is not None
    held, own = HeldOutErrors.from_json(one.claims["held_out"]), on_new_people(one.data)
    assert fitted.summary.held_out == held
    assert held.error == pytest.approx(own["error"], rel=CLOSE)
    assert held.low <= held.error <= held.high
    for name, baseline in (("plain", held.plain), ("constant", held.constant)):
        assert baseline.error == pytest.approx(own[name], rel=CLOSE)
        assert baseline.gain == pytest.approx(own[name] - own["error"], abs=CLOSE * max(held.error, 1.0))
        assert baseline.gain_low <= baseline.gain <= baseline.gain_high
        assert (name in held.not_beaten) == (baseline.gain_low <= 0)


def check_page(one: Learned) -> None:
    page = " ".join((one.files / REPORT).read_text("utf-8").split())
    first = re.search(r'<p class="message">(.*?)</p>', page)
    assert first is not None
    n, programs = one.claims["participants"], one.claims["simulated"]
    people = "simulated people" if programs == n else f"people ({programs} of them simulated)" if programs else "people"
    assert f"{n} {people}" in first[1] or n == 1
    assert ("no real person was asked" in page) == (programs == n)
    assert (f"{programs} of the {n} participants" in page) == (0 < programs < n)
    is_unknown = one.claims["affected_not_known"] == n - programs > 0
    assert ("Whether such decisions affect them is not known." in first[1]) == is_unknown
    constant = one.claims["held_out"]["constant"]
    assert ("ot clearly better than always saying" in first[1]) == (constant["gain"] > 0 and constant["gain_low"] <= 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_every_claim_follows_from_the_export(seed: int, tmp_path: Path) -> None:
    one = learned(seed, tmp_path)
    check_people(one)
    check_answers(one)
    check_errors(one)
    check_new_people(one)
    check_page(one)
