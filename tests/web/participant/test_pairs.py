"""A participant's way over HTTP: nothing lost, nothing doubled, nothing of others, nothing of outcomes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from tests.support.visits import Visit, hidden, visiting

from fairwise.store import export
from fairwise.store.schema import answers, metadata, participants
from fairwise.web.participant.base import COOKIE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_whole_way_on_both_databases(make_study: Any, new_database: Callable[[], Any]) -> None:
    study = make_study(comprehension_check=True, ask_why=True, ask_confidence=True)
    with visiting(study, new_database()) as visit:
        mine = visit.agree()
        check = visit.post(f"{mine}/task", **hidden(visit.get(f"{mine}/task")))
        assert check.url.path == f"{mine}/check"
        again = visit.post(f"{mine}/check", **hidden(check), order="same")
        assert again.status_code == 422
        assert "means: Neither of the two" in again.text  # what the wrong answer would have said
        failed = visit.post(f"{mine}/check", **hidden(again), order="same")
        assert "Not all of that was right, but you can go on" in failed.text
        practice = visit.get(mine)
        assert practice.url.path == f"{mine}/practice"  # after two tries everyone goes on
        pressed = visit.post(f"{mine}/practice", **hidden(practice), answer="no_constraint")
        assert pressed.url.path == f"{mine}/practice"
        assert "You ask for nothing here" in pressed.text.partition("</section>")[0]
        assert visit.post(f"{mine}/practice", **hidden(pressed)).url.path == f"{mine}/pair/1"
        said = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
        for number, answer in enumerate(said, start=1):
            following = visit.answer(mine, number, answer, why="=1+1 <b>", confidence="4")
            assert "Saved" in following.text
        assert following.url.path == f"{mine}/review"
        thanks = visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="mine", comments="")
        assert thanks.url.path == f"{mine}/thanks"
        receipt = re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", thanks.text)
        assert receipt is not None
        assert receipt[0] in visit.get(f"{mine}/thanks").text
        assert visit.exported() == said
        table = visit.store.read_now(export.judgments).frame
        assert (table["seconds"] >= 0).all()
        assert set(table["a"]) | set(table["b"]) <= set(study.person_ids)
        texts = visit.store.read_now(export.texts)
        assert texts["text"].tolist() == ["=1+1 <b>"] * 4 + ["mine"]


def test_a_get_never_changes_anything(visit: Visit) -> None:
    mine = visit.begin()

    def everything() -> list[Any]:
        return visit.store.read_now(lambda c: [c.execute(sa.select(table)).all() for table in metadata.sorted_tables])

    before = everything()
    for path in ("/", "/declined", "/withdrawn", mine, *(f"{mine}/{page}" for page in (
        "task", "check", "practice", "pair/1", "pair/2", "pair/99", "review", "closing", "thanks", "withdraw",
    ))):  # fmt: skip
        visit.get(path)
    assert everything() == before


def test_declining_keeps_nothing(visit: Visit) -> None:
    page = visit.get("/")
    assert visit.post("/consent", **hidden(page), decision="decline").url.path == "/declined"
    assert visit.post("/consent", **hidden(page)).status_code == 422
    assert visit.rows(participants) == 0
    assert not visit.client.cookies


def test_agreeing_twice_is_agreeing_once(visit: Visit) -> None:
    form = hidden(visit.get("/"))
    paths = {visit.post("/consent", **form, decision="agree").url.path for _ in range(3)}
    assert len(paths) == 1
    assert visit.rows(participants) == 1


def test_double_clicks_replays_and_other_tabs(visit: Visit) -> None:
    mine = visit.begin()
    first_tab, other_tab = (hidden(visit.get(f"{mine}/pair/1")) for _ in range(2))
    for _ in range(3):
        visit.post(f"{mine}/pair/1", **first_tab, answer="same")
    visit.post(f"{mine}/pair/1", **other_tab, answer="same")
    assert visit.rows(answers) == 1
    visit.post(f"{mine}/pair/1", **hidden(visit.get(f"{mine}/pair/1")), answer="no_constraint")
    assert visit.rows(answers) == 2  # a changed mind; the old one is kept
    visit.post(f"{mine}/pair/1", **first_tab, answer="same")  # the back button, and the old form again
    assert visit.rows(answers) == 2
    assert visit.exported() == ["no_constraint"]


def test_an_open_pair_is_found_again_on_any_device(visit: Visit) -> None:
    mine = visit.begin()
    visit.answer(mine, 1)
    visit.answer(mine, 3)
    visit.client.cookies.clear()
    assert visit.get(mine).url.path == f"{mine}/pair/2"
    assert visit.get(f"{mine}/closing").status_code == 422


def test_after_the_end_nothing_changes(visit: Visit) -> None:
    mine = visit.begin()
    forms = {number: hidden(visit.get(f"{mine}/pair/{number}")) for number in range(1, 5)}
    for number in range(1, 5):
        visit.answer(mine, number)
    closing = hidden(visit.get(f"{mine}/closing"))
    for _ in range(2):
        visit.post(f"{mine}/closing", **closing, rules="first")
    assert visit.post(f"{mine}/pair/1", **forms[1], answer="no_constraint").url.path == f"{mine}/thanks"
    assert visit.post(f"{mine}/closing", **closing, rules="second").url.path == f"{mine}/thanks"
    assert visit.exported() == ["same"] * 4
    assert visit.store.read_now(export.texts)["text"].tolist() == ["first"]


def test_withdrawing_deletes_everything(visit: Visit) -> None:
    mine = visit.begin()
    visit.answer(mine, 1)
    assert COOKIE in visit.client.cookies
    gone = visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
    assert gone.url.path == "/withdrawn"
    assert COOKIE not in visit.client.cookies
    for table in metadata.sorted_tables:
        if table.name not in {"counters", "withdrawals", "study", "consent_texts", "database_identity"}:
            assert visit.rows(table) == 0
    assert visit.get(mine).status_code == 404


def test_a_problem_is_told_and_nothing_is_kept(visit: Visit) -> None:
    mine = visit.begin()
    form = hidden(visit.get(f"{mine}/pair/1"))
    for said in ("", "perhaps", "SAME", "0"):
        page = visit.post(f"{mine}/pair/1", **form, answer=said)
        assert page.status_code == 422
        assert "Choose one of the answers" in page.text
    assert visit.rows(answers) == 0


def test_two_answers_are_only_two(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(answers="two"), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        assert visit.answer(mine, 1, "a_at_least_b").status_code == 422
        assert visit.answer(mine, 1, "no_constraint").status_code == 200


def test_first_the_answer_then_why_then_the_next_pair(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(ask_why=True, ask_confidence=True), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        why = visit.answer(mine, 1, "same")
        assert why.url.path == f"{mine}/pair/1/why"
        assert visit.exported() == ["same"]  # kept already, whatever comes now
        assert f'href="{mine}/pair/1">Undo</a>' in why.text
        following = visit.post(f"{mine}/pair/1", **hidden(why), why="because", confidence="4")
        assert following.url.path == f"{mine}/pair/2"
        assert f'href="{mine}/pair/1">Undo</a>' in following.text
        kept = visit.store.read_now(lambda c: c.execute(sa.select(answers.c.confidence)).scalars().all())
        assert (visit.exported(), kept) == (["same"], [None, 4])
        assert visit.store.read_now(export.texts)["text"].tolist() == ["because"]


def test_an_answer_alone_takes_nothing_away(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(ask_why=True), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        first = hidden(visit.get(f"{mine}/pair/1"))
        why = visit.post(f"{mine}/pair/1", **first, answer="same")
        visit.post(f"{mine}/pair/1", **hidden(why), why="because")
        assert visit.rows(answers) == 2
        again = hidden(visit.get(f"{mine}/pair/1"))
        for form in (first, again):  # the same button once more, by an old form and by a new one
            assert "because" in visit.post(f"{mine}/pair/1", **form, answer="same").text
        assert visit.rows(answers) == 2
        visit.answer(mine, 1, "no_constraint")
        for form in (first, again):  # both sent again from somewhere: they undo no change of mind
            visit.post(f"{mine}/pair/1", **form, answer="same")
        assert visit.exported() == ["no_constraint"]
        assert "because" not in visit.get(f"{mine}/pair/1/why").text  # that was about another answer


def test_the_time_is_that_of_the_answer_and_not_of_the_reason(make_study: Any, tmp_path: Path) -> None:
    with visiting(make_study(ask_why=True), tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        why = visit.answer(mine, 1)
        visit.post(f"{mine}/pair/1", **hidden(why), why="because")
        seconds = visit.store.read_now(lambda c: c.execute(sa.select(answers.c.seconds)).scalars().all())
        assert len(seconds) == 2
        assert seconds[0] == seconds[1]


def test_nothing_more_is_asked_or_kept_unless_the_study_wants_it(visit: Visit) -> None:
    mine = visit.begin()
    assert visit.answer(mine, 1, why="because", confidence="4").url.path == f"{mine}/pair/2"
    assert visit.get(f"{mine}/pair/1/why").url.path == f"{mine}/pair/1"
    assert visit.get(f"{mine}/pair/3/why").url.path == f"{mine}/pair/3"
    assert visit.store.read_now(export.texts).empty


def test_undo_leads_back_to_the_answer_of_just_now(visit: Visit) -> None:
    mine = visit.begin()
    following = visit.answer(mine, 1, "same")
    assert f'<a class="undo" href="{mine}/pair/1">' in following.text
    assert 'value="same" id="answer" aria-keyshortcuts="1" class="chosen"' in visit.get(f"{mine}/pair/1").text
    for odd in ("", "x", "9" * 20, "1'"):
        assert "Undo" not in visit.get(f"{mine}/pair/2?saved={odd}").text
