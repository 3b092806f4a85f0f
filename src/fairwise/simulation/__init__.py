"""Simulated people with known, describable preferences, who answer pairs as a panel would."""

from fairwise.simulation.kinds import KINDS, Roles
from fairwise.simulation.panel import draw_pairs, draw_respondents, simulate_panel
from fairwise.simulation.respondent import Closeness, Discount, FirstNoticeable, Merit, Respondent, Step

__all__ = [
    "KINDS",
    "Closeness",
    "Discount",
    "FirstNoticeable",
    "Merit",
    "Respondent",
    "Roles",
    "Step",
    "draw_pairs",
    "draw_respondents",
    "simulate_panel",
]
