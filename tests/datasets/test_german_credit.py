import pandas as pd
import pytest

from fairwise.datasets import load_german_credit
from fairwise.errors import InputError

NUMBERS = {
    "duration_months": (4, 72),
    "amount_dm": (250, 18424),
    "installment_rate": (1, 4),
    "residence": (1, 4),
    "age": (19, 75),
    "existing_credits": (1, 4),
    "dependents": (1, 2),
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return load_german_credit()[0]


@pytest.fixture(scope="module")
def outcome() -> pd.Series:
    return load_german_credit()[1]


def test_there_are_a_thousand_people_numbered_in_order(people: pd.DataFrame, outcome: pd.Series) -> None:
    assert people.shape == (1000, 20)
    assert people.index.name == "id"
    assert list(people.index) == list(range(1, 1001))
    pd.testing.assert_index_equal(people.index, outcome.index)


def test_seven_hundred_loans_were_good(outcome: pd.Series) -> None:
    assert outcome.name == "good_credit"
    assert outcome.dtype == "int64"
    assert outcome.value_counts().to_dict() == {1: 700, 0: 300}
    assert outcome.loc[[1, 2]].tolist() == [1, 0]


def test_the_first_person_is_the_first_of_the_source(people: pd.DataFrame) -> None:
    assert people[list(NUMBERS)].to_numpy()[0].tolist() == [6, 1169, 4, 4, 67, 2, 1]
    assert people.loc[1, "checking_account"] == "overdrawn"
    assert people.loc[1, "personal_status_sex"] == "single man"


@pytest.mark.parametrize(("column", "span"), NUMBERS.items())
def test_numbers_are_integers_in_the_span_of_the_source(
    people: pd.DataFrame, column: str, span: tuple[int, int]
) -> None:
    assert people[column].dtype == "int64"
    assert (people[column].min(), people[column].max()) == span


def test_categories_are_words_not_codes(people: pd.DataFrame) -> None:
    for column in people.columns.difference(list(NUMBERS)):
        words = people[column].unique()
        assert 2 <= len(words) <= 10
        for word in words:
            assert word == word.strip() != ""
            assert not (word.startswith("A") and word[1:].isdigit())


def test_categories_keep_the_counts_of_the_source(people: pd.DataFrame) -> None:
    assert sorted(people["checking_account"].value_counts()) == [63, 269, 274, 394]
    assert people["foreign_worker"].value_counts().to_dict() == {"yes": 963, "no": 37}
    # "none" is a category here, not a missing value.
    assert people["other_debtors"].value_counts()["none"] == 907


def test_nothing_is_missing(people: pd.DataFrame) -> None:
    assert not people.isna().any(axis=None)


def test_the_amount_may_be_the_outcome() -> None:
    people, amount = load_german_credit(outcome="amount")
    whole, _ = load_german_credit()
    assert amount.equals(whole["amount_dm"])
    assert people.equals(whole.drop(columns="amount_dm"))
    with pytest.raises(InputError, match="outcome='sum' is not allowed"):
        load_german_credit(outcome="sum")  # type: ignore[arg-type]
