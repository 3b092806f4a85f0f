"""Whether what an answer asks for is done: the one definition that fits and audits share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.judgments.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from fairwise.constraints.pairs import FloatArray

# A learner keeps its rules to about this precision; a judgment broken by less counts as honoured.
PRECISION = 1e-6

HONOURED, GIVEN_UP, ASKS_NOTHING = STATUS = ("honoured", "given up", "asks nothing")


def status_counts(status: Iterable[str]) -> dict[str, int]:
    """How many judgments are ``honoured``, ``given_up`` and ``asks_nothing``."""
    found = Counter(status)
    return {name.replace(" ", "_"): found[name] for name in STATUS}


def status_of(answer: NDArray[Any], violation: FloatArray, gamma: float) -> pd.Categorical[str]:
    """One of `STATUS` for each answer: honoured where the violation is at most gamma."""
    asks = np.asarray(answer != Answer.NO_CONSTRAINT, dtype=bool)
    codes = np.where(asks, np.where(violation <= gamma + PRECISION, 0, 1), 2)
    return pd.Categorical.from_codes(codes, categories=pd.Index(STATUS))
