"""Judgments: answers about pairs of people as a validated table, and measures of the judges who gave them.

The measures are loaded when they are first used, because they need more than a table does.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from fairwise.judgments.answer import Answer
from fairwise.judgments.table import Judgments

if TYPE_CHECKING:
    from fairwise.judgments.agreement import krippendorff_alpha
    from fairwise.judgments.conflicts import find_conflicts
    from fairwise.judgments.opinions import cluster_judges, judge_drivers
    from fairwise.judgments.reliability import check_failures, position_bias, repeat_consistency

__all__ = [
    "Answer",
    "Judgments",
    "check_failures",
    "cluster_judges",
    "find_conflicts",
    "judge_drivers",
    "krippendorff_alpha",
    "position_bias",
    "repeat_consistency",
]

_HOME = {
    "check_failures": "reliability",
    "cluster_judges": "opinions",
    "find_conflicts": "conflicts",
    "judge_drivers": "opinions",
    "krippendorff_alpha": "agreement",
    "position_bias": "reliability",
    "repeat_consistency": "reliability",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
