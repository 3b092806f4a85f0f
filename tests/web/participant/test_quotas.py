"""Who is let in: by what they are to the decision, by the check, and by how many there are already."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.arriving import ANNS_LINK, NOW, PROLIFIC, agree, mine, to_the_end
from tests.support.visits import Visit, hidden, visiting

from fairwise.store import export, participants
from fairwise.store.errors import Full
from fairwise.store.roster import roster
from fairwise.store.schema import participants as table
from fairwise.store.store import Store
from fairwise.study.cards import check_questions
from fairwise.study.recruitment import Keys
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import sqlalchemy as sa
    from httpx2 import Response

RELATIONS = [
    {"name": "affected", "words": "It was decided about me", "most": 1},
    {"name": "expert", "words": "I decide such things", "most": 0},
    {"name": "neither", "words": "Neither"},
]


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


def test_a_full_study_lets_nobody_in_and_keeps_nothing(
    make_study: Any, new_database: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    recruitment = {**PROLIFIC, "most": 1}
    with visiting(make_study(recruitment=recruitment), new_database()) as visit:
        late = visit.get(ANNS_LINK.replace("ann", "ben").replace("session1", "s2"))
        own = mine(agree(visit, ANNS_LINK))
        with monkeypatch.context() as patch:
            patch.setattr(visit.store, "write", None)  # nobody who answers waits for a form that is refused
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
            first_stage=Stage.PAIRS,
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
