"""A study made in the browser: whole or not at all, and as it was shown before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from tests.support.operating import Operating, operating
from tests.support.study_making import CHOSEN, csv, left, problem, send, uploaded

from fairwise.store.export import judgments
from fairwise.study.folder import StudyFolder
from fairwise.tables import look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def console(tmp_path: Path, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    with operating(tmp_path / "study", new_database()) as opened:
        opened.set_up()
        yield opened


def test_from_a_file_to_a_paused_study(console: Operating) -> None:
    assert "Make a study" in console.get("").text
    assert "no study here yet" in console.client.get("/").text
    path = uploaded(console)
    page = console.get(path)
    assert "30 people, 6 columns" in page.text
    assert " checked" not in re.sub(r'<input type="radio"[^>]*>', "", page.text)  # nothing is shown by itself
    assert not (console.site.host.path / "study.toml").exists()
    made = console.post(path, **CHOSEN)
    assert made.url.path == "/admin/study", problem(made)
    assert "The study was made" in made.text
    assert left(console) == {"secret.key", "study.toml", "consent.md", "task.md", "people.parquet", "outcome.parquet"}
    study = StudyFolder.open(console.site.host.path)
    assert [(c.name, c.label, c.unit) for c in study.settings.columns] == [
        ("town", "Town", ""),
        ("age", "Age", "years"),
    ]
    assert study.settings.mixture == {"uniform": 7, "anchors": 2, "repeats": 1}  # no two look the same: no checks
    assert (study.path / "outcome.parquet").stat().st_mode & 0o777 == 0o600
    assert "not open at the moment" in console.client.get("/").text
    assert "The study is paused" in console.get("").text
    console.post("/state", state="open", sure="yes")
    assert "Do you want to take part?" in console.client.get("/").text
    # One folder, one study.
    assert "There is a study already" in console.get("/new").text
    assert send(console, csv()).status_code == 409
    assert console.get(path).url.path == "/admin/new"
    assert console.post(path, **CHOSEN).status_code == 409


def test_the_preview_is_the_page_of_a_pair(plain_console: Operating) -> None:
    path = uploaded(plain_console)
    nothing_yet = plain_console.get(f"{path}/preview")
    assert "Tick a column" in nothing_yet.text
    page = plain_console.post(f"{path}/preview", **CHOSEN)
    for part in ("Pair 1 of 10", "20 years", "&lt;b&gt;Town 0&lt;/b&gt; &amp; =1+1", "to be let in", "Who is let in"):
        assert part in page.text
    assert page.text.index("Town 0") < page.text.index("20 years")
    assert "known-as" not in page.text
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "form-action 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    for other in (plain_console.get(path), plain_console.get("/new")):
        assert "frame-ancestors 'none'" in other.headers["content-security-policy"]
        assert other.headers["x-frame-options"] == "DENY"
    german = plain_console.post(f"{path}/preview", **{**CHOSEN, "also-de": "yes", "preview": "de"})
    assert "Paar 1 von 10" in german.text
    two = plain_console.post(f"{path}/preview", **{**CHOSEN, "answers": "two"})
    assert two.text.count('name="answer"') == 2
    others = {plain_console.post(f"{path}/preview", **CHOSEN, do="others").text for _ in range(8)}
    assert len(others) > 1
    assert not (plain_console.site.host.path / "study.toml").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "9"}, "Choose the column that tells people apart"),
        ({"outcome": ""}, "Choose the column with the outcome"),
        ({"id": "5"}, "people.csv, line 3, column same: '7' is also the id at line 2; every id must be there once"),
        ({"outcome": "0"}, "people.csv: there is no column 'person'"),
        ({"show-3": "yes"}, "people.csv, column good: this is the outcome, which participants never see"),
        ({"show-0": "yes"}, "people.csv, column person: this is the id, which participants never see"),
        ({"show-4": "yes"}, "people.csv, column again: this tells everyone's outcome, 'good'"),
        ({"treated_well": " "}, "Say what the favourable outcome is"),
        ({"pairs": "many"}, "'many' is not a whole number"),
        ({"pairs": "0"}, "0; allowed: 1 to 1000"),
        ({"label-2": "Age"}, "two columns have the label 'Age'"),
        ({"first": "xx"}, "there is no such language"),
        ({"design": "own", "anchors": "20"}, "design alone adds up to 20"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_lost(plain_console: Operating, change: dict[str, str], said: str) -> None:
    path = uploaded(plain_console)
    before = left(plain_console)
    page = plain_console.post(path, **{**CHOSEN, "question": "Is <this> fair?", **change})
    assert page.status_code == 422
    assert said in problem(page)
    assert "/study/" not in problem(page)  # no path of this machine
    assert "Is &lt;this&gt; fair?" in page.text
    assert re.search(r'name="show-1" value="yes" checked', page.text)
    assert left(plain_console) == before
    assert plain_console.post(path, **CHOSEN).url.path == "/admin/study"  # and put right, it works


def test_nothing_ticked_and_no_outcome(plain_console: Operating) -> None:
    path = uploaded(plain_console)
    none = {name: value for name, value in CHOSEN.items() if not name.startswith("show")}
    assert "Tick at least one column" in problem(plain_console.post(path, **none))
    assert plain_console.post(path, **{**CHOSEN, "outcome": "none"}).url.path == "/admin/study"
    assert "outcome.parquet" not in left(plain_console)


def test_two_at_once_make_one_study(plain_console: Operating) -> None:
    """Both have read the file and checked it before either has made the study."""
    one, two = uploaded(plain_console), uploaded(plain_console)
    assert plain_console.post(one, **CHOSEN).url.path == "/admin/study"
    late = plain_console.post(two, **{**CHOSEN, "title": "Another"})
    assert late.status_code == 409
    assert StudyFolder.open(plain_console.site.host.path).settings.title == "Who is let in"


def test_files_of_a_study_that_never_appeared_do_no_harm(plain_console: Operating) -> None:
    home = plain_console.site.host.path
    (home / "outcome.parquet").write_bytes(b"left behind")
    (home / "people.parquet").write_bytes(b"left behind")
    path = uploaded(plain_console)
    assert plain_console.post(path, **{**CHOSEN, "outcome": "none"}).url.path == "/admin/study"
    assert not (home / "outcome.parquet").exists()
    StudyFolder.open(home)


def test_codes_and_truths_are_shown_as_they_will_be(plain_console: Operating) -> None:
    """What kind of column it is all rows decide, not only those of the preview."""
    rows = look._SAMPLE_ROWS * 50
    said = ["true"] * rows
    said[1] = "perhaps"  # not among the rows of the preview
    table = pd.DataFrame({"id": range(rows), "code": [f"{k:05d}" for k in range(rows)], "said": said})
    path = uploaded(plain_console, csv(table))
    page = plain_console.post(
        f"{path}/preview", **{"id": "0", "show-1": "y", "show-2": "y", "pairs": "5", "first": "en", "answers": "two"}
    )
    assert "00000" in page.text
    assert ">true<" in page.text


def test_a_sample_study_in_one_step(console: Operating) -> None:
    assert "Try it with a sample study" in console.get("").text
    assert console.post("/sample", csrf="forged").status_code == 403
    assert not (console.site.host.path / "study.toml").exists()
    made = console.post("/sample")
    assert made.url.path == "/admin", problem(made)
    assert "The sample study was made" in made.text
    assert "The study is open" in made.text
    assert 'class="simulated"' in made.text
    assert left(console) == {"secret.key", "study.toml", "consent.md", "task.md", "people.parquet", "outcome.parquet"}
    assert not StudyFolder.open(console.site.host.path).unfinished
    answers = console.site.host.store.read_now(judgments)
    assert (answers.n_judges, len(answers.frame)) == (43, 43 * 50)
    assert "Do you want to take part?" in console.client.get("/").text
    assert "no new arrest" in console.get("/fits/new").text
    # One folder, one study.
    assert console.post("/sample").status_code == 409
    assert console.site.host.store.read_now(judgments).n_judges == 43


def test_a_sample_study_is_for_owners(plain_console: Operating) -> None:
    plain_console.add("Vera", "viewer")
    plain_console.log_in("Vera")
    assert "sample study" not in plain_console.get("").text
    assert plain_console.post("/sample").status_code == 403
    assert not (plain_console.site.host.path / "study.toml").exists()
