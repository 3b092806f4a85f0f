"""What talking did, as a fit left it in ``effects.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairwise.store.fit_files import EFFECTS, Fitted


@dataclass(frozen=True)
class EffectsFound:
    """By arm and against the control arm, see :class:`fairwise.auditing.Effects`; what is not known is None."""

    control: str | None
    confidence: float
    arms: Sequence[Mapping[str, Any]]
    """The control arm first, everyone last."""

    tests: Sequence[Mapping[str, Any]]
    """Their statements are in the language that was asked for."""

    notes: Sequence[str]
    learned: Sequence[Mapping[str, Any]]
    """What would be learned before and after, by arm; empty where that is not told."""

    @property
    def knows_reasons(self) -> bool:
        """Whether it is told what was changed to what most of the reasons are for."""
        return "towards_reasons" in self.arms[-1]

    @property
    def compared(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The tests by the arm that they are about."""
        return {arm: [test for test in self.tests if test["arm"] == arm] for arm in self._names}

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(test["arm"] for test in self.tests))


def effects_found(fitted: Fitted, language: str) -> EffectsFound | None:
    """What the fit tells of it, in a language, English where it says nothing in this one; None if there is nothing."""
    file = fitted.file(EFFECTS)
    if file is None:
        return None
    content = json.loads(file.read_text(encoding="utf-8"))
    words = content["languages"].get(language, {})
    tests = [test | {"statement": words.get(test["statement"], test["statement"])} for test in content["tests"]]
    notes = [words.get(note, note) for note in content["notes"]]
    learned = content.get("learned") or ()
    return EffectsFound(content["control"], content["confidence"], content["arms"], tests, notes, learned)
