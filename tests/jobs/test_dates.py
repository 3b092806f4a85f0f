"""A model from the console and one of ``fairwise fit`` of the same study are the same, also where people have dates."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from tests.support.fitting import ASKED, answered, made_here, submitted
from typer.testing import CliRunner

from fairwise.cli.app import app
from fairwise.jobs.score import score
from fairwise.learning.any_model import load_model
from fairwise.store.export import judgments
from fairwise.store.fit_files import MODEL, job_folder
from fairwise.store.store import Store
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_console_and_command_line_read_dates_alike(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, 40), unit="D")
    moments = days + pd.to_timedelta(rng.integers(0, 86_400, 40), unit="s")
    table = pd.DataFrame(
        {
            "id": [f"k{k}" for k in range(40)],
            "since": pd.Series(days.strftime("%Y-%m-%d")).mask(rng.random(40) < 0.1),
            "seen": moments.strftime("%Y-%m-%d %H:%M:%S"),
            "town": rng.choice(["North", "South"], 40),
            "again": (days.day_of_year + rng.normal(0, 60, 40) > 180).astype(int),
        }
    )
    source, answers, model_file = (tmp_path / name for name in ("people.csv", "judgments.csv", "model.skops"))
    table.to_csv(source, index=False)
    columns = ["since", "seen", "town"]
    choices = {"title": "Who goes home", "treated_well": "to go home", "pairs": 8}
    study = new_study(tmp_path / "study", PeopleFile.read(source, "id"), columns, choices, outcome="again")
    with closing(Store.open(tmp_path / "study.sqlite", study.fingerprint)) as store:
        answered(study, store, 3, seed=seed)
        job_id = submitted(store, eta=0.05)
        made_here(study, store)
        store.read_now(judgments).frame.to_csv(answers, index=False)

    command = [
        *("fit", "--people", source, "--id", "id", "--outcome", "again", "--judgments", answers, "--no-held-out"),
        *("--estimator", ASKED["estimator"], "--gamma", ASKED["gamma"], "--eta", 0.05, "--favorable-label", 0),
        *("--out", model_file),
    ]
    printed = CliRunner().invoke(app, list(map(str, command)))
    assert printed.exit_code == 0, printed.output
    console_file = job_folder(study.path, job_id) / MODEL
    console, own = load_model(console_file), load_model(model_file)
    pd.testing.assert_frame_equal(console.columns_, own.columns_)
    assert console.columns_["kind"].tolist() == ["date", "date", "category"]
    people = PeopleFile.read(source, "id").features(outcome="again")
    chances = own.predict_proba(people)
    assert console.predict_proba(people) == pytest.approx(chances, abs=1e-9)
    assert console.certificate_.error == pytest.approx(own.certificate_.error, abs=1e-9)
    for place in (0, 7):
        person = study.people()[columns].iloc[place]
        asked = {str(name): None if pd.isna(value) else value for name, value in person.items()}
        answer = score(console_file, asked, {name: name for name in columns})
        assert [answer["probabilities"][label] for label in "01"] == pytest.approx(chances[place].tolist(), abs=1e-9)
