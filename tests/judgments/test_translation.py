"""Files of other tools are read with the same words in Python as on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.cli.options import JudgmentsOptions
from fairwise.errors import JudgmentsError
from fairwise.judgments import Judgments

COLUMNS = {"judge": "rater", "a": "left", "b": "right", "answer": "choice"}
ANSWERS = {"L": "a_at_least_b", "R": "b_at_least_a", "T": "same", "": "skip"}
MAP = ["judge=rater,a=left,b=right,answer=choice"]
MAP_ANSWER = ["L=a_at_least_b,R=b_at_least_a,T=same,=skip"]


def written(file: Path, said: list[str], sep: str = ",") -> Path:
    table = pd.DataFrame({"rater": "ann", "left": range(len(said)), "right": "z", "choice": said})
    table.to_csv(file, index=False, sep=sep)
    return file


@given(st.lists(st.sampled_from(["L", "R", "T", "", "same"]), min_size=1, max_size=8).filter(any))
def test_the_same_as_on_the_command_line(tmp_path_factory: pytest.TempPathFactory, said: list[str]) -> None:
    file = written(tmp_path_factory.mktemp("other") / "j.csv", said)
    ours = Judgments.read(file, columns=COLUMNS, answers=ANSWERS)
    theirs, account = JudgmentsOptions(file, MAP, MAP_ANSWER).read()
    pd.testing.assert_frame_equal(ours.frame, theirs.frame)
    assert account is not None
    assert len(ours.frame) == account.rows - account.skipped == sum(map(bool, said))


def test_numbers_are_words_too(tmp_path: Path) -> None:
    frame = pd.DataFrame({"judge": "x", "a": [1, 2, 3], "b": 9, "answer": [1.0, 0.0, None]})
    frame.to_parquet(tmp_path / "j.parquet")
    read = Judgments.read(tmp_path / "j.parquet", answers={1: "same", 0: "no_constraint", None: "skip"})
    assert read.frame["answer"].tolist() == ["same", "no_constraint"]


def test_another_separator_and_a_workbook(tmp_path: Path) -> None:
    file = written(tmp_path / "j.csv", ["L", "T"], sep="|")
    piped = Judgments.read(file, columns=COLUMNS, answers=ANSWERS, sep="|")
    pd.read_csv(file, sep="|").to_excel(tmp_path / "j.xlsx", index=False)
    book = Judgments.read(tmp_path / "j.xlsx", columns=COLUMNS, answers=ANSWERS)
    pd.testing.assert_frame_equal(piped.frame, book.frame)
    with pytest.raises(JudgmentsError, match=r"j\.xlsx, row 2, column choice: 'L' is not an answer"):
        Judgments.read(tmp_path / "j.xlsx", columns=COLUMNS, answers={"T": "same"})


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (
            {"columns": {"rater": "judge"}},
            "columns: 'rater' is not one of judge, a, b.*Did you mean {'judge': 'rater'}",
        ),
        (
            {"columns": {"person": "left"}},
            r"columns: 'person' is not one of judge, .*selection_probability, error_bound\.$",
        ),
        ({"columns": {"a": "lft"}}, "there is no column 'lft'.*did you mean 'left'"),
        ({"answers": {"same": "T"}}, "answers: 'same' means 'T'; allowed: same, .*Did you mean {'T': 'same'}"),
        ({"answers": {"T": "equal"}}, r"answers: 'T' means 'equal'; allowed: same, .*skip\.$"),
        ({"columns": COLUMNS}, r"line 2, column choice: 'L' is not an answer; .*answers={VALUE: 'same'}"),
        ({"sep": "ab"}, "sep='ab' is not allowed"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, options: dict[str, Any], part: str) -> None:
    with pytest.raises(JudgmentsError, match=part):
        Judgments.read(written(tmp_path / "j.csv", ["L"]), **options)
