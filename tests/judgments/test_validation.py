"""Every way a table can be wrong, and that the message says what and where."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.errors import InputError, JudgmentsError
from fairwise.judgments import Answer, Judgments
from fairwise.tables.rows import PeopleIds

PEOPLE = pd.DataFrame({"age": [30, 40, 50]}, index=[10, 20, 30])
GOOD = {"judge": "ann", "a": 10, "b": 20, "answer": "same"}


def refused(answers: Any, *parts: str, **options: Any) -> None:
    with pytest.raises(JudgmentsError) as caught:
        Judgments(answers, **options)
    for part in parts:
        assert part in str(caught.value)


def second_row(**bad: Any) -> pd.DataFrame:
    return pd.DataFrame([GOOD, GOOD | {"b": 30} | bad])


@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        (
            {"answer": "sme"},
            ["column answer", "'sme' is not an answer", "did you mean 'same'?", "no_constraint"],
        ),
        ({"answer": "A at least B"}, ["did you mean 'a_at_least_b'?"]),
        (
            {"answer": "xyz"},
            ["'xyz' is not an answer; allowed: same, a_at_least_b, b_at_least_a, no_constraint"],
        ),
        ({"answer": None}, ["column answer: empty is not an answer"]),
        ({"b": 10}, ["column b: 10 is also a"]),
        ({"judge": ""}, ["column judge: empty is no judge"]),
        ({"judge": "  "}, ["column judge: '  ' is no judge"]),
        ({"judge": None}, ["column judge: empty is no judge"]),
        ({"a": None}, ["column a: empty is nobody"]),
        ({"b": np.nan}, ["column b: empty is nobody"]),
        ({"b": 99}, ["column b: '99' is not the id of anyone in people"]),
        ({"b": "010"}, ["column b: '010' is not the id of anyone in people"]),
        ({"b": "10 "}, ["column b: '10 ' is not the id of anyone in people"]),
        ({"b": 10.5}, ["column b: '10.5' is not the id of anyone in people"]),
    ],
)
def test_a_bad_cell(bad: dict[str, Any], parts: list[str]) -> None:
    refused(second_row(**bad), "row 1 (counting from 0)", *parts, people=PEOPLE)


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("weight", 1, [-1, np.nan, np.inf, "heavy", "1_000", "inf", "nan", None]),
        ("round", 1, [0, -1, 1.5, np.nan, "first", "01", None]),
        ("design", "uniform", ["", None]),
        ("seconds", 1, [-0.1, np.inf, "long"]),
        ("answered_at", "2025-01-31T12:00:00Z", ["yesterday", "2025-13-01", "3000-01-01", "0001-01-01"]),
        ("selection_probability", 0.5, [0, -0.5, 1.01, np.inf, "half"]),
    ],
)
def test_a_bad_optional_cell(column: str, good: Any, bad: list[Any]) -> None:
    for value in bad:
        frame = pd.DataFrame([GOOD | {column: good}, GOOD | {"b": 30, column: value}])
        empty = value is None or value == "" or (isinstance(value, float) and np.isnan(value))
        shown = "empty" if empty else repr(value).strip("'")
        refused(frame, f"row 1 (counting from 0), column {column}: ", shown, "allowed: ")


def test_what_may_be_unknown() -> None:
    unknown = {"seconds": None, "answered_at": None, "selection_probability": None}
    frame = Judgments([GOOD | unknown, GOOD | {"b": 30} | dict.fromkeys(unknown, "")]).frame
    assert frame[list(unknown)].isna().all(axis=None)


def test_times_are_in_utc() -> None:
    noon = pd.Timestamp("2025-01-31T12:00", tz="UTC")
    texts = ["2025-01-31T12:00:00Z", "2025-01-31T14:00:00+02:00", "2025-01-31 12:00", "2025-01-31T12"]
    for times in (texts, [noon.tz_convert("Asia/Tokyo")], [noon.tz_localize(None)], [noon.to_pydatetime(), None]):
        frame = Judgments([GOOD | {"judge": i, "answered_at": time} for i, time in enumerate(times)]).frame
        assert (frame["answered_at"].dropna() == noon).all()
        assert frame["answered_at"].notna().any()


def test_every_bad_row_is_told_with_its_value() -> None:
    frame = [
        GOOD | {"answer": "sme"},
        GOOD | {"b": 30, "answer": "?"},
        GOOD | {"judge": None},
        GOOD | {"b": 10},
        GOOD | {"a": 99, "b": 98},
        GOOD | {"b": ""},
        GOOD,
    ]
    told = [
        "row 0 (counting from 0), column answer: 'sme' is not an answer (did you mean 'same'?)",
        f"allowed: {', '.join(Answer)}",
        "also row 1, column answer: '?' is not an answer",
        "row 2, column judge: empty is no judge",
        "row 3, column b: 10 is also a",
        "row 4, column a: '99' is not the id of anyone in people",
        "row 4, column b: '98' is not the id of anyone in people",
        "row 5, column b: empty is nobody",
    ]
    with pytest.raises(JudgmentsError) as caught:
        Judgments(frame, people=PEOPLE)
    assert str(caught.value) == "; ".join(told)


def test_the_first_twenty_bad_rows_are_told_and_the_others_counted() -> None:
    frame = pd.DataFrame([GOOD | {"judge": i, "b": 100 + i} for i in range(50)])
    with pytest.raises(JudgmentsError) as caught:
        Judgments(frame, people=PEOPLE)
    for i in range(50):
        assert (f"column b: '{100 + i}' is not the id" in str(caught.value)) == (i < 20)
    assert str(caught.value).endswith("; and 30 more")
    alike = pd.DataFrame([GOOD | {"judge": i, "answer": "?"} for i in range(4)], index=["w", "x", "y", "z"])
    refused(alike, "row 0 (counting from 0, index label 'w')", "also rows 1 ('x'), 2 ('y') and 3 ('z'), column answer:")


def test_ids_in_a_column_of_people_are_recognised() -> None:
    people = PEOPLE.rename_axis("number").reset_index().set_axis(["u", "v", "w"], axis="index")
    with pytest.raises(JudgmentsError) as caught:
        Judgments([GOOD], people=people)
    assert "nobody in a or b is in the index of people ('u', 'v', 'w')" in str(caught.value)
    assert str(caught.value).endswith("column 'number' of people has their ids: give id='number'")
    assert Judgments([GOOD], people=people, id="number").n_judges == 1
    # One who is in the index, or somebody whom the column does not have: no guess.
    refused([GOOD | {"a": "u"}], "is not the id of anyone in people", people=people)
    refused([GOOD | {"a": 99}], "'99' is not the id of anyone in people", people=people)


def test_words_are_made_only_for_the_rows_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows are bad, and however long the values are."""
    hints, hint = 0, PeopleIds.hint

    def counted(self: PeopleIds, text: str) -> str:
        nonlocal hints
        hints += 1
        return hint(self, text)

    monkeypatch.setattr(PeopleIds, "hint", counted)
    frame = pd.DataFrame({"judge": range(3000), "a": 10, "b": [f"{i}" * 1000 for i in range(3000)], "answer": "?"})
    with pytest.raises(JudgmentsError) as caught:
        Judgments(frame, people=PEOPLE)
    assert hints <= 20
    assert len(str(caught.value)) < 5000


def test_two_people_who_are_missing_are_not_called_the_same() -> None:
    with pytest.raises(JudgmentsError) as caught:
        Judgments([GOOD | {"a": "", "b": None}], people=PEOPLE)
    assert str(caught.value).count("is nobody") == 2
    assert "is also a" not in str(caught.value)


def test_spaces_around_an_id_are_recognised() -> None:
    words = "Ids must match exactly: strip the spaces in the file"
    for stray in (" 10", "10 ", "\t10"):
        refused(
            [GOOD | {"a": stray}],
            f"{stray!r} is not the id of anyone in people (did you mean '10'? {words})",
            people=PEOPLE,
        )
    spaced = PEOPLE.set_axis(["p", " q", "r"], axis="index")
    refused(
        [GOOD | {"a": "p", "b": "q"}],
        f"'q' is not the id of anyone in people (did you mean ' q'? {words})",
        people=spaced,
    )
    with pytest.raises(JudgmentsError, match=r"'x' is not the id of anyone in people$"):
        Judgments([GOOD | {"a": "p", "b": "x"}], people=spaced)


def test_a_row_given_twice_even_with_sides_swapped() -> None:
    swapped = GOOD | {"a": 20, "b": 10, "answer": "no_constraint"}
    refused([GOOD, GOOD | {"judge": "bea"}, swapped], "row 2 ", "'ann' already answered", "10", "20", "row 0 ")
    twice = "judge 'ann' already answered about 10 and 20 in round 1, design uniform, at row 0"
    refused([GOOD, GOOD, GOOD], f"row 1 (counting from 0): {twice}", f"also row 2: {twice}")


@pytest.mark.parametrize("difference", [{"round": [1, 2]}, {"design": ["uniform", "anchor"]}, {"judge": [1, 2]}])
def test_the_same_pair_again_with_a_difference(difference: dict[str, list[Any]]) -> None:
    assert len(Judgments(pd.DataFrame([GOOD, GOOD]).assign(**difference)).frame) == 2


def test_the_index_label_is_named_when_it_is_not_the_position() -> None:
    frame = pd.DataFrame([GOOD, GOOD | {"answer": "?"}], index=["first", "second"])
    refused(frame, "row 1 (counting from 0, index label 'second')")


@pytest.mark.parametrize(
    ("frame", "parts"),
    [
        (pd.DataFrame([{"judge": 1, "a": 2}]), ["missing columns b, answer", "found: 'judge', 'a'"]),
        (pd.DataFrame([GOOD]).drop(columns="judge"), ["missing column judge; needed: judge, a, b, answer"]),
        (pd.DataFrame([[1, 2, 3, 4, 5]], columns=["judge", "a", "b", "answer", "a"]), ["given twice: 'a'"]),
        (pd.DataFrame(), ["missing columns judge, a, b, answer", "none at all"]),
        ({"judge": ["x"], "a": [1, 2]}, ["not a table"]),
        (7, ["not a table"]),
        ("judgments.csv", ["Judgments.read('judgments.csv')"]),
    ],
)
def test_not_the_right_columns(frame: Any, parts: list[str]) -> None:
    refused(frame, *parts)


@pytest.mark.parametrize(
    ("people", "part"),
    [
        (pd.DataFrame({"x": [1, 2, 3]}, index=[10, 10, 20]), "every id must be there once; repeated: 10"),
        (pd.DataFrame({"x": [1, 2]}, index=[10, None]), "1 ids in the index are missing"),
        (pd.DataFrame({"x": [1, 2]}, index=pd.Index([10, "10"], dtype=object)), "differ in type: '10'"),
        (pd.DataFrame({"x": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)])), "several levels"),
        (np.zeros((30, 2)), "in a DataFrame's index, not in ndarray; for row positions: by='position'"),
        ([10, 20], "not in list"),
    ],
)
def test_people_whose_ids_cannot_be_trusted(people: Any, part: str) -> None:
    refused([GOOD], part, people=people)


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (-1, "column b: '-1' is not a row position; allowed: 0, 1, 2, …"),
        (1.5, "column b: '1.5' is not a row position"),
        ("x", "column b: 'x' is not a row position"),
        (3, "column b: '3' is not a row of people; allowed: 0 to 2"),
    ],
)
def test_bad_positions(bad: Any, part: str) -> None:
    refused([GOOD | {"a": 0, "b": bad}], part, people=PEOPLE, by="position")


def test_positions_need_rows() -> None:
    refused([GOOD], "a DataFrame or an array is needed, not list", people=[1, 2], by="position")


@pytest.mark.parametrize("option", [{"by": "name"}, {"rounds": "first"}, {"measured_only": "check"}])
def test_bad_options(option: dict[str, Any]) -> None:
    ((name, value),) = option.items()
    refused([GOOD], f"{name}={value!r}; allowed:", **option)


def test_it_is_a_value_error_too() -> None:
    assert issubclass(JudgmentsError, InputError)
    assert issubclass(JudgmentsError, ValueError)
    with pytest.raises(ValueError, match=re.escape("'?' is not an answer")):
        Judgments([GOOD | {"answer": "?"}])
