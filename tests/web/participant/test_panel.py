"""Who comes from a panel is led back there, is counted once, and never meets a dead end."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.arriving import ANNS_LINK, PROLIFIC, agree, mine, states, to_the_end
from tests.support.visits import Visit, hidden, visiting

from fairwise.store.roster import roster
from fairwise.store.schema import participants as table
from fairwise.study.recruitment import PANELS, Arrival, Incomplete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def prolific(make_study: Any, new_database: Callable[[], Any]) -> Iterator[Visit]:
    with visiting(make_study(recruitment=PROLIFIC), new_database()) as visit:
        yield visit


def test_from_the_panel_and_back(prolific: Visit) -> None:
    visit = prolific
    own = mine(agree(visit, ANNS_LINK))
    early = visit.client.get(f"{own}/back", follow_redirects=False)
    assert early.headers["location"] == own  # not before everything is saved
    thanks = to_the_end(visit, own)
    assert "C1-MANUAL" in thanks.text
    assert f'href="{own}/back"' in thanks.text
    back = visit.client.get(f"{own}/back", follow_redirects=False)
    address = "https://app.prolific.example/submissions/complete?cc=C1&who=ann000000000000000000000&s=session1"
    assert (back.status_code, back.headers["location"]) == (303, address)
    assert back.headers["referrer-policy"] == "same-origin"  # their link is no one else's business
    assert states(visit) == [("prolific", "finished")]
    (entry,) = visit.store.read_now(roster)  # by which the panel is compared with, and people are paid
    assert (entry.panel_id, entry.session) == ("ann000000000000000000000", "session1")


def test_the_same_link_again_is_the_same_person_on_any_device(prolific: Visit) -> None:
    own = mine(agree(prolific, ANNS_LINK))
    prolific.client.cookies.clear()
    again = prolific.get(ANNS_LINK)
    assert f'href="{own}"' in again.text  # go on where you stopped
    assert mine(prolific.post("/consent", **hidden(again), decision="agree")) == own  # or agree once more
    assert prolific.rows(table) == 1


def test_another_session_under_the_same_id_is_not_let_in(prolific: Visit) -> None:
    own = mine(agree(prolific, ANNS_LINK))
    prolific.client.cookies.clear()
    other = ANNS_LINK.replace("session1", "session2")
    late = prolific.get(ANNS_LINK.replace("ann", "zoe").replace("session1", "session2"))
    refused = prolific.get(other)
    assert refused.status_code == 409
    assert own not in refused.text
    assert "begun with this ID already" in refused.text
    agree(prolific, late.url.path + "?" + str(late.url.query, "ascii").replace("session2", "session3"))
    prolific.client.cookies.clear()
    again = prolific.post("/consent", **hidden(late), decision="agree")  # a page that was open before
    assert again.status_code == 409
    assert prolific.rows(table) == 2


def test_who_withdrew_does_not_come_again_under_the_same_id(prolific: Visit) -> None:
    own = mine(agree(prolific, ANNS_LINK))
    prolific.post(f"{own}/withdraw", **hidden(prolific.get(f"{own}/withdraw")))
    for link in (ANNS_LINK, ANNS_LINK.replace("session1", "session9")):
        assert "took part and withdrew" in prolific.get(link).text
    assert prolific.rows(table) == 0
    assert mine(agree(prolific, ANNS_LINK.replace("ann", "ben"))) != own


def test_changing_the_language_changes_nothing_else(make_study: Any, tmp_path: Path) -> None:
    study = make_study(recruitment=PROLIFIC, languages=["en", "de"])
    with visiting(study, tmp_path / "study.sqlite") as visit:
        page = visit.get(ANNS_LINK)
        german = re.findall(r'href="([^"]*lang=de)"', page.text)
        assert len(set(german)) == 1
        other = visit.get(unescape(german[0]))
        assert 'lang="de"' in other.text
        assert hidden(other)["start_key"] == hidden(page)["start_key"]
        agreed = visit.post("/consent?lang=de", **hidden(other), decision="agree")
        assert agreed.status_code == 200
        visit.client.cookies.clear()
        refused = visit.get(ANNS_LINK.replace("session1", "session2"))
        assert refused.status_code == 409
        again = re.findall(r'href="([^"]*lang=de)"', refused.text)
        assert visit.get(unescape(again[0])).status_code == 409
        assert visit.get("/consent").status_code == 404


def test_on_a_shared_machine_the_next_person_is_not_shown_the_last_ones_answers(prolific: Visit) -> None:
    own = mine(agree(prolific, ANNS_LINK))
    bens = ANNS_LINK.replace("ann0", "ben0").replace("session1", "session3")
    assert own not in prolific.get(bens).text
    assert mine(agree(prolific, bens)) != own
    assert prolific.rows(table) == 2


@pytest.mark.parametrize(
    "link",
    [
        "/?PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D&SESSION_ID=s",  # as copied from the panel's own page
        "/?PROLIFIC_PID=ann",
        "/?SESSION_ID=s",
        "/?PROLIFIC_PID=ann|ben&SESSION_ID=s",
        f"/?PROLIFIC_PID={'a' * 101}&SESSION_ID=s",
    ],
)
def test_an_incomplete_link_says_what_to_do(prolific: Visit, link: str) -> None:
    page = prolific.get(link)
    assert page.status_code == 404
    assert "Go back to Prolific, accept the study there" in page.text


def test_without_a_link_one_is_told_how_to_take_part(prolific: Visit) -> None:
    page = prolific.get("/")
    assert "Do you come from Prolific? Then open the study from there." in page.text
    assert "I agree" not in page.text


def test_what_each_panel_tells() -> None:
    assert Arrival.from_panel("sona", {}) is None
    sona = Arrival.from_panel("sona", {"survey_code": "12345"})
    assert sona is not None
    assert not sona.is_lasting  # five digits can be guessed, so the link alone leads nobody anywhere
    turk = Arrival.from_panel("mturk", {"workerId": "A1", "assignmentId": "3X"})
    assert turk is not None
    assert turk.is_lasting
    with pytest.raises(Incomplete):  # only looking
        Arrival.from_panel("mturk", {"workerId": "A1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    for arrival in (sona, turk, Arrival.by_open_link(), Arrival.into_room("ABC"), Arrival.by_personal_link("x_-")):
        assert Arrival.parsed(arrival.start_key) == arrival
        assert (arrival.came_by in PANELS) == (arrival in (sona, turk))


def test_someone_elses_arrival_cannot_be_made_up(prolific: Visit) -> None:
    fields = hidden(prolific.get(ANNS_LINK))
    fields["start_key"] = fields["start_key"].replace("ann", "ben")
    assert prolific.post("/consent", **fields, decision="agree").status_code == 403
    assert prolific.rows(table) == 0
