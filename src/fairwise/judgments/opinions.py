"""Opinions of judges: which columns drive each judge's answers, and groups of judges who answer alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from scipy.special import bdtrc
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import silhouette_score

from fairwise.errors import InputError, JudgmentsError, some
from fairwise.judgments.answer import SAME, Answer, Oriented, orient
from fairwise.judgments.table import Judgments
from fairwise.tables.columns import is_numeric

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


def differences(judgments: Judgments, rows: Oriented, columns: Iterable[object] | None = None) -> pd.DataFrame:
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
    amounts = np.column_stack(values) if values else np.empty((len(rows.first), 0))
    return pd.DataFrame(amounts, columns=table.columns)


def _difference(column: pd.Series, rows: Oriented) -> NDArray[np.float64]:
    if is_numeric(column):
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        numbers = x[~np.isnan(x)]
        scale = float(numbers.std()) if len(numbers) else 0.0
        amount = np.abs(x[rows.first] - x[rows.second]) / (scale or 1.0)
        unknown = np.isnan(amount)
        typical = float(amount[~unknown].mean()) if not unknown.all() else 0.0
        neither = np.isnan(x[rows.first]) & np.isnan(x[rows.second])
        return np.where(unknown, np.where(neither, 0.0, typical), amount)
    codes, _ = pd.factorize(column)
    differ: NDArray[np.bool_] = codes[rows.first] != codes[rows.second]
    return differ.astype(np.float64)


_SIGNIFICANT = 0.05
# A column that plays no part rarely gets a larger share by chance.
_NOTICEABLE = 0.15
_LISTED = 3


@dataclass(frozen=True, eq=False)
class Drivers:
    """Columns that seem to drive each judge, with the evidence.

    Attributes
    ----------
    by_judge
        One row per judge: answers, same_share; the accuracy of the model on held-out answers and that of always giving
        the judge's commoner answer (baseline); the p_value of the first being no better; found, whether there are
        drivers; top, up to three features with a share of 15 % or more; and note, the reason where there are none.
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
                *most, last = names
                listed = f"{', '.join(most)} and {last}" if most else last
                reasons.append(f"{often} often where {listed} {'differ' if len(names) > 1 else 'differs'}")
        return (
            f"{judge}: not the same {', '.join(reasons) or 'for many small reasons'}; the model gets "
            f"{row['accuracy']:.0%} of held-out answers right, the commoner answer {row['baseline']:.0%}."
        )

    def __str__(self) -> str:
        explained = self.by_judge[self.by_judge["found"]]
        counts = explained["top"].explode().value_counts()
        named = ", ".join(f"{name} ({count})" for name, count in counts.items())
        what = f" Among the {_LISTED} that matter most: {named}." if named else ""
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
    rows, values = rows.only(order), features.to_numpy()[order]
    judges = judgments.judge_attributes.index
    start = np.searchsorted(rows.judge, np.arange(len(rows.judges) + 1))
    place = rows.judges.get_indexer(judges)
    fits = []
    for code in place:
        own_rows = slice(start[code], start[code + 1]) if code >= 0 else slice(0)
        different = rows.answer[own_rows] != SAME
        fits.append(_fit(values[own_rows], different, rows.pair[own_rows], n_folds, min_answers, seed))
    return _collect(judges, features.columns, fits)


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


def _collect(judges: pd.Index, columns: pd.Index, fits: list[_Fit]) -> Drivers:
    def table_of(parts: list[Floats | None]) -> pd.DataFrame:
        rows = [np.full(len(columns), np.nan) if part is None else part for part in parts]
        values = np.array(rows).reshape(len(judges), len(columns))
        return pd.DataFrame(values, index=judges, columns=columns)

    effects, shares = table_of([fit.effects for fit in fits]), table_of([fit.shares for fit in fits])
    top = []
    for _, row in shares.iterrows():
        largest = row.sort_values(ascending=False, kind="stable")
        top.append(tuple(largest.index[(largest >= _NOTICEABLE).to_numpy()][:_LISTED]))
    table = {name: [getattr(fit, name) for fit in fits] for name in ("answers", "same_share", "accuracy", "baseline")}
    table |= {"p_value": [fit.p_value for fit in fits], "found": [fit.effects is not None for fit in fits]}
    by_judge = pd.DataFrame(table, index=judges).astype({"answers": np.int64, "found": bool})
    by_judge["top"] = pd.Series(top, index=judges, dtype=object)
    by_judge["note"] = pd.Series([fit.note for fit in fits], index=judges, dtype=str)
    return Drivers(by_judge, effects, shares)


Basis: TypeAlias = Literal["auto", "shared pairs", "profiles"]

_ENOUGH_SHARED = 10
# Kaufman and Rousseeuw's reading of a silhouette.
_NO_STRUCTURE = 0.25
_STRUCTURE = ((0.7, "strong"), (0.5, "reasonable"), (_NO_STRUCTURE, "weak"))
_AS_CLEAR = 0.05


@dataclass(frozen=True, eq=False)
class JudgeClusters:
    """Groups of judges who answer alike.

    Attributes
    ----------
    labels
        The group of each judge: 1 for the largest and so on, missing for those left out.
    basis
        ``"shared pairs"``: the distance of two judges is the root of the share of their common pairs on which they
        differ. ``"profiles"``: that of how often each gives which answer and, where people are known, of what drives
        each.
    silhouette
        How clear the groups are, from -1 to 1; NaN for a single group.
    profiles
        One row per group: judges, the mean shares of its answers, and of its drivers where they were looked for.
    left_out
        Judges with too few answers.
    """

    labels: pd.Series
    basis: Basis
    silhouette: float
    profiles: pd.DataFrame
    left_out: tuple[Any, ...]

    @property
    def n_clusters(self) -> int:
        """Number of groups."""
        return len(self.profiles)

    def __str__(self) -> str:
        aside = f" {len(self.left_out)} with too few answers left out." if self.left_out else ""
        if self.n_clusters < 2:
            return f"No clear groups of judges, by {self.basis}.{aside}"
        sizes = ", ".join(map(str, self.profiles["judges"]))
        clear = next((word for least, word in _STRUCTURE if self.silhouette > least), "no clear")
        return (
            f"{self.n_clusters} groups of judges, by {self.basis}: {sizes} judges; {clear} structure "
            f"(silhouette {self.silhouette:.2f}).{aside}"
        )


def cluster_judges(
    judgments: Judgments,
    n_clusters: int | None = None,
    *,
    basis: Basis = "auto",
    max_clusters: int = 8,
    min_answers: int = 10,
    seed: int = 0,
) -> JudgeClusters:
    """Group judges by Ward's hierarchical clustering of their answers that count.

    Groups are a description: judges who differ by degrees, say in how strict they are, are divided too.

    Parameters
    ----------
    judgments : Judgments
    n_clusters : int, optional
        How many groups; by default the fewest whose silhouette is within 0.05 of the largest, and one if that is not
        above 0.25 (no substantial structure).
    basis : {"auto", "shared pairs", "profiles"}
        What to compare; by default shared pairs if every two judges share ten, else profiles.
    max_clusters : int
        The most to try.
    min_answers : int
        Judges with fewer are left out.
    seed : int
        Of `judge_drivers`, for profiles.
    """
    if basis not in get_args(Basis):
        raise InputError(f"basis={basis!r}; allowed: {', '.join(map(repr, get_args(Basis)))}")
    counts = judgments.counts()
    enough = counts.sum(axis=1) >= max(min_answers, 1)
    judges = counts.index[enough.to_numpy(dtype=bool)]
    if n_clusters is not None and not 1 <= n_clusters <= max(len(judges), 1):
        raise InputError(f"n_clusters={n_clusters!r}; allowed: 1 to {len(judges)}, the judges with enough answers")
    profiles = _profiles(counts[enough])
    distances = (
        None if basis == "profiles" else _distances_on_shared_pairs(judgments, judges, needed=basis == "shared pairs")
    )
    if distances is None:
        if judgments.people is not None and not profiles.empty:
            shares = judge_drivers(judgments, seed=seed).shares.loc[judges]
            shares = shares.fillna(shares.mean()).fillna(0.0)  # a judge without drivers is like the average
            profiles = pd.concat([profiles, shares.rename(columns=lambda name: f"driver {name}")], axis=1)
        distances = squareform(pdist(profiles.to_numpy(dtype=np.float64)))
        basis = "profiles"
    else:
        basis = "shared pairs"
    group, silhouette = _groups(distances, n_clusters, max_clusters)
    labels = pd.Series(pd.NA, index=counts.index, dtype="Int64", name="cluster")
    labels[judges] = group
    groups = profiles.groupby(pd.Series(group, index=judges, name="cluster"))
    table = groups.mean()
    table.insert(0, "judges", groups.size().astype(np.int64))
    return JudgeClusters(labels, basis, silhouette, table, tuple(counts.index[~enough.to_numpy(dtype=bool)].tolist()))


def _profiles(counts: pd.DataFrame) -> pd.DataFrame:
    """Return by judge the shares of same, ordered (on whichever side) and no constraint."""
    ordered = counts[[str(answer) for answer in Answer if answer.ordered]].sum(axis=1)
    kinds = {"same": counts[str(Answer.SAME)], "ordered": ordered, "no_constraint": counts[str(Answer.NO_CONSTRAINT)]}
    return pd.DataFrame(kinds).div(counts.sum(axis=1), axis=0)


def _distances_on_shared_pairs(judgments: Judgments, judges: pd.Index, *, needed: bool) -> Floats | None:
    """Return the distance of every two judges, or None where some share too few pairs."""
    rows = orient(judgments.asked().counted())
    place = judges.get_indexer(rows.judges)[rows.judge]
    rows, place = rows.only(place >= 0), place[place >= 0]
    pair, pairs = pd.factorize(rows.pair)
    # Where several answers of a judge about a pair count, each is a part of one.
    part = 1 / pd.Series(pair).groupby([place, pair]).transform("size").to_numpy(dtype=np.float64)
    pairs_of = sparse.coo_array((part, (place, pair)), shape=(len(judges), len(pairs))).tocsr()
    answers = sparse.coo_array((part, (place, 4 * pair + rows.answer)), shape=(len(judges), 4 * len(pairs))).tocsr()
    shared, agreed = (pairs_of @ pairs_of.T).toarray(), (answers @ answers.T).toarray()
    few = np.argwhere(shared < _ENOUGH_SHARED - 0.5)
    if len(few) and needed:
        two = some(judges.take(few[0]))
        raise InputError(f"basis='shared pairs': {two} share too few; every two judges need {_ENOUGH_SHARED}")
    if len(few):
        return None
    distances = np.sqrt(np.maximum(1 - agreed / shared, 0))
    np.fill_diagonal(distances, 0)
    return np.asarray(distances)


def _groups(distances: Floats, n_clusters: int | None, at_most: int) -> tuple[NDArray[np.int64], float]:
    """Return the group of each, the largest first, and the silhouette."""
    n = len(distances)
    if n < 2:
        return np.ones(n, dtype=np.int64), np.nan
    tree = hierarchy.linkage(squareform(distances, checks=False), method="ward")
    numbers = [n_clusters] if n_clusters else range(1, min(at_most, n - 1) + 1)
    cuts = [hierarchy.fcluster(tree, number, criterion="maxclust").astype(np.int64) for number in numbers]
    # How much nearer each judge is to its own group than to the next one; NaN for one group, or groups of one.
    clarity = np.array(
        [
            silhouette_score(distances, cut, metric="precomputed") if 1 < len(np.unique(cut)) < n else np.nan
            for cut in cuts
        ]
    )
    # The fewest groups that are about as clear as any; one, if none are clear.
    best = 0
    if not n_clusters and np.nanmax(clarity, initial=_NO_STRUCTURE) > _NO_STRUCTURE:
        clear = (clarity > _NO_STRUCTURE) & (clarity >= np.nanmax(clarity) - _AS_CLEAR)
        best = int(np.flatnonzero(clear)[0])
    _, first, which, sizes = np.unique(cuts[best], return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(1, len(first) + 1)
    return rank[which], float(clarity[best])
