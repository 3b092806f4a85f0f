"""A real browser, shared by all tests of a run."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from fairwise.jobs.runner import EQUAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module", autouse=True)
def models_are_not_last() -> Iterator[None]:
    """Models of served studies wait for all else otherwise, which on a busy machine may take for ever."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(EQUAL, "1")
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium without a window."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None and "CI" in os.environ:
        pytest.fail("no Chromium, and .ci/run is to install one")
    if found is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, headless=True, args=list(_QUIET))
        yield chromium
        chromium.close()
