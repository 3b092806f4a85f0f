"""Arms on participants' pages: each sees what theirs is shown, and nobody what it is called."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from tests.support.changed_bundles import changed, in_table, put
from tests.support.visits import Visit, hidden, visiting

from fairwise.archive.backup import restore_backup, take_backup
from fairwise.archive.bundle import PARTICIPANTS, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store import deliberation, export
from fairwise.store.schema import participants
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pandas as pd

QUESTION, TEXT = "Who of the two should come first?", "Think of *both* <b>people</b>."
ARMS = [
    {"name": "zebra"},
    {"name": "okapi", "question": QUESTION, "columns": ["town"], "buttons": "reversed", "text": TEXT},
]
BUTTONS = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]


@pytest.fixture(scope="module")
def study(make_study: Callable[..., StudyFolder]) -> StudyFolder:
    return make_study(arms=ARMS, pairs=3, mark_differences=True, ask_why=True, second_look=True, languages=["en", "de"])


@pytest.fixture
def visit(study: StudyFolder, tmp_path: Path) -> Iterator[Visit]:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        yield visit


def arms_of(visit: Visit) -> list[str | None]:
    in_order = sa.select(participants.c.arm).order_by(participants.c.number)
    return list(visit.store.read_now(lambda connection: connection.execute(in_order).scalars()))


def begin(visit: Visit, arm: str) -> str:
    """One of this arm, up to the first pair."""
    while True:
        visit.client.cookies.clear()
        mine = visit.begin()
        if arms_of(visit)[-1] == arm:
            return mine


def answer_all(visit: Visit, mine: str, said: str = "same") -> None:
    for number in (1, 2, 3):
        visit.answer(mine, number, said, why="")


def buttons(page: str) -> list[str]:
    return re.findall(r'<button[^>]* name="answer" value="(\w+)"', page)


def test_each_arm_sees_its_own_page(visit: Visit) -> None:
    page = visit.get(f"{begin(visit, 'zebra')}/pair/1").text
    assert buttons(page) == BUTTONS
    assert QUESTION not in page
    assert "own-text" not in page
    assert ">age<" in page.lower()
    mine = begin(visit, "okapi")
    page = visit.get(f"{mine}/pair/1").text
    assert buttons(page) == BUTTONS[::-1]
    assert QUESTION in page
    assert "Think of <em>both</em> &lt;b&gt;people&lt;/b&gt;." in page
    assert ">age<" not in page.lower()
    assert ">town<" in page.lower()
    for number in (1, 2, 3):
        assert "differs" in visit.get(f"{mine}/pair/{number}").text  # in every pair something that is shown differs
    again = visit.get(f"{mine}/pair/1?lang=de").text
    assert QUESTION in again  # as the draft of the translation has it


def test_the_button_that_was_pressed_is_what_is_kept(visit: Visit) -> None:
    for arm, said in (("zebra", "a_at_least_b"), ("okapi", "b_at_least_a")):
        visit.answer(begin(visit, arm), 1, said)
    assert visit.exported() == ["a_at_least_b", "b_at_least_a"]


def test_all_other_pages_show_the_same_of_people(visit: Visit) -> None:
    mine = begin(visit, "okapi")
    page = visit.post(f"{mine}/pair/1", **hidden(visit.get(f"{mine}/pair/1")), answer="same")
    assert page.url.path == f"{mine}/pair/1/why"
    assert ">age<" not in page.text.lower()
    answer_all(visit, mine)
    assert not re.search(r"\bage\b", visit.get(f"{mine}/review").text, re.IGNORECASE)


def test_practice_and_help_have_the_order_of_the_arm(visit: Visit) -> None:
    pages: dict[str | None, str] = {}
    while len(pages) < 2:
        visit.client.cookies.clear()
        mine = visit.agree()
        page = visit.post(f"{mine}/task", **hidden(visit.get(f"{mine}/task")))
        assert page.url.path.endswith("/practice")
        pages[arms_of(visit)[-1]] = page.text
    assert buttons(pages["zebra"]) == BUTTONS
    assert buttons(pages["okapi"]) == BUTTONS[::-1]
    assert "own-text" not in pages["okapi"]


def test_people_who_look_alike_in_an_arm_are_one_in_its_second_look(
    make_study: Callable[..., StudyFolder], tmp_path: Path
) -> None:
    """Twelve people live in three towns: whoever always puts A first contradicts themselves there."""
    study = make_study(arms=ARMS, pairs=6, second_look=True)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine = begin(visit, "okapi")
        for number in range(1, 7):
            visit.answer(mine, number, "a_at_least_b")
        page = visit.post(f"{mine}/second-look", csrf=hidden(visit.get(f"{mine}/task"))["csrf"])
        assert page.url.path == f"{mine}/second-look"
        assert "The same two people, and different answers" in page.text
        assert not re.search(r">age<", page.text, re.IGNORECASE)
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    assert verify_bundle(tmp_path / "bundle.zip").arms > 0


def test_nobody_reads_the_name_of_an_arm(visit: Visit) -> None:
    for arm in ("zebra", "okapi"):
        mine = begin(visit, arm)
        answer_all(visit, mine)
        for path in ("", "/task", "/review", "/closing", "/pair/1", "/pair/1/why", "/withdraw"):
            visit.get(f"{mine}{path}")
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
        visit.get(f"{mine}/thanks")
    assert len(visit.seen) > 40
    assert not [page for page in visit.seen if "zebra" in page or "okapi" in page]


@pytest.fixture
def bundle(visit: Visit, study: StudyFolder, tmp_path: Path) -> Path:
    for arm in ("zebra", "okapi"):
        mine = begin(visit, arm)
        answer_all(visit, mine)
        assert visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing"))).url.path.endswith("/thanks")
    visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    return tmp_path / "bundle.zip"


def test_arms_are_drawn_again_from_a_bundle(bundle: Path, visit: Visit, tmp_path: Path) -> None:
    arms = arms_of(visit)
    assert verify_bundle(bundle).arms == len(arms) >= 2
    other = {"zebra": "okapi", "okapi": "zebra"}[str(arms[0])]
    for column, value, problem in (
        ("arm", other, f"participant 1 is in the arm '{other}', not in the one that seed 0 asks for: '{arms[0]}'"),
        ("arm", "", f"participant 1 is in the arm '', not in the one that seed 0 asks for: '{arms[0]}'"),
        ("arm", "gnu", "column arm: 'gnu'; allowed: zebra, okapi, or nothing"),
        ("arm_turn", "8", "participant 1 has the turn '8' in the order of the arms; needed: their slot, 0"),
    ):
        forged = changed(bundle, in_table(PARTICIPANTS, put(0, column, value)), forge=True)
        with pytest.raises(InputError, match=re.escape(problem)):
            verify_bundle(forged)
    without = changed(bundle, in_table(PARTICIPANTS, lambda table: table.drop(columns="arm")), forge=True)
    with pytest.raises(InputError, match="has no column 'arm'"):
        verify_bundle(without)
    assert reopen_bundle(bundle, tmp_path / "again", tmp_path / "again.sqlite").arms == len(arms)
    store = Store.open(tmp_path / "again.sqlite", None, None)
    try:
        judges = store.read_now(partial(export.judges, finished_only=True))
    finally:
        store.close()
    assert set(judges["arm"]) == {"zebra", "okapi"}


def test_a_backup_has_the_arms_and_a_withdrawal_takes_its_own_along(
    visit: Visit, study: StudyFolder, tmp_path: Path
) -> None:
    begin(visit, "zebra")
    mine = begin(visit, "okapi")
    before = arms_of(visit)
    take_backup(tmp_path / "backup.zip", study, tmp_path / "study.sqlite", with_secret=True)
    restore_backup(tmp_path / "backup.zip", tmp_path / "again", None, "again.sqlite")
    with visiting(StudyFolder.open(tmp_path / "again"), tmp_path / "again" / "again.sqlite") as restored:
        assert arms_of(restored) == before
        assert buttons(restored.get(f"{mine}/pair/1").text) == BUTTONS[::-1]
    visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
    assert arms_of(visit) == before[:-1]


def test_arms_that_matter_only_in_a_second_round_are_given_at_the_end(
    make_study: Callable[..., StudyFolder], tmp_path: Path
) -> None:
    talking = {"deliberation": {"on": True}, "design": {"fixed": 2}}
    study = make_study(arms=[{"name": "zebra"}, {"name": "okapi", "reasons": False}], pairs=3, **talking)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        for ends in (True, False, True):
            visit.client.cookies.clear()
            mine = visit.begin()
            answer_all(visit, mine)
            assert arms_of(visit)[-1] is None
            if ends:
                visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        arms = arms_of(visit)
        assert arms[1] is None
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    assert verify_bundle(tmp_path / "bundle.zip").arms == 2
    turns = study.arms_at_end
    assert turns is not None
    assert [arms[0], arms[2]] == [turns[0], turns[1]]
    for row, column, value, problem in (
        (0, "arm_turn", "", "participant 1 has the turn '' in the order of the arms; needed: one, as they finished"),
        (1, "arm_turn", "5", "participant 2 has the turn '5' in the order of the arms; needed: none, as they did not"),
        (2, "arm_turn", "0", "participant 3 has the turn 0 in the order of the arms, as participant 1 has"),
        (2, "arm", "zebra" if arms[2] == "okapi" else "okapi", "participant 3 is in the arm"),
    ):
        forged = changed(tmp_path / "bundle.zip", in_table(PARTICIPANTS, put(row, column, value)), forge=True)
        with pytest.raises(InputError, match=re.escape(problem)):
            verify_bundle(forged)


def test_in_a_second_round_only_the_arm_that_shows_reasons_is_told_what_others_said(
    make_study: Callable[..., StudyFolder], tmp_path: Path
) -> None:
    talking = {"deliberation": {"on": True}, "design": {"fixed": 2}}
    study = make_study(arms=[{"name": "zebra"}, {"name": "okapi", "reasons": False}], pairs=2, **talking)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        everyone = []
        for place in range(6):
            visit.client.cookies.clear()
            everyone.append(mine := visit.begin())
            for number in (1, 2):
                visit.answer(mine, number, "same" if place % 2 else "no_constraint")
            if place < 5:  # the last one answers all pairs, and never ends
                visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        now, arms = datetime.now(UTC), arms_of(visit)
        assert arms[5] is None
        assert set(arms[:5]) == {"zebra", "okapi"}
        visit.store.change_now(partial(deliberation.end_first_round, at=now))
        visit.store.change_now(partial(deliberation.open_second_round, at=now, until=None, prices={}))
        visit.site.host.look_again()
        for mine, arm in zip(everyone, arms, strict=True):
            page = visit.get(mine)
            assert page.url.path == f"{mine}/second-round"
            link = re.findall(rf'href="({mine}/second-round/\d+)"', page.text)[0]
            shown = visit.get(link).text
            assert ("Others who answered this pair" in shown) == (arm == "zebra")
        assert not [page for page in visit.seen if "zebra" in page or "okapi" in page]
        assert arms_of(visit) == arms


def test_nobody_chose_an_arm_by_taking_the_slot_of_someone_who_had_finished(bundle: Path, study: StudyFolder) -> None:
    turns = study.arms_at_start
    assert turns is not None

    def take_first_slot(table: pd.DataFrame) -> pd.DataFrame:
        first = table.index[table["finished_at"] != ""][0]
        table.loc[len(table) - 1, ["slot", "arm_turn", "arm"]] = table.loc[first, ["slot", "arm_turn", "arm"]]
        return table

    with pytest.raises(InputError, match=r"participant \d+ has slot \d+, in which participant \d+ had finished before"):
        verify_bundle(changed(bundle, in_table(PARTICIPANTS, take_first_slot), forge=True))


EXCHANGED = r"turns in the order of the arms that were passed over: 1; allowed: 0"


def exchange(one: int, other: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Let two people change places in the order of the arms."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        names = ["slot", "arm_turn", "arm"]
        table.loc[[one, other], names] = table.loc[[other, one], names].to_numpy()
        return table

    return change


def test_two_people_exchanged_between_arms_are_found(make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    early = make_study(arms=[{"name": "zebra"}, {"name": "okapi", "buttons": "reversed"}], pairs=3)
    with visiting(early, tmp_path / "study.sqlite") as visit:
        for _ in range(4):
            visit.client.cookies.clear()
            last = visit.begin()
        arms = arms_of(visit)
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", early, connection))
        assert verify_bundle(tmp_path / "bundle.zip").arms == 4
        other = next(place for place in range(1, 4) if arms[place] != arms[0])
        forged = changed(tmp_path / "bundle.zip", in_table(PARTICIPANTS, exchange(0, other)), forge=True)
        with pytest.raises(InputError, match=EXCHANGED):
            verify_bundle(forged)
        # Whoever takes the place of one who withdrew is in order.
        visit.post(f"{last}/withdraw", **hidden(visit.get(f"{last}/withdraw")))
        for _ in range(2):
            visit.client.cookies.clear()
            visit.begin()
        (tmp_path / "bundle.zip").unlink()
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", early, connection))
    assert verify_bundle(tmp_path / "bundle.zip").arms == 5


def test_two_people_exchanged_who_finished_at_other_times_are_found(
    make_study: Callable[..., StudyFolder], tmp_path: Path
) -> None:
    talking = {"deliberation": {"on": True}, "design": {"fixed": 2}}
    study = make_study(arms=[{"name": "zebra"}, {"name": "okapi", "reasons": False}], pairs=3, **talking)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        for _ in range(4):
            visit.client.cookies.clear()
            mine = visit.begin()
            answer_all(visit, mine)
            visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        arms = arms_of(visit)
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))

    def hours_apart(table: pd.DataFrame) -> pd.DataFrame:
        table["finished_at"] = [f"2099-01-01T{hour:02}:00:00+00:00" for hour in range(len(table))]
        return table

    apart = changed(tmp_path / "bundle.zip", in_table(PARTICIPANTS, hours_apart), forge=True)
    assert verify_bundle(apart).arms == 4
    other = next(place for place in range(1, 4) if arms[place] != arms[0])
    with pytest.raises(InputError, match=EXCHANGED):
        verify_bundle(changed(apart, in_table(PARTICIPANTS, exchange(0, other)), forge=True))


def test_arms_in_the_bundle_of_a_study_without_any(make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    study = make_study(pairs=3)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        visit.begin()
        visit.store.read_now(lambda connection: write_bundle(tmp_path / "bundle.zip", study, connection))
    assert verify_bundle(tmp_path / "bundle.zip").arms == 0
    forged = changed(tmp_path / "bundle.zip", in_table(PARTICIPANTS, put(0, "arm_turn", "0")), forge=True)
    with pytest.raises(InputError, match="has arms, but this study has none"):
        verify_bundle(forged)
