"""Which pairs a participant is shown: the same for the same seed, number and slot, on any machine, with any version."""

from fairwise.study.designs.numbered_pairs import DifferingPairs, IdenticalPairs, PairAnswer, ShownPair
from fairwise.study.designs.schedules import ArmTurns, Schedules

__all__ = ["ArmTurns", "DifferingPairs", "IdenticalPairs", "PairAnswer", "Schedules", "ShownPair"]
