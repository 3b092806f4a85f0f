"""A site on a real server: the study and its console, as operators and participants meet them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.operating import PASSWORD
from tests.support.served import listening

from fairwise.web.app import Site
from fairwise.web.console.accounts import setup_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page


class ServedSite:
    """A site that is being served."""

    def __init__(self, address: str, site: Site) -> None:
        self.address, self.site = address, site

    def set_up(self, page: Page, name: str = "Ada") -> None:
        """Make the first account in the browser, by which one is logged in."""
        page.goto(f"{self.address}/admin/setup/{setup_key(self.site.host)}")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("The same password again").fill(PASSWORD)
        with page.expect_navigation():
            page.get_by_role("button", name="Make the account").click()


@contextmanager
def serving_site(path: Path, database: str | Path) -> Iterator[ServedSite]:
    """A folder with a study in it, or without one yet."""
    site = Site(path, database)
    with listening(site) as address:
        yield ServedSite(address, site)
