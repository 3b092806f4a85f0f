"""The table [design]: one way to say it or the other, and what cannot be is refused in one clear line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.study.design import KINDS
from fairwise.study.folder import StudyFolder
from fairwise.study.settings import StudySettings

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST = {"title": "t", "columns": [{"name": "x", "label": "X"}]}
NUMBERS = st.fixed_dictionaries({"uniform": st.integers(1, 9), **{kind: st.integers(0, 9) for kind in KINDS}})


def study(**more: Any) -> StudySettings:
    return StudySettings.checked({**LEAST, **more}, "here")


@given(NUMBERS)
def test_saying_uniform_is_saying_the_sum(numbers: dict[str, int]) -> None:
    numbers["repeats"] %= 1 + numbers["uniform"]
    total = sum(numbers.values())
    design = {**numbers, "strata": ["x"]}
    added = study(design=design)
    assert added.pairs == total
    assert added.mixture == {kind: number for kind, number in numbers.items() if number}
    assert added == study(pairs=total, design=design)
    del design["uniform"]
    assert added == study(pairs=total, design=design)
    assert added == StudySettings.checked(added.model_dump(), "here")


def test_without_a_design_all_are_uniform() -> None:
    assert study().mixture == study(design={}).mixture == {"uniform": 50}
    assert study(design={"fixed": 50}).mixture == {"fixed": 50}
    assert study(design={"anchor_pool": 9}).design.pool == 0
    assert study(design={"anchors": 9}).design.pool == 9


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "two sums": (
        {"pairs": 50, "design": {"uniform": 28, "anchors": 6}},
        "pairs = 50, but design adds up to 34; leave out one of the two",
    ),
    "more than all": ({"pairs": 5, "design": {"fixed": 4, "checks": 2}}, "pairs = 5, but design alone adds up to 6"),
    "not a number": ({"design": {"uniform": "many"}}, "design.uniform = 'many': each kind needs a whole number from 0"),
    "below nothing": ({"design": {"anchors": -1}}, "design.anchors = -1: Input should be greater than or equal to 0"),
    "unknown": ({"design": {"colours": 3}}, "there is no setting design.colours"),
    "not a table": ({"design": 3}, "design = 3: "),
    "too many": (
        {"design": {"uniform": 600, "fixed": 600}},
        "pairs = 1200: Input should be less than or equal to 1000",
    ),
    "nothing to repeat": (
        {"design": {"uniform": 3, "repeats": 4, "checks": 9}},
        "design.repeats = 4: there are only 3 pairs to repeat",
    ),
    "only checks": ({"design": {"uniform": 0, "checks": 9}}, "design has nothing but checks, which do not count"),
    "a pool too small": (
        {"design": {"anchors": 5, "anchor_pool": 4}},
        "design: anchor_pool = 4: fewer than the 5 anchors",
    ),
    "no strata": ({"design": {"stratified": 5}}, "design: stratified pairs need strata: name the columns"),
    "unknown strata": ({"design": {"stratified": 5, "strata": ["y"]}}, "design.strata: 'y' is not among the columns"),
    "only active": (
        {"design": {"uniform": 0, "active": 5, "checks": 1}},
        "design.active: another pair that counts must come first; add uniform ones",
    ),
    "active ones to repeat": (
        {"design": {"uniform": 2, "active": 9, "repeats": 3}},
        "design.repeats = 3: there are only 2 pairs to repeat",
    ),
}


@pytest.mark.parametrize(("content", "part"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(content: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        study(**content)
    assert str(caught.value).startswith(f"here: {part}")
    assert "\n" not in str(caught.value)


def test_a_study_whose_people_do_not_allow_its_design_does_not_open(make_study: Callable[..., StudyFolder]) -> None:
    with pytest.raises(InputError, match=r"people.csv: design.checks = 1, but only 0 pairs of people are identical"):
        make_study(design={"checks": 1})
    made = make_study()
    changed = StudySettings.checked({**made.settings.model_dump(), "design": {"checks": 1}}, "here")
    (made.path / "study.toml").write_text(changed.toml(), encoding="utf-8")
    with pytest.raises(InputError, match=r"study.toml: design.checks = 1, but only 0 pairs of people are identical"):
        StudyFolder.open(made.path)


def test_only_what_decides_pairs_is_in_the_fingerprint(make_study: Callable[..., StudyFolder]) -> None:
    plain, leased = make_study(), make_study(design={"lease_hours": 3, "strata": ["town"]})
    assert plain.fingerprint == leased.fingerprint
    anchored = make_study(design={"anchors": 1})
    assert anchored.fingerprint != plain.fingerprint
    assert anchored.fingerprint == make_study(design={"anchors": 1, "anchor_people": 5}).fingerprint
    assert anchored.fingerprint != make_study(design={"anchors": 1, "anchor_pool": 3}).fingerprint
