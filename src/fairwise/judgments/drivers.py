"""Which features seem to drive each judge's answers: a small model, and whether it is worth anything."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtrc
from sklearn.linear_model import LogisticRegression

from fairwise.errors import InputError, JudgmentsError, some
from fairwise.judgments.answer import SAME, Ints, Oriented, orient
from fairwise.judgments.table import Judgments
from fairwise.tables.columns import is_numeric


@dataclass(frozen=True, eq=False)
class Differences:
    """``amounts`` is ``(R, K)``: one row per answer, one column for each of ``columns``."""

    columns: pd.Index
    amounts: NDArray[np.float64]

    def take(self, rows: Ints) -> "Differences":
        return Differences(self.columns, self.amounts[rows])


def differences(judgments: Judgments, rows: Oriented, columns: Iterable[object] | None = None) -> Differences:
    """Return for each answer |x - x'| / sd for a number, and 0 or 1 for a category.

    The standard deviation is over the judged people. Two missing values are equal. A missing category differs from any
    other; between a number and a missing one the difference is taken to be the average one of the column.
    """
    if judgments.people is None:
        raise JudgmentsError(
            "judgments: made without people=, so nobody's features are known; see judgments.about(people)"
        )
    table = pd.DataFrame(judgments.people_rows(rows.people)).reset_index(drop=True)
    if columns is not None:
        names = list(columns)
        unknown = [name for name in names if name not in table.columns]
        if unknown:
            raise InputError(f"columns: not in people: {some(unknown)}; there are {some(table.columns)}")
        table = table[names]
    values = [_difference(table[name], rows) for name in table.columns]
    return Differences(table.columns, np.column_stack(values) if values else np.empty((len(rows.first), 0)))


def _difference(column: pd.Series, rows: Oriented) -> NDArray[np.float64]:
    if is_numeric(column):
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        numbers = x[~np.isnan(x)]
        scale = float(numbers.std()) if len(numbers) else 0.0
        apart = np.abs(x[rows.first] - x[rows.second]) / (scale or 1.0)
        unknown = np.isnan(apart)
        typical = float(apart[~unknown].mean()) if not unknown.all() else 0.0
        neither = np.isnan(x[rows.first]) & np.isnan(x[rows.second])
        return np.where(unknown, np.where(neither, 0.0, typical), apart)
    codes, _ = pd.factorize(column)
    differ: NDArray[np.bool_] = codes[rows.first] != codes[rows.second]
    return differ.astype(np.float64)


Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

_SIGNIFICANT = 0.05
# A column that plays no part rarely gets a larger share by chance.
_NOTICEABLE = 0.15
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Drivers:
    """What seems to drive each judge, with the evidence.

    Attributes
    ----------
    by_judge
        One row per judge: answers, same_share; the accuracy of the model on held-out answers and that of always giving
        the judge's commoner answer (baseline); the p_value of the first being no better; found; top, up to three
        features with a share of 15 % or more; and note, why nothing was found.
    effects
        Judges in rows, features in columns: how the log-odds of "not the same" grow with one standard deviation of
        difference in a number, or with a differing category. NaN where nothing was found.
    shares
        Likewise, each feature's part in the model: its effect times its spread over the pairs the judge saw, so that
        they add up to 1.
    """

    by_judge: pd.DataFrame
    effects: pd.DataFrame
    shares: pd.DataFrame

    def describe(self, judge: str | float) -> str:
        """Return one sentence about a judge."""
        if judge not in self.by_judge.index:
            raise InputError(f"drivers: no such judge: {judge!r}")
        row = self.by_judge.loc[judge]
        if not row["found"]:
            return f"{judge}: nothing found, because {row['note']}."
        effects, shares = self.effects.loc[judge], self.shares.loc[judge]
        reasons = []
        for often, sign in (("more", 1), ("less", -1)):
            names = [f"{name} ({shares[name]:.0%})" for name in row["top"] if sign * effects[name] > 0]
            if names:
                reasons.append(f"{often} often where {_listed(names)} {'differ' if len(names) > 1 else 'differs'}")
        return (
            f"{judge}: not the same {', '.join(reasons) or 'for many small reasons'}; the model gets "
            f"{row['accuracy']:.0%} of held-out answers right, the commoner answer {row['baseline']:.0%}."
        )

    def __str__(self) -> str:
        explained = self.by_judge[self.by_judge["found"]]
        counts = explained["top"].explode().value_counts()
        named = ", ".join(f"{name} ({count})" for name, count in counts.items())
        what = f" Among the {_NAMED} that matter most: {named}." if named else ""
        return f"What drives answers was found for {len(explained)} of {len(self.by_judge)} judges.{what}"


def judge_drivers(
    judgments: Judgments,
    *,
    columns: Iterable[object] | None = None,
    n_folds: int = 10,
    min_answers: int = 20,
    seed: int = 0,
) -> Drivers:
    """Fit a small model of same / not same to each judge's answers that count.

    An L1-penalised logistic regression on how much the two people differ in each column. It is believed only if, over
    answers held out in `n_folds` folds, it is right where the judge's commoner answer is wrong clearly more often than
    the other way round (sign test, one-sided, 5 %). What is found is a regularity in the answers, not the judge's
    reason, and may stand for a column that goes with it.

    Parameters
    ----------
    judgments : Judgments
        Made with ``people=``.
    columns : columns of people, optional
        Which to look at, by default all.
    n_folds : int
        Of the cross-validation; folds hold whole pairs.
    min_answers : int
        Judges with fewer are not modelled.
    seed : int
        Of the folds.
    """
    if n_folds < 2:
        raise InputError(f"n_folds={n_folds!r}; allowed: 2 or more")
    judgments = judgments.asked()
    rows = orient(judgments.counted())
    features = differences(judgments, rows, columns)
    # In an order that does not depend on the table's.
    order = np.lexsort((rows.answer, rows.pair, rows.judge))
    rows, features = rows.only(order), features.take(order)
    judges = judgments.judge_attributes.index
    start = np.searchsorted(rows.judge, np.arange(len(rows.judges) + 1))
    place = rows.judges.get_indexer(judges)
    fits = []
    for code in place:
        own_rows = slice(start[code], start[code + 1]) if code >= 0 else slice(0)
        different = rows.answer[own_rows] != SAME
        fits.append(_fit(features.amounts[own_rows], different, rows.pair[own_rows], n_folds, min_answers, seed))
    return _collect(judges, features, fits)


@dataclass(frozen=True, eq=False)
class _Fit:
    answers: int
    same_share: float
    note: str
    accuracy: float = np.nan
    baseline: float = np.nan
    p_value: float = np.nan
    effects: Floats | None = None
    shares: Floats | None = None


def _fit(values: Floats, different: Bools, pair: NDArray[np.int64], n_folds: int, enough: int, seed: int) -> _Fit:
    n = len(different)
    same_share = float(1 - different.mean()) if n else np.nan
    if n < enough:
        return _Fit(n, same_share, f"{n} answers are too few")
    if different.all() or not different.any():
        return _Fit(n, same_share, f"{'no' if different.any() else 'every'} answer is 'same'")
    right = _held_out(values, different, pair, n_folds, seed) == different
    # Of all answers, not only of those outside a fold: where both are equally common, that would be a handicap.
    easy = different == (different.mean() > 0.5)
    wins, losses = int((right & ~easy).sum()), int((easy & ~right).sum())
    p_value = float(bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0
    scores = float(right.mean()), float(easy.mean()), p_value
    effects = _model().fit(values, different).coef_[0]
    shares = np.abs(effects) * values.std(axis=0)
    if p_value > _SIGNIFICANT:
        held_out = f"the model gets {scores[0]:.0%} of held-out answers right"
        note = f"{held_out}, not clearly more than the commoner answer ({scores[1]:.0%})"
        return _Fit(n, same_share, note, *scores)
    if not shares.any():
        return _Fit(n, same_share, "a model of all answers together uses no column", *scores)
    return _Fit(n, same_share, "", *scores, effects, shares / shares.sum())


def _held_out(values: Floats, different: Bools, pair: NDArray[np.int64], n_folds: int, seed: int) -> Bools:
    """Return for each answer what a model says that was made without its fold."""
    _, first, which = np.unique(pair, return_index=True, return_inverse=True)
    # Pairs in random order, those called different last, dealt out in turn: every fold gets its part of both.
    shuffled = np.random.default_rng(seed).permutation(len(first))
    dealt = shuffled[np.argsort(different[first[shuffled]], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[dealt] = np.arange(len(first)) % n_folds
    guess = np.empty_like(different)
    for number in range(min(n_folds, len(first))):
        out = fold[which] == number
        training = different[~out]
        one_kind = training.all() or not training.any()
        guess[out] = training[0] if one_kind else _model().fit(values[~out], training).predict(values[out])
    return guess


def _model() -> LogisticRegression:
    # This solver shrinks the intercept too, which the scaling all but undoes.
    return LogisticRegression(
        C=1.0, l1_ratio=1.0, solver="liblinear", intercept_scaling=10.0, max_iter=10_000, tol=1e-3, random_state=0
    )


def _collect(judges: pd.Index, features: Differences, fits: list[_Fit]) -> Drivers:
    def table_of(parts: list[Floats | None]) -> pd.DataFrame:
        rows = [np.full(len(features.columns), np.nan) if part is None else part for part in parts]
        values = np.array(rows).reshape(len(judges), len(features.columns))
        return pd.DataFrame(values, index=judges, columns=features.columns)

    effects, shares = table_of([fit.effects for fit in fits]), table_of([fit.shares for fit in fits])
    top = [_top(row) for _, row in shares.iterrows()]
    table = {name: [getattr(fit, name) for fit in fits] for name in ("answers", "same_share", "accuracy", "baseline")}
    table |= {"p_value": [fit.p_value for fit in fits], "found": [fit.effects is not None for fit in fits]}
    by_judge = pd.DataFrame(table, index=judges).astype({"answers": np.int64, "found": bool})
    by_judge["top"] = pd.Series(top, index=judges, dtype=object)
    by_judge["note"] = pd.Series([fit.note for fit in fits], index=judges, dtype=str)
    return Drivers(by_judge, effects, shares)


def _top(shares: pd.Series) -> tuple[object, ...]:
    largest = shares.sort_values(ascending=False, kind="stable")
    return tuple(largest.index[(largest >= _NOTICEABLE).to_numpy()][:_NAMED])


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
