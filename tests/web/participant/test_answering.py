"""A study with active pairs over HTTP: every pair is reached, none comes twice, and no way of clicking loses one."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy as sa
from tests.support.visits import Visit, hidden, visiting

from fairwise.errors import InputError
from fairwise.store import export
from fairwise.store.schema import answer_models, answers, appearances, metadata, participants
from fairwise.study.folder import SCORES, StudyFolder
from fairwise.web.participant import answering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DESIGN = {"uniform": 3, "anchors": 1, "repeats": 1, "active": 6}
PAIRS = sum(DESIGN.values())
SAID = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")


@pytest.fixture(autouse=True)
def _learning_at_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_SECONDS", 0.0)


@pytest.fixture
def study(make_study: Callable[..., StudyFolder]) -> StudyFolder:
    return make_study(pairs=PAIRS, design=DESIGN)


@pytest.fixture
def visit(study: StudyFolder, tmp_path: Path) -> Iterator[Visit]:
    with visiting(study, tmp_path / "study.sqlite") as opened:
        yield opened


def laid_out(visit: Visit, number: int = 1) -> dict[int, Any]:
    """What a participant was shown or will be, by position."""
    query = (
        sa.select(appearances)
        .join(participants, appearances.c.participant_id == participants.c.id)
        .where(participants.c.number == number)
    )
    return {row.position: row for row in visit.store.read_now(lambda c: c.execute(query).all())}


def active_places(study: StudyFolder, number: int = 1) -> list[int]:
    return [place for place, pair in enumerate(study.places(number, number - 1), start=1) if pair is None]


def model_of(visit: Visit) -> answering.CommonModel:
    taking = visit.site.services.answering
    assert isinstance(taking, answering.ActiveAnswering)
    return taking.model


def wait_until_learned(visit: Visit) -> None:
    """Until the thread that learns has nothing left to do."""
    learned = model_of(visit).learning
    if learned is not None:
        learned.result()


def take_part(visit: Visit, turn: int = 0) -> str:
    mine = visit.begin()
    for number in range(1, PAIRS + 1):
        assert visit.answer(mine, number, SAID[(turn + number * number) % 4]).status_code == 200
    return mine


def finish(visit: Visit, mine: str) -> None:
    thanks = visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
    assert thanks.url.path == f"{mine}/thanks"


def test_everyone_comes_to_the_end_and_no_pair_comes_twice(study: StudyFolder, new_database: Callable[[], Any]) -> None:
    with visiting(study, new_database()) as visit:
        for turn in range(5):
            visit.client.cookies.clear()
            mine = take_part(visit, turn)
            finish(visit, mine)
            wait_until_learned(visit)
        said = visit.store.read_now(export.judgments).frame
        assert said.groupby("judge").size().tolist() == [PAIRS] * 5
        for _, own in said.groupby("judge"):
            assert Counter(own["design"]) == {"uniform": 3, "anchor": 1, "repeat": 1, "active": 6}
            once = own[own["design"] != "repeat"]
            assert len({frozenset(two) for two in zip(once["a"], once["b"], strict=True)}) == PAIRS - 1
            chances = own.loc[own["design"] == "active", "selection_probability"]
            assert ((chances > 0) & (chances <= 1)).all()
        rows = [laid_out(visit, number) for number in range(1, 6)]
        for number, shown in enumerate(rows, start=1):
            assert sorted(shown) == list(range(1, PAIRS + 1))
            chosen = {place: row for place, row in shown.items() if row.design == "active"}
            assert sorted(chosen) == active_places(study, number)
            assert [chosen[place].answers_known for place in sorted(chosen)] == [place - 1 for place in sorted(chosen)]
        assert {row.answer_model_id for row in rows[0].values()} == {None}  # nothing is learned from one person
        assert all(row.answer_model_id for row in rows[4].values() if row.design == "active")
        assert visit.rows(answer_models) > 1


def test_a_place_gets_its_pair_when_the_one_before_it_is_answered(visit: Visit, study: StudyFolder) -> None:
    mine = visit.begin()
    places = active_places(study)
    assert 1 not in places
    assert sorted(laid_out(visit)) == [place for place in range(1, PAIRS + 1) if place not in places]
    for number in range(1, PAIRS + 1):
        assert number in laid_out(visit)
        later = [place for place in places if place > number]
        page = visit.get(f"{mine}/review").text
        assert page.count("Comes later") == len(later)
        for place in later:
            assert f'/pair/{place}"' not in page
            assert visit.get(f"{mine}/pair/{place}").url.path == f"{mine}/pair/{number}"  # to where they are
        following = visit.answer(mine, number)
        assert f"Pair {number + 1} of {PAIRS}" in following.text or number == PAIRS
    assert "Comes later" not in visit.get(f"{mine}/review").text
    assert "Every pair is answered" in visit.get(f"{mine}/review").text


def test_nobody_can_finish_before_all_places_are_answered(visit: Visit, study: StudyFolder) -> None:
    mine = visit.begin()
    for number in laid_out(visit):
        visit.answer(mine, number)
        form = hidden(visit.get(f"{mine}/pair/{number}"))
        assert visit.get(f"{mine}/closing").status_code == 422
        assert not visit.post(f"{mine}/closing", csrf=form["csrf"], rules="").url.path.endswith("/thanks")
    assert len(active_places(study)) == DESIGN["active"]


def test_a_get_never_changes_anything(visit: Visit) -> None:
    mine = visit.begin()

    def everything() -> list[Any]:
        return visit.store.read_now(lambda c: [c.execute(sa.select(table)).all() for table in metadata.sorted_tables])

    before = everything()
    for page in ("", "/review", "/closing", *(f"/pair/{place}" for place in range(PAIRS + 2))):
        visit.get(f"{mine}{page}")
    assert everything() == before


def test_forms_sent_twice_at_once_or_later_lay_out_once(visit: Visit, study: StudyFolder) -> None:
    mine = visit.begin()
    for number in range(1, PAIRS + 1):
        tabs = [hidden(visit.get(f"{mine}/pair/{number}")) for _ in range(2)]
        sent = [(tab, said) for tab in tabs for said in ("same", "same", "no_constraint")]
        with ThreadPoolExecutor(len(sent)) as threads:
            replies = list(
                threads.map(lambda form: visit.post(f"{mine}/pair/{number}", **form[0], answer=form[1]), sent)  # noqa: B023
            )
        assert {reply.status_code for reply in replies} == {200}
    shown = laid_out(visit)
    assert sorted(shown) == list(range(1, PAIRS + 1))
    finish(visit, mine)
    assert visit.rows(appearances) == PAIRS
    for place in active_places(study):
        [known] = [row.answers_known for row in shown.values() if row.position == place]
        order = visit.store.read_now(
            lambda c: c.execute(
                sa.select(appearances.c.position, answers.c.version).join(answers).order_by(answers.c.id)
            ).all()
        )
        assert tuple(order[known - 1]) == (place - 1, 1)  # it was laid out with the first answer before it


def test_jumping_ahead_and_back_and_changing_ones_mind(visit: Visit, study: StudyFolder) -> None:
    mine = visit.begin()
    first = [place for place in range(PAIRS, 0, -1) if place not in active_places(study)]
    for number in first:  # backwards, which lays out the active ones behind them
        visit.answer(mine, number)
    before = {place: (row.a, row.b) for place, row in laid_out(visit).items()}
    for number in first:
        visit.answer(mine, number, "no_constraint")
    assert {place: (row.a, row.b) for place, row in laid_out(visit).items()} == before
    while "/pair/" in (page := visit.get(mine)).url.path:
        visit.post(page.url.path, **hidden(page), answer="same")
    finish(visit, mine)
    assert sorted(laid_out(visit)) == list(range(1, PAIRS + 1))


def test_going_on_after_a_restart(study: StudyFolder, tmp_path: Path) -> None:
    database = tmp_path / "study.sqlite"
    with visiting(study, database) as visit:
        for turn in range(4):
            visit.client.cookies.clear()
            take_part(visit, turn)
        wait_until_learned(visit)
        visit.client.cookies.clear()
        mine = visit.begin()
        visit.answer(mine, 1)
        models = visit.rows(answer_models)
        assert models
    for number in range(2, PAIRS + 1):
        with visiting(study, database) as visit:
            newest = model_of(visit).now
            assert newest.model_id == visit.rows(answer_models)
            page = visit.get(mine)
            assert page.url.path == f"{mine}/pair/{number}"
            visit.post(page.url.path, **hidden(page), answer=SAID[number % 4])
    with visiting(study, database) as visit:
        finish(visit, mine)
        known = {row.answer_model_id for row in laid_out(visit, 5).values() if row.design == "active"}
        assert None not in known


def test_the_same_answers_lead_to_the_same_pairs(study: StudyFolder, tmp_path: Path) -> None:
    def asked(name: str, said: tuple[str, ...]) -> list[tuple[str, str, float]]:
        with visiting(study, tmp_path / name) as visit:
            mine = visit.begin()
            for number in range(1, PAIRS + 1):
                visit.answer(mine, number, said[number % len(said)])
            return [(row.a, row.b, row.selection_probability) for _, row in sorted(laid_out(visit).items())]

    assert asked("one", SAID) == asked("two", SAID)
    assert asked("one more", SAID) != asked("other", ("same", "no_constraint"))


def test_learning_that_fails_stops_nobody(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_self: object) -> None:
        raise OSError("no room left")

    monkeypatch.setattr(answering.CommonModel, "_newer", fail)
    finish(visit, take_part(visit))
    assert "no room left" in caplog.text
    assert visit.rows(answer_models) == 0


def test_nothing_is_learned_in_common_of_fewer_than_three(visit: Visit) -> None:
    for turn in range(2):
        visit.client.cookies.clear()
        take_part(visit, turn)
        wait_until_learned(visit)
    assert visit.rows(answer_models) == 0


def test_what_is_learned_leaves_out_those_who_withdrew(visit: Visit) -> None:
    for turn in range(5):
        visit.client.cookies.clear()
        mine = take_part(visit, turn)
        wait_until_learned(visit)
    visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
    visit.client.cookies.clear()
    take_part(visit)  # by and by, as learning waits for more answers
    wait_until_learned(visit)
    learned = visit.store.read_now(lambda c: c.execute(sa.select(answer_models.c.learned_from)).scalars().all())
    assert any(later < earlier for earlier, later in pairwise(learned))


def test_scores_are_seen_nowhere(make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    made = make_study(pairs=PAIRS, design=DESIGN)
    with visiting(made, tmp_path / "without.sqlite") as visit:
        take_part(visit)
        without = {(row.a, row.b) for row in laid_out(visit).values()}
    scores = [0.123454321 + k / 32 for k in range(12)]
    pd.DataFrame({"id": made.person_ids, "score": scores}).to_parquet(made.path / SCORES)
    study = StudyFolder.open(made.path)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        finish(visit, take_part(visit))
        everything = visit.store.read_now(lambda c: [c.execute(sa.select(t)).all() for t in metadata.sorted_tables])
        for score in scores:
            assert str(score)[:6] not in "".join(visit.seen)
            assert str(score)[:6] not in str(everything)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        assert {(row.a, row.b) for row in laid_out(visit).values()} != without  # they matter


def test_withdrawing_deletes_what_was_chosen_too(visit: Visit) -> None:
    mine = take_part(visit)
    visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
    assert (visit.rows(appearances), visit.rows(answers)) == (0, 0)


def test_more_active_pairs_than_there_are_pairs_are_refused(make_study: Callable[..., StudyFolder]) -> None:
    assert make_study(pairs=66, design={"active": 60}).settings.pairs == 66  # all there are
    with pytest.raises(InputError, match="67 pairs wanted, but only 66 pairs of people differ"):
        make_study(pairs=67, design={"active": 60})


def test_all_pairs_there_are_can_be_asked(make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    study = make_study(pairs=66, design={"active": 62}, answers="two")
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine = visit.begin()
        for number in range(1, 67):
            visit.answer(mine, number, ("same", "no_constraint")[number % 2])
        finish(visit, mine)
        shown = laid_out(visit).values()
        assert len({frozenset((row.a, row.b)) for row in shown}) == 66
        last = max((row for row in shown if row.design == "active"), key=lambda row: row.answers_known)
        assert last.selection_probability == pytest.approx(1.0)  # there was no other
