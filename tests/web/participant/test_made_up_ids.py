"""A stranger who makes up ids of a panel neither fills the study nor keeps the real people out."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.arriving import ANNS_LINK, PROLIFIC, agree, mine, to_the_end
from tests.support.signed_links import NOW, STUDY, Panel
from tests.support.visits import Visit, hidden, not_me_form, visiting

from fairwise.store import recruitment
from fairwise.store.quotas import IS_EXCLUDED, SAME_ID, exclusion_history
from fairwise.store.schema import participants as table
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

FULL = "There are enough people now"


def link(who: str, session: str = "session1") -> str:
    return ANNS_LINK.replace("ann", who).replace("session1", session)


def later(visit: Visit, minutes: int) -> None:
    """As if everyone had agreed so many minutes earlier."""

    def earlier(connection: sa.Connection) -> None:
        for row in connection.execute(sa.select(table.c.id, table.c.consented_at)).all():
            before = row.consented_at - timedelta(minutes=minutes)
            connection.execute(sa.update(table).where(table.c.id == row.id).values(consented_at=before))

    visit.store.change_now(earlier)


def excluded(visit: Visit) -> list[bool]:
    rows = visit.store.read_now(
        lambda c: c.execute(sa.select(table.c.number, IS_EXCLUDED).order_by(table.c.number)).all()
    )
    return [bool(row[1]) for row in rows]


def to_first_pair(visit: Visit, own: str) -> None:
    page = visit.get(own)
    for _ in range(5):
        if page.url.path.endswith("/pair/1"):
            return
        chosen = {"answer": "same"} if page.url.path.endswith("practice") else {}
        page = visit.post(page.url.path, **hidden(page), **chosen)
    pytest.fail(f"came to {page.url.path}")


@pytest.fixture
def three(make_study: Any, new_database: Callable[[], Any]) -> Iterator[Visit]:
    with visiting(make_study(recruitment={**PROLIFIC, "most": 3}), new_database()) as visit:
        yield visit


def test_places_of_made_up_ids_that_answer_nothing_are_free_again(three: Visit) -> None:
    visit = three
    for number in range(3):
        agree(visit, link(f"fake{number}"))
    visit.client.cookies.clear()
    assert FULL in visit.get(link("ann")).text
    later(visit, 31)
    own = mine(agree(visit, link("ann")))
    to_first_pair(visit, own)
    assert visit.answer(own, 1).status_code == 200
    assert visit.answer(own, 2).status_code == 200


def test_whoever_was_slow_goes_on_if_there_is_room_and_is_told_if_not(three: Visit) -> None:
    visit = three
    slow = mine(agree(visit, link("slow")))
    to_first_pair(visit, slow)
    open_page = hidden(visit.get(f"{slow}/pair/1"))
    later(visit, 31)
    others = []
    for number in range(3):
        visit.client.cookies.clear()
        others.append(mine(agree(visit, link(f"real{number}"))))
    told = visit.post(f"{slow}/pair/1", **open_page, answer="same")
    assert (told.status_code, FULL in told.text) == (409, True)
    assert "then you can go on with the same link" in told.text
    assert "We have kept nothing about you" not in told.text
    for page in (visit.get(slow), visit.get(f"{slow}/pair/1"), visit.get(link("slow"))):
        assert page.status_code == 200
    assert FULL in visit.get(slow).text
    visit.post(f"{others[0]}/withdraw", **hidden(visit.get(f"{others[0]}/withdraw")))
    assert visit.get(slow).url.path == f"{slow}/pair/1"  # nothing of theirs was lost
    assert visit.post(f"{slow}/pair/1", **open_page, answer="same").status_code == 200
    later(visit, 60)
    to_first_pair(visit, others[1])
    assert visit.answer(others[1], 1).status_code == 200  # late, but there was room
    assert visit.answer(slow, 2).status_code == 200  # who has answered keeps the place


def test_a_relations_place_that_lapsed_is_given_to_others_too(make_study: Any, new_database: Callable[[], Any]) -> None:
    relations = [
        {"name": "affected", "words": "It was decided about me", "most": 1},
        {"name": "neither", "words": "Neither"},
    ]
    with visiting(make_study(relations=relations), new_database()) as visit:

        def come() -> str:
            visit.client.cookies.clear()
            page = agree(visit, "/")
            assert visit.post(page.url.path, **hidden(page), relation="affected").url.path.endswith("/task")
            return mine(page)

        first = come()
        later(visit, 31)
        come()
        assert FULL in visit.get(first).text


def test_whose_id_was_made_up_first_can_begin_and_the_operator_sees_both(
    make_study: Any, new_database: Callable[[], Any]
) -> None:
    with visiting(make_study(recruitment=PROLIFIC), new_database()) as visit:
        stranger = mine(agree(visit, link("ann", "made-up")))
        to_first_pair(visit, stranger)
        visit.answer(stranger, 1)
        visit.client.cookies.clear()
        refused = visit.get(ANNS_LINK)
        assert refused.status_code == 409
        assert "It was not me: begin here" in refused.text
        assert stranger not in refused.text
        page = visit.post("/consent", **hidden(refused), decision="contest")
        assert "I agree to take part" in page.text
        assert visit.rows(table) == 1  # nothing before they agree
        own = mine(visit.post("/consent", **hidden(page), decision="agree"))
        assert own != stranger
        assert excluded(visit) == [False, False]
        assert to_the_end(visit, own).url.path.endswith("/thanks")  # and back to be paid
        assert excluded(visit) == [False, True]
        [why] = visit.store.read_now(partial(exclusion_history, number=2))
        assert (why.reason, why.excluded_by) == (SAME_ID, "Fairwise")
        visit.client.cookies.clear()
        assert f'href="{own}"' in visit.get(ANNS_LINK).text  # the same link is the same person again


def test_of_two_under_one_id_the_first_to_answer_counts(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(recruitment=PROLIFIC), new_database()) as visit:
        silent = mine(agree(visit, link("ann", "made-up")))
        visit.client.cookies.clear()
        page = visit.post("/consent", **hidden(visit.get(ANNS_LINK)), decision="contest")
        own = mine(visit.post("/consent", **hidden(page), decision="agree"))
        to_first_pair(visit, own)
        visit.answer(own, 1)
        to_first_pair(visit, silent)
        visit.answer(silent, 1)
        visit.answer(own, 2)
        assert excluded(visit) == [True, False]


def test_a_stranger_who_withdraws_in_somebodys_name_does_not_lock_them_out(
    make_study: Any, new_database: Callable[[], Any]
) -> None:
    with visiting(make_study(recruitment=PROLIFIC), new_database()) as visit:
        stranger = mine(agree(visit, link("ann", "made-up")))
        visit.post(f"{stranger}/withdraw", **hidden(visit.get(f"{stranger}/withdraw")))
        refused = visit.get(ANNS_LINK)
        assert "Someone with this ID took part and withdrew" in refused.text
        page = visit.post("/consent", **hidden(refused), decision="contest")
        own = mine(visit.post("/consent", **hidden(page), decision="agree"))
        to_the_end(visit, own)
        assert excluded(visit) == [False]


# Ids that may come


def test_only_listed_ids_are_let_in(make_study: Any, new_database: Callable[[], Any]) -> None:
    study = make_study(recruitment=PROLIFIC)
    with visiting(study, new_database()) as visit:
        early = visit.get(link("fake1"))
        marks = [Keys(study.secret).mark("prolific", "ann000000000000000000000")]
        at = datetime.now(UTC)
        assert visit.store.change_now(partial(recruitment.list_ids, marks=[*marks, *marks], at=at)) == 1
        assert visit.store.change_now(partial(recruitment.list_ids, marks=marks, at=at)) == 0
        told = visit.get(link("fake2"))
        assert (told.status_code, "Your ID is not on the list" in told.text) == (403, True)
        assert visit.post("/consent", **hidden(early), decision="agree").status_code == 403  # opened before
        assert visit.post("/consent", **hidden(early), decision="agree", contests="yes").status_code == 403
        assert visit.rows(table) == 0
        agree(visit, ANNS_LINK)
        assert visit.rows(table) == 1
        assert visit.store.change_now(recruitment.delete_list) == 1
        visit.client.cookies.clear()
        agree(visit, link("fake3"))
        assert visit.rows(table) == 2


# Signed links


@pytest.fixture(scope="module")
def panel() -> Panel:
    return Panel()


def signing(study: StudyFolder, panel: Panel) -> StudyFolder:
    """The same study, once the operator has given it the panel's keys."""
    keys = {"panel_keys": panel.published, "panel_studies": STUDY}
    recruitment = study.settings.recruitment.model_copy(update=keys)
    return replace(study, settings=study.settings.model_copy(update={"recruitment": recruitment}))


@pytest.fixture
def when_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel's tokens are of this time."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Clock:
            return cls.fromtimestamp(NOW, tz)

    monkeypatch.setattr("fairwise.web.participant.consent.datetime", Clock)


@pytest.fixture
def signed(make_study: Any, panel: Panel, tmp_path: Path, when_signed: None) -> Iterator[Visit]:  # noqa: ARG001
    study = signing(make_study(recruitment=PROLIFIC, languages=["en", "de"]), panel)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        yield visit


def test_with_the_panels_keys_only_what_it_signed_is_believed(signed: Visit, panel: Panel) -> None:
    visit = signed
    for made_up in (ANNS_LINK, f"{ANNS_LINK}&checked=x", f"{ANNS_LINK}&prolific_token=x", "/?prolific_token="):
        told = visit.get(made_up)
        assert (told.status_code, "This link is not complete" in told.text) == (404, True)
    page = visit.get(f"/?PROLIFIC_PID=fake&SESSION_ID=fake&prolific_token={panel.token()}")
    assert hidden(page)["start_key"].startswith("prolific|ann000000000000000000000|session1|")
    german = visit.get(unescape(re.findall(r'href="([^"]*lang=de)"', page.text)[0]))  # without the token
    assert hidden(german)["start_key"] == hidden(page)["start_key"]
    visit.post("/consent?lang=de", **hidden(german), decision="agree")
    rows = visit.store.read_now(lambda c: c.execute(sa.select(table.c.panel_id, table.c.panel_signed)).all())
    assert [tuple(row) for row in rows] == [("ann000000000000000000000", True)]
    visit.client.cookies.clear()
    again = visit.get(f"/?prolific_token={panel.token(sent={'SESSION_ID': 'session2'})}")
    assert again.status_code == 409
    assert 'value="contest"' not in again.text  # the panel says it was


def test_forms_that_were_opened_without_the_panels_keys_are_worth_nothing_with_them(
    make_study: Any, panel: Panel, tmp_path: Path
) -> None:
    study = make_study(recruitment=PROLIFIC)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        form = hidden(visit.get(link("fake1")))
    with visiting(signing(study, panel), tmp_path / "study.sqlite") as visit:
        assert visit.post("/consent", **form, decision="agree").status_code == 403
        assert visit.rows(table) == 0


def withdraw(visit: Visit, own: str) -> None:
    visit.post(f"{own}/withdraw", **hidden(visit.get(f"{own}/withdraw")))
    assert visit.get(own).status_code == 404


@pytest.mark.usefixtures("when_signed")
def test_who_withdrew_unsigned_keeps_nobody_out_for_whom_the_panel_signed(
    make_study: Any, panel: Panel, new_database: Callable[[], Any]
) -> None:
    study, database = make_study(recruitment=PROLIFIC), new_database()
    with visiting(study, database) as visit:
        withdraw(visit, mine(agree(visit, link("ann", "made-up"))))
    with visiting(signing(study, panel), database) as visit:
        early = visit.get(f"/?prolific_token={panel.token()}")
        own = mine(visit.post("/consent", **hidden(early), decision="agree"))
        assert to_the_end(visit, own).url.path.endswith("/thanks")
        withdraw(visit, own)
        for session in ("session1", "session2"):  # the panel says it is the same person
            refused = visit.get(f"/?prolific_token={panel.token(sent={'SESSION_ID': session})}")
            assert "You have left the study" in refused.text
            assert 'value="contest"' not in refused.text
        assert visit.post("/consent", **hidden(early), decision="agree", contests="yes").url.path == "/consent"
        assert visit.rows(table) == 0
    with visiting(study, database) as visit:  # the keys were taken out again
        assert "Someone with this ID took part and withdrew" in visit.get(link("ann", "session3")).text


@pytest.mark.usefixtures("when_signed")
def test_that_is_not_me_leads_whom_the_panel_signed_for_back_to_their_own_way_in(
    make_study: Any, panel: Panel, new_database: Callable[[], Any]
) -> None:
    """Somebody else had used the id on the same device, before the study had the panel's keys."""
    study, database = make_study(recruitment=PROLIFIC), new_database()
    with visiting(study, database) as visit:
        stranger = mine(agree(visit, link("ann", "made-up")))
        early = not_me_form(visit.get(link("ann", "session1")))
        cookies = visit.client.cookies
    with visiting(signing(study, panel), database) as visit:
        visit.client.cookies.update(cookies)
        page = visit.get(f"/?prolific_token={panel.token()}")
        assert f'href="{stranger}"' in page.text
        fresh = visit.post("/not-me", **not_me_form(page))
        assert fresh.status_code == 200
        assert stranger not in fresh.text
        own = mine(visit.post("/consent", **hidden(fresh), decision="agree"))
        rows = visit.store.read_now(lambda c: c.execute(sa.select(table.c.panel_signed).order_by(table.c.number)).all())
        assert [row[0] for row in rows] == [False, True]
        again = visit.get(f"/?prolific_token={panel.token(sent={'SESSION_ID': 'session2'})}")
        assert f'href="{own}"' in again.text
        assert "/not-me" not in again.text  # the panel says that it is
        # What was signed for an id that nobody had vouched for is no way in.
        assert visit.post("/not-me", **early).status_code == 403
