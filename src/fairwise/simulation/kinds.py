"""Named kinds of simulated people, each drawn with its own numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.simulation.closeness import ALWAYS, NEVER, Closeness
from fairwise.simulation.order import FirstNoticeable, Merit, Step
from fairwise.simulation.perception import Discount, Points, is_number
from fairwise.simulation.respondent import Respondent
from fairwise.simulation.roles import Roles

_SEEN_PAIRS = 2_000
_SHARE_WITHOUT_ORDER = 0.3


@dataclass(frozen=True)
class Setting:
    """Whom the drawn people will judge: the table, its roles and some random pairs of rows to get a feel for it."""

    people: pd.DataFrame
    roles: Roles
    left: pd.DataFrame
    right: pd.DataFrame
    spread: Mapping[str, float]

    @classmethod
    def of(cls, people: pd.DataFrame, roles: Roles, rng: np.random.Generator) -> "Setting":
        pairs = rng.integers(len(people), size=(2, _SEEN_PAIRS))
        left, right = (people.iloc[side].reset_index(drop=True) for side in pairs)
        spread = {name: float(column.std()) for name, column in people.items() if is_number(column)}
        return cls(people, roles.within(people), left, right, spread)


