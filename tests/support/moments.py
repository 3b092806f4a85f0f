"""Fairlearn's moments that fits take as rules about groups, each once."""

from __future__ import annotations

from fairlearn.reductions import (
    DemographicParity,
    EqualizedOdds,
    ErrorRateParity,
    FalsePositiveRateParity,
    TruePositiveRateParity,
)

MOMENTS = (DemographicParity, TruePositiveRateParity, FalsePositiveRateParity, EqualizedOdds, ErrorRateParity)
