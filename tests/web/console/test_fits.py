"""Fits in the console: asking for one, stopping it, reading what came out, and choosing."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa
from tests.support.fits import INFLUENCE_FOUND, MODEL_FILE, done_job, on_new_people, point, separate_rules, wanted
from tests.support.operating import Operating, operating
from tests.support.visits import Visit, hidden

from fairwise.judgments import Answer
from fairwise.results.simpler_models import Derandomization
from fairwise.store.fit_files import REPORT, job_folder
from fairwise.store.jobs import Job, all_jobs, end, take
from fairwise.store.schema import events
from fairwise.store.study_state import standing
from fairwise.study.folder import OUTCOME
from fairwise.web.console.fit_form import draw_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

PEOPLE = [f"known-as-{k}" for k in range(12)]
GOOD = {person: round(k / 12, 3) for k, person in enumerate(PEOPLE)}
GOOD_FORM = {
    "estimator": "tree",
    "max_depth": "2",
    "favorable_label": "outcome-1-never",
    "gamma": "0,1",
    "eta": "",
    "judge_budget": "0.05",
    "column": "age",
    "rate1": "fpr",
    "bound1": "0.02",
    "influence": "yes",
}


@pytest.fixture
def console(make_study: Callable[..., StudyFolder], new_database: Callable[[], Path | str]) -> Iterator[Operating]:
    with operating(make_study().path, new_database()) as opened:
        opened.set_up()
        yield opened


@pytest.fixture(scope="module")
def unchanged_console(
    make_study: Callable[..., StudyFolder], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operating]:
    """Of a study that somebody has answered; for tests that start no fit."""
    with operating(make_study().path, tmp_path_factory.mktemp("console") / "study.sqlite") as opened:
        opened.set_up()
        answered(opened)
        yield opened


def answered(console: Operating, said: str = "same") -> str:
    """Someone takes part up to the end; returns the path of their pages."""
    visit = Visit(console.client)
    mine = visit.begin()
    for number in range(1, 5):
        visit.answer(mine, number, said)
    closing = visit.get(f"{mine}/closing")
    assert visit.post(f"{mine}/closing", **hidden(closing)).url.path == f"{mine}/thanks"
    return mine


def jobs_of(console: Operating) -> list[Any]:
    return console.site.host.store.read_now(all_jobs)


def add_done(console: Operating, **changes: Any) -> int:
    return done_job(console.site.host.store, console.site.host.path, GOOD, **changes)


def test_there_is_no_fit_without_outcomes_or_answers_and_the_page_says_what_to_do(console: Operating) -> None:
    for path in ("/fits", "/fits/new"):
        assert "Nobody has answered yet" in console.get(path).text
    assert console.post("/fits", **GOOD_FORM).status_code == 422
    answered(console)
    assert "Learn a model" in console.get("/fits").text
    (console.site.host.path / OUTCOME).rename(console.site.host.path / "elsewhere")
    for path in ("/fits", "/fits/new"):
        assert "made without outcomes" in console.get(path).text
    refused = console.post("/fits", **GOOD_FORM)
    assert (refused.status_code, "made without outcomes" in refused.text) == (422, True)
    assert jobs_of(console) == []


def test_a_fit_is_asked_for_with_everything_that_was_typed(console: Operating) -> None:
    answered(console)
    form = console.get("/fits/new").text
    assert "outcome-0-never" in form  # the good one is to be chosen
    assert re.search('name="influence" value="yes" checked', form)
    more = {"predicted": "300", "coverage": "0,8", "weighted": "yes"}
    page = console.post("/fits", **GOOD_FORM, **more, finished_only="yes", deterministic="yes", name="Two questions")
    assert (page.status_code, page.url.path) == (200, "/admin/fits/1")
    assert "put in the queue" in page.text
    (job,) = jobs_of(console)
    assert (job.state, job.made_by) == ("waiting", "Ada")
    assert job.settings == wanted(
        name="Two questions",
        gamma=0.1,
        eta=None,
        judge_budget=0.05,
        group_rules=[{"rate": "fpr", "bound": 0.02, "column": "age"}],
        finished_only=True,
        deterministic=True,
        predicted=300,
        coverage=0.8,
        weighted=True,
        influence=True,
    )
    done = console.site.host.store.read_now(lambda c: c.execute(sa.select(events.c.action, events.c.about)).all())
    assert [tuple(row) for row in done][1:] == [("fit started", "Two questions")]
    again = console.get("/fits/new?like=1").text
    for kept in (
        'value="0.1"',
        'value="0.05"',
        'value="0.02"',
        'value="300"',
        'value="0.8"',
        'name="weighted" value="yes" checked',
    ):
        assert kept in again
    for refused in ("/fits/new?like=2", "/fits/new?like=x"):
        assert console.get(refused).status_code == 404


def test_a_model_without_chance_says_what_that_breaks(console: Operating) -> None:
    told = Derandomization(
        rule="label 1 where its probability is at least 0.5",
        error_added=0.0123,
        judgments_broken=4,
        judgments_counted=40,
        largest_excess=0.9,
        group_rules_broken={"FalsePositiveRateParity + label=0 old": 0.0456},
        budgets_broken={"panel": 0.0107},
        **dict.fromkeys(("error", "max_violation", "mean_violation", "mean_excess"), 0.1),
        **dict.fromkeys(("max_violation_added", "mean_violation_added", "mean_excess_added"), 0.0),
        mean_violation_allowed=0.1,
    ).to_json()
    page = console.get(f"/fits/{add_done(console, derandomization=told, settings=wanted(deterministic=True))}").text
    for words in (
        "It decides without a lot",
        "label 1 where its probability is at least 0.5",
        "+1.2 in 100",
        "4 of 40, the furthest by 90 points beyond the tolerance",
        "false positive rate: old above everyone: 4.6 points",
        "panel: 1.1 points",
        "decides without a lot",
    ):
        assert words in page
    page = console.get(f"/fits/{add_done(console)}").text
    assert "It decides without a lot" not in page
    assert "decides by lot where that is best" in page


def test_columns_are_kept_from_the_model(console: Operating) -> None:
    answered(console)
    assert "without-0" in console.get("/fits/new").text
    study = console.site.host.study
    assert study is not None
    names = [column.name for column in study.settings.columns]
    page = console.post("/fits", **GOOD_FORM, **{"without-0": "yes"})
    assert jobs_of(console)[0].settings == wanted(
        name="Decision tree",
        eta=None,
        judge_budget=0.05,
        group_rules=[{"rate": "fpr", "bound": 0.02, "column": "age"}],
        features=names[1:],
    )
    assert "What the model may look at" in page.text
    again = console.get("/fits/new?like=1").text
    assert re.findall(r'name="without-(\d+)" value="yes" checked', again) == ["0"]
    assert '<details class="advanced" open>' in again
    refused = console.post("/fits", **GOOD_FORM, **{f"without-{k}": "yes" for k in range(len(names))})
    assert (refused.status_code, "leave it at least one" in refused.text) == (422, True)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"gamma": "1.5"}, "must be a number from 0 to 1"),
        ({"gamma": ""}, "must be a number from 0 to 1"),
        ({"eta": "some"}, "must be a number from 0 to 1"),
        ({"judge_budget": "-1"}, "must be a number from 0 to 1"),
        ({"favorable_label": ""}, "which of the two outcomes is the good one"),
        ({"favorable_label": "perhaps"}, "is not one of the outcomes"),
        ({"estimator": "oracle"}, "kind of model must be one of"),
        ({"max_depth": "9"}, "depth of a tree"),
        ({"predicted": "-1"}, "is a whole number from 0 to 20000"),
        ({"predicted": "many"}, "is a whole number from 0 to 20000"),
        ({"coverage": "1"}, "from 0.5 to below 1"),
        ({"rate1": "dp", "bound1": ""}, "A rule for groups needs"),
        ({"rate1": "dp", "bound1": "0.1", "column": "shoe size"}, "names the column"),
    ],
)
def test_what_cannot_be_asked_for_is_said_and_nothing_typed_is_lost(
    unchanged_console: Operating, typed: dict[str, str], said: str
) -> None:
    page = unchanged_console.post("/fits", **{**GOOD_FORM, "judge_budget": "0.07", "name": "Mine", **typed})
    assert page.status_code == 422
    assert said in page.text
    assert 'value="Mine"' in page.text
    assert typed.get("judge_budget", "0.07") in page.text
    assert jobs_of(unchanged_console) == []


def taken(console: Operating, at: datetime) -> Job:
    """The next fit, which somebody begins."""
    job = console.site.host.store.change_now(lambda c: take(c, at, timedelta(hours=1)))
    assert job is not None
    return job


def test_progress_is_seen_and_a_fit_is_stopped(console: Operating) -> None:
    answered(console)
    console.post("/fits", **GOOD_FORM)
    assert "waits for its turn" in console.get("/fits/1").text
    store, now = console.site.host.store, datetime.now(UTC)
    first = taken(console, now)
    page = console.get("/fits/1").text
    assert "data-live" in page
    assert "Stop learning it" in page
    stopped = console.post("/fits/1/cancel")
    assert "being stopped" in stopped.text
    assert jobs_of(console)[0].cancel_wanted
    store.change_now(lambda c: end(c, first, "cancelled", "An operator stopped it before it was done.", now))
    assert "An operator stopped it before it was done." in console.get("/fits/1").text
    before = events_of(console)
    console.post("/fits/1/cancel")  # too late, and so nothing
    assert events_of(console) == before
    console.post("/fits", **GOOD_FORM)
    second = taken(console, now)
    store.change_now(lambda c: end(c, second, "failed", "The <table> was too small.", now))
    failed = console.get("/fits/2").text
    assert "The &lt;table&gt; was too small." in failed
    assert failed.count('href="/admin/fits/new?like=2"') == 1  # what to do next
    assert console.get("/fits/2/report").status_code == 404


def events_of(console: Operating) -> int:
    return console.site.host.store.read_now(
        lambda c: c.execute(sa.select(sa.func.count()).select_from(events)).scalar_one()
    )


def test_what_came_out_is_said_in_words_with_what_is_proved(console: Operating) -> None:
    add_done(console)
    page = console.get("/fits/1").text
    for words in ("31.0<", "24.0<", "7.0 more wrong decisions in 100", "Proved:", "than 31.0 %", "Nobody can prove"):
        assert words in page
    add_done(console, certificate={"kind": "heuristic", "lower_bound": None, "error": 0.24})
    page = console.get("/fits/2").text
    assert "Proved:" not in page
    assert "nothing that can be seen" in page
    assert "NaN" not in page
    assert console.get("/fits/3").status_code == 404
    assert console.get("/fits/x").status_code == 404


def test_the_model_is_shown_in_rules(console: Operating) -> None:
    add_done(console)
    add_done(console, rules=separate_rules(5, left_out=21))
    add_done(console, rules=separate_rules(2))
    add_done(console, rules=None)  # as of version 0.1
    merged, many, few, none = (console.get(f"/fits/{number}").text for number in (1, 2, 3, 4))
    nested = 'if Earlier offences is at most 3.5:\n<ol><li dir="auto">if Age is at most 22.5: 57.1 %'
    for page in (merged, many, few):
        assert "decides by lot among 4 rules" in page.lower()
        assert nested in page
        assert "Charge is &lt;b&gt;“felony”&lt;/b&gt;: 100.0 %" in page
        assert page.count("<ol") == page.count("</ol>")
        assert page.count("<li>") + page.count("<li ") == page.count("</li>")
        assert "Missing values count as: Age 34.52." in page
    assert "<summary>Rule 1, share 50.0 %</summary>" in many
    assert "And 21 more" in many
    assert "<h3>Rule 1, share 50.0 %</h3>" in few
    assert '<p dir="auto">outcome-1-never for everyone.</p>' in few
    assert 'id="rules"' not in none


def test_what_each_participant_changes_is_told_from_its_file(console: Operating) -> None:
    page = console.get(f"/fits/{add_done(console, influence=INFLUENCE_FOUND)}").text
    section = page.split('id="influence"')[1].split("</section>")[0]
    assert "I decide &lt;b&gt;myself&lt;/b&gt;" in section
    assert "these were found to change most: p00001, p00003." in section
    assert "wrong decisions in 100 change by \N{MINUS SIGN}2.2." in section
    assert "is not proved" in section
    rows = re.findall(r'<tr><th scope="row" dir="auto">(p\d+)</th>(.*?)</tr>', section)
    assert [judge for judge, _ in rows] == ["p00001", "p00003", "p00002"]  # those first who change most
    assert re.findall(r'class="number">(.*?)<', rows[0][1]) == ["\N{MINUS SIGN}1.2", "14", "6.1 points"]
    assert re.findall(r'class="number">(.*?)<', rows[2][1]) == ["0", "0", "0 points"]
    page = console.get(f"/fits/{add_done(console)}").text
    assert 'id="influence"' not in page
    assert "was not found out" in page


def test_predicted_answers_are_counted_apart(console: Operating) -> None:
    predicted = {"answers": 120, "in_force": 80, "followed": 77, "error_bound": 0.081}
    page = console.get(f"/fits/{add_done(console, predicted=predicted)}").text
    assert "with 120 predicted answers, which nobody gave; it follows 77 of them." in page
    assert "At most 8.1 % of such predictions are wrong" in page
    assert "of 40 answers that ask for something" in page
    assert "predicted answers, which" not in console.get(f"/fits/{add_done(console)}").text


def test_the_marker_goes_by_links_where_there_is_no_script(console: Operating) -> None:
    add_done(console)
    panels = r'<section class="panel point" data-point[^>]*?aria-labelledby="point-(\d)"(?: hidden)?>'

    def seen(path: str) -> list[str]:
        found = re.finditer(panels, console.get(path).text)
        return [match[1] for match in found if not match[0].endswith(" hidden>")]

    assert seen("/fits/1") == ["0"]  # the fit itself
    assert seen("/fits/1?at=3") == ["3"]
    for odd in ("9", "-1", "x", "99999999999", "0000012", ""):
        assert seen(f"/fits/1?at={odd}") == ["0"]
    few, all_of_them = console.get("/fits/1?at=3").text, console.get("/fits/1?at=3&all=yes").text
    assert "Of 24 answers not followed, the 20 that would cost most" in few
    assert few.count('<th scope="row">p0000') < all_of_them.count('<th scope="row">p0000')
    assert "31, &lt;b&gt;Town 2&lt;/b&gt; &amp; =1+1" in all_of_them  # people as their cards say, escaped


def test_a_point_is_fitted(console: Operating) -> None:
    add_done(console)
    assert console.post("/fits/1/point", at="2").url.path == "/admin/fits/2"
    job = jobs_of(console)[0]
    assert job.settings == wanted(eta=0.02, name="First try (allowance 0.02)")
    for odd in ("5", "-1", "x"):
        assert console.post("/fits/1/point", at=odd).status_code == 404
    assert console.post("/fits/2/point", at="0").status_code == 404  # not done yet
    assert len(jobs_of(console)) == 2


def test_two_fits_side_by_side(console: Operating) -> None:
    add_done(console)
    add_done(console, settings=wanted(eta=0.02, name="Second"), points=[point(0.02, 0.26, [], asked=40)])
    page = console.get("/fits/compare?a=1&b=2").text
    for words in ("Second", "31.0 %", "26.0 %", "\N{MINUS SIGN}5.0 points"):
        assert words in page
    for odd in ("a=1", "a=1&b=3", "a=x&b=2", ""):
        assert console.get(f"/fits/compare?{odd}").status_code == 404
    assert "Compare two models" in console.get("/fits").text


def test_printed_differences_are_those_of_the_printed_numbers(console: Operating) -> None:
    rng = np.random.default_rng(0)
    for number in range(1, 13):
        without, error = sorted(rng.uniform(0.2, 0.5, 2).tolist())
        bound = float(error - 10.0 ** rng.uniform(-6, -3))
        proved = {"error": error, "lower_bound": bound}
        add_done(console, certificate=proved, error_without_judgments=without)
        page = console.get(f"/fits/{number}").text
        wrong, plain = (
            Decimal(re.findall(rf"<dt>{words}</dt><dd>([\d.]+)<", page)[0])
            for words in ("Wrong decisions in 100", "Without the answers")
        )
        cost = re.findall(r"<strong>([\d.]+) more wrong decisions in 100", page)
        assert [Decimal(cost[0])] == [wrong - plain] if cost else wrong == plain
        least, two = (
            Decimal(re.findall(words, page)[0]) for words in (r"less than ([\d.]+) %", r"about ([\d.]+) %, so")
        )
        left = re.findall(r"better by more than about ([\d.]+) in 100", page)
        assert [Decimal(left[0])] == [two - least] if left else two == least
    for a, b in ((1, 2), (3, 4), (5, 6), (7, 7), (12, 8)):
        page = console.get(f"/fits/compare?a={a}&b={b}").text.replace("\N{MINUS SIGN}", "-")
        side = r"<td>([-\d.]+(?: %| points)?)</td>"
        numbers = {
            name: [Decimal(cell.split()[0] or 0) if cell else Decimal(0) for cell in cells]
            for name, *cells in re.findall(rf'<th scope="row">([^<]+)</th>{2 * side}<td>([^<]*)</td>', page)
        }
        for name in ("Wrong with the answers", "Cost of the answers", "Followed"):
            left_one, right_one, more = numbers[name]
            assert more == right_one - left_one, name
        for k in (0, 1):
            cost_there = numbers["Wrong with the answers"][k] - numbers["Wrong without the answers"][k]
            assert numbers["Cost of the answers"][k] == cost_there


def test_the_report_is_shown_in_a_sandbox_and_the_model_only_to_owners(console: Operating) -> None:
    add_done(console)
    report = console.get("/fits/1/report")
    assert "<h1>The report</h1>" in report.text
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-modals; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert report.headers["x-content-type-options"] == "nosniff"
    model = console.get("/fits/1/model")
    assert (model.content, model.headers["content-disposition"]) == (MODEL_FILE, 'attachment; filename="fit-1.skops"')
    console.add("Vic", "viewer")
    console.log_in("Vic")
    assert console.get("/fits/1/report").status_code == 200
    assert console.get("/fits/1/model").status_code == 403
    assert console.get("/fits/1/prices").status_code == 403
    page = console.get("/fits/1").text
    for owners in ("Download the model", "Choose this model", "Learn this point", "New model from these settings"):
        assert owners not in page
    (job_folder(console.site.host.path, 1) / REPORT).unlink()
    assert console.get("/fits/1/report").status_code == 404
    assert "Read the full report" not in console.get("/fits/1").text


def test_a_model_is_chosen_then_shown_and_another_choice_hides_it(console: Operating) -> None:
    store = console.site.host.store
    assert "No model is chosen yet" in console.get("/results").text
    add_done(console)
    add_done(console, settings=wanted(eta=0.02))
    chosen = console.post("/fits/1/choose")
    assert chosen.url.path == "/admin/results"
    assert "Participants do not see it" in chosen.text
    assert "still open" in chosen.text
    assert "Participants can see the result now" in console.post("/results/shown", job="1", shown="yes").text
    stands = store.read_now(standing)
    assert (stands.chosen_job_id, stands.result_shown) == (1, True)
    console.post("/fits/2/choose")
    stands = store.read_now(standing)
    assert (stands.chosen_job_id, stands.result_shown) == (2, False)
    late = console.post("/results/shown", job="1", shown="yes")  # from a page made before that
    assert "Another model has been chosen" in late.text
    assert not store.read_now(standing).result_shown
    for odd in ({"job": "1"}, {"shown": "yes"}, {"job": "2", "shown": "perhaps"}):
        assert console.post("/results/shown", **odd).status_code == 404
    console.post("/results/shown", job="2", shown="yes")
    assert "no longer see" in console.post("/results/shown", job="2", shown="no").text
    assert console.post("/fits/9/choose").status_code == 404
    done = store.read_now(lambda c: c.execute(sa.select(events.c.action, events.c.about)).all())
    assert [tuple(row) for row in done][1:] == [
        ("model chosen", "fit 1"),
        ("result shown", "fit 1"),
        ("model chosen", "fit 2"),
        ("result shown", "fit 2"),
        ("result hidden", "fit 2"),
    ]


def test_operators_see_the_page_of_a_participant_before_anybody_does(console: Operating) -> None:
    answered(console)
    add_done(console)
    assert console.get("/results/preview?participant=1").status_code == 404  # nothing is chosen
    console.post("/fits/1/choose")
    page = console.get("/results/preview?participant=1")
    assert "What became of your answers" in page.text
    assert "/withdraw" not in page.text
    for odd in ("2", "x", "", "1111111111111"):
        assert console.get(f"/results/preview?participant={odd}").status_code == 404


def test_files_that_are_gone_are_missed_kindly(console: Operating) -> None:
    add_done(console)
    console.post("/fits/1/choose")
    for file in job_folder(console.site.host.path, 1).iterdir():
        file.unlink()
    assert "are not there any more" in console.get("/fits/1").text
    assert "are not there any more" in console.get("/results").text
    assert console.get("/fits").status_code == 200


def test_every_answer_has_words() -> None:
    from fairwise.web.console.fits import _ANSWER_WORDS  # noqa: PLC0415

    assert set(_ANSWER_WORDS) == set(Answer)


@pytest.mark.parametrize("etas", [[0.0], [0.0, 0.0], [0.0, 1e-7], [0.0, 0.013, 0.5]])
def test_every_point_is_within_the_figure(etas: list[float]) -> None:
    figure = draw_figure(etas, [0.3 - eta / 10 for eta in etas])
    for x, y in figure.spots:
        assert figure.left <= x <= figure.right
        assert figure.top <= y <= figure.bottom
    assert len({tick.words for tick in figure.upwards}) == len(figure.upwards)
    assert len({tick.words for tick in figure.across}) == len(figure.across)


def test_numbers_on_new_people_lead_and_warn(console: Operating) -> None:
    add_done(console, held_out=on_new_people(0.375, 0.36, 0.377, -0.02), headline={"simulated": 2})
    add_done(console, held_out=on_new_people(0.3, 0.36, 0.4, 0.02), headline={"simulated": 3})
    add_done(console)
    doubtful, clear, old = (" ".join(console.get(f"/fits/{number}").text.split()) for number in (1, 2, 3))
    assert "<strong>1.5 more wrong decisions in 100</strong>. Measured on new people." in doubtful
    assert "On new people this model is not clearly better than:" in doubtful
    assert "the same outcome for everyone: 37.7 wrong decisions in 100, with this model 37.5" in doubtful
    assert "a model of the same kind without the answers: 36.0 wrong decisions in 100" in doubtful
    assert "3 participants, 2 of them simulated." in doubtful
    assert "not clearly better" not in clear + old
    assert "from the answers of 3 simulated participants, and of no real person." in clear
    assert "on the people it was learned from" in old
    listed = console.get("/fits").text
    assert ("2 of 3 simulated" in listed, "3 of 3 simulated" in listed) == (True, True)
    assert console.post("/fits/1/choose").status_code == 200
    results = console.get("/results").text
    assert "2 of them simulated" in results
    assert "not clearly better" in results
    compared = console.get("/fits/compare?a=1&b=2").text
    assert re.search(r"Simulated participants among them</th>\s*<td>2</td>\s*<td>3</td>", compared)
