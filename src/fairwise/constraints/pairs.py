"""Pairs of people in force, the answers that put them there, and budgets of excess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.constraints.violations import excess, status_of, violation
from fairwise.errors import InputError, quote, some
from fairwise.judgments.answer import Answer
from fairwise.messages import Message, marked
from fairwise.tables.rows import encode, integers_or_texts, text_of

if TYPE_CHECKING:
    from fairwise.judgments.table import Judgments

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Weighting = Literal["answers", "panel"]
_EXACT_BITS = 52
_LEAST_EXPONENT = -1074  # of a float


@dataclass(frozen=True, eq=False)
class PairRows:
    """Ordered pairs of people in force, and the answers that put them there.

    Row ``k`` says: person ``owed[k]`` is to be treated at least as well as person ``reference[k]``, that is
    ``r[reference] - r[owed] <= gamma + slack`` with ``r`` the probability of the favourable label. The answer
    ``same`` puts two rows in force, an ordered answer one, ``no_constraint`` none.

    Attributes
    ----------
    people
        Ids of the ``m`` people in some row.
    reference, owed
        ``(K,)`` positions in ``people``.
    mass
        ``(K,)`` total weight of the answers behind each row.
    answers
        One line per answer that counts: judge, a, b, answer, weight.
    entry_row, entry_answer
        ``(E,)`` each: answer ``entry_answer[e]`` put row ``entry_row[e]`` in force.
    answer_pair
        A number for each answer's unordered pair, the same for the same two people.
    simulated
        Judges that are programs.
    """

    people: pd.Index
    reference: IntArray
    owed: IntArray
    mass: FloatArray
    answers: pd.DataFrame
    entry_row: IntArray
    entry_answer: IntArray
    answer_pair: IntArray
    simulated: frozenset[Any] = frozenset()

    def __len__(self) -> int:
        return len(self.reference)

    @classmethod
    def from_judgments(cls, judgments: Judgments) -> PairRows:
        answers = judgments.counted()
        codes, everyone = pd.factorize(pd.concat([answers["a"], answers["b"]], ignore_index=True))
        a, b = codes[: len(answers)].astype(np.intp), codes[len(answers) :].astype(np.intp)
        answer = answers["answer"].astype(str).to_numpy()
        # "A at least as well as B" owes A what B gets, and the other way round.
        a_owed = np.flatnonzero((answer == Answer.SAME) | (answer == Answer.A_AT_LEAST_B))
        b_owed = np.flatnonzero((answer == Answer.SAME) | (answer == Answer.B_AT_LEAST_A))
        entry_answer = np.concatenate([a_owed, b_owed])
        order = np.argsort(entry_answer, kind="stable")
        entry_answer = entry_answer[order]
        reference = np.concatenate([b[a_owed], a[b_owed]])[order]
        owed = np.concatenate([a[a_owed], b[b_owed]])[order]

        n_people = max(len(everyone), 1)
        entry_row, keys = pd.factorize(reference * n_people + owed)
        in_force, positions = np.unique(np.concatenate([keys // n_people, keys % n_people]), return_inverse=True)
        people = pd.Index(everyone[in_force])
        rows = cls(
            people=people,
            reference=positions[: len(keys)].astype(np.intp),
            owed=positions[len(keys) :].astype(np.intp),
            mass=sums(entry_row, answers["weight"].to_numpy(dtype=float)[entry_answer], len(keys)),
            answers=answers,
            entry_row=entry_row.astype(np.intp),
            entry_answer=entry_answer.astype(np.intp),
            answer_pair=np.minimum(a, b) * n_people + np.maximum(a, b),
            simulated=judgments.simulated,
        )
        names = integers_or_texts(np.array([text_of(person) for person in people], dtype=object))
        return rows.sorted_by(np.unique(names, return_inverse=True)[1])

    def sorted_by(self, rank: NDArray[Any]) -> PairRows:
        """Return the same rows by the ``rank`` ``(m,)`` of their people, so that the order of answers plays no part.

        People of one rank keep their order.
        """
        order = np.argsort(rank, kind="stable")
        place = np.argsort(order)
        reference, owed = place[self.reference], place[self.owed]
        _, rank = np.unique(rank[order], return_inverse=True)
        two = np.sort(
            [rank[reference], rank[owed]], axis=0
        )  # a pair keeps its place where the other label is favourable
        by_rank = np.lexsort((owed, reference, rank[owed], rank[reference], self.mass, *two[::-1]))
        return replace(
            self,
            people=self.people[order],
            reference=reference[by_rank],
            owed=owed[by_rank],
            mass=self.mass[by_rank],
            entry_row=np.argsort(by_rank)[self.entry_row],
        )

    @property
    def predicted(self) -> NDArray[np.bool_]:
        """``(N,)``: which answers nobody gave, but a model of answers predicted."""
        if "predicted" not in self.answers:
            return np.zeros(len(self.answers), dtype=bool)
        return self.answers["predicted"].to_numpy(dtype=bool)

    @property
    def predicted_error(self) -> float:
        """Upper bound for the share of wrong predicted answers; NaN without any."""
        bounds = self.answers["error_bound"][self.predicted] if self.predicted.any() else pd.Series(dtype=float)
        return float(bounds.mean()) if len(bounds) else float("nan")

    def differences(self, favorable: FloatArray) -> FloatArray:
        """``r[reference] - r[owed]`` for every row; ``favorable`` is ``(m,)`` or ``(k, m)``, the result has ``K``."""
        return favorable[..., self.reference] - favorable[..., self.owed]

    def adjoint(self, multipliers: FloatArray) -> FloatArray:
        """Transpose of :meth:`differences`: ``(K,)`` multipliers to ``(m,)`` costs on people."""
        return adjoint_differences(multipliers, self.reference, self.owed, len(self.people))

    def violations(self, favorable: FloatArray) -> FloatArray:
        """``max(0, r[reference] - r[owed])`` for every row; gamma is not subtracted."""
        return violation(favorable[..., self.reference], favorable[..., self.owed])

    def mean_violation(self, favorable: FloatArray) -> float:
        """Weighted mean of ``|r_a - r_b|`` over the ``same`` answers; 0 where there is none."""
        same = (self.answers["answer"].astype(str).to_numpy() == Answer.SAME)[self.entry_answer]
        weight = self.answers["weight"].to_numpy(dtype=float)[self.entry_answer[same]]
        if weight.sum() == 0:
            return 0.0
        # Each such answer stands here in both directions with the same absolute difference.
        gaps = np.abs(self.differences(favorable))[self.entry_row[same]]
        return float(np.average(gaps, weights=weight))

    def answer_violations(self, favorable: FloatArray) -> FloatArray:
        """``(N,)`` violation of every answer: ``|r_a - r_b|`` for ``same``, else one-sided; 0 for ``no_constraint``."""
        worst = np.zeros(len(self.answers))
        np.maximum.at(worst, self.entry_answer, self.violations(favorable)[self.entry_row])
        return worst

    @property
    def weight_in_force(self) -> float:
        """Total weight of the answers that put some row in force."""
        return float(self.answers["weight"].to_numpy(dtype=float)[np.unique(self.entry_answer)].sum())

    def mean_answer_violation(self, favorable: FloatArray) -> FloatArray:
        """Weighted mean of the violation over all answers in force; ``(k, m)`` probabilities give ``(k,)``.

        Of the two rows of a ``same`` answer at most one is violated, so the mean is linear in the rows' violations.
        """
        whole = self.weight_in_force
        total: FloatArray = self.violations(favorable) @ self.mass
        return total / whole if whole > 0 else 0.0 * total

    def shares(self, weighting: Weighting, mask: NDArray[np.bool_] | None = None) -> FloatArray:
        """``(K,)`` coefficients with ``mean_excess = shares @ excess``.

        ``answers``: mass over twice the weight of all answers, ``no_constraint`` included. ``panel``, the paper's
        letter: mass over the number of judges, over twice the number of distinct pairs shown. ``mask`` is a mask of
        the answers that count, as if there were no others.
        """
        chosen = np.ones(len(self.answers), dtype=bool) if mask is None else mask
        weight = self.answers["weight"].to_numpy(dtype=float) * chosen
        mass = self.mass if mask is None else sums(self.entry_row, weight[self.entry_answer], len(self))
        if weighting == "answers":
            whole = 2.0 * fsum(weight)
        else:
            whole = 2.0 * len(np.unique(self.answer_pair[chosen])) * self.answers["judge"][chosen].nunique()
        return mass / whole if whole > 0 else np.zeros(len(self))


def sums(place: IntArray, values: FloatArray, n_places: int) -> FloatArray:
    """Return the sum of the values at each place, the same in any order.

    Multiples of a power of two that are not too large are added without rounding, so values are taken apart into such.
    """
    total, rest = np.zeros(n_places), np.asarray(values, dtype=float)
    while (largest := float(np.abs(rest).max(initial=0.0))) > 0.0:
        unit = np.ldexp(1.0, max(int(np.frexp(largest)[1]) + len(rest).bit_length() - _EXACT_BITS, _LEAST_EXPONENT))
        part = np.rint(rest / unit) * unit
        total += np.bincount(place, part, minlength=n_places)
        rest = rest - part
    return total


def adjoint_differences(multipliers: FloatArray, reference: IntArray, owed: IntArray, n_people: int) -> FloatArray:
    """``A.T @ multipliers`` where row ``k`` of ``A`` is +1 at ``reference[k]`` and -1 at ``owed[k]``."""
    plus = np.bincount(reference, multipliers, minlength=n_people)
    return np.asarray(plus - np.bincount(owed, multipliers, minlength=n_people), dtype=float)


# What each judgment costs: the multiplier of its rows, shared among those who gave it; and whether it is followed.


def price_table(rows: PairRows, multipliers: FloatArray, favorable: FloatArray, gamma: float) -> pd.DataFrame:
    """:func:`price_columns` as a table."""
    return pd.DataFrame(price_columns(rows, multipliers, favorable, gamma), copy=False)


def price_columns(rows: PairRows, multipliers: FloatArray, favorable: FloatArray, gamma: float) -> dict[str, Any]:
    """Return columns judge, a, b, answer, price, violation, excess and status of the answers that count.

    The price is error per unit of gamma on that pair. Where both directions of a pair carry a multiplier only their
    difference is identified, so the smaller one is taken off both.
    """
    net = _net_of_reverse(rows, multipliers)
    weight = rows.answers["weight"].to_numpy(dtype=float)[rows.entry_answer]
    mass, givers = rows.mass[rows.entry_row], np.bincount(rows.entry_row)[rows.entry_row]
    part = np.where(mass > 0, weight / np.where(mass > 0, mass, 1.0), 1.0 / givers)
    n = len(rows.answers)
    violation = rows.answer_violations(favorable)
    answer = rows.answers["answer"].astype(str)
    columns = {name: rows.answers[name].array for name in ("judge", "a", "b")} | {"answer": answer.array}
    costs = {
        "price": np.bincount(rows.entry_answer, part * net[rows.entry_row], minlength=n),
        "violation": violation,
        "excess": excess(violation, gamma),
        "status": status_of(answer.to_numpy(dtype=object), violation, gamma).astype(object),
    }
    predicted = {"predicted": rows.predicted} if rows.predicted.any() else {}
    return {**columns, **predicted, **costs}


def answered_rows(prices: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of such a table without those that a model of answers predicted."""
    return prices[~prices["predicted"].astype(bool)] if "predicted" in prices else prices


def _net_of_reverse(rows: PairRows, multipliers: FloatArray) -> FloatArray:
    n = len(rows.people)
    reverse = pd.Index(rows.reference * n + rows.owed).get_indexer(rows.owed * n + rows.reference)
    opposite = np.where(reverse >= 0, multipliers[reverse], 0.0) if len(rows) else multipliers
    return np.asarray(multipliers - np.minimum(multipliers, opposite))


Limits = Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class Budget:
    """``shares @ slack[rows] <= limit``; with ``limit == 0`` no slack is allowed on these rows."""

    name: str
    rows: IntArray
    shares: FloatArray
    limit: float


PANEL = Message("panel")
"""Name of the budget that eta limits."""

JUDGE = marked("judge {name}")
"""Template of the name of a judge\'s own budget."""


def panel_budget(rows: PairRows, eta: float, weighting: Weighting) -> Budget:
    """The paper's eta: mean excess over everything that was asked (its equation 3). Rows of no weight stay free."""
    shares = rows.shares(weighting)
    counted = np.flatnonzero(shares > 0)
    return Budget(PANEL, counted, shares[counted], eta)


def judge_budgets(rows: PairRows, limits: float | Limits, panel: pd.DataFrame | None = None) -> list[Budget]:
    """One budget per judge: excess over their own pairs in force, divided by twice the pairs shown to them.

    ``limits`` is one number for all, or a number for each judge named (the others then have no budget). Where the rows
    are of a part of a panel, ``panel`` has a row for each of its judges: a budget of those who are absent is left out.
    """
    codes, judges = pd.factorize(rows.answers["judge"])
    pairs_by_judge = pd.Series(rows.answer_pair).groupby(codes).nunique()
    own_rows = pd.Series(rows.entry_row).groupby(codes[rows.entry_answer]).unique()
    # Judges are matched as they are written, like ids: 1 and "1" are one judge.
    limit_by_judge = limits if isinstance(limits, Mapping) else dict.fromkeys(judges, limits)
    limit_of = {str(judge): float(limit) for judge, limit in limit_by_judge.items()}
    unknown = set(limit_of) - {str(judge) for judge in [*judges, *(() if panel is None else panel.index)]}
    if unknown:
        raise InputError(f"judge_budgets names {min(unknown)!r}, who gave no answer that counts")
    budgets = []
    for code, judge in sorted(enumerate(judges), key=lambda item: str(item[1])):
        if str(judge) in limit_of and code in own_rows.index:
            mine = np.sort(own_rows.loc[code])
            share = 1.0 / (2.0 * int(pairs_by_judge.loc[code]))
            name = Message(JUDGE, name=str(judge))
            budgets.append(Budget(name, mine, np.full(len(mine), share), limit_of[str(judge)]))
    return budgets


def attribute_budgets(
    rows: PairRows,
    attributes: pd.DataFrame,
    limits: Mapping[Any, Limits],
    weighting: Weighting,
    panel: pd.DataFrame | None = None,
) -> list[Budget]:
    """One budget per attribute and value named, such as ``{"relation": {"affected": 0.0}}``.

    It is to the judges of that value what eta is to the panel: the mean excess that an audit of those judges alone
    reports, every answer with its weight. Judges of whom the attribute is not known are in no group. ``attributes``
    has a row for every judge, ``panel`` one for every judge of the whole of which the rows are a part: a budget of a
    value that only absent judges have is left out.
    """
    judge_row = attributes.index.get_indexer(pd.Index(rows.answers["judge"]))
    named = {text_of(name): name for name in attributes.columns}
    budgets = []
    for attribute, limit_of in limits.items():
        if text_of(attribute) not in named:
            available = f"they have {some(named.values())}" if named else "they have none (judge_attributes=)"
            raise InputError(f"judge_budgets names {quote(attribute)}, no attribute of these judges: {available}")
        # Values are matched as they are written, like judges and ids.
        codes, values = encode(attributes[named[text_of(attribute)]])
        everyone = values if panel is None else encode(panel[named[text_of(attribute)]])[1]
        for value, limit in limit_of.items():
            if text_of(value) not in everyone:
                raise InputError(
                    f"judge_budgets names {quote(attribute)} {quote(value)}, but no judge has it: "
                    f"there are {some(everyone)}"
                )
            if text_of(value) not in values:
                continue
            theirs = codes == values.tolist().index(text_of(value))
            shares = rows.shares(weighting, mask=theirs[judge_row])
            counted = np.flatnonzero(shares > 0)
            budgets.append(Budget(f"{attribute} {value}", counted, shares[counted], float(limit)))
    return budgets
