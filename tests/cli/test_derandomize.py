from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

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
    assert "sensitive_features" in refused


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
