"""The panel chooses the trade-off: opened in the console, voted by those who finished, counted and decided about."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.fits import done_job
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden

from fairwise.store.quotas import exclude
from fairwise.store.schema import ballots, events
from fairwise.store.study_state import set_state
from fairwise.store.votes import cast_ballots, last_vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from httpx2 import Response

    from fairwise.study.folder import StudyFolder

GOOD = {f"known-as-{k}": k / 12 for k in range(12)}


@pytest.fixture
def site(make_study: Callable[..., StudyFolder], new_database: Callable[[], Path | str]) -> Iterator[Operating]:
    with operating(make_study().path, new_database()) as opened:
        opened.set_up()
        done_job(opened.site.host.store, opened.site.host.path, GOOD)
        yield opened


def voter(site: Operating, *, finish: bool = True) -> str:
    kept = dict(site.client.cookies)
    visit = Visit(site.client)
    mine = visit.begin()
    for number in range(1, 5):
        visit.answer(mine, number)
    if finish:
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
    site.client.cookies.clear()
    site.client.cookies.update(kept)
    return mine


def opened(site: Operating, rule: str = "condorcet", points: tuple[int, ...] = (0, 2, 4)) -> Response:
    ticked = {f"point-1-{at}": "yes" for at in points}
    return site.post("/vote/open", fit="1", rule=rule, **ticked)


def send(site: Operating, mine: str, *places: str, **more: str) -> Response:
    page = site.client.get(f"{mine}/vote")
    given = {f"option-{at}": place for at, place in enumerate(places) if place}
    return site.client.post(f"{mine}/vote", data={**hidden(page), **given, **more})


def text(page: Response) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", unescape(page.text)).split())


def cast(site: Operating) -> list[Any]:
    return [one.ballot for one in site.site.host.store.read_now(lambda c: cast_ballots(c, 1))]


def test_from_the_frontier_to_a_decision(site: Operating) -> None:
    people = [voter(site) for _ in range(5)]
    assert "/vote" not in site.client.get(f"{people[0]}/thanks").text
    assert "The vote is open" in opened(site).text
    assert f"{people[0]}/vote" in site.client.get(f"{people[0]}/thanks").text
    page = text(site.client.get(f"{people[0]}/vote"))
    assert "31 of 100 decisions are wrong. 100 of 100 answers of participants are followed." in page
    assert "24 of 100 decisions are wrong. 25 of 100 answers of participants are followed." in page
    assert send(site, people[0], "3", "1", "2").status_code == 200
    assert send(site, people[1], "1", "2", "3").status_code == 200
    assert send(site, people[2], "1", "3", "2").status_code == 200
    again = send(site, people[1], "2", "1", "3")
    assert "Your choice is saved" in again.text
    for other in people[3:]:
        send(site, other, "2", "1", "3")
    assert cast(site) == [(1, 2, 0), (1, 0, 2), (0, 2, 1), (1, 0, 2), (1, 0, 2)]
    assert "5 participants have voted" in text(site.get("/vote"))
    assert "A majority prefers" not in site.get("/vote").text, "nobody sees how it goes while people vote"
    site.post("/vote/close", vote="1")
    assert not site.client.get(f"{people[0]}/vote").url.path.endswith("/vote")
    told = text(site.get("/vote"))
    assert "A majority prefers option B to each of the others." in told
    otherwise = site.post("/vote/decide", vote="1", chosen="0", why="")
    assert otherwise.status_code == 422
    assert "Say why you decide otherwise than the panel." in otherwise.text
    site.post("/vote/decide", vote="1", chosen="0", why="The law asks for it")
    assert "Option A is adopted. The law asks for it" in text(site.get("/vote"))
    done = site.site.host.store.read_now(lambda c: c.execute(sa.select(events.c.action, events.c.about)).all())
    assert ("vote decided", "vote 1: A (The law asks for it)") in done
    assert ("vote opened", "fit 1") in done


def test_places_that_are_the_same_are_asked_for_again(site: Operating) -> None:
    mine = voter(site)
    opened(site, "borda")
    for places in (("1", "1", "2"), ("1", "2", ""), ("1", "2", "4")):
        page = send(site, mine, *places)
        assert page.status_code == 422
        assert "Give every option a place of its own" in page.text
        assert page.text.count(" selected") == sum(place in ("1", "2", "3") for place in places)
    assert cast(site) == []


def test_approval_may_be_of_any_number(site: Operating) -> None:
    mine = voter(site)
    opened(site, "approval")
    assert send(site, mine, "yes", "", "yes").status_code == 200
    assert cast(site) == [(0, 2)]
    assert site.client.get(f"{mine}/vote").text.count(" checked") == 2
    assert send(site, mine).status_code == 200
    assert cast(site) == [()]


def test_single_ballots_are_given_out_only_with_a_tally(site: Operating) -> None:
    people = [voter(site) for _ in range(5)]
    for vote, voters in ((1, people[:4]), (2, people)):
        opened(site)
        for mine in voters:
            page = site.client.get(f"{mine}/vote")
            assert "No total of fewer than five votes is shown to anyone." in page.text
            send(site, mine, "3", "1", "2")
        empty = "judge,option,place\n"
        assert site.get("/downloads/ballots.csv").text == empty, "nobody steers a vote that is open"
        site.post("/vote/close", vote=str(vote))
        shown = text(site.get("/vote"))
        assert f"{len(voters)} participants have voted" in shown
        assert ("The tally was fixed when the vote ended." in shown) == (len(voters) == 5)
        if len(voters) < 5:
            assert "With fewer than 5 ballots, what was chosen is not shown to anyone" in shown
            assert "<table" not in site.get("/vote").text
            assert "A majority prefers" not in shown
            assert "Say why" in text(site.post("/vote/decide", vote="1", chosen="1", why=""))
        else:
            assert "A majority prefers option B to each of the others." in shown
        rows = "".join(f"p0000{number},{place}\n" for number in range(1, 6) for place in ("B,1", "C,2", "A,3"))
        assert site.get("/downloads/ballots.csv").text == empty + (rows if len(voters) == 5 else "")


def test_who_withdraws_after_a_vote_is_told_that_the_total_stays(site: Operating) -> None:
    people = [voter(site) for _ in range(6)]
    kept = "If that vote has already ended, its total stays as it was counted."
    assert kept not in site.client.get(f"{people[0]}/withdraw").text
    opened(site)
    for place, mine in enumerate(people):
        send(site, mine, *(("3", "1", "2") if place else ("1", "2", "3")))
    site.post("/vote/close", vote="1")
    before = site.get("/vote").text.partition("<tbody>")[2].partition("</tbody>")[0]
    assert "6" in before
    page = site.client.get(f"{people[0]}/withdraw")
    assert kept in text(page)
    site.client.post(f"{people[0]}/withdraw", data=hidden(page))
    assert site.get("/vote").text.partition("<tbody>")[2].partition("</tbody>")[0] == before
    assert site.get("/downloads/ballots.csv").text == "judge,option,place\n"


def test_only_who_finished_votes_and_only_while_it_is_open(site: Operating) -> None:
    early, mine = voter(site, finish=False), voter(site)
    opened(site)
    assert not site.client.get(f"{early}/vote").url.path.endswith("/vote")
    csrf = hidden(site.client.get(f"{early}/closing"))["csrf"]
    site.client.post(
        f"{early}/vote", data={"csrf": csrf, "vote": "1", "option-0": "1", "option-1": "2", "option-2": "3"}
    )
    assert cast(site) == []
    site.site.host.store.change_now(lambda c: set_state(c, "closed"))
    assert send(site, mine, "1", "2", "3").status_code == 200, "a vote comes mostly after the study"
    page = site.client.get(f"{mine}/vote")
    site.post("/vote/close", vote="1")
    site.client.post(f"{mine}/vote", data={**hidden(page), "option-0": "3", "option-1": "2", "option-2": "1"})
    assert cast(site) == [(0, 1, 2)]


def test_who_withdraws_takes_their_ballot_along_and_who_is_excluded_does_not_count(site: Operating) -> None:
    one, _other = voter(site), voter(site)
    opened(site)
    send(site, one, "1", "2", "3")
    send(site, _other, "3", "2", "1")
    host = site.site.host
    vote = host.store.read_now(last_vote)
    assert vote is not None
    host.store.change_now(lambda c: exclude(c, number=2, reason="r", by="Ada", at=vote.opened_at))
    assert cast(site) == [(0, 1, 2)]
    page = site.client.get(f"{one}/withdraw")
    site.client.post(f"{one}/withdraw", data=hidden(page))
    assert host.store.read_now(lambda c: len(c.execute(sa.select(ballots)).all())) == 1


@pytest.mark.parametrize("points", [(0, 1), (), (0, 1, 2, 3, 4, 5, 6)])
def test_three_to_five_points_one_vote_at_a_time(site: Operating, points: tuple[int, ...]) -> None:
    page = opened(site, points=points)
    if len(points) < 3:
        assert page.status_code == 422
        assert "Choose three to five points that differ." in page.text
        opened(site)
    assert "A vote is open already." in opened(site).text
