"""Simpler models from a fitted one: fewer classifiers, or one rule without chance, and what each costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from math import isclose, isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairwise.constraints.certificate import Certificate
from fairwise.constraints.pairs import PairRows
from fairwise.constraints.violations import ASKS_NOTHING, NOT_FOLLOWED, PRECISION, status_of
from fairwise.errors import InputError
from fairwise.learning.model.mixture import Columns, Mixture
from fairwise.learning.oracles.base import Classifiers, FloatArray, IntArray, LabelArray
from fairwise.learning.preparation import PreparedFit
from fairwise.learning.problem import Problem
from fairwise.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.learning.solvers.solution import Solution


_SAME = 1e-6  # the precision to which rules are kept
_MEASURED = ("error", "max_violation", "mean_violation", "mean_excess")


@dataclass(frozen=True)
class Simplification:
    """Cost of fewer classifiers: how many are left, and what that adds to error and violations.

    Every rule that the model kept is kept, and none is broken by more: a violation that is added is within gamma, or
    within what a budget allows.
    """

    classifiers: int
    classifiers_removed: int
    error: float
    error_added: float
    max_violation: float
    max_violation_added: float
    mean_violation: float
    mean_violation_added: float
    mean_excess: float
    mean_excess_added: float

    @classmethod
    def between(cls, before: Certificate, after: Certificate, counts: tuple[int, int]) -> Simplification:
        """Compare the certificates of both models; ``counts`` are their numbers of classifiers."""
        measured = {name: getattr(after, name) for name in _MEASURED}
        added = {f"{name}_added": getattr(after, name) - getattr(before, name) for name in _MEASURED}
        return cls(classifiers=counts[1], classifiers_removed=counts[0] - counts[1], **measured, **added)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Classifiers                    {self.classifiers}   ({self.classifiers_removed} fewer)",
                f"Error on the training people   {self.error:.4f}   ({self.error_added:+z.4f})",
                f"Largest violation of a pair    {self.max_violation:.4f}   ({self.max_violation_added:+z.4f})",
                f"Mean violation of 'same'       {self.mean_violation:.4f}   ({self.mean_violation_added:+z.4f})",
                f"Mean excess over gamma         {self.mean_excess:.4f}   ({self.mean_excess_added:+z.4f})",
            ]
        )


def smaller_mixture(
    prepared: PreparedFit, solution: Solution, mixture: Mixture, max_classifiers: int | None
) -> tuple[Mixture, float]:
    """The fewest classifiers found that are as good as this mixture, or the best ``max_classifiers``; and their error.

    As good is within what is left of ``tol``, and on the rules as far as the mixture keeps them: one that it breaks, as
    averages of games do, is broken no more.
    """
    # Compiled code and a solver, slow to load: whoever only predicts needs neither.
    from fairwise.learning.solvers.few_classifiers import choose_few
    from fairwise.learning.solvers.pool import Pool

    unit, problem, oracle = prepared.unit, prepared.scaled.problem, prepared.oracle
    errors, values = problem.evaluate(mixture.classifiers)
    error, enough = float(mixture.weights @ errors), len(mixture.weights)
    if enough <= (max_classifiers or 1):
        return mixture, unit * error
    loosened = problem.loosened_to(mixture.weights @ values)
    pool = Pool(loosened, oracle)
    for found in (oracle.constants(), mixture.classifiers, solution.pool):
        if found is not None:
            pool.keep(found, *loosened.evaluate(found))
    bound = solution.bound / unit
    ceiling = max(error, bound + prepared.scaled.settings.tol) if bound <= error else error
    choice, _ = choose_few(loosened, oracle, pool, ceiling, most=max_classifiers)
    if len(choice) >= enough:
        return mixture, unit * error
    return Mixture(pool.classifiers.take(choice.which), choice.weights, mixture.n_labels), unit * choice.error


def refuse_other_training(fitted: Certificate, here: Certificate, unit: float) -> None:
    """Refuse people, outcomes or judgments with which a model is not what its certificate says.

    ``here`` is the certificate of the same model on what was given; errors are compared as shares of ``unit``.
    """
    for name in _MEASURED:
        known, now = getattr(fitted, name), getattr(here, name)
        scale = unit if name == "error" else 1.0
        if not _same(known / scale, now / scale):
            raise InputError(
                f"These are not the people, outcomes, judgments and weights that this model was fitted to: its {name} "
                f"is {known:.6g} in its certificate, and {now:.6g} with them."
            )


def refuse_other_groups(fitted: Columns, here: Columns) -> None:
    """Refuse groups with which the statistical rules are about others, or are kept otherwise, than in the fit.

    What is compared is how far each is below its limit: models saved by earlier versions have values and limits that
    are both shifted by what label 0 alone gives.
    """
    for known, now in zip_longest(fitted["rule"], here["rule"]):
        if known != now:
            raise InputError(
                f"These are not the groups that this model was fitted to: it has the rule {known or '(no more)'}, and "
                f"with them it is {now or '(no more)'}."
            )
    for rule, known, now in zip(fitted["rule"], _below(fitted), _below(here), strict=True):
        if not _same(known, now):
            raise InputError(
                f"These are not the groups that this model was fitted to: {rule} is {known:.6g} below its limit in the "
                f"model, and {now:.6g} with them."
            )


def _below(rules: Columns) -> list[float]:
    return [limit - value for limit, value in zip(rules["limit"], rules["value"], strict=True)]


def _same(known: float, now: float) -> bool:
    return isclose(known, now, rel_tol=0.0, abs_tol=_SAME) or (isnan(known) and isnan(now))


_EQUAL = 1e-9  # smaller differences between two rules are rounding
_NOBODY = 2.0  # a threshold above every probability
_AT_ONCE = 1 << 22  # labels and differences in memory


@dataclass(frozen=True, eq=False)
class Rule:
    """A deterministic rule: label 1 where the mixture's probability of it is at least ``threshold``."""

    mixture: Mixture
    threshold: float | None
    error: float
    mean_violation: float
    description: str

    @property
    def outside_class(self) -> bool:
        """Whether it is a threshold on a mixture: neither one of its classifiers nor a constant."""
        return self.threshold is not None and 0.0 < self.threshold < _NOBODY


@dataclass(frozen=True)
class Derandomization:
    """Cost of deciding without chance: the rule, what it adds to error and violations, and what it breaks.

    Attributes
    ----------
    mean_violation, mean_violation_allowed
        Weighted mean over all judgments that ask for something (a certificate's is over the ``same`` answers alone),
        and what it was to be at most.
    group_rules_broken
        By how much each statistical rule that is broken is over its limit.
    budgets_broken
        By how much each budget (``panel`` is eta's) is overspent.
    judgments_broken, judgments_counted
        How many judgments are broken beyond gamma, of how many that ask for something.
    largest_excess
        By how much beyond gamma, at most.
    """

    rule: str
    error: float
    error_added: float
    max_violation: float
    max_violation_added: float
    mean_violation: float
    mean_violation_added: float
    mean_violation_allowed: float
    mean_excess: float
    mean_excess_added: float
    group_rules_broken: dict[str, float]
    budgets_broken: dict[str, float]
    judgments_broken: int
    judgments_counted: int
    largest_excess: float

    @classmethod
    def between(
        cls,
        rule: Rule,
        before: Certificate,
        after: Certificate,
        *,
        mean_violation: float,
        allowed: float,
        broken: tuple[dict[str, float], dict[str, float]],
        prices: pd.DataFrame,
    ) -> Derandomization:
        """Compare the certificates of both models; ``mean_violation`` is that of the model before.

        ``broken`` are the statistical rules and the budgets, ``prices`` is the new model's table of judgments.
        """
        return cls(
            rule=rule.description,
            error=after.error,
            error_added=after.error - before.error,
            max_violation=after.max_violation,
            max_violation_added=after.max_violation - before.max_violation,
            mean_violation=rule.mean_violation,
            mean_violation_added=rule.mean_violation - mean_violation,
            mean_violation_allowed=allowed,
            mean_excess=after.mean_excess,
            mean_excess_added=after.mean_excess - before.mean_excess,
            group_rules_broken=broken[0],
            budgets_broken=broken[1],
            judgments_broken=int((prices["status"] == NOT_FOLLOWED).sum()),
            judgments_counted=int((prices["status"] != ASKS_NOTHING).sum()),
            largest_excess=float(prices["excess"].max()) if len(prices) else 0.0,
        )

    def without_judges(self) -> Derandomization:
        """Return a copy without the names of judges, for files that others read."""
        single = {name: by for name, by in self.budgets_broken.items() if name.startswith("judge ")}
        others = {name: by for name, by in self.budgets_broken.items() if name not in single}
        worst = {f"the worst of {counted(len(single), 'judge')}": max(single.values())} if single else {}
        return replace(self, budgets_broken=others | worst)

    def __str__(self) -> str:
        promise = f"{self.mean_violation_added:+z.4f}; allowed {self.mean_violation_allowed:.4f}"
        if self.mean_violation > self.mean_violation_allowed + _EQUAL:
            promise += ", which no rule found keeps together with the group rules"
        lines = [
            f"Decides without chance         {self.rule}",
            f"Error on the training people   {self.error:.4f}   ({self.error_added:+z.4f})",
            f"Mean violation of judgments    {self.mean_violation:.4f}   ({promise})",
            f"Judgments broken               {self.judgments_broken} of {self.judgments_counted}"
            + (f", by at most {self.largest_excess:.4f} beyond gamma" if self.judgments_broken else ""),
            f"Group rules broken             {_in_words(self.group_rules_broken)}",
            f"Budgets broken                 {_in_words(self.budgets_broken)}",
        ]
        return "\n".join(lines)


def best_deterministic_rule(
    problem: Problem,
    pairs: PairRows,
    mixture: Mixture,
    pool: Classifiers | None,
    allowed: float,
    labels: tuple[str, ...] = ("label 0", "label 1"),
    constants: Classifiers | None = None,
) -> Rule:
    """The best single rule: a classifier of the mixture or of the pool, a threshold on its probability, a constant.

    Of more than two labels there is no threshold to choose, and ``constants`` are what gives everyone each label in
    turn; of two these are the outermost thresholds.

    Best is what keeps every statistical rule, or breaks them by the least in total where nothing keeps all; of these
    what has a mean violation of at most ``allowed``, or the least above it; of these the most accurate; and of equals
    what breaks the fewest judgments.

    To choose one of a list is a mixed-integer programme with a binary variable for each and their sum 1. Looking at
    each of them solves it exactly and at once, so there is nothing to set a time limit for. Votes of several
    classifiers would be a larger class, but the best of so many would fit these people rather than the next ones, and
    what is to be answered for should be one rule.
    """
    classifiers = mixture.classifiers if pool is None else mixture.classifiers.joined(pool)
    n_found, n_labels = len(classifiers), mixture.n_labels
    thresholds, of_judged = np.empty(0), np.empty(0)
    if n_labels == 2:
        probability = mixture.probabilities(problem.points.rows)
        distinct, position = np.unique(probability, return_inverse=True)
        # Label 1 from a distinct probability on, or for nobody. The outer two are the constants, for anybody else too.
        thresholds, of_judged = np.concatenate([[0.0], distinct[1:], [_NOBODY]]), probability[problem.judged]
    elif constants is not None:
        classifiers = classifiers.joined(constants)
    judged, both = _of_classifiers(problem, pairs, classifiers)
    if n_labels == 2:
        both = _Measures(*map(np.concatenate, zip(both, _of_thresholds(problem, pairs, position), strict=True)))

    def judgments_broken(rule: int) -> int:
        cut = rule - len(classifiers)
        given = judged[rule] if cut < 0 else (of_judged >= thresholds[cut]).astype(np.uint8)
        violation = pairs.answer_violations(_treatment(problem, given))
        answers = pairs.answers["answer"].astype(str).to_numpy()
        return int((status_of(answers, violation, problem.gamma) == NOT_FOLLOWED).sum())

    left = np.arange(len(both.error))
    for measure in (both.over, np.maximum(both.mean_violation - allowed, 0.0), both.error):
        left = left[measure[left] <= measure[left].min() + _EQUAL]
    best: int = left[0] if len(left) == 1 else min(left.tolist(), key=judgments_broken)

    error, mean_violation = float(both.error[best]), float(both.mean_violation[best])
    if best >= len(classifiers):
        threshold = float(thresholds[best - len(classifiers)])
        return Rule(mixture, threshold, error, mean_violation, _threshold_in_words(threshold, labels))
    words = "a classifier found, without weight in the mixture"
    if best < len(mixture.weights):
        words = f"classifier {best + 1} of the mixture"
    elif best >= n_found:
        words = f"{labels[best - n_found]} for everyone"
    return Rule(Mixture(classifiers.take(np.array([best])), np.ones(1), n_labels), None, error, mean_violation, words)


class _Measures(NamedTuple):
    """Measures of ``k`` rules, each ``(k,)``: error, total excess over statistical limits, mean violation."""

    error: FloatArray
    over: FloatArray
    mean_violation: FloatArray


def _of_classifiers(problem: Problem, pairs: PairRows, classifiers: Classifiers) -> tuple[LabelArray, _Measures]:
    """Return the labels of the judged people ``(k, m)`` and the measures of each classifier."""
    step = max(1, _AT_ONCE // max(len(problem.points.error_cost), len(pairs), 1))
    judged, parts = [], []
    for start in range(0, len(classifiers), step):
        part = classifiers.take(np.arange(start, min(start + step, len(classifiers))))
        labels = part.labels(problem.points.rows)
        errors, values = problem.evaluate_labels(labels)
        judged.append(labels[:, problem.judged])
        mean_violation = pairs.mean_answer_violation(_treatment(problem, judged[-1]))
        parts.append((errors, _total_over(problem, values[:, problem.n_pairs :]), mean_violation))
    return np.concatenate(judged), _Measures(*map(np.concatenate, zip(*parts, strict=True)))


def _of_thresholds(problem: Problem, pairs: PairRows, position: IntArray) -> _Measures:
    """Measure label 1 from the ``i``-th distinct probability on, for every ``i``; ``position`` is ``(P,)``.

    A pair is violated from the cut just above one of the two up to that at the other, by as much as label 1 is better
    than label 0 or worse.
    """
    size = int(position.max()) + 1

    def from_each_on(amounts: FloatArray) -> FloatArray:
        return np.append(np.cumsum(np.bincount(position, amounts, size)[::-1])[::-1], 0.0)

    errors = problem.points.error_offset + from_each_on(problem.points.error_cost)
    rows = [] if problem.groups is None else [from_each_on(row) for row in problem.groups.matrix]
    group_values = np.array(rows).reshape(len(rows), size + 1).T
    judged = position[problem.judged]
    ends = judged[pairs.owed], judged[pairs.reference]
    values = _treatment(problem, np.arange(2, dtype=np.uint8))
    low, high = ends if values[1] > values[0] else ends[::-1]
    mass = np.where(low < high, pairs.mass, 0.0) * abs(values[1] - values[0])
    begun, ended = (np.bincount(end + 1, mass, size + 1) for end in (low, high))
    whole = pairs.weight_in_force
    violated = np.cumsum(begun - ended) / whole if whole > 0 else np.zeros(size + 1)
    return _Measures(errors, _total_over(problem, group_values), violated)


def _total_over(problem: Problem, values: FloatArray) -> FloatArray:
    """Return the total excess of the values ``(k, Q)`` of statistical rules over their limits."""
    if problem.groups is None:
        return np.zeros(len(values))
    over = values - problem.groups.limits
    return np.asarray(np.where(over > PRECISION, over, 0.0).sum(axis=1))


def _treatment(problem: Problem, given: LabelArray) -> FloatArray:
    """Return how good each of these labels is for the person."""
    if problem.label_values is not None:
        return np.asarray(problem.label_values[given])
    favored = given.astype(float)
    return favored if problem.sign > 0 else 1.0 - favored


def _threshold_in_words(threshold: float, labels: tuple[str, ...]) -> str:
    if 0.0 < threshold < _NOBODY:
        return f"{labels[1]} where its probability is at least {threshold:.4g}"
    return f"{labels[threshold == 0.0]} for everyone"


def _in_words(broken: dict[str, float]) -> str:
    return ", ".join(f"{name} by {by:.4f}" for name, by in broken.items()) or "none"
