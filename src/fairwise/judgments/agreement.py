"""Agreement of judges beyond chance: Krippendorff's alpha with an interval over judges."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import stdtrit

from fairwise.errors import InputError
from fairwise.judgments.answer import FIRST, NEITHER, SAME, SECOND, Oriented, orient
from fairwise.judgments.table import Judgments
from fairwise.messages import Message
from fairwise.numbers import EqualNan, digits_beside, rounded

Floats: TypeAlias = NDArray[np.float64]


Level: TypeAlias = Literal["four answers", "same or not"]

_ANSWERS = 4
_CELLS_AT_ONCE = 8_000_000
# Without an interval, an alpha as near to 0 as this is not told from chance.
_ABOUT_CHANCE = 0.1
# Smaller differences from 0 are rounding.
_DIGITS = 6
# Krippendorff's own rule of thumb for 0.8 and 0.667; below that no convention is worth much.
_WORDS = (
    (0.8, Message("agree well")),
    (0.667, Message("agree fairly well, enough for tentative conclusions")),
    (0.4, Message("agree somewhat")),
    (0.0, Message("agree only a little more than chance would have it")),
)
# More judges than this are left out in groups, which changes nothing but the cost.
_MOST_GROUPS = 200
_ROUNDING = 1e-9

LEAST_JUDGES = 15
LEAST_PAIRS = 10


@dataclass(frozen=True, eq=False)
class Agreement(EqualNan):
    """Krippendorff's alpha: 1 where judges always agree, 0 where they agree as often as by chance.

    ``low`` and ``high`` bound it with ``confidence``, over judges. ``n_pairs`` counts the pairs that two or more
    judges answered, ``n_judges`` those who answered one of them. What cannot be said is NaN, and ``note`` says why.
    """

    level: Level
    alpha: float
    low: float
    high: float
    n_pairs: int
    n_judges: int
    confidence: float
    note: str

    @property
    def in_words(self) -> str:
        """Verb phrase to follow "judges"; an interval that includes 0 is no agreement beyond chance."""
        alpha, low, high = (round(number, _DIGITS) for number in (self.alpha, self.low, self.high))
        if np.isnan(alpha):
            return "cannot be compared"
        beyond = abs(alpha) >= _ABOUT_CHANCE if np.isnan(low) else low > 0 < alpha or high < 0 > alpha
        if not beyond:
            return Message("agree no more clearly than chance might have it")
        if alpha < 0:
            return Message("agree less often than chance would have it: they disagree systematically")
        return next(words for least, words in _WORDS if alpha >= least)

    @property
    def covered(self) -> bool:
        """Whether judges and pairs are enough for the interval to hold its level; else it is a rough guide."""
        return not np.isnan(self.low) and self.n_judges >= LEAST_JUDGES and self.n_pairs >= LEAST_PAIRS

    def __str__(self) -> str:
        head = f"Krippendorff's alpha ({self.level})"
        if np.isnan(self.alpha):
            return f"{head}: undefined, because {self.note}."
        if np.isnan(self.low):
            interval = f"no interval, because {self.note}" if self.note else "no interval"
        else:
            few = f", a rough guide with fewer than {LEAST_JUDGES} judges or {LEAST_PAIRS} pairs"
            ends = f"{decimals(self.low)} to {decimals(self.high)}{'' if self.covered else few}"
            interval = f"{self.confidence:.0%} interval over judges {ends}"
        return (
            f"{head}: {decimals(self.alpha)} ({interval}), from {self.n_pairs} pairs that two or more of "
            f"{self.n_judges} judges answered; 1 is full agreement, 0 is chance."
        )


def krippendorff_alpha(
    judgments: Judgments,
    level: Level = "four answers",
    *,
    confidence: float = 0.95,
) -> Agreement:
    """Measure how far the judges agree about the pairs that several of them answered.

    Every row that counts is one answer, whatever its weight. The interval is about other judges like these and the same
    pairs: the jackknife's, with Student's t. With few judges alpha is off on average, in a direction that leaving out
    judges shows, so the interval's middle is alpha without that bias.

    Parameters
    ----------
    judgments : Judgments
    level : {"four answers", "same or not"}
        Whether the four answers are four categories, or all but `same` are one.
    confidence : float
        Of the interval.

    Notes
    -----
    With N_uc answers c about pair u, W_u = Σ_c N_uc and n = Σ_u W_u over the pairs of two or more judges,
    alpha = 1 - D_o / D_e, where D_o = Σ_u (W_u² - Σ_c N_uc²) / (W_u - 1) / n is the disagreement observed and
    D_e = (n² - Σ_c n_c²) / (n² - n) that of answers paired at random.

    Which of the two people is called A is chance, but moves an ordered answer from one category to the other. So D_e
    is averaged over both ways of naming every pair: n_A² + n_B² becomes
    ((n_A + n_B)² + Σ_u (N_uA - N_uB)²) / 2. Without ordered answers this is the textbook's alpha.

    With alpha_j that without judge j, of J, and m their mean, the interval is
    J alpha - (J - 1) m ± t sqrt((J - 2) / J Σ_j (alpha_j - m)²), t with J - 1 degrees of freedom. The sum is about
    panels of J - 1 judges. Averages over judges vary (J - 1) / J times as much with one judge more, and averages over
    pairs of judges, which is what alpha is made of, (J - 2) / J times.

    Examples
    --------
    >>> rows = [{"judge": judge, "a": 1, "b": b, "answer": "same"} for judge in ("ann", "bea") for b in (2, 3)]
    >>> rows[0]["answer"] = "no_constraint"
    >>> krippendorff_alpha(Judgments(rows)).alpha
    0.0
    """
    if level not in get_args(Level):
        raise InputError(f"level={level!r}; allowed: {' or '.join(map(repr, get_args(Level)))}")
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise InputError(f"confidence={confidence!r}; allowed: above 0 and below 1")
    return agreement_of(orient(judgments.asked().counted()), level, float(confidence))


def agreement_of(rows: Oriented, level: Level, confidence: float, rooms: NDArray[np.int64] | None = None) -> Agreement:
    """Return the agreement of answers that are all the same way round.

    ``rooms`` has a number for each judge of the rows: the interval is then over rooms, each with all of its judges.
    """
    panel = AnswerCounts.of(rows, level)
    alpha = np.nan
    note: str = Message("no pair was answered by two judges")
    if panel.n_pairs:
        alpha = float(panel.alpha(np.ones((panel.n_judges, 1)))[0])
        note = Message("all their answers are the same answer") if np.isnan(alpha) else ""
    low = high = np.nan
    if not np.isnan(alpha):
        low, high, note = _interval(panel, alpha, confidence, rooms)
    return Agreement(level, alpha, low, high, panel.n_pairs, panel.n_judges, confidence, note)


@dataclass(frozen=True, eq=False)
class AnswerCounts:
    """Answers about ``U`` pairs of two or more of ``J`` judges, as linear maps from how often each judge was drawn.

    ``answers``, ``(4 U, J)``, gives the number of answers of each kind about each pair. ``own_pairs`` and
    ``own_differing``, ``(U, J)``, give from the squares how many pairs of answers are one judge's own, and how many
    of these differ; with one answer per judge and pair that is 1 and 0. ``judges`` are the judges' codes in the rows.
    """

    n_pairs: int
    judges: NDArray[np.int64]
    answers: sparse.csr_array
    own_pairs: sparse.csr_array
    own_differing: sparse.csr_array

    @classmethod
    def of(cls, rows: Oriented, level: Level) -> "AnswerCounts":
        pair, pairs = pd.factorize(rows.pair)
        each = pd.DataFrame({"pair": pair, "judge": rows.judge}).drop_duplicates()
        shared = np.bincount(each["pair"], minlength=len(pairs)) > 1
        rows = rows.only(shared[pair])
        pair = (np.cumsum(shared) - 1)[pair[shared[pair]]]
        judge, judges = pd.factorize(rows.judge, sort=True)
        answer = rows.answer if level == "four answers" else np.where(rows.answer == SAME, SAME, NEITHER)

        n_pairs, n_judges = int(shared.sum()), len(judges)
        kinds = _cell_counts(_ANSWERS * pair + answer, judge, (_ANSWERS * n_pairs, n_judges))
        own = _cell_counts(pair, judge, (n_pairs, n_judges)).power(2)
        alike = kinds.power(2).tocoo()
        agreeing = sparse.coo_array((alike.data, (alike.row // _ANSWERS, alike.col)), shape=own.shape).tocsr()
        differing = sparse.csr_array(own - agreeing)
        differing.eliminate_zeros()
        return cls(n_pairs, judges, kinds, own, differing)

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return len(self.judges)

    def alpha(self, times: Floats) -> Floats:
        """``(B,)`` values of alpha, NaN where undefined; ``times`` is ``(J, B)``, how often each judge was drawn.

        Both disagreements are averages over pairs of answers that are not one judge's own about one pair.
        """
        answers = (self.answers @ times).reshape(self.n_pairs, _ANSWERS, times.shape[1])
        total = answers.sum(axis=1)
        own, own_differing = self.own_pairs @ times**2, self.own_differing @ times**2
        comparable = total**2 - own
        usable = comparable > 0
        differing = total**2 - (answers**2).sum(axis=1) - own_differing
        observed = np.divide(total * differing, comparable, out=np.zeros_like(total), where=usable).sum(axis=0)

        answers *= usable[:, None]
        n = answers.sum(axis=(0, 1))
        kinds = answers.sum(axis=0)
        ordered = kinds[FIRST] + kinds[SECOND]
        leaning = ((answers[:, FIRST] - answers[:, SECOND]) ** 2).sum(axis=0)
        agreeing = kinds[SAME] ** 2 + kinds[NEITHER] ** 2 + (ordered**2 + leaning) / 2
        expected = n**2 - agreeing - (own_differing * usable).sum(axis=0)
        all_pairs = n**2 - (own * usable).sum(axis=0)
        defined = expected > 0
        ratio = np.full(len(n), np.nan)
        np.divide(observed * all_pairs, n * expected, out=ratio, where=defined)
        return np.asarray(1.0 - ratio)

    def left_out(self, rooms: NDArray[np.int64] | None = None) -> Iterator[Floats]:
        """Yield alpha without each judge (of very many, each group of judges), as many at once as fit in memory.

        With ``rooms``, a number for each judge of the rows, it is without each of these.
        """
        if rooms is None:
            n = min(self.n_judges, _MOST_GROUPS)
            group = np.random.default_rng(0).permutation(self.n_judges) % n
        else:
            room_codes, group = np.unique(rooms[self.judges], return_inverse=True)
            n = len(room_codes)
        at_once = max(1, _CELLS_AT_ONCE // (_ANSWERS * self.n_pairs))
        for start in range(0, n, at_once):
            left_out = np.arange(start, min(start + at_once, n))
            yield self.alpha((group[:, None] != left_out).astype(np.float64))


def decimals(number: float) -> str:
    """Return two decimals, more where it takes them to see on which side of 0 a number is; no minus before zero.

    >>> decimals(0.123), decimals(0.004), decimals(-1e-9)
    ('0.12', '0.004', '0.00')
    """
    number = round(number, _DIGITS)
    return str(rounded(number, digits_beside(number, 0.0, 2)))


def _cell_counts(row: NDArray[np.int64], column: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_array:
    """Return how often each cell occurs."""
    return sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()


def jackknife(value: float, without: Floats) -> tuple[float, float]:
    """Return the middle and the standard deviation of an average over pairs of judges, from those without each judge.

    The middle is the value without its bias; see the notes of :func:`krippendorff_alpha`.
    """
    n, mean = len(without), without.mean()
    return float(n * value - (n - 1) * mean), float(np.sqrt((n - 2) / n * ((without - mean) ** 2).sum()))


def _interval(
    panel: AnswerCounts, alpha: float, confidence: float, rooms: NDArray[np.int64] | None
) -> tuple[float, float, str]:
    """Return both ends, or NaN and why there are none."""
    without = np.concatenate(list(panel.left_out(rooms)))
    if np.isnan(without).any():
        return np.nan, np.nan, "without one of so few judges there is nothing left to compare"
    middle, deviation = jackknife(alpha, without)
    if deviation <= _ROUNDING:
        return np.nan, np.nan, "no judge differs from the others"
    half = float(stdtrit(len(without) - 1, (1 + confidence) / 2)) * deviation
    return max(min(middle - half, alpha), -1.0), min(max(middle + half, alpha), 1.0), ""
