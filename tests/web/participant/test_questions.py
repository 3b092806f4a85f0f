"""A study's own questions, as participants meet them, and what is kept of their answers."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from tests.support.changed_bundles import changed, contents, in_table, put
from tests.support.visits import Visit, hidden, visiting

from fairwise.archive.bundle import QUESTIONS, read_bundle, write_bundle
from fairwise.archive.reopen import reopen_bundle
from fairwise.archive.verify import verify_bundle
from fairwise.errors import InputError
from fairwise.jobs.fit_data import _without_few
from fairwise.store import export
from fairwise.store.erasure import erase, forget_old
from fairwise.store.errors import NotYet
from fairwise.store.participants import question_answers_of_number, save_question_answers
from fairwise.store.schema import question_answers
from fairwise.store.store import Store
from fairwise.study.folder import StudyFolder
from fairwise.study.recruitment import Keys
from fairwise.study.settings import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response

ASKED: list[dict[str, Any]] = [
    {"name": "town", "words": "Where do you live?", "options": ["=Here", "There"], "required": True},
    {"name": "langs", "words": "What do you speak?", "kind": "several", "options": ["Dutch", "French", "Polish"]},
    {
        "name": "trust",
        "words": "Do you trust courts?",
        "kind": "scale",
        "options": ["never", "always"],
        "least": -2,
        "most": 2,
    },
    {"name": "age", "words": "How old are you?", "kind": "number", "least": 16, "required": True, "when": "after"},
    {"name": "more", "words": "Anything about you?", "kind": "text", "when": "after"},
]
SAID = {"q-town": "0", "q-langs-0": "yes", "q-langs-2": "yes", "q-trust": "-2"}
WROTE = "=cmd()|' /C calc'!A0"


@pytest.fixture(scope="module")
def study(make_study: Any) -> StudyFolder:
    found: StudyFolder = make_study(questions=ASKED, pairs=3, languages=["en", "de"])
    return found


@pytest.fixture
def visit(study: StudyFolder, tmp_path: Path) -> Iterator[Visit]:
    with visiting(study, tmp_path / "study.sqlite") as opened:
        yield opened


def begin(visit: Visit, **said: str) -> str:
    """Agree, and answer the questions before the pairs."""
    visit.client.cookies.clear()
    page = visit.post("/consent", **hidden(visit.get("/")), decision="agree")
    assert page.url.path.endswith("/questions")
    page = visit.post(page.url.path, **hidden(page), **(said or SAID))
    assert page.url.path.endswith("/task")
    return str(page.url.path).removesuffix("/task")


def to_last_questions(visit: Visit, mine: str) -> Response:
    page = visit.get(mine)
    while "/pair/" not in page.url.path:
        page = visit.post(page.url.path, **hidden(page), done="yes")
    for number in (1, 2, 3):
        visit.answer(mine, number)
    return visit.get(f"{mine}/closing")


def finish(visit: Visit, **after: str) -> str:
    mine = begin(visit)
    page = to_last_questions(visit, mine)
    page = visit.post(page.url.path, **hidden(page), **(after or {"q-age": "45", "q-more": WROTE}))
    assert visit.post(page.url.path, **hidden(page), rules="", expressible="", comments="").url.path.endswith("/thanks")
    return mine


def checked(page: Response) -> set[str]:
    tags = re.findall(r"<input type=\"(?:radio|checkbox)\"[^>]*checked[^>]*>", page.text)
    return {re.sub(r'.*name="([^"]*)" value="([^"]*)".*', r"\1=\2", tag) for tag in tags}


def test_errors_name_the_question_and_keep_what_was_typed(visit: Visit) -> None:
    page = visit.post("/consent", **hidden(visit.get("/")), decision="agree")
    again = visit.post(page.url.path, **hidden(page), **{"q-langs-1": "yes", "q-trust": "1"})
    assert again.status_code == 422
    assert '<a href="#q-town"><bdi>Where do you live?</bdi> – Please answer this question</a>' in again.text
    assert again.text.count('class="wrong"') == 1
    assert checked(again) == {"q-langs-1=yes", "q-trust=1"}
    assert visit.rows(question_answers) == 0
    mine = begin(visit)
    page = to_last_questions(visit, mine)
    assert page.url.path.endswith("/questions")
    for typed, words in (("45 years", "Write a number in digits"), ("15,99", "The number must be at least 16")):
        page = visit.post(page.url.path, **hidden(page), **{"q-age": typed, "q-more": "a text"})
        assert page.status_code == 422
        assert words in page.text
        assert f'value="{typed}"' in page.text
        assert "\na text</textarea>" in page.text
    assert visit.get(f"{mine}/closing").url.path.endswith("/questions"), "nothing leads past them"
    csrf = hidden(page)["csrf"]
    assert visit.post(f"{mine}/closing", csrf=csrf, rules="").url.path.endswith("/questions")


def test_answers_are_kept_in_the_first_language_and_can_be_changed_until_the_end(visit: Visit) -> None:
    finish(visit)
    assert visit.store.read_now(partial(question_answers_of_number, number=1)) == {
        "town": "=Here",
        "langs": "Dutch; Polish",
        "trust": "-2",
        "age": "45",
        "more": WROTE,
    }
    mine = begin(visit)
    page = to_last_questions(visit, mine)
    visit.post(page.url.path, **hidden(page), **{"q-age": "20"})
    page = visit.get(f"{mine}/questions")
    assert 'value="20"' in page.text
    assert visit.post(page.url.path, **hidden(page), **{"q-age": "21"}).url.path.endswith("/closing")
    kept = visit.store.read_now(partial(question_answers_of_number, number=2))
    assert (kept["age"], kept["more"]) == ("21", "")
    old = visit.post(f"{mine}/questions", **hidden(visit.get(f"{mine}/closing")), **SAID)
    assert old.status_code == 422, "a page of before the pairs, sent from after them, is not taken for it"
    assert visit.store.read_now(partial(question_answers_of_number, number=2)) == kept


def test_nobody_goes_round_the_questions(visit: Visit) -> None:
    page = visit.post("/consent", **hidden(visit.get("/")), decision="agree")
    mine = page.url.path.removesuffix("/questions")
    csrf = hidden(page)["csrf"]
    for path in ("task", "pair/1", "review", "closing"):
        assert visit.get(f"{mine}/{path}").url.path in (f"{mine}/questions", f"{mine}/task")
    visit.post(f"{mine}/task", csrf=csrf)
    assert visit.get(mine).url.path.endswith("/questions")
    mine = begin(visit)
    assert not visit.get(f"{mine}/questions").url.path.endswith("/questions"), "not before the pairs are answered"


def test_answers_are_columns_and_texts_are_not(visit: Visit) -> None:
    finish(visit)
    begin(visit)
    judges = visit.store.read_now(export.judges)
    assert list(judges.filter(like="question_")) == [
        "question_age",
        "question_langs",
        "question_town",
        "question_trust",
    ]
    assert judges.filter(like="question_").iloc[0].tolist() == ["45", "Dutch; Polish", "=Here", "-2"]
    written = visit.store.read_now(export.texts)
    assert written[["about", "text"]].to_numpy().tolist() == [["question_more", WROTE]]
    buffer = io.StringIO()
    export.judges_to_write(judges).to_csv(buffer, index=False)
    [row] = csv.DictReader(io.StringIO(buffer.getvalue()))
    assert (row["question_town"], row["question_trust"]) == ("'=Here", "-2"), "no formula, and numbers stay numbers"


def test_texts_go_in_time_and_everything_with_its_author(visit: Visit) -> None:
    mine = finish(visit)
    later = datetime.now(UTC) + timedelta(days=91)
    assert visit.store.change_now(partial(forget_old, days=90, now=later))
    kept = visit.store.read_now(partial(question_answers_of_number, number=1))
    assert (kept["more"], kept["age"]) == ("", "45")
    page = visit.get(f"{mine}/withdraw")
    visit.post(page.url.path, **hidden(page))
    assert visit.rows(question_answers) == 0
    begin(visit)
    visit.store.change_now(partial(erase, number=2, group_mark=visit.site.host.keys.group_mark))
    assert visit.rows(question_answers) == 0


@pytest.fixture(scope="module")
def bundle(study: StudyFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("bundle")
    with visiting(study, home / "study.sqlite") as visit:
        finish(visit)
        begin(visit)
        path = home / "bundle.zip"
        visit.store.read_now(lambda connection: write_bundle(path, study, connection))
        coarse = home / "coarse.zip"
        visit.store.read_now(lambda connection: write_bundle(coarse, study, connection, coarse=True))
    return path


def test_a_bundle_has_them_and_a_study_made_from_it_too(bundle: Path, tmp_path: Path) -> None:
    verify_bundle(bundle)
    assert b'"\'=Here"' in contents(read_bundle(bundle))[QUESTIONS], "no formula in a file that is opened as a table"
    reopen_bundle(bundle, tmp_path / "again", tmp_path / "again.sqlite")
    study = StudyFolder.open(tmp_path / "again")
    store = Store.open(tmp_path / "again.sqlite", study.fingerprint, study.path)
    assert store.read_now(partial(question_answers_of_number, number=1))["more"] == WROTE
    assert store.read_now(partial(question_answers_of_number, number=2))["town"] == "=Here"
    store.close()
    verify_bundle(bundle.with_name("coarse.zip"))
    [more] = [row for row in read_bundle(bundle.with_name("coarse.zip")).rows(QUESTIONS) if row["question"] == "more"]
    assert more["written"] == ""


@pytest.mark.parametrize(
    ("row", "column", "value", "problem"),
    [
        (4, "answer", "3", "the answer of participant 1 to 'trust' is '3', which it does not allow"),
        (1, "answer", "Polish; Dutch", "to 'langs' is 'Polish; Dutch', which it does not allow"),
        (1, "written", "a text", "to 'langs' is 'Dutch; Polish', which it does not allow"),
        (0, "answer", "12", "to 'age' is '12', which it does not allow"),
        (0, "number", "9", "participant 9 to 'age': there is no such participant"),
        (0, "question", "income", "column question: 'income'; allowed: town, langs"),
    ],
)
def test_a_changed_answer_is_named(bundle: Path, row: int, column: str, value: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        verify_bundle(changed(bundle, in_table(QUESTIONS, put(row, column, value)), forge=True))


def test_answers_that_few_gave_are_not_told_apart() -> None:
    about = pd.DataFrame({"judge": range(10), "question_town": ["Here"] * 5 + ["There"] * 4 + ["Elsewhere"]})
    kept = _without_few(about)["question_town"]
    assert kept.dropna().tolist() == ["Here"] * 5


def test_a_study_stays_the_same_while_words_and_order_change(study: StudyFolder, make_study: Any) -> None:
    other = [{**one, "words": f"{one['words']}!", "required": False} for one in reversed(ASKED)]
    same = make_study(questions=other, pairs=3, languages=["en", "de"])
    assert same.fingerprint == study.fingerprint
    more = [{**ASKED[0], "options": ["=Here", "There", "Elsewhere"]}, *ASKED[1:]]
    assert make_study(questions=more, pairs=3, languages=["en", "de"]).fingerprint != study.fingerprint


def test_what_was_sent_from_a_page_that_was_left_changes_nothing(visit: Visit, study: StudyFolder) -> None:
    mine = begin(visit)
    late = partial(
        save_question_answers, token_hash=Keys.hashed(mine.rpartition("/")[2]), leaving=Stage.QUESTIONS, to=Stage.PAIRS
    )
    with pytest.raises(NotYet):
        visit.store.change_now(partial(late, answers=[(study.settings.questions[0], "There")]))
    assert visit.store.read_now(partial(question_answers_of_number, number=1))["town"] == "=Here"
    assert visit.get(mine).url.path.endswith("/task")
