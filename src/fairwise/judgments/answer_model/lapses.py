"""How often someone presses what they do not mean: from pairs asked again, checks, and how quickly they answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairwise.judgments.answer_model.features import Floats, Ints

# The chance of a lapse, as log-odds; the first point stands for never, the last is 99 %.
_GRID = np.linspace(-7.6, 4.6, 123)
# How log-odds may be spread over judges: normal, about means and with standard deviations between these, except for a
# share of judges who never lapse. Before anything was asked twice, a lapse is thought of as one answer in 20 or so.
_MEANS, _SPREADS, _NEVER = np.linspace(-5.5, 0.5, 13), np.linspace(0.25, 3.25, 7), (0.0, 0.1, 0.3)
_MEAN, _MEAN_SPREAD, _SPREAD = -3.0, 1.5, 2.0
# What one standard deviation of the logarithm of seconds may change in the log-odds of a lapse.
_SLOPES = np.linspace(-1.5, 1.5, 13)
_SLOPE_SPREAD = 0.5
# Which part of lapses may be such that they happen anywhere.
_PARTS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class SaidRows:
    """N answers, of which several may be about one pair; pairs are numbered per judge."""

    judge: Ints
    """``(N,)``."""

    pair: Ints
    """``(N,)``: which of the P pairs of judges."""

    said: Ints
    """``(N,)``: places in the scale."""

    pace: Floats
    """``(N,)``: the logarithm of seconds, standardised; 0 where nobody knows."""

    n_answers: int
    """K."""


@dataclass(frozen=True, eq=False)
class Lapses:
    """How often each judge lapses, which is to answer by lot among the K answers.

    With a chance ε both times, an answer is the same again with probability (1 - ε + ε / K)² + (K - 1) (ε / K)², and
    two identical people are called the same with 1 - ε + ε / K. log-odds(ε) = c_j + slope · pace, with c_j normal over
    judges, but for some who never lapse.

    People also change their mind where they are undecided, and that is no lapse: what they mean is uncertain there
    anyhow. So of the ε that repeats show, only a `part` is taken to happen at pairs of all kinds: as much as predicts
    answers that were held out best.
    """

    slope: float
    chances: Floats
    """``(J + 1, G)``: how probable each point of the grid is as c_j, given what j said; last, of somebody new."""

    part: float = 0.2

    @classmethod
    def unknown(cls, n_judges: int) -> Lapses:
        """Return what is usual, where nothing was asked twice."""
        priors, chances = _priors()
        return cls(0.0, np.tile(chances @ priors, (n_judges + 1, 1)))

    @classmethod
    def learn(cls, rows: SaidRows, check: np.ndarray, same: int, n_judges: int) -> Lapses:
        """Learn from checks, for which `check` ``(P,)`` is true and the place `same` is right, and repeated pairs."""
        order = np.argsort(rows.pair, kind="stable")
        here, before = order[1:], order[:-1]
        again = (rows.pair[here] == rows.pair[before]) & ~check[rows.pair[here]]
        twice = _Trials.of(rows, here[again], rows.said[here[again]] == rows.said[before[again]], twice=True)
        shown = np.flatnonzero(check[rows.pair])
        once = _Trials.of(rows, shown, rows.said[shown] == same, twice=False)
        if not len(here[again]) + len(shown):
            return cls.unknown(n_judges)
        timed = bool(np.concatenate([twice.pace, once.pace]).any())
        found = [_explained([twice, once], rows.n_answers, n_judges, slope) for slope in (_SLOPES if timed else [0.0])]
        return max(found, key=lambda each: each[0])[1]

    def with_part(self, rows: SaidRows, meant: Floats) -> Lapses:
        """Return the same with the part that predicts best; `meant` ``(N, K)`` was learned without the answer."""
        lapse = self._lapse(rows.judge, rows.pace)
        own = meant[np.arange(len(rows.said)), rows.said]

        def likelihood(part: float) -> float:
            return float(np.log((1 - part * lapse) * own + part * lapse / rows.n_answers + 1e-12).sum())

        return replace(self, part=max(_PARTS, key=likelihood))

    def slip(self, judge: Ints, pace: Floats) -> Floats:
        """Return for each row ``(N,)`` the chance of an answer by lot, whatever is meant; judge -1 is somebody new."""
        # Never quite 0: one answer must not rule out what all others say.
        return np.maximum(self.part * self._lapse(judge, pace), 1e-3)

    def _lapse(self, judge: Ints, pace: Floats) -> Floats:
        if not self.slope:
            by_judge: Floats = self.chances @ _lapses(np.zeros(1))[0]
            return by_judge[judge]
        by_row: Floats = np.einsum("ng,ng->n", self.chances[judge], _lapses(self.slope * pace))
        return by_row

    def evidence(self, rows: SaidRows, n_pairs: int) -> Floats:
        """Return ``(P, K)``: how likely what was said of each pair is, if each answer is the one meant."""
        slip = self.slip(rows.judge, rows.pace)[:, None]
        result = np.ones((n_pairs, rows.n_answers))
        hit = np.equal.outer(rows.said, np.arange(rows.n_answers))
        np.multiply.at(result, rows.pair, slip / rows.n_answers + (1 - slip) * hit)
        return result

    def reliability(self, rows: SaidRows, confidence: float = 0.95) -> Floats:
        """Return ``(J, 3)``: the probability of the same answer again, at the judge's own pace, and its interval.

        The interval leaves out equally much of the judge's posterior on both sides, and is rounded outwards to a
        percent.
        """
        result = np.empty((len(self.chances) - 1, 3))
        for judge in range(len(result)):
            pace = rows.pace[rows.judge == judge] if self.slope else np.zeros(1)
            again = _right(_lapses(self.slope * pace), rows.n_answers, twice=True).mean(axis=0)
            low, high = _interval(again, self.chances[judge], confidence)
            result[judge] = again @ self.chances[judge], np.floor(100 * low) / 100, np.ceil(100 * high) / 100
        return result


@dataclass(frozen=True, eq=False)
class _Trials:
    """Answers that could be compared with another one, or with the right one."""

    judge: Ints
    pace: Floats
    right: np.ndarray
    twice: bool
    """Whether two answers were compared, either of which may be a lapse."""

    @classmethod
    def of(cls, rows: SaidRows, use: Ints, right: np.ndarray, *, twice: bool) -> _Trials:
        return cls(rows.judge[use], rows.pace[use], right, twice)

    def likelihood(self, n_answers: int, n_judges: int, slope: float) -> Floats:
        """``(J, G)``: logarithms."""
        right = _right(_lapses(slope * self.pace), n_answers, twice=self.twice)
        result = np.zeros((n_judges, len(_GRID)))
        np.add.at(result, self.judge, np.log(np.maximum(np.where(self.right[:, None], right, 1 - right), 1e-12)))
        return result


def _explained(trials: list[_Trials], n_answers: int, n_judges: int, slope: float) -> tuple[float, Lapses]:
    """Return how likely all this is, penalised, and what it says of each judge, averaged over means and spreads.

    With L_jg the likelihood of what judge j did and π_g the prior for a mean and a spread, these are as probable as
    their own prior times Π_j Σ_g π_g L_jg.
    """
    logs = np.sum([each.likelihood(n_answers, n_judges, slope) for each in trials], axis=0)
    top = logs.max(axis=1, keepdims=True)
    likelihood = np.exp(logs - top)
    priors, chances = _priors()
    by_judge = likelihood @ priors.T
    joint = np.log(chances) + np.log(by_judge).sum(axis=0)
    weight = np.exp(joint - joint.max())
    evidence = float(joint.max() + np.log(weight.sum()) + top.sum())
    weight /= weight.sum()
    # Of each judge: Σ over priors of weight · π_g L_jg / Σ_g π_g L_jg.
    known = likelihood * ((weight / by_judge) @ priors)
    lapses = Lapses(float(slope), np.vstack([known, weight @ priors]))
    return evidence - (slope / _SLOPE_SPREAD) ** 2 / 2, lapses


def _priors() -> tuple[Floats, Floats]:
    """Return priors over the grid ``(H, G)``, and how probable each is before anything was asked twice ``(H,)``."""
    means, spreads, never = (each.ravel()[:, None] for each in np.meshgrid(_MEANS, _SPREADS, _NEVER))
    normal = np.exp(-(((_GRID - means) / spreads) ** 2) / 2)
    priors = (1 - never) * normal / normal.sum(axis=1, keepdims=True) + never * np.equal(_GRID, _GRID[0])
    chances = np.exp(-(((means - _MEAN) / _MEAN_SPREAD) ** 2) / 2 - (spreads / _SPREAD) ** 2 / 2)[:, 0]
    return np.maximum(priors, 1e-300), chances / chances.sum()


def _right(lapse: Floats, n_answers: int, *, twice: bool) -> Floats:
    """Return how probable an answer is to be right, or the same twice, by the chance of a lapse."""
    hit = 1 - lapse + lapse / n_answers
    result: Floats = hit**2 + (n_answers - 1) * (lapse / n_answers) ** 2 if twice else hit
    return result


def _lapses(moved: Floats) -> Floats:
    """Return ``(N, G)``: the chance of a lapse at each point of the grid, moved by so much; 0 at the first."""
    result: Floats = 1 / (1 + np.exp(-_GRID - moved[:, None]))
    result[:, 0] = 0.0
    return result


def _interval(values: Floats, chances: Floats, confidence: float) -> tuple[float, float]:
    """Return the values below and above which equally much of the chances is left out."""
    order = np.argsort(values)
    total = np.cumsum(chances[order])
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2]) * total[-1]
    low, high = values[order][np.minimum(np.searchsorted(total, tails), len(values) - 1)]
    return float(low), float(high)
