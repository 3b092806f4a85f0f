"""How far a search is, told while it runs, and what becomes of it when someone interrupts it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite, isnan
from time import monotonic

from fairwise.results.certificate import Stopped

_log = logging.getLogger("fairwise")
_SOON = 2.0  # seconds within which a second Ctrl-C is meant for everything
_raises: ContextVar[bool] = ContextVar("raises", default=False)
_last_kept = -_SOON  # when an interrupted search was last kept, on the monotonic clock


@dataclass(frozen=True)
class FitProgress:
    """What is known after one iteration of column generation, or one round of the paper's game.

    ``error`` is that of the best mixture so far at ``gamma``. A heuristic approaches a small one from above: such
    iterations are logged and counted, and a callback sees only those at the gamma asked for. ``bound`` is proven, and
    NaN where the oracle is not exact; ``gap`` is what the search looks at, proven or not, and NaN where it did not
    look. ``seconds`` count from the beginning of the fit.
    """

    iteration: int
    gamma: float
    error: float
    bound: float
    gap: float
    n_classifiers: int
    seconds: float

    def __str__(self) -> str:
        bound = "" if not isfinite(self.bound) else f", proven bound {self.bound:.4f}"
        gap = "" if isnan(self.gap) else f", gap {self.gap:.4f}"
        found = f"{self.n_classifiers} classifiers, {self.seconds:.1f} s"
        return f"Iteration {self.iteration} at gamma {self.gamma:g}: error {self.error:.4f}{bound}{gap}, {found}"


class SearchEnded(Exception):  # noqa: N818 - nothing went wrong
    """The callback wants no more."""


class Watch:
    """Looks on while one fit is searched for.

    Every iteration is logged, the first, second, fifth, tenth, twentieth and so on as INFO and the others as DEBUG;
    ``verbose=1`` prints the former on stderr as well, ``verbose=2`` all.
    """

    def __init__(self, *, verbose: int = 0, callback: Callable[[FitProgress], object] | None = None) -> None:
        self._verbose, self._callback = verbose, callback
        self._started, self._iteration = monotonic(), 0
        self.unit = 1.0  # of the errors that are reported

    def report(
        self, *, gamma: float, error: float, bound: float, gap: float, n_classifiers: int, preliminary: bool = False
    ) -> None:
        """Log how far it is, and unless it is preliminary call back; raise SearchEnded if the callback returns True."""
        self._iteration += 1
        seconds = monotonic() - self._started
        error, bound, gap = self.unit * error, self.unit * bound, self.unit * gap
        progress = FitProgress(self._iteration, gamma, error, bound, gap, n_classifiers, seconds)
        seldom = str(self._iteration).rstrip("0") in ("1", "2", "5")
        self._tell(progress, logging.INFO if seldom else logging.DEBUG)
        if not preliminary and self._callback is not None and self._callback(progress):
            raise SearchEnded

    def ended(self, why: Stopped) -> None:
        """Tell why the search ended."""
        self._tell(f"Search ended ({why}) after {monotonic() - self._started:.1f} s", logging.INFO)

    def keeps(self, stop: BaseException) -> bool:
        """Whether what is known is kept when this stops the search; if not, it is to be raised again."""
        if isinstance(stop, SearchEnded):
            return True
        global _last_kept  # noqa: PLW0603 - the second Ctrl-C may come in the next of many fits
        if _raises.get() or monotonic() - _last_kept < _SOON:
            return False
        _last_kept = monotonic()
        _log.warning("Interrupted: the best found so far is kept. Interrupt again at once to stop without it.")
        return True

    def _tell(self, what: object, level: int) -> None:
        _log.log(level, "%s", what)
        if self._verbose > (0 if level == logging.INFO else 1):
            sys.stderr.write(f"{what}\n")


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Within, Ctrl-C ends everything as usual: for whoever fits many models, or needs a whole one."""
    before = _raises.set(True)
    try:
        yield
    finally:
        _raises.reset(before)
