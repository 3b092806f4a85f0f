"""Reliability of answers: repeated pairs, preference for one side, failed checks."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv, ndtri

from fairwise.errors import InputError
from fairwise.judgments.answer import Answer, PairDesign, orient
from fairwise.judgments.table import Judgments
from fairwise.numbers import EqualNan, digits_beside

Floats: TypeAlias = NDArray[np.float64]
Bounds: TypeAlias = Callable[[ArrayLike, ArrayLike, float], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Share(EqualNan):
    """``count`` out of ``of``; the share and its bounds are NaN where there was nothing to count."""

    count: int
    of: int
    share: float
    low: float
    high: float
    confidence: float

    @classmethod
    def out_of(cls, count: int, of: int, confidence: float, bounds: "Bounds | None" = None) -> "Share":
        low, high = (bounds or wilson)(count, of, confidence)
        return cls(count, of, count / of if of else np.nan, float(low), float(high), confidence)

    def __str__(self) -> str:
        return self.with_limit(None)

    def with_limit(self, limit: float | None) -> str:
        """Return it in words, with as many digits as it takes to see on which side of a limit each bound is."""
        if not self.of:
            return "0 of 0"
        share, low, high = (
            f"{value:.{0 if limit is None else digits_beside(100 * value, 100 * limit, 0)}%}"
            for value in (self.share, self.low, self.high)
        )
        return f"{self.count} of {self.of}, {share} ({self.confidence:.0%} interval {low} to {high})"


def wilson(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's bounds for a share p of n, NaN where n is 0.

    They are the shares q with |p - q| = z sqrt(q (1 - q) / n):
    (p + z²/2n ± z sqrt(p (1 - p)/n + z²/4n²)) / (1 + z²/n), never outside 0 and 1.
    """
    k, n = _counts(count, of, confidence)
    z = float(ndtri((1 + confidence) / 2))
    p = k / n
    middle, width = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    low, high = (middle - width) / (1 + z**2 / n), (middle + width) / (1 + z**2 / n)
    # Exactly 0 and 1 at the ends, which rounding just misses.
    return np.where(k == 0, 0 * low, np.maximum(low, 0)), np.where(k == n, 1 + 0 * high, np.minimum(high, 1))


def clopper_pearson(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return the exact bounds for a share of n, NaN where n is 0.

    They are the shares q under which at least, and at most, so many have probability (1 - confidence) / 2. So 1/2 is
    outside if and only if :func:`fair_coin` is below 1 - confidence.
    """
    k, n, tail = *_counts(count, of, confidence), (1 - confidence) / 2
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    nothing = np.where(np.isnan(n), np.nan, 0.0)
    return low + nothing, high + nothing


def fair_coin(count: ArrayLike, of: ArrayLike) -> Floats:
    """Return the exact two-sided p-value of so many heads from a fair coin, NaN without a toss."""
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(k, n - k), n.astype(np.int64), 0.5))
    return np.where(n > 0, p, np.nan)


def _counts(count: ArrayLike, of: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise InputError(f"confidence={confidence!r}; allowed: above 0 and below 1")
    k, n = np.asarray(count, dtype=np.float64), np.asarray(of, dtype=np.float64)
    return k, np.where(n > 0, n, np.nan)


def by_judge(
    judges: pd.Index,
    judge: pd.Series,
    hit: NDArray[np.bool_],
    names: tuple[str, str],
    confidence: float,
    bounds: Bounds = wilson,
) -> pd.DataFrame:
    """Return one row per judge: how many (``names[0]``), how many of them hit (``names[1]``), share, low, high."""
    tally = pd.DataFrame({"of": 1, "count": hit}).groupby(judge.to_numpy()).sum().reindex(judges, fill_value=0)
    low, high = bounds(tally["count"], tally["of"], confidence)
    of, count = (tally[name].to_numpy(dtype=np.int64) for name in ("of", "count"))
    share = np.divide(count, of, out=np.full(len(of), np.nan), where=of > 0)
    return pd.DataFrame({names[0]: of, names[1]: count, "share": share, "low": low, "high": high}, index=judges)


REPEAT, CHECK = PairDesign.REPEAT, PairDesign.CHECK


@dataclass(frozen=True, eq=False)
class RepeatConsistency:
    """Shares of repeats with the same answer; ``unmatched`` repeats had nothing to be compared with.

    ``by_judge`` has the columns repeated, equal, share, low and high; ``differing`` lists the repeats answered
    differently: judge, a, b, the answer, and the ``original`` about the same two the same way round.
    """

    overall: Share
    by_judge: pd.DataFrame
    differing: pd.DataFrame
    unmatched: int

    def __str__(self) -> str:
        if not self.overall.of:
            return "Repeated pairs: none, so self-consistency is unknown."
        return f"Repeated pairs answered the same way again: {self.overall}."


@dataclass(frozen=True, eq=False)
class PositionBias:
    """Share of ordered answers that favour the person on the left.

    ``p_value`` is that of a fair coin, two-sided and exact; the interval is the exact one (Clopper and Pearson's), so
    that 1/2 is outside if and only if the p-value is below 1 - confidence. ``by_judge`` has the columns ordered, left,
    share, low, high and p_value.
    """

    overall: Share
    p_value: float
    by_judge: pd.DataFrame

    @property
    def _limit(self) -> float:
        return round(1 - self.overall.confidence, 12)  # 0.05 rather than a little more

    @property
    def preferred(self) -> Literal["left", "right"] | None:
        """The side that is favoured more often than a fair coin easily explains: the interval excludes 1/2."""
        if not self.p_value < self._limit:
            return None
        return "left" if self.overall.count * 2 > self.overall.of else "right"

    @property
    def verdict(self) -> str:
        """Interpretation as one sentence; empty without ordered answers."""
        if not self.overall.of:
            return ""
        if self.preferred is None:
            return "No clear sign that a side was preferred."
        return (
            f"The {self.preferred} seems to be preferred, whoever stands there (where no side is, this is said of "
            f"{self._limit:.0%} of panels)."
        )

    @property
    def p_in_words(self) -> str:
        """The p-value in two digits, or as many as it takes to see on which side of 1 - confidence it is."""
        limit, short = self._limit, f"{self.p_value:.2g}"
        if (float(short) < limit) == (self.p_value < limit):
            return short
        return f"{self.p_value:.{digits_beside(self.p_value, limit, 2)}f}"

    def __str__(self) -> str:
        if not self.overall.of:
            return "Ordered answers: none, so a preference for one side cannot show."
        return (
            f"Ordered answers that favour the left: {self.overall.with_limit(0.5)}; a fair coin does this with "
            f"p = {self.p_in_words}."
        )


@dataclass(frozen=True, eq=False)
class CheckFailures:
    """Share of checks, pairs with identical records, that were not answered `same`.

    ``by_judge`` has the columns shown, failed, share, low and high; ``failures`` the rows: judge, a, b, answer, round.
    """

    overall: Share
    by_judge: pd.DataFrame
    failures: pd.DataFrame

    def __str__(self) -> str:
        if not self.overall.of:
            return "Checks: none were shown."
        return f"Checks not answered 'same': {self.overall}."


def repeat_consistency(judgments: Judgments, *, confidence: float = 0.95) -> RepeatConsistency:
    """Compare rows of design `repeat` with the same judge's original answer about the pair, sides swapped back.

    The original is the judge's last answer of another design (except `check`), in the same round or an earlier one;
    where that round has several, each is compared. The overall interval takes answers for independent; where judges
    differ much in care, it is too narrow.
    """
    frame = judgments.asked().frame
    rows = orient(frame)
    key = pd.DataFrame({"judge": rows.judge, "pair": rows.pair, "round": frame["round"], "said": rows.answer})
    is_repeat = (frame["design"] == REPEAT).to_numpy(dtype=bool)
    first = ~frame["design"].isin([REPEAT, CHECK]).to_numpy(dtype=bool)
    repeats = key[is_repeat].assign(row=np.flatnonzero(is_repeat))
    both = repeats.merge(
        key[first].assign(origin=np.flatnonzero(first)), on=["judge", "pair"], suffixes=("", "_before")
    )
    both = both[both["round_before"] <= both["round"]]
    both = both[both["round_before"] == both.groupby("row")["round_before"].transform("max")]
    equal = (both["said"] == both["said_before"]).to_numpy(dtype=bool)

    repeat_rows = frame.iloc[both["row"]].reset_index(drop=True)
    origin = frame.iloc[both["origin"]].reset_index(drop=True)
    swapped = {str(answer): str(answer.swapped()) for answer in Answer}
    same_sides = (repeat_rows["a"] == origin["a"]).to_numpy(dtype=bool)
    original = origin["answer"].where(same_sides, origin["answer"].map(swapped))
    differing = repeat_rows[["judge", "a", "b", "answer"]].assign(original=original)[~equal].reset_index(drop=True)
    return RepeatConsistency(
        overall=Share.out_of(int(equal.sum()), len(equal), confidence),
        by_judge=by_judge(
            judgments.judge_attributes.index, repeat_rows["judge"], equal, ("repeated", "equal"), confidence
        ),
        differing=differing,
        unmatched=len(repeats) - both["row"].nunique(),
    )


def position_bias(judgments: Judgments, *, confidence: float = 0.95) -> PositionBias:
    """Count which side ordered answers favour, over all rounds and all designs but `repeat` (whose sides are swapped).

    If the sides were drawn at random, a judge who looks only at the people is a fair coin. With many judges some have
    a small p-value by chance.
    """
    frame = judgments.asked().frame
    ordered = frame["answer"].isin([str(answer) for answer in Answer if answer.ordered])
    rows = frame[ordered & (frame["design"] != REPEAT)]
    left = (rows["answer"] == str(Answer.A_AT_LEAST_B)).to_numpy(dtype=bool)
    names = ("ordered", "left")
    table = by_judge(judgments.judge_attributes.index, rows["judge"], left, names, confidence, clopper_pearson)
    return PositionBias(
        overall=Share.out_of(int(left.sum()), len(left), confidence, clopper_pearson),
        p_value=float(fair_coin(int(left.sum()), len(left))),
        by_judge=table.assign(p_value=fair_coin(table["left"], table["ordered"])),
    )


def check_failures(judgments: Judgments, *, confidence: float = 0.95) -> CheckFailures:
    """Find rows of design `check`, which show two identical records, whose answer is not `same`."""
    frame = judgments.asked().frame
    rows = frame[frame["design"] == CHECK]
    failed = (rows["answer"] != str(Answer.SAME)).to_numpy(dtype=bool)
    return CheckFailures(
        overall=Share.out_of(int(failed.sum()), len(failed), confidence),
        by_judge=by_judge(judgments.judge_attributes.index, rows["judge"], failed, ("shown", "failed"), confidence),
        failures=rows.loc[failed, ["judge", "a", "b", "answer", "round"]].reset_index(drop=True),
    )
