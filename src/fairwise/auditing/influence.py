"""The model without some judges: what would be learned if nobody had asked them.

Errors are those of the best mixture without their answers, found from what the search for everyone found: exact where
the oracle is. Several mixtures may be as good. What is compared with the model is the nearest of them that the
classifiers found can make, so that a judge who changes nothing is not said to change anyone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
from joblib import Parallel, delayed

from fairwise.auditing import checks
from fairwise.auditing.audit import about_judges
from fairwise.errors import InputError
from fairwise.results.base import records
from fairwise.results.fits import Absence, JudgeInfluence

if TYPE_CHECKING:
    from fairwise.auditing.leave_out import LeaveOut, ModelWithout
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier

    Progress = Callable[[int, int], None]

Found = TypeVar("Found")
Group = list[object]
"""Judges who are left out together."""

_SHARE = 12  # so many searches follow one another, each from what the last one found; such shares run side by side
_DIGITS = 9  # changes of error that are equal to so many digits are equal


def without_judges(
    model: PairwiseFairClassifier,
    people: Any,
    outcome: object,
    judgments: Judgments,
    *,
    by: str | None = None,
    least_change: float = 0.01,
    n_jobs: int = 1,
    progress: Progress | None = None,
    **fit_params: object,
) -> pd.DataFrame:
    """Measure the model without each judge, or without each group of judges.

    Parameters
    ----------
    model : PairwiseFairClassifier
        Fitted to these people, outcomes and judgments by column generation.
    people, outcome, judgments
        As for ``fit``; ``fit_params`` are what else it was given, such as ``sensitive_features``.
    by : str, optional
        An attribute of the judges, such as ``"relation"``: leave out all who share a value of it together.
    least_change : float
        By how much the probability of a label must change for a person to count as treated differently; 0.01 is a
        percentage point.
    n_jobs : int
        How many processes share the work; -1: one for each core. The numbers are the same for any.
    progress : callable, optional
        Called with how many are done and how many there are.

    Returns
    -------
    DataFrame
        By judge (or value of the attribute): ``error`` of the best model without their answers; ``error_change``, that
        minus the best with them; ``followed``, how many of everyone's judgments it follows, theirs included, predicted
        ones not; ``largest_change`` in anyone's probability; ``people_changed``, how many change by ``least_change`` or
        more.

    Notes
    -----
    Where the model's certificate is exact, errors are proved and optimal to 1e-7, whatever the model's ``tol``: those
    of a fit to ``judgments.select(others)`` with such a ``tol``. Where the oracle is heuristic, a longer search finds
    better models with or without anyone, which would show as a change; so all are then the best mixtures of the
    classifiers that the search for everyone found, and no others are looked for.

    Changes are measured from ``model`` to the nearest model without the judges that has no more error than ``model``
    has above the best, among mixtures of classifiers found. So where several models are as good, what is counted is no
    more than those need.
    """
    influence = Influence.of(model, people, outcome, judgments, n_jobs=n_jobs, **fit_params)
    return influence.by(by, least_change=least_change, progress=progress)


def influential_judges(
    model: PairwiseFairClassifier,
    people: Any,
    outcome: object,
    judgments: Judgments,
    n: int = 3,
    *,
    least_change: float = 0.01,
    n_jobs: int = 1,
    progress: Progress | None = None,
    **fit_params: object,
) -> pd.DataFrame:
    """The judges whose absence together changes the error most, found one after the other.

    Line ``k`` is about leaving out the judge named there and all above, with the columns of :func:`without_judges`. The
    search is greedy: it shows what some ``n`` judges change, and does not prove that no others change more.
    """
    n = checks.whole("n", n, 1, checks.some_judgments(judgments).n_judges)
    influence = Influence.of(model, people, outcome, judgments, n_jobs=n_jobs, **fit_params)
    return influence.most(n, least_change=least_change, progress=progress)


@dataclass(frozen=True, eq=False)
class Influence:
    """Results of both functions from one search for everyone."""

    search: LeaveOut
    n_jobs: int = 1

    @classmethod
    def of(
        cls,
        model: PairwiseFairClassifier,
        people: Any,
        outcome: object,
        judgments: Judgments,
        *,
        n_jobs: int = 1,
        **fit_params: Any,
    ) -> Influence:
        from fairwise.auditing.leave_out import LeaveOut  # the learner, slow to load

        return cls(LeaveOut.start(model, people, outcome, judgments, fit_params), n_jobs)

    def by(
        self, attribute: str | None = None, *, least_change: float = 0.01, progress: Progress | None = None
    ) -> pd.DataFrame:
        """See :func:`without_judges`."""
        groups = _groups(self.search.data[2], attribute)
        work = partial(_lines, self.search, least_change=checks.fraction("least_change", least_change))
        lines = [line for share in self._shares(work, list(groups.values()), progress) for line in share]
        return pd.DataFrame(lines, index=pd.Index(list(groups), name=attribute or "judge"))

    def most(self, n: int = 3, *, least_change: float = 0.01, progress: Progress | None = None) -> pd.DataFrame:
        """See :func:`influential_judges`."""
        least_change = checks.fraction("least_change", least_change)
        judges, search = self.search.data[2].judges, self.search
        gone: Group = []
        lines: dict[object, dict[str, float]] = {}
        total, done = _searches(self.search.data[2], n), 0
        for _ in range(n):
            groups = [[*gone, judge] for judge in judges if judge not in gone]
            found = self._shares(partial(_most, search), groups, _behind(progress, done, total))
            done += len(groups)
            gone, best = max(found, key=_change)
            lines[gone[-1]] = best.line(least_change)
            search = replace(search, best=replace(search.best, pool=best.solution.pool))
        return pd.DataFrame.from_dict(lines, orient="index").rename_axis("judge")

    def result(self, n: int = 3, *, least_change: float = 0.01, progress: Progress | None = None) -> JudgeInfluence:
        """Return results without each judge, each kind of judge, and the ``n`` who change the error most."""
        judgments = self.search.data[2]
        attributes = [str(name) for name in about_judges(judgments)]
        kinds = [name for name in attributes if len(_groups(judgments, name)) > 1]
        n = min(n, judgments.n_judges - 1)
        sizes = [judgments.n_judges, *(len(_groups(judgments, kind)) for kind in kinds), _searches(judgments, n)]
        tell = [_behind(progress, sum(sizes[:place]), sum(sizes)) for place in range(len(sizes))]
        return JudgeInfluence(
            judges=_absences(self.by(least_change=least_change, progress=tell[0])),
            groups={
                kind: _absences(self.by(kind, least_change=least_change, progress=progress))
                for kind, progress in zip(kinds, tell[1:-1], strict=True)
            },
            together=_absences(self.most(n, least_change=least_change, progress=tell[-1])),
        )

    def _shares(
        self, work: Callable[[list[Group]], Found], groups: list[Group], progress: Progress | None
    ) -> list[Found]:
        """The work on some groups at a time, the same for any number of processes, and so is what is found."""
        shares = [groups[first : first + _SHARE] for first in range(0, len(groups), _SHARE)]
        found: list[Found] = []
        for one in Parallel(n_jobs=self.n_jobs, return_as="generator")(delayed(work)(share) for share in shares):
            found.append(one)
            if progress is not None:
                progress(min(len(found) * _SHARE, len(groups)), len(groups))
        return found


def _absences(table: pd.DataFrame) -> tuple[Absence, ...]:
    return tuple(Absence(who=str(who), **row) for who, row in zip(table.index, records(table), strict=True))


def _searches(judgments: Judgments, n: int) -> int:
    """Return the number of models compared to find ``n`` judges one after the other."""
    return sum(judgments.n_judges - turn for turn in range(n))


def _lines(search: LeaveOut, groups: list[Group], least_change: float) -> list[dict[str, float]]:
    return [without.line(least_change) for without in search.each_without(groups)]


def _most(search: LeaveOut, groups: list[Group]) -> tuple[Group, ModelWithout]:
    """Return the group whose absence changes the error most, and the model without it."""
    return max(zip(groups, search.each_without(groups), strict=True), key=_change)


def _change(found: tuple[Group, ModelWithout]) -> float:
    """Return the size of the change of the error; of equals the first group counts."""
    return round(abs(found[1].error_change), _DIGITS)


def _behind(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


def _groups(judgments: Judgments, by: str | None) -> dict[Any, Group]:
    """Return the groups of judges that are left out together."""
    if by is None:
        return {judge: [judge] for judge in judgments.judges}
    attributes = judgments.judge_attributes
    if by not in attributes.columns:
        known = ", ".join(map(repr, attributes.columns)) or "none"
        raise InputError(f"by={by!r}: the judges have no such attribute; there is {known}")
    return {value: list(group) for value, group in attributes.groupby(by).groups.items()}
