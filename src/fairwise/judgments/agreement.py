"""How far judges agree beyond chance: Krippendorff's alpha, with an interval over judges."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fairwise.equal_nan import EqualNan
from fairwise.errors import InputError
from fairwise.judgments.oriented import FIRST, NEITHER, SAME, SECOND, Oriented, orient
from fairwise.judgments.table import Judgments

Level: TypeAlias = Literal["four answers", "same or not"]
Floats: TypeAlias = NDArray[np.float64]

_ANSWERS = 4
_CELLS_AT_ONCE = 8_000_000
# Where more resamples than this say nothing at all, the others say too little.
_UNDEFINED_ALLOWED = 0.05


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

    def __str__(self) -> str:
        head = f"Krippendorff's alpha ({self.level})"
        if np.isnan(self.alpha):
            return f"{head}: undefined, because {self.note}."
        interval = f"{self.confidence:.0%} interval over judges {_two(self.low)} to {_two(self.high)}"
        if np.isnan(self.low):
            interval = f"no interval, because {self.note}" if self.note else "no interval"
        return (
            f"{head}: {_two(self.alpha)} ({interval}), from {self.n_pairs} pairs that two or more of "
            f"{self.n_judges} judges answered; 1 is full agreement, 0 is chance."
        )


def krippendorff_alpha(
    judgments: Judgments,
    level: Level = "four answers",
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """Measure how far the judges agree about the pairs that several of them answered.

    Every row that counts is one answer, whatever its weight. The interval is a percentile bootstrap: the judges are
    drawn again with replacement, the pairs stay. A judge drawn twice weighs double but is never compared with
    themselves, because copies agree and would make the panel look more united than it is.

    Parameters
    ----------
    judgments : Judgments
    level : {"four answers", "same or not"}
        Whether the four answers are four categories, or all but `same` are one.
    n_resamples : int
        How often to draw the judges again; 0 for no interval.
    confidence : float
        Of the interval.
    seed : int
        The same seed gives the same interval.

    Notes
    -----
    With N_uc answers c about pair u, W_u = Σ_c N_uc and n = Σ_u W_u over the pairs of two or more judges,
    alpha = 1 - D_o / D_e, where D_o = Σ_u (W_u² - Σ_c N_uc²) / (W_u - 1) / n is the disagreement observed and
    D_e = (n² - Σ_c n_c²) / (n² - n) that of answers paired at random.

    Which of the two people is called A is chance, but moves an ordered answer from one category to the other. So D_e
    is averaged over both ways of naming every pair: n_A² + n_B² becomes
    ((n_A + n_B)² + Σ_u (N_uA - N_uB)²) / 2. Without ordered answers this is the textbook's alpha.

    Examples
    --------
    >>> rows = [{"judge": judge, "a": 1, "b": b, "answer": "same"} for judge in ("ann", "bea") for b in (2, 3)]
    >>> rows[0]["answer"] = "no_constraint"
    >>> krippendorff_alpha(Judgments(rows), n_resamples=0).alpha
    0.0
    """
    if level not in get_args(Level):
        raise InputError(f"level={level!r}; allowed: {' or '.join(map(repr, get_args(Level)))}")
    if not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise InputError(f"confidence={confidence!r}; allowed: above 0 and below 1")
    for name, number in (("n_resamples", n_resamples), ("seed", seed)):
        if not (isinstance(number, Integral) and number >= 0):
            raise InputError(f"{name}={number!r}; allowed: a whole number, 0 or more")
    panel = _Panel.of(orient(judgments.counted()), level)
    alpha, note = np.nan, "no pair was answered by two judges"
    if panel.n_pairs:
        alpha = float(panel.alpha(np.ones((panel.n_judges, 1)))[0])
        note = "all their answers are the same answer" if np.isnan(alpha) else ""
    low = high = np.nan
    if n_resamples and not np.isnan(alpha):
        drawn = np.concatenate(list(_resampled(panel, n_resamples, seed)))
        defined = drawn[~np.isnan(drawn)]
        if len(defined) >= (1 - _UNDEFINED_ALLOWED) * n_resamples:
            low, high = map(float, np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2]))
        else:
            note = "too many draws of so few judges leave nothing to compare"
    return Agreement(level, alpha, low, high, panel.n_pairs, panel.n_judges, confidence, note)


@dataclass(frozen=True, eq=False)
class _Panel:
    """Answers about ``U`` pairs of two or more of ``J`` judges, as linear maps from how often each judge was drawn.

    ``answers``, ``(4 U, J)``, gives the number of answers of each kind about each pair. ``own_pairs`` and
    ``own_differing``, ``(U, J)``, give from the squares how many pairs of answers are one judge's own, and how many
    of these differ; with one answer per judge and pair that is 1 and 0.
    """

    n_pairs: int
    n_judges: int
    answers: sparse.csr_array
    own_pairs: sparse.csr_array
    own_differing: sparse.csr_array

    @classmethod
    def of(cls, rows: Oriented, level: Level) -> "_Panel":
        pair, pairs = pd.factorize(rows.pair)
        each = pd.DataFrame({"pair": pair, "judge": rows.judge}).drop_duplicates()
        shared = np.bincount(each["pair"], minlength=len(pairs)) > 1
        rows = rows.only(shared[pair])
        pair = (np.cumsum(shared) - 1)[pair[shared[pair]]]
        judge, judges = pd.factorize(rows.judge, sort=True)
        answer = rows.answer if level == "four answers" else np.where(rows.answer == SAME, SAME, NEITHER)

        n_pairs, n_judges = int(shared.sum()), len(judges)
        kinds = _counts(_ANSWERS * pair + answer, judge, (_ANSWERS * n_pairs, n_judges))
        own = _counts(pair, judge, (n_pairs, n_judges)).power(2)
        alike = kinds.power(2).tocoo()
        agreeing = sparse.coo_array((alike.data, (alike.row // _ANSWERS, alike.col)), shape=own.shape).tocsr()
        differing = sparse.csr_array(own - agreeing)
        differing.eliminate_zeros()
        return cls(n_pairs, n_judges, kinds, own, differing)

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


def _two(number: float) -> str:
    """Return two decimals, and no minus before zero."""
    return f"{round(number, 2) + 0.0:.2f}"


def _counts(row: NDArray[np.int64], column: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_array:
    """Return how often each cell occurs."""
    return sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()


def _resampled(panel: _Panel, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Yield alpha for panels of as many judges, drawn with replacement, as many at once as fit in memory."""
    rng = np.random.default_rng(seed)
    even = np.full(panel.n_judges, 1 / panel.n_judges)
    at_once = max(1, _CELLS_AT_ONCE // (_ANSWERS * panel.n_pairs))
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        yield panel.alpha(rng.multinomial(panel.n_judges, even, size=size).T.astype(np.float64))
