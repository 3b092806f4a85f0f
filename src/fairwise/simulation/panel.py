"""Simulated panels: respondents and pairs that are drawn, their answers, and a second round."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments
from fairwise.judgments.answer import Oriented, orient
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
        alike = map(_n_pairs, np.bincount(self._record).tolist())
        self.size = _n_pairs(len(people)) - sum(alike)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return `count` different pairs of row positions, each as likely as any other, sides at random."""
        if count > self.size:
            raise InputError(f"people: {count} pairs wanted, but only {self.size} pairs of different records exist")
        n = len(self._record)
        if n <= _FEW_PEOPLE:
            every = self._differing(np.stack(np.triu_indices(n, k=1), axis=1))
            return rng.permuted(rng.choice(every, size=count, replace=False), axis=1)
        pairs = np.empty((0, 2), dtype=np.int64)
        while len(pairs) < count:
            pairs = np.concatenate([pairs, self._differing(rng.integers(n, size=(count + 100, 2)))])
            _, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
            pairs = pairs[np.sort(first)]
        return pairs[:count]

    def _differing(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        left, right = self._record[pairs.T]
        differing: NDArray[np.int64] = pairs[left != right]
        return differing


def draw_pairs(
    people: pd.DataFrame, n_judges: int, n_pairs: int, *, seed: int = 0
) -> list[list[tuple[Hashable, Hashable]]]:
    """Return pairs of ids for each judge: uniform among people with different records, each judge's own."""
    pool = PairPool(people)
    pairs_by_judge = (pool.draw(n_pairs, np.random.default_rng([seed, judge])) for judge in range(n_judges))
    return [list(zip(*(people.index[side].tolist() for side in pairs.T), strict=True)) for pairs in pairs_by_judge]


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

CONTROL, REASONS = "control", "reasons"
_CODED = (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)  # about (first, second)


@dataclass(frozen=True)
class SecondThoughts:
    """Chances from 0 to 1 that simulated people change answers in a second round."""

    persuasion: float = 0.0
    conformity: float = 0.0
    stubbornness: float = 0.0
    wavering: float = 0.1

    def __post_init__(self) -> None:
        for name, chance in vars(self).items():
            _check_chance(name, chance)

    def answer(
        self,
        own: Answer,
        allowed: Sequence[Answer],
        luck: np.random.Generator,
        *,
        others: Mapping[Answer, int] | None = None,
        reasons: Sequence[Answer] = (),
    ) -> Answer:
        """Return what somebody who gives way says now, by what they are shown: others' answers, what reasons are for.

        The same numbers are drawn whatever is shown, so that it changes nothing about later answers.
        """
        persuaded, side, conforms, wavers, pick = luck.random(5)
        kinds, counts = sorted(set(reasons)), others or {}
        if kinds and persuaded < self.persuasion:
            return kinds[int(side * len(kinds))]
        if counts and conforms < self.conformity:
            most = [answer for answer, count in counts.items() if count == max(counts.values())]
            return most[0] if len(most) == 1 else own
        if wavers < self.wavering:
            another = [answer for answer in allowed if answer != own]
            return another[int(pick * len(another))]
        return own


def _check_chance(name: str, chance: float) -> None:
    if not 0 <= chance <= 1:
        raise InputError(f"{name}={chance!r}; allowed: a number from 0 to 1")


@dataclass(frozen=True, eq=False)
class SecondRound:
    """Answers of simulated people in both rounds, the reasons they were shown, and counterfactual answers.

    ``judgments`` has rounds 1 and 2 and the judges' attributes ``arm`` and, where known, ``block``. ``reasons`` has a
    line for each reason shown: a, b and the answer it is for. ``all_shown`` and ``none_shown`` are the judgments had
    everyone, or nobody, been shown reasons and counts.
    """

    judgments: Judgments
    reasons: pd.DataFrame
    all_shown: Judgments
    none_shown: Judgments


def draw_arms(
    judges: Sequence[Hashable], arms: Sequence[str] = (CONTROL, REASONS), *, block: int = 4, seed: int = 0
) -> pd.DataFrame:
    """Assign judges, in their order, to arms in permuted blocks: columns arm and block, by judge.

    Each block of ``block`` judges (a multiple of the number of arms) has equally many of every arm.
    """
    if len(arms) < 2 or len(set(arms)) < len(arms):
        raise InputError(f"arms: {list(arms)!r}; two or more different names are needed")
    if block < len(arms) or block % len(arms):
        raise InputError(f"block={block}; allowed: a multiple of the number of arms, {len(arms)}")
    rng = np.random.default_rng([seed, 3])
    n_blocks = -(-len(judges) // block)
    names = [name for _ in range(n_blocks) for name in rng.permutation(np.repeat(arms, block // len(arms))).tolist()]
    table = {"arm": names[: len(judges)], "block": np.arange(len(judges)) // block}
    return pd.DataFrame(table, index=pd.Index(list(judges), dtype=object, name="judge"))


def simulate_second_round(
    judgments: Judgments,
    arms: pd.DataFrame | Mapping[Hashable, str] | None = None,
    *,
    control: str = CONTROL,
    n_pairs: int = 10,
    persuasion: float = 0.0,
    conformity: float = 0.0,
    stubbornness: float = 0.0,
    wavering: float = 0.1,
    returning: float = 1.0,
    seed: int = 0,
) -> SecondRound:
    """Ask the simulated people of a first round again about the pairs on which they differ most.

    Parameters
    ----------
    judgments : Judgments
        Round 1, of simulated people.
    arms : DataFrame with a column arm (and perhaps block) by judge, or mapping from judges to arms, optional
        By default :func:`draw_arms`. Whoever is not in the control arm is shown a reason for one answer to each pair,
        and how the panel answered.
    control : str
        The arm that is only asked again.
    n_pairs : int
        How many of the pairs, the most disputed ones that several were asked about, are asked again.
    persuasion : float
        The chance that an answer against the shown reason becomes the one the reason is for.
    conformity : float
        The chance that an answer becomes that of most others, where people are shown how the panel answered.
    stubbornness : float
        The chance that a person never changes an answer.
    wavering : float
        The chance that an answer becomes any other one only because it is asked again, in every arm.
    returning : float
        The chance that a person comes back, in every arm.
    seed : int
        The same seed gives the same second round.
    """
    SecondThoughts(persuasion, conformity, stubbornness, wavering)  # refuses what is no chance
    _check_chance("returning", returning)
    if n_pairs < 1:
        raise InputError(f"n_pairs={n_pairs}; allowed: 1 or more")
    assigned = _assigned(judgments, arms, seed)
    first = _FirstRound.of(judgments)
    rng = np.random.default_rng([seed, 2])
    n_judges = len(first.rows.judges)
    is_open, returns = rng.random(n_judges) >= stubbornness, rng.random(n_judges) < returning
    # The reason shown about a pair is for one of the answers that were given to it, each equally likely.
    side = (rng.random(first.counts.shape) * (first.counts > 0)).argmax(axis=1)[first.pair]
    wavers, persuaded, conforms, pick = rng.random((4, len(first.pair)))

    own, judge = first.rows.answer, first.rows.judge
    alone = np.where(wavers < wavering, first.another(pick), own)
    moved = np.where(conforms < conformity, first.majority(), alone)
    moved = np.where(persuaded < persuasion, side, moved)
    alone, moved = (np.where(is_open[judge], answer, own) for answer in (alone, moved))
    sees_reasons = (assigned["arm"].reindex(first.rows.judges) != control).to_numpy()[judge]
    is_repeated = np.isin(first.pair, first.disputed(n_pairs))
    each = np.flatnonzero(is_repeated)[np.unique(first.pair[is_repeated], return_index=True)[1]]
    reason_rows = first.rows.only(each)
    reasons = pd.DataFrame(
        {
            "a": reason_rows.people.take(reason_rows.first),
            "b": reason_rows.people.take(reason_rows.second),
        }
    )
    reasons["answer"] = [str(_CODED[code]) for code in side[each]]
    outcomes = (np.where(sees_reasons, moved, alone), moved, alone)
    rounds = [first.with_second(after, is_repeated & returns[judge], assigned) for after in outcomes]
    return SecondRound(rounds[0], reasons, *rounds[1:])


@dataclass(frozen=True, eq=False)
class _FirstRound:
    """The answers that count, ``R`` of them, about ``U`` pairs: ``pair`` ``(R,)``, and ``counts`` of each answer."""

    judgments: Judgments
    counted_rows: pd.DataFrame
    rows: Oriented
    pair: Ints
    counts: Ints

    @classmethod
    def of(cls, judgments: Judgments) -> "_FirstRound":
        counted_rows = judgments.asked().counted()
        rows = orient(counted_rows)
        pairs, pair = np.unique(rows.pair, return_inverse=True)
        counts = np.zeros((len(pairs), len(_CODED)), dtype=np.int64)
        np.add.at(counts, (pair, rows.answer), 1)
        return cls(judgments, counted_rows, rows, pair, counts)

    def disputed(self, most: int) -> Ints:
        """Return the most disputed pairs: those with the least share of their commonest answer."""
        total = self.counts.sum(axis=1)
        shared = np.flatnonzero(total > 1)
        if not len(shared):
            raise InputError(
                "judgments: no pair was answered by two people, so none is disputed; give them fixed pairs"
            )
        agreed = self.counts[shared].max(axis=1) / total[shared]
        return np.asarray(shared[np.argsort(agreed, kind="stable")[:most]])

    def majority(self) -> Ints:
        """``(R,)`` what most of the others said; one's own answer where no single one was the most frequent."""
        other_counts = self.counts[self.pair] - np.eye(len(_CODED), dtype=np.int64)[self.rows.answer]
        single = (other_counts == other_counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
        return np.where(single, other_counts.argmax(axis=1), self.rows.answer)

    def another(self, luck: Floats) -> Ints:
        """``(R,)`` any other answer of those that can be given, each equally likely."""
        allowed = np.array([_CODED.index(one) for one in SCALES["four" if self.judgments.has_ordered else "two"]])
        place = (self.rows.answer[:, None] == allowed).argmax(axis=1)
        return np.asarray(allowed[(place + 1 + (luck * (len(allowed) - 1)).astype(np.int64)) % len(allowed)])

    def with_second(self, after: Ints, chosen: Bools, assigned: pd.DataFrame) -> Judgments:
        """The judgments with a round 2 of these answers ``(R,)``, where chosen, and the judges' arms."""
        frame, attributes = self.judgments.frame, self.judgments.judge_attributes
        second = frame.iloc[self.counted_rows["row"].to_numpy()[chosen]].assign(round=2)
        swapped = (self.rows.people.take(self.rows.first) != pd.Index(self.counted_rows["a"]))[chosen]
        answers = [_CODED[code] for code in after[chosen]]
        second["answer"] = [
            str(answer.swapped() if swap else answer) for answer, swap in zip(answers, swapped, strict=True)
        ]
        return Judgments(
            pd.concat([frame, second], ignore_index=True),
            people=self.judgments.people,
            by=self.judgments.by,
            judge_attributes=attributes.drop(columns=assigned.columns, errors="ignore").join(assigned),
        )


def _assigned(judgments: Judgments, arms: pd.DataFrame | Mapping[Hashable, str] | None, seed: int) -> pd.DataFrame:
    """Arm, and perhaps block, of every judge."""
    if arms is None:
        return draw_arms(judgments.judges, seed=seed)
    table = arms if isinstance(arms, pd.DataFrame) else pd.DataFrame({"arm": pd.Series(dict(arms), dtype=object)})
    missing = [str(judge) for judge in judgments.judges if judge not in table.index]
    if "arm" not in table or missing:
        raise InputError(f"arms: none for {listed(missing)}" if missing else "arms: no column arm")
    return table.loc[judgments.judges, [name for name in ("arm", "block") if name in table]]
