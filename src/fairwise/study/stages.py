"""The states of a study, and a participant's stages in it: which come after which."""

from __future__ import annotations

from enum import StrEnum

from fairwise.study.questions import asked
from fairwise.study.settings import StudySettings


class StudyState(StrEnum):
    """What an operator decided last."""

    OPEN = "open"
    """People may begin and answer."""

    PAUSED = "paused"
    """Not for the time being."""

    CLOSED = "closed"
    """Not any more."""

    def may_follow(self, state: str) -> bool:
        """Whether a study in another state may come to this one; from closed there is no way back."""
        return state not in (self, StudyState.CLOSED)


class Stage(StrEnum):
    """Where a participant is, as it is kept; everyone begins after they agreed."""

    RELATION = "relation"
    QUESTIONS = "questions"
    """Those before the pairs; those after them are asked of whoever is at the pairs, when all are answered."""

    TASK = "task"
    CHECK = "check"
    PRACTICE = "practice"
    PAIRS = "pairs"
    SECOND_LOOK = "second_look"
    FINISHED = "finished"
    SCREENED_OUT = "screened_out"


ENDS = (Stage.FINISHED, Stage.SCREENED_OUT)
"""Whoever is there has nothing to go on with."""

ANSWERING = (Stage.PAIRS, Stage.SECOND_LOOK)
"""Where answers are given, and from where one finishes."""

_WAY = (Stage.RELATION, Stage.QUESTIONS, Stage.TASK, Stage.CHECK, Stage.PRACTICE, Stage.PAIRS)


def first_stage(settings: StudySettings) -> Stage:
    """Return where participants of this study begin."""
    return next(stage for stage in _WAY if _wants(settings, stage))


def stage_after(stage: Stage, settings: StudySettings) -> Stage:
    """Return what comes next on the way to the pairs, also after a stage that was switched off meanwhile."""
    return next(later for later in _WAY[_WAY.index(stage) + 1 :] if _wants(settings, later))


def _wants(settings: StudySettings, stage: Stage) -> bool:
    wanted = {
        Stage.RELATION: bool(settings.relations),
        Stage.QUESTIONS: bool(asked(settings.questions, "before")),
        Stage.CHECK: settings.comprehension_check,
        Stage.PRACTICE: settings.practice,
    }
    return wanted.get(stage, True)
