"""How often the intervals of audits and of agreement hold the truth, over panels drawn from a known population.

The population is 1,000 simulated judges who have answered 2,000 random pairs of people, and the truth is the average
over all of it. A panel is drawn from it with replacement: judges, and pairs that are common to them or each one's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import compas
from benchmarks.row import Row, table
from fairwise.auditing.intervals import AVERAGES, LEAST_JUDGES, LEAST_PAIRS, AnswerMeans, interval
from fairwise.judgments import Answer, agreement
from fairwise.judgments.answer import FIRST, NEITHER, SAME, SECOND, Oriented
from fairwise.simulation import draw_pairs, draw_respondents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

JUDGES = (5, 7, 10, 15, 25, 43)
PAIRS = (5, 10, 20, 50)
LOWEST, HIGHEST = 0.92, 0.97
GAMMA = 0.1
_PANELS = (2_000, 10_000)
_PANELS_OF_ALPHA = 2_000
_CODES = {Answer.SAME: SAME, Answer.A_AT_LEAST_B: FIRST, Answer.B_AT_LEAST_A: SECOND, Answer.NO_CONSTRAINT: NEITHER}


class Cell(NamedTuple):
    """One kind of study, one model and one average: shares of panels whose interval holds the truth, or is marked."""

    own_pairs: bool
    judges: int
    pairs: int
    model: str
    average: str
    held: float
    marked: float

    @property
    def within(self) -> bool:
        return LOWEST <= self.held <= HIGHEST

    @property
    def is_marked(self) -> bool:
        """Whether the audit marks the interval in most of these panels."""
        return self.marked > 0.5


@dataclass(frozen=True, eq=False)
class Population:
    """``(judges, pairs)`` answers as codes of :mod:`fairwise.judgments.answer`, and scores by model."""

    answer: Ints
    differences: dict[str, Floats]

    def sums(self, model: str) -> tuple[Floats, Floats]:
        """``(judges, pairs, 4)`` numerators and denominators of the averages, as an audit takes them."""
        ahead = self.differences[model]
        behind = np.select([self.answer == FIRST, self.answer == SECOND], [-ahead, ahead], 0.0).clip(0.0)
        violation = np.where(self.answer == SAME, np.abs(ahead), behind)
        same, asks = self.answer == SAME, self.answer != NEITHER
        excess = np.maximum(violation - GAMMA, 0.0)
        kept = asks & (violation <= GAMMA + 1e-6)
        twice = np.full(excess.shape, 2.0)
        numerators, denominators = (same * violation, excess, excess, kept), (same, twice, twice, asks)
        return np.stack(numerators, axis=-1).astype(float), np.stack(denominators, axis=-1).astype(float)


def run() -> Row:
    everyone = population()
    cells = list(audit_cells(everyone))
    of_alpha = list(alpha_cells(everyone))
    every = [*cells, *of_alpha]
    failed = [cell for cell in every if not (cell.within or cell.is_marked)]
    kept = [cell for cell in every if cell.within]
    return Row(
        what=f"95 % intervals of audits and of agreement, {min(JUDGES)} to {max(JUDGES)} judges, {min(PAIRS)} to "
        f"{max(PAIRS)} pairs each, their own or common to all",
        bar=f"hold the truth in {LOWEST:.0%} to {HIGHEST:.0%} of panels in every cell, or the result marks them",
        measured=f"{len(kept)} of {len(every)} cells within, {len(every) - len(kept) - len(failed)} marked, "
        f"{len(failed)} neither",
        reached=not failed,
        notes=_notes(cells, of_alpha, failed),
        ratios={"cells within or marked / cells": 1 - len(failed) / len(every)},
    )


def population(n_judges: int = 1_000, n_pairs: int = 2_000) -> Population:
    """Judges who do not tire: an answer depends on the judge, on the pair, and on the judge's noise."""
    people, outcome = compas.people()
    pairs = draw_pairs(people, 1, n_pairs, seed=7)[0]
    rng = np.random.default_rng(7)
    judges = (replace(judge, fatigue=0.0) for judge in draw_respondents(people, n_judges, seed=7))
    answers = [[_CODES[answer] for answer in judge.answers(people, pairs, rng)] for judge in judges]
    first, second = (people.index.get_indexer(pd.Index([pair[side] for pair in pairs])) for side in (0, 1))
    columns = pd.get_dummies(people).astype(float)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(columns, outcome)
    predicted = logistic.predict_proba(columns)[:, 0]
    by_priors = 1 - people["priors_count"].clip(upper=10).to_numpy() / 10
    favorable = {"priors": by_priors, "logistic": predicted}
    favorable |= {f"{shrunk} logistic": shrunk * predicted for shrunk in (0.3, 0.2)}
    return Population(np.array(answers), {name: score[first] - score[second] for name, score in favorable.items()})


def audit_cells(everyone: Population) -> Iterator[Cell]:
    names = [(model, average) for model in everyone.differences for average in AVERAGES]
    every = [everyone.sums(model) for model in everyone.differences]
    numerator, denominator = (np.concatenate(each, axis=-1) for each in zip(*every, strict=True))
    truth = numerator.mean(axis=(0, 1)) / denominator.mean(axis=(0, 1))
    is_loss = np.array([average == "fairness_loss" for _, average in names])
    for own in (True, False):
        for n_judges in JUDGES:
            for n_pairs in PAIRS:
                rng = np.random.default_rng([n_judges, n_pairs, own])
                panels = (_panel(numerator, denominator, n_judges, n_pairs, own, rng) for _ in iter(int, 1))
                # pairs that were not shown to a judge count as not asked for by them
                held, marked = _measured(panels, truth / np.where(is_loss & own, n_judges, 1))
                for name, *shares in zip(names, held.tolist(), marked.tolist(), strict=True):
                    yield Cell(own, n_judges, n_pairs, *name, *shares)


def _measured(panels: Iterator[AnswerMeans], truth: Floats) -> tuple[Floats, Floats]:
    """``(16,)`` shares of panels; more panels where a share comes near a limit."""
    held, marked, n = np.zeros(len(truth)), np.zeros(len(truth)), 0
    for wanted in _PANELS:
        while n < wanted:
            found = interval(next(panels), 0.95)
            held += (found.low <= truth) & (truth <= found.high)
            marked += ~found.covered
            n += 1
        distance = np.abs(held / n - np.array([[LOWEST], [HIGHEST]])).min(axis=0)
        if ((distance > 1.5 * np.sqrt(0.05 / n)) | (marked > n / 2)).all():
            break
    return held / n, marked / n


def _panel(
    numerator: Floats, denominator: Floats, n_judges: int, n_pairs: int, own: bool, rng: np.random.Generator
) -> AnswerMeans:
    judge = rng.integers(len(numerator), size=(n_judges, 1))
    pair = rng.integers(numerator.shape[1], size=(n_judges if own else 1, n_pairs))
    size, n_models = n_judges * n_pairs, numerator.shape[-1] // len(AVERAGES)
    return AnswerMeans(
        numerator[judge, pair].reshape(size, -1),
        denominator[judge, pair].reshape(size, -1),
        celled=np.tile([False, False, True, False], n_models),
        judge=np.repeat(np.arange(n_judges), n_pairs),
        pair=np.arange(size) if own else np.tile(np.arange(n_pairs), n_judges),
        largest=np.tile([1.0, 0.5, 0.5, 1.0], n_models),
    )


def alpha_cells(everyone: Population) -> Iterator[Cell]:
    """Alpha is about other judges and the same pairs, so a panel's truth is that of its own pairs."""
    for level in ("four answers", "same or not"):
        for n_judges in JUDGES:
            for n_pairs in PAIRS:
                rng = np.random.default_rng([n_judges, n_pairs])
                held = marked = 0
                for _ in range(_PANELS_OF_ALPHA):
                    pair = rng.integers(everyone.answer.shape[1], size=n_pairs)
                    judge = rng.integers(len(everyone.answer), size=n_judges)
                    rows = _rows(everyone.answer[np.ix_(judge, pair)])
                    found = agreement.agreement_of(rows, level, 0.95)
                    held += found.low <= true_alpha(everyone.answer[:, pair], level) <= found.high
                    marked += not found.covered
                yield Cell(False, n_judges, n_pairs, "alpha", level, held / _PANELS_OF_ALPHA, marked / _PANELS_OF_ALPHA)


def true_alpha(answers: Ints, level: str) -> float:
    """That of a panel of endlessly many judges whose answers are drawn from these, ``(judges, pairs)``."""
    if level == "same or not":
        answers = np.where(answers == SAME, SAME, NEITHER)
    share = np.stack([(answers == kind).mean(axis=0) for kind in range(4)], axis=1)
    mean = share.mean(axis=0)
    leaning = ((share[:, FIRST] - share[:, SECOND]) ** 2).sum() / len(share) ** 2
    alike = mean[SAME] ** 2 + mean[NEITHER] ** 2 + ((mean[FIRST] + mean[SECOND]) ** 2 + leaning) / 2
    return float(1 - (1 - (share**2).sum(axis=1)).mean() / (1 - alike))


def _rows(answers: Ints) -> Oriented:
    n_judges, n_pairs = answers.shape
    judge, pair = np.repeat(np.arange(n_judges), n_pairs), np.tile(np.arange(n_pairs), n_judges)
    people = pd.RangeIndex(n_pairs + 1)
    return Oriented(pd.RangeIndex(n_judges), people, judge, pair, np.full(len(pair), n_pairs), answers.ravel())


def _notes(cells: list[Cell], of_alpha: list[Cell], failed: list[Cell]) -> str:
    header = ["pairs are", "judges", *(f"{n} pairs" for n in PAIRS)]
    lines = [
        ["their own" if own else "common", str(n_judges), *_entries(cells, own, n_judges)]
        for own in (True, False)
        for n_judges in JUDGES
    ]
    of_levels = [[str(n_judges), *_entries(of_alpha, False, n_judges)] for n_judges in JUDGES]
    text = (
        "The truth is an average over 1,000 simulated judges and 2,000 pairs of COMPAS, all answered by all; a panel "
        f"is drawn from both, {_PANELS[0]:,} panels a cell, and {_PANELS[1]:,} where a share comes near a "
        "limit. The scores are those of priors alone, of a logistic regression, and of 0.3 and 0.2 times its "
        f"predictions, which break few judgments and very few; gamma = {GAMMA}. With mean_violation, mean_excess, "
        "fairness_loss and share_followed that makes 16 shares for every entry below: percent of panels whose interval "
        "held the truth, from the lowest to the highest of those that the audit does not mark, and how many it does. "
        f"It marks intervals from fewer than {LEAST_JUDGES} judges, or from fewer than {LEAST_PAIRS} pairs with a "
        "violation (or without "
        f"one); a share counts as marked where most of its panels are. Lowest and highest of the marked: "
        f"{_range(cell for cell in cells if cell.is_marked)}.\n\n{table(header, lines)}\n\n"
        f"Krippendorff's alpha, {_PANELS_OF_ALPHA:,} panels, all judges about the same pairs; both levels. "
        f"Marked are fewer than {agreement.LEAST_JUDGES} judges or {agreement.LEAST_PAIRS} pairs: "
        f"{_range(cell for cell in of_alpha if cell.is_marked)}.\n\n{table(header[1:], of_levels)}"
    )
    if failed:
        text += "\n\nNeither within nor marked:\n\n" + "\n".join(f"- {cell}" for cell in failed)
    return text


def _entries(cells: list[Cell], own: bool, n_judges: int) -> Iterator[str]:
    for n_pairs in PAIRS:
        here = [cell for cell in cells if (cell.own_pairs, cell.judges, cell.pairs) == (own, n_judges, n_pairs)]
        clear = [cell for cell in here if not cell.is_marked]
        marked = f"{len(here) - len(clear)} marked"
        yield marked if not clear else f"{_range(clear)}{f', {marked}' if len(clear) < len(here) else ''}"


def _range(cells: Iterable[Cell]) -> str:
    held = [100 * cell.held for cell in cells]
    return f"{min(held):.1f}–{max(held):.1f}" if held else "none"
