"""Which columns a model uses, and which of them it should perhaps not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairwise.learning.model.estimator_rules import EstimatorRule

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model

# What laws against discrimination name most often, as it is written in the names of columns.
_PROTECTED = {
    *("sex", "sexual", "gender", "orientation", "marital", "married", "pregnancy", "pregnant"),
    *("race", "racial", "ethnicity", "ethnic", "colour", "color", "caste", "origin"),
    *("nationality", "citizenship", "citizen", "foreign", "religion", "religious", "belief", "faith"),
    *("age", "birth", "disability", "disabled", "handicap"),
}


@dataclass(frozen=True)
class FeatureUse:
    """The columns of a model's table by what becomes of them, under the names that people read.

    Attributes
    ----------
    used, idle, unused
        What the model looks at; what it might, but no rule of it asks about; and what it was given but must not use.
        Of estimators whose rules are not known in words, whatever they may use is used.
    protected
        Those used that were named as protected, such as the columns of groups.
    suspected
        Those used whose name looks like one that is commonly protected.
    """

    used: tuple[str, ...]
    idle: tuple[str, ...]
    unused: tuple[str, ...]
    protected: tuple[str, ...]
    suspected: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: Model,
        protected: Iterable[str],
        called: Mapping[str, str] | None = None,
    ) -> FeatureUse:
        """``protected`` are columns that were named so; ``called`` is what people read instead of a column's name."""
        words = {} if called is None else called
        named = set(protected)
        allowed = [str(name) for name in model.features_]
        asked = set(allowed if any(isinstance(rule, EstimatorRule) for _, rule in model.rules_) else model.rules_.asked)
        used = [name for name in allowed if name in asked]
        every = [str(name) for name in getattr(model, "feature_names_in_", allowed)]
        shown = {name: words.get(name, name) for name in every}
        return cls(
            used=tuple(shown[name] for name in used),
            idle=tuple(shown[name] for name in allowed if name not in asked),
            unused=tuple(shown[name] for name in every if name not in allowed),
            protected=tuple(shown[name] for name in used if name in named),
            suspected=tuple(
                shown[name]
                for name in used
                if name not in named and (looks_protected(name) or looks_protected(shown[name]))
            ),
        )


def looks_protected(name: str) -> bool:
    """Whether a word of a column's name is one of those that are commonly protected.

    >>> looks_protected("personal_status_sex"), looks_protected("ageAtArrest"), looks_protected("mileage")
    (True, True, False)
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return not _PROTECTED.isdisjoint(word.lower() for word in words)
