"""Audits and curves of tables read in blocks are those of the same tables in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from fairwise import Judgments, LargeTable, PairwiseFairClassifier, audit, frontier
from fairwise.auditing import held_out
from fairwise.errors import InputError
from fairwise.learning.large import passes

GAMMAS = [0.0, 0.2, 0.6]
SETTINGS: dict[str, Any] = {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 100}


def assert_same_curve(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """But for the people's checksum, which a table that is read in blocks does not have."""
    told = ["made_from"]
    pd.testing.assert_frame_equal(found.drop(columns=told), expected.drop(columns=told), rtol=1e-12)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ROWS", 50)


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["u", "v", "w"], index=pd.RangeIndex(400, name="id"))
    frame["kind"] = rng.choice(["north", "south", "west"], size=400)
    return frame.assign(y=(frame["u"] + rng.normal(size=400) > 0).astype(int))


@pytest.fixture
def answers() -> pd.DataFrame:
    pairs = np.random.default_rng(1).permutation(400)[:120].reshape(-1, 2)
    return pd.DataFrame({"judge": ["p", "q", "r"] * 20, "a": pairs[:, 0], "b": pairs[:, 1], "answer": "same"})


@pytest.fixture
def scores() -> pd.Series[Any]:
    return pd.Series(np.random.default_rng(2).random(400), name="score", index=pd.RangeIndex(400, name="id"))


def test_an_audit_of_scores_in_blocks(scores: pd.Series[Any], answers: pd.DataFrame, tmp_path: Path) -> None:
    judgments = Judgments(answers)
    expected = audit(scores, judgments)
    scores.to_frame().to_parquet(tmp_path / "index.parquet", row_group_size=70)
    scores.reset_index().to_parquet(tmp_path / "column.parquet", index=False)
    frame = scores.to_frame()
    other = LargeTable([frame.rename(columns={"score": "p"})], outcome="p", columns=())
    sources: list[Any] = [
        tmp_path / "index.parquet",
        tmp_path / "column.parquet",
        iter([frame[:77], frame[77:]]),
        dask.dataframe.from_pandas(frame, npartitions=3),
        other,
    ]
    for source in sources:
        found = audit(source, judgments)
        for name in ("overall", "by_judge", "by_pair", "judgments"):
            pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))


def test_scores_in_blocks_that_cannot_be_used(scores: pd.Series[Any], answers: pd.DataFrame) -> None:
    frame, judgments = scores.to_frame(), Judgments(answers)
    with pytest.raises(InputError, match=r"row 123 .*column score: 1\.5 for person 123 is not the probability"):
        audit([frame.assign(score=scores.where(scores.index != 123, 1.5))], judgments)
    with pytest.raises(InputError, match=r"row 0 .*nan"):
        audit([frame.assign(score=scores.where(scores.index != 0))], judgments)
    with pytest.raises(InputError, match="not in the table"):
        audit([frame[:50]], judgments)
    with pytest.raises(InputError, match="no column 'score'"):
        audit([frame.rename(columns={"score": "p"})], judgments)
    with pytest.raises(InputError, match="need the scores in memory"):
        audit([frame], judgments, groups=scores)


@pytest.mark.parametrize("by", ["panel", "judge"])
def test_curves_in_blocks(table: pd.DataFrame, answers: pd.DataFrame, by: Any) -> None:
    people = table[["u", "v", "w"]]
    expected = frontier(
        people, table["y"], Judgments(answers), gammas=GAMMAS, etas=[0.0, 0.1], by=by, groups=table["kind"], **SETTINGS
    )
    source = LargeTable([table[:130], table[130:]], outcome="y", drop=["kind"], groups="kind")
    found = frontier(source, None, Judgments(answers), gammas=GAMMAS, etas=[0.0, 0.1], by=by, **SETTINGS)
    assert_same_curve(found, expected)
    assert found["error"].nunique() > 3
    plain = frontier(
        [table.drop(columns="kind")], "y", Judgments(answers), gammas=GAMMAS, etas=[0.0, 0.1], by=by, **SETTINGS
    )
    assert_same_curve(plain, expected[plain.columns])


def test_a_judge_who_asks_for_nothing_has_a_curve_too(table: pd.DataFrame, answers: pd.DataFrame) -> None:
    nothing = answers.assign(answer=np.where(answers["judge"] == "q", "no_constraint", "same"))
    people = table[["u", "v", "w"]]
    expected = frontier(people, table["y"], Judgments(nothing), gammas=GAMMAS, by="judge", **SETTINGS)
    found = frontier([table.drop(columns="kind")], "y", Judgments(nothing), gammas=GAMMAS, by="judge", **SETTINGS)
    assert_same_curve(found, expected)


def test_what_a_curve_in_blocks_cannot_do(table: pd.DataFrame, answers: pd.DataFrame, tmp_path: Path) -> None:
    for more in ({"checkpoint": tmp_path / "c"}, {"sample_weight": np.ones(400)}, {"groups": table["kind"]}):
        with pytest.raises(InputError, match="in memory"):
            frontier([table], "y", Judgments(answers), **SETTINGS, **more)
    with pytest.raises(InputError, match="two passes"):
        frontier([table], "y", Judgments(answers))


@pytest.mark.slow
def test_workers_trace_the_same_curves_and_refits(table: pd.DataFrame, answers: pd.DataFrame, client: Any) -> None:
    people, judgments = table[["u", "v", "w"]], Judgments(answers, people=table)
    for settings in (SETTINGS, {"estimator": "tree", "max_depth": 1}):
        here = frontier(people, table["y"], judgments, gammas=GAMMAS, by="judge", **settings)
        there = frontier(people, table["y"], judgments, gammas=GAMMAS, by="judge", client=client, **settings)
        pd.testing.assert_frame_equal(there, here)
    model = PairwiseFairClassifier(**SETTINGS)
    here_out, there_out = (
        held_out(model, people, table["y"], judgments, by="judge", folds=3, client=own) for own in (None, client)
    )
    pd.testing.assert_frame_equal(there_out.by_split, here_out.by_split)
    chunks = [table.drop(columns="kind")]
    in_blocks = frontier(chunks, "y", Judgments(answers), gammas=GAMMAS, client=client, **SETTINGS)
    pd.testing.assert_frame_equal(in_blocks, frontier(chunks, "y", Judgments(answers), gammas=GAMMAS, **SETTINGS))


@pytest.mark.slow
def test_an_estimator_with_jobs_is_fitted_by_the_workers(
    table: pd.DataFrame, answers: pd.DataFrame, client: Any
) -> None:
    people, judgments = table[["u", "v", "w"]], Judgments(answers, people=table)
    forest = RandomForestClassifier(n_estimators=4, max_depth=3, n_jobs=2, random_state=0)
    here, there = (
        PairwiseFairClassifier(forest, gamma=0.3, solver="no-regret", n_rounds=3).fit(
            people, table["y"], judgments=judgments, client=own
        )
        for own in (None, client)
    )
    assert np.array_equal(here.predict_proba(people), there.predict_proba(people))
