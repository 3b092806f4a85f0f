"""What participants are asked beside the pairs, and how much and how often they may say."""

from __future__ import annotations

from fairwise.study.languages import marked

# As many characters as the fields take; a browser sends each line break as two.
LONGEST_WHY = 2_000
LONGEST_CLOSING = 10_000

CLOSING_QUESTIONS = (
    ("rules", marked("How did you decide? If you had rules of your own, please tell us in your own words.")),
    ("expressible", marked("Could you say what you think is fair with these answers? If not, what was missing?")),
    ("comments", marked("Is there anything else you want to tell us?")),
)
CONFIDENCE = (
    (1, marked("Not at all sure")),
    (2, marked("A little sure")),
    (3, marked("Somewhat sure")),
    (4, marked("Quite sure")),
    (5, marked("Very sure")),
)

# At the comprehension check.
TRIES = 2
