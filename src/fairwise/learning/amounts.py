"""Outcomes that are amounts: decided between the values of a grid, as labels are (Agarwal, Dudík and Wu 2019).

A model of amounts is cut into thresholds "at least this much", which is the same as one label for each amount ``v_0 <
v_1 < …`` of a grid; its value is how far up it is, and its loss ``(y - v)²`` or ``|y - v|``. The rest is as for labels.

The grid costs little. Any amount between two neighbours, drawn from these two with the mean that it is, keeps every
mean, so every rule about pairs; and that raises the squared loss by at most ``step² / 4``, the absolute one by at most
``step / 2``. Trees rounded so are trees with the amounts of the grid. Without rules about groups, no mixture of trees
with any amounts of the range in their leaves is better than the grid's best by more than that. With such rules it may
be, as rounding raises the loss of a group as well: see :meth:`Amounts.grid_gap`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import GroupRows
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.deduplication import Placement, relative_losses
from fairwise.learning.labels import Labels
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.settings import FitSettings, Params
from fairwise.results.certificate import Certificate

if TYPE_CHECKING:
    from fairlearn.reductions import BoundedGroupLoss

    from fairwise.learning.solvers.solution import Solution

LOSSES = ("squared", "absolute")
MOST_AMOUNTS = 128
_IN_UNITS = ("error", "lower_bound", "gap", "oracle_bound", "plain_error", "constant_error", "grid_gap")
_COUNTABLE = (1e-100, 1e100)  # ranges whose square is a number, neither 0 nor infinity


@dataclass(frozen=True, eq=False)
class Amounts:
    """The amounts that may be decided, from ``low`` to ``high`` in equal steps, and what missing one costs.

    Losses are counted in units of the whole range, so that they are from 0 to 1; :attr:`unit` turns them back.
    """

    low: float
    high: float
    size: int
    loss: str
    larger_is_better: bool | None

    @classmethod
    def of(cls, y: FloatArray, asked: Any, size: int, loss: str, *, larger_is_better: bool | None) -> Amounts:
        """The grid over a range ``(low, high)``, or over that of the outcomes if None is asked for."""
        low, high = (float(y.min()), float(y.max())) if asked is None else map(float, asked)
        if not low < high:
            raise InputError(f"Everyone has the same outcome, {low:g} (n_samples = {len(y)}): nothing to learn from.")
        outside = np.flatnonzero((y < low) | (y > high))
        if len(outside):
            raise InputError(
                f"outcome_range={quote(asked)} does not hold the outcome {y[outside[0]]:g}: give the least and the "
                "largest amount that there may be."
            )
        if not _COUNTABLE[0] < high - low < _COUNTABLE[1]:
            raise InputError(
                f"The amounts are from {low:g} to {high:g}: losses over such a range cannot be counted. Give them in "
                "another unit, so that they differ by more than 1e-100 and less than 1e100."
            )
        return cls(low, high, size, loss, None if larger_is_better is None else bool(larger_is_better))  # numpy's, too

    @classmethod
    def asked(cls, y: FloatArray, settings: Params) -> Amounts:
        """As the settings of a regressor say, whose outcomes are ``y``."""
        asked, size, loss = (settings[name] for name in ("outcome_range", "grid", "loss"))
        return cls.of(y, asked, size, loss, larger_is_better=settings["larger_is_better"])

    @property
    def values(self) -> FloatArray:
        """``(k,)`` the amounts as shares of the range."""
        return np.linspace(0.0, 1.0, self.size)

    @property
    def grid(self) -> FloatArray:
        """``(k,)`` the amounts themselves."""
        return np.linspace(self.low, self.high, self.size)

    @property
    def unit(self) -> float:
        """The loss of missing an amount by the whole range."""
        return (self.high - self.low) ** (2 if self.loss == "squared" else 1)

    def grid_gap(self, solution: Solution, groups: GroupRows | None) -> float:
        """By how much the bound could be lower for trees with any amounts of the range, at most; as a share of a unit.

        Rounded to the grid, a mixture of such trees has a loss that is higher by at most the rounding, and breaks the
        rule of a group by at most what rounding adds there, for which the multipliers that prove the bound charge. Nor
        is its loss below the least without any rule, which the grid raises by at most the rounding.
        """
        charged = 0.0
        if groups is not None:
            prices = solution.multipliers.rows[-len(groups) :]
            paid = prices > 0.0  # of a loss that is not known here rounding may add anything
            charged = float(prices[paid] @ np.broadcast_to(groups.rounding, len(groups))[paid])
        return self._rounding(self.loss) / self.unit + min(charged, solution.bound - solution.plain_error)

    def _rounding(self, loss: str) -> float:
        """By how much drawing from two neighbours with the mean between them raises a loss, at most."""
        step = (self.high - self.low) / (self.size - 1)
        return step**2 / 4 if loss == "squared" else step / 2

    def losses(self, y: FloatArray) -> FloatArray:
        """``(n, k)`` what each amount of the grid costs each person, in units of :attr:`unit`."""
        missed = np.abs((y[:, None] - self.low) / (self.high - self.low) - self.values)
        return missed**2 if self.loss == "squared" else missed

    def shares(self, amounts: FloatArray) -> FloatArray:
        """``(n,)`` how well people with these amounts are treated, from 0 to 1."""
        share = (amounts - self.low) / (self.high - self.low)
        return np.asarray(1.0 - share if self.larger_is_better is False else share)

    def mean_loss(self, y: FloatArray, given: FloatArray, weights: FloatArray) -> float:
        """What these amounts cost people whose own are ``y``, all ``(n,)``, on average."""
        missed = np.abs(y - given) ** (2 if self.loss == "squared" else 1)
        return float(np.average(missed, weights=weights))

    def in_units(self, found: Certificate) -> Certificate:
        """A certificate of losses as shares of :attr:`unit`, in units of the loss itself."""
        return replace(found, **{name: self.unit * getattr(found, name) for name in _IN_UNITS})

    # What a problem is prepared from, as for labels.

    def read(self, y: object, table: pd.DataFrame, settings: FitSettings, judgments: Judgments | None) -> Labels:  # noqa: ARG002
        """The amounts as labels."""
        if self.larger_is_better is None and judgments is not None and judgments.has_ordered:
            raise InputError(
                "Some answers are ordered ('A at least as well as B'), so it must be known whether a larger amount is "
                "better for the person: give larger_is_better=True or False."
            )
        values = 1.0 - self.values if self.larger_is_better is False else self.values
        amounts = numbers_of(y, table)
        nobody = np.zeros(len(amounts), dtype=np.intp)
        return Labels(self.grid, nobody, self.losses(amounts), 1.0, values)

    def moments(self, asked: object) -> dict[Any, list[Any]]:
        """Fairlearn's bounded group losses; anything else is refused."""
        if asked is None:
            return {}
        from fairlearn.reductions import BoundedGroupLoss  # slow to load, and few ask for it

        listed = list(asked) if isinstance(asked, list | tuple) else [asked]
        for moment in listed:
            if not (isinstance(moment, BoundedGroupLoss) and moment.upper_bound is not None):
                raise InputError(
                    f"group_constraints: {moment!r} is not allowed. Give fairlearn's BoundedGroupLoss with a bound, "
                    "such as [BoundedGroupLoss(SquareLoss(0, 100), upper_bound=25)]."
                )
        return {None: listed} if listed else {}

    def group_rows(
        self,
        moments: dict[Any, list[BoundedGroupLoss]],
        y: FloatArray,
        sensitive: pd.Series,
        weights: FloatArray,
        placed: Placement,
    ) -> GroupRows:
        """``E[loss | group] <= bound`` for each group, as rows about the amounts of points.

        The loss that is bounded may be another than that of the fit, so each is counted in units of its own largest.
        """
        from fairlearn.reductions import AbsoluteLoss, SquareLoss  # as in moments

        size = len(placed.points.error_cost)
        groups = sensitive.to_numpy()
        names, matrices, limits, bounds, units, rounding = [], [], [], [], [], []
        for moment in moments[None]:
            self._refuse_clipping(moment.reduction_loss)
            loss = {SquareLoss: "squared", AbsoluteLoss: "absolute"}.get(type(moment.reduction_loss))
            losses = np.stack([moment.reduction_loss.eval(y, amount) for amount in self.grid], axis=1)
            unit = float(losses.max()) or 1.0
            first, more = relative_losses(losses / unit)
            for group in pd.unique(sensitive):
                share = np.where(groups == group, weights, 0.0)
                share = share / share.sum()
                on_points = [np.bincount(placed.people, share * column, minlength=size) for column in more.T]
                names.append(f"BoundedGroupLoss {group}")
                matrices.append(np.stack(on_points, axis=1))
                limits.append(float(moment.upper_bound / unit - share @ first))
                bounds.append(float(moment.upper_bound))
                units.append(unit)
                rounding.append(np.inf if loss is None else self._rounding(loss) / unit)
        matrix: FloatArray = np.array(matrices, dtype=float)
        return GroupRows(
            names,
            matrix[:, :, 0] if self.size == 2 else matrix,
            np.array(limits),
            np.array(bounds),
            np.array(units),
            always_kept=False,
            rounding=np.array(rounding),
        )

    def _refuse_clipping(self, loss: Any) -> None:
        """Fairlearn's losses count amounts beyond their own range as its ends: what lies there would cost nothing."""
        least, most = getattr(loss, "min_val", self.low), getattr(loss, "max_val", self.high)
        if least > self.low or most < self.high:
            raise InputError(
                f"group_constraints: {type(loss).__name__}({least:g}, {most:g}) counts what lies beyond as {least:g} "
                f"or {most:g}, but the amounts are from {self.low:g} to {self.high:g}: give a range that holds these."
            )


def numbers_of(y: object, table: pd.DataFrame) -> FloatArray:
    """Outcomes as finite numbers, one for each person."""
    values = inputs.outcomes(y, table)
    if values.dtype.kind in "mM":
        raise InputError("The outcomes are to be amounts, but they are times: give numbers, such as days.")
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"The outcomes are to be amounts, but {_first_text(values)} is no number.") from None


def _first_text(values: Iterable[Any]) -> str:
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            return quote(value)
    return "one"
