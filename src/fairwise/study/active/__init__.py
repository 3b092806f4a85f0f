"""The active design: ask where the answer is least certain, by chance and with known probability."""

from fairwise.study.active.chooser import ACTIVE, ActiveChooser, mean_over_pairs
from fairwise.study.active.model import Judgment

__all__ = ["ACTIVE", "ActiveChooser", "Judgment", "mean_over_pairs"]
