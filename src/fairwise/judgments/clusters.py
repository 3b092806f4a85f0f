"""Judges grouped by how they answer."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_score

from fairwise.errors import InputError, some
from fairwise.judgments.answer import Answer, orient
from fairwise.judgments.drivers import judge_drivers
from fairwise.judgments.table import Judgments

Basis: TypeAlias = Literal["auto", "shared pairs", "profiles"]
Floats: TypeAlias = NDArray[np.float64]

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
        """How many groups there are."""
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
    profiles = _rates(counts[enough])
    apart = None if basis == "profiles" else _on_shared_pairs(judgments, judges, needed=basis == "shared pairs")
    if apart is None:
        profiles = _with_drivers(profiles, judgments, seed)
        apart = squareform(pdist(profiles.to_numpy(dtype=np.float64)))
        basis = "profiles"
    else:
        basis = "shared pairs"
    found, silhouette = _groups(apart, n_clusters, max_clusters)
    labels = pd.Series(pd.NA, index=counts.index, dtype="Int64", name="cluster")
    labels[judges] = found
    groups = profiles.groupby(pd.Series(found, index=judges, name="cluster"))
    table = groups.mean()
    table.insert(0, "judges", groups.size().astype(np.int64))
    return JudgeClusters(labels, basis, silhouette, table, tuple(counts.index[~enough.to_numpy(dtype=bool)].tolist()))


def _rates(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of same, of ordered and of no constraint; which side was preferred says nothing here."""
    ordered = counts[[str(answer) for answer in Answer if answer.ordered]].sum(axis=1)
    kinds = {"same": counts[str(Answer.SAME)], "ordered": ordered, "no_constraint": counts[str(Answer.NO_CONSTRAINT)]}
    return pd.DataFrame(kinds).div(counts.sum(axis=1), axis=0)


def _with_drivers(rates: pd.DataFrame, judgments: Judgments, seed: int) -> pd.DataFrame:
    """Add what drives each judge; where nothing was found, the panel's average, which tells nobody apart."""
    if judgments.people is None or rates.empty:
        return rates
    shares = judge_drivers(judgments, seed=seed).shares.loc[rates.index]
    shares = shares.fillna(shares.mean()).fillna(0.0)
    return pd.concat([rates, shares.rename(columns=lambda name: f"driver {name}")], axis=1)


def _on_shared_pairs(judgments: Judgments, judges: pd.Index, *, needed: bool) -> Floats | None:
    """Return the distance of every two judges, or None where some share too few pairs."""
    rows = orient(judgments.asked().counted())
    place = judges.get_indexer(rows.judges)[rows.judge]
    rows, place = rows.only(place >= 0), place[place >= 0]
    pair, pairs = pd.factorize(rows.pair)
    # Where several answers of a judge about a pair count, each is a part of one.
    part = 1 / pd.Series(pair).groupby([place, pair]).transform("size").to_numpy(dtype=np.float64)
    shown = sparse.coo_array((part, (place, pair)), shape=(len(judges), len(pairs))).tocsr()
    said = sparse.coo_array((part, (place, 4 * pair + rows.answer)), shape=(len(judges), 4 * len(pairs))).tocsr()
    shared, agreed = (shown @ shown.T).toarray(), (said @ said.T).toarray()
    few = np.argwhere(shared < _ENOUGH_SHARED - 0.5)
    if len(few) and needed:
        two = some(judges.take(few[0]))
        raise InputError(f"basis='shared pairs': {two} share too few; every two judges need {_ENOUGH_SHARED}")
    if len(few):
        return None
    apart = np.sqrt(np.maximum(1 - agreed / shared, 0))
    np.fill_diagonal(apart, 0)
    return np.asarray(apart)


def _groups(apart: Floats, n_clusters: int | None, at_most: int) -> tuple[NDArray[np.int64], float]:
    """Return the group of each, the largest first, and the silhouette."""
    n = len(apart)
    if n < 2:
        return np.ones(n, dtype=np.int64), np.nan
    tree = hierarchy.linkage(squareform(apart, checks=False), method="ward")
    numbers = [n_clusters] if n_clusters else range(1, min(at_most, n - 1) + 1)
    cuts = [hierarchy.fcluster(tree, number, criterion="maxclust").astype(np.int64) for number in numbers]
    clarity = np.array([_silhouette(apart, cut) for cut in cuts])
    # The fewest groups that are about as clear as any; one, if none are clear.
    best = 0
    if not n_clusters and np.nanmax(clarity, initial=_NO_STRUCTURE) > _NO_STRUCTURE:
        clear = (clarity > _NO_STRUCTURE) & (clarity >= np.nanmax(clarity) - _AS_CLEAR)
        best = int(np.flatnonzero(clear)[0])
    _, first, which, sizes = np.unique(cuts[best], return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(1, len(first) + 1)
    return rank[which], float(clarity[best])


def _silhouette(apart: Floats, labels: NDArray[np.int64]) -> float:
    """Return how much nearer each is to its own group than to the next one, NaN where that cannot be said."""
    if not 1 < len(np.unique(labels)) < len(labels):
        return np.nan
    return float(silhouette_score(apart, labels, metric="precomputed"))
