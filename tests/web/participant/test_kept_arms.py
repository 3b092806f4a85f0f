"""Nobody chooses an arm by coming again: a keyed hash of a panel's id keeps it until the study is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.arriving import ANNS_LINK, PROLIFIC, agree, mine, to_the_end
from tests.support.changed_bundles import changed, contents, in_table, put
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, any_database, hidden, visiting

from fairwise.archive.backup import restore_backup, take_backup
from fairwise.archive.bundle import PARTICIPANTS, read_bundle, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.store.erasure import needs_cleaning
from fairwise.store.schema import panel_groups, participants
from fairwise.store.store import Store
from fairwise.study.folder import SETTINGS, StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.web.participant.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARMS = [{"name": "zebra"}, {"name": "okapi", "buttons": "reversed"}]
LATE = {
    "arms": [{"name": "zebra"}, {"name": "okapi", "reasons": False}],
    "deliberation": {"on": True},
    "design": {"fixed": 2},
}
ANN = "ann000000000000000000000"


@pytest.fixture
def study(make_study: Callable[..., StudyFolder]) -> StudyFolder:
    made = make_study(arms=ARMS, pairs=3, recruitment={**PROLIFIC, "most_from_address": 10_000})
    (made.path / SETTINGS).write_text(made.settings.toml(), encoding="utf-8")
    return made


@pytest.fixture
def console(study: StudyFolder, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    with any_database(study.path), operating(study.path, new_database()) as opened:
        opened.set_up()
        yield opened


def come(visit: Visit, who: str = "ann", session: int = 1) -> str:
    """Begin under an id, where it is taken by saying that it was not oneself; the operator stays logged in."""
    if COOKIE in visit.client.cookies:
        visit.client.cookies.delete(COOKIE)
    link = ANNS_LINK.replace("ann", who).replace("session1", f"session{session}")
    page = visit.get(link)
    if "begin here" in page.text:
        page = visit.post("/consent", **hidden(page), decision="contest")
        return mine(visit.post("/consent", **hidden(page), decision="agree"))
    return mine(agree(visit, link))


def withdraw(visit: Visit, own: str) -> None:
    assert visit.post(f"{own}/withdraw", **hidden(visit.get(f"{own}/withdraw"))).url.path == "/withdrawn"


def arms_of(visit: Visit) -> list[str | None]:
    in_order = sa.select(participants.c.arm).order_by(participants.c.number)
    return list(visit.store.read_now(lambda connection: connection.execute(in_order).scalars().all()))


def kept(store: Store) -> list[Any]:
    return list(store.read_now(lambda connection: connection.execute(sa.select(panel_groups)).all()))


def bundle(visit: Visit, study: StudyFolder, folder: Path) -> Path:
    visit.store.read_now(lambda connection: write_bundle(folder / "bundle.zip", study, connection))
    return folder / "bundle.zip"


def test_who_begins_again_comes_to_the_same_arm(
    study: StudyFolder, new_database: Callable[[], str | Path], tmp_path: Path
) -> None:
    """Twelve tries: look, say that it was not oneself, begin again, withdraw what is not wanted."""
    with visiting(study, new_database()) as visit:
        own = [come(visit, session=1)]
        arms = arms_of(visit)
        for number in range(2, 14):
            own.append(come(visit, session=number))
            arms.append(arms_of(visit)[-1])
            if number % 3 == 0:
                withdraw(visit, own.pop(0))
            come(visit, who=f"b{number}")
        while own:
            withdraw(visit, own.pop())
        come(visit, session=14)
        arms.append(arms_of(visit)[-1])
        assert len(set(arms)) == 1
        assert set(arms_of(visit)[:-1]) == {"zebra", "okapi"}, "turns that were passed over went to others"
        assert verify_bundle(bundle(visit, study, tmp_path)).arms == 13
        assert (Keys(study.secret).group_mark("prolific", ANN), arms[0]) in kept(visit.store)
    assert panel_groups.c.keys() == ["mark", "arm"], "and nothing else"


def test_a_bundle_is_in_order_and_holds_no_id_also_while_all_of_them_take_part(
    study: StudyFolder, tmp_path: Path
) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        for number in range(6):
            come(visit, session=number)
        come(visit, "bob")
        come(visit, "cem")
        arms, path = arms_of(visit), bundle(visit, study, tmp_path)
        found, people = verify_bundle(path), read_bundle(path).table(PARTICIPANTS)
        assert len(set(arms[:6])) == 1
        assert len(set(arms[6:])) == 1
        assert arms[6] != arms[0]
        assert found.arms_kept == list(people["arm_kept"]).count("yes") > 0
        assert "mark" not in people
        marks = [row.mark.hex().encode() for row in kept(visit.store)]
        assert not [name for name, data in contents(read_bundle(path)).items() if any(mark in data for mark in marks)]
    without = changed(path, in_table(PARTICIPANTS, lambda table: table.assign(arm_kept="no")), forge=True)
    with pytest.raises(InputError, match="turns in the order of the arms that were passed over"):
        verify_bundle(without)
    far = changed(path, in_table(PARTICIPANTS, put(7, "arm_turn", "2147483000")), forge=True)
    with pytest.raises(InputError, match="needed: their slot"):
        verify_bundle(far)
    assert reopen_bundle(path, tmp_path / "again", tmp_path / "again.sqlite").arms == 8


def test_arms_that_are_given_at_the_end_are_kept_too(
    make_study: Callable[..., StudyFolder], new_database: Callable[[], str | Path], tmp_path: Path
) -> None:
    study = make_study(pairs=3, recruitment=PROLIFIC, **LATE)
    with visiting(study, new_database()) as visit:
        for session in range(5):
            assert to_the_end(visit, come(visit, session=session)).url.path.endswith("/thanks")
        to_the_end(visit, come(visit, "bob"))
        arms = arms_of(visit)
        assert len(set(arms[:5])) == 1
        assert arms[5] != arms[0]
        assert verify_bundle(bundle(visit, study, tmp_path)).arms == 6


def test_a_kept_arm_stays_after_a_withdrawal_and_goes_when_the_study_is_closed(console: Operating) -> None:
    visit = Visit(console.client)
    store = console.site.host.store
    withdraw(visit, come(visit))
    come(visit, "bob")
    assert len(kept(store)) == 2
    console.post("/state", state="paused", sure="yes")
    assert len(kept(store)) == 2
    console.post("/state", state="closed", sure="yes")
    assert not kept(store)
    assert store.read_now(needs_cleaning), "the server takes it out of the files as well"


def test_a_kept_arm_goes_at_once_when_its_person_is_erased(console: Operating) -> None:
    visit, store = Visit(console.client), console.site.host.store
    withdraw(visit, come(visit))
    come(visit, session=2)
    come(visit, "bob")
    marks = {row.mark for row in kept(store)}
    mark = Keys(console.site.host.study.secret).group_mark("prolific", ANN)  # type: ignore[union-attr]
    assert mark in marks
    assert "was erased" in console.post("/participants/2/erase", number="2").text
    assert {row.mark for row in kept(store)} == marks - {mark}
    assert not store.read_now(needs_cleaning)


def test_a_backup_has_kept_arms(study: StudyFolder, tmp_path: Path) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        come(visit)
        before = kept(visit.store)
        take_backup(tmp_path / "backup.zip", study, tmp_path / "study.sqlite", with_secret=True)
    restore_backup(tmp_path / "backup.zip", tmp_path / "again", None, "again.sqlite")
    with visiting(StudyFolder.open(tmp_path / "again"), tmp_path / "again" / "again.sqlite") as restored:
        assert kept(restored.store) == before
        come(restored, session=2)
        arms = arms_of(restored)
        assert arms[0] == arms[1]
