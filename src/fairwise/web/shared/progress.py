"""Progress of a study for all pages that show it: a few seconds old at most, and computed in a thread.

Only the answers of those who answered since the last picture are read again.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock, Thread

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from fairwise.judgments.agreement import Agreement, krippendorff_alpha
from fairwise.store.engine import database_url, snapshot_engine
from fairwise.store.errors import StoreUnavailable
from fairwise.store.export import judgments
from fairwise.store.logs import with_log_lines
from fairwise.store.quotas import AnchorCoverage, Quotas, anchor_coverage
from fairwise.store.roster import Answers, Outside, Progress, answers_of, outside, progress
from fairwise.study.folder import StudyFolder
from fairwise.study.quality import NAMES, Flag, flags
from fairwise.study.settings import Stage

# Agreement among all who answered so far: computed beside everything else, and not too often.

_log = logging.getLogger("fairwise")
_SECONDS = 30.0
"""It is computed anew at most so often, if there are new answers."""

_SHARE = 0.05
"""And never for more than this share of the time."""


@dataclass(frozen=True)
class AgreementSoFar:
    """Last value and its time."""

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
        """Return the last value; a new one is computed if `state`, which follows the answers, has changed."""
        with self._lock:
            due = state != self._state and not self._running and time.monotonic() >= self._next
            if due:
                self._running, self._state = True, state
                Thread(target=with_log_lines(self._compute), name="fairwise-agreement", daemon=True).start()
        return self.last

    def _compute(self) -> None:
        start = time.monotonic()
        try:
            at = datetime.now(UTC)
            with self._engine.connect() as connection:
                answers = judgments(connection)
            self.last = AgreementSoFar(krippendorff_alpha(answers), at)
        except DBAPIError as error:  # it is tried again with the next answers
            _log.warning("Agreement could not be computed: %s", error.orig)
        finally:
            took = time.monotonic() - start
            with self._lock:
                self._running, self._next = False, time.monotonic() + max(_SECONDS, took / _SHARE)


_FRESH_SECONDS = 2.0
LEFT_AFTER = timedelta(minutes=30)
"""Time without an answer after which a participant counts as having left."""

AT_IT, LEFT, FINISHED, SCREENED_OUT = "at_it", "left", Stage.FINISHED.value, Stage.SCREENED_OUT.value
STATES = {AT_IT: "at it", LEFT: "left", FINISHED: "finished", SCREENED_OUT: "screened out"}


@dataclass(frozen=True)
class Person:
    """One participant, of whom nothing is known here but how they went."""

    number: int
    state: str
    came_by: str
    started_at: datetime
    last_at: datetime
    """When they last answered, or else began or finished."""

    answered: int
    seconds: float | None
    """The middle one of their times per pair."""

    flags: tuple[Flag, ...]
    excluded: bool
    arm: str | None = None


@dataclass(frozen=True)
class Times:
    """Quartiles of the seconds that pairs take."""

    lower: float
    middle: float
    upper: float
    of: int


@dataclass(frozen=True, eq=False)
class Picture:
    """The study at one moment. Who is excluded counts among the people, and nowhere else."""

    at: datetime
    people: Sequence[Person]
    outside: Outside
    answered_at: NDArray[np.float64]
    """When each pair was first answered, in seconds since 1970, in order."""

    times: Times | None
    anchors: Sequence[AnchorCoverage]
    agreement: AgreementSoFar | None

    @property
    def states(self) -> Counter[str]:
        return Counter(person.state for person in self.people)

    @property
    def by_arm(self) -> dict[str | None, Counter[str]]:
        """Number of participants by experiment group and state; None for those not assigned yet."""
        counts: dict[str | None, Counter[str]] = {}
        for person in self.people:
            counts.setdefault(person.arm, Counter())[person.state] += 1
        return counts

    @property
    def excluded(self) -> int:
        return sum(person.excluded for person in self.people)

    @property
    def flagged(self) -> dict[str, int]:
        """Number of participants with each flag."""
        counts = Counter(flag.kind for person in self.people if not person.excluded for flag in person.flags)
        return {kind: counts[kind] for kind in NAMES}


_NO_NUMBERS = np.empty(0)


@dataclass(frozen=True, eq=False)
class _Digest:
    """Cached numbers about one participant's answers."""

    versions: int
    last_answer_id: int
    flags: tuple[Flag, ...]
    seconds: NDArray[np.float64]
    middle: float | None
    answered_at: NDArray[np.float64]
    last_at: datetime | None

    @classmethod
    def of(cls, who: Progress, answers: Answers) -> _Digest:
        seconds = np.array([one.seconds for one in answers.answers if one.seconds is not None], dtype=np.float64)
        middle = float(np.median(seconds)) if len(seconds) else None
        moments = np.array([at.timestamp() for at in answers.first_at])
        last_at = answers.last_at
        return cls(who.versions, who.last_answer_id, flags(answers.answers), seconds, middle, moments, last_at)

    def is_of(self, who: Progress) -> bool:
        return (self.versions, self.last_answer_id) == (who.versions, who.last_answer_id)


_NOTHING = _Digest(0, 0, (), _NO_NUMBERS, None, _NO_NUMBERS, None)


class Watch:
    """One for each process."""

    def __init__(self, database: str | Path) -> None:
        """The database must be there."""
        self._engine = snapshot_engine(database_url(database))
        self._lock = Lock()
        self._digests: dict[int, _Digest] = {}
        self._picture: Picture | None = None
        self._made = 0.0
        self._agreement = AgreementClock(self._engine)

    def now(self, study: StudyFolder) -> Picture:
        """The study as of a few seconds ago at most; call it in a thread."""
        with self._lock:
            if self._picture is None or time.monotonic() - self._made > _FRESH_SECONDS:
                try:
                    with self._engine.connect() as connection:
                        self._picture = self._look(connection, study, datetime.now(UTC))
                except DBAPIError as error:
                    raise StoreUnavailable(str(error.orig)) from error
                self._made = time.monotonic()
            return self._picture

    def begin(self, study: StudyFolder) -> None:
        """Read all answers that are there already, in a thread: the first page need not wait for it then."""
        Thread(target=with_log_lines(self._begin), args=(study,), name="fairwise-watch", daemon=True).start()

    def _begin(self, study: StudyFolder) -> None:
        with suppress(StoreUnavailable):  # the first page will say so
            self.now(study)

    def forget(self) -> None:
        """Something was changed here: look again when asked next."""
        with self._lock:
            self._picture = None

    def _look(self, connection: Connection, study: StudyFolder, now: datetime) -> Picture:
        everyone = progress(connection)
        changed = {who.number: who for who in everyone if not self._digests.get(who.number, _NOTHING).is_of(who)}
        kept = {who.number: self._digests[who.number] for who in everyone if who.number in self._digests}
        read = {one.number: one for one in answers_of(connection, list(changed))}
        self._digests = kept | {key: _Digest.of(changed[key], one) for key, one in read.items()}
        counted = [self._digests[who.number] for who in everyone if who.number in self._digests and not who.excluded]
        quotas, pool = Quotas.of(study.settings), study.schedules.anchor_pool
        return Picture(
            at=now,
            people=[_person(who, self._digests.get(who.number, _NOTHING), now) for who in everyone],
            outside=outside(connection),
            answered_at=np.sort(np.concatenate([_NO_NUMBERS, *(digest.answered_at for digest in counted)])),
            times=_times(np.concatenate([_NO_NUMBERS, *(digest.seconds for digest in counted)])),
            anchors=anchor_coverage(connection, pool, **quotas.since(now)) if pool else (),
            agreement=self._agreement.ask(
                frozenset((who.number, who.versions, who.last_answer_id) for who in everyone if not who.excluded)
            ),
        )


def _person(who: Progress, digest: _Digest, now: datetime) -> Person:
    last_at = who.finished_at or digest.last_at or who.started_at
    state = who.stage
    if state not in (FINISHED, SCREENED_OUT):
        state = AT_IT if now - last_at < LEFT_AFTER else LEFT
    return Person(
        number=who.number,
        state=state,
        came_by=who.came_by,
        started_at=who.started_at,
        last_at=last_at,
        answered=who.answered,
        seconds=digest.middle,
        flags=digest.flags,
        excluded=bool(who.excluded),
        arm=who.arm,
    )


def _times(seconds: NDArray[np.float64]) -> Times | None:
    if not len(seconds):
        return None
    lower, middle, upper = map(float, np.quantile(seconds, [0.25, 0.5, 0.75]))
    return Times(lower, middle, upper, len(seconds))
