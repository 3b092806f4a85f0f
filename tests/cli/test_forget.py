"""`fairwise study forget` from the command line."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.visits import visiting

from fairwise.store import erasure, recruitment
from fairwise.store.schema import counters, panel_groups, participants
from fairwise.store.store import Store, snapshot
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

    Run = Callable[..., Result]


@pytest.fixture
def home(study: Study, run: Run) -> Path:
    folder = study.folder / "asked"
    run("study", "new", folder, *study.who, "--show", "town,age", "--pairs", 2)
    return folder


def kept_for(home: Path, days: int) -> None:
    file = home / "study.toml"
    file.write_text(re.sub(r"(?m)^(# )?retention_days = .*$", f"retention_days = {days}", file.read_text()))
    assert StudyFolder.open(home).settings.retention_days == days


def note_deletion(home: Path) -> None:
    store = Store.open(home / "study.sqlite", StudyFolder.open(home).fingerprint)
    store.change_now(erasure.note_deletion)
    store.close()


def test_where_there_is_nothing_to_do_it_says_why(home: Path, run: Run) -> None:
    assert "nobody has answered yet" in run("study", "forget", home, code=1).stderr
    with visiting(StudyFolder.open(home), home / "study.sqlite") as visit:
        visit.begin()
    assert "retention_days is 0, so everything is kept" in run("study", "forget", home, code=1).stderr
    kept_for(home, 30)
    assert run("study", "forget", home).stdout == "Older than 30 days: texts or names in 0 rows were deleted.\n"


@pytest.mark.parametrize("days", [0, 30])
def test_files_that_could_not_be_cleaned_are_cleaned(
    home: Path, days: int, run: Run, answer: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "_BUSY_MILLISECONDS", 50)
    kept_for(home, days)
    note_deletion(home)
    with snapshot(home / "study.sqlite") as connection:
        connection.execute(sa.select(participants)).all()
        note_deletion(home)  # what the reader does not see yet
        said = run("study", "forget", home)
        assert "still hold what was deleted" in said.stderr
        assert "out of the files" not in said.stdout
        assert answer("study", "forget", home)["cleaned"] is False
    assert "What was deleted is out of the files" in run("study", "forget", home).stdout
    if days:
        assert answer("study", "forget", home)["cleaned"] is None
    else:
        assert "everything is kept" in run("study", "forget", home, code=1).stderr


def test_a_clock_that_jumped_is_told_of_until_it_is_believed(
    home: Path, run: Run, answer: Callable[..., dict[str, Any]]
) -> None:
    kept_for(home, 30)
    with visiting(StudyFolder.open(home), home / "study.sqlite") as visit:
        visit.begin()
    long_ago = sa.update(counters).where(counters.c.name == "clock seen").values(value=counters.c.value - 90 * 24 * 60)
    store = Store.open(home / "study.sqlite", None)
    store.change_now(lambda connection: connection.execute(long_ago))
    store.close()
    told = run("study", "forget", home)
    assert "90 days ahead of the last time that is written here" in " ".join(told.stderr.split())
    assert "were deleted" not in told.stdout
    assert answer("study", "forget", home)["days_off"] == 90
    assert "texts or names in 0 rows" in run("study", "forget", home, "--clock-is-right").stdout
    assert answer("study", "forget", home)["days_off"] == 0


def test_the_arm_of_somebody_who_withdrew_before_goes_on_request(home: Path, run: Run) -> None:
    folder = StudyFolder.open(home)
    Store.open(home / "study.sqlite", folder.fingerprint, home).close()

    def change(ask: Callable[[sa.Connection], Any]) -> Any:
        store = Store.open(home / "study.sqlite", folder.fingerprint, home)
        try:
            return store.change_now(ask)
        finally:
            store.close()

    panel = folder.settings.recruitment.panel
    for who in ("ann", "bob"):
        mark = Keys(folder.secret).group_mark(panel, who)
        change(partial(recruitment.keep_arm, mark=mark, arm="zebra"))
    before = {file.name: file.read_bytes() for file in home.glob("study.sqlite*")}
    assert mark in b"".join(before.values())
    assert "No group is kept for this ID." in run("study", "forget", home, "--panel-id", "cem").stdout
    told = run("study", "forget", home, "--panel-id", "bob").stdout
    assert "The group kept for this ID is deleted." in told
    assert "out of the files" in told
    assert mark not in b"".join(file.read_bytes() for file in home.glob("study.sqlite*"))
    assert change(lambda c: len(c.execute(sa.select(panel_groups)).all())) == 1
