"""A study played with simulated people before anyone is asked: how well agreement will be known, what answers cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing import checks
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.simulation import draw_respondents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairwise.study.folder import StudyFolder

    Progress = Callable[[str, int, int], None]

# Quick, and proven to within the tolerance; more thresholds change the error on COMPAS by less than that.
PLANNING_MODEL: dict[str, Any] = {"estimator": "tree", "max_depth": 2, "max_thresholds": 32, "tol": 1e-3}
PLANNING_WORDS = (
    "the best mixture, proven to within {tol:g}, of decision trees of depth {max_depth} with at most {max_thresholds} "
    "thresholds a column"
).format(**PLANNING_MODEL)
PLAYING, FITTING = "Simulated studies", "Fits to their answers"


@dataclass(frozen=True)
class Cost:
    """What to learn from simulated answers, to see what they cost."""

    outcome: pd.Series[Any]
    gamma: float = 0.1
    eta: float | None = 0.0
    favorable_label: Any = None
    n_fits: int = 5


@dataclass(frozen=True, eq=False)
class SimulatedPlan:
    """What simulated studies showed.

    ``panels`` has a row for every panel size, with averages over the simulated studies: judges, answers, shared_pairs
    (answered by two or more), alpha, alpha_low, alpha_high and half_width (of the interval that one study would show),
    measured (the number of studies that show one), repeated, same_again, same_again_low, same_again_high; and over
    those fitted error, error_lowest and error_highest. What cannot be told is NaN.
    """

    panels: pd.DataFrame
    n_studies: int
    n_fits: int
    error_without_judgments: float = np.nan
    error_of_one_label: float = np.nan
    """Of predicting the more frequent outcome for everyone."""


def simulate_study(
    study: StudyFolder,
    people: pd.DataFrame,
    judges: Sequence[int],
    *,
    cost: Cost | None = None,
    n_studies: int = 20,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = lambda _stage, _done, _all: None,
) -> SimulatedPlan:
    """Play a study several times, each time with other simulated people, who are shown its real pairs.

    Parameters
    ----------
    study : StudyFolder
        Its people, design and seed decide who is shown which pairs.
    people : DataFrame
        Everyone in the study with the values behind what is shown, by id.
    judges : several ints
        Panel sizes to try.
    cost : Cost, optional
        Also learn from the answers of the first few studies; by default no outcome is looked at.
    n_studies : int
        How often to play it with a panel of each size.
    confidence : float
        Of the interval for agreement.
    seed : int
        The same seed gives the same simulated people.
    progress : callable
        Told the stage, how many are done and how many there are.
    """
    sizes = [checks.whole("judges", size, 1) for size in judges]
    n_studies = checks.whole("n_studies", n_studies, 1)
    n_fits = 0 if cost is None else min(n_studies, checks.whole("n_fits", cost.n_fits, 1))
    panels, kept, done = [], [], 0
    for size in sizes:
        shown = []
        for repetition in range(n_studies):
            said = play(study, people, size, seed=_seed(seed, repetition))
            shown.append(_shown(said, confidence))
            if repetition < n_fits:
                kept.append(said)
            done += 1
            progress(PLAYING, done, len(sizes) * n_studies)
        known = {"judges": size, "answers": size * study.settings.pairs, **_averages(pd.DataFrame(shown))}
        panels.append(known | dict.fromkeys(("error", "error_lowest", "error_highest"), np.nan))
    if cost is None:
        return SimulatedPlan(pd.DataFrame(panels), n_studies, 0)
    errors = []
    for said in kept:
        errors.append(_error(people, cost, said))
        progress(FITTING, len(errors), len(kept))
    for panel, found in zip(panels, np.reshape(errors, (len(sizes), n_fits)), strict=True):
        panel |= {"error": found.mean(), "error_lowest": found.min(), "error_highest": found.max()}
    return SimulatedPlan(
        pd.DataFrame(panels),
        n_studies,
        n_fits,
        error_without_judgments=_error(people, cost, None),
        error_of_one_label=1 - float(cost.outcome.value_counts(normalize=True).max()),
    )


def play(study: StudyFolder, people: pd.DataFrame, n_judges: int, *, seed: int = 0) -> Judgments:
    """Return what simulated people say who come one after the other, and all of whom finish."""
    rows = []
    for number, judge in enumerate(draw_respondents(people, n_judges, seed=seed)):
        pairs = study.schedule(number + 1, number)
        if len(pairs) != study.settings.pairs:
            raise InputError(
                f"{study.path}: only {len(pairs)} of the {study.settings.pairs} pairs of a participant are known "
                "beforehand; the others are chosen while people answer, which cannot be simulated here: to plan, "
                "make the study with as many uniform ones instead"
            )
        luck = np.random.default_rng([seed, number, 1])
        answers = judge.answers(people, [(pair.a, pair.b) for pair in pairs], luck, scale=study.settings.answers)
        rows += [(judge.name, pair.a, pair.b, said, pair.design) for pair, said in zip(pairs, answers, strict=True)]
    return Judgments(pd.DataFrame(rows, columns=["judge", "a", "b", "answer", "design"]), people=people)


def _shown(said: Judgments, confidence: float) -> dict[str, float]:
    """What ``fairwise check`` would show of one study."""
    from fairwise.judgments import krippendorff_alpha, repeat_consistency

    agreement = krippendorff_alpha(said, confidence=confidence)
    again = repeat_consistency(said, confidence=confidence).overall
    return {
        "shared_pairs": agreement.n_pairs,
        "alpha": agreement.alpha,
        "alpha_low": agreement.low,
        "alpha_high": agreement.high,
        "repeated": again.of,
        "same_again": again.share,
        "same_again_low": again.low,
        "same_again_high": again.high,
    }


def _averages(studies: pd.DataFrame) -> dict[str, float]:
    """Over those studies that show it; which pairs are shared and repeated is the same in all."""
    found: dict[str, float] = {str(name): float(value) for name, value in studies.mean().items()}
    counts = {name: int(studies[name].iloc[0]) for name in ("shared_pairs", "repeated")}
    half_width = (found["alpha_high"] - found["alpha_low"]) / 2
    return found | counts | {"half_width": half_width, "measured": int(studies["alpha_low"].notna().sum())}


def _error(people: pd.DataFrame, cost: Cost, said: Judgments | None) -> float:
    """Training error of the planning model, with judgments or without."""
    from fairwise.learning.estimator import PairwiseFairClassifier

    model = PairwiseFairClassifier(
        **PLANNING_MODEL, gamma=cost.gamma, eta=cost.eta, favorable_label=cost.favorable_label
    )
    return float(model.fit(people, cost.outcome, judgments=said).certificate_.error)


def _seed(seed: int, repetition: int) -> int:
    return int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0])
