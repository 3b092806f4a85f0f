"""Trying a study: the whole way of a participant, for the operator who began it alone, and nothing left of it."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import sqlalchemy as sa
from tests.support.operating import Operating, operating
from tests.support.visits import hidden

from fairwise.store.export import participant_counts
from fairwise.store.operators import was_done
from fairwise.store.schema import events, invitations, participants
from fairwise.store.study_state import Standing
from fairwise.study.recruitment import Recruitment, Relation
from fairwise.study.settings import Stage, StudyState
from fairwise.web.console import overview
from fairwise.web.console.overview import Step, checklist
from fairwise.web.console.study_pages import TRIED, TrialPages
from fairwise.web.shared.host import HOURS_KEPT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    """Of a paused study that nobody can enter without a link."""
    with operating(make_study(recruitment={"open": False}).path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        opened.post("/state", state="paused")
        yield opened


def begin(console: Operating) -> tuple[str, Any]:
    """Begin a trial; returns its path and its first page."""
    page = console.post("/try")
    assert page.status_code == 200
    return page.url.path.partition("/p/")[0], page


def test_the_whole_way_leaves_nothing_but_that_it_was_tried(console: Operating) -> None:
    base, page = begin(console)
    assert "This is a trial" in page.text
    page = console.client.post(f"{base}/consent", data={**hidden(page), "decision": "agree"})
    for _ in range(8):
        chosen = {"answer": "same"} if "/pair" in page.url.path or page.url.path.endswith("practice") else {}
        if page.url.path.endswith("review"):
            break
        assert "This is a trial" in page.text
        page = console.client.post(page.url.path, data={**hidden(page), **chosen})
    mine = page.url.path.rpartition("/")[0]
    page = console.client.post(f"{mine}/closing", data=hidden(console.client.get(f"{mine}/closing")))
    assert page.url.path.endswith("/thanks")
    assert "begun a trial" in console.get("/try").text
    assert "is deleted" in console.post("/try/end").text
    assert console.client.get(f"{mine}/thanks").url.path == "/admin/try"
    home, store = console.site.host.path, console.site.host.store
    assert not [*(home / ".trials").iterdir()]
    assert store.read_now(participant_counts).started == 0
    assert store.read_now(lambda c: c.execute(sa.select(invitations)).first()) is None
    assert store.read_now(lambda c: was_done(c, TRIED))
    assert store.read_now(lambda c: c.execute(sa.select(events.c.action)).scalars().all())[-1] == TRIED


def test_nobody_else_sees_a_trial(console: Operating) -> None:
    _, page = begin(console)
    mine = page.url.path
    console.add("Ben", "owner")
    console.log_in("Ben")
    assert console.client.get(mine).url.path == "/admin/try"
    console.client.cookies.clear()
    assert console.client.get(mine).url.path == "/admin/login"


def test_a_copy_holds_neither_outcomes_nor_the_secret(console: Operating) -> None:
    base, _ = begin(console)
    home = console.site.host.path
    folder = home / ".trials" / base.rpartition("/")[2] / "study"
    assert not (folder / "outcome.parquet").exists()
    assert (folder / "secret.key").read_bytes() != (home / "secret.key").read_bytes()
    assert folder.parent.parent.stat().st_mode & 0o077 == 0


def test_one_that_nobody_ends_is_deleted(console: Operating) -> None:
    base, _ = begin(console)
    folder = console.site.host.path / ".trials" / base.rpartition("/")[2]
    old = time.time() - HOURS_KEPT * 3600 - 1
    os.utime(folder, (old, old))
    TrialPages(console.site.host, None)  # type: ignore[arg-type] # as when the server starts
    assert not folder.exists()


def test_the_checklist_goes_on(console: Operating) -> None:
    assert "Next: Complete the texts" in console.get("").text
    for name in ("consent", "task"):
        token = console.get(f"/study/{name}").text.partition('name="token" value="')[2].partition('"')[0]
        assert console.post(f"/study/{name}", token=token, text="# Hello").status_code == 200
    assert "Next: Try it" in console.get("").text
    begin(console)
    page = console.post("/try/end").text
    assert "Next: Open it" in page
    assert page.count('<button class="primary">Open the study</button>') == 1
    assert "Next: Invite people" in console.post("/state", state="open").text


def test_closing_is_next_only_when_what_the_study_wants_is_there(console: Operating) -> None:
    """Of random studies with and without limits, with people who have not finished, and with simulated ones."""
    rng, folder, recommended = np.random.default_rng(18), console.site.host.study, Counter[str]()
    assert folder is not None

    def next_step(connection: Connection) -> None:
        names = ["affected", "decides"][: int(rng.integers(0, 3))]
        limit = int(rng.choice([0, 0, 1, 3, 6]))
        most = {name: None if rng.random() < 0.2 else int(rng.integers(0, 4)) for name in names}
        relations = tuple(Relation(name=name, words=name, most=number) for name, number in most.items())
        changed = {"relations": relations, "recruitment": Recruitment(most=limit)}
        study = replace(folder, settings=folder.settings.model_copy(update=changed))
        finished = Counter[str | None]()
        with connection.begin_nested() as change:
            for k in range(int(rng.integers(1, 9))):
                person = {
                    "number": k + 1,
                    "token_hash": bytes([k]),
                    "consent_version": "1",
                    "consented_at": datetime(2026, 1, 1, tzinfo=UTC),
                    "stage": str(rng.choice([Stage.FINISHED, Stage.FINISHED, Stage.PAIRS])),
                    "relation": None if not names else str(rng.choice(names)),
                    "simulated": bool(rng.random() < 0.2),
                }
                connection.execute(sa.insert(participants), person)
                counts = person["stage"] == Stage.FINISHED and not person["simulated"]
                finished[cast("str | None", person["relation"])] += int(counts)
            steps = checklist(connection, study, Standing(StudyState.OPEN))
            change.rollback()
        (collect,) = (step for step in steps if step.name == "collect")
        upcoming = next(step for step in steps if not step.done and step.name in ("collect", "close"))
        enough = bool(limit > 0 and finished.total() >= limit)
        if not limit and None not in most.values() and any(most.values()):
            enough = all(finished[name] >= (number or 0) for name, number in most.items())
        assert upcoming.name == ("close" if enough else "collect")
        assert collect.finished == finished.total()
        recommended[upcoming.name] += 1

    for _ in range(200):
        console.site.host.store.change_now(next_step)
    assert min(recommended.values()) > 20


def test_when_every_step_is_done_the_overview_says_so(console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_done(*given: Any, **more: Any) -> list[Step]:
        return [replace(step, done=True) for step in checklist(*given, **more)]

    monkeypatch.setattr(overview, "checklist", all_done)
    page = console.get("")
    assert page.status_code == 200
    assert "Everything is done" in page.text
