"""Arms in the console: their numbers, and nothing that could sway whoever excludes a participant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ARMS = [{"name": "zebra"}, {"name": "okapi", "buttons": "reversed"}]
LATE = [{"name": "zebra"}, {"name": "okapi", "reasons": False}]


@pytest.fixture
def console_of(make_study: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[..., Operating]]:
    """Of a study in which one has finished and two have begun."""
    opened = []

    def make(arms: list[dict[str, Any]], **more: Any) -> Operating:
        manager = operating(make_study(pairs=3, arms=arms, **more).path, tmp_path / "study.sqlite")
        opened.append(manager)
        console = manager.__enter__()
        visit = Visit(console.client)
        for ends in (True, False, False):
            visit.client.cookies.clear()
            mine = visit.begin()
            if ends:
                for number in (1, 2, 3):
                    visit.answer(mine, number)
                visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")))
        console.set_up()
        return console

    yield make
    for manager in opened:
        manager.__exit__(None, None, None)


def rows(console: Operating) -> dict[str, list[int]]:
    console.site.host.watch.forget()
    table = console.get("").text.partition('<h3 id="arms">')[2].partition("</table>")[0]
    found = re.findall(r'<tr><th scope="row">(?:<bdi>)?([^<]+)(?:</bdi>)?</th>(.*?)</tr>', table)
    return {name: [int(number) for number in re.findall(r">(\d+)<", cells)] for name, cells in found}


def test_how_many_are_in_each_arm(console_of: Callable[..., Operating]) -> None:
    console = console_of(ARMS)
    found = rows(console)
    assert list(found) == ["zebra", "okapi"]
    # Started, at it, finished, left, screened out.
    together = [sum(column) for column in zip(*found.values(), strict=True)]
    assert together == [3, 2, 1, 0, 0]
    assert "<h3" in console.get("/live").text
    judges = console.get("/downloads/judges.csv").text.splitlines()
    assert judges[0].split(",")[-2:] == ["arm", "block"]
    assert judges[1].split(",")[-2] in ("zebra", "okapi")
    assert judges[1].split(",")[-1] == "0"


def test_whoever_is_not_assigned_yet_is_counted_apart(console_of: Callable[..., Operating]) -> None:
    found = rows(console_of(LATE, deliberation={"on": True}, design={"fixed": 2}))
    assert list(found) == ["zebra", "okapi", "not assigned yet"]
    assert found["not assigned yet"] == [2, 2, 0, 0, 0]
    assert sorted([found["zebra"], found["okapi"]]) == [[0, 0, 0, 0, 0], [1, 0, 1, 0, 0]]


def test_whoever_excludes_someone_does_not_see_their_arm(console_of: Callable[..., Operating]) -> None:
    console = console_of(ARMS)
    for path in ("/participants", *(f"/participants/{number}" for number in (1, 2, 3))):
        page = console.get(path)
        assert page.status_code == 200
        assert "zebra" not in page.text
        assert "okapi" not in page.text


def test_a_study_without_arms_says_nothing_of_them(console_of: Callable[..., Operating]) -> None:
    assert rows(console_of([])) == {}


@pytest.mark.parametrize("arm", ["zebra", "okapi", "gnu", ""])
def test_an_operator_tries_the_study_in_any_arm(make_study: Callable[..., Any], tmp_path: Path, arm: str) -> None:
    with operating(make_study(pairs=3, arms=ARMS, practice=False).path, tmp_path / "study.sqlite") as console:
        console.set_up()
        assert all(f'<option value="{one["name"]}">' in console.get("/try").text for one in ARMS)
        page = console.post("/try", **({"arm": arm} if arm else {}))
        base = page.url.path.partition("/p/")[0]
        page = console.client.post(f"{base}/consent", data={**hidden(page), "decision": "agree"})
        page = console.client.post(page.url.path, data=hidden(page))
        first = re.findall(r'<button[^>]* name="answer" value="(\w+)"', page.text)[0]
        assert first == ("no_constraint" if arm == "okapi" else "same")  # what is no arm is the first of them
