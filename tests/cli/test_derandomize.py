from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from fairlearn.reductions import DemographicParity
from sklearn.tree import DecisionTreeClassifier

from fairwise import Judgments, PairwiseFairClassifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result


@pytest.fixture
def kept(study: Study, run: Callable[..., Result]) -> Path:
    out = study.folder / "mixed.skops"
    run("fit", *study.to_fit, "--no-held-out", "--out", out)
    return out


def given(study: Study) -> tuple[pd.DataFrame, pd.Series[Any], Judgments]:
    people = study.people_frame().set_index("person")
    outcome = people.pop("returned")
    return people, outcome, Judgments.read(study.judgments, people=people)


def test_a_kept_model_becomes_one_without_chance(study: Study, run: Callable[..., Result], kept: Path) -> None:
    out = study.folder / "certain.skops"
    said = run("derandomize", kept, *study.to_fit, "--out", out).stdout
    people, outcome, judgments = given(study)
    certain = PairwiseFairClassifier.load(out)
    assert set(certain.predict_proba(people)[:, 1]) <= {0.0, 1.0}
    expected = PairwiseFairClassifier.load(kept).derandomize(people, outcome, judgments=judgments)
    assert certain.derandomization_ == expected.derandomization_
    assert str(expected.derandomization_) in said
    assert f"Model kept in {out}" in said


def test_more_violation_may_be_allowed(study: Study, answer: Callable[..., dict[str, Any]], kept: Path) -> None:
    out = study.folder / "certain.skops"
    told = answer("derandomize", kept, *study.to_fit, "--mean-violation", "1", "--out", out)
    people, outcome, judgments = given(study)
    model = PairwiseFairClassifier.load(kept)
    expected = model.derandomize(people, outcome, judgments=judgments, mean_violation=1.0).derandomization_
    assert told == {"derandomization": asdict(expected), "model": str(out)}


def test_groups_and_columns_are_those_of_the_fit(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "mixed.skops"
    asked = [*study.to_fit, "--drop", "town", "--group-constraint", "dp:0.1:town"]
    run("fit", *asked, "--no-held-out", "--out", out)
    said = run("derandomize", out, *asked, "--out", study.folder / "certain.skops").stdout
    assert "Group rules broken" in said
    refused = run("derandomize", out, *study.to_fit, "--out", study.folder / "other.skops", code=1).stderr
    assert "rules about groups" in refused
    assert "DemographicParity 0.1" in refused
    others = [*study.to_fit, "--group-constraint", "dp:0.1:score"]
    refused = run("derandomize", out, *others, "--out", study.folder / "other.skops", code=1).stderr
    assert "These are not the groups that this model was fitted to" in refused


def test_other_people_and_wrong_targets_are_refused(study: Study, run: Callable[..., Result], kept: Path) -> None:
    before = kept.read_bytes()
    assert "is also an input" in run("derandomize", kept, *study.to_fit, "--out", kept, code=1).stderr
    frame = study.people_frame()
    frame["returned"] = 1 - frame["returned"]
    frame.to_csv(study.people, index=False)
    said = run("derandomize", kept, *study.to_fit, "--out", study.folder / "new.skops", code=1).stderr
    assert "These are not the people, outcomes, judgments and weights that this model was fitted to" in said
    assert not (study.folder / "new.skops").exists()
    assert kept.read_bytes() == before


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--gamma", "0.33", "--gamma: is 0.33, but this model was fitted with 0."),
        ("--eta", "none", "--eta: is none, but this model was fitted with 0."),
        ("--judge-budget", "0.2", "--judge-budget: is 0.2, but this model was fitted with none."),
        ("--estimator", "linear-regression", "--estimator: is linear-regression, but this model"),
        ("--features", "age", "--features: is age, but this model was fitted with none."),
        ("--group-constraint", "dp:0.1:town", "--group-constraint: is DemographicParity 0.1, but this model"),
        ("--seed", "7", "--seed: is 7, but this model was fitted with 0."),
    ],
)
def test_options_that_the_model_was_not_fitted_with_are_refused(
    study: Study, run: Callable[..., Result], kept: Path, option: str, value: str, said: str
) -> None:
    out = study.folder / "other.skops"
    assert said in run("derandomize", kept, *study.to_fit, option, value, "--out", out, code=1).stderr
    assert not out.exists()


def test_settings_are_those_of_the_model(study: Study, run: Callable[..., Result]) -> None:
    """Neither named again nor taken from the defaults; and no judge is named in the file."""
    mixed, certain = study.folder / "mixed.skops", study.folder / "certain.skops"
    people, outcome, judgments = given(study)
    rules = DemographicParity(difference_bound=0.2)
    model = PairwiseFairClassifier(
        DecisionTreeClassifier(max_depth=2),
        gamma=0.02,
        eta=None,
        judge_budgets=0.01,
        weighting="panel",
        features=["age", "town"],
        favorable_label=1,
        group_constraints=[rules],
        max_iter=4,
    ).fit(people, outcome, judgments=judgments, sensitive_features=people["town"])
    model.save(mixed)
    groups = ["--group-constraint", "dp:0.2:town"]
    said = run("derandomize", mixed, *study.files, *groups, "--mean-violation", "1", "--out", certain).stdout
    expected = model.derandomize(mean_violation=1.0)
    assert expected.derandomization_.budgets_broken
    assert str(expected.derandomization_) in said
    loaded = PairwiseFairClassifier.load(certain)
    assert loaded.get_params()["gamma"] == 0.02
    assert [name[:15] for name in loaded.derandomization_.budgets_broken] == ["the worst of 4 "]
