"""Back to the people: each sees what the chosen model does with their own pairs, once it is shown, and nothing else."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.fits import INFLUENCE_FOUND, done_job, wanted
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden

from fairwise.constraints.violations import Treatment
from fairwise.store.answers import current_answers
from fairwise.store.fit_files import INFLUENCE, job_folder
from fairwise.store.study_state import choose, set_state
from fairwise.study.folder import OUTCOME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

PEOPLE = [f"known-as-{k}" for k in range(12)]
GOOD = {person: round(k / 12, 3) for k, person in enumerate(PEOPLE)}
LATER = "may decide to show you here"


@pytest.fixture
def site(make_study: Callable[..., StudyFolder], new_database: Callable[[], Path | str]) -> Iterator[Operating]:
    with operating(make_study().path, new_database()) as opened:
        yield opened


def took_part(site: Operating, *said: str, finish: bool = True) -> str:
    """Someone answers; returns the path of their pages."""
    site.client.cookies.clear()
    visit = Visit(site.client)
    mine = visit.begin()
    for number, answer in enumerate(said, start=1):
        visit.answer(mine, number, answer)
    if finish:
        assert visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing"))).url.path == f"{mine}/thanks"
    return mine


def fitted(site: Operating, *, shown: bool, **changes: Any) -> int:
    host = site.site.host
    job_id = done_job(host.store, host.path, GOOD, **changes)
    host.store.change_now(lambda c: choose(c, job_id, shown=shown))
    return job_id


def test_it_is_announced_only_as_far_as_it_is_true(site: Operating) -> None:
    mine = took_part(site, "same", "same", "same", "same")
    assert LATER in site.client.get(f"{mine}/thanks").text
    fitted(site, shown=False)
    page = site.client.get(f"{mine}/thanks").text
    assert LATER in page
    assert "See the result" not in page
    site.site.host.store.change_now(lambda c: choose(c, 1, shown=True))
    page = site.client.get(f"{mine}/thanks").text
    assert LATER not in page
    assert f'href="{mine}/result"' in page
    site.site.host.store.change_now(lambda c: choose(c, None, shown=False))
    (site.site.host.path / OUTCOME).unlink()  # then there can be no model, ever
    page = site.client.get(f"{mine}/thanks").text
    assert LATER not in page
    assert "See the result" not in page


def test_each_pair_is_shown_with_what_the_model_does(site: Operating) -> None:
    said = ("same", "a_at_least_b", "b_at_least_a", "no_constraint")
    mine = took_part(site, *said)
    assert site.client.get(f"{mine}/result").url.path == f"{mine}/thanks"  # not yet
    fitted(site, shown=True)
    page = site.client.get(f"{mine}/result")
    assert page.url.path == f"{mine}/result"
    pairs = site.site.host.store.read_now(lambda c: current_answers(c, 1))
    assert [str(one.answer) for one in pairs] == list(said)
    for one in pairs:
        treated = Treatment(one.answer, GOOD[one.a], GOOD[one.b], 0.1)
        assert f'id="pair-{one.position}"' in page.text
        if treated.more_in_hundred > 1:
            ahead, behind = ("A", "B") if treated.favors_a else ("B", "A")
            told = f"Person {ahead} would be treated well more often than person {behind}, by"
            assert f"{told} {treated.more_in_hundred} percentage points." in page.text
    assert '<details class="folded" open' not in page.text  # all is folded below its summary
    for words in ("asked for something: 40", "31 of 100 decisions", "about 24 of 100", "does not mean that you"):
        assert words in page.text
    assert "known-as-" not in page.text
    assert "outcome-" not in page.text  # of anybody
    assert "a_result_that_must_never_be_seen" not in page.text
    assert "<b>Town" not in page.text


@pytest.mark.parametrize("simulated", range(4))
def test_programs_are_no_people(site: Operating, simulated: int) -> None:
    """Of the three whose answers are in the model."""
    mine = took_part(site, "same", "same", "same", "same")
    fitted(site, shown=True, headline={"simulated": simulated})
    page = " ".join(site.client.get(f"{mine}/result").text.split())
    real = 3 - simulated
    made = f"The model was made with the answers of {real} {'person' if real == 1 else 'people'}."
    assert (made in page) == (real > 0)
    assert ("Simulated participants (programs, not people)" in page) == (simulated > 0)
    assert (f"whose answers were used: {simulated}." in page) == (simulated > 0)


def test_each_is_told_what_the_model_would_be_without_them_and_nothing_of_others(site: Operating) -> None:
    mine, other, third, newer = (took_part(site, "same", "same", "same", "same") for _ in range(4))
    job_id = fitted(site, shown=True)
    assert "Without your answers" not in site.client.get(f"{mine}/result").text  # nobody found out
    (job_folder(site.site.host.path, job_id) / INFLUENCE).write_text(json.dumps(INFLUENCE_FOUND), encoding="utf-8")
    told = {path: site.client.get(f"{path}/result").text for path in (mine, other, third, newer)}
    assert "Without your answers, the model would treat 14 people differently." in told[mine]
    assert "The largest change is 6.1 percentage points." in told[mine]
    assert "the model would treat nobody differently by a percentage point or more." in told[other]
    assert "Without your answers, the model would treat 1 person differently." in told[third]
    assert "Without your answers" not in told[newer]  # whom the model does not know
    for page in told.values():
        assert "p0000" not in page
        assert "none of these" not in page  # no kinds of participants


def test_nobody_sees_the_page_of_another_and_those_who_withdrew_see_nothing(site: Operating) -> None:
    fitted(site, shown=True)
    mine, other = (took_part(site, "same", "same", "same", "same") for _ in range(2))
    assert site.client.get(f"{mine}/result").text != site.client.get(f"{other}/result").text
    assert site.client.get("/p/made-up/result").status_code == 404
    page = site.client.get(f"{mine}/withdraw")
    site.client.post(f"{mine}/withdraw", data=hidden(page))
    assert site.client.get(f"{mine}/result").status_code == 404
    assert site.client.get(f"{other}/result").status_code == 200


def test_those_who_still_answer_see_nothing_before_the_study_is_closed(site: Operating) -> None:
    fitted(site, shown=True)
    mine = took_part(site, "same", "same", finish=False)
    assert "/pair/" in site.client.get(f"{mine}/result").url.path
    site.site.host.store.change_now(lambda c: set_state(c, "closed"))
    site.site.host.refresh()
    assert "See the result" in site.client.get(mine).text
    page = site.client.get(f"{mine}/result")
    assert page.url.path == f"{mine}/result"
    assert page.text.count('<article class="treated"') == 2
    nothing = took_nothing(site)
    assert "See the result" not in site.client.get(nothing).text
    assert not site.client.get(f"{nothing}/result").url.path.endswith("/result")


def took_nothing(site: Operating) -> str:
    """Someone agreed while the study was open, and answered nothing."""
    host = site.site.host
    host.store.change_now(lambda c: set_state(c, "open"))
    host.refresh()
    mine = took_part(site, finish=False)
    host.store.change_now(lambda c: set_state(c, "closed"))
    host.refresh()
    return mine


def test_a_model_that_does_not_know_someone_says_so(site: Operating) -> None:
    mine = took_part(site, "same", "same", "same", "same")
    fitted(site, shown=True)
    assert "does not know your answers" not in site.client.get(f"{mine}/result").text
    fitted(site, shown=True, age=timedelta(hours=1))
    assert "does not know your answers" in site.client.get(f"{mine}/result").text


def test_it_is_hidden_again_at_once_and_missing_files_hide_it_too(site: Operating) -> None:
    mine = took_part(site, "same", "same", "same", "same")
    job_id = fitted(site, shown=True)
    assert site.client.get(f"{mine}/result").url.path == f"{mine}/result"
    site.site.host.store.change_now(lambda c: choose(c, job_id, shown=False))
    assert site.client.get(f"{mine}/result").url.path == f"{mine}/thanks"
    site.site.host.store.change_now(lambda c: choose(c, job_id, shown=True))
    for file in job_folder(site.site.host.path, job_id).iterdir():
        file.unlink()
    assert site.client.get(f"{mine}/result").url.path == f"{mine}/thanks"


def test_repeats_set_no_rule_and_are_told_apart(make_study: Callable[..., StudyFolder], tmp_path: Path) -> None:
    study = make_study(pairs=4, design={"repeats": 2}, languages=["en", "de"])
    with operating(study.path, tmp_path / "study.sqlite") as site:
        mine = took_part(site, *["a_at_least_b"] * 4)
        fitted(site, shown=True, settings=wanted(gamma=0.3))
        page = site.client.get(f"{mine}/result").text
        assert "Pairs that set no rule" in page
        kinds = [one.design for one in site.site.host.store.read_now(lambda c: current_answers(c, 1))]
        assert kinds.count("repeat") == 2
        measured = page[page.index("Pairs that set no rule") :]
        assert measured.count('<article class="treated"') == 2
        german = site.client.get(f"{mine}/result?lang=de").text
        assert "Was aus Ihren Antworten geworden ist" in german
        assert re.search(r"Person [AB] würde häufiger gut behandelt als Person [AB], um \d+ Prozentpunkte\.", german)
        assert "percentage point" not in german
