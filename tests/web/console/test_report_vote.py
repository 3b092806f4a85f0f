"""The report of a model that was voted on ends with what the panel chose, and with what was decided."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from tests.support.fits import done_job
from tests.support.operating import Operating, operating
from tests.support.someone import Someone

from fairwise.store.fit_files import REPORTS, job_folder
from fairwise.store.schema import participants
from fairwise.store.votes import Option, cast, close_vote, decide, last_vote, open_vote
from fairwise.study.deliberation import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OPTIONS = [Option(0.0, 0.44, 40, 0), Option(0.02, 0.38, 30, 10), Option(0.1, 0.33, 10, 30)]
WHY = "<b>Nobody</b> may be wronged so often."


@pytest.fixture
def console(make_study: Callable[..., StudyFolder], tmp_path: Path) -> Iterator[Operating]:
    """With two models that are done, and reports in both languages."""
    with operating(make_study().path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        for _ in range(2):
            job_id = done_job(opened.site.host.store, opened.site.host.path, {"known-as-1": 0.5})
            for code, name in REPORTS.items():
                page = f"<main>{code}</main><footer></footer>"
                (job_folder(opened.site.host.path, job_id) / name).write_text(page, encoding="utf-8")
        yield opened


def voted(console: Operating, *, ballots: int, ended: bool = True) -> int:
    """So many approve of the second option, one of them also of the third; returns the vote's id."""
    store = console.site.host.store
    store.change_now(partial(open_vote, job_id=1, rule=Rule.APPROVAL, options=OPTIONS, by="Ada", at=NOW))
    vote = store.read_now(last_vote)
    assert vote is not None
    for number in range(ballots):
        one = Someone(store)
        store.change_now(lambda connection: connection.execute(sa.update(participants).values(stage="finished")))
        ballot = (1, 2) if number == 0 else (1,)
        store.change_now(partial(cast, token_hash=one.token, vote_id=vote.id, ballot=ballot, at=NOW))
    if ended:
        store.change_now(partial(close_vote, vote_id=vote.id, at=NOW))
    return vote.id


def report(console: Operating, job: int = 1, language: str = "en") -> str:
    return console.get(f"/fits/{job}/report?lang={language}").text


def test_it_ends_with_the_points_the_tally_and_the_decision(console: Operating) -> None:
    vote = voted(console, ballots=5)
    assert "Nothing is decided yet." in report(console)
    change = partial(decide, vote_id=vote, chosen=0, why=WHY, by="Ada", at=NOW)
    console.site.host.store.change_now(change)
    page = report(console)
    assert page.index("What the panel chose") < page.index("</main>")
    assert "38.0 wrong decisions in 100, 30 of 40 answers followed" in page
    rows = page.partition("<tbody>")[2].split("<tr>")[1:]
    assert [">0</td>" in rows[0], ">5 (first)</td>" in rows[1], ">1</td>" in rows[2]] == [True] * 3
    assert "Option A is adopted." in page
    assert "&lt;b&gt;Nobody&lt;/b&gt;" in page
    assert "<b>Nobody" not in page
    assert "Was das Panel gewählt hat" in report(console, language="de")
    assert "What the panel" not in report(console, language="de")
    assert "What the panel" not in report(console, job=2), "it is about the other model"


def test_of_fewer_than_five_it_is_not_told_what_they_chose(console: Operating) -> None:
    voted(console, ballots=4)
    page = report(console)
    assert "Of fewer than five it is not told what they chose." in page
    assert "(first)" not in page


def test_nothing_is_told_while_the_vote_is_open(console: Operating) -> None:
    voted(console, ballots=5, ended=False)
    assert report(console) == "<main>en</main><footer></footer>"
