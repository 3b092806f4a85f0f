"""axe on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error

if TYPE_CHECKING:
    from axe_playwright_python.base import AxeResults
    from playwright.sync_api import Page

WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
TRIES = 5
"""A page that loads itself anew every few seconds may do so while axe looks at it."""


def axe_on(page: Page, *tags: str) -> AxeResults:
    """By axe's own choice of rules, or those with these tags; only violations are told place by place: quicker."""
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": list(tags)} if tags else {})
    for _ in range(TRIES - 1):
        try:
            return Axe().run(page, options=options)
        except Error:
            page.wait_for_load_state()
    return Axe().run(page, options=options)


def check_accessible(page: Page, *tags: str) -> None:
    """Fail where axe finds something, or the page scrolls sideways."""
    result = axe_on(page, *tags)
    assert result.violations_count == 0, f"{page.url}\n{result.generate_report()}"
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), page.url
