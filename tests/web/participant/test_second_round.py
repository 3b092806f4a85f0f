"""The second round in a browser without JavaScript: coming back, what others said, keep or change, and bad cases."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.visits import hidden, visiting

from fairwise.store import deliberation, export
from fairwise.store.operators import Operator
from fairwise.store.study_state import set_state, standing
from fairwise.web.participant import rounds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.visits import Visit

ADA = Operator(1, "Ada", "owner")
SAID = ("same", "same", "no_constraint", "a_at_least_b")
FEW = "Fewer than three others answered this pair"


@pytest.fixture(scope="module")
def study(make_study: Any) -> Any:
    return make_study(ask_why=True, pairs=2, design={"fixed": 2}, deliberation={"on": True, "pairs": 1})


@pytest.fixture
def visit(study: Any, tmp_path: Path) -> Iterator[Visit]:
    with visiting(study, tmp_path / "study.sqlite") as opened:
        yield opened


def take_part(visit: Visit, said: str, why: str = "", pairs: int = 2) -> str:
    """Answer both pairs alike and finish; returns the path of one's own pages."""
    visit.client.cookies.clear()
    mine = visit.begin()
    for number in range(1, pairs + 1):
        page = visit.answer(mine, number, said)
        visit.post(f"{mine}/pair/{number}", **hidden(page), why=why)
    if pairs == 2:
        visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="")
    visit.client.cookies.clear()
    return mine


def end(visit: Visit) -> None:
    visit.store.change_now(partial(deliberation.end_first_round, at=datetime.now(UTC)))
    visit.site.host.look_again()


def open_again(visit: Visit) -> None:
    end(visit)
    now = datetime.now(UTC)
    visit.store.change_now(partial(deliberation.open_second_round, at=now, until=None, prices={}))
    visit.site.host.look_again()


def release(visit: Visit) -> None:
    pairs = [pair.two for pair in visit.store.read_now(deliberation.round_list)]
    given = visit.store.read_now(partial(deliberation.reasons_about, pairs=pairs))
    names = {one.answer_id: "ABCD" for one in given}
    now = datetime.now(UTC)
    visit.store.change_now(partial(deliberation.decide_reasons, names=names, state="released", operator=ADA, at=now))


def panel(visit: Visit, *said: str, why: str = "") -> list[str]:
    people = [take_part(visit, one, why and f"{why} {place}") for place, one in enumerate(said)]
    open_again(visit)
    return people


def keep_or_change(visit: Visit, page: Any, said: str, **more: str) -> Any:
    return visit.post(page.url.path, **hidden(page), answer=said, **more)


def first_pair(visit: Visit, mine: str) -> Any:
    page = visit.get(mine)
    assert page.url.path == f"{mine}/second-round"
    (link,) = re.findall(rf'<a class="button primary" href="({mine}/second-round/\d+)"', page.text)
    return visit.get(link)


def test_one_comes_back_sees_how_the_others_answered_and_changes(visit: Visit) -> None:
    *_, mine = panel(visit, *SAID, why="because of")
    release(visit)
    page = first_pair(visit, mine)
    assert "3 of 3" not in page.text
    assert re.search(r"Others who answered this pair:\s*3", page.text)
    shares = re.findall(r"<span>(\d) of 3</span>", page.text)
    assert sorted(shares) == ["0", "0", "1", "2"]
    assert sorted(re.findall(r"because of (\d)</p>", page.text)) == [
        "0",
        "1",
        "2",
        "3",
    ]  # one's own, beside one's answer
    assert page.text.count("Report this reason") == 3
    assert "I keep my answer:" in page.text
    end_page = keep_or_change(visit, page, "no_constraint", why="I see")
    assert end_page.url.path == f"{mine}/second-round/end"
    assert "You have finished the second round" in end_page.text
    assert visit.get(mine).url.path == f"{mine}/second-round/end"
    frame = visit.store.read_now(export.judgments).frame
    assert list(frame[frame["round"] == 2]["answer"]) == ["no_constraint"]
    texts = visit.store.read_now(export.texts)
    assert list(texts[texts["round"] == "2"]["text"]) == ["I see"]


def test_keeping_is_kept_and_a_form_sent_twice_counts_once(visit: Visit) -> None:
    mine, *_ = panel(visit, *SAID)
    page = first_pair(visit, mine)
    assert visit.post(page.url.path, **hidden(page)).status_code == 422, "neither was said"
    for _ in range(2):
        assert keep_or_change(visit, page, "same").status_code == 200
    frame = visit.store.read_now(export.judgments).frame
    assert list(frame[frame["round"] == 2]["answer"]) == ["same"]
    assert visit.store.read_now(partial(deliberation.returned, most=1)).kept == 1


def test_what_two_others_said_is_not_shown_and_the_page_says_so(visit: Visit) -> None:
    mine, *_, other = panel(visit, *SAID, why="written")
    release(visit)
    visit.post(f"{other}/withdraw", **hidden(visit.get(f"{other}/withdraw")))
    text = first_pair(visit, mine).text
    assert FEW in text
    assert "written 1" not in text
    assert "Report" not in text


def test_a_withdrawn_authors_reason_is_gone_at_once(visit: Visit) -> None:
    mine, other, *_ = panel(visit, *SAID, "same", why="written")
    release(visit)
    assert "written 1" in first_pair(visit, mine).text
    visit.post(f"{other}/withdraw", **hidden(visit.get(f"{other}/withdraw")))
    text = first_pair(visit, mine).text
    assert "written 1" not in text
    assert "written 2" in text


def test_a_reason_with_a_name_in_it_is_reported_and_hidden_for_everyone(visit: Visit) -> None:
    mine, *_, other = panel(visit, *SAID, why="written")
    release(visit)
    page = first_pair(visit, mine)
    found = re.search(r'<p dir="auto">(written 2)</p>\s*<a href="([^"]+)"', page.text)
    assert found
    asked = visit.get(found[2])
    assert "written 2" in asked.text
    assert visit.post(found[2], csrf="made up").status_code == 403, "only by one's own form"
    assert "written 2" in first_pair(visit, mine).text
    done = visit.post(found[2], **hidden(asked))
    assert "will look at it" in done.text
    for who in (mine, other):
        assert "written 2" not in first_pair(visit, who).text
    assert visit.get(found[2]).status_code == 404, "it is gone"
    assert visit.store.read_now(deliberation.count_reported) == 1


def test_names_of_reasons_follow_from_no_number(visit: Visit) -> None:
    mine, *_ = panel(visit, *SAID, why="written")
    release(visit)
    names = re.findall(r"/report/([^\"]+)", first_pair(visit, mine).text)
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", name) for name in names)


def test_whoever_is_shown_no_reasons_sees_the_pair_and_ones_own_answer(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, *_ = panel(visit, *SAID, why="written")
    release(visit)
    link = re.findall(r"/report/([^\"]+)", first_pair(visit, mine).text)[0]
    monkeypatch.setattr(rounds, "shows_reasons", lambda *_: False)
    page = first_pair(visit, mine)
    assert "Your answer in the first round" in page.text
    for words in ("the others", FEW, "written 1", "Report"):
        assert words not in page.text
    assert visit.get(f"{page.url.path}/report/{link}").status_code == 404


def test_whoever_comes_only_for_the_second_round_is_told_that_the_first_is_over(visit: Visit) -> None:
    form = hidden(visit.get("/"))
    late = take_part(visit, "same", pairs=1)
    end(visit)
    page = visit.get("/")
    assert "The first round is over" in page.text
    assert "decision" not in page.text
    refused = visit.post("/consent", **form, decision="agree")
    assert refused.status_code == 409
    assert "Nobody can begin any more" in refused.text
    own = visit.get(late)
    assert "The first round is over" in own.text
    assert "All answers that you gave until then are saved" in own.text
    assert len(visit.exported()) == 1


def test_what_comes_after_the_deadline_is_refused_and_what_was_saved_stays(visit: Visit) -> None:
    late = take_part(visit, "same", pairs=1)
    form = hidden(visit.get(f"{late}/pair/2"))
    end(visit)
    refused = visit.post(f"{late}/pair/2", **form, answer="same")
    assert refused.status_code == 409
    assert "What you sent just now was not saved" in refused.text
    assert visit.exported() == ["same"]


def test_whoever_answered_all_may_still_finish(visit: Visit) -> None:
    visit.client.cookies.clear()
    mine = visit.begin()
    for number in (1, 2):
        visit.answer(mine, number)
    end(visit)
    assert f"{mine}/closing" in visit.get(mine).text
    done = visit.post(f"{mine}/closing", **hidden(visit.get(f"{mine}/closing")), rules="mine")
    assert done.url.path == f"{mine}/thanks"
    assert "Later there is a second round" in done.text


def test_so_many_who_finished_end_the_round(make_study: Any, tmp_path: Path) -> None:
    study = make_study(pairs=2, design={"fixed": 2}, deliberation={"on": True, "close_after": 1})
    with visiting(study, tmp_path / "study.sqlite") as visit:
        take_part(visit, "same")
        assert visit.store.read_now(standing).round_over
        visit.site.host.look_again()
        assert "The first round is over" in visit.get("/").text


def test_the_last_day_ends_it(make_study: Any, tmp_path: Path) -> None:
    study = make_study(pairs=2, design={"fixed": 2}, deliberation={"on": True, "close_on": "2020-01-01"})
    with visiting(study, tmp_path / "study.sqlite") as visit:
        assert "The first round is over" in visit.get("/").text


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_study_that_is_not_open_takes_nothing_and_loses_nothing(visit: Visit, state: str) -> None:
    mine, *_ = panel(visit, *SAID)
    page = first_pair(visit, mine)
    visit.store.change_now(partial(set_state, state=state))
    visit.site.host.look_again()
    refused = keep_or_change(visit, page, "no_constraint")
    assert refused.status_code == 409
    assert "What you sent just now was not saved" in refused.text
    assert ("Send it again" in refused.text) == (state == "paused")
    shut = visit.get(page.url.path).text
    assert "paused" in shut or "ended" in shut
    assert visit.get(mine).url.path == f"{mine}/thanks"
    if state == "paused":
        visit.store.change_now(partial(set_state, state="open"))
        visit.site.host.look_again()
        assert visit.post(page.url.path, **hidden(refused)).url.path == f"{mine}/second-round/end"


def test_a_restarted_server_goes_on_where_it_was(study: Any, tmp_path: Path) -> None:
    with visiting(study, tmp_path / "study.sqlite") as visit:
        mine, *_ = panel(visit, *SAID)
        page = first_pair(visit, mine)
    with visiting(study, tmp_path / "study.sqlite") as visit:
        assert keep_or_change(visit, page, "same").url.path == f"{mine}/second-round/end"


def test_before_it_is_opened_its_pages_lead_back(visit: Visit) -> None:
    mine = take_part(visit, "same")
    assert visit.get(f"{mine}/second-round").url.path == f"{mine}/thanks"
    assert visit.get(f"{mine}/second-round/1").url.path == f"{mine}/thanks"
    assert visit.get(f"{mine}/second-round/end").url.path == f"{mine}/thanks"


def test_the_receipt_is_that_of_the_first_round(visit: Visit) -> None:
    mine = take_part(visit, "same")
    code = re.compile(r'<dd class="code">([^<]+)<')
    before = code.search(visit.get(f"{mine}/thanks").text)
    panel(visit, *SAID)
    keep_or_change(visit, first_pair(visit, mine), "no_constraint")
    thanks = visit.get(f"{mine}/thanks")
    after = code.search(thanks.text)
    assert before
    assert after
    assert after[1] == before[1]
    assert "The second round has begun" in thanks.text


def test_a_pair_that_is_not_on_ones_list_cannot_be_answered(visit: Visit) -> None:
    mine, *_ = panel(visit, *SAID)
    page = first_pair(visit, mine)
    other = 3 - int(page.url.path.rpartition("/")[2])
    assert visit.get(f"{mine}/second-round/{other}").url.path == f"{mine}/second-round"
    old = visit.post(f"{mine}/pair/1", **hidden(page), answer="no_constraint")
    assert old.url.path.startswith(mine)
    assert visit.store.read_now(deliberation.count_returned) == 0, "a form of the first round is not one of the second"
