"""The short names of statistical rules, as users write them on the command line and choose them in the console."""

from __future__ import annotations

from typing import Any

PARITIES = {
    "dp": "DemographicParity",
    "tpr": "TruePositiveRateParity",
    "fpr": "FalsePositiveRateParity",
    "eo": "EqualizedOdds",
    "error": "ErrorRateParity",
}
"""Each with the name of fairlearn's moment."""


def parity(name: str, bound: float) -> Any:
    """Return fairlearn's moment of this short name: no group further than ``bound`` from everyone."""
    from fairlearn import reductions

    return getattr(reductions, PARITIES[name])(difference_bound=bound)
