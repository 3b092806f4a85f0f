"""Distances of models from what people said, and what of that holds beyond the people asked."""

from fairwise.auditing.answer_bands import AnswerBands, answer_bands
from fairwise.auditing.audit import Audit, audit
from fairwise.auditing.effects import effects
from fairwise.auditing.frontier import frontier
from fairwise.auditing.held_out import HeldOut, held_out
from fairwise.auditing.influence import influential_judges, without_judges
from fairwise.auditing.learned_effects import learned_effects
from fairwise.auditing.new_people import held_out_errors
from fairwise.auditing.panel import compare_rules
from fairwise.auditing.plan import judge_correlation, plan
from fairwise.auditing.prices import (
    error_without_dearest,
    followed_by_judge,
    followed_by_pair,
    lorenz,
    price_by_person,
    removal_saving,
)
from fairwise.auditing.scores import expected_accuracy, violation_scorer
from fairwise.auditing.theorems import theorems
from fairwise.results.effects import Effects, LearnedEffects

__all__ = [
    "AnswerBands",
    "Audit",
    "Effects",
    "HeldOut",
    "LearnedEffects",
    "answer_bands",
    "audit",
    "compare_rules",
    "effects",
    "error_without_dearest",
    "expected_accuracy",
    "followed_by_judge",
    "followed_by_pair",
    "frontier",
    "held_out",
    "held_out_errors",
    "influential_judges",
    "judge_correlation",
    "learned_effects",
    "lorenz",
    "plan",
    "price_by_person",
    "removal_saving",
    "theorems",
    "violation_scorer",
    "without_judges",
]
