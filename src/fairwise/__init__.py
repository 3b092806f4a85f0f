"""Fairness elicitation."""
