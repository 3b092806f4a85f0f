"""How many judges and pairs a study needs for an interval of a wanted width."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.theorems import hoeffding
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.constraints.pairs import FloatArray

    Study = Callable[[int, int, np.random.Generator], float]


_MOST = 10_000_000  # judges, or pairs of each: more than there are people to ask
_NO_CORRELATION = 1e-300  # below, its inverse is endless


def plan(
    judges: int | Sequence[int] | None = None,
    pairs: int | Sequence[int] = 50,
    *,
    wanted: float = 0.05,
    correlation: float = 0.1,
    rate: float = 0.25,
    confidence: float = 0.95,
    n_simulations: int = 2000,
    simulate: Study | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """How wide the interval of an average over all answers will be, and how many judges make it narrow enough.

    ``J`` independent judges answer ``k`` pairs of their own each; an average of ``N = J k`` numbers in [0, 1] with mean
    ``rate`` is wanted to within ``wanted``. Answers of one judge resemble each other with correlation ``rho``, so they
    are worth ``N / (1 + (k - 1) rho)`` independent ones. The half-width is ``z sqrt(rate (1 - rate) / that)``, the
    widest that numbers in [0, 1] with this mean can have.

    Parameters
    ----------
    judges : int, several, or None
        Sizes of the panel to look at; None: as many as are needed.
    pairs : int or several
        Pairs each judge answers.
    wanted : float
        Half-width of the interval.
    correlation : float
        ``rho``, from 0 to 1; :func:`judge_correlation` estimates it from a pilot study.
    rate : float
        The expected average, between 0 and 1; 0.5 is the most cautious.
    confidence : float
        Level of the interval.
    n_simulations : int
        Simulated studies per line (0 for none).
    simulate : callable, optional
        ``simulate(judges, pairs, rng)`` runs one study of your own making and returns its average. By default each
        simulated judge has a rate of their own, Beta distributed with mean ``rate`` and correlation ``rho``, and
        breaks or keeps pairs at that rate.
    seed : int
        The same seed gives the same simulated studies.

    Returns
    -------
    DataFrame
        judges, pairs, answers, independent_answers, half_width, simulated_half_width, guaranteed_half_width (Hoeffding,
        counting judges only), judges_needed (for these pairs, by the formula), enough.
    """
    wanted = checks.fraction("wanted", wanted, ends=False)
    rate = checks.fraction("rate", rate, ends=False)
    confidence = checks.fraction("confidence", confidence, ends=False)
    correlation = checks.fraction("correlation", correlation)
    n_simulations = checks.whole("n_simulations", n_simulations, 0)
    rng = np.random.default_rng(checks.whole("seed", seed, 0))
    study = simulate or _beta_binomial(rate, correlation)
    z = _normal_quantile(confidence)
    lines = []
    for n_pairs in _sizes(pairs, "pairs"):
        effect = design_effect(n_pairs, correlation)
        needed = _needed(z**2 * rate * (1 - rate) * effect / n_pairs, wanted)
        for n_judges in [needed] if judges is None else _sizes(judges, "judges"):
            independent = n_judges * n_pairs / effect
            half_width = z * np.sqrt(rate * (1 - rate) / independent)
            lines.append(
                {
                    "judges": n_judges,
                    "pairs": n_pairs,
                    "answers": n_judges * n_pairs,
                    "independent_answers": independent,
                    "half_width": half_width,
                    "simulated_half_width": _spread(study, n_judges, n_pairs, n_simulations, confidence, rng),
                    "guaranteed_half_width": hoeffding(n_judges, 1 - confidence),
                    "judges_needed": needed,
                    "enough": n_judges >= needed,
                }
            )
    return pd.DataFrame(lines)


def design_effect(pairs: int, correlation: float) -> float:
    """``1 + (k - 1) rho``: how many answers of a judge with ``k`` pairs are worth one independent answer."""
    return 1.0 + (pairs - 1) * correlation


def judge_correlation(judgments: pd.DataFrame, value: str = "excess") -> float:
    """How alike one judge's values are (0: not at all, 1: equal), from an audit's ``judgments``.

    One-way analysis of variance: ``(B - W) / (B + (k - 1) W)`` with mean squares ``B`` between and ``W`` within judges
    and ``k`` the (adjusted mean) number of answers of a judge; at least 0.
    """
    grouped = judgments.groupby("judge")[value]
    sizes = grouped.size().to_numpy(dtype=float)
    total, n_judges = sizes.sum(), len(sizes)
    if n_judges < 2 or total <= n_judges:
        raise InputError("correlation within judges: at least two judges, one of them with two answers, are needed")
    means = grouped.mean().to_numpy(dtype=float)
    overall = judgments[value].mean()
    between = float(sizes @ (means - overall) ** 2) / (n_judges - 1)
    within = float(((judgments[value] - grouped.transform("mean")) ** 2).sum()) / (total - n_judges)
    k = (total - (sizes**2).sum() / total) / (n_judges - 1)
    spread = between + (k - 1) * within
    return max(0.0, (between - within) / spread) if spread > 0 else 0.0


def _beta_binomial(rate: float, correlation: float) -> Study:
    def study(judges: int, pairs: int, rng: np.random.Generator) -> float:
        rates: float | FloatArray
        if correlation < _NO_CORRELATION:
            rates = np.full(judges, rate)
        elif correlation == 1:
            rates = (rng.random(judges) < rate).astype(float)
        else:
            strength = 1 / correlation - 1
            rates = rng.beta(rate * strength, (1 - rate) * strength, size=judges)
        return float(rng.binomial(pairs, rates).mean() / pairs)

    return study


def _spread(
    study: Study, judges: int, pairs: int, n_simulations: int, confidence: float, rng: np.random.Generator
) -> float:
    """Half the distance between the outer quantiles of the simulated averages."""
    if n_simulations == 0:
        return float("nan")
    averages = [study(judges, pairs, rng) for _ in range(n_simulations)]
    low, high = np.quantile(averages, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(high - low) / 2


def _normal_quantile(confidence: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def _needed(variance: float, wanted: float) -> int:
    """The least number of judges with ``variance / judges <= wanted^2``."""
    judges = variance / wanted / wanted
    if judges > _MOST:
        raise InputError(f"wanted={wanted:g} is not allowed: it would need {judges:.1g} judges, and {_MOST:,} is most")
    return max(1, ceil(judges - 1e-9))


def _sizes(value: int | Sequence[int], name: str) -> list[int]:
    return [checks.whole(name, size, 1, _MOST) for size in (value if isinstance(value, Sequence) else [value])]
