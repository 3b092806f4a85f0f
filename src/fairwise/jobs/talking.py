"""What talking did, as a fit tells it: computed from its answers, and put in the words of each report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairwise.auditing import Effects, effects, learned_effects
from fairwise.auditing.arms import ARM, CONTROL, IN_ROOMS
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.languages import SOURCE
from fairwise.learning.regressor import PairwiseFairRegressor
from fairwise.reporting.sentences import translated
from fairwise.reporting.words import words_in
from fairwise.store.fit_files import REPORTS

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model
    from fairwise.jobs.fit_data import FitData
    from fairwise.store.export import SecondRound

NO_CONTROL = "No arm can be compared with, so talking cannot be told apart from being asked twice."
NOT_LEARNED = "What would be learned before and after cannot be compared for this kind of model."
_PANELS, _ASSIGNMENTS = 40, 99


def talking_did(data: FitData, model: Model) -> Effects:
    """What people changed in a second round, and what that does to such a model, at its own gamma and eta."""
    assert data.second_round is not None
    found = effects_of(data.judgments, data.second_round)
    if found.judges.empty:
        return found
    groups = data.groups.iloc[:, 0] if data.groups is not None and data.groups.shape[1] == 1 else None
    arms = data.second_round.arms.reindex(data.judgments.judges)
    if found.control is None:
        arms = pd.DataFrame(index=arms.index)
    answers = Judgments(data.judgments.frame, people=data.people, judge_attributes=arms)
    return with_learned(found, model, data.people, data.outcome, answers, groups)


def with_learned(
    found: Effects,
    model: Model,
    people: pd.DataFrame,
    outcome: pd.Series[Any],
    answers: Judgments,
    groups: pd.Series[Any] | None,
) -> Effects:
    """The same with what would be learned before and after, or a note that this cannot be told of such a model."""
    if isinstance(model, PairwiseFairRegressor):
        return replace(found, notes=(*found.notes, NOT_LEARNED))
    try:
        learned = learned_effects(
            model,
            people,
            outcome,
            answers,
            control=found.control,
            groups=groups,
            n_resamples=_PANELS,
            n_draws=_ASSIGNMENTS,
        )
    except InputError:
        return replace(found, notes=(*found.notes, NOT_LEARNED))
    return replace(found, learned=learned)


def effects_of(judgments: Judgments, second: SecondRound) -> Effects:
    """What people changed, by arm; where no control arm is known, or nobody in it answered, only of everyone."""
    known = second.arms.reindex(judgments.judges)
    names = set() if ARM not in known else set(known[ARM].dropna())
    control = next((name for name in (second.control, CONTROL) if name in names), None)
    compared = control is not None and len(names) > 1
    answers = Judgments(judgments.frame, judge_attributes=known if compared else pd.DataFrame(index=known.index))
    found = effects(answers, control=control if compared else None, reasons=second.reasons)
    if second.in_rooms:
        found = replace(found, notes=(IN_ROOMS, *found.notes))
    # Of several arms it would be wrong to say that there are no two.
    return found if compared or len(names) < 2 else replace(found, notes=(*found.notes[:-1], NO_CONTROL))


def effects_in_words(found: Effects) -> dict[str, Any]:
    """For a file: all numbers, with what is stated and noted in English and, under ``languages``, in all others."""
    tests = found.to_frame()
    said = [*found.notes, *tests["statement"].unique()]
    others = {code: words_in(code) for code in REPORTS if code != SOURCE}
    return {
        "control": found.control,
        "confidence": found.confidence,
        "assignments": None if found.exact else found.n_draws,
        "arms": found.arms.reset_index(),
        "learned": None if found.learned is None else found.learned.arms.reset_index(),
        "tests": tests,
        "notes": list(found.notes),
        "languages": {
            code: {text: translated(text, words.language) for text in said} for code, words in others.items()
        },
    }
