"""Simulated people who are asked again after others' answers and reasons were shown to some of them.

What moves whom is planted: how far reasons persuade, how far people follow the majority, how many never give way, and
how often anybody answers otherwise only because they are asked again. As chance is drawn once for each answer, it is
known what everybody would have said had they been shown the reasons, and had they not: so the true effect is known.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.judgments import Answer, Judgments
from fairwise.judgments.answer import Oriented, orient
from fairwise.simulation.respondent import SCALES, listed

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

CONTROL, SHOWN = "control", "reasons"
_CODED = (Answer.SAME, Answer.A_AT_LEAST_B, Answer.B_AT_LEAST_A, Answer.NO_CONSTRAINT)  # about (first, second)


@dataclass(frozen=True)
class SecondThoughts:
    """What moves simulated people who are asked again: chances from 0 to 1, as in :func:`simulate_second_round`."""

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
        shown, counts = sorted(set(reasons)), others or {}
        if shown and persuaded < self.persuasion:
            return shown[int(side * len(shown))]
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
    """What simulated people said in both rounds, the reasons that were shown, and what they would have said.

    ``judgments`` has rounds 1 and 2 and the judges' attributes ``arm`` and, where known, ``block``. ``reasons`` has a
    line for each reason shown: a, b and the answer it is for. ``all_shown`` and ``none_shown`` are the judgments had
    everyone, or nobody, been shown reasons and counts.
    """

    judgments: Judgments
    reasons: pd.DataFrame
    all_shown: Judgments
    none_shown: Judgments


def draw_arms(
    judges: Sequence[Hashable], arms: Sequence[str] = (CONTROL, SHOWN), *, block: int = 4, seed: int = 0
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
    gives_way, returns = rng.random(n_judges) >= stubbornness, rng.random(n_judges) < returning
    # The reason shown about a pair is for one of the answers that were given to it, each equally likely.
    side = (rng.random(first.said.shape) * (first.said > 0)).argmax(axis=1)[first.pair]
    wavers, persuaded, conforms, pick = rng.random((4, len(first.pair)))

    own, judge = first.rows.answer, first.rows.judge
    alone = np.where(wavers < wavering, first.another(pick), own)
    moved = np.where(conforms < conformity, first.majority(), alone)
    moved = np.where(persuaded < persuasion, side, moved)
    alone, moved = (np.where(gives_way[judge], answer, own) for answer in (alone, moved))
    shown = (assigned["arm"].reindex(first.rows.judges) != control).to_numpy()[judge]
    again = np.isin(first.pair, first.disputed(n_pairs))
    each = np.flatnonzero(again)[np.unique(first.pair[again], return_index=True)[1]]
    told = first.rows.only(each)
    reasons = pd.DataFrame({"a": told.people.take(told.first), "b": told.people.take(told.second)})
    reasons["answer"] = [str(_CODED[code]) for code in side[each]]
    outcomes = (np.where(shown, moved, alone), moved, alone)
    rounds = [first.with_second(after, again & returns[judge], assigned) for after in outcomes]
    return SecondRound(rounds[0], reasons, *rounds[1:])


@dataclass(frozen=True, eq=False)
class _FirstRound:
    """The answers that count, ``R`` of them, about ``U`` pairs: ``pair`` ``(R,)``, and how often each was ``said``."""

    judgments: Judgments
    asked: pd.DataFrame
    rows: Oriented
    pair: Ints
    said: Ints

    @classmethod
    def of(cls, judgments: Judgments) -> "_FirstRound":
        asked = judgments.asked().counted()
        rows = orient(asked)
        pairs, pair = np.unique(rows.pair, return_inverse=True)
        said = np.zeros((len(pairs), len(_CODED)), dtype=np.int64)
        np.add.at(said, (pair, rows.answer), 1)
        return cls(judgments, asked, rows, pair, said)

    def disputed(self, most: int) -> Ints:
        """At most so many pairs, those with the least share of their commonest answer, of all that several answered."""
        total = self.said.sum(axis=1)
        shared = np.flatnonzero(total > 1)
        if not len(shared):
            raise InputError(
                "judgments: no pair was answered by two people, so none is disputed; give them fixed pairs"
            )
        agreed = self.said[shared].max(axis=1) / total[shared]
        return np.asarray(shared[np.argsort(agreed, kind="stable")[:most]])

    def majority(self) -> Ints:
        """``(R,)`` what most of the others said; one's own answer where no single one was the most frequent."""
        others = self.said[self.pair] - np.eye(len(_CODED), dtype=np.int64)[self.rows.answer]
        single = (others == others.max(axis=1, keepdims=True)).sum(axis=1) == 1
        return np.where(single, others.argmax(axis=1), self.rows.answer)

    def another(self, luck: Floats) -> Ints:
        """``(R,)`` any other answer of those that can be given, each equally likely."""
        allowed = np.array([_CODED.index(one) for one in SCALES["four" if self.judgments.has_ordered else "two"]])
        place = (self.rows.answer[:, None] == allowed).argmax(axis=1)
        return np.asarray(allowed[(place + 1 + (luck * (len(allowed) - 1)).astype(np.int64)) % len(allowed)])

    def with_second(self, after: Ints, chosen: Bools, assigned: pd.DataFrame) -> Judgments:
        """The judgments with a round 2 of these answers ``(R,)``, where chosen, and the judges' arms."""
        frame, known = self.judgments.frame, self.judgments.judge_attributes
        second = frame.iloc[self.asked["row"].to_numpy()[chosen]].assign(round=2)
        swapped = (self.rows.people.take(self.rows.first) != pd.Index(self.asked["a"]))[chosen]
        answers = [_CODED[code] for code in after[chosen]]
        second["answer"] = [str(said.swapped() if swap else said) for said, swap in zip(answers, swapped, strict=True)]
        return Judgments(
            pd.concat([frame, second], ignore_index=True),
            people=self.judgments.people,
            by=self.judgments.by,
            judge_attributes=known.drop(columns=assigned.columns, errors="ignore").join(assigned),
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
