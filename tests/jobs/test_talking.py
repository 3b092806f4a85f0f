"""What talking did, as a fit tells it: only when the second round is over, and what `compare-arms` says of it too."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.fitting import made_here, study_of, submitted
from tests.support.rounds_on_store import PAIRS, TWO_ARMS, play_in_room, play_two_rounds

from fairwise.auditing.effects import IN_ROOMS
from fairwise.jobs.work import NO_CONTROL, NOT_LEARNED, effects_of
from fairwise.messages import translated
from fairwise.results.effects import Effects
from fairwise.store.export import SecondRound, finished_second_round, judgments
from fairwise.store.fit_files import EFFECTS, REPORTS, SUMMARY, job_folder
from fairwise.store.store import Store
from fairwise.store.study_state import set_state
from fairwise.web.console.base import results_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder


ROUNDS: dict[str, Any] = {"design": {"fixed": PAIRS}, "deliberation": {"on": True}, "arms": TWO_ARMS}


@pytest.fixture
def talked(tmp_path: Path) -> Iterator[tuple[StudyFolder, Store]]:
    study = study_of(tmp_path, n_people=40, pairs_each=PAIRS, **ROUNDS)
    with closing(Store.open(study.path / "study.sqlite", study.fingerprint)) as store:
        play_two_rounds(study, store)
        yield study, store


def fitted(study: StudyFolder, store: Store, **settings: Any) -> Path:
    """A fit made in this process; returns its folder."""
    job_id = submitted(store, frontier=False, influence=False, **settings)
    made_here(study, store)
    return job_folder(study.path, job_id)


def test_nothing_is_told_before_the_second_round_is_over(talked: tuple[StudyFolder, Store]) -> None:
    study, store = talked
    assert store.read_now(partial(finished_second_round, arms=study.settings.arms)) is None
    home = fitted(study, store)
    assert not (home / EFFECTS).exists()
    assert "What talking did" not in (home / REPORTS["en"]).read_text(encoding="utf-8")


def test_a_fit_of_a_closed_study_tells_what_talking_did(talked: tuple[StudyFolder, Store]) -> None:
    study, store = talked
    store.change_now(partial(set_state, state="closed"))
    home = fitted(study, store)
    found = json.loads((home / EFFECTS).read_text(encoding="utf-8"))
    assert found["control"] == "again"
    assert [line["arm"] for line in found["arms"]] == ["again", "talk", "everyone"]
    every = [*found["tests"], *found["learned"]["tests"]]
    tests = {line["name"]: line for line in every}
    # Half of what people of the arm said alone was not "same" and is now; nobody of the other arm changed anything.
    assert tests["changed"]["effect"] == tests["towards_reasons"]["effect"] == 0.5
    assert tests["changed"]["in_control"] == 0
    assert found["assignments"] is None, "all assignments within blocks, of which there are few"
    learned = {line["arm"]: line for line in found["learned"]["arms"]}
    assert list(learned) == ["again", "talk", "everyone"]
    own = json.loads((home / SUMMARY).read_text(encoding="utf-8"))["certificate"]
    assert learned["everyone"]["error_after"] == pytest.approx(own["error"], abs=1e-3), "everyone came back"
    assert learned["again"]["error_change"] == learned["again"]["treated_differently"] == 0, "nobody changed anything"
    assert {"error", "price", "treated_differently"} <= set(tests)
    assert tests["changed"]["p_value"] <= 2 / 108
    stored = Effects.from_json(found)
    statements = [row["statement"] for rows in stored.test_rows.values() for row in rows]
    assert set(statements) == {line["statement"] for line in every}
    german = results_language("de")
    assert all(translated(text, german) != str(text) for text in (*stored.notes, *statements))
    for code, heading in (("en", "What talking did"), ("de", "Was das Gespräch bewirkt hat")):
        assert heading in (home / REPORTS[code]).read_text(encoding="utf-8")


def test_of_amounts_it_is_told_what_people_changed_and_not_what_is_learned(tmp_path: Path) -> None:
    study = study_of(tmp_path, n_people=40, pairs_each=PAIRS, amount={"least": 0, "most": 10_000}, **ROUNDS)
    with closing(Store.open(study.path / "study.sqlite", study.fingerprint)) as store:
        play_two_rounds(study, store)
        store.change_now(partial(set_state, state="closed"))
        home = fitted(study, store, favorable_label=None)
    found = json.loads((home / EFFECTS).read_text(encoding="utf-8"))
    assert [line["arm"] for line in found["arms"]] == ["again", "talk", "everyone"]
    assert found["learned"] is None
    assert NOT_LEARNED in found["notes"]


def test_of_rooms_it_is_told_what_people_changed_there(tmp_path: Path) -> None:
    study = study_of(
        tmp_path, n_people=40, pairs_each=PAIRS, design={"fixed": PAIRS}, practice=False, deliberation={"rooms": True}
    )
    with closing(Store.open(study.path / "study.sqlite", study.fingerprint)) as store:
        play_in_room(study, store)
        assert not (fitted(study, store) / EFFECTS).exists(), "the study is not closed"
        store.change_now(partial(set_state, state="closed"))
        home = fitted(study, store)
    found = json.loads((home / EFFECTS).read_text(encoding="utf-8"))
    assert [line["arm"] for line in found["arms"]] == ["everyone"]
    assert found["arms"][0]["changed"] == 0.5, "every other answer was not that they are the same"
    assert "towards_reasons" not in found["arms"][0], "nobody knows what was said aloud"
    assert found["notes"][0] == IN_ROOMS
    note = Effects.from_json(found).notes[0]
    assert translated(note, results_language("de")).startswith("Die Menschen sprachen in Räumen")
    learned = json.loads((home / SUMMARY).read_text(encoding="utf-8"))["certificate"]
    assert found["learned"]["arms"][0]["error_after"] == pytest.approx(learned["error"], abs=1e-3)
    for code, heading in (("en", "What talking did"), ("de", "Was das Gespräch bewirkt hat")):
        assert heading in (home / REPORTS[code]).read_text(encoding="utf-8")


def test_of_a_room_in_which_nobody_answered_again_nothing_is_told(tmp_path: Path) -> None:
    study = study_of(tmp_path, n_people=40, pairs_each=PAIRS, design={"fixed": PAIRS}, deliberation={"rooms": True})
    with closing(Store.open(study.path / "study.sqlite", study.fingerprint)) as store:
        store.change_now(partial(set_state, state="closed"))
        assert store.read_now(partial(finished_second_round, arms=(), rooms=True)) is None


@pytest.mark.parametrize(
    "second_of",
    [
        lambda second: replace(second, control=None),
        lambda second: replace(second, arms=second.arms[second.arms["arm"] != "again"].replace("talk", "x")),
    ],
)
def test_without_a_control_arm_only_the_change_is_told(
    talked: tuple[StudyFolder, Store], second_of: Callable[[SecondRound], SecondRound]
) -> None:
    study, store = talked
    store.change_now(partial(set_state, state="closed"))
    second = store.read_now(partial(finished_second_round, arms=study.settings.arms))
    assert second is not None
    found = effects_of(store.read_now(judgments), second_of(second))
    assert found.arms.index.tolist() == ["everyone"]
    assert not len(found.tests)
    several = set(second_of(second).arms["arm"]) == {"talk", "again"}
    assert (NO_CONTROL in found.notes) == several
    assert any("no two arms" in note for note in found.notes) != several
    assert Effects.from_json(found.to_json()).notes == found.notes
