"""What a model of amounts gives to whom: recorded and given amounts of everyone and of each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing.decisions import parts_of
from fairwise.auditing.error_measure import is_of_amounts

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model
    from fairwise.constraints.pairs import FloatArray


@dataclass(frozen=True, eq=False)
class AmountsGiven:
    """The range of a model's amounts, what they are counted in, and who gets how much.

    ``table`` has a line for everyone (no ``attribute``), then for each group: ``people``, ``given`` (their mean
    amount), ``value`` (how well they are treated, from 0 to 1); with outcomes ``recorded``, the mean of those, and
    ``loss``, what the amounts given miss them by, squared or absolute, on average.
    """

    low: float
    high: float
    size: int
    unit: str
    larger_is_better: bool | None
    table: pd.DataFrame

    @classmethod
    def of(
        cls, model: Model, people: Any, outcome: pd.Series[float] | None, groups: pd.DataFrame | None, unit: str
    ) -> AmountsGiven | None:
        """None for a model of labels."""
        if not is_of_amounts(model):
            return None
        amounts, given = model.amounts, model.predict(people)
        lines = []
        for attribute, group, members in parts_of(len(given), groups):
            line: dict[str, Any] = {"attribute": attribute, "group": group, "people": int(members.sum())}
            line |= {"given": float(given[members].mean()), "value": float(amounts.shares(given[members]).mean())}
            if outcome is not None:
                own = np.asarray(outcome)[members]
                line |= {"recorded": float(own.mean())}
                line |= {"loss": amounts.mean_loss(own, given[members], np.ones(len(own)))}
            lines.append(line)
        ends = amounts.low, amounts.high, amounts.size
        return cls(*ends, unit, amounts.larger_is_better, pd.DataFrame(lines))

    @property
    def grid(self) -> FloatArray:
        """``(k,)`` the amounts that the model mixes."""
        return np.linspace(self.low, self.high, self.size)

    def amount(self, value: float) -> float:
        """The amount of someone who is treated so well, from 0 to 1."""
        share = 1.0 - value if self.larger_is_better is False else value
        return self.low + (self.high - self.low) * share
