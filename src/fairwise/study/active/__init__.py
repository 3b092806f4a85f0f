"""The active design: ask where the answer is least certain, by chance and with known probability."""

from fairwise.study.active.chooser import ActiveChooser, mean_over_pairs
from fairwise.study.active.model import ParticipantAnswer

__all__ = ["ActiveChooser", "ParticipantAnswer", "mean_over_pairs"]
