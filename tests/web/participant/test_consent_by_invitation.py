"""Who comes by a personal link or a room's code, from the invitation to the end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.support.arriving import NOW, agree, mine, states, to_the_end
from tests.support.visits import hidden, visiting

from fairwise.store import export
from fairwise.store.recruitment import invitation, invite, revoke
from fairwise.store.rooms import all_rooms, close_room, open_room
from fairwise.store.roster import roster
from fairwise.store.schema import participants as table
from fairwise.study.recruitment import Keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.store.store import Store

# Personal links


def links(store: Store, *names: str) -> list[str]:
    tokens = [Keys.new() for _ in names]
    people = [(Keys.hashed(token), name) for token, name in zip(tokens, names, strict=True)]
    store.change_now(partial(invite, people=people, at=NOW))
    return tokens


def test_a_personal_link_from_invitation_to_withdrawal(make_study: Any, new_database: Callable[[], Any]) -> None:
    with visiting(make_study(recruitment={"open": False}), new_database()) as visit:
        anns, bens, cleos = links(visit.store, "Ann A.", "Ben B.", "Cleo C.")  # no random key can contain these
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
        assert [entry.name for entry in visit.store.read_now(roster) if entry.state == "finished"] == ["Ann A."]

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
        assert sorted(entry.name for entry in visit.store.read_now(roster)) == [
            "",
            "Ann A.",
            "Ben B.",
        ]  # nor who withdrew
        assert visit.get(f"/p/{Keys.new()}").status_code == 404
        assert not any("Ann A." in page or "Cleo C." in page for page in visit.seen)  # names are the operator's


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
        assert "2 people have begun. 1 person has finished." in wall.text
        assert "Class 7b" not in wall.text
        late = visit.get(f"/room/{code}")
        assert visit.store.change_now(partial(close_room, code=code, at=NOW))
        assert visit.get(f"/room/{code}").status_code == 422
        assert visit.post("/consent", **hidden(late), decision="agree").status_code == 410
        judges = visit.store.read_now(export.judges)
        assert list(judges["room"]) == ["Class 7b"]  # only one has answered anything
        assert not visit.store.change_now(partial(close_room, code="NOROOM", at=NOW))
