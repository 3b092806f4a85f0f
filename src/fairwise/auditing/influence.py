"""The model without some judges: what would be learned if nobody had asked them.

Errors are those of the best mixture without their answers, found from what the search for everyone found: exact where
the oracle is. Several mixtures may be as good. What is compared with the model is the nearest of them that the
classifiers found can make, so that a judge who changes nothing is not said to change anyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from fairwise.auditing import checks
from fairwise.errors import InputError

if TYPE_CHECKING:
    from fairwise.auditing.leave_out import LeaveOut
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier


def without_judges(
    model: PairwiseFairClassifier,
    people: Any,
    outcome: object,
    judgments: Judgments,
    *,
    by: str | None = None,
    least_change: float = 0.01,
    n_jobs: int = 1,
    **fit_params: object,
) -> pd.DataFrame:
    """What the model would be without each judge, or without each group of judges.

    Parameters
    ----------
    model : PairwiseFairClassifier
        Fitted to these people, outcomes and judgments by column generation.
    people, outcome, judgments
        As for ``fit``; ``fit_params`` are what else it was given, such as ``sensitive_features``.
    by : str, optional
        An attribute of the judges, such as ``"relation"``: leave out all who share a value of it together.
    least_change : float
        By how much a probability must change for a person to count as treated differently; 0.01 is a percentage point.
    n_jobs : int
        How many processes share the work; -1: one for each core.

    Returns
    -------
    DataFrame
        By judge (or value of the attribute): ``error`` of the best model without their answers; ``error_change``, that
        minus the best with them; ``followed``, how many of everyone's judgments it follows, theirs included;
        ``largest_change`` in anyone's probability; ``people_changed``, how many change by ``least_change`` or more.

    Notes
    -----
    Errors are optimal to 1e-7, whatever the model's ``tol``, and proved where its certificate is exact: those of a fit
    to ``judgments.select(others)`` with such a ``tol``. Changes are measured from ``model`` to the nearest model
    without the judges that has no more error than ``model`` has above the best, among mixtures of classifiers found.
    """
    least_change = checks.fraction("least_change", least_change)
    search = _search(model, people, outcome, judgments, fit_params)
    groups = _groups(search.data[2], by)
    work = (delayed(search.line_without)(judges, least_change) for judges in groups.values())
    lines = Parallel(n_jobs=n_jobs)(work)
    return pd.DataFrame(list(lines), index=pd.Index(list(groups), name=by or "judge"))


def influential_judges(
    model: PairwiseFairClassifier,
    people: Any,
    outcome: object,
    judgments: Judgments,
    n: int = 3,
    *,
    least_change: float = 0.01,
    **fit_params: object,
) -> pd.DataFrame:
    """The judges whose absence together changes the error most, found one after the other.

    Line ``k`` is about leaving out the judge named there and all above, with the columns of :func:`without_judges`. The
    search is greedy: it shows what some ``n`` judges change, and does not prove that no others change more.
    """
    least_change = checks.fraction("least_change", least_change)
    n = checks.whole("n", n, 1, judgments.n_judges)
    search = _search(model, people, outcome, judgments, fit_params)
    gone: list[object] = []
    lines = {}
    for _ in range(n):
        rest = [judge for judge in judgments.judges if judge not in gone]
        trials = [search.without([*gone, judge]) for judge in rest]
        best = int(np.argmax([abs(trial.error_change) for trial in trials]))
        gone.append(rest[best])
        lines[rest[best]] = trials[best].line(least_change)
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("judge")


def _groups(judgments: Judgments, by: str | None) -> dict[Any, list[object]]:
    """Who is left out together."""
    if by is None:
        return {judge: [judge] for judge in judgments.judges}
    attributes = judgments.judge_attributes
    if by not in attributes.columns:
        known = ", ".join(map(repr, attributes.columns)) or "none"
        raise InputError(f"by={by!r}: the judges have no such attribute; there is {known}")
    return {value: list(group) for value, group in attributes.groupby(by).groups.items()}


def _search(
    model: PairwiseFairClassifier, people: Any, outcome: object, judgments: Judgments, fit_params: dict[str, Any]
) -> LeaveOut:
    from fairwise.auditing.leave_out import LeaveOut  # the learner, slow to load

    return LeaveOut.start(model, people, outcome, judgments, fit_params)
