"""A bundle carries both rounds of answers, and rounds that cannot be are found out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.changed_bundles import changed, in_table, put
from tests.support.looking_again import PAIRS, contradicting, finish

from fairwise.archive.bundle import ANSWERS, PARTICIPANTS, read_bundle, tables, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store import export
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.visits import Visit


@pytest.fixture
def bundle(visit: Visit, study: StudyFolder, tmp_path: Path) -> Path:
    mine, first, _ = contradicting(visit, study)
    visit.answer(mine, first, "same")
    finish(visit, mine)
    visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    return tmp_path / "bundle.zip"


def test_a_bundle_carries_the_rounds(bundle: Path, tmp_path: Path) -> None:
    assert sorted(read_bundle(bundle).table(ANSWERS)["round"]) == ["1"] * PAIRS + ["2"]
    found = verify_bundle(bundle)
    assert (found.answers, found.versions) == (PAIRS, PAIRS + 1)
    reopen_bundle(bundle, tmp_path / "again", tmp_path / "again.sqlite")
    store = Store.open(tmp_path / "again.sqlite", StudyFolder.open(tmp_path / "again").fingerprint)
    try:
        for name, kept in store.read_now(tables).items():
            pd.testing.assert_frame_equal(kept.astype(object), read_bundle(bundle).table(name).astype(object))
        assert sorted(store.read_now(export.judgments).frame["round"]) == [1] * PAIRS + [2]
    finally:
        store.close()


def switched_off(files: dict[str, bytes]) -> None:
    files["study/study.toml"] = files["study/study.toml"].replace(b"second_look = true", b"second_look = false")


def test_a_bundle_of_a_study_whose_second_look_was_switched_off_is_in_order(bundle: Path) -> None:
    assert verify_bundle(changed(bundle, switched_off, forge=True)) == verify_bundle(bundle)


def never_there(files: dict[str, bytes]) -> None:
    """Still at the pairs."""
    in_table(PARTICIPANTS, put(0, "stage", "pairs"))(files)
    in_table(PARTICIPANTS, put(0, "finished_at", ""))(files)


def one_more(rows: pd.DataFrame, at: int, turn: str) -> pd.DataFrame:
    """Another version of an answer, after all others."""
    row = rows.iloc[at].copy()
    row["version"], row["round"], row["sequence"] = str(int(row["version"]) + 1), turn, str(len(rows) + 1)
    return pd.concat([rows.iloc[: at + 1], row.to_frame().T, rows.iloc[at + 1 :]], ignore_index=True)


def back_in_round_1(rows: pd.DataFrame) -> pd.DataFrame:
    return one_more(rows, int(rows.index[rows["round"] == "2"][0]), "1")


def unshown(rows: pd.DataFrame) -> pd.DataFrame:
    """A second round of a pair that does not contradict any other."""
    return one_more(rows, int(rows.index[rows["answer"] == "no_constraint"][0]), "2")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (in_table(ANSWERS, lambda rows: rows.assign(round="2")), "is of round 2 where round 1 was expected"),
        (in_table(ANSWERS, put(0, "round", "3")), "row 2, column round: '3'; allowed: 1, 2"),
        (in_table(ANSWERS, put(0, "round", "one")), "column round: 'one'; allowed: 1, 2"),
        (
            in_table(ANSWERS, lambda rows: rows.assign(round=rows["round"].replace({"2": "0"}))),
            "column round: '0'; allowed: 1, 2",
        ),
        (in_table(ANSWERS, back_in_round_1), "is of round 1 where round 2 was expected"),
        (in_table(ANSWERS, unshown), "is of a second look, in which that pair was not shown"),
        (never_there, "is of round 2 where round 1 was expected"),
    ],
)
def test_rounds_that_cannot_be_are_found_out(bundle: Path, change: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        verify_bundle(changed(bundle, change, forge=True))
