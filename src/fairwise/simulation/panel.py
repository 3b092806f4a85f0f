"""A panel of simulated people, the pairs they are shown, and their judgments."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.simulation.kinds import KINDS, Kind, Roles, Setting, draw_respondent
from fairwise.simulation.respondent import SCALES, Pairs, Respondent, Scale, listed

_PAIRS_SEEN = 2_000

# What part of random pairs the members of a panel call the same, from the strictest member to the most
# generous: most are generous, some are not, several agree on about a third.
_MEMBERS = (0.00, 0.03, 0.04, 0.21, 0.25, 0.45, 1.00)
_SAME_SHARES = (0.05, 0.20, 0.32, 0.34, 0.50, 0.83, 0.99)


def simulate_panel(
    people: pd.DataFrame,
    n_judges: int = 43,
    n_pairs: int = 50,
    *,
    answers: Scale = "two",
    seed: int = 0,
    respondents: Sequence[Respondent] | None = None,
    pairs: Pairs | Mapping[str, Pairs] | None = None,
    roles: Roles | None = None,
) -> Judgments:
    """Let simulated people answer pairs; by default as many as in the study, 43 who see 50 pairs each.

    Parameters
    ----------
    people : DataFrame
        One row per person, ids in the index; numbers and categories.
    n_judges, n_pairs : int
        The size of the panel and how many pairs each sees.
    answers : {"two", "four"}
        Only `same` and `no_constraint`, as in the study, or all four.
    seed : int
        The same seed gives the same panel.
    respondents : sequence of Respondent, optional
        Who answers, instead of ``draw_respondents(people, n_judges, seed=seed, roles=roles)``.
    pairs : pairs of ids, or a mapping from names to such pairs, optional
        What everybody, or each by name, is shown (design `fixed`), instead of `n_pairs` random pairs each.
    roles : Roles, optional
        Which columns are demographic, which are the record.

    Returns
    -------
    Judgments
        The judges are called ``simulated-01`` and so on.
    """
    if answers not in SCALES:
        raise InputError(f"answers={answers!r}; allowed: {' or '.join(map(repr, SCALES))}")
    if n_pairs < 1:
        raise InputError(f"n_pairs={n_pairs}; allowed: 1 or more")
    _check(people)
    if respondents is None:
        respondents = draw_respondents(people, n_judges, seed=seed, roles=roles)
    names = [respondent.name for respondent in respondents]
    if len(set(names)) < len(names):
        raise InputError("respondents: each needs a name of their own")
    pairs_of = _pairs_for(people, names, n_pairs, seed, pairs)
    rows = [
        (judge.name, a, b, answer)
        for number, judge in enumerate(respondents)
        for (a, b), answer in zip(
            pairs_of[judge.name],
            judge.answers(people, pairs_of[judge.name], np.random.default_rng([seed, number, 1]), scale=answers),
            strict=True,
        )
    ]
    frame = pd.DataFrame(rows, columns=["judge", "a", "b", "answer"])
    return Judgments(frame.assign(design="uniform" if pairs is None else "fixed"), people=people)


def draw_respondents(
    people: pd.DataFrame,
    n: int = 43,
    *,
    seed: int = 0,
    kinds: Sequence[str] | None = None,
    roles: Roles | None = None,
) -> list[Respondent]:
    """Draw simulated people who differ in what matters to them and in how strict they are.

    Parameters
    ----------
    people : DataFrame
        The table they will judge; only its columns and their spread matter.
    n : int
        How many to draw.
    seed : int
        The same seed gives the same people.
    kinds : names from `KINDS`, optional
        Given in turn, one after the other; by default a mix of all kinds the table has room for.
    roles : Roles, optional
        Which columns are demographic, which are the record.
    """
    if n < 1:
        raise InputError(f"a panel of {n}; allowed: 1 or more")
    _check(people)
    rng = np.random.default_rng(seed)
    pool = PairPool(people)
    seen = pool.draw(min(_PAIRS_SEEN, max(pool.size, 1)), rng)
    setting = Setting.of(people, roles or Roles(), seen)
    chosen = _mix(setting, n, rng) if kinds is None else _in_turn(setting, n, kinds)
    shares = _same_shares([KINDS[name] for name in chosen], rng)
    width = max(2, len(str(n)))
    return [
        draw_respondent(f"simulated-{number:0{width}}", setting, kind, share, rng)
        for number, (kind, share) in enumerate(zip(chosen, shares, strict=True), start=1)
    ]


def _mix(setting: Setting, n: int, rng: np.random.Generator) -> list[str]:
    """Return kinds in their portions, as exactly as whole people allow, in random order."""
    names = [name for name, kind in KINDS.items() if setting.has_room_for(kind)]
    portions = np.array([KINDS[name].portion for name in names])
    exact = n * portions / portions.sum()
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
    return [str(name) for name in rng.permutation(np.repeat(names, counts))]


def _in_turn(setting: Setting, n: int, kinds: Sequence[str]) -> list[str]:
    for name in kinds:
        if name not in KINDS:
            raise InputError(f"kinds: {name!r} is not one; allowed: {listed(KINDS)}")
        if not setting.has_room_for(KINDS[name]):
            raise InputError(f"kinds: {name!r} needs columns that people does not have; name them in roles=")
    if not kinds:
        raise InputError(f"kinds: none given; allowed: {listed(KINDS)}")
    return [kinds[number % len(kinds)] for number in range(n)]


def _same_shares(kinds: Sequence[Kind], rng: np.random.Generator) -> list[float]:
    """Return how generous each is: as the kind has it, the others spread evenly over the panel's range."""
    free = sum(kind.same_share is None for kind in kinds)
    ranks = (rng.permutation(free) + rng.random(free)) / max(free, 1)
    spread = iter(np.interp(ranks, _MEMBERS, _SAME_SHARES).tolist())
    return [next(spread) if kind.same_share is None else rng.uniform(*kind.same_share) for kind in kinds]


def _pairs_for(
    people: pd.DataFrame, names: list[str], n_pairs: int, seed: int, pairs: Pairs | Mapping[str, Pairs] | None
) -> Mapping[str, Pairs]:
    if pairs is None:
        return dict(zip(names, draw_pairs(people, len(names), n_pairs, seed=seed), strict=True))
    if not isinstance(pairs, Mapping):
        return dict.fromkeys(names, pairs)
    missing = [name for name in names if name not in pairs]
    if missing:
        raise InputError(f"pairs: none for {listed(missing)}")
    return pairs


def _check(people: pd.DataFrame) -> None:
    if not isinstance(people, pd.DataFrame):
        raise InputError(f"people: a DataFrame with ids in its index is needed, not {type(people).__name__}")
    if not people.columns.size or not people.index.is_unique:
        raise InputError("people: at least one column and an index without repeated ids are needed")


# Up to this many people it is cheaper to list all pairs than to draw until enough are new.
_FEW_PEOPLE = 1_000


class PairPool:
    """All unordered pairs of people whose records are not identical."""

    def __init__(self, people: pd.DataFrame) -> None:
        self._record = people.groupby(list(people.columns), dropna=False, sort=False).ngroup().to_numpy()
        alike = map(_pairs_among, np.bincount(self._record).tolist())
        self.size = _pairs_among(len(people)) - sum(alike)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return `count` different pairs of row positions, each as likely as any other, sides at random."""
        if count > self.size:
            raise InputError(f"people: {count} pairs wanted, but only {self.size} pairs of different records exist")
        n = len(self._record)
        if n <= _FEW_PEOPLE:
            every = self._differing(np.stack(np.triu_indices(n, k=1), axis=1))
            return rng.permuted(rng.choice(every, size=count, replace=False), axis=1)
        drawn = np.empty((0, 2), dtype=np.int64)
        while len(drawn) < count:
            drawn = np.concatenate([drawn, self._differing(rng.integers(n, size=(count + 100, 2)))])
            _, first = np.unique(np.sort(drawn, axis=1), axis=0, return_index=True)
            drawn = drawn[np.sort(first)]
        return drawn[:count]

    def _differing(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        left, right = self._record[pairs.T]
        differing: NDArray[np.int64] = pairs[left != right]
        return differing


def draw_pairs(
    people: pd.DataFrame, n_judges: int, n_pairs: int, *, seed: int = 0
) -> list[list[tuple[Hashable, Hashable]]]:
    """Return pairs of ids for each judge: uniform among people with different records, each judge's own."""
    pool = PairPool(people)
    drawn = (pool.draw(n_pairs, np.random.default_rng([seed, judge])) for judge in range(n_judges))
    return [list(zip(*(people.index[side].tolist() for side in pairs.T), strict=True)) for pairs in drawn]


def _pairs_among(n: int) -> int:
    return n * (n - 1) // 2
