"""Arms: what a study may say about them, in which order they are given, and what each is shown."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.errors import InputError
from fairwise.judgments.answer import PairDesign
from fairwise.study.design import Arm, assigned_late, shows_reasons
from fairwise.study.schedules import ArmTurns
from fairwise.study.settings import StudySettings
from fairwise.study.translations import Translation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

SHOWN = [{"name": "age", "label": "Age"}, {"name": "town", "label": "Town"}]
PLAIN, REVERSED = {"name": "plain"}, {"name": "reversed", "buttons": "reversed"}
SILENT = {"name": "silent", "reasons": False}
TALKING = {"deliberation": {"on": True}, "design": {"fixed": 2}}


def settings(*arms: dict[str, Any], **more: Any) -> StudySettings:
    return StudySettings.checked({"title": "Arms", "columns": SHOWN, "arms": list(arms), **more}, "study")


@given(
    seed=st.integers(0, 2**63 - 1),
    shares=st.lists(st.integers(1, 3), min_size=2, max_size=4),
    turns=st.integers(0, 60),
)
def test_after_any_number_of_turns_sizes_by_share_differ_by_two_at_most(
    seed: int, shares: list[int], turns: int
) -> None:
    order = ArmTurns([Arm(name=str(k), share=share) for k, share in enumerate(shares)], seed)
    sizes = Counter(order[turn] for turn in range(turns))
    by_share = [sizes[str(k)] / share for k, share in enumerate(shares)]
    assert max(by_share) - min(by_share) <= 2
    block = 2 * sum(shares)
    assert [order[turn] for turn in range(block)] == [order[turn] for turn in range(block)]  # whenever it is asked


def test_the_order_is_chance_and_follows_from_the_seed_alone() -> None:
    arms = [Arm(name="a"), Arm(name="b")]
    order = ["".join(ArmTurns(arms, seed)[turn] for turn in range(4)) for seed in range(600)]
    seen = Counter(order)
    assert len(seen) == 6  # all orders of a block
    assert min(seen.values()) > 60  # of 100 that are expected
    blocks = Counter("".join(ArmTurns(arms, 3)[4 * block + place] for place in range(4)) for block in range(600))
    assert len(blocks) == 6
    assert min(blocks.values()) > 60
    # Those of a study that was made once; a bundle of it must be verified for ever.
    assert "".join(ArmTurns(arms, 7)[turn] for turn in range(16)) == "bbaaababbbaabaab"


@given(seed=st.integers(0, 2**32), luck=st.integers(0, 2**32), leaving=st.floats(0.0, 0.4))
def test_balance_among_those_who_finish_when_places_are_given_again(seed: int, luck: int, leaving: float) -> None:
    """As slots are: 300 at once, some of whom leave; whoever comes then takes the lowest place of one who left."""
    order, chance = ArmTurns([Arm(name="a"), Arm(name="b")], seed), np.random.default_rng(luck)
    finished: list[int] = []
    waiting = list(range(300))
    while waiting:
        stays = chance.random(len(waiting)) >= leaving
        finished += [slot for slot, stay in zip(waiting, stays, strict=True) if stay]
        sizes = Counter(order[slot] for slot in finished)
        # What is promised at any moment: two, and one more for each place whose holder left.
        assert abs(sizes["a"] - sizes["b"]) <= 2 + (300 - len(finished))
        waiting = [slot for slot, stay in zip(waiting, stays, strict=True) if not stay]
    assert abs(Counter(order[slot] for slot in finished)["a"] - 150) <= 1


@pytest.mark.parametrize(
    ("arms", "problem"),
    [
        ([PLAIN], "arms: 1; allowed: from 2 to 10, or none"),
        ([PLAIN, {**REVERSED, "name": "plain"}], "two arms have the name 'plain'"),
        ([PLAIN, {"name": "same"}], "the arms 'plain' and 'same' do the same: there is nothing to compare"),
        ([PLAIN, {"name": "x", "columns": ["job"]}], "the arm 'x' shows 'job', which is not among the columns"),
        ([PLAIN, {"name": "x", "columns": ["age", "age"]}], "the arm 'x' names a column twice"),
        ([{"name": "x", "columns": ["age"]}, {"name": "y", "columns": ["town"]}], "no column is shown in all of them"),
        ([PLAIN, {**REVERSED, "share": 0}], "arms.2.share = 0"),
        ([PLAIN, SILENT], r"the arm 'silent' is about a second round; needed: deliberation\.on"),
        ([PLAIN, {"name": "x", "buttons": "mixed"}], "arms.2.buttons = 'mixed'"),
    ],
)
def test_what_arms_cannot_be(arms: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("(", r"\(")):
        settings(*arms)


def test_hidden_columns_go_with_neither_active_pairs_nor_strata() -> None:
    hides = {"name": "x", "columns": ["age"]}
    with pytest.raises(InputError, match="with active pairs, which are chosen by all columns, every arm shows all"):
        settings(PLAIN, hides, pairs=4, design={"active": 2})
    with pytest.raises(InputError, match=r"design\.strata: 'town' is not shown in every arm"):
        settings(PLAIN, hides, pairs=4, design={"stratified": 2, "strata": ["town"]})
    assert settings(PLAIN, REVERSED, pairs=4, design={"active": 2}).arms[1].buttons == "reversed"
    assert settings(PLAIN, hides, pairs=4, design={"stratified": 2, "strata": ["age"]}).arms


def test_people_are_assigned_when_it_first_matters(make_study: Callable[..., StudyFolder]) -> None:
    assert not assigned_late([])
    late = make_study(arms=[PLAIN, SILENT], **TALKING)
    assert late.arms_at_start is None
    assert late.arms_at_end is not None
    for change in ({"question": "Who?"}, {"buttons": "reversed"}, {"text": "Think."}, {"columns": ["age"]}):
        early = make_study(arms=[PLAIN, {**SILENT, **change}], **TALKING)
        assert early.arms_at_end is None
        assert early.arms_at_start is not None
    without = make_study()
    assert without.arms_at_start is without.arms_at_end is None


def test_reasons_are_shown_to_those_whose_arm_does_so() -> None:
    arms = [Arm(name="talks"), Arm(name="silent", reasons=False)]
    assert [shows_reasons(arms, name) for name in ("talks", "silent", None)] == [True, False, False]
    assert shows_reasons([], None)


def test_the_fingerprint_changes_with_arms_but_not_with_their_words(make_study: Callable[..., StudyFolder]) -> None:
    asked = {"name": "asked", "question": "Who should come first?"}
    prints = [
        make_study(**({"arms": arms} if arms else {})).fingerprint
        for arms in (
            [],
            [PLAIN, REVERSED],
            [REVERSED, PLAIN],
            [PLAIN, {**REVERSED, "share": 2}],
            [PLAIN, asked],
            [PLAIN, {**asked, "text": "Think."}],
            [PLAIN, {**asked, "columns": ["age"]}],
        )
    ]
    assert len(set(prints)) == len(prints)
    assert make_study(arms=[PLAIN, {**asked, "question": "Who comes first?"}]).fingerprint == prints[4]


def test_a_study_without_arms_has_the_fingerprint_that_it_always_had(make_study: Callable[..., StudyFolder]) -> None:
    assert make_study().fingerprint == "bad7414fa6f1df6602caa0c717291d16c1131f43e257b4ff7cb9fb6c692d57c2"


def test_settings_are_written_and_read_again(tmp_path: Path) -> None:
    told = settings({**PLAIN, "share": 2}, {"name": "new", "question": "Who?", "columns": ["town"], "text": "*Think.*"})
    file = tmp_path / "study.toml"
    file.write_text(told.toml(), encoding="utf-8")
    assert StudySettings.read(file) == told
    file.write_text(settings().toml(), encoding="utf-8")
    assert "# [[arms]]" in file.read_text(encoding="utf-8")
    assert StudySettings.read(file).arms == ()


def test_an_arm_that_hides_columns_is_shown_only_people_who_differ_there(
    make_study: Callable[..., StudyFolder],
) -> None:
    """Of twelve people four live in each of three towns: within a town nobody can be told apart in the arm."""
    study = make_study(
        pairs=10,
        design={"fixed": 2, "anchors": 2, "anchor_pool": 4},
        arms=[PLAIN, {"name": "few", "columns": ["town"]}],
    )
    few = study.first.in_arm("few")
    assert [column.name for column in few.settings.columns] == ["town"]
    for number in range(1, 31):
        for pair in study.schedule(number, number - 1):
            assert any(few.cards[pair.a].differences(few.cards[pair.b]))
            assert len(few.cards[pair.a].rows) == 1
    apart = [two for two in combinations(study.cards, 2) if few.cards[two[0]].rows != few.cards[two[1]].rows]
    assert len(study.pairs) == len(apart) == 48
    uniform = [pair for pair in study.schedule(1, 0) if pair.design == PairDesign.UNIFORM]
    assert {pair.selection_probability for pair in uniform} == {6 / (48 - 6)}
    with pytest.raises(InputError, match="only 48 pairs of people differ in what every arm shows"):
        make_study(pairs=49, arms=[PLAIN, {"name": "few", "columns": ["town"]}])


def test_arms_in_another_language(make_study: Callable[..., StudyFolder]) -> None:
    arms = [PLAIN, {"name": "new", "question": "Who first?", "text": "Think."}]
    study = make_study(languages=["en", "de"], translated=False, arms=arms)
    missing = "\n".join(study.unfinished)
    assert "the question of the arm “new” is not translated" in missing
    assert "the text of the arm “new” is not translated" in missing
    file = study.path / "study.de.toml"
    assert '[arms.new]\n# question = "Who first?"\n# text = "Think."' in file.read_text(encoding="utf-8")
    file.write_text('[arms.new]\nquestion = "Wer zuerst?"\ntext = "Denken!"\n', encoding="utf-8")
    again = type(study).open(study.path)
    assert again.editions["de"].in_arm("new").settings.question == "Wer zuerst?"
    assert again.editions["de"].settings.arms[1].text == "Denken!"
    assert again.editions["en"].in_arm("new").settings.question == "Who first?"
    assert again.editions["de"].in_arm("plain").settings.question == again.editions["de"].settings.question
    file.write_text('[arms.other]\ntext = "Denken!"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"arms\.other: there is no such arm; study\.toml has plain, new"):
        Translation.read(file, study.settings)
