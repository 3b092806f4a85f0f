"""The active design: ask where the answer is least certain, by chance and with known probability."""

from fairwise.elicitation.active.chooser import ACTIVE, ActiveChooser
from fairwise.elicitation.active.model import GivenAnswer
from fairwise.elicitation.active.weighting import mean_over_pairs

__all__ = ["ACTIVE", "ActiveChooser", "GivenAnswer", "mean_over_pairs"]
