"""Known preferences come back; where there are none, nothing is found."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.datasets import load_compas
from fairwise.errors import InputError, JudgmentsError
from fairwise.judgments import Answer, Judgments, judge_drivers
from fairwise.judgments.answer import orient
from fairwise.judgments.opinions import Drivers, differences
from fairwise.simulation import Closeness, Respondent, draw_respondents, simulate_panel

DEMOGRAPHICS = {"sex", "age", "race"}
SWAPPED = {str(answer): str(answer.swapped()) for answer in Answer}


@cache
def people() -> pd.DataFrame:
    return load_compas()[0]


def drivers_of(kind: str, n_judges: int = 8, n_pairs: int = 100, seed: int = 0) -> Drivers:
    respondents = draw_respondents(people(), n_judges, kinds=[kind], seed=seed)
    return judge_drivers(simulate_panel(people(), respondents=respondents, n_pairs=n_pairs, seed=seed))


def tops(drivers: Drivers) -> list[set[Any]]:
    return [set(top) for top in drivers.by_judge.loc[drivers.by_judge["found"], "top"]]


@pytest.mark.parametrize("seed", range(2))
def test_who_ignores_demographics_has_no_demographic_driver(seed: int) -> None:
    found = tops(drivers_of("ignores-demographics", seed=seed))
    assert len(found) >= 3
    assert not any(top & DEMOGRAPHICS for top in found)


@pytest.mark.parametrize("seed", range(2))
def test_who_ignores_the_record_has_demographic_drivers(seed: int) -> None:
    found = drivers_of("ignores-record", seed=seed)
    named = tops(found)
    assert len(named) >= 3
    assert set(found.shares.dropna().idxmax(axis=1)) <= DEMOGRAPHICS
    assert sum(bool(top - DEMOGRAPHICS) for top in named) <= 1  # by chance


def test_who_looks_at_age_alone_is_driven_by_age() -> None:
    found = drivers_of("age-focused")
    assert len(tops(found)) >= 3
    assert all(next(iter(top)) == "age" for top in found.by_judge.loc[found.by_judge["found"], "top"])
    believed = found.by_judge[found.by_judge["found"]]
    assert (believed["accuracy"] > believed["baseline"]).all()
    assert (found.shares.loc[believed.index, "age"] > 0.7).all()
    assert (found.effects.loc[believed.index, "age"] > 0).all()


def test_where_all_answers_are_alike_nothing_is_found() -> None:
    found = drivers_of("all-same", n_judges=2)
    assert tops(found) == []
    assert set(found.by_judge["note"]) == {"every answer is 'same'"}
    assert found.effects.isna().all(axis=None)
    assert str(found) == "What drives answers was found for 0 of 2 judges."


def test_where_answers_are_drawn_at_random_nothing_is_found() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("uvwxyz"))
    rows = [
        {"judge": judge, "a": a, "b": a + 200, "answer": "same" if rng.random() < 0.6 else "no_constraint"}
        for judge in range(40)
        for a in rng.choice(200, size=50, replace=False).tolist()
    ]
    found = judge_drivers(Judgments(rows, people=table))
    assert found.by_judge["found"].mean() <= 0.05
    assert "not clearly more than the commoner answer" in found.by_judge.loc[~found.by_judge["found"], "note"].iloc[0]


@pytest.fixture(scope="module")
def panel() -> Judgments:
    return simulate_panel(people(), n_judges=6, n_pairs=50, answers="four", seed=2)


def test_the_order_of_rows_and_the_sides_do_not_matter(panel: Judgments) -> None:
    frame = panel.frame.sample(frac=1, random_state=0)
    swap = np.random.default_rng(0).random(len(frame)) < 0.5
    frame["a"], frame["b"] = np.where(swap, frame["b"], frame["a"]), np.where(swap, frame["a"], frame["b"])
    frame["answer"] = frame["answer"].where(~swap, frame["answer"].map(SWAPPED))
    whole, again = judge_drivers(panel), judge_drivers(Judgments(frame, people=people()))
    pd.testing.assert_frame_equal(whole.by_judge, again.by_judge)


def test_too_few_answers_are_not_modelled(panel: Judgments) -> None:
    few = Judgments(panel.frame.groupby("judge").head(7), people=people())
    found = judge_drivers(few)
    assert set(found.by_judge["note"]) == {"7 answers are too few"}
    assert found.by_judge["accuracy"].isna().all()
    assert judge_drivers(few, min_answers=5).by_judge["accuracy"].notna().any()


def test_judges_of_whose_answers_none_counts_have_a_row() -> None:
    rows = [{"judge": "ann", "a": 22, "b": 42, "answer": "same", "design": "check"}]
    table = pd.DataFrame({"age": [1, 2]}, index=[22, 42])
    assert judge_drivers(Judgments(rows, people=table)).by_judge["answers"].to_dict() == {"ann": 0}
    assert judge_drivers(Judgments([], people=table)).by_judge.empty


def test_one_sentence_about_a_judge() -> None:
    wise = Respondent("simulated-wise", Closeness({"priors_count": 1.0}, threshold=4.0))
    found = judge_drivers(simulate_panel(people(), respondents=[wise], n_pairs=100))
    text = found.describe("simulated-wise")
    assert text.startswith("simulated-wise: not the same more often where priors_count (")
    assert "differs; the model gets" in text
    assert str(found).startswith("What drives answers was found for 1 of 1 judges. Among the 3 that matter most:")
    with pytest.raises(InputError, match="no such judge: 'zoe'"):
        found.describe("zoe")


def test_a_driver_may_work_the_other_way_round() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"group": rng.integers(2, size=300).astype(str), "age": rng.integers(20, 60, size=300)})
    pairs = [(a, a + 150) for a in range(150)]
    rows = [
        {"judge": 1, "a": a, "b": b, "answer": "same" if table["group"][a] != table["group"][b] else "no_constraint"}
        for a, b in pairs
    ]
    assert "less often where group (" in judge_drivers(Judgments(rows, people=table)).describe(1)


def test_only_some_columns(panel: Judgments) -> None:
    found = judge_drivers(panel, columns=["age", "race"])
    assert list(found.effects.columns) == ["age", "race"]
    with pytest.raises(InputError, match="columns: not in people: 'height'; there are 'sex', 'age'"):
        judge_drivers(panel, columns=["height"])


def test_people_must_be_known(panel: Judgments) -> None:
    with pytest.raises(JudgmentsError, match="made without people="):
        judge_drivers(Judgments(panel.frame))
    with pytest.raises(InputError, match="n_folds=1; allowed: 2 or more"):
        judge_drivers(panel, n_folds=1)


def test_positions_in_an_array() -> None:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(200, 3))
    apart = np.abs(features[:100, 1] - features[100:, 1])
    rows = [
        {"judge": 1, "a": a, "b": a + 100, "answer": "same" if apart[a] < 1 else "no_constraint"} for a in range(100)
    ]
    found = judge_drivers(Judgments(rows, people=features, by="position"))
    assert found.by_judge.loc[1, "top"] == (1,)


def test_differences_of_numbers_categories_and_missing_values() -> None:
    table = pd.DataFrame(
        {
            "age": [20.0, 40.0, np.nan, np.nan],
            "sex": ["f", "m", None, None],
            "flag": [True, False, True, True],
            "constant": 1,
        },
        index=list("wxyz"),
    )
    pairs = [("w", "x"), ("w", "y"), ("y", "z")]
    judgments = Judgments([{"judge": 1, "a": a, "b": b, "answer": "same"} for a, b in pairs], people=table)
    found = differences(judgments, orient(judgments.counted()))
    assert list(found.columns) == ["age", "sex", "flag", "constant"]
    np.testing.assert_allclose(found.to_numpy(), [[2, 1, 1, 0], [2, 1, 0, 0], [0, 0, 0, 0]])
