"""Plans: how many judges and pairs a study needs, by a formula or by simulating the study, with arms or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

import fairwise  # whose classifier is loaded when it is first used: scikit-learn takes a second
from fairwise.auditing import checks
from fairwise.auditing.changes import Changes
from fairwise.auditing.effects import effects
from fairwise.auditing.theorems import hoeffding
from fairwise.errors import InputError
from fairwise.judgments import Judgments, krippendorff_alpha, repeat_consistency
from fairwise.learning.solvers.progress import raise_interrupts
from fairwise.simulation import draw_respondents, simulate_second_round

if TYPE_CHECKING:
    from fairwise.constraints.pairs import FloatArray
    from fairwise.study.folder import StudyFolder  # studies are an extra; whoever plans one has it

    Study = Callable[[int, int, np.random.Generator], float]
    Progress = Callable[[str, int, int], None]


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
    """Compute the width of the interval of an average, or the number of judges that makes it narrow enough.

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
    z = float(ndtri((1 + confidence) / 2))
    lines = []
    for n_pairs in _sizes(pairs, "pairs"):
        effect = design_effect(n_pairs, correlation)
        needed = _judges_needed(z**2 * rate * (1 - rate) * effect / n_pairs, wanted)
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
                    "simulated_half_width": _simulated_half_width(
                        study, n_judges, n_pairs, n_simulations, confidence, rng
                    ),
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
    """Return how alike one judge's values are (0: not at all, 1: equal), from an audit's ``judgments``.

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


def _simulated_half_width(
    study: Study, judges: int, pairs: int, n_simulations: int, confidence: float, rng: np.random.Generator
) -> float:
    """Half the distance between the outer quantiles of the simulated averages."""
    if n_simulations == 0:
        return float("nan")
    averages = [study(judges, pairs, rng) for _ in range(n_simulations)]
    low, high = np.quantile(averages, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(high - low) / 2


def _judges_needed(variance: float, wanted: float) -> int:
    """The least number of judges with ``variance / judges <= wanted^2``."""
    judges = variance / wanted / wanted
    if judges > _MOST:
        raise InputError(f"wanted={wanted:g} is not allowed: it would need {judges:.1g} judges, and {_MOST:,} is most")
    return max(1, ceil(judges - 1e-9))


def _sizes(value: int | Sequence[int], name: str) -> list[int]:
    return [checks.whole(name, size, 1, _MOST) for size in (value if isinstance(value, Sequence) else [value])]


# Quick, and proven to within the tolerance; more thresholds change the error on COMPAS by less than that.
PLANNING_MODEL: dict[str, Any] = {"estimator": "tree", "max_depth": 2, "max_thresholds": 32, "tol": 1e-3}
PLANNING_WORDS = (
    "the best mixture, proven to within {tol:g}, of decision trees of depth {max_depth} with at most {max_thresholds} "
    "thresholds a column"
).format(**PLANNING_MODEL)
PLAYING, FITTING = "Simulated studies", "Fits to their answers"


@dataclass(frozen=True)
class Cost:
    """Data to learn from simulated answers, to see what they cost."""

    outcome: pd.Series[Any]
    gamma: float = 0.1
    eta: float | None = 0.0
    favorable_label: Any = None
    n_fits: int = 5


@dataclass(frozen=True, eq=False)
class SimulatedPlan:
    """Result of simulated studies.

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
    """Error of predicting the more frequent outcome for everyone."""


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
    panels, to_fit, done = [], [], 0
    for size in sizes:
        measured = []
        for repetition in range(n_studies):
            judgments = simulate_answers(study, people, size, seed=_seed(seed, repetition))
            measured.append(_reliability(judgments, confidence))
            if repetition < n_fits:
                to_fit.append(judgments)
            done += 1
            progress(PLAYING, done, len(sizes) * n_studies)
        row = {"judges": size, "answers": size * study.settings.pairs, **_averages(pd.DataFrame(measured))}
        panels.append(row | dict.fromkeys(("error", "error_lowest", "error_highest"), np.nan))
    if cost is None:
        return SimulatedPlan(pd.DataFrame(panels), n_studies, 0)
    errors = []
    for judgments in to_fit:
        errors.append(_error(people, cost, judgments))
        progress(FITTING, len(errors), len(to_fit))
    for panel, of_size in zip(panels, np.reshape(errors, (len(sizes), n_fits)), strict=True):
        panel |= {"error": of_size.mean(), "error_lowest": of_size.min(), "error_highest": of_size.max()}
    return SimulatedPlan(
        pd.DataFrame(panels),
        n_studies,
        n_fits,
        error_without_judgments=_error(people, cost, None),
        error_of_one_label=1 - float(cost.outcome.value_counts(normalize=True).max()),
    )


def simulate_answers(study: StudyFolder, people: pd.DataFrame, n_judges: int, *, seed: int = 0) -> Judgments:
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
        rows += [(judge.name, pair.a, pair.b, answer, pair.design) for pair, answer in zip(pairs, answers, strict=True)]
    return Judgments(pd.DataFrame(rows, columns=["judge", "a", "b", "answer", "design"]), people=people)


def _reliability(judgments: Judgments, confidence: float) -> dict[str, float]:
    """Return what ``fairwise check`` would show of one study."""
    agreement = krippendorff_alpha(judgments, confidence=confidence)
    again = repeat_consistency(judgments, confidence=confidence).overall
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
    means: dict[str, float] = {str(name): float(value) for name, value in studies.mean().items()}
    counts = {name: int(studies[name].iloc[0]) for name in ("shared_pairs", "repeated")}
    half_width = (means["alpha_high"] - means["alpha_low"]) / 2
    return means | counts | {"half_width": half_width, "measured": int(studies["alpha_low"].notna().sum())}


@raise_interrupts()
def _error(people: pd.DataFrame, cost: Cost, judgments: Judgments | None) -> float:
    """Training error of the planning model, with judgments or without."""
    model = fairwise.PairwiseFairClassifier(
        **PLANNING_MODEL, gamma=cost.gamma, eta=cost.eta, favorable_label=cost.favorable_label
    )
    return float(model.fit(people, cost.outcome, judgments=judgments).certificate_.error)


def _seed(seed: int, repetition: int) -> int:
    return int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0])


TALKING = "Second rounds"
_ROUNDS = 10  # second rounds of each first one: drawing people takes longer than asking them again
_DRAWS = 199
_ALARM = 0.05
_NAME = "towards_reasons"


def silent_arm(study: StudyFolder) -> str | None:
    """The one arm whose second round shows no reasons; None where there is no such arm, or no second round."""
    silent = [arm.name for arm in study.settings.arms if not arm.reasons]
    return silent[0] if len(silent) == 1 and study.settings.deliberation.on else None


def simulate_arms(
    study: StudyFolder,
    people: pd.DataFrame,
    judges: Sequence[int],
    *,
    persuasion: float = 0.2,
    returning: float = 0.8,
    n_studies: int = 20,
    seed: int = 0,
    progress: Progress = lambda _stage, _done, _all: None,
) -> pd.DataFrame:
    """Return how often an effect of this size would be seen, by the number of participants.

    Parameters
    ----------
    study : StudyFolder
        With a second round, and one arm that is shown no reasons (:func:`silent_arm`).
    people : DataFrame
        Everyone in the study, by id.
    judges : several ints
        How many take part in round 1.
    persuasion : float
        The chance that an answer against the shown reason becomes the one the reason is for.
    returning : float
        The chance that a participant comes back.
    n_studies : int
        How many first rounds of each size are played, each with ten second ones.
    seed : int
        The same seed gives the same simulated people.
    progress : callable
        Told the stage, how many are done and how many there are.

    Returns
    -------
    DataFrame
        By size and arm that is shown reasons: judges, arm, returned (mean), effect (the mean true one on the share of
        answers changed towards the reasons), found (the share of studies with a p-value of at most 0.05), half_width
        (mean, of the interval; NaN where no study has one).
    """
    control = silent_arm(study)
    if control is None:
        raise InputError(f"{study.path}: needed: a second round, and one arm that is shown no reasons")
    sizes = [checks.whole("judges", size, 2) for size in judges]
    from fairwise.study.schedules import block_size

    size_of_block = block_size(study.settings.arms)
    turns = study.arms_at_end or study.arms_at_start
    assert turns is not None
    lines, done = [], 0
    for size in sizes:
        for repetition in range(n_studies):
            state = int(np.random.SeedSequence([seed, repetition]).generate_state(1)[0])
            first = simulate_answers(study, people, size, seed=state)
            numbers = np.arange(first.n_judges)
            arms = pd.DataFrame(
                {"arm": [turns[number] for number in numbers.tolist()], "block": numbers // size_of_block},
                index=first.judges,
            )
            for again in range(_ROUNDS):
                second = simulate_second_round(
                    first,
                    arms,
                    control=control,
                    n_pairs=study.settings.deliberation.pairs,
                    persuasion=persuasion,
                    returning=returning,
                    seed=state + again,
                )
                shown, alone = (
                    Changes.of(one, second.reasons).by_judge() for one in (second.all_shown, second.none_shown)
                )
                found = effects(second.judgments, control=control, reasons=second.reasons, n_draws=_DRAWS).tests
                lines.append(
                    found[found["name"] == _NAME].assign(
                        judges=size, returned=len(shown), truth=float((shown - alone)[_NAME].mean())
                    )
                )
            done += 1
            progress(TALKING, done, len(sizes) * n_studies)
    return _summary(pd.concat(lines, ignore_index=True))


def _summary(tests: pd.DataFrame) -> pd.DataFrame:
    """Means over the simulated studies, by size and arm."""
    told = tests.assign(found=tests["p_value"] <= _ALARM, half_width=(tests["high"] - tests["low"]) / 2)
    columns = {"returned": "returned", "truth": "effect", "found": "found", "half_width": "half_width"}
    means = told.groupby(["judges", "arm"], sort=False)[list(columns)].mean().rename(columns=columns)
    return means.reset_index()
