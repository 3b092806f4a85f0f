"""Which columns play which part, for preferences that are about a part and not about a name."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from fairwise.simulation.perception import need

_DEMOGRAPHICS = ("sex", "age", "race")
_MAJORITY = {"race": "Caucasian"}
_CATEGORY_POINTS = {"c_charge_degree": {"M": 1.0}}


@dataclass(frozen=True)
class Roles:
    """What the columns of a table of people stand for; what is left out is taken from COMPAS where it fits.

    Parameters
    ----------
    demographics : columns, optional
        What one is born with; by default those of sex, age and race that are there.
    record : columns, optional
        What one has done; by default every other column. More of a number is worse.
    majority : {column: value}, optional
        The group whose records nobody discounts; by default race Caucasian, if there is such a column.
    category_points : {column: {value: points}}, optional
        Which values of a category are better; by default a misdemeanour is better than a felony.
    """

    demographics: tuple[str, ...] | None = None
    record: tuple[str, ...] | None = None
    majority: Mapping[str, object] | None = None
    category_points: Mapping[str, Mapping[str, float]] | None = None

    def within(self, people: pd.DataFrame) -> "Roles":
        """Return the same with nothing left out; columns that were named must be there."""
        named = [*(self.demographics or ()), *(self.record or ()), *(self.majority or ())]
        need([*named, *(self.category_points or ())], people)
        demographics = self.demographics
        if demographics is None:
            free = set(people.columns).difference(self.record or ())
            demographics = tuple(name for name in _DEMOGRAPHICS if name in free)
        record = self.record
        if record is None:
            record = tuple(name for name in people.columns if name not in demographics)
        majority, points = self.majority, self.category_points
        if majority is None:
            majority = {name: value for name, value in _MAJORITY.items() if name in people.columns}
        if points is None:
            points = {name: value for name, value in _CATEGORY_POINTS.items() if name in people.columns}
        return Roles(demographics, record, majority, points)
