"""A study made in the browser: whole or not at all, from whatever file somebody may send."""

from __future__ import annotations

import io
import os
import re
import time
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from operating import Operating, operating

from fairwise.elicitation.console import making, uploaded_people
from fairwise.elicitation.console.routes import Route
from fairwise.elicitation.console.uploaded_people import HOURS_KEPT
from fairwise.elicitation.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from httpx2 import Response

PEOPLE = 30
OUTCOME = np.random.default_rng(0).integers(0, 2, PEOPLE)
TABLE = pd.DataFrame(
    {
        "person": [f"known-as-{k}" for k in range(PEOPLE)],
        "age": np.arange(20, 20 + PEOPLE),
        "town": [f"<b>Town {k % 3}</b> & =1+1" for k in range(PEOPLE)],
        "good": OUTCOME,
        "again": np.where(OUTCOME, "went well", "did not"),
        "same": [7] * PEOPLE,
    }
)
CHOSEN = {
    "id": "0",
    "outcome": "3",
    "show-1": "yes",
    "show-2": "yes",
    "label-1": "Age",
    "unit-1": "years",
    "place-1": "2",
    "label-2": "Town",
    "place-2": "1",
    "treated_well": "to be let in",
    "title": "Who is let in",
    "pairs": "10",
    "design": "mixed",
    "answers": "four",
    "first": "en",
}


@pytest.fixture
def console(tmp_path: Path, new_database: Callable[[], str | Path]) -> Iterator[Operating]:
    with operating(tmp_path / "study", new_database()) as opened:
        opened.set_up()
        yield opened


@pytest.fixture
def plain_console(tmp_path: Path) -> Iterator[Operating]:
    """Where the database makes no difference."""
    with operating(tmp_path / "study", tmp_path / "study.sqlite") as opened:
        opened.set_up()
        yield opened


def csv(table: pd.DataFrame = TABLE) -> bytes:
    return table.to_csv(index=False).encode()


def send(console: Operating, content: bytes, name: str = "people.csv", **fields: str) -> Response:
    return console.client.post(
        "/admin/new", data={"csrf": console.csrf(), **fields}, files={"file": (name, io.BytesIO(content))}
    )


def uploaded(console: Operating, content: bytes | None = None, name: str = "people.csv") -> str:
    """Send a table; returns the path of the page where one chooses."""
    page = send(console, csv() if content is None else content, name)
    assert page.status_code == 200, problem(page)
    return str(page.url.path).removeprefix("/admin")


def problem(page: Response) -> str:
    found = re.search(r'id="summary">There is a problem</h2>\s*<p>(.*?)</p>', page.text, re.DOTALL)
    return unescape(found[1]) if found else ""


def left(console: Operating) -> set[str]:
    """Files in the study's folder beside the database, those of uploads included."""
    home = console.site.host.path
    return {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file() and "sqlite" not in file.name}


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


def parquet() -> bytes:
    file = io.BytesIO()
    TABLE.to_parquet(file)
    return file.getvalue()


def test_parquet_is_taken_too(plain_console: Operating) -> None:
    path = uploaded(plain_console, parquet(), "people.parquet")
    assert plain_console.post(path, **CHOSEN).url.path == "/admin/study"


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "people.csv", "people.csv: the file is empty"),
        (b"id,age\n", "people.csv", "people.csv: only a header"),
        (b"PK\x03\x04" + b"x" * 100, "people.csv", "an Excel workbook or a zip archive"),
        (b"id,age\n1,\x00\n", "people.csv", "people.csv, line 2: a binary file, not CSV text"),
        (b"id,town\n1,K\xf6ln\n", "people.csv", "byte 0xf6"),
        (b"id,age\n1,2,3\n", "people.csv", "people.csv, line 2: 3 cells where the header has 2"),
        (b"id,id\n1,2\n", "people.csv", "columns given twice"),
        (b"PAR1 and so on", "people.parquet", "people.parquet: a damaged Parquet file"),
        (b"id,age\n1,2\n", "people.exe", "people.exe: tables are taken from files that end in .csv"),
        (b"id,age\n1,2\n", "../../../etc/passwd", "passwd: tables are taken from"),
        (("k" * 5 + "\n").encode() + b"x" * (1 << 21), "people.csv", "longer than"),
        ((",".join(f"c{k}" for k in range(501)) + "\n" + "1," * 500 + "1\n").encode(), "wide.csv", "501 columns"),
    ],
)
def test_files_that_are_no_tables(plain_console: Operating, content: bytes, name: str, said: str) -> None:
    page = send(plain_console, content, name)
    assert page.status_code == 422
    assert said in problem(page)
    assert left(plain_console) == {"secret.key"}


def test_more_people_than_anyone_should_wait_for(plain_console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_people, "MOST_PEOPLE", 29)
    assert "30 people; at most 29 are taken here" in problem(send(plain_console, csv()))
    assert left(plain_console) == {"secret.key"}


def test_a_name_is_only_a_name(plain_console: Operating) -> None:
    path = uploaded(plain_console, name='..\\..\\<script>alert(1)</script>".csv')
    page = plain_console.get(path)
    assert "<script>alert" not in page.text
    home = plain_console.site.host.path
    assert {file.split("/")[-1] for file in left(plain_console)} == {
        "secret.key",
        "people.csv",
        "look.json",
        "sample.parquet",
    }
    assert {file.name for file in home.parent.iterdir()} <= {"study", *(f.name for f in home.parent.glob("study.sq*"))}


def test_only_this_page_takes_so_much_and_not_more(plain_console: Operating) -> None:
    large = b"id,age\n" + b"".join(b"%d,%d\n" % (k, k % 90) for k in range(120_000))
    assert len(large) > 1_000_000
    assert (
        plain_console.client.post(
            "/admin/accounts", data={"csrf": plain_console.csrf()}, files={"file": ("people.csv", large)}
        ).status_code
        == 413
    )
    assert uploaded(plain_console, large)
    too_large = plain_console.client.post(
        "/admin/new", content=b"", headers={"content-length": str(300 * 1024**2), "content-type": "multipart/form-data"}
    )
    assert too_large.status_code == 413


def test_a_stream_that_does_not_say_how_long_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [
        Route(*(r.method, r.path, r.handler, r.role), most_bytes=r.most_bytes and 2_000_000)
        for r in making.MakingPages.routes
    ]
    monkeypatch.setattr(making.MakingPages, "routes", tuple(routes))
    with operating(tmp_path / "study", tmp_path / "study.sqlite") as console:
        console.set_up()
        csrf = console.csrf()

        def body() -> Iterator[bytes]:
            yield f'--b\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n{csrf}\r\n'.encode()
            yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="p.csv"\r\n\r\nid,age\n'
            for _ in range(50):
                yield b"1,2\n" * 25_000
            yield b"\r\n--b--\r\n"

        page = console.client.post(
            "/admin/new", content=body(), headers={"content-type": "multipart/form-data; boundary=b"}
        )
        assert page.status_code == 413
        assert left(console) == {"secret.key"}


def test_forms_of_others_are_refused_before_anything_is_written(plain_console: Operating) -> None:
    files: Any = {"file": ("people.csv", csv())}
    assert plain_console.client.post("/admin/new", data={"csrf": "made up"}, files=files).status_code == 403
    assert plain_console.client.post("/admin/new", files=files).status_code == 403
    assert "Choose a file" in problem(plain_console.post("/new"))
    assert "Choose a file" in problem(send(plain_console, b"", ""))
    for broken in (b"", b"nonsense", b"--b\r\n\r\n"):
        kind = {"content-type": "multipart/form-data; boundary=b"}
        assert plain_console.client.post("/admin/new", content=broken, headers=kind).status_code in (400, 403, 422)
    assert left(plain_console) == {"secret.key"}


def test_what_nobody_goes_on_with_is_deleted(plain_console: Operating) -> None:
    first = uploaded(plain_console)
    assert "was deleted" in plain_console.post(f"{first}/discard").text
    assert plain_console.get(first).status_code == 404
    assert left(plain_console) == {"secret.key"}
    second = uploaded(plain_console)
    folder = plain_console.site.host.path / ".uploads" / second.rpartition("/")[2]
    old = time.time() - HOURS_KEPT * 3600 - 60
    os.utime(folder, (old, old))
    third = uploaded(plain_console)
    assert plain_console.get(second).status_code == 404
    assert plain_console.get(third).status_code == 200
    assert plain_console.get("/new/%2e%2e%2fsecret.key").status_code == 404


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
    rows = uploaded_people._SAMPLE_ROWS * 50
    said = ["true"] * rows
    said[1] = "perhaps"  # not among the rows of the preview
    table = pd.DataFrame({"id": range(rows), "code": [f"{k:05d}" for k in range(rows)], "said": said})
    path = uploaded(plain_console, csv(table))
    page = plain_console.post(
        f"{path}/preview", **{"id": "0", "show-1": "y", "show-2": "y", "pairs": "5", "first": "en", "answers": "two"}
    )
    assert "00000" in page.text
    assert ">true<" in page.text
