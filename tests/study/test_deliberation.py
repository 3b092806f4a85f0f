"""The table [deliberation], and which pairs are worth talking about."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.deliberation import Chosen, disagreement, listed
from fairwise.study.settings import StudySettings

LEAST = {"title": "t", "pairs": 5, "columns": [{"name": "x", "label": "X"}]}
PAIRS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("efgh")), unique=True)


def study(**more: Any) -> StudySettings:
    return StudySettings.checked({**LEAST, **more}, "here")


@pytest.mark.parametrize("design", [{"fixed": 2}, {"anchors": 2, "anchor_pool": 4}])
def test_it_is_about_pairs_that_several_people_answered(design: dict[str, int]) -> None:
    assert study(design=design, deliberation={"on": True}).deliberation.pairs == 10
    assert not study().deliberation.on


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "needed: design.fixed or design.anchors"),
        ({"design": {"fixed": 2}, "second_look": True}, "a second round of its own"),
    ],
)
def test_a_second_round_about_nothing_or_beside_another_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        study(**more, deliberation={"on": True})


@pytest.mark.parametrize("day", ["2026-02-29", "tomorrow", "31.12.2026", 7])
def test_a_day_that_is_none_is_refused(day: object) -> None:
    with pytest.raises(InputError, match="close_on"):
        study(deliberation={"close_on": day})


@pytest.mark.parametrize("day", ["2026-12-31", date(2026, 12, 31)])
def test_the_last_day_is_over_at_midnight(day: object) -> None:
    settings = study(design={"fixed": 2}, deliberation={"on": True, "close_on": day})
    assert settings.deliberation.until == datetime(2027, 1, 1, tzinfo=UTC)
    assert StudySettings.checked(settings.content(), "again") == settings
    assert study(deliberation={"close_on": day}).deliberation.until is None, "there is no second round to close for"


@given(st.lists(st.integers(0, 6), max_size=4))
def test_disagreement_is_the_share_of_two_people_who_differ(counts: list[int]) -> None:
    people = [answer for answer, number in enumerate(counts) for _ in range(number)]
    two = list(combinations(people, 2))
    share = sum(one != other for one, other in two) / len(two) if two else 0
    assert disagreement(counts) == pytest.approx(share)


@given(PAIRS, PAIRS)
def test_the_list_takes_both_kinds_by_turns_and_none_twice(
    disputed: list[tuple[str, str]], expensive: list[tuple[str, str]]
) -> None:
    found = listed(disputed, expensive)
    pairs = [pair for pair, _ in found]
    assert sorted(pairs) == sorted({*disputed, *expensive})
    for place, pair in enumerate(pairs):
        ranks = [of.index(pair) for of in (disputed, expensive) if pair in of]
        assert place <= 2 * min(ranks) + 1, "no pair stands further behind than its turn"
    assert all(pair in (disputed if why == Chosen.DISPUTED else expensive) for pair, why in found)
