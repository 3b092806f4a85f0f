"""Errors of a model on new people, beside those of models that need no judgments."""

from __future__ import annotations

from dataclasses import dataclass

from fairwise.results.base import Result


@dataclass(frozen=True)
class Baseline(Result):
    """Error of a simpler way of deciding on the same new people, and what the model gains over it."""

    error: float
    low: float
    high: float
    gain: float
    """Its error less that of the model."""

    gain_low: float
    gain_high: float

    @property
    def is_beaten(self) -> bool:
        """Whether the model is better by more than chance explains."""
        return self.gain_low > 0


@dataclass(frozen=True)
class HeldOutErrors(Result):
    """Mean errors over splits into people to learn from and new ones, with 95 % intervals; NaN: no interval is known.

    Attributes
    ----------
    error, low, high
        Of the model.
    training
        Of the model on the people it was made from, in the same splits.
    splits
        How many there are.
    plain, constant
        The same kind of model without judgments, and the outcome that is wrong least where it was learned.
    """

    error: float
    training: float
    low: float
    high: float
    splits: int
    plain: Baseline
    constant: Baseline

    @property
    def not_beaten(self) -> dict[str, Baseline]:
        """Baselines that the model is not clearly better than: ``constant``, ``plain``."""
        every = {"constant": self.constant, "plain": self.plain}
        return {name: one for name, one in every.items() if not one.is_beaten}
