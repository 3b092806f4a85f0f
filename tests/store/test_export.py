"""From the store to a file and back: nothing is added, lost or changed."""

from __future__ import annotations

import csv
import io
import re
import secrets
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from tests.support.someone import shown_pair

from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments
from fairwise.store import export, participants, recording
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.store import Store, snapshot
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
# What files and readers like to take for something else.
IDS = [
    "=1+1",
    "a,b",
    '"q"',
    "01",
    "1.0",
    "x\ny",
    "NA",
    "null",
    "nan",
    "é😀",
    " spaced ",
    "שלום",
    "1e3",
    "'",
    "-1",
    "True",
]
EVERY = list(Answer)


def schedule(_number: int, _slot: int) -> list[ShownPair]:
    return [ShownPair(a, b, "uniform", 1 / 3) for a, b in zip(IDS[::2], IDS[1::2], strict=True)]


def someone(store: Store, *, answers: int, why: str = "", closing: str | None = None) -> list[tuple[str, str, Answer]]:
    """Answer so many pairs, the first of them twice; return what counts."""
    token = secrets.token_bytes(32)
    write: Callable[..., Any] = lambda change: store._writer.submit(change).result(timeout=300)  # noqa: E731
    consent = participants.Consent(token, "v1", NOW, Stage.PAIRS, timedelta(days=1))
    write(lambda c: participants.start(c, consent, schedule, lambda: secrets.token_urlsafe(18)))
    said = []
    for turn, position in enumerate([1] * bool(answers) + list(range(1, answers + 1))):
        shown = store.read_now(partial(shown_pair, token_hash=token, position=position))
        answer = EVERY[turn % 4]
        at = NOW + timedelta(seconds=turn)
        new = recording.NewAnswer(shown.key, secrets.token_hex(8), answer, why, None, turn / 7, at)
        write(partial(recording.record, token_hash=token, new=new))
        said.append((shown.a, shown.b, answer))
    if closing is not None:
        words = partial(participants.finish, rules=closing, expressible="", comments=closing)
        write(partial(words, token_hash=token, at=NOW))
    return said[1:]


def change(database: str | Path, statement: str) -> None:
    engine = writing_engine(database_url(database))
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_was_said_is_what_is_read(tmp_path: Path, new_database: Callable[[], str | Path], ending: str) -> None:
    database = new_database()
    store = Store.open(database, "study")
    said = {"p00001": someone(store, answers=8, closing="x"), "p00002": someone(store, answers=3)}
    someone(store, answers=0)
    with snapshot(database) as connection:  # while the store is open and can be written to
        exported = export.judgments(connection)
        finished = export.judgments(connection, finished_only=True)
        assert export.participant_counts(connection) == export.ParticipantCounts(3, 1, 0, "study")
    store.close()
    exported.write(tmp_path / f"judgments.{ending}")
    back = Judgments.read(tmp_path / f"judgments.{ending}")
    pd.testing.assert_frame_equal(back.frame, exported.frame)
    assert {
        judge: [(row.a, row.b, row.answer) for row in rows.itertuples()] for judge, rows in back.frame.groupby("judge")
    } == {judge: [(a, b, str(answer)) for a, b, answer in rows] for judge, rows in said.items()}
    assert back.frame["seconds"].tolist()[:2] == [1 / 7, 2 / 7]
    assert back.frame["answered_at"].iloc[0] == pd.Timestamp(NOW + timedelta(seconds=1))
    assert set(back.frame["selection_probability"]) == {1 / 3}
    assert finished.judges == ["p00001"]


def test_nobody_answered_yet(tmp_path: Path, new_database: Callable[[], str | Path]) -> None:
    database = new_database()
    store = Store.open(database, "study")
    someone(store, answers=0)
    with snapshot(database) as connection:
        nothing = export.judgments(connection)
        assert export.texts(connection).empty
    store.close()
    nothing.write(tmp_path / "judgments.csv")
    assert Judgments.read(tmp_path / "judgments.csv").n_judges == 0


def test_a_snapshot_is_of_one_moment(new_database: Callable[[], str | Path]) -> None:
    database = new_database()
    store = Store.open(database, "study")
    someone(store, answers=2)
    with snapshot(database) as connection:
        before = export.participant_counts(connection)
        someone(store, answers=2)
        assert export.participant_counts(connection) == before
        assert export.judgments(connection).n_judges == 1
    with snapshot(database) as connection:
        assert export.participant_counts(connection).started == 2
    store.close()


def test_a_snapshot_cannot_write(new_database: Callable[[], str | Path]) -> None:
    database = new_database()
    Store.open(database, "study").close()
    with pytest.raises(InputError, match=r"(?i)read-?only"), snapshot(database) as connection:
        connection.execute(sa.text("DELETE FROM participants"))


def test_where_nothing_is_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"), snapshot(tmp_path / "study.sqlite"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_study(new_empty_database: Callable[[], str | Path]) -> None:
    database = new_empty_database()
    change(database, "CREATE TABLE something (id INTEGER)")
    with pytest.raises(InputError, match="holds no study"), snapshot(database):
        pass


def test_texts(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s.sqlite", "study")
    someone(store, answers=8, why="=HYPERLINK(1)", closing="of course")
    someone(store, answers=1, why="because")
    with snapshot(tmp_path / "s.sqlite") as connection:
        everyone, finished = export.texts(connection), export.texts(connection, finished_only=True)
    store.close()
    assert everyone["about"].value_counts().to_dict() == {"why": 9, "rules": 1, "comments": 1}
    assert set(finished["judge"]) == {"p00001"}
    assert everyone[["judge", "a", "b", "text"]].to_numpy()[0].tolist() == ["p00001", IDS[0], IDS[1], "=HYPERLINK(1)"]


@pytest.mark.parametrize(
    ("text", "safe"),
    [(text, f"'{text}") for text in ("=1", "+1", "-1", "@SUM(A1)", "  =1", "\uff1d1", "'=1", "'", "\t1", '"=1')]
    + [("\t=1", "'\t'=1"), ("\r=1", "'\r'=1"), ("\n=1", "'\n'=1")]
    + [(f"x{cut}{text}", f"x{cut}'{text}") for cut in ";\t\r\n" for text in ("=cmd();y", " =1", '"=1', '" "+1', "'=1")]
    + [("x;;\n=1;-2", "x;;\n'=1;'-2"), ("x; y = 1", "x; y = 1"), ("a-b; c", "a-b; c")],
)
def test_formulas_are_defused(text: str, safe: str) -> None:
    assert export.defused(text) == safe
    assert export.as_written(safe) == text


_TEXTS = st.text() | st.text("=+-@;'\"\t\r\n a")


@given(_TEXTS)
def test_defusing_can_be_undone(text: str) -> None:
    assert export.as_written(export.defused(text)) == text


@given(_TEXTS)
def test_no_spreadsheet_finds_a_formula_whatever_separates_its_cells(text: str) -> None:
    safe = export.defused(text)
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerow(["p00001", "why", safe])
    line = written.getvalue()
    by_commas, by_semicolons = next(csv.reader(io.StringIO(line, newline=""))), re.split("[;\t\r\n]", line)
    assert not [cell for cell in (*by_commas, *by_semicolons) if cell.lstrip(' "').startswith(("=", "+", "-", "@"))]


def test_long_texts_of_blanks_are_defused_at_once() -> None:
    """No blank is looked at from two places: in quadratic time this would take minutes."""
    text = "\n \t;" * 50_000 + " " * 200_000
    assert export.as_written(export.defused(text)) == text
