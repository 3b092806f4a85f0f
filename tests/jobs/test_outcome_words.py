"""What outcomes are called for people: by the study's words, or by their column, and never by a bare number."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairwise.auditing.decisions import Labels
from fairwise.errors import InputError
from fairwise.jobs.fit_data import FitData
from fairwise.study.design import Decision, OutcomeWords
from fairwise.study.fit_choices import FitChoices
from fairwise.study.settings import StudySettings
from fairwise.tables.rows import text_of

PAIRS: list[tuple[Any, Any]] = [(0, 1), (1, 2), (-1, 1), (False, True), (0.0, 1.0), ("bad", "good"), ("0", "1")]


def test_no_outcome_is_called_by_a_number_alone() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        labels = PAIRS[int(rng.integers(len(PAIRS)))]
        outcome = pd.Series(rng.permutation(np.array([*labels] * 3)), name="hired")
        good = int(rng.integers(2))
        words = OutcomeWords(good="invited", other="turned down") if rng.random() < 0.5 else None
        choices = FitChoices(name="m", favorable_label=text_of(labels[good]))
        nothing: Any = None
        data = FitData(
            choices,
            nothing,
            outcome,
            nothing,
            datetime.now(UTC),
            "t",
            "q",
            labels={},
            outcome_words=words,
        )
        model: Any = SimpleNamespace(
            classes_=np.unique(outcome), favorable_label_=data.favorable_label, label_values=None
        )
        named = Labels.of(model, data.label_words)
        if words is not None:
            assert named.words[good] == "invited"
            assert named.words[1 - good] == "turned down"
        elif isinstance(labels[0], str):
            assert named.words == labels
        else:
            assert named.words == tuple(f"hired = {text_of(label)}" for label in np.unique(outcome).tolist())
        assert named.treated == named.words[good]


def test_words_of_two_outcomes_are_for_two_outcomes() -> None:
    words, columns = {"good": "in", "other": "out"}, [{"name": "x", "label": "X"}]
    assert StudySettings.checked({"title": "t", "columns": columns, "outcome_words": words}, "study").outcome_words
    several = [Decision(label=name, words=name, value=value).model_dump() for name, value in (("a", 0), ("b", 1))]
    with pytest.raises(InputError, match="outcome_words are for two outcomes"):
        StudySettings.checked({"title": "t", "columns": columns, "outcome_words": words, "decisions": several}, "study")
    with pytest.raises(InputError, match="both outcomes have the words 'in'"):
        StudySettings.checked({"title": "t", "columns": columns, "outcome_words": {**words, "other": "in"}}, "study")
