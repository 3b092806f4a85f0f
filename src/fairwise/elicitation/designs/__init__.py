"""Which pairs a participant is shown: the same for the same seed, number and slot, on any machine, with any version."""

from fairwise.elicitation.designs.pairs import DifferingPairs, IdenticalPairs, ShownPair
from fairwise.elicitation.designs.schedules import Schedules

__all__ = ["DifferingPairs", "IdenticalPairs", "Schedules", "ShownPair"]
