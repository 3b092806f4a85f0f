"""Where active pairs come, and which they are: by the seed, the participant, the position and the answers alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.designs.test_mixed import designs, mixed
from tests.support.examples import examples

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.judgments.answer import PairDesign
from fairwise.study.active import ParticipantAnswer, Situation, StudyChooser, written
from fairwise.study.folder import SCORES, GivenScores, StudyFolder
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@examples(60)
@given(designs(), st.integers(1, 12), st.integers(0, 2**63 - 1), st.integers(1, 10**6), st.integers(0, 10**4))
def test_places_are_exact_and_leave_the_rest_alone(
    design: dict[str, Any], active: int, seed: int, number: int, slot: int
) -> None:
    places = mixed(seed, **design, active=active).places(number, slot)
    assert places.count(None) == active
    assert places[0] is not None
    assert tuple(pair for pair in places if pair is not None) == mixed(seed, **design).of(number, slot)
    assert places == mixed(seed, **design, active=active).places(number, slot)
    assert mixed(seed, **design).places(number, slot) == mixed(seed, **design).of(number, slot)


def test_every_place_but_the_first_may_be_active() -> None:
    schedules = mixed(uniform=5, active=3)
    found = [[pair is None for pair in schedules.places(number, number)] for number in range(1000)]
    often = [sum(place) for place in zip(*found, strict=True)]
    assert often[0] == 0
    assert all(abs(count - 1000 * 3 / 7) < 80 for count in often[1:])


@pytest.fixture(scope="module")
def nobody(make_study: Callable[..., StudyFolder]) -> StudyChooser:
    return StudyChooser.of(make_study(pairs=12, design={"active": 6}, seed=7))


PERSONS = [f"known-as-{k}" for k in range(12)]
PAIRS = st.lists(
    st.tuples(st.sampled_from(PERSONS), st.sampled_from(PERSONS)).filter(lambda two: two[0] < two[1]),
    min_size=1,
    max_size=40,
    unique=True,
)


def said(who: str, pairs: list[tuple[str, str]], turn: int = 0) -> list[ParticipantAnswer]:
    return [ParticipantAnswer(who, a, b, list(Answer)[(k * k + turn) % 4]) for k, (a, b) in enumerate(pairs)]


@examples(40)
@given(PAIRS, st.integers(1, 10**6), st.integers(2, 1000), st.booleans())
def test_a_choice_is_new_has_a_chance_and_is_always_the_same(
    nobody: StudyChooser, shown: list[tuple[str, str]], number: int, position: int, learned: bool
) -> None:
    chooser = nobody.learned([each for k in range(3) for each in said(str(k), shown, k)]) if learned else nobody
    now = Situation(number, position, said("", shown[: len(shown) // 2]), shown)
    chosen = chooser.choose(now)
    assert chosen.design == PairDesign.ACTIVE
    assert chosen.selection_probability is not None
    assert 0 < chosen.selection_probability <= 1
    assert {chosen.a, chosen.b} not in [set(two) for two in shown]
    assert chooser.choose(now) == chosen
    stored = written(chooser.chooser.model)
    again = nobody.restored(stored, chooser.chooser.answers_so_far)
    assert again.choose(now) == chosen  # not one digit is lost
    assert written(again.chooser.model) == stored


def test_everything_a_choice_follows_from_matters(nobody: StudyChooser) -> None:
    shown = [(PERSONS[k], PERSONS[k + 1]) for k in range(8)]
    chooser = nobody.learned([each for k in range(40) for each in said(str(k), shown, k)])
    now = Situation(3, 9, said("", shown), shown)
    others = [
        chooser.choose(replace(now, participant_number=4)),
        chooser.choose(replace(now, position=10)),
        replace(chooser, seed=8).choose(now),
        chooser.choose(replace(now, own=said("", shown, 1))),
        nobody.choose(now),
        replace(chooser, scores={person: k / 11 for k, person in enumerate(PERSONS)}).choose(now),
    ]
    assert chooser.choose(now) not in others


def test_a_choice_is_written_down_and_must_never_change(nobody: StudyChooser) -> None:
    """Studies are verified years later: another choice here means that this can no longer be done."""
    shown = [(PERSONS[k], PERSONS[k + 1]) for k in range(8)]
    chooser = nobody.learned([each for k in range(40) for each in said(str(k), shown, k)])
    chosen = [chooser.choose(Situation(3, place, said("", shown), shown)) for place in (9, 10, 11)]
    assert [(pair.a.removeprefix("known-as-"), pair.b.removeprefix("known-as-")) for pair in chosen] == WRITTEN_DOWN
    assert [pair.selection_probability for pair in chosen] == pytest.approx(CHANCES, rel=1e-6)


WRITTEN_DOWN = [("6", "2"), ("9", "11"), ("4", "10")]
CHANCES = [0.01511285640101646, 0.024767001432345028, 0.010644776792855283]


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "[]",
        "[" * 100_000,
        "{}",
        '{"same": {}, "order": {}}',
        '{"same": {"mean": [1], "variance": [1]}, "order": null}',
    ],
)
def test_what_is_no_model_is_refused(nobody: StudyChooser, parameters: str) -> None:
    with pytest.raises(InputError, match="its parameters are not those of a model"):
        nobody.restored(parameters, 1)


def test_a_model_must_be_finite_with_some_spread(nobody: StudyChooser) -> None:
    good = written(nobody.chooser.model)
    for bad in (good.replace("4.0", "0.0", 1), good.replace("0.0", "NaN", 1)):
        assert bad != good
        with pytest.raises(InputError, match="its parameters are not those of a model"):
            nobody.restored(bad, 1)


# Scores of a current model


@pytest.fixture
def scored(tmp_path: Path) -> Callable[..., StudyFolder]:
    def make(scores: dict[str, Any], favorable_label: int = 0, active: int = 3) -> StudyFolder:
        people = pd.DataFrame({"age": range(20, 20 + len(PERSONS))}, index=pd.Index(PERSONS, name="id"))
        people.to_csv(tmp_path / "people.csv")
        pd.Series(scores, name="score").rename_axis("id").to_csv(tmp_path / "scores.csv")
        given_scores = GivenScores(PeopleFile.read(tmp_path / "scores.csv", "id"), "score", favorable_label)
        choices = {"title": "t", "pairs": 8, "design": {"active": active}}
        return new_study(
            tmp_path / f"study{len(list(tmp_path.iterdir()))}",
            PeopleFile.read(tmp_path / "people.csv", "id"),
            ["age"],
            choices,
            scores=given_scores,
        )

    return make


SCORED = {person: k / 16 for k, person in enumerate(PERSONS)}


def test_scores_are_of_the_good_label_and_part_of_what_the_study_is(scored: Callable[..., StudyFolder]) -> None:
    bad, good = scored(SCORED, 0), scored({**SCORED, "a stranger": 0.5}, 1)
    assert bad.scores == {person: 1 - score for person, score in SCORED.items()}
    assert good.scores == SCORED
    assert StudyFolder.open(good.path).fingerprint == good.fingerprint != bad.fingerprint
    assert (good.path / SCORES).stat().st_mode & 0o077 == 0
    chooser = StudyChooser.of(good)
    assert chooser.scores == SCORED


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"known-as-3": None}, "is not the probability of label 1"),
        ({"known-as-3": 1.5}, "is not the probability of label 1"),
        ({"known-as-3": "high"}, "is not the probability of label 1"),
    ],
)
def test_scores_that_are_none_are_refused(
    scored: Callable[..., StudyFolder], change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        scored({**SCORED, **change})


def test_everyone_needs_a_score_and_the_design_active_pairs(scored: Callable[..., StudyFolder]) -> None:
    with pytest.raises(InputError, match=r"scores.csv: no score for 1 of the people: 'known-as-0'"):
        scored({person: score for person, score in SCORED.items() if person != "known-as-0"})
    with pytest.raises(InputError, match="scores are for active pairs, and the design has none"):
        scored(SCORED, active=0)


def test_a_file_of_scores_that_was_changed_is_refused(scored: Callable[..., StudyFolder]) -> None:
    study = scored(SCORED)
    table = pd.read_parquet(study.path / SCORES)
    for changed, problem in (
        (table.assign(score=2.0), "person 'known-as-0': 2.0; needed: a probability"),
        (table.iloc[1:], "its people are not those of the study"),
        (table.rename(columns={"score": "risk"}), "needed: the columns 'id' and 'score'"),
    ):
        changed.to_parquet(study.path / SCORES, index=False)
        with pytest.raises(InputError, match=problem):
            StudyFolder.open(study.path)
