"""What is known about the judges: matched safely, kept by everything, refused when it does not fit."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.errors import JudgmentsError
from fairwise.judgments import Judgments

PEOPLE = pd.DataFrame({"age": [30, 40, 50]}, index=[10, 20, 30])
ROWS = [
    {"judge": "cal", "a": 10, "b": 20, "answer": "same"},
    {"judge": "ann", "a": 10, "b": 20, "answer": "same"},
    {"judge": "bea", "a": 20, "b": 30, "answer": "same", "design": "check"},
]
ROWS[0]["design"] = ROWS[1]["design"] = "uniform"
TABLE = pd.DataFrame({"relation": ["expert", "affected"], "years": [3, 5]}, index=["cal", "ann"])


def test_without_attributes_there_is_a_row_for_every_judge_and_no_column() -> None:
    attributes = Judgments(ROWS).judge_attributes
    assert attributes.shape == (3, 0)
    assert attributes.index.tolist() == ["ann", "bea", "cal"]
    assert attributes.index.name == "judge"
    assert Judgments([]).judge_attributes.empty


def test_judges_without_a_row_get_missing_values() -> None:
    attributes = Judgments(ROWS, judge_attributes=TABLE).judge_attributes
    assert attributes.index.tolist() == ["ann", "bea", "cal"]
    assert attributes.loc[["ann", "cal"], "relation"].tolist() == ["affected", "expert"]
    assert attributes.loc["bea"].isna().all()


def test_a_mapping_does_as_well() -> None:
    mapping = {"cal": {"relation": "expert", "years": 3}, "ann": {"relation": "affected", "years": 5}}
    pd.testing.assert_frame_equal(
        Judgments(ROWS, judge_attributes=mapping).judge_attributes,
        Judgments(ROWS, judge_attributes=TABLE).judge_attributes,
    )


def test_types_stay_where_nothing_is_missing() -> None:
    attributes = Judgments(ROWS[:2], judge_attributes=TABLE).judge_attributes
    assert attributes["years"].dtype == np.int64


@pytest.mark.parametrize("names", [[7, 8], ["7", "8"], [7.0, 8.0], [7, "8"]])
@pytest.mark.parametrize("judges", [[7, 8], ["7", "8"]])
def test_judges_are_matched_by_their_text(names: list[Any], judges: list[Any]) -> None:
    rows = [{"judge": judge, "a": 1, "b": 2, "answer": "same"} for judge in judges]
    table = pd.DataFrame({"relation": ["x", "y"]}, index=pd.Index(names, dtype=object))
    attributes = Judgments(rows, judge_attributes=table).judge_attributes
    assert attributes["relation"].to_dict() == {7: "x", 8: "y"}


def test_a_number_with_zeros_in_front_is_somebody_else() -> None:
    with pytest.raises(JudgmentsError, match="judges who gave no answer: '007'"):
        Judgments([ROWS[0] | {"judge": 7}], judge_attributes={"007": {"relation": "x"}})


def test_selecting_naming_people_and_copying_keep_them() -> None:
    judgments = Judgments(ROWS, judge_attributes=TABLE)
    assert judgments.select(["cal"]).judge_attributes["relation"].to_dict() == {"cal": "expert"}
    assert judgments.select(["bea"]).judge_attributes.isna().all(axis=None)
    twins = [judgments.about(PEOPLE), pickle.loads(pickle.dumps(judgments)), copy.deepcopy(judgments)]
    for twin in (*twins, copy.copy(judgments)):
        pd.testing.assert_frame_equal(twin.judge_attributes, judgments.judge_attributes)


def test_nothing_handed_out_or_in_changes_them() -> None:
    given = TABLE.copy()
    judgments = Judgments(ROWS, judge_attributes=given)
    before = judgments.judge_attributes
    given["relation"] = "none"
    handed_out = judgments.judge_attributes
    handed_out["relation"] = "none"
    pd.testing.assert_frame_equal(judgments.judge_attributes, before)


def test_a_file_is_read_with_them(tmp_path: Path) -> None:
    Judgments(ROWS, judge_attributes=TABLE).write(tmp_path / "judgments.csv")
    again = Judgments.read(tmp_path / "judgments.csv", judge_attributes=TABLE)
    assert again.judge_attributes.loc["cal", "relation"] == "expert"


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (TABLE.rename(index={"cal": "zoe"}), "judges who gave no answer: 'zoe'; there are 'ann', 'bea', 'cal'"),
        (TABLE.rename(index={"cal": "ann"}), "judges given twice: 'ann'; allowed: one row per judge"),
        (TABLE.rename(index={"cal": None}), "1 rows have no judge"),
        (TABLE.rename(index={"cal": " "}), "1 rows have no judge"),
        (TABLE.reset_index(names="judge"), "the judges belong in the index: table.set_index('judge')"),
        (TABLE.rename(columns={"years": "relation"}), "attributes given twice: 'relation'"),
        (pd.concat({"x": TABLE}), "several levels"),
        (pd.concat({"x": TABLE}, axis=1), "several levels"),
        ({"ann": "expert"}, "'ann' has 'expert'; allowed: a DataFrame indexed by judge, or a mapping"),
        ({7: {"x": 1}, "7": {"x": 2}}, "judges given twice: '7'"),
        (["ann"], "list given; allowed: a DataFrame indexed by judge, or a mapping"),
    ],
)
def test_what_does_not_fit_is_refused(given: Any, part: str) -> None:
    with pytest.raises(JudgmentsError) as caught:
        Judgments(ROWS, judge_attributes=given)
    assert str(caught.value).startswith("judge_attributes: ")
    assert part in str(caught.value)


def test_who_is_simulated_and_who_is_affected() -> None:
    """By name or attribute, in 200 random panels; what is not said is not known."""
    rng = np.random.default_rng(13)
    words: dict[Any, bool | None] = {"yes": True, "No": False, True: True, 0: False, "perhaps": None, None: None}
    for _ in range(200):
        names = [f"{rng.choice(['simulated-', 'p'])}{k}" for k in range(int(rng.integers(1, 6)))]
        marks = {
            name: {what: [*words][int(rng.integers(len(words)))] for what in ("simulated", "affected")}
            for name in names
        }
        doubtful = [name for name in names if marks[name]["simulated"] == "perhaps"]
        if doubtful:
            with pytest.raises(
                JudgmentsError, match=f"simulated is 'perhaps' for judge '({'|'.join(doubtful)})'; allowed: yes or no"
            ):
                Judgments(
                    [{"judge": name, "a": 1, "b": 2, "answer": "same"} for name in names],
                    judge_attributes=pd.DataFrame.from_dict(marks, orient="index").astype(object),
                )
            for name in doubtful:
                marks[name]["simulated"] = None
        rows = [{"judge": name, "a": 1, "b": 2, "answer": "same"} for name in names]
        judgments = Judgments(rows, judge_attributes=pd.DataFrame.from_dict(marks, orient="index").astype(object))
        programs = {name for name in names if name.startswith("simulated") or words[marks[name]["simulated"]]}
        assert judgments.simulated == programs
        assert judgments.affected == {name: words[marks[name]["affected"]] for name in names if name not in programs}
        assert (f"{len(names)} simulated judge" in repr(judgments)) == (len(programs) == len(names))
