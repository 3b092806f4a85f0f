"""Targets: what may be decided about people, how good each decision is for them, and what it costs.

A target is two labels, several labels with values, or amounts on a grid, which are decided between as labels are
(Agarwal, Dudík and Wu 2019). Everything a solver computes is linear in the probabilities of decisions, and these add to
1. So what belongs to the first is taken off the others', and numbers about decisions come as a column for each but the
first: a table ``(…, k - 1)`` for ``k`` decisions. For two labels that one column is a vector ``(…,)``, the paper's
``c1 - c0``.

The grid costs little. Any amount between two neighbours, drawn from these two with the mean that it is, keeps every
mean, so every rule about pairs; and that raises the squared loss by at most ``step² / 4``, the absolute one by at most
``step / 2``. Trees rounded so are trees with the amounts of the grid. Without rules about groups, no mixture of trees
with any amounts of the range in their leaves is better than the grid's best by more than that. With such rules it may
be, as rounding raises the loss of a group as well: see :meth:`AmountTarget.grid_gap`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.constraints.groups import VALUE, GroupRows, Moments, parity_moments
from fairwise.errors import InputError, quote
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.deduplication import Placement, relative_losses
from fairwise.learning.inputs import listed
from fairwise.learning.oracles.base import ClassArray, FloatArray, IntArray
from fairwise.learning.problem import mean_value
from fairwise.learning.settings import FitSettings, LabelValues
from fairwise.messages import Message
from fairwise.results.certificate import Certificate

if TYPE_CHECKING:
    from fairwise.learning.solvers.solution import Solution

MOST_LABELS = 64
_IN_UNITS = ("error", "lower_bound", "gap", "oracle_bound", "plain_error", "constant_error", "grid_gap")
_COUNTABLE = (1e-100, 1e100)  # ranges whose square is a number, neither 0 nor infinity


class Target(ABC):
    """Decisions, how good each is for the person, and what each costs.

    A person's outcome is a number to it: the position of a label, or an amount.
    """

    unit: float = 1.0
    """Cost of 1 in units of the loss that users see."""

    noun: str = "label"
    """Name of one decision in sentences."""

    def named(self, hypothesis_class: str) -> str:
        """Return the name of a hypothesis class with what it says about the decisions."""
        return hypothesis_class

    classes: ClassArray
    """``(k,)`` the decisions, in sorted order."""

    values: FloatArray | None
    """``(k,)`` how good each is; None for two labels of which one is 1 and the other 0, as ``sign`` says."""

    sign: float = 1.0
    """+1 where the second of two labels is the good one, -1 where the first is."""

    @abstractmethod
    def costs(self, outcomes: FloatArray | IntArray) -> FloatArray:
        """``(n, k)`` what each decision costs people with these outcomes."""

    @abstractmethod
    def moments(self, group_constraints: object) -> Moments:
        """Return fairlearn's rules by the label that they are about; refuse others."""

    @abstractmethod
    def group_rows(
        self,
        moments: Moments,
        outcomes: Any,
        table: pd.DataFrame,
        sensitive: pd.Series,
        weights: FloatArray,
        placed: Placement,
    ) -> GroupRows:
        """Statistical rules as rows about points."""

    def grid_gap(self, solution: Solution, groups: GroupRows | None) -> float:  # noqa: ARG002
        """Return how much decisions between those of the target could lower the bound, as a share of the unit."""
        return np.nan

    def in_units(self, certificate: Certificate) -> Certificate:
        """Return the certificate with losses in units of the loss instead of shares of :attr:`unit`."""
        if self.unit == 1.0:
            return certificate
        return replace(certificate, **{name: self.unit * getattr(certificate, name) for name in _IN_UNITS})


def read_target(
    y: object, table: pd.DataFrame, settings: FitSettings, judgments: Judgments | None
) -> tuple[Target, Any]:
    """Return the target of a fit and everyone's outcome ``(n,)`` in its numbers, checked against each other."""
    if settings.grid is not None:
        amounts = numbers_of(y, table)
        target = AmountTarget.of(amounts, settings)
        if target.larger_is_better is None and judgments is not None and judgments.has_ordered:
            raise InputError(
                "Some answers are ordered ('A at least as well as B'), so it must be known whether a larger amount is "
                "better for the person: give larger_is_better=True or False."
            )
        return target, amounts
    codes, classes = inputs.outcome_labels(y, table)
    if inputs.may_be_numbered(y, classes):
        _refuse_ambiguous(settings, classes.tolist())
    return label_target(codes, classes, settings, judgments)


@dataclass(frozen=True, eq=False)
class LabelTarget(Target):
    """Labels; an outcome is the position of one."""

    classes: ClassArray
    loss: FloatArray
    """``(k, k)`` what deciding the label of a column costs where that of the row is right."""

    values: FloatArray | None = None
    sign: float = 1.0

    def costs(self, outcomes: FloatArray | IntArray) -> FloatArray:
        return np.asarray(self.loss[outcomes])

    def moments(self, group_constraints: object) -> Moments:
        return parity_moments(group_constraints)

    def group_rows(
        self,
        moments: Moments,
        outcomes: Any,
        table: pd.DataFrame,
        sensitive: pd.Series,
        weights: FloatArray,
        placed: Placement,
    ) -> GroupRows:
        """Return rules about label 1 of two, of more labels about "the label is this one" for each asked."""
        size, names = len(placed.points.error_cost), self.classes.tolist()
        self._refuse_impossible(moments)
        parts = []
        for label, of_label in moments.items():
            if label == VALUE and VALUE not in names:
                nobody = np.zeros(len(outcomes), dtype=np.intp)  # outcomes play no part in it
                rows = GroupRows.from_moments(
                    of_label, table, nobody, sensitive, weights, point=placed.people, n_points=size
                )
                parts.append(rows.renamed("value: ").about_values(self._values_for(of_label)))
                continue
            if label is not None and label not in names:
                raise InputError(
                    f"group_constraints: {quote(label)} is none of the labels {', '.join(map(repr, names))}."
                )
            every = [1] if len(names) == 2 else list(range(len(names)))
            places = every if label is None else [names.index(label)]
            for place in places:
                has_label = (outcomes == place).astype(np.intp)
                rows = GroupRows.from_moments(
                    of_label, table, has_label, sensitive, weights, point=placed.people, n_points=size
                )
                if not len(rows):  # a rate among those whose outcome it is, and there are none
                    if label is None:
                        continue
                    raise InputError(
                        f"group_constraints: {quote(label)} is nobody's outcome here, so there is no rate among those "
                        "who have it. DemographicParity is about such a label, too."
                    )
                named = rows if label is None and len(names) == 2 else rows.renamed(f"{names[place]!r}: ")
                parts.append(named if len(names) == 2 and place == 1 else named.about_label(place, len(names)))
        return GroupRows.joined(parts)

    def _values_for(self, moments: Sequence[object]) -> FloatArray:
        """Return how good each label is, for rules about that; refuse others than of the mean value."""
        for moment in moments:
            if type(moment).__name__ != "DemographicParity":
                raise InputError(
                    f"group_constraints: {type(moment).__name__} is not about how well people are treated: of "
                    f"{VALUE!r} there is DemographicParity, equal mean values."
                )
        if self.values is None:
            return np.array([0.0, 1.0] if self.sign > 0 else [1.0, 0.0])
        if not self.values.any():
            raise InputError(f"group_constraints about {VALUE!r} need label_values, how good each label is.")
        return self.values

    def _refuse_impossible(self, moments: Moments) -> None:
        """Any constant keeps the other rates; equal errors about one or two labels are kept by a coin, not of more."""
        asked = [
            label for label, some in moments.items() if any(type(one).__name__ == "ErrorRateParity" for one in some)
        ]
        if len(self.classes) > 2 and (None in asked or len(asked) > 2):
            raise InputError(
                "group_constraints: ErrorRateParity of more than two labels at once may be impossible to keep. Name "
                "one label or two: {label: [ErrorRateParity(…)]}."
            )


def label_target(
    codes: IntArray, classes: ClassArray, settings: FitSettings, judgments: Judgments | None
) -> tuple[LabelTarget, IntArray]:
    """Return the target of people whose outcomes are these of the outcomes that occur, ``classes``, and its codes."""
    declared = settings.label_values
    if declared is not None:
        inputs.refuse_unnamed(declared, classes)
        if len(declared) > len(classes):  # labels that are nobody's outcome may be decided, too
            labels = sorted(declared)
            place = np.array([labels.index(label) for label in classes.tolist()], dtype=np.intp)
            codes, classes = place[codes], np.array(labels, dtype=object if classes.dtype == object else None)
    if len(classes) > MOST_LABELS:
        raise InputError(
            f"The outcomes have {len(classes)} different values; at most {MOST_LABELS} labels can be decided between. "
            "Are they amounts? Those are for PairwiseFairRegressor."
        )
    loss = loss_matrix(settings.loss, classes)
    if len(classes) == 2:
        values = None if declared is None else class_values(declared, classes)
        sign = inputs.favorable_sign(settings, classes, judgments)
        return LabelTarget(classes, loss, None if values is None or set(values) == {0.0, 1.0} else values, sign), codes
    if declared is None:
        _refuse_unvalued(settings, classes, judgments)
        return LabelTarget(classes, loss, np.zeros(len(classes))), codes
    return LabelTarget(classes, loss, class_values(declared, classes)), codes


@dataclass(frozen=True, eq=False)
class AmountTarget(Target):
    """The amounts from ``low`` to ``high`` in equal steps, and what missing one costs.

    Losses are counted in units of the whole range, so that they are from 0 to 1.
    """

    low: float
    high: float
    size: int
    loss: str
    larger_is_better: bool | None
    noun = "amount"

    def named(self, hypothesis_class: str) -> str:
        return Message("{kind}, deciding between {size} amounts", kind=hypothesis_class, size=self.size)

    @classmethod
    def of(cls, y: FloatArray, settings: FitSettings) -> AmountTarget:
        """Return the grid over ``outcome_range``, or over the range of the outcomes where that is None."""
        asked, better = settings.outcome_range, settings.larger_is_better
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
        is_better = None if better is None else bool(better)  # numpy's, too
        return cls(low, high, int(settings.grid or 0), str(settings.loss), is_better)

    @property
    def classes(self) -> ClassArray:  # type: ignore[override]
        return np.linspace(self.low, self.high, self.size)

    @property
    def values(self) -> FloatArray:  # type: ignore[override]
        return 1.0 - self.shares_of_range if self.larger_is_better is False else self.shares_of_range

    @property
    def shares_of_range(self) -> FloatArray:
        """``(k,)`` the amounts as shares of the range."""
        return np.linspace(0.0, 1.0, self.size)

    @property
    def unit(self) -> float:  # type: ignore[override]
        """The loss of missing an amount by the whole range."""
        return (self.high - self.low) ** (2 if self.loss == "squared" else 1)

    def costs(self, outcomes: FloatArray | IntArray) -> FloatArray:
        missed = np.abs((outcomes[:, None] - self.low) / (self.high - self.low) - self.shares_of_range)
        return missed**2 if self.loss == "squared" else missed

    def mean_amounts(self, probability: FloatArray) -> FloatArray:
        """``(n,)`` the means of amounts with these probabilities, as :class:`Mixture` has them."""
        share = mean_value(probability, self.shares_of_range)
        return np.asarray(self.low + (self.high - self.low) * share)

    def treatment(self, amounts: FloatArray) -> FloatArray:
        """``(n,)`` how well people with these amounts are treated, from 0 to 1."""
        share = (amounts - self.low) / (self.high - self.low)
        return np.asarray(1.0 - share if self.larger_is_better is False else share)

    def person_losses(self, outcomes: FloatArray, amounts: FloatArray) -> FloatArray:
        """``(n,)`` what these amounts cost people with these outcomes, in units of the loss."""
        return np.asarray(np.abs(outcomes - amounts) ** (2 if self.loss == "squared" else 1))

    def grid_gap(self, solution: Solution, groups: GroupRows | None) -> float:
        """Return how much lower the bound could be for trees with any amounts of the range, as a share of a unit.

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
        """Return how much drawing from two neighbours with the mean between them raises a loss at most."""
        step = (self.high - self.low) / (self.size - 1)
        return step**2 / 4 if loss == "squared" else step / 2

    def moments(self, group_constraints: object) -> Moments:
        if group_constraints is None:
            return {}
        from fairlearn.reductions import BoundedGroupLoss  # slow to load, and few ask for it

        asked = list(group_constraints) if isinstance(group_constraints, list | tuple) else [group_constraints]
        for moment in asked:
            if not (isinstance(moment, BoundedGroupLoss) and moment.upper_bound is not None):
                raise InputError(
                    f"group_constraints: {moment!r} is not allowed. Give fairlearn's BoundedGroupLoss with a bound, "
                    "such as [BoundedGroupLoss(SquareLoss(0, 100), upper_bound=25)]."
                )
        return {None: asked} if asked else {}

    def group_rows(
        self,
        moments: Moments,
        outcomes: Any,
        table: pd.DataFrame,  # noqa: ARG002 - their groups are in ``sensitive``
        sensitive: pd.Series,
        weights: FloatArray,
        placed: Placement,
    ) -> GroupRows:
        """``E[loss | group] <= bound`` for each group.

        The loss that is bounded may be another than that of the fit, so each is counted in units of its own largest.
        """
        from fairlearn.reductions import AbsoluteLoss, SquareLoss  # as in moments

        size = len(placed.points.error_cost)
        groups = sensitive.to_numpy()
        names, matrices, limits, bounds, units, rounding = [], [], [], [], [], []
        bounded: list[Any] = list(moments[None])
        for moment in bounded:
            self._refuse_clipping(moment.reduction_loss)
            loss = {SquareLoss: "squared", AbsoluteLoss: "absolute"}.get(type(moment.reduction_loss))
            losses = np.stack([moment.reduction_loss.eval(outcomes, amount) for amount in self.classes], axis=1)
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


def class_values(label_values: LabelValues, classes: ClassArray) -> FloatArray:
    """Return how good each class is ``(k,)``."""
    inputs.refuse_unnamed(label_values, classes)
    return np.array([float(label_values[label]) for label in classes.tolist()])


def _refuse_ambiguous(settings: FitSettings, classes: list[int]) -> None:
    """Refuse labels by number where scikit-learn may have numbered the outcomes, unless all of them are named.

    ``favorable_label=1`` is the second label of 0 and 1, but the first of 1 and 2, which scikit-learn also hands on as
    0 and 1. Only a setting that names every outcome, and nothing else, says which of the two is meant.
    """
    rules = settings.group_constraints
    for name, labels in (("label_values", settings.label_values), ("loss", getattr(settings.loss, "columns", None))):
        if labels is not None and len(labels) == len(classes):
            return  # checked against the outcomes elsewhere
        if labels is not None and len(labels) == 1 + classes[-1] and set(labels) == set(range(len(labels))):
            return  # its last label occurs, so numbering changed none of them
        if labels is not None and set(labels) > set(classes):
            raise InputError(
                f"{name} names {listed(list(labels))}, but scikit-learn hands on the outcomes "
                f"{listed(classes)} as numbers, which may be yours or count the labels that occur. {inputs.NUMBERED}"
            )
    named = {"favorable_label": [] if settings.favorable_label is None else [settings.favorable_label]}
    named["group_constraints"] = [label for label in rules if label != VALUE] if isinstance(rules, Mapping) else []
    for name, labels in named.items() if classes == list(range(len(classes))) else ():
        for label in set(labels) & set(classes):
            values = ", ".join(f"{number}: …" for number in classes)
            raise InputError(
                f"{name} names the outcome {label!r}, but scikit-learn hands on the outcomes {listed(classes)} as "
                f"numbers, which may be yours or count your labels in sorted order: name all of them, "
                f"label_values={{{values}}}. {inputs.NUMBERED}"
            )


def _refuse_unvalued(settings: FitSettings, classes: ClassArray, judgments: Judgments | None) -> None:
    """More than two labels need values as soon as anyone says who is to be treated how well."""
    if settings.favorable_label is None and (judgments is None or not len(judgments.frame)):
        return
    example = ", ".join(f"{label!r}: {value:.2g}" for label, value in _even(classes.tolist()[:4]))
    raise InputError(
        f"There are {len(classes)} different outcomes, {listed(classes.tolist())}: to treat people well or badly it "
        "must be known how good each is for the person, from 0 to 1: give label_values={"
        f"{example}{', …' if len(classes) > 4 else ''}}} instead of favorable_label."
    )


def _even(labels: Sequence[object]) -> list[tuple[object, float]]:
    return [(label, place / max(len(labels) - 1, 1)) for place, label in enumerate(labels)]


def loss_matrix(loss: object, classes: ClassArray) -> FloatArray:
    """``(k, k)``: what deciding the label of a column costs where that of the row is right."""
    if loss is None:
        return 1.0 - np.eye(len(classes))
    if not isinstance(loss, pd.DataFrame):
        raise InputError(
            f"loss={quote(loss)} is not allowed: give a DataFrame of what each decision costs, with a row for each "
            "outcome that may be right and a column for each label that may be decided; None: 0 if right, otherwise 1."
        )
    labels = classes.tolist()
    axes = {"rows": loss.index.tolist(), "columns": loss.columns.tolist()}
    for name, axis in axes.items():
        if len(axis) != len(labels) or set(axis) != set(labels):  # 1, 1.0 and True are one label
            raise InputError(
                f"loss: its {name} are {listed(axis)}, but the labels are {listed(labels)}: each must be there once."
                + inputs.numbered_hint(labels)
            )
    try:
        matrix = loss.astype(float)
    except (TypeError, ValueError):
        raise InputError("loss: a cost is no number.") from None
    costs: FloatArray = matrix.loc[labels, labels].to_numpy()
    bad = np.argwhere(~(np.isfinite(costs) & (costs >= 0)))
    if len(bad):
        right, decided = (labels[place] for place in bad[0])
        raise InputError(
            f"loss: deciding {decided!r} where {right!r} is right costs {costs[tuple(bad[0])]}; give numbers from 0 up."
        )
    if not costs.any():
        raise InputError("loss: every cost is 0, so there is nothing to learn.")
    return costs


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
