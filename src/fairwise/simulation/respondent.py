"""One simulated person: a rule for any two people, human weaknesses on top of it, and how long they take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.simulation.preferences import Closeness, Discount, FirstNoticeable, Merit

Scale: TypeAlias = Literal["two", "four"]
SCALES: dict[Scale, tuple[Answer, ...]] = {"two": (Answer.SAME, Answer.NO_CONSTRAINT), "four": tuple(Answer)}


@dataclass(frozen=True)
class Respondent:
    """A simulated person whose preferences are known.

    Sees the table through `discount`; says "same" where `closeness` finds two people close; otherwise asks
    for the `order` that is due, if any; otherwise for nothing.

    Parameters
    ----------
    name : str
        Begins with "simulated", so that nobody takes it for a real person's.
    closeness, order, discount
        The preferences.
    noise : float
        The probability that an answer is drawn at random from those allowed.
    fatigue : float
        What each answer given adds to that probability.
    position_bias : float
        The probability of favouring the left one where neither sameness nor an order is due. It shows only
        where ordered answers are allowed.
    kind : str
        What the person was made as, for tables and figures.
    """

    name: str
    closeness: Closeness
    order: Merit | FirstNoticeable | None = None
    discount: Discount | None = None
    noise: float = 0.0
    fatigue: float = 0.0
    position_bias: float = 0.0
    kind: str = "custom"

    def __post_init__(self) -> None:
        if not self.name.startswith("simulated"):
            raise InputError(f"respondent {self.name!r}: the name must begin with 'simulated'")
        for what in ("noise", "fatigue", "position_bias"):
            value = getattr(self, what)
            if not 0 <= value <= 1:
                raise InputError(f"respondent {self.name!r}: {what}={value!r}; allowed: 0 to 1")

    def opinions(self, left: pd.DataFrame, right: pd.DataFrame) -> NDArray[np.object_]:
        """Return what the person really thinks of each row of `left` beside the same row of `right`."""
        if self.discount is not None:
            left, right = self.discount.applied(left), self.discount.applied(right)
        leaning = np.zeros(len(left), dtype=np.int8)
        if self.order is not None:
            leaning = self.order.leaning(left, right)
        close = self.closeness.distance(left, right) <= self.closeness.threshold
        return np.select(
            [close, leaning > 0, leaning < 0],
            [_cell(Answer.SAME), _cell(Answer.A_AT_LEAST_B), _cell(Answer.B_AT_LEAST_A)],
            _cell(Answer.NO_CONSTRAINT),
        )

    def answers(
        self,
        people: pd.DataFrame,
        pairs: Sequence[tuple[Any, Any]],
        rng: np.random.Generator,
        *,
        scale: Scale = "four",
        already: int = 0,
    ) -> list[Answer]:
        """Return the answers to pairs of ids, in the order shown, after `already` earlier ones."""
        if scale not in SCALES:
            raise InputError(f"scale={scale!r}; allowed: {' or '.join(map(repr, SCALES))}")
        left, right = (_rows(people, [pair[side] for pair in pairs]) for side in (0, 1))
        said = self.opinions(left, right)
        # Three numbers for every pair, used or not, so that one person's habits do not move another's luck.
        luck = rng.random((3, len(said)))
        unsure = said == Answer.NO_CONSTRAINT
        said = np.where(unsure & (luck[0] < self.position_bias), _cell(Answer.A_AT_LEAST_B), said)
        if scale == "two":
            said = np.where(said == Answer.SAME, said, _cell(Answer.NO_CONSTRAINT))
        careless = luck[1] < self.noise + self.fatigue * (already + np.arange(len(said)))
        allowed = SCALES[scale]
        picks = np.array([*allowed], dtype=object)[(luck[2] * len(allowed)).astype(np.intp)]
        return list(np.where(careless, picks, said))

    def describe(self) -> str:
        """Return who this is in one sentence."""
        weaknesses = [
            (self.noise, f"answers at random {self.noise:.0%} of the time"),
            (self.fatigue, f"{self.fatigue:.1%} more with every answer"),
            (self.position_bias, f"favours the left one {self.position_bias:.0%} of the time when unsure"),
        ]
        parts = [
            self.discount.describe() if self.discount else "",
            self.closeness.describe(),
            self.order.describe() if self.order else "",
            *(text for size, text in weaknesses if size > 0),
        ]
        return f"{self.name} ({self.kind}): {'; '.join(part for part in parts if part)}."


def _cell(answer: Answer) -> NDArray[np.object_]:
    """Return one object, so that numpy does not turn the answer into fixed-width text."""
    cell = np.empty((), dtype=object)
    cell[()] = answer
    return cell


def _rows(people: pd.DataFrame, ids: list[Any]) -> pd.DataFrame:
    positions = people.index.get_indexer(pd.Index(ids, dtype=people.index.dtype))
    if (positions < 0).any():
        raise InputError(f"people: nobody with the id {ids[int((positions < 0).argmax())]!r}")
    return people.iloc[positions].reset_index(drop=True)


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
