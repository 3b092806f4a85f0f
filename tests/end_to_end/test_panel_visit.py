"""A whole visit of someone whom a panel sends, in a real browser; everything reloaded and double-clicked on the way."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy as sa
from tests.support.accessible import axe_on
from tests.support.served import PAIRS, Served, browsing, press, serving

from fairwise.store.engine import database_url, reading_engine
from fairwise.store.roster import roster
from fairwise.store.schema import answers, appearances, participants
from fairwise.study.cards import check_questions
from fairwise.study.settings import StudySettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

RELATIONS = [
    {"name": "affected", "words": "Such a decision was made about me", "most": 1},
    {"name": "neither", "words": "I have nothing to do with it"},
]
LINK = "/?PROLIFIC_PID={}&STUDY_ID=65a&SESSION_ID={}"


@pytest.fixture
def panel() -> Iterator[tuple[str, list[str]]]:
    """The panel's own site, and what it was asked for."""
    asked: list[str] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('referer', '')}".strip())
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><html lang=en><title>Panel</title><link rel=icon href='data:,'>Thank you")

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def served(tmp_path: Path, panel: tuple[str, list[str]]) -> Iterator[Served]:
    people = tmp_path / "people.csv"
    table = pd.DataFrame({"id": [f"n{k}" for k in range(9)], "age": range(20, 29), "note": ["", "here", "there"] * 3})
    table.to_csv(people, index=False)
    recruitment = {
        "panel": "prolific",
        "open": False,
        "completion_url": f"{panel[0]}/complete?cc=C0DE&who={{id}}",
        "completion_code": "C0DE",
        "screened_out_url": f"{panel[0]}/complete?cc=0UT",
    }
    with serving(people, tmp_path, relations=RELATIONS, recruitment=recruitment, comprehension_check=True) as found:
        yield found


def twice(page: Page, button: str) -> None:
    """Look at the page again, then press a button twice."""
    page.reload()
    assert axe_on(page).violations_count == 0, page.title()
    with page.expect_navigation():
        page.get_by_role("button", name=button).first.dblclick()
    page.wait_for_load_state()


def kept(served: Served, table: sa.Table) -> int:
    engine = reading_engine(database_url(served.database))
    try:
        with engine.connect() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
    finally:
        engine.dispose()


def states(served: Served) -> list[tuple[str, str, str]]:
    engine = reading_engine(database_url(served.database))
    try:
        with engine.connect() as connection:
            return [(entry.panel_id, entry.relation, entry.state) for entry in roster(connection)]
    finally:
        engine.dispose()


def test_a_visit_with_everything_done_twice(browser: Browser, served: Served, panel: tuple[str, list[str]]) -> None:
    with browsing(browser, viewport={"width": 390, "height": 800}) as (_, page):
        page.goto(served.address + LINK.format("ann", "s1"))
        twice(page, "I agree to take part")
        page.get_by_label("Such a decision was made about me").check()
        page.reload()
        page.get_by_label("Such a decision was made about me").check()
        with page.expect_navigation():
            page.get_by_role("button", name="Go on").dblclick()
        twice(page, "Start")
        mine = page.url.removesuffix("/check")
        assert page.url.endswith("/check")
        page.goto(f"{mine}/back")  # too early: back to where one is
        assert page.url.endswith("/check")
        for asked in page.locator("fieldset").all():
            asked.locator("input").first.check()
        with page.expect_navigation():  # something is wrong, and sent twice: still one try
            page.get_by_role("button", name="Go on").dblclick()
        page.wait_for_load_state()
        assert "1 try left" in page.content()
        for question in check_questions(StudySettings.read(served.database.parent / "study" / "study.toml")):
            page.locator(f"input[name={question.name}][value={question.right}]").check()
        with page.expect_navigation():
            page.get_by_role("button", name="Go on").dblclick()
        assert page.url.endswith("/practice")
        twice(page, "The two should be treated the same")
        twice(page, "Begin with the first pair")
        for number in range(1, PAIRS + 1):
            assert page.url.partition("?")[0].endswith(f"/pair/{number}")
            twice(page, "Person A should be treated at least as well")
        page.reload()
        press(page, page.get_by_role("link", name="Go on to the last questions"))
        twice(page, "Finish")
        assert page.url.endswith("/thanks")
        page.reload()
        assert axe_on(page).violations_count == 0
        assert panel[1] == []
        press(page, page.get_by_role("link", name="Go back to Prolific"))
        assert "Thank you" in page.content()
        assert panel[1] == ["/complete?cc=C0DE&who=ann"]  # and no word of where they come from
        page.go_back()
        page.goto(served.address + LINK.format("ann", "s1"))
        press(page, page.get_by_role("link", name="Go on where you stopped"))
        assert page.url.endswith("/thanks")
    assert [kept(served, table) for table in (participants, appearances, answers)] == [1, PAIRS, PAIRS]
    assert served.answers() == ["a_at_least_b"] * PAIRS


def test_one_too_many_is_sent_back(browser: Browser, served: Served, panel: tuple[str, list[str]]) -> None:
    for name in ("ann", "ben"):
        with browsing(browser) as (_, page):
            page.goto(served.address + LINK.format(name, f"session-{name}"))
            twice(page, "I agree to take part")
            page.get_by_label("Such a decision was made about me").check()
            with page.expect_navigation():
                page.get_by_role("button", name="Go on").dblclick()
            page.wait_for_load_state()
            page.reload()
            assert axe_on(page).violations_count == 0
            if name == "ben":
                press(page, page.get_by_role("link", name="Go back to Prolific"))
    assert panel[1] == ["/complete?cc=0UT"]
    assert states(served) == [("ann", "affected", "started"), ("ben", "affected", "screened_out")]
