"""A study on a real server, and a tab of a real browser to look at it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from tests.support.small_study import translate

from fairwise.store import export
from fairwise.store.engine import database_url, reading_engine
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile
from fairwise.web.app import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

PAIRS = 4


class Served:
    """A study that is being served."""

    def __init__(self, address: str, database: Path) -> None:
        self.address, self.database = address, database

    def answers(self) -> list[str]:
        engine = reading_engine(database_url(self.database))
        try:
            with engine.connect() as connection:
                return list(export.judgments(connection).frame["answer"])
        finally:
            engine.dispose()


@contextmanager
def listening(app: Any, **options: Any) -> Iterator[str]:
    """An app on a free port of this machine, in a thread of its own; returns its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving(people: Path, folder: Path, **choices: Any) -> Iterator[Served]:
    """A study about these people."""
    told = {"title": "Who goes home", "treated_well": "to go home", "pairs": PAIRS, **choices}
    study = translate(new_study(folder / "study", PeopleFile.read(people, "id"), ["age", "note"], told))
    database = folder / "study.sqlite"
    with listening(Site(study.path, database)) as address:
        yield Served(address, database)


@contextmanager
def browsing(browser: Browser, **options: Any) -> Iterator[tuple[BrowserContext, Page]]:
    """A tab; whatever the browser complains about fails the test, but for pages that say what was wrong."""
    with browser.new_context(**options) as context:
        context.set_default_navigation_timeout(300_000)  # however busy the machine
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield context, page
        assert [text for text in complaints if "status of 4" not in text] == []


def press(page: Page, what: Locator) -> None:
    """Click, and wait for the page that it leads to."""
    with page.expect_navigation():
        what.click()


def practise(page: Page) -> None:
    """Press an answer to the practice pair, read what it means, and begin."""
    press(page, page.locator("button[value=same]"))
    press(page, page.locator("main .notice button"))
