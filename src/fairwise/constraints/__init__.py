"""Judgments as sparse linear rows on the probabilities a model gives."""
