"""Numbers in addresses, and pages of ours for whatever is no address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.operating import Operating, operating
from tests.support.visits import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_NUMBERS = ["x", "-1", "1.0", "+1", "01", "1e3", "%201", "1%0a", "٣", "²", "9" * 10, "9" * 4500]


@pytest.fixture(scope="module")
def console(make_study: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operating]:
    database: Path = tmp_path_factory.mktemp("routing") / "study.sqlite"
    with operating(make_study().path, database) as opened:
        opened.set_up()
        yield opened


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_what_is_no_number_is_an_address_of_nothing(console: Operating, number: str) -> None:
    for path in (
        f"/fits/{number}",
        f"/fits/{number}/report",
        f"/participants/{number}",
        f"/participants/{number}/erase",
    ):
        page = console.get(path)
        assert (page.status_code, "There is no such page" in page.text) == (404, True), path
    for path in (f"/accounts/{number}/remove", f"/coming/links/{number}/revoke", f"/fits/{number}/cancel"):
        assert console.post(path).status_code == 404, path


def test_of_participants_too(console: Operating) -> None:
    visit = Visit(console.client)
    mine = visit.begin()
    assert visit.get(f"{mine}/pair/1").status_code == 200
    for number in (*NO_NUMBERS, "0", "5", "999999999"):
        page = visit.get(f"{mine}/pair/{number}")
        assert (page.status_code, "There is no such page" in page.text) == (404, True), number


@pytest.mark.parametrize("path", ["/", "/declined", "/healthz", "/admin/login"])
def test_methods(console: Operating, path: str) -> None:
    assert console.client.head(path).status_code == 200
    refused = console.client.put(path)
    assert refused.status_code == 405
    assert refused.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/declined/", "/room/ABCDEF/wall/", "/admin/login/", "/healthz/"])
def test_nobody_is_led_out_of_the_study_by_a_slash(console: Operating, path: str) -> None:
    assert console.client.get(path, follow_redirects=False).status_code == 404
