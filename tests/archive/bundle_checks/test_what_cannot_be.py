"""What cannot be is refused, cell by cell, and what is missing or was not checked is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest
from tests.support.bundled_study import NOW, manifest
from tests.support.changed_bundles import changed, in_table, put
from typer.testing import CliRunner

from fairwise.archive.bundle import (
    ANSWER_MODELS,
    ANSWERS,
    CLOSINGS,
    CONSENTS,
    EXCLUSIONS,
    PARTICIPANTS,
    SCHEDULE,
    read_bundle,
)
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.cli.app import app
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.bundled_study import Change


def twice(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table.iloc[[0]]], ignore_index=True)


def without(column: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.drop(columns=column)


def of_the_third(rows: pd.DataFrame) -> pd.DataFrame:
    """An answer of someone who has not come to the pairs."""
    row = rows.iloc[0].copy()
    row["number"], row["sequence"] = "3", str(len(rows) + 1)
    return pd.concat([rows, row.to_frame().T], ignore_index=True)


def a_little_more(rows: pd.DataFrame) -> pd.DataFrame:
    said = str(rows["selection_probability"].iloc[0])
    rows.loc[0, "selection_probability"] = repr(float(said) * (1 + 1e-8))
    return rows


def of_a_repeat(rows: pd.DataFrame) -> pd.DataFrame:
    rows.loc[rows["design"] == "repeat", "selection_probability"] = "0.5"
    return rows


def both_answers_the_same(rows: pd.DataFrame) -> pd.DataFrame:
    """Of the one at the second look, who then had nothing to look at."""
    rows.loc[rows["number"] == "2", "answer"] = "same"
    return rows


def without_the_last(rows: pd.DataFrame) -> pd.DataFrame:
    """Of the answers of the one at the second look."""
    return rows.iloc[:-1]


def a_model(table: pd.DataFrame) -> pd.DataFrame:
    table.loc[0] = {"number": "1", "learned_from": "3", "made_at": NOW.isoformat(), "parameters": "{}"}
    return table


def cell(name: str, column: str, value: str, row: int = 0) -> Change:
    return in_table(name, put(row, column, value))


LONG_AGO = "1970-01-01T00:00:00+00:00"
IMPOSSIBLE: dict[str, tuple[Change, str]] = {
    "probability": (cell(SCHEDULE, "selection_probability", "0.9"), "participant 1 .*_probability '0.9', not 0"),
    "probability, a little": (in_table(SCHEDULE, a_little_more), r"participant 1 .* pair 1 with .*, not 0\."),
    "probability of a repeat": (in_table(SCHEDULE, of_a_repeat), "_probability '0.5', not nothing"),
    "no probability": (cell(SCHEDULE, "selection_probability", ""), "participant 1 .*_probability '', not 0"),
    "model of a uniform pair": (cell(SCHEDULE, "answer_model", "1"), "names a model or answers"),
    "models of no active study": (in_table(ANSWER_MODELS, a_model), "this study has no active pairs"),
    "seed": (manifest(seed=99), "bundle.json: 'seed' is 99, but its study has 0"),
    "consent version": (manifest(consent_version="x"), "bundle.json: 'consent_version' is 'x', but its study has"),
    "format": (manifest(format=4), "a bundle of format 4; this version reads format 3"),
    "made_at": (manifest(made_at="yesterday"), "'made_at' is 'yesterday'; needed: a time"),
    "no version": (manifest(fairwise=None), "bundle.json has no 'fairwise'"),
    "kind of a field": (manifest(fairwise=1), "'fairwise' is 1; needed: a text"),
    "files": (manifest(files=3), "'files' is 3; needed: a list of files"),
    "last number": (manifest(last_number=2), "'last_number' is 2; needed: at least 3"),
    "too early": (in_table(ANSWERS, of_the_third), "participant 3 to pair 1 is of someone who had only come to 'prac"),
    "before consent": (cell(ANSWERS, "answered_at", LONG_AGO), "came at 1970.* before they agreed"),
    "finished before": (cell(PARTICIPANTS, "finished_at", LONG_AGO), "participant 1 finished at 1970.* before they"),
    "never finished": (cell(PARTICIPANTS, "finished_at", ""), "participant 1 is at 'finished', and finished at ''"),
    "nothing to look at": (in_table(ANSWERS, both_answers_the_same), "participant 2 came to a second look, but had"),
    "left open": (in_table(ANSWERS, without_the_last), "participant 2 came to the second look, but pair 5 has no"),
    "participant twice": (in_table(PARTICIPANTS, twice), "participants.csv, row 5: number '1' is there twice"),
    "closing twice": (in_table(CLOSINGS, twice), "closings.csv, row 3: number '1' is there twice"),
    "pair twice": (in_table(SCHEDULE, twice), "schedule.csv, row 17: number '1', position '1' is there twice"),
    "sequence twice": (cell(ANSWERS, "sequence", "2"), "answers.csv, row 3: sequence '2' is there twice"),
    "text": (cell(CONSENTS, "text", "You agree to everything."), "the text of version '.*' is another"),
    "text twice": (in_table(CONSENTS, twice), "consents.csv, row 4: version '.*' is there twice"),
    "excluded stranger": (
        lambda files: files.update({EXCLUSIONS: f"number,reason,excluded_at,included_at\n9,,{LONG_AGO},\n".encode()}),
        "exclusions.csv has participant 9, who is not in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_is_refused(bundle: Path, what: str) -> None:
    change, named = IMPOSSIBLE[what]
    with pytest.raises(InputError, match=named):
        verify_bundle(changed(bundle, change, forge=what != "files"))


@pytest.mark.parametrize(
    ("name", "column", "value", "allowed"),
    [
        (PARTICIPANTS, "number", "x", "a whole number from 1"),
        (PARTICIPANTS, "number", "01", "a whole number from 1"),
        (PARTICIPANTS, "number", "99999999999", "a whole number from 1"),
        (PARTICIPANTS, "slot", "-1", "a whole number from 0"),
        (PARTICIPANTS, "stage", "nonsense", "relation, questions, task, check, .*"),
        (PARTICIPANTS, "relation", "martian", "affected, neither, or nothing"),
        (PARTICIPANTS, "language", "xx", "en, .*, or nothing"),
        (PARTICIPANTS, "came_by", "carrier pigeon", "open, personal, .*"),
        (PARTICIPANTS, "consented_at", "nonsense", "a time such as .*"),
        (PARTICIPANTS, "consented_at", "2026-01-01T00:00:00", "a time such as .*"),  # in which zone?
        (PARTICIPANTS, "consent_version", "", "1 to 16 characters"),
        (PARTICIPANTS, "check_tries", "many", "a whole number from 0"),
        (SCHEDULE, "position", "0", "a whole number from 1"),
        (SCHEDULE, "selection_probability", "nan", "a number from 0, or nothing"),
        (ANSWERS, "seconds", "-5", "a number from 0, or nothing"),
        (ANSWERS, "seconds", "abc", "a number from 0, or nothing"),
        (ANSWERS, "confidence", "77", "1, 2, 3, 4, 5, or nothing"),
        (ANSWERS, "confidence", "0", "1, 2, 3, 4, 5, or nothing"),
        (ANSWERS, "answered_at", "soon", "a time such as .*"),
        (ANSWERS, "why", "a\0b", "a text"),
        (CONSENTS, "language", "xx", "en, .*"),
    ],
)
def test_every_cell_is_checked(bundle: Path, name: str, column: str, value: str, allowed: str) -> None:
    said = f"{name}, row 2, column {column}: {value!r}; allowed: {allowed}$".replace("\\x00", r"\\x00")
    with pytest.raises(InputError, match=said):
        verify_bundle(changed(bundle, cell(name, column, value), forge=True))


@pytest.mark.parametrize("name", [PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS, ANSWER_MODELS, EXCLUSIONS, CONSENTS])
def test_every_column_is_needed_and_no_other(bundle: Path, tmp_path: Path, name: str) -> None:
    for column in map(str, read_bundle(bundle).table(name)):
        less = changed(bundle, in_table(name, without(column)), forge=True)
        with pytest.raises(InputError, match=f"{name} has no column '{column}'"):
            verify_bundle(less)
    more = changed(bundle, in_table(name, lambda table: table.assign(token_hash="x")), forge=True)
    with pytest.raises(InputError, match=f"{name} has a column 'token_hash' that does not belong there"):
        reopen_bundle(more, tmp_path / "again", tmp_path / "again.sqlite")


def test_a_text_that_was_not_kept_is_said_to_be_missing(bundle: Path) -> None:
    old = changed(bundle, cell(PARTICIPANTS, "consent_version", "0123456789abcdef"), forge=True)
    assert verify_bundle(old).without_text == 1
    said = " ".join(CliRunner().invoke(app, ["study", "verify", str(old)]).stdout.split())
    assert "1 of the participants agreed to a consent text that is not in it" in said
    assert "Not checked, as nothing else in it says so: when it was made, and by which version" in said
