import pandas as pd
import pytest

from fairwise.datasets import load_compas
from fairwise.errors import InputError

COLUMNS = [
    "sex",
    "age",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return load_compas()[0]


@pytest.fixture(scope="module")
def outcome() -> pd.Series:
    return load_compas()[1]


def test_the_cohort_has_its_size_columns_and_base_rate(people: pd.DataFrame, outcome: pd.Series) -> None:
    assert people.shape == (5829, 8)
    assert list(people.columns) == COLUMNS
    assert outcome.sum() == 2685
    assert round(outcome.mean(), 4) == 0.4606


def test_people_are_indexed_by_the_source_id_in_file_order(people: pd.DataFrame, outcome: pd.Series) -> None:
    # The source file is sorted by id, so file order is increasing order.
    assert people.index.name == "id"
    assert people.index.is_monotonic_increasing
    assert people.index.is_unique
    assert list(people.index[:5]) == [3, 4, 8, 10, 14]
    assert list(people.index[-5:]) == [10995, 10996, 10997, 11000, 11001]
    pd.testing.assert_index_equal(people.index, outcome.index)


def test_a_person_has_the_values_of_the_source(people: pd.DataFrame, outcome: pd.Series) -> None:
    assert people.loc[[4]].to_numpy().tolist()[0] == ["Male", 24, "African-American", 0, 0, 1, 4, "F"]
    assert outcome.loc[4] == 1


def test_the_outcome_is_0_or_1_as_integer(outcome: pd.Series) -> None:
    assert outcome.name == "two_year_recid"
    assert outcome.dtype == "int64"
    assert set(outcome) == {0, 1}


@pytest.mark.parametrize("column", [name for name in COLUMNS if name.endswith("count") or name == "age"])
def test_numbers_are_integers_that_make_sense(people: pd.DataFrame, column: str) -> None:
    assert people[column].dtype == "int64"
    assert people[column].between(18 if column == "age" else 0, 100).all()


def test_categories_are_those_of_the_source(people: pd.DataFrame) -> None:
    assert people["race"].value_counts().to_dict() == {
        "African-American": 3175,
        "Caucasian": 2103,
        "Hispanic": 509,
        "Asian": 31,
        "Native American": 11,
    }
    assert people["sex"].value_counts().to_dict() == {"Male": 4712, "Female": 1117}
    assert people["c_charge_degree"].value_counts().to_dict() == {"F": 3757, "M": 2072}


def test_nothing_is_missing(people: pd.DataFrame, outcome: pd.Series) -> None:
    assert not people.isna().any(axis=None)
    assert not (people == "").any(axis=None)
    assert not outcome.isna().any()


def test_every_call_gives_a_table_of_its_own() -> None:
    first, _ = load_compas()
    first.loc[3, "age"] = 0
    second, _ = load_compas()
    assert second.loc[3, "age"] == 34


def test_the_facts_in_the_caveats_hold(people: pd.DataFrame) -> None:
    same_values = people.groupby(COLUMNS).size()
    assert (same_values == 1).sum() == 1916


def test_three_levels_of_risk_follow_the_stated_rule() -> None:
    people, risk = load_compas(outcome="risk")
    points = 17 * people["priors_count"] - 5 * people["age"]
    assert points[risk == "low"].max() < points[risk == "medium"].min()
    assert points[risk == "medium"].max() < points[risk == "high"].min()
    assert (risk == "low").mean() == pytest.approx(0.4, abs=0.01)
    assert risk.index.equals(load_compas()[0].index)
    again = load_compas()[1].groupby(risk).mean()
    assert again["low"] < again["medium"] < again["high"]
    with pytest.raises(InputError, match="outcome='score' is not allowed"):
        load_compas(outcome="score")  # type: ignore[arg-type]
