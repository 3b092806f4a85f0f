"""The active design: ask where the answer is least certain, by chance and with known probability."""

from fairwise.study.active.chooser import ACTIVE, ActiveChooser
from fairwise.study.active.model import GivenAnswer
from fairwise.study.active.weighting import mean_over_pairs

__all__ = ["ACTIVE", "ActiveChooser", "GivenAnswer", "mean_over_pairs"]
