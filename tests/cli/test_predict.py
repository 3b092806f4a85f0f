from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from fairwise import PairwiseFairClassifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_are_those_of_the_model(study: Study, run: Callable[..., Result], model: Path, ending: str) -> None:
    out = study.folder / f"scores.{ending}"
    said = run("predict", "--model", model, *study.who, "--out", out).stdout
    assert "60 people written" in said
    assert "score: the probability of 1; on average" in said
    scores = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
    people = study.people_frame().set_index("person")[["age", "score", "town"]]
    fitted = PairwiseFairClassifier.load(model)
    assert list(scores.columns) == ["id", "score", "label"]
    assert scores["id"].tolist() == people.index.tolist()
    np.testing.assert_allclose(scores["score"], fitted.predict_proba(people)[:, 1])
    np.testing.assert_array_equal(scores["label"], fitted.predict(people))


def test_one_draw_may_decide_about_everyone(study: Study, run: Callable[..., Result], model: Path) -> None:
    out = study.folder / "scores.csv"
    said = run("predict", "--model", model, *study.who, "--out", out, "--draw", "shared").stdout
    assert "one draw decides about everyone" in said
    people = study.people_frame().set_index("person")[["age", "score", "town"]]
    fitted = PairwiseFairClassifier.load(model)
    np.testing.assert_array_equal(pd.read_csv(out)["label"], fitted.predict(people, draw="shared"))
    run("predict", "--model", model, *study.who, "--out", out, "--draw", "together", code=2)


def test_the_outcome_may_be_missing_but_no_column_of_the_model(
    study: Study, run: Callable[..., Result], model: Path
) -> None:
    frame = study.people_frame()
    frame.drop(columns="returned").to_csv(study.people, index=False)
    run("predict", "--model", model, *study.who, "--out", study.folder / "s.csv")
    frame.drop(columns="age").to_csv(study.people, index=False)
    said = run("predict", "--model", model, *study.who, "--out", study.folder / "s.csv", code=1).stderr
    assert f"{study.people}: there is no column 'age'" in said
    frame.assign(age="old").to_csv(study.people, index=False)
    said = run("predict", "--model", model, *study.who, "--out", study.folder / "s.csv", code=1).stderr
    assert "Column 'age' was numbers in training" in said


def test_columns_that_the_model_may_not_use_need_not_be_there(study: Study, run: Callable[..., Result]) -> None:
    out, scores = study.folder / "m.skops", study.folder / "s.csv"
    run(
        "fit",
        *study.to_fit,
        "--estimator",
        "tree",
        "--max-depth",
        1,
        "--no-held-out",
        "--features",
        "age",
        "--out",
        out,
    )
    run("predict", "--model", out, *study.who, "--out", scores)
    whole = scores.read_bytes()
    study.people_frame()[["person", "age"]].to_csv(study.people, index=False)
    run("predict", "--model", out, *study.who, "--out", scores)
    assert scores.read_bytes() == whole


def test_people_in_a_workbook(study: Study, run: Callable[..., Result], model: Path) -> None:
    out, book = study.folder / "s.csv", study.folder / "people.xlsx"
    run("predict", "--model", model, *study.who, "--out", out)
    whole = out.read_bytes()
    study.people_frame().to_excel(book, index=False)
    run("predict", "--model", model, "--people", book, "--id", "person", "--out", out)
    assert out.read_bytes() == whole


def test_files_that_are_no_model(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "s.csv"
    said = run("predict", "--model", study.people, *study.who, "--out", out, code=1).stderr
    assert f"{study.people}: not a fairwise model file" in said
    assert "no such file" in run("predict", "--model", "none.skops", *study.who, "--out", out, code=1).stderr
    assert not out.exists()


def test_inputs_are_never_overwritten(study: Study, run: Callable[..., Result], model: Path) -> None:
    before = study.people.read_bytes()
    said = run("predict", "--model", model, *study.who, "--out", study.people, code=1).stderr
    assert "is also an input" in said
    link = study.folder / "link.csv"
    link.symlink_to(study.people)
    run("predict", "--model", model, *study.who, "--out", link, code=1)
    assert study.people.read_bytes() == before
