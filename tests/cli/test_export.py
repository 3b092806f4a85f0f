"""`fairwise export` from the command line."""

from __future__ import annotations

import csv
import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.someone import shown_pair

from fairwise.judgments import Answer, Judgments
from fairwise.store import participants, recording
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def home(study: Study, run: Callable[..., Result]) -> Path:
    """A study with two pairs; one participant finished, another answered one pair."""
    home = study.folder / "s"
    run("study", "new", home, *study.who, "--show", "town,age", "--pairs", 2)
    folder = StudyFolder.open(home)
    store = Store.open(home / "study.sqlite", folder.fingerprint)
    write: Callable[..., Any] = store.change_now
    for answered in (2, 1):
        token = secrets.token_bytes(32)
        consent = participants.Consent(token, "v1", NOW, Stage.PAIRS, timedelta(days=1))
        write(lambda c, consent=consent: participants.start(c, consent, folder.schedule, lambda: secrets.token_hex(9)))
        for position in range(1, answered + 1):
            key = store.read_now(partial(shown_pair, token_hash=token, position=position)).key
            new = recording.NewAnswer(key, secrets.token_hex(8), Answer.SAME, "", None, 1.5, NOW)
            write(partial(recording.record, token_hash=token, new=new))
        if answered == 2:
            said = partial(participants.finish, rules="=cmd|' /C calc'!A0", expressible="", comments="two\nlines")
            write(partial(said, token_hash=token, at=NOW))
    store.close()
    return home


def test_judgments_and_texts(home: Path, run: Callable[..., Result]) -> None:
    out, texts = home / "judgments.csv", home.parent / "texts.csv"
    result = run("export", home, "--out", out, "--texts", texts)
    assert f"Wrote {out}: 3 answers of 2 judges." in result.stdout
    assert "1 person has finished, 1 has not." in result.stdout
    assert f"Wrote {texts}: 2 texts." in result.stdout
    assert result.stderr == ""
    assert Judgments.read(out).judges == ["p00001", "p00002"]
    with texts.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["about"], row["text"]) for row in rows] == [
        ("rules", "'=cmd|' /C calc'!A0"),
        ("comments", "two\nlines"),
    ]
    run("export", home, "--out", out)  # again, over what it wrote


def test_only_their_owner_can_open_files_with_texts(home: Path, run: Callable[..., Result]) -> None:
    files = {name: home.parent / name for name in ("texts.csv", "bundle.zip")}
    for file in files.values():
        file.touch(mode=0o644)
    command = ("export", home, "--out", home.parent / "judgments.csv")
    run(*command, "--texts", files["texts.csv"], "--bundle", files["bundle.zip"])
    assert {name: file.stat().st_mode & 0o777 for name, file in files.items()} == dict.fromkeys(files, 0o600)


def test_only_those_who_finished(home: Path, answer: Callable[..., dict[str, Any]]) -> None:
    out = home.parent / "judgments.parquet"
    assert answer("export", home, "--out", out, "--finished-only") == {
        "out": str(out),
        "answers": 2,
        "judges": 1,
        "finished": 1,
        "unfinished": 1,
        "excluded": 0,
        "texts": None,
        "bundle": None,
    }
    assert Judgments.read(out).judges == ["p00001"]


def test_a_study_that_was_changed_can_still_be_exported(home: Path, run: Callable[..., Result]) -> None:
    settings = home / "study.toml"
    settings.write_text(settings.read_text().replace("\nseed = 0\n", "\nseed = 1\n"))
    assert "was changed" in run("export", home, "--out", home.parent / "j.csv").stderr


def test_by_url(home: Path, run: Callable[..., Result]) -> None:
    run("export", home, "--out", home.parent / "j.csv", "--database", f"sqlite:///{home / 'study.sqlite'}")
    for url in ("mysql://x", "nonsense"):
        run("export", home, "--out", home.parent / "j.csv", "--database", url, code=1)


def test_refusals_write_nothing(home: Path, run: Callable[..., Result]) -> None:
    before = (home / "people.parquet").read_bytes()
    for words, reason in (
        (["--out", home / "people.parquet"], "is also an input"),
        (["--out", home.parent / "j.xlsx"], ".csv or .parquet"),
        (["--out", home / "no" / "j.csv"], "no such folder"),
        (["--out", home.parent / "j.csv", "--texts", home.parent / "j.csv"], "choose another name"),
        (["--out", home.parent / "j.csv", "--texts", home.parent / "t.parquet"], "must end in .csv"),
    ):
        assert reason in run("export", home, *words, code=1).stderr
    (home / "study.sqlite").rename(home / "away")
    assert "nobody has been asked yet" in run("export", home, "--out", home.parent / "j.csv", code=1).stderr
    assert not (home / "study.sqlite").exists()
    assert not (home.parent / "j.csv").exists()
    assert (home / "people.parquet").read_bytes() == before
    run("export", home.parent / "nothing", "--out", home.parent / "j.csv", code=1)


def test_a_bundle_is_made_checked_and_opened_again(home: Path, run: Callable[..., Result], tmp_path: Path) -> None:
    bundle, again = tmp_path / "all.zip", tmp_path / "again"
    run("export", home, "--out", tmp_path / "first.csv", "--bundle", bundle)
    assert "is in order" in run("study", "verify", bundle).stdout
    run("study", "reopen", bundle, again)
    run("export", again, "--out", tmp_path / "second.csv")
    assert (tmp_path / "first.csv").read_bytes() == (tmp_path / "second.csv").read_bytes()
    assert "there already" in run("study", "reopen", bundle, again, code=1).stderr
    bundle.write_bytes(bundle.read_bytes()[:-30])
    assert "not a bundle, or damaged" in run("study", "verify", bundle, code=1).stderr
