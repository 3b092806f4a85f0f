"""Browsers in which somebody logged in before, known again by a cookie: guessing elsewhere keeps nobody out of them.

The cookie lets nobody in. It says that attempts to log in by one name are counted for this browser alone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fairwise.store.operators import same_letters

if TYPE_CHECKING:
    from fairwise.study.signing import Keys

COOKIE = "fairwise_device"
SECONDS = 90 * 24 * 3600
"""So long a browser is known after it was last used to log in."""


class Devices:
    """Cookies that only this study could have made, each for one name; nothing is kept of them."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def new(self, name: str, password_hash: str) -> str:
        """The cookie of a browser in which this name has just logged in by this password."""
        said = f"{int(time.time())}.{self._keys.new()}"
        return f"{said}.{self._keys.form(_subject(said, name, password_hash))}"

    def known(self, name: str, password_hash: str, cookie: str) -> str | None:
        """Which browser this is, if this name logged in by it; None for strangers.

        With another password all browsers are strangers: whoever knew the old one must not guess the new one freely.
        """
        said, _, signature = cookie.rpartition(".")
        if not self._keys.is_form(_subject(said, name, password_hash), signature):
            return None
        return said if time.time() - int(said.partition(".")[0]) < SECONDS else None


def _subject(said: str, name: str, password_hash: str) -> str:
    return f"device {said} {password_hash} {same_letters(name)}"
