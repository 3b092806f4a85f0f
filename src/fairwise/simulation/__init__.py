"""Simulated people with known, describable preferences, who answer pairs as a panel would."""

from fairwise.simulation.kinds import KINDS, Roles
from fairwise.simulation.panel import draw_pairs, draw_respondents, simulate_panel
from fairwise.simulation.principles import PRINCIPLES, draw_panel
from fairwise.simulation.respondent import Closeness, Discount, FirstNoticeable, Merit, Respondent, Step
from fairwise.simulation.second_round import SecondRound, SecondThoughts, draw_arms, simulate_second_round

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
