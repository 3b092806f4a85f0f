"""Simulated people with known, describable preferences, who answer pairs as a panel would."""

from fairwise.simulation.closeness import Closeness
from fairwise.simulation.kinds import KINDS
from fairwise.simulation.order import FirstNoticeable, Merit, Step
from fairwise.simulation.pairs import draw_pairs
from fairwise.simulation.panel import draw_respondents, simulate_panel
from fairwise.simulation.perception import Discount
from fairwise.simulation.respondent import Respondent
from fairwise.simulation.roles import Roles

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
