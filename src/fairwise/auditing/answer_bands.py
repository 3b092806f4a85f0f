"""They might say otherwise tomorrow: how far errors and prices would move with the answers.

Answers are drawn from a model of answers, and the best mixture is found again over the classifiers that are known, so
that no oracle is asked. What is reported is how far that moves from the same for the answers given: a pool that lacks a
classifier for some draw makes its error too high, never too low.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.error_measure import refuse_amounts
from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments
from fairwise.judgments.answer import PairDesign
from fairwise.judgments.validation import need_method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.judgments.answer_model import AnswerModel
    from fairwise.learning.estimator import PairwiseFairClassifier

    Floats = NDArray[np.float64]
    Points = Sequence[tuple[float, float | None]]

ANSWERS_LOW, ANSWERS_HIGH = "answers_low", "answers_high"
"""Columns of a frontier: between what errors it would lie with answers of another day."""

_NO_LIMIT = 2.0  # stands for an eta of None among numbers


@dataclass(frozen=True, eq=False)
class AnswerBands:
    """Bands that hold in a share ``coverage`` of ``n_draws`` other days.

    ``errors`` has a line per point: gamma, eta, error, answers_low, answers_high. ``prices`` has a line per pair that
    somebody was asked about, by ``a`` and ``b``: what it costs at the model's own gamma and eta, price, low, high.
    ``answers_changed`` is the mean share of answers given that are others.
    """

    errors: pd.DataFrame
    prices: pd.DataFrame
    answers_changed: float
    n_draws: int
    coverage: float

    def on(self, frontier: pd.DataFrame) -> pd.DataFrame:
        """A frontier with columns answers_low and answers_high, around its own errors, at the points that are known."""
        known = {
            (gamma, eta): (low - error, high - error)
            for gamma, eta, error, low, high in self.errors.fillna({"eta": _NO_LIMIT}).itertuples(
                index=False, name=None
            )
        }
        at = zip(frontier["gamma"], frontier["eta"].astype(float).fillna(_NO_LIMIT), strict=True)
        moved = np.array([known.get(point, (np.nan, np.nan)) for point in at]).reshape(-1, 2)
        error = frontier["error"].to_numpy(dtype=np.float64)
        return frontier.assign(**{ANSWERS_LOW: error + moved[:, 0], ANSWERS_HIGH: error + moved[:, 1]})


def answer_bands(
    model: PairwiseFairClassifier,
    people: Any,
    outcome: object,
    judgments: Judgments,
    answers: AnswerModel,
    *,
    points: Points | None = None,
    n_draws: int = 20,
    coverage: float = 0.9,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **fit_params: Any,
) -> AnswerBands:
    """Measure how far the error and the prices would move if the same people were asked the same again.

    Parameters
    ----------
    model, people, outcome, judgments
        A model fitted to these by column generation; ``fit_params`` are what else ``fit`` was given.
    answers : AnswerModel
        Fitted to these judgments. Answers of another day are drawn from it (:func:`another_day`).
    points : pairs of gamma and eta, optional
        Where else than at the model's own to say it.
    n_draws, coverage, random_state
        How many other days, the share of them inside of a band, and the seed by which they are drawn.
    progress : callable, optional
        Called with how many days are done and how many there are.

    Notes
    -----
    A search with the model's oracle, for the answers given and for two of the days, finds the classifiers. Those that
    some best mixture uses, a few that nearly are used and the constants are kept; then the oracle is asked nothing.
    Each band is around the error for the answers given, by how far the best mixture of these classifiers moves; its
    ends hold that error, whatever is drawn. With 20 draws and a coverage of 0.9 an end is about the second of the
    draws from outside: a rough one, which 100 draws make steadier.
    """
    from fairwise.auditing.pool_solving import AnswerPool  # the learner, slow to load

    n_draws = checks.whole("n_draws", n_draws, 2, 10_000)
    coverage = checks.fraction("coverage", coverage)
    judgments = checks.some_judgments(judgments)
    checks.fit_params(fit_params)
    need_method("answer_bands", answers, "meant")
    refuse_amounts("answer_bands", model)
    if model.solver != "column-generation":
        raise InputError(f'solver={model.solver!r}: bands need a model of solver="column-generation"')
    complete = judgments if judgments.people is not None else judgments.about(people)
    own = (float(model.gamma), model.eta)
    at = [own, *(point for point in points or () if point != own)]
    rng = np.random.default_rng(checks.whole("random_state", random_state, 0))
    chances = another_day(answers, complete)
    days = [drawn(complete, chances, rng) for _ in range(n_draws)]
    pool = AnswerPool.search(model, people, outcome, complete, at, days, fit_params)
    base, own_prices = pool.solved(complete)
    errors, prices = np.empty((n_draws, len(at))), []
    for number, day in enumerate(days):
        errors[number], costs = pool.solved(day)
        prices.append(costs)
        if progress is not None:
            progress(number + 1, n_draws)
    ends = (1 - coverage) / 2, (1 + coverage) / 2
    low, high = np.quantile(errors - base, ends, axis=0)
    table = pd.DataFrame(at, columns=["gamma", "eta"], dtype=float).assign(error=base)
    table[ANSWERS_LOW], table[ANSWERS_HIGH] = base + np.minimum(low, 0.0), base + np.maximum(high, 0.0)
    asked = complete.frame["design"] != PairDesign.PREDICTED
    said = complete.frame["answer"][asked].to_numpy()
    return AnswerBands(
        errors=table,
        prices=_of_asked(_price_bands(own_prices, prices, ends), complete),
        answers_changed=float(np.mean([(day.frame["answer"][asked].to_numpy() != said).mean() for day in days])),
        n_draws=n_draws,
        coverage=coverage,
    )


def another_day(answers: AnswerModel, judgments: Judgments) -> Floats:
    """``(N, 4)``: how probable each answer is to each row of ``judgments.frame``, if it were asked again.

    What was meant is what was said with the probability that the model gives it, and otherwise another answer, in
    proportion to what the judge would say. What is pressed is what is meant with a probability ``a`` of the judge, who
    gives the same answer again with probability ``r = a² + (1 - a)² / (K - 1)``, and otherwise any of the ``K - 1``
    other answers.
    """
    frame = judgments.frame
    columns = [str(answer) for answer in Answer]
    meant = answers.meant(judgments).reindex(frame.index).to_numpy(dtype=np.float64)
    said = frame["answer"].map({name: place for place, name in enumerate(columns)}).to_numpy(dtype=np.intp)
    possible = np.isin(columns, [str(answer) for answer in answers.answers_])
    rows, n = np.arange(len(frame)), int(possible.sum())
    # Predicted rows may be about people whom nobody was asked about.
    chance = answers.predict_proba(frame[["judge", "a", "b"]], people=judgments).to_numpy(copy=True)
    known = ~np.isnan(meant)  # nobody was asked about a predicted row: it is drawn as it was predicted
    others = chance.copy()
    others[rows, said] = 0.0
    left = others.sum(axis=1)
    meant = np.where(left > 0, meant, 1.0)
    after = others * np.divide(1 - meant, left, out=np.zeros_like(left), where=left > 0)[:, None]
    after[rows, said] = meant
    chance[known] = after[known]
    if n > 1:
        again = answers.reliability_["probability"].reindex(frame["judge"]).to_numpy(dtype=np.float64)
        pressed = (1 + np.sqrt((n - 1) * np.maximum(n * again - 1, 0.0))) / n
        pressed = np.where(known, np.nan_to_num(pressed, nan=1.0), 1.0)[:, None]
        chance = np.where(possible, pressed * chance + (1 - pressed) * (1 - chance) / (n - 1), 0.0)
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def drawn(judgments: Judgments, chances: Floats, rng: np.random.Generator) -> Judgments:
    """Return the rows with answers drawn by these probabilities ``(N, 4)``."""
    steps = np.cumsum(chances, axis=1)
    place = (rng.random((len(chances), 1)) * steps[:, -1:] >= steps).sum(axis=1)
    said = np.array([str(answer) for answer in Answer], dtype=object)[np.minimum(place, len(Answer) - 1)]
    return judgments.with_answers(said)


def _of_asked(prices: pd.DataFrame, judgments: Judgments) -> pd.DataFrame:
    """The lines of pairs that somebody was asked about, not those that are only predicted."""
    rows = judgments.asked().counted()
    asked = {frozenset(pair) for pair in zip(rows["a"], rows["b"], strict=True)}
    return prices[[frozenset(pair) in asked for pair in prices.index]]


def _price_bands(own: pd.Series[float], prices: list[pd.Series[float]], ends: tuple[float, float]) -> pd.DataFrame:
    """Return the price of each pair with its band; a pair that asks for nothing on a day costs nothing."""
    days = pd.concat(prices, axis=1).fillna(0.0)
    every = own.index.union(days.index)
    days, own = days.reindex(every, fill_value=0.0), own.reindex(every, fill_value=0.0)
    low, high = (days.quantile(end, axis=1) for end in ends)
    return pd.DataFrame({"price": own, "low": np.minimum(low, own), "high": np.maximum(high, own)})
