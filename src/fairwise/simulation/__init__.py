"""Simulated people with known, describable preferences, who answer pairs as a panel would."""

from fairwise.simulation.kinds import KINDS, PRINCIPLES, Roles, draw_panel
from fairwise.simulation.panel import (
    SecondRound,
    SecondThoughts,
    draw_arms,
    draw_pairs,
    draw_respondents,
    simulate_panel,
    simulate_second_round,
)
from fairwise.simulation.respondent import Closeness, Discount, FirstNoticeable, Merit, Respondent, Step

__all__ = [
    "KINDS",
    "PRINCIPLES",
    "Closeness",
    "Discount",
    "FirstNoticeable",
    "Merit",
    "Respondent",
    "Roles",
    "SecondRound",
    "SecondThoughts",
    "Step",
    "draw_arms",
    "draw_pairs",
    "draw_panel",
    "draw_respondents",
    "simulate_panel",
    "simulate_second_round",
]
