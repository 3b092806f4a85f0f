"""The second round on a store: who may answer when, which pairs it is about, and what others may know."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from tests.support.panellists import MANY, TWO, Panellist, open_round, panel
from tests.support.someone import NOW

from fairwise.judgments import Answer
from fairwise.store import deliberation, export, quotas
from fairwise.store.errors import NothingToDiscuss, NotOpen, NotShownAgain, NotYet, RoundOver, Unknown
from fairwise.store.operators import Operator
from fairwise.store.schema import answers as answers_table
from fairwise.store.schema import events
from fairwise.store.schema import reasons as reasons_table
from fairwise.store.study_state import SECOND, set_state, standing

if TYPE_CHECKING:
    from fairwise.store.store import Store

ADA = Operator(1, "Ada", "owner")


def opinion(store: Store, one: Panellist, position: int = 1) -> deliberation.Opinion:
    def look(connection: sa.Connection) -> deliberation.Opinion:
        pairs = deliberation.shown_again(connection, one.token, MANY)
        return deliberation.opinion(connection, next(pair for pair in pairs if pair.position == position))

    return store.read_now(look)


def given(store: Store) -> list[deliberation.GivenReason]:
    return store.read_now(partial(deliberation.reasons_about, pairs=TWO))


def decide(store: Store, state: str, *answer_ids: int, hours: int = 0) -> None:
    at = NOW + timedelta(hours=hours)
    names = {one: f"name{one}" for one in answer_ids}
    store.change_now(partial(deliberation.decide_reasons, names=names, state=state, operator=ADA, at=at))


def report(store: Store, answer_id: int, hours: int) -> None:
    at = NOW + timedelta(hours=hours)
    store.change_now(partial(deliberation.report_reason, answer_id=answer_id, name=f"name{answer_id}", at=at))


def actions(store: Store) -> list[tuple[Any, ...]]:
    columns = (events.c.operator, events.c.action, events.c.about)
    return [tuple(row) for row in store.read_now(lambda c: c.execute(sa.select(*columns).order_by("id")).all())]


def test_the_most_disputed_pairs_come_first_and_dear_ones_between(store: Store) -> None:
    panel(store, "sas", "sbs", "sas", "sba", "ans")
    dear = {("1a", "1b"): 0.5, ("nobody", "was shown"): 9.0}
    found = store.read_now(partial(deliberation.worth_discussing, prices=dear))
    assert [(pair.two, pair.reason) for pair in found] == [
        (TWO[1], "disputed"),
        (TWO[0], "expensive"),
        (TWO[2], "disputed"),
    ]
    assert open_round(store, dear) == 3
    assert store.read_now(deliberation.round_list) == found
    assert open_round(store) == 3, "the list stays as it was when the round was opened"
    assert store.read_now(deliberation.round_list) == found


def test_what_three_people_answered_is_not_discussed(store: Store) -> None:
    panel(store, "sas", "aab", "bbn")
    store.change_now(partial(deliberation.end_first_round, at=NOW))
    with pytest.raises(NothingToDiscuss):
        open_round(store)
    assert store.read_now(standing).round == 1


def test_excluded_people_dispute_nothing(store: Store) -> None:
    people = panel(store, "sss", "sss", "sss", "sss", "ass")
    number = people[-1].number
    store.change_now(partial(quotas.exclude, number=number, reason="too fast", by="Ada", at=NOW))
    with pytest.raises(NothingToDiscuss):
        open_round(store)


def test_the_second_round_waits_for_the_end_of_the_first(store: Store) -> None:
    people = panel(store, "sas", "sbs", "sas", "sb")
    open_now = partial(deliberation.open_second_round, at=NOW, until=None, prices={})
    with pytest.raises(NotYet):
        store.change_now(open_now)
    with pytest.raises(NotYet):
        people[0].says(2, "a", asked=SECOND)
    people[-1].says(3, "s")
    store.change_now(partial(deliberation.end_first_round, at=NOW))
    with pytest.raises(RoundOver):
        people[-1].says(3, "a")
    store.change_now(open_now)
    with pytest.raises(RoundOver):
        people[-1].says(3, "a")


def test_the_last_day_ends_the_first_round_by_itself(store: Store) -> None:
    *_, one = panel(store, "sas", "sbs", "sas", "s")
    until = NOW + timedelta(hours=1)
    one.says(2, "b", at=NOW + timedelta(minutes=59), until=until)
    with pytest.raises(RoundOver):
        one.says(3, "b", at=until, until=until)
    opened = store.change_now(partial(deliberation.open_second_round, at=until, until=until, prices={}))
    assert opened == 1


def test_enough_who_finished_end_the_first_round(store: Store) -> None:
    enough = partial(deliberation.end_when_enough, enough=3, at=NOW)
    panel(store, "sss", "sss", "ss")
    store.change_now(enough)
    assert not store.read_now(standing).round_over
    panel(store, "sss")
    store.change_now(partial(deliberation.end_when_enough, enough=0, at=NOW))
    assert not store.read_now(standing).round_over
    for _ in range(2):
        store.change_now(enough)
    assert store.read_now(standing).round_over
    assert actions(store) == [("Fairwise", deliberation.END, "3 have finished")]


def test_keeping_is_told_apart_from_not_having_been_asked(store: Store) -> None:
    people = panel(store, "sas", "sbs", "sas", "sbs")
    open_round(store)
    for _ in range(2):  # a form sent twice
        people[0].says(2, "a", asked=SECOND, nonce="kept")
    people[1].says(2, "n", asked=SECOND, why="now I see")
    people[1].says(2, "b", asked=SECOND)
    with pytest.raises(NotShownAgain):
        people[1].says(1, "b", asked=SECOND)
    table = store.read_now(export.judgments)
    second = table.frame[table.frame["round"] == SECOND]
    assert list(zip(second["judge"], second["answer"], strict=True)) == [
        ("p00001", "a_at_least_b"),
        ("p00002", "a_at_least_b"),  # shown on swapped sides
    ]
    assert len(table.frame) == 14, "nothing of the first round is lost"
    assert len(table.counted()) == 12, "of two rounds the last counts"
    assert store.read_now(partial(deliberation.returned, most=MANY)) == (4, 2, 2, 2, 0)
    assert store.read_now(deliberation.count_returned) == 2


def test_someone_who_did_not_finish_may_look_again_at_what_they_answered(store: Store) -> None:
    *_, late, stranger = panel(store, "aas", "bbs", "aas", "bb", "")
    open_round(store)
    assert [pair.position for pair in late.read(deliberation.shown_again, most=MANY)] == [1, 2]
    assert len(late.read(deliberation.shown_again, most=1)) == 1
    assert stranger.read(deliberation.shown_again, most=MANY) == []
    with pytest.raises(NotShownAgain):
        stranger.says(1, "a", asked=SECOND)


def test_others_are_counted_from_three_on_and_on_ones_own_sides(store: Store) -> None:
    people = panel(store, "ass", "bss", "ass", "nss")
    open_round(store)
    people[1].says(1, "n", asked=SECOND)
    assert opinion(store, people[0]).counts == {Answer.B_AT_LEAST_A: 1, Answer.A_AT_LEAST_B: 1, Answer.NO_CONSTRAINT: 1}
    assert opinion(store, people[1]).counts == {Answer.B_AT_LEAST_A: 2, Answer.NO_CONSTRAINT: 1}, "sides are swapped"
    people[3].withdraw()
    assert opinion(store, people[0]) == deliberation.Opinion(None), "two others would be known one by one"


def test_a_paused_study_takes_no_answer_of_the_second_round(store: Store) -> None:
    people = panel(store, "ass", "bss", "ass", "nss")
    open_round(store)
    store.change_now(partial(set_state, state="paused"))
    with pytest.raises(NotOpen):
        people[0].says(1, "b", asked=SECOND)
    store.change_now(partial(set_state, state="open"))
    people[0].says(1, "b", asked=SECOND)


def test_only_released_reasons_are_read_by_others_and_never_ones_own(store: Store) -> None:
    people = panel(store, "ass", "bss", "ass", "nss", why={0: "mine", 1: "because"})
    open_round(store)
    mine, because = given(store)
    assert (mine.state, because.answer) == (None, Answer.B_AT_LEAST_A)
    assert opinion(store, people[2]).reasons == []
    decide(store, deliberation.RELEASED, mine.answer_id, because.answer_id)
    assert [one.text for one in opinion(store, people[0]).reasons] == ["because"]
    assert {one.text for one in opinion(store, people[2]).reasons} == {"mine", "because"}
    decide(store, deliberation.HIDDEN, because.answer_id, hours=1)
    decide(store, deliberation.HIDDEN, because.answer_id, hours=2)
    assert opinion(store, people[0]).reasons == []
    assert [what for _, what, _ in actions(store)] == ["reason released", "reason released", "reason hidden"]
    assert given(store)[1].decided_at == NOW + timedelta(hours=1), "what is decided already is left alone"


def test_a_report_hides_at_once_until_an_operator_decides_and_then_never_again(store: Store) -> None:
    people = panel(store, "ass", "bss", "ass", "nss", why={1: "Ask my neighbour"})
    open_round(store)
    (reason,) = given(store)
    report(store, reason.answer_id, hours=1)
    assert given(store)[0].state is None, "what nobody was shown cannot be reported"
    decide(store, deliberation.RELEASED, reason.answer_id, hours=2)
    report(store, reason.answer_id, hours=3)
    assert opinion(store, people[0]).reasons == []
    assert (given(store)[0].waits, store.read_now(deliberation.count_reported)) == (True, 1)
    decide(store, deliberation.RELEASED, reason.answer_id, hours=4)
    assert (given(store)[0].waits, store.read_now(deliberation.count_reported)) == (False, 0)
    report(store, reason.answer_id, hours=5)
    assert len(opinion(store, people[0]).reasons) == 1
    assert store.read_now(deliberation.count_reported) == 1
    decide(store, deliberation.HIDDEN, reason.answer_id, hours=6)
    assert opinion(store, people[0]).reasons == []
    assert [who for who, *_ in actions(store)] == ["Ada", "(a participant)", "Ada", "(a participant)", "Ada"]


def test_a_withdrawn_or_excluded_author_is_read_by_nobody(store: Store) -> None:
    people = panel(store, "ass", "bss", "ass", "nss", "bss", "bss", why={1: "first", 4: "second"})
    open_round(store)
    decide(store, deliberation.RELEASED, *(one.answer_id for one in given(store)))
    assert len(opinion(store, people[0]).reasons) == 2
    people[1].withdraw()
    assert [one.text for one in opinion(store, people[0]).reasons] == ["second"]
    assert store.read_now(lambda c: c.execute(sa.select(sa.func.count()).select_from(reasons_table)).scalar_one()) == 1
    number = people[4].number
    store.change_now(partial(quotas.exclude, number=number, reason="too fast", by="Ada", at=NOW))
    assert opinion(store, people[0]).reasons == []
    assert given(store) == []
    with pytest.raises(Unknown):
        people[1].says(1, "b", asked=SECOND)


def test_a_text_that_was_forgotten_is_read_by_nobody(store: Store) -> None:
    people = panel(store, "ass", "bss", "ass", "nss", why={1: "because"})
    open_round(store)
    decide(store, deliberation.RELEASED, given(store)[0].answer_id)
    store.change_now(lambda c: c.execute(sa.update(answers_table).values(why="")))
    assert opinion(store, people[0]).reasons == []
