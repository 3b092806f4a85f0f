"""How long simulated people take for their pairs: a stated assumption, not a finding."""

from dataclasses import dataclass

import numpy as np

from fairwise.errors import InputError

USUAL_SECONDS = 10.0
PACE_SPREAD, THOUGHT_SPREAD = 0.3, 0.5
"""Standard deviations of the logarithm: of people's usual thoughts, and of one person's thoughts about pairs."""

_RANGE = (0.05, 0.95)
_DRAWN = 4_000


@dataclass(frozen=True)
class Minutes:
    """Of one participant: half take less than the ``median``, nine in ten between ``low`` and ``high``."""

    low: float
    median: float
    high: float


def minutes_for(n_pairs: int, seconds: float = USUAL_SECONDS, *, seed: int = 0) -> Minutes:
    """Return how long one participant takes for so many pairs.

    Everyone has a usual thought of their own, lognormal about ``seconds``; each thought is lognormal about it. So some
    people are slow in all they do, and everyone dwells on some pairs.

    >>> minutes_for(50, 10).low < minutes_for(50, 10).median < minutes_for(50, 10).high
    True
    """
    if n_pairs < 1:
        raise InputError(f"n_pairs={n_pairs}; allowed: 1 or more")
    if not 0 < seconds < np.inf:
        raise InputError(f"seconds={seconds!r}; allowed: above 0")
    rng = np.random.default_rng(seed)
    usual = seconds * rng.lognormal(0.0, PACE_SPREAD, size=_DRAWN)
    thoughts = rng.lognormal(0.0, THOUGHT_SPREAD, size=(_DRAWN, n_pairs)).sum(axis=1)
    low, median, high = np.quantile(usual * thoughts / 60, [_RANGE[0], 0.5, _RANGE[1]])
    return Minutes(float(low), float(median), float(high))
