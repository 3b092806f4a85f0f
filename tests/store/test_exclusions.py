"""Whoever is excluded is left out of what is said about the study, can be taken back, and stays in bundles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.changed_bundles import changed, contents, in_table, put
from tests.support.visits import hidden, visiting

from fairwise.archive.bundle import ANSWERS, EXCLUSIONS, read_bundle, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store import export, quotas
from fairwise.store.errors import Unknown
from fairwise.store.store import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.visits import Visit

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def study(make_study: Any) -> Any:
    return make_study(ask_why=True)


@pytest.fixture
def visit(study: Any, new_database: Callable[[], str | Path]) -> Iterator[Visit]:
    """Three participants; the first finished, all wrote reasons."""
    with visiting(study, new_database()) as opened:
        for answered in (4, 3, 1):
            opened.client.cookies.clear()
            mine = opened.begin()
            for number in range(1, answered + 1):
                opened.answer(mine, number, why=f"reason {answered}")
            if answered == 4:
                opened.post(f"{mine}/closing", **hidden(opened.get(f"{mine}/closing")), rules="my rules")
        yield opened


def exclude(visit: Visit, number: int, reason: str = "too fast", hour: int = 0) -> None:
    at = NOON + timedelta(hours=hour)
    visit.store.change_now(partial(quotas.exclude, number=number, reason=reason, by="Ada", at=at))


def include(visit: Visit, number: int, hour: int) -> None:
    at = NOON + timedelta(hours=hour)
    visit.store.change_now(partial(quotas.include, number=number, by="Bea", at=at))


def everything(visit: Visit, **choices: bool) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    read = visit.store.read_now
    said = read(lambda c: export.judgments(c, **choices)).frame
    return said, read(lambda c: export.texts(c, **choices)), read(lambda c: export.judges(c, None, **choices))


def test_who_is_excluded_is_in_no_export_and_back_when_included(visit: Visit) -> None:
    before = everything(visit)
    exclude(visit, 1)
    for table in everything(visit):
        assert set(table["judge"]) == {"p00002", "p00003"}
        assert "excluded" not in table
    assert visit.store.read_now(export.participant_counts).excluded == 1
    include(visit, 1, 1)
    for old, new in zip(before, everything(visit), strict=True):
        pd.testing.assert_frame_equal(old, new)


def test_with_excluded_everyone_is_there_and_marked(visit: Visit) -> None:
    before = everything(visit)
    exclude(visit, 2)
    for old, new in zip(before, everything(visit, with_excluded=True), strict=True):
        assert set(new.loc[new["excluded"] == "yes", "judge"]) == {"p00002"}
        pd.testing.assert_frame_equal(old, new.drop(columns="excluded"))
    said, _, _ = everything(visit, with_excluded=True, finished_only=True)
    assert set(said["judge"]) == {"p00001"}


def test_every_decision_is_kept_and_none_counts_twice(visit: Visit) -> None:
    exclude(visit, 1, "first")
    exclude(visit, 1, "again", 1)  # a double click
    include(visit, 1, 2)
    include(visit, 1, 3)
    exclude(visit, 1, "second", 4)
    found = visit.store.read_now(partial(quotas.exclusion_history, number=1))
    assert [(one.reason, one.excluded_by, one.included_by) for one in found] == [
        ("first", "Ada", "Bea"),
        ("second", "Ada", None),
    ]
    with pytest.raises(Unknown):
        exclude(visit, 99)
    with pytest.raises(Unknown):
        include(visit, 99, 1)


def test_a_bundle_has_everything_and_the_exclusions(visit: Visit, study: Any, tmp_path: Path) -> None:
    exclude(visit, 1, "first")
    include(visit, 1, 2)
    exclude(visit, 1, "second", 4)
    exclude(visit, 3, "third", 5)
    bundle = tmp_path / "bundle.zip"
    visit.store.read_now(lambda connection: write_bundle(bundle, study, connection))
    found = verify_bundle(bundle)
    assert (found.participants, found.answers, found.excluded) == (3, 8, 2)
    files = read_bundle(bundle)
    assert len(files.table(ANSWERS)) == 8
    assert list(files.table(EXCLUSIONS).columns) == ["number", "reason", "excluded_at", "included_at"]
    assert b"Ada" not in b"".join(contents(files).values())

    reopen_bundle(bundle, tmp_path / "again", tmp_path / "again.sqlite")
    with snapshot(tmp_path / "again.sqlite") as connection:
        assert set(export.judgments(connection).frame["judge"]) == {"p00002"}
        again = quotas.exclusion_history(connection, 1)
    assert [(one.reason, one.included_at is None) for one in again] == [("first", False), ("second", True)]


@pytest.mark.parametrize(
    ("row", "column", "value", "said"),
    [
        (0, "number", "9", "has participant 9"),
        (0, "excluded_at", "yesterday", "yesterday"),
        (0, "included_at", "", "cannot be"),  # excluded a second time without having been taken back
        (1, "excluded_at", "2026-05-01T12:30:00+00:00", "cannot be"),  # before the first ended
    ],
)
def test_exclusions_that_cannot_be_are_refused(
    visit: Visit, study: Any, tmp_path: Path, row: int, column: str, value: str, said: str
) -> None:
    exclude(visit, 1, "first")
    include(visit, 1, 2)
    exclude(visit, 1, "second", 4)
    visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    forged = changed(tmp_path / "bundle.zip", in_table(EXCLUSIONS, put(row, column, value)), forge=True)
    with pytest.raises(InputError, match=said):
        verify_bundle(forged)
