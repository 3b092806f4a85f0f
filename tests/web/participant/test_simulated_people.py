"""Simulated people among real ones: only by force, and marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.support.visits import Visit, hidden, visiting

from fairwise.store.export import judges, simulated_count
from fairwise.study.recruitment import FORCED_AGENT, SIMULATED_AGENT
from fairwise.web.participant.base import COOKIE

if TYPE_CHECKING:
    from pathlib import Path


def comes(visit: Visit, agent: str) -> int:
    """Somebody with this browser agrees; returns the status."""
    visit.client.cookies.delete(COOKIE) if COOKIE in visit.client.cookies else None
    page = visit.client.get("/")
    sent = {**hidden(page), "decision": "agree"}
    return visit.client.post("/consent", data=sent, headers={"user-agent": agent}).status_code


@pytest.mark.parametrize("simulated", [True, False])
def test_bots_do_not_come_among_answers_of_people(make_study: Any, tmp_path: Path, simulated: bool) -> None:
    with visiting(make_study(simulated=simulated), tmp_path / "study.sqlite") as visit:
        assert comes(visit, SIMULATED_AGENT) == 200  # nobody has answered yet
        visit.client.cookies.delete(COOKIE)
        mine = visit.begin()
        visit.answer(mine, 1)
        assert comes(visit, SIMULATED_AGENT) == (200 if simulated else 409)
        assert comes(visit, FORCED_AGENT) == 200
        assert visit.store.read_now(simulated_count) == (3 if simulated else 2)
        assert judges_of(visit) == ["no"]


def judges_of(visit: Visit) -> list[str]:
    return visit.store.read_now(judges)["simulated"].tolist()
