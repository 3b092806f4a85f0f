"""Who comes: by which way, how many, and where they are led; nobody is counted twice or meets a dead end."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from visits import Visit, hidden, visiting

from fairwise.elicitation import export
from fairwise.elicitation.arrivals import PANELS, Arrival, Incomplete
from fairwise.elicitation.designs import ShownPair
from fairwise.elicitation.signing import Keys
from fairwise.elicitation.store import participants
from fairwise.elicitation.store.invitations import invitation, invite, revoke
from fairwise.elicitation.store.problems import Full
from fairwise.elicitation.store.rooms import all_rooms, close_room, open_room
from fairwise.elicitation.store.roster import roster
from fairwise.elicitation.store.store import Store
from fairwise.elicitation.store.tables import participants as table
from fairwise.elicitation.web.rehearsal import check_questions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import sqlalchemy as sa
    from httpx2 import Response

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
PROLIFIC = {
    "panel": "prolific",
    "open": False,
    "completion_url": "https://app.prolific.example/submissions/complete?cc=C1&who={id}&s={session}",
    "completion_code": "C1-MANUAL",
    "screened_out_url": "https://app.prolific.example/submissions/complete?cc=OUT",
}
ANNS_LINK = "/?PROLIFIC_PID=ann000000000000000000000&STUDY_ID=study1&SESSION_ID=session1"
RELATIONS = [
    {"name": "affected", "words": "It was decided about me", "most": 1},
    {"name": "expert", "words": "I decide such things", "most": 0},
    {"name": "neither", "words": "Neither"},
]


def to_the_end(visit: Visit, mine: str) -> Response:
    page = visit.get(mine)
    while not page.url.path.endswith(("/thanks", "/screened-out")):
        path = page.url.path
        if path.endswith("/review"):
            page = visit.get(f"{mine}/closing")
            continue
        chosen = {"answer": "same", "relation": "neither"}
        page = visit.post(path, **hidden(page), **chosen)
        assert page.url.path != path or page.status_code == 422
    return page


def agree(visit: Visit, link: str) -> Response:
    page = visit.get(link)
    assert page.status_code == 200
    return visit.post("/consent", **hidden(page), decision="agree")


def mine(page: Response) -> str:
    return "/".join(page.url.path.split("/")[:3])


def states(visit: Visit) -> list[tuple[str, str]]:
    return [(entry.came_by, entry.state) for entry in visit.store.read_now(roster)]


@pytest.fixture
def prolific(make_study: Any, new_database: Callable[[], Any]) -> Iterator[Visit]:
    with visiting(make_study(recruitment=PROLIFIC), new_database()) as visit:
        yield visit


# Panels


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
        assert "You have left the study" in prolific.get(link).text
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


# Personal links


def links(store: Store, *names: str) -> list[str]:
    tokens = [Keys.new() for _ in names]
    people = [(Keys.hashed(token), name) for token, name in zip(tokens, names, strict=True)]
    store.change_now(partial(invite, people=people, at=NOW))
    return tokens


def test_a_personal_link_from_invitation_to_withdrawal(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(recruitment={"open": False}), new_database()) as visit:
        anns, bens, cleos = links(visit.store, "Ann", "Ben", "Cleo")
        assert states(visit) == [("personal", "invited")] * 3
        for _ in range(3):  # previews and reloads use nothing up
            page = visit.get(f"/p/{anns}")
        assert visit.rows(table) == 0
        assert visit.post("/consent", **hidden(page), decision="agree").url.path == f"/p/{anns}/task"
        assert visit.post("/consent", **hidden(page), decision="agree").url.path == f"/p/{anns}/task"
        assert visit.rows(table) == 1
        visit.client.cookies.clear()
        assert visit.get(f"/p/{anns}").url.path == f"/p/{anns}/task"  # the link goes on, on any device
        assert to_the_end(visit, f"/p/{anns}").url.path.endswith("/thanks")
        assert [entry.name for entry in visit.store.read_now(roster) if entry.state == "finished"] == ["Ann"]

        form = visit.get(f"/p/{bens}")
        assert visit.store.change_now(partial(revoke, token_hash=Keys.hashed(bens), at=NOW))
        assert visit.get(f"/p/{bens}").status_code == 410
        assert visit.post("/consent", **hidden(form), decision="agree").status_code == 410

        agreed = visit.get(f"/p/{cleos}")
        visit.post("/consent", **hidden(agreed), decision="agree")
        visit.post(f"/p/{cleos}/withdraw", **hidden(visit.get(f"/p/{cleos}/withdraw")))
        assert "You have left the study" in visit.get(f"/p/{cleos}").text
        assert visit.post("/consent", **hidden(agreed), decision="agree").status_code == 410
        assert states(visit) == [("personal", "finished"), ("personal", "revoked"), ("personal", "withdrawn")]
        assert visit.get(f"/p/{Keys.new()}").status_code == 404
        assert not any("Ann" in page or "Cleo" in page for page in visit.seen)  # names are the operator's


def test_nobody_is_found_by_an_unknown_link(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(), new_database()) as visit:
        assert visit.store.read_now(partial(invitation, token_hash=b"x")) is None
        assert not visit.store.change_now(partial(revoke, token_hash=b"x", at=NOW))


# Rooms


def test_a_room_from_its_code_to_its_end(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(recruitment={"open": False}), new_database()) as visit:
        code = visit.store.change_now(partial(open_room, name="Class 7b", at=NOW))
        entry = visit.get("/")
        assert visit.post("/room", **hidden(entry), code="nothing").status_code == 422
        found = visit.post("/room", **hidden(entry), code=f" {code[:3].lower()}-{code[3:]} ")
        assert found.url.path == f"/room/{code}"
        assert visit.post("/consent", **hidden(found), decision="agree").url.path.endswith("/task")
        visit.client.cookies.clear()
        to_the_end(visit, mine(agree(visit, f"/room/{code}")))
        [room] = visit.store.read_now(all_rooms)
        assert (room.name, room.started, room.finished, room.is_open) == ("Class 7b", 2, 1, True)
        wall = visit.get(f"/room/{code}/wall")
        assert "<svg" in wall.text
        assert "2 have begun, 1 have finished." in wall.text
        assert "Class 7b" not in wall.text
        late = visit.get(f"/room/{code}")
        assert visit.store.change_now(partial(close_room, code=code, at=NOW))
        assert visit.get(f"/room/{code}").status_code == 422
        assert visit.post("/consent", **hidden(late), decision="agree").status_code == 410
        judges = visit.store.read_now(export.judges)
        assert list(judges["room"]) == ["Class 7b"]  # only one has answered anything
        assert not visit.store.change_now(partial(close_room, code="NOROOM", at=NOW))


# Relations and quotas


def relation_of(visit: Visit, said: str) -> Response:
    visit.client.cookies.clear()
    page = agree(visit, "/")
    assert page.url.path.endswith("/relation")
    return visit.post(page.url.path, **hidden(page), relation=said)


def test_relations_are_kept_and_quotas_close(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(relations=RELATIONS), new_database()) as visit:
        first = relation_of(visit, "affected")
        assert first.url.path.endswith("/task")
        again = visit.post(f"{mine(first)}/relation", **hidden(first), relation="neither")  # sent again, later
        assert again.url.path.endswith("/task")
        second = relation_of(visit, "affected")
        assert "For this study we are looking for other people" in second.text
        assert visit.get(f"{mine(second)}/pair/1").url.path.endswith("/screened-out")
        assert relation_of(visit, "expert").url.path.endswith("/screened-out")
        assert relation_of(visit, "neither").url.path.endswith("/task")
        nothing = relation_of(visit, "queen")
        assert nothing.status_code == 422
        told = {entry.number: (entry.relation, entry.state) for entry in visit.store.read_now(roster)}
        assert told == {
            1: ("affected", "started"),
            2: ("affected", "screened_out"),
            3: ("expert", "screened_out"),
            4: ("neither", "started"),
            5: ("", "started"),
        }
        to_the_end(visit, mine(first))
        assert visit.store.read_now(export.judges)[["judge", "relation"]].to_numpy().tolist() == [
            ["p00001", "affected"]
        ]


def test_relations_that_were_taken_away_hold_nobody_up(make_study: Any, tmp_path: Path) -> None:
    study = make_study(relations=RELATIONS)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        own = mine(agree(visit, "/"))
    without = replace(study, settings=study.settings.model_copy(update={"relations": ()}))
    with visiting(without, tmp_path / "study.sqlite") as visit:
        page = visit.get(own)
        assert page.url.path == f"{own}/relation"
        assert visit.post(f"{own}/relation", **hidden(page)).url.path == f"{own}/task"


def test_a_try_is_judged_once(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(comprehension_check=True, check_must_pass=True), new_database()) as visit:
        own = mine(agree(visit, "/"))
        first = visit.post(f"{own}/task", **hidden(visit.get(f"{own}/task")))
        right = {question.name: question.right for question in check_questions(make_study().settings)}
        visit.post(f"{own}/check", **hidden(first), order="same")
        again = visit.post(f"{own}/check", **hidden(first), **right)  # from another tab, whose try was taken
        assert again.url.path == f"{own}/check"
        assert "1 try left" in again.text
        fields = {name: value for name, value in hidden(again).items() if name != "tries"}
        assert visit.post(f"{own}/check", **fields, **right).url.path == f"{own}/check"
        assert visit.post(f"{own}/check", **hidden(again), **right).url.path == f"{own}/practice"


def test_who_fails_both_tries_is_screened_out_if_they_must_pass(
    make_study: Any, new_database: Callable[[], Any]
) -> None:
    with visiting(make_study(comprehension_check=True, check_must_pass=True), new_database()) as visit:
        own = mine(agree(visit, "/"))
        check = visit.post(f"{own}/task", **hidden(visit.get(f"{own}/task")))
        for _ in range(2):
            check = visit.post(f"{own}/check", **hidden(check), order="same")
        assert check.url.path == f"{own}/screened-out"


def test_a_full_study_lets_nobody_in_and_keeps_nothing(make_study: Any, new_database: Callable[[], Any]) -> None:
    recruitment = {**PROLIFIC, "most": 1}
    with visiting(make_study(recruitment=recruitment), new_database()) as visit:
        late = visit.get(ANNS_LINK.replace("ann", "ben").replace("session1", "s2"))
        own = mine(agree(visit, ANNS_LINK))
        refused = visit.post("/consent", **hidden(late), decision="agree")  # had the page open already
        assert "There are enough people now" in refused.text
        assert 'href="https://app.prolific.example/submissions/complete?cc=OUT"' in refused.text
        assert "There are enough people now" in visit.get(ANNS_LINK.replace("ann", "cleo")).text
        assert own in visit.get(ANNS_LINK).text  # whoever is in stays in
        assert visit.rows(table) == 1


def test_of_many_at_once_as_many_are_let_in_as_may(new_database: Callable[[], Any]) -> None:
    store = Store.open(new_database(), "study")

    def come(number: int) -> Callable[[sa.Connection], Any]:
        consent = participants.Consent(
            token_hash=bytes([number] * 32),
            version="v",
            at=NOW,
            first_stage="pairs",
            lease=timedelta(hours=1),
            most=7,
        )
        return lambda connection: participants.start(
            connection, consent, lambda *_: [ShownPair("x", "y", "uniform", 0.5)], Keys.new
        )

    async def together() -> list[Any]:
        return await asyncio.gather(*(store.write(come(number)) for number in range(20)), return_exceptions=True)

    results = asyncio.run(together())
    store.close()
    assert sum(isinstance(result, Full) for result in results) == 13
    assert sorted(result.number for result in results if not isinstance(result, Full)) == [*range(1, 8)]
