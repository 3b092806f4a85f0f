import pandas as pd
import pytest

from fairwise.datasets import load_adult
from fairwise.errors import InputError

UNKNOWN = {"train": (1836, 1843, 583), "test": (963, 966, 274)}


@pytest.fixture(scope="module", params=["train", "test"])
def part(request: pytest.FixtureRequest) -> tuple[str, pd.DataFrame, pd.Series]:
    return str(request.param), *load_adult(request.param)


def test_both_parts_have_the_size_and_base_rate_of_the_source(part: tuple[str, pd.DataFrame, pd.Series]) -> None:
    name, people, outcome = part
    assert (len(people), outcome.sum()) == {"train": (32561, 7841), "test": (16281, 3846)}[name]
    assert people.shape[1] == 14
    assert outcome.name == "income_above_50k"
    assert outcome.dtype == "int64"
    pd.testing.assert_index_equal(people.index, outcome.index)


def test_people_are_numbered_through_both_parts() -> None:
    training, test = load_adult()[0], load_adult("test")[0]
    assert training.index.name == "id"
    assert [*training.index, *test.index] == list(range(1, 48843))


def test_the_first_person_is_the_first_of_the_source() -> None:
    people, outcome = load_adult()
    words = ["state government", "bachelor", "never married", "clerical", "not in family", "White", "Male"]
    assert people.select_dtypes("number").to_numpy()[0].tolist() == [39, 77516, 13, 2174, 0, 40]
    assert people.select_dtypes(exclude="number").to_numpy()[0].tolist() == [*words, "United States"]
    assert outcome.loc[1] == 0


def test_a_question_mark_is_a_missing_value(part: tuple[str, pd.DataFrame, pd.Series]) -> None:
    name, people, _ = part
    missing = people.isna().sum()
    assert tuple(missing[["workclass", "occupation", "native_country"]]) == UNKNOWN[name]
    assert missing.sum() == sum(UNKNOWN[name])
    assert not people.isin(["?", ""]).any(axis=None)


def test_values_are_words_without_hyphens_or_spaces_around() -> None:
    people, _ = load_adult()
    for column in people.select_dtypes(exclude="number"):
        for word in people[column].dropna().unique():
            assert word == word.strip()
            assert "-" not in word.replace("self-employed", "")


def test_the_facts_in_the_caveats_hold() -> None:
    people, outcome = load_adult()
    shares = (100 * outcome.groupby(people["sex"]).mean()).round().to_dict()
    assert shares == {"Female": 11, "Male": 31}
    shares = (100 * outcome.groupby(people["race"]).mean()).round().to_dict()
    assert (shares["White"], shares["Black"]) == (26, 12)
    assert len(people[["education", "education_level"]].drop_duplicates()) == 16
    assert people["education_level"].nunique() == people["education"].nunique() == 16
    assert (people["age"].max(), people["hours_per_week"].max(), people["capital_gain"].max()) == (90, 99, 99999)
    assert "South" in set(people["native_country"])


def test_another_part_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="part='all' is not allowed; allowed: 'train', 'test'"):
        load_adult("all")  # type: ignore[arg-type]
