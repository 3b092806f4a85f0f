"""The turns of a room that talks, and the settings for it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.deliberation import Step, Turn
from fairwise.study.settings import StudySettings

PAIRS = st.integers(1, 12)


@given(pairs=PAIRS, choices=st.lists(st.integers(0, 1), max_size=80))
def test_whatever_an_operator_chooses_a_room_comes_to_each_pair_once_in_order_and_to_an_end(
    pairs: int, choices: list[int]
) -> None:
    turn, way = Turn(), [Turn()]
    for choice in [*choices, *([0] * (4 * pairs + 2))]:
        ways = turn.following(pairs)
        if not ways:
            break
        turn = ways[min(choice, len(ways) - 1)]
        way.append(turn)
    assert turn == Turn(pairs, Step.OVER)
    assert len(set(way)) == len(way)  # it never comes back to a turn
    assert [one.pair for one in way if one.step == Step.ALONE] == list(range(1, pairs + 1))
    for before, after in pairwise(way):
        assert after.pair in (before.pair, before.pair + 1)
        if after.step == Step.AGAIN:  # nobody is asked again who has not seen the answers
            assert before == Turn(after.pair, Step.SHOWN)


@given(pair=st.integers(0, 99_999), step=st.sampled_from(Step))
def test_a_turn_is_read_as_it_is_written(pair: int, step: Step) -> None:
    assert Turn.read(str(Turn(pair, step))) == (pair, step)


@pytest.mark.parametrize("text", ["", "3", "3-", "-alone", "x-alone", "3-ALONE", "٣-alone", "9999999-alone"])
def test_what_is_no_turn_is_none(text: str) -> None:
    assert Turn.read(text) is None


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"design": {"anchors": 2, "anchor_pool": 4}}, "needed: design.fixed"),
        ({"design": {"fixed": 2}, "second_look": True}, "switch off second_look"),
        ({"design": {"fixed": 2}, "deliberation": {"rooms": True, "on": True}}, "deliberation.on"),
    ],
)
def test_rooms_talk_about_fixed_pairs_and_people_are_asked_no_third_time(settings: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        study(**{"deliberation": {"rooms": True}, **settings})


def test_rooms_that_talk() -> None:
    assert study(design={"fixed": 2}, deliberation={"rooms": True}).deliberation.rooms


def study(**more: Any) -> StudySettings:
    return StudySettings.checked({"title": "t", "pairs": 5, "columns": [{"name": "x", "label": "X"}], **more}, "here")
