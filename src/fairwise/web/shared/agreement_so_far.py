"""Agreement among all who answered so far: computed beside everything else, and not too often."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock, Thread
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from fairwise.judgments.agreement import krippendorff_alpha
from fairwise.store.export import judgments

if TYPE_CHECKING:
    from collections.abc import Hashable

    from sqlalchemy import Engine

    from fairwise.judgments.agreement import Agreement

_log = logging.getLogger("fairwise")
_SECONDS = 30.0
"""It is computed anew at most so often, if there are new answers."""

_SHARE = 0.05
"""And never for more than this share of the time."""


@dataclass(frozen=True)
class AgreementSoFar:
    """What is known, as of when."""

    agreement: Agreement
    at: datetime


class AgreementClock:
    """Keeps the last value; a thread of its own makes the next one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._state: Hashable = None
        self._next = 0.0
        self._running = False
        self.last: AgreementSoFar | None = None

    def ask(self, state: Hashable) -> AgreementSoFar | None:
        """What is known; `state` changes with the answers, and if it did, a new value is on its way."""
        with self._lock:
            due = state != self._state and not self._running and time.monotonic() >= self._next
            if due:
                self._running, self._state = True, state
                Thread(target=self._compute, name="fairwise-agreement", daemon=True).start()
        return self.last

    def _compute(self) -> None:
        start = time.monotonic()
        try:
            at = datetime.now(UTC)
            with self._engine.connect() as connection:
                said = judgments(connection)
            self.last = AgreementSoFar(krippendorff_alpha(said), at)
        except DBAPIError as error:  # it is tried again with the next answers
            _log.warning("Agreement could not be computed: %s", error.orig)
        finally:
            took = time.monotonic() - start
            with self._lock:
                self._running, self._next = False, time.monotonic() + max(_SECONDS, took / _SHARE)
