"""A room that talks, as phones, the wall and an operator see it: without a script."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from tests.support.operating import Operating
from tests.support.visits import Visit, hidden

from fairwise.archive.bundle import write_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.store.export import judgments
from fairwise.store.recording import MOST_VERSIONS
from fairwise.store.rooms import all_rooms
from fairwise.store.schema import participants
from fairwise.store.store import snapshot
from fairwise.web.app import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response

    from fairwise.study.folder import StudyFolder

PAIRS = 2


class Phone(Visit):
    """Somebody in the room."""

    def come(self, code: str) -> None:
        page = self.get(f"/room/{code}")
        found = self.post("/consent", **hidden(page), decision="agree")
        self.mine = str(found.url.path).removesuffix("/task")
        page = self.get(self.mine)
        while not page.url.path.endswith("/room"):
            chosen = {"done": "yes"} if page.url.path.endswith("practice") else {}
            page = self.post(page.url.path, **hidden(page), **chosen)

    @property
    def page(self) -> Response:
        return self.get(f"{self.mine}/room")

    def says(self, answer: str, form: dict[str, str] | None = None) -> Response:
        return self.post(f"{self.mine}/room", **(form or hidden(self.page)), answer=answer)


class TalkingRoom:
    """The console of whoever leads it, its phones and its wall."""

    def __init__(self, site: Site, operator: TestClient) -> None:
        self.site, self.console = site, Operating(operator, site)
        self.console.set_up()
        self.console.post("/coming/rooms", name="Class 7b")
        (self.code,) = (room.code for room in site.host.store.read_now(all_rooms))
        self.wall = Visit(_browser(site))

    def phone(self) -> Phone:
        phone = Phone(_browser(self.site))
        phone.come(self.code)
        return phone

    def press(self, words: str) -> Response:
        page = self.console.get(f"/coming/rooms/{self.code}")
        form = next(form for form in page.text.split("<form")[1:] if f">{words}</button>" in form)
        fields = dict(re.findall(r'name="(seen|to)" value="([^"]*)"', form))
        return self.console.post(f"/coming/rooms/{self.code}/turn", **fields)

    def on_wall(self) -> str:
        return self.wall.get(f"/room/{self.code}/wall").text

    def counted(self) -> list[list[int]]:
        table = self.on_wall().partition("wall-counts")[2].partition("</table>")[0]
        return [[int(n) for n in re.findall(r"<strong>(\d+)</strong>", row)] for row in table.split("<tr>")[2:]]


def _browser(site: Site) -> TestClient:
    return TestClient(site, base_url="https://study.example", headers={"sec-fetch-site": "same-origin"})


@pytest.fixture
def study(make_study: Any) -> StudyFolder:
    made: StudyFolder = make_study(
        pairs=3, design={"fixed": PAIRS, "uniform": 1}, deliberation={"rooms": True}, practice=False
    )
    return made


@pytest.fixture
def room(study: StudyFolder) -> Iterator[TalkingRoom]:
    site = Site(study.path, study.path / "study.sqlite")
    with _browser(site) as operator:
        yield TalkingRoom(site, operator)


def test_a_room_goes_through_its_pairs_together(room: TalkingRoom, study: StudyFolder, tmp_path: Path) -> None:
    phones = [room.phone() for _ in range(4)]
    assert room.code in room.on_wall()
    assert "Wait until everyone is here" in phones[0].page.text
    room.press("Begin with the first pair")
    forms = [phone.page.text for phone in phones]
    assert len({re.sub(r'value="[^"]*"|/p/[\w-]+', "", form) for form in forms}) == 1  # the same sides for all
    for phone, answer in zip(phones, ("a_at_least_b", "a_at_least_b", "b_at_least_a", "same"), strict=True):
        assert "It is saved." in phone.says(answer).text
    assert "<strong>4</strong> / 4" in room.on_wall()
    assert room.counted() == []  # until they are shown
    room.press("Show the answers")
    assert sorted(room.counted(), reverse=True) == [[2], [1], [1], [0]]
    assert "talk about it" in phones[0].page.text
    room.press("Answer again")
    for phone in phones:
        assert "Answer again, after talking" in phone.page.text
        phone.says("same")
    room.press("Show both answers")
    assert [1, 4] in room.counted()
    room.press("Next pair")
    assert "Pair 2 of 2" in phones[0].page.text
    assert "Pair 2 of 2" in room.on_wall()
    for phone in phones:
        phone.says("no_constraint")
    room.press("Show the answers")
    room.press("End the talk")
    assert "last pair" in room.on_wall()
    for phone in phones:  # what is left they answer by themselves, and finish
        page = phone.get(phone.mine)
        assert "/pair/" in page.url.path
        page = phone.post(page.url.path, **hidden(page), answer="same")
        assert phone.post(f"{phone.mine}/closing", **hidden(phone.get(f"{phone.mine}/closing"))).status_code == 200
    frame = room.site.host.store.read_now(judgments).frame
    assert frame["round"].value_counts().to_dict() == {1: 12, 2: 4}
    bundle = tmp_path / "bundle.zip"
    with snapshot(room.site.host.database, study.path) as connection:
        write_bundle(bundle, study, connection)
    verify_bundle(bundle)


def test_counts_of_fewer_than_three_are_shown_to_nobody(room: TalkingRoom) -> None:
    phones = [room.phone() for _ in range(3)]
    room.press("Begin with the first pair")
    for phone in phones[:2]:
        phone.says("same")
    room.press("Show the answers")
    assert room.counted() == []
    assert "once three people have answered" in room.on_wall()
    assert "=2" not in room.wall.get(f"/room/{room.code}/wall/turn").text


def test_a_late_press_is_not_kept_and_says_so(room: TalkingRoom) -> None:
    quick, slow = room.phone(), room.phone()
    room.press("Begin with the first pair")
    form = hidden(slow.page)
    quick.says("same")
    room.press("Show the answers")
    late = slow.says("same", form)
    assert late.status_code == 409
    assert "not kept" in late.text
    assert "have not answered this pair" in slow.page.text
    room.press("Answer again")
    assert "have not answered this pair" in slow.page.text  # who did not answer alone listens
    assert slow.says("same", {**form, "turn": "1-again"}).status_code == 409
    assert list(room.site.host.store.read_now(judgments).frame["round"]) == [1]


def test_who_changes_an_answer_very_often_is_told_that_and_not_that_it_came_late(room: TalkingRoom) -> None:
    phone = room.phone()
    room.press("Begin with the first pair")
    form = hidden(phone.page)
    for number in range(MOST_VERSIONS + 1):
        told = phone.says(("same", "no_constraint")[number % 2], {**form, "nonce": f"form {number}"})
    assert told.status_code == 409
    assert "You have changed this answer very often" in told.text
    assert len(room.site.host.store.read_now(judgments).frame) == 1


def test_who_lost_their_place_is_told_that_and_not_that_it_came_late(make_study: Any) -> None:
    study = make_study(
        pairs=PAIRS, design={"fixed": PAIRS}, deliberation={"rooms": True}, practice=False, recruitment={"most": 1}
    )
    site = Site(study.path, study.path / "study.sqlite")
    with _browser(site) as operator:
        room = TalkingRoom(site, operator)
        sleeper = room.phone()
        site.host.store.change_now(
            lambda change: change.execute(sa.update(participants).values(consented_at=datetime(2020, 1, 1, tzinfo=UTC)))
        )
        room.phone()
        room.press("Begin with the first pair")
        told = sleeper.says("same")
        assert told.status_code == 409
        assert "There are enough people now" in told.text
        assert room.site.host.store.read_now(judgments).frame.empty


def test_who_comes_late_or_reloads_is_where_the_room_is(room: TalkingRoom) -> None:
    first = room.phone()
    room.press("Begin with the first pair")
    for words in ("Show the answers", "Next pair"):
        room.press(words)
    late = room.phone()
    for phone in (first, late):
        assert "Pair 2 of 2" in phone.get(phone.mine).text
    form = hidden(late.page)
    for _ in range(2):  # a form that is sent again counts once
        late.says("same", form)
    assert "It is saved." in late.page.text
    assert "Pair 2 of 2" in late.get(f"{late.mine}/room?change=yes").text


def test_in_a_room_that_talks_nobody_goes_their_own_way(room: TalkingRoom) -> None:
    phone = room.phone()
    for path in ("/pair/1", "/review", "/closing"):
        assert phone.get(f"{phone.mine}{path}").url.path == f"{phone.mine}/room"
    room.press("Begin with the first pair")
    form = hidden(phone.page)
    phone.says("same", form)
    room.press("Show the answers")
    own = phone.client.post(f"{phone.mine}/pair/1", data={**form, "answer": "a_at_least_b"}, follow_redirects=False)
    assert own.status_code == 303
    assert list(room.site.host.store.read_now(judgments).frame["answer"]) == ["same"]


def test_whether_the_room_went_on_is_told_in_a_few_letters_once(room: TalkingRoom) -> None:
    phone = room.phone()
    for path in (f"{phone.mine}/room/turn", f"/room/{room.code}/wall/turn"):
        first = phone.get(path)
        assert len(first.text) < 80
        known = {"if-none-match": first.headers["etag"]}
        again = phone.client.get(path, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        room.press("Begin with the first pair" if "/p/" in path else "Show the answers")
        assert phone.client.get(path, headers=known).status_code == 200
    assert phone.get("/p/nobody/room/turn").status_code == 404
    assert phone.get("/room/NOROOM/wall/turn").status_code == 404


def test_pages_follow_the_room_without_a_script_but_no_form_is_loaded_anew(room: TalkingRoom) -> None:
    phone = room.phone()
    assert room.wall.get(f"/room/{room.code}/wall").headers["refresh"] == "3"
    assert 'http-equiv="refresh"' in phone.page.text
    room.press("Begin with the first pair")
    assert 'http-equiv="refresh"' not in phone.page.text
    assert 'http-equiv="refresh"' in room.on_wall()
    assert phone.page.headers["content-security-policy"].endswith("; connect-src 'self'")


def test_a_button_of_an_old_page_changes_nothing(room: TalkingRoom) -> None:
    old = {"seen": "0-waiting", "to": "1-alone"}
    for _ in range(2):
        assert room.console.post(f"/coming/rooms/{room.code}/turn", **old).status_code == 200
    room.press("Show the answers")
    room.console.post(f"/coming/rooms/{room.code}/turn", **old)
    assert "The wall shows the answers" in room.console.get(f"/coming/rooms/{room.code}").text
    for fields in ({"seen": "0-waiting", "to": "2-alone"}, {"seen": "x", "to": "y"}, {}):
        assert room.console.post(f"/coming/rooms/{room.code}/turn", **fields).status_code == 404
    assert room.console.get("/coming/rooms/NOROOM").status_code == 404
    assert f"/admin/coming/rooms/{room.code}" in room.console.get("/coming").text


def test_where_rooms_do_not_talk_there_is_no_such_page(make_study: Any) -> None:
    study = make_study()
    site = Site(study.path, study.path / "study.sqlite")
    with _browser(site) as operator:
        console = Operating(operator, site)
        console.set_up()
        console.post("/coming/rooms", name="Class 7b")
        (code,) = (room.code for room in site.host.store.read_now(all_rooms))
        assert console.get(f"/coming/rooms/{code}").status_code == 404
        assert operator.get(f"/room/{code}/wall/turn").status_code == 404
        visit = Visit(_browser(site))
        mine = visit.begin()
        assert visit.get(f"{mine}/room").url.path.startswith(f"{mine}/pair/")
        assert visit.get(f"{mine}/room/turn").status_code == 404
