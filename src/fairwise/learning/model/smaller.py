"""A smaller model from a fitted one with what that costs, and what a fit found when its people are given again."""

from __future__ import annotations

from itertools import zip_longest
from math import isclose, isnan
from typing import TYPE_CHECKING

from fairwise.errors import InputError
from fairwise.learning.model.mixture import Columns, Mixture
from fairwise.learning.preparation import PreparedFit
from fairwise.results.certificate import Certificate

if TYPE_CHECKING:
    from fairwise.learning.solvers.solution import Solution

_SAME = 1e-6  # the precision to which rules are kept
_MEASURED = ("error", "max_violation", "mean_violation", "mean_excess")


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


def refuse_other_training(fitted: Certificate, here: Certificate) -> None:
    """Refuse people, outcomes or judgments with which a model is not what its certificate says.

    ``here`` is the certificate of the same model on what was given.
    """
    for name in _MEASURED:
        known, now = getattr(fitted, name), getattr(here, name)
        if not _same(known, now):
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
