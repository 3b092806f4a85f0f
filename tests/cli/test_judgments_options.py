from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from fairwise.cli.options import ANSWERS, COLUMNS, SKIP, answer_map, column_map
from fairwise.errors import InputError
from fairwise.judgments import Answer, files, validation
from fairwise.judgments.files import translate_answers
from fairwise.tables.rows import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Study
    from typer.testing import Result

words = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"], exclude_characters='"'), max_size=8)
meanings = st.sampled_from([*ANSWERS, SKIP])


@given(st.dictionaries(words.map(str.strip), meanings, max_size=6))
def test_any_word_can_be_mapped(meaning: dict[str, str]) -> None:
    text = ",".join(f'"{word}={ours}"' for word, ours in meaning.items())
    assert answer_map([text]) == meaning
    assert answer_map([f'"{word}={ours}"' for word, ours in meaning.items()]) == meaning


@given(st.text(max_size=20))
def test_any_text_is_a_map_or_refused(text: str) -> None:
    for parse, allowed in (
        (answer_map, {*ANSWERS, SKIP}),
        (lambda texts: {v: k for k, v in column_map(texts).items()}, {*COLUMNS}),
    ):
        try:
            found = parse([text])
        except typer.BadParameter:
            continue
        assert set(found.values()) <= allowed


@given(st.lists(st.sampled_from(["L", "R", "T", "?", "same"]), min_size=1, max_size=30))
def test_every_row_is_accounted_for(said: list[str]) -> None:
    meaning = {"L": "a_at_least_b", "R": "b_at_least_a", "T": "same", "?": SKIP}
    frame = pd.DataFrame({"rater": "x", "left": range(len(said)), "right": "z", "choice": said, "comment": said})
    columns = {"judge": "rater", "a": "left", "b": "right", "answer": "choice"}
    lines = np.arange(len(said)) + 2
    table, source, account = translate_answers(frame, Source("f.csv", lines), columns, meaning, {})
    expected = [meaning.get(word, word) for word in said]
    assert table["answer"].tolist() == [word for word in expected if word != SKIP]
    assert table["comment"].tolist() == [word for word in said if word != "?"]
    assert list(table.columns) == ["judge", "a", "b", "answer", "comment"]
    assert source.lines is not None
    assert source.lines.tolist() == [line for line, word in zip(lines.tolist(), said, strict=True) if word != "?"]
    assert {word: count for word, _, count in account.answers} == Counter(said)
    assert account.skipped == said.count("?")


def test_our_words_are_those_of_the_format() -> None:
    assert list(ANSWERS) == list(Answer)
    assert files.SKIP == SKIP
    assert COLUMNS == validation.COLUMNS


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        (["rater=judge"], "Did you mean judge=rater?"),
        (["judge"], "write ours=theirs"),
        (["judge="], "write ours=theirs"),
        (["judge=x", "judge=y"], "judge is given twice"),
        (['"judge=x'], "unexpected end"),
    ],
)
def test_refused_column_maps(texts: list[str], part: str) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        column_map(texts)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        (["same=0"], "Did you mean 0=same?"),
        (["0=sme"], "ours being one of same, a_at_least_b"),
        (["0"], "write theirs=ours"),
        (["0=same,0=skip"], "'0' cannot be both same and skip"),
    ],
)
def test_refused_answer_maps(texts: list[str], part: str) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        answer_map(texts)
    assert part in str(caught.value)


@pytest.mark.parametrize("answers", [pd.Series([1.0, 0.0, np.nan]), pd.Series([1, 0, None], dtype="Int64")])
def test_numbers_and_gaps_of_a_parquet_file(answers: pd.Series) -> None:
    frame = pd.DataFrame({"judge": "x", "a": [1, 2, 3], "b": 9, "answer": answers})
    table, source, account = translate_answers(
        frame, Source("f.parquet"), {}, answer_map(["1=same,0=no_constraint,=skip"]), {}
    )
    assert table["answer"].tolist() == ["same", "no_constraint"]
    assert account.skipped == 1
    assert "(empty)" in "\n".join(account.lines())
    assert "row 1" in source.place(1)


def test_a_column_of_our_name_gives_way_to_the_mapped_one() -> None:
    frame = pd.DataFrame({"judge": ["old"], "rater": ["new"], "a": [1], "b": [2], "answer": ["same"]})
    table, _, account = translate_answers(frame, Source("f.csv"), {"judge": "rater"}, {}, {})
    assert table["judge"].tolist() == ["new"]
    assert "The file's own column 'judge' is not used." in account.lines()


OTHER = {"judge": "rater", "a": "left", "b": "right", "answer": "choice"}
WORDS = {"same": "T", "a_at_least_b": "L", "b_at_least_a": "R", "no_constraint": "-"}
MAP = ["--map", "judge=rater,a=left,b=right,answer=choice"]
MAP_ANSWER = ["--map-answer", "T=same,L=a_at_least_b,R=b_at_least_a,-=no_constraint"]


def foreign(study: Study, **options: Any) -> None:
    frame = study.judgments_frame().replace({"answer": WORDS}).rename(columns=OTHER)
    frame.to_csv(study.judgments, index=False, **options)


def test_a_file_of_another_tool_gives_the_same_answer(study: Study, answer: Callable[..., dict[str, Any]]) -> None:
    ours = answer("check", *study.files)
    foreign(study, sep=";")
    theirs = answer("check", *study.files, *MAP, *MAP_ANSWER)
    imported = theirs.pop("imported")
    assert ours.pop("imported") is None
    assert theirs == ours
    assert imported["rows"] == 40
    assert sum(line["rows"] for line in imported["answers"]) == 40


def test_the_account_is_told(study: Study, run: Callable[..., Result]) -> None:
    foreign(study)
    said = run("check", *study.files, *MAP, *MAP_ANSWER).stderr
    assert "Imported 40 of 40 rows: judge from column 'rater', a from column 'left'" in said
    count = (study.judgments_frame()["choice"] == "T").sum()
    assert any(line.split() == ["'T'", "->", "same", str(count), "rows"] for line in said.splitlines())


def test_unmapped_values_are_refused_by_line(study: Study, run: Callable[..., Result]) -> None:
    foreign(study)
    for command in (
        ["check", *study.files],
        ["fit", *study.to_fit],
        ["frontier", *study.to_fit, "--out", study.folder / "f.csv"],
    ):
        said = run(*command, *MAP, "--map-answer", "T=same,L=a_at_least_b,-=skip", code=1).stderr
        assert f"{study.judgments}, line " in said
        assert "column choice: 'R' is not an answer" in said


def test_missing_columns_are_named_with_the_way_out(study: Study, run: Callable[..., Result]) -> None:
    foreign(study)
    said = run("check", *study.files, code=1).stderr
    assert "no column judge and no column a and no column b and no column answer; found: 'rater'" in said
    assert "--map judge=NAME; or give one for all rows with --judge" in said
    said = run("check", *study.files, "--map", "judge=raters,a=left,b=right,answer=choice", code=1).stderr
    assert "there is no column 'raters' (did you mean 'rater'?); found: 'rater', 'left'" in said


def test_two_columns_and_nothing_else(
    study: Study, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]
) -> None:
    frame = study.judgments_frame().drop_duplicates(["a", "b"])[["a", "b"]]
    frame.set_axis(["winner", "loser"], axis="columns").to_csv(study.judgments, index=False)
    options = ["--map", "a=winner,b=loser", "--judge", "panel"]
    found = answer("check", *study.files, *options, "--answer", "a_at_least_b")
    assert found["answers"]["a_at_least_b"] == found["imported"]["rows"] == 10
    assert found["judges"] == 1
    assert found["imported"]["fixed"] == {"judge": "panel", "answer": "a_at_least_b"}
    assert "is not an answer" in run("check", *study.files, *options, "--answer", "better", code=1).stderr


def test_one_judge_for_a_file_that_names_them_is_refused(study: Study, run: Callable[..., Result]) -> None:
    said = run("check", *study.files, "--judge", "me", code=1).stderr
    assert "has a column for judge, so --judge cannot be given as well" in said


def test_wrong_maps_are_wrong_usage(study: Study, run: Callable[..., Result]) -> None:
    study.judgments.unlink()  # found out before any file is read
    assert "Did you mean judge=rater?" in run("check", *study.files, "--map", "rater=judge", code=2).stderr


def test_a_later_error_still_names_the_line_of_the_file(study: Study, run: Callable[..., Result]) -> None:
    frame = study.judgments_frame()
    frame["answer"] = "same"
    frame.loc[:2, "answer"] = "?"
    frame.loc[5, "a"] = "nobody"
    frame.to_csv(study.judgments, index=False)
    with pytest.raises(AssertionError):
        run("check", *study.files)
    said = run("check", *study.files, "--map-answer", "?=skip", code=1).stderr
    assert f"{study.judgments}, line 7, column a: 'nobody' is not the id of anyone in people" in said


def test_unknown_words_name_the_column_of_the_file() -> None:
    frame = pd.DataFrame({"judge": "x", "a": [1, 2], "b": 9, "verdict": ["same", "sure"]})
    with pytest.raises(InputError, match=r"f.csv, line 3, column verdict: 'sure' is not an answer"):
        translate_answers(frame, Source("f.csv", np.array([2, 3])), {"answer": "verdict"}, {}, {})
