"""The console's page of the second round: who may do what when, what is shown, and what the trail says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.operating import operating
from tests.support.visits import Visit, any_database, hidden

from fairwise.store import deliberation
from fairwise.store.operators import TrailFilter, trail
from fairwise.store.study_state import standing
from fairwise.study.folder import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.operating import Operating

SAID = ("same", "same", "no_constraint", "a_at_least_b")
PAGE = "/second-round"
NAME = "[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}"
"""A reason's keyed name, also in the addresses at which participants report it."""


@pytest.fixture
def console(make_study: Any, tmp_path: Path) -> Iterator[Operating]:
    """Four people have answered two pairs, and gave reasons."""
    study = make_study(ask_why=True, pairs=2, design={"fixed": 2}, deliberation={"on": True})
    (study.path / SETTINGS).write_text(study.settings.toml(), encoding="utf-8")
    with any_database(study.path), operating(study.path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        cookies = dict(opened.client.cookies)
        visit = Visit(opened.client)
        for place, said in enumerate(SAID):
            opened.client.cookies.clear()
            mine = visit.begin()
            for number in (1, 2):
                page = visit.answer(mine, number, said)
                visit.post(f"{mine}/pair/{number}", **hidden(page), why=f"<b>because {place}</b>")
            visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
        opened.client.cookies.clear()
        for name, value in cookies.items():
            opened.client.cookies.set(name, value)
        yield opened


def stands(console: Operating) -> Any:
    return console.site.host.store.read_now(standing)


def opened(console: Operating) -> None:
    console.post(f"{PAGE}/end", sure="yes")
    assert "second round is open" in console.post(f"{PAGE}/open", sure="yes").text


def actions(console: Operating) -> list[tuple[str, str]]:
    found = console.site.host.store.read_now(partial(trail, which=TrailFilter()))
    return [(event.action, event.about) for event in found if "round" in event.action or "reason" in event.action]


def test_the_first_round_is_ended_and_the_second_opened_after_one_says_yes(console: Operating) -> None:
    assert "The first round is under way" in console.get(PAGE).text
    assert "tick the box" in console.post(f"{PAGE}/end").text
    assert "moved on" in console.post(f"{PAGE}/open", sure="yes").text, "the first is not over"
    assert "The first round is over" in console.post(f"{PAGE}/end", sure="yes").text
    assert "moved on" in console.post(f"{PAGE}/end", sure="yes").text
    assert "tick the box" in console.post(f"{PAGE}/open").text
    assert stands(console).round == 1
    assert "second round is open" in console.post(f"{PAGE}/open", sure="yes").text
    assert stands(console).round == 2
    assert actions(console) == [(deliberation.OPEN, ""), (deliberation.END, "")]
    assert re.search(r"Came back</a></dt><dd>0", console.get("").text)


def test_reasons_are_released_one_by_one_or_for_a_pair_and_each_is_in_the_trail(console: Operating) -> None:
    opened(console)
    page = console.get(PAGE).text
    assert page.count("&lt;b&gt;because 0&lt;/b&gt;") == 2, "once for each pair, and escaped"
    assert page.count("Not decided") == 8
    one = re.findall(rf"Release reason ({NAME})<", page)[0]
    console.post(f"{PAGE}/reasons", state="released", reasons=one)
    assert actions(console)[0] == (deliberation.ACTIONS["released"], f"reason {one}")
    rank, listed = re.findall(rf'name="reasons" value="({NAME} [^"]+)"', page)[:2]
    assert rank == listed, "to be released and to be hidden"
    answer = console.post(f"{PAGE}/reasons", state="hidden", reasons=listed, place="1")
    assert "Decided." in answer.text
    assert answer.text.count("Not decided") == 4
    assert len(actions(console)) == 2 + 1 + 4
    assert console.get("/trail").text.count("Reason hidden") >= 4


@pytest.mark.parametrize(
    "form",
    [{}, {"state": "edited", "reasons": "A2B3-" * 3 + "A2B3"}, {"state": "hidden", "reasons": "A2B3-" * 3 + "A2B3 1"}],
)
def test_what_is_no_decision_is_refused(console: Operating, form: dict[str, str]) -> None:
    opened(console)
    assert console.post(f"{PAGE}/reasons", **form).status_code == 404
    assert len(actions(console)) == 2


def test_viewers_see_no_reasons_and_decide_nothing(console: Operating) -> None:
    console.post(f"{PAGE}/end", sure="yes")
    names = re.findall(f"Release reason ({NAME})<", console.get(PAGE).text)
    console.post(f"{PAGE}/reasons", state="released", reasons=names[0])
    console.post(f"{PAGE}/reasons", state="hidden", reasons=names[1])
    report = partial(deliberation.report_reason, name=names[0], at=datetime.now(UTC))
    console.site.host.store.change_now(lambda c: report(c, answer_id=deliberation.reason_ids(c)[0]))
    console.add("Bea", "viewer")
    console.log_in("Bea")
    for page in (console.get(PAGE), console.get(""), console.get("/participants/1")):
        assert page.status_code == 200
        assert "because" not in page.text
        assert not re.search(f"{NAME}|[Rr]eason [0-9]", page.text)
    assert "<button" not in console.get(PAGE).text.partition("<main")[2]
    assert console.get("/trail").status_code == 403
    for path in ("end", "open", "reasons"):
        assert console.post(f"{PAGE}/{path}", sure="yes", state="hidden", reasons="1").status_code == 403
    assert stands(console).round == 1


def test_names_of_reasons_are_those_of_participants_and_follow_from_no_number(console: Operating) -> None:
    opened(console)
    page = console.get(PAGE).text
    names = re.findall(f"Release reason ({NAME})<", page)
    assert len(set(names)) == 8
    for pair in (names[:4], names[4:]):
        assert pair == sorted(pair), "the order of answers would tell who wrote them"
    host = console.site.host
    assert set(names) == {host.keys.reason_name(one) for one in host.store.read_now(deliberation.reason_ids)}
    console.post(f"{PAGE}/reasons", state="released", reasons=" ".join(names))
    assert {about for action, about in actions(console) if "reason" in action} == {f"reason {name}" for name in names}


def test_documentation_says_who_reads_reasons() -> None:
    docs = Path(__file__).parents[3] / "docs"
    endpoints, threats = (
        (docs / file).read_text(encoding="utf-8") for file in ("reference/endpoints.md", "threat_model.md")
    )
    assert "| GET | `/admin/second-round` | viewer |" in endpoints
    assert "who came back; reasons for owners alone |" in endpoints
    assert "| answers, reasons, closing texts | the database | owners;" in threats


def test_reported_reasons_stand_on_top_until_somebody_decides(console: Operating) -> None:
    opened(console)
    store, keys = console.site.host.store, console.site.host.keys
    number = store.read_now(deliberation.reason_ids)[0]
    name = keys.reason_name(number)
    console.post(f"{PAGE}/reasons", state="released", reasons=name)
    store.change_now(partial(deliberation.report_reason, answer_id=number, name=name, at=datetime.now(UTC)))
    assert "Reported reasons" in console.get(PAGE).text
    assert "Reported reasons" not in console.post(f"{PAGE}/reasons", state="hidden", reasons=name).text


def test_a_study_without_a_second_round_has_no_such_page(make_study: Any, tmp_path: Path) -> None:
    study = make_study()
    with any_database(study.path), operating(study.path, tmp_path / "study.sqlite") as opened:
        opened.set_up()
        assert opened.get(PAGE).status_code == 404
        assert opened.post(f"{PAGE}/end", sure="yes").status_code == 404
        assert "/admin/second-round" not in opened.get("").text


def test_who_looks_through_reasons_is_reminded_of_arms_that_hide_columns(make_study: Any, tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [
        {"buttons": "reversed"},
        {"columns": ["age"]},
        {"columns": ["age"], "reasons": False},
    ]
    for place, other in enumerate(others):
        arms = [{"name": "usual"}, other | {"name": "other"}]
        study = make_study(ask_why=True, pairs=2, design={"fixed": 2}, deliberation={"on": True}, arms=arms)
        (study.path / SETTINGS).write_text(study.settings.toml(), encoding="utf-8")
        with operating(study.path, tmp_path / f"{place}.sqlite") as opened:
            opened.set_up()
            page = opened.get(PAGE)
            assert page.status_code == 200
            assert ("Some arms do not show all columns" in page.text) == (place == 1)
