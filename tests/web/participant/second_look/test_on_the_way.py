"""A second look over HTTP: offered gently, never forced, both versions kept, and no way into a dead end."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import sqlalchemy as sa
from tests.support.looking_again import PAIRS, answered, contradicting, finish, go_on, repeated
from tests.support.visits import Visit, hidden, visiting

from fairwise.judgments import repeat_consistency
from fairwise.store import export
from fairwise.store.schema import answers, metadata, participants
from fairwise.study.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from httpx2 import Response

    from fairwise.judgments import Judgments


def everything(visit: Visit) -> list[Any]:
    return visit.store.read_now(lambda c: [c.execute(sa.select(table)).all() for table in metadata.sorted_tables])


def stage(visit: Visit) -> str:
    return str(visit.store.read_now(lambda c: c.execute(sa.select(participants.c.stage)).scalar_one()))


def table(visit: Visit) -> Judgments:
    return visit.store.read_now(export.judgments)


def of_round(number: int, visit: Visit) -> pd.DataFrame:
    rows = table(visit).frame
    return rows[rows["round"] == number].reset_index(drop=True)


def words(page: Response) -> str:
    main = re.search(r"<main.*</main>", page.text, re.DOTALL)
    assert main is not None
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main[0])).split())


def test_it_is_off_unless_the_study_wants_it(make_study: Any, tmp_path: Path) -> None:
    study = make_study(pairs=PAIRS, design={"repeats": 1})
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine = answered(visit, dict.fromkeys(repeated(study), "a_at_least_b"))
        review = visit.get(f"{mine}/review")
        assert "second-look" not in review.text
        for page in (visit.get(f"{mine}/second-look"), go_on(visit, mine)):
            assert page.url.path in (f"{mine}/review", f"{mine}/closing")
        assert finish(visit, mine).url.path == f"{mine}/thanks"
        assert set(table(visit).frame["round"]) == {1}


def test_without_contradictions_the_way_is_as_ever(visit: Visit, study: StudyFolder) -> None:
    mine = answered(visit)
    assert go_on(visit, mine).url.path == f"{mine}/closing"
    assert stage(visit) == "pairs"
    assert "/review" in visit.get(f"{mine}/closing").text
    first, second = repeated(study)
    visit.answer(mine, first, "same")  # they may still go back, and only now contradict themselves
    assert visit.get(f"{mine}/closing").url.path == f"{mine}/review"
    visit.answer(mine, second, "same")
    assert finish(visit, mine).url.path == f"{mine}/thanks"
    assert set(table(visit).frame["round"]) == {1}


@pytest.mark.parametrize("new", ["same", "b_at_least_a"])
def test_both_versions_are_kept(study: StudyFolder, new_database: Callable[[], Any], new: str) -> None:
    with visiting(study, new_database()) as visit:
        mine, _, second = contradicting(visit, study)
        before = table(visit).frame
        page = visit.answer(mine, second, new)
        assert (page.url.path, page.url.fragment) == (f"{mine}/second-look", f"pair-{second}")
        assert "Saved" in page.text
        assert "Before: Person 2 should be treated at least as well as person 1" in words(page)
        pd.testing.assert_frame_equal(of_round(1, visit), before)
        after = of_round(2, visit)
        assert after[["answer", "design"]].to_numpy().tolist() == [[new, "repeat"]]
        thanks = finish(visit, mine)
        assert thanks.url.path == f"{mine}/thanks"
        assert re.search(rf"Pairs answered</dt><dd>{PAIRS}</dd>", thanks.text)
        assert len(table(visit).frame) == PAIRS + 1
        assert repeat_consistency(table(visit)).overall.of == 2  # before and after


def test_the_last_of_the_second_round_counts(visit: Visit, study: StudyFolder) -> None:
    mine, first, _ = contradicting(visit, study)
    for said in ("same", "no_constraint", "a_at_least_b", "same"):
        visit.answer(mine, first, said)
    visit.answer(mine, first, "same")  # says what is current already
    rows = of_round(2, visit)
    assert rows["answer"].tolist() == ["same"]
    counted = table(visit).counted().merge(rows[["a", "b"]], on=["a", "b"])
    assert counted["answer"].tolist() == ["same"]
    assert visit.rows(answers) == PAIRS + 4


def test_what_is_shown_stays_while_they_are_there(visit: Visit, study: StudyFolder) -> None:
    mine, first, second = contradicting(visit, study)
    page = visit.get(f"{mine}/second-look")
    assert "Keep my answers and go on" in page.text
    visit.answer(mine, second, "b_at_least_a")  # nothing contradicts any more
    page = visit.get(f"{mine}/second-look")
    assert page.status_code == 200
    assert re.findall(r'id="pair-(\d+)"', page.text) == [str(first), str(second)]
    assert "Keep my answers and go on" not in page.text
    assert "Go on to the last questions" in page.text


def test_answers_are_told_in_terms_of_the_same_people(visit: Visit, study: StudyFolder) -> None:
    """With sides swapped, the same button says the opposite."""
    mine, first, second = contradicting(visit, study)
    said = words(visit.get(f"{mine}/second-look"))
    assert f"Pair {first} Person 1 should be treated at least as well as person 2" in said
    assert f"Pair {second} Person 2 should be treated at least as well as person 1" in said


def test_only_what_is_shown_can_be_changed(visit: Visit, study: StudyFolder) -> None:
    first, second = repeated(study)
    mine = answered(visit, dict.fromkeys((first, second), "a_at_least_b"))
    other = next(number for number in range(1, PAIRS + 1) if number not in (first, second))
    left_open = {number: hidden(visit.get(f"{mine}/pair/{number}")) for number in (first, other)}
    go_on(visit, mine)
    before = everything(visit)
    refused = visit.post(f"{mine}/pair/{other}", **left_open[other], answer="same")  # from another tab
    assert refused.url.path == f"{mine}/second-look"
    assert "That answer stays as it was" in refused.text
    assert visit.get(f"{mine}/pair/{other}").url.path == f"{mine}/second-look"
    assert everything(visit) == before
    visit.post(f"{mine}/pair/{first}", **left_open[first], answer="same")
    assert of_round(2, visit)["answer"].tolist() == ["same"]


def test_no_way_past_it_and_no_dead_end(visit: Visit, study: StudyFolder) -> None:
    first, second = repeated(study)
    mine = visit.begin()
    for number in range(1, PAIRS):
        visit.answer(mine, number, "a_at_least_b" if number == first else "no_constraint")
    early = go_on(visit, mine)
    assert (early.status_code, early.url.path) == (422, f"{mine}/closing")
    assert "still open" in early.text
    visit.answer(mine, second, "a_at_least_b")
    form = hidden(visit.get(f"{mine}/review"))
    assert visit.get(f"{mine}/second-look").url.path == f"{mine}/review"  # a GET does not begin it
    assert visit.get(f"{mine}/closing").url.path == f"{mine}/review"
    assert visit.post(f"{mine}/closing", **form, rules="").url.path == f"{mine}/review"
    assert stage(visit) == "pairs"
    for _ in range(3):  # sent again, it changes nothing
        assert visit.post(f"{mine}/second-look", **form).url.path == f"{mine}/second-look"
    before = everything(visit)
    for page, leads_to in (
        ("", "second-look"), ("/task", "task"), ("/practice", "second-look"), ("/review", "second-look"),
        (f"/pair/{first}", f"pair/{first}"), ("/second-look", "second-look"), ("/closing", "closing"),
        ("/thanks", "second-look"), ("/second-look?saved=%3Cb%3E", "second-look"),
    ):  # fmt: skip
        assert visit.get(f"{mine}{page}").url.path == f"{mine}/{leads_to}"
    assert everything(visit) == before
    closing = visit.get(f"{mine}/closing")
    assert "/second-look" in closing.text
    assert "/review" not in closing.text
    for _ in range(2):
        assert visit.post(f"{mine}/closing", **hidden(closing), rules="").url.path == f"{mine}/thanks"
    assert visit.get(f"{mine}/second-look").url.path == f"{mine}/thanks"
    assert visit.post(f"{mine}/second-look", **form).url.path == f"{mine}/thanks"
    assert visit.post(f"{mine}/pair/{first}", **hidden(closing), key="x", answer="same").status_code == 404


def test_a_form_of_someone_else_begins_nothing(visit: Visit, study: StudyFolder) -> None:
    mine = answered(visit, dict.fromkeys(repeated(study), "a_at_least_b"))
    assert visit.post(f"{mine}/second-look", csrf="forged").status_code == 403
    assert stage(visit) == "pairs"


def test_an_answer_sent_twice_counts_once(visit: Visit, study: StudyFolder) -> None:
    mine, first, _ = contradicting(visit, study)
    form = hidden(visit.get(f"{mine}/pair/{first}"))
    for _ in range(3):
        visit.post(f"{mine}/pair/{first}", **form, answer="same")
    assert visit.rows(answers) == PAIRS + 1
    page = visit.post(f"{mine}/pair/{first}", **form)  # no answer at all
    assert page.status_code == 422
    assert "Leave this answer as it is" in page.text


def test_who_withdraws_leaves_nothing(visit: Visit, study: StudyFolder) -> None:
    mine, first, _ = contradicting(visit, study)
    visit.answer(mine, first, "same")
    visit.post(f"{mine}/withdraw", **hidden(visit.get(f"{mine}/withdraw")))
    assert visit.rows(answers) == 0


def test_switched_off_while_someone_is_there(study: StudyFolder, tmp_path: Path) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine, first, _ = contradicting(visit, study)
    file = study.path / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("second_look = true", "second_look = false"), "utf-8")
    with visiting(StudyFolder.open(study.path), tmp_path / "study.sqlite") as visit:
        assert visit.get(mine).url.path == f"{mine}/closing"
        assert visit.get(f"{mine}/pair/{first}").url.path == f"{mine}/closing"
        assert finish(visit, mine).url.path == f"{mine}/thanks"


def test_in_german(make_study: Any, tmp_path: Path) -> None:
    study = make_study(pairs=PAIRS, second_look=True, design={"repeats": 1}, languages=["en", "de"])
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine, first, second = contradicting(visit, study)
        page = visit.get(f"{mine}/second-look?lang=de")
        assert "Ein zweiter Blick" in page.text
        assert re.findall(r'id="pair-(\d+)"', page.text) == [str(first), str(second)]
