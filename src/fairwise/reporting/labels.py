"""What the two outcomes are called, and which of them is the good one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairwise.learning.estimator import PairwiseFairClassifier


@dataclass(frozen=True)
class Labels:
    """Words for the two outcomes; ``favorable`` is the position of the good one, None where nobody ordered a pair."""

    words: tuple[str, str]
    favorable: int | None

    @classmethod
    def of(cls, model: PairwiseFairClassifier, words: Mapping[Any, str] | None) -> Labels:
        classes = list(model.classes_)
        given = {} if words is None else dict(words)
        unknown = [label for label in given if label not in classes]
        if unknown:
            raise InputError(f"labels: {unknown[0]!r} is no outcome of the model, whose outcomes are {model.classes_}")
        # A number says nothing without a word beside it; text speaks for itself.
        own = {label: label if isinstance(label, str) else f"label {label}" for label in classes}
        first, second = (str(given.get(label, own[label])) for label in classes)
        favorable = None if model.favorable_label_ is None else classes.index(model.favorable_label_)
        return cls((first, second), favorable)

    @property
    def treated(self) -> str:
        """The outcome whose probability is compared: the good one, or label 1 where no direction is needed."""
        return self.words[1 if self.favorable is None else self.favorable]

    @property
    def positive(self) -> str:
        """The outcome that rates of groups are about, whichever is good."""
        return self.words[1]
