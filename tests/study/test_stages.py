"""Which stage comes first, and which comes after which."""

from __future__ import annotations

from typing import Any

import pytest

from fairwise.study.recruitment import Relation
from fairwise.study.settings import Stage, StudySettings, first_stage, stage_after


def settings(*, relation: bool = False, check: bool = False, practice: bool = False) -> StudySettings:
    relations = (
        [Relation(name="staff", words="I work there"), Relation(name="guest", words="I was there")] if relation else []
    )
    said: dict[str, Any] = {"title": "A study", "pairs": 4, "columns": [{"name": "age", "label": "Age"}]}
    said |= {"relations": relations, "comprehension_check": check, "practice": practice}
    return StudySettings(**said)


@pytest.mark.parametrize(
    ("wanted", "way"),
    [
        ({}, ["task", "pairs"]),
        ({"practice": True}, ["task", "practice", "pairs"]),
        ({"relation": True, "check": True}, ["relation", "task", "check", "pairs"]),
        ({"relation": True, "check": True, "practice": True}, ["relation", "task", "check", "practice", "pairs"]),
    ],
)
def test_the_way_to_the_pairs(wanted: dict[str, bool], way: list[str]) -> None:
    study = settings(**wanted)
    went = [first_stage(study)]
    while went[-1] != Stage.PAIRS:
        went.append(stage_after(went[-1], study))
    assert went == way


@pytest.mark.parametrize("left", ["relation", "check", "practice"])
def test_whoever_is_at_a_stage_that_was_switched_off_goes_on(left: str) -> None:
    assert stage_after(Stage(left), settings()) == (Stage.TASK if left == "relation" else Stage.PAIRS)
