"""How far models are from what people said, and how much of that holds beyond the people asked."""

from fairwise.auditing.audit import Audit, audit
from fairwise.auditing.generalization import HeldOut, held_out
from fairwise.auditing.plan import judge_correlation, plan
from fairwise.auditing.scorers import expected_accuracy, violation_scorer
from fairwise.auditing.theorems import theorems

__all__ = [
    "Audit",
    "HeldOut",
    "audit",
    "expected_accuracy",
    "held_out",
    "judge_correlation",
    "plan",
    "theorems",
    "violation_scorer",
]
