"""Whatever file somebody may send is taken as a table or refused, and nothing of it is left behind."""

from __future__ import annotations

import io
import os
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.operating import Operating, operating
from tests.support.study_making import CHOSEN, TABLE, csv, left, problem, send, uploaded

from fairwise.web.console import study_wizard as making
from fairwise.web.console import uploads
from fairwise.web.console.scoring import Turns
from fairwise.web.console.uploads import HOURS_KEPT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def parquet() -> bytes:
    file = io.BytesIO()
    TABLE.to_parquet(file)
    return file.getvalue()


def test_parquet_is_taken_too(plain_console: Operating) -> None:
    path = uploaded(plain_console, parquet(), "people.parquet")
    assert plain_console.post(path, **CHOSEN).url.path == "/admin/study"


OFFICERS = TABLE.assign(
    town=[f"Köln {k % 3}" for k in range(len(TABLE))], grade=[1.5 + k / 4 for k in range(len(TABLE))]
)


def officers_file(kind: str) -> bytes:
    """The same table as several programs save it."""
    if kind == "xlsx":
        file = io.BytesIO()
        OFFICERS.to_excel(file, index=False)
        return file.getvalue()
    return OFFICERS.to_csv(index=False, sep=";", decimal=",").encode(kind)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("xlsx", ""), ("cp1252", "Windows-1252"), ("utf-8-sig", "UTF-8"), ("utf-16", "UTF-16")],
)
def test_files_as_officers_have_them(plain_console: Operating, kind: str, said: str) -> None:
    page = send(plain_console, officers_file(kind), "people.xlsx" if kind == "xlsx" else "people.csv")
    assert page.url.path.endswith("/file")
    assert "30 people, 7 columns" in page.text
    assert "Köln 0" in page.text
    assert said in page.text
    assert ("separated by a semicolon" in page.text) == (kind != "xlsx")
    assert ("Of a workbook the first sheet is read." in page.text) == (kind == "xlsx")
    assert re.search(r"columns\. (Cells|Of a workbook)", page.text)  # and not without a space
    assert ("with a comma" in page.text.partition("<details")[0]) == (kind != "xlsx")
    assert '<td dir="auto" class="number">1.75</td>' in page.text
    path = page.url.path.removeprefix("/admin").removesuffix("/file")
    assert plain_console.post(path, **CHOSEN, **{"show-6": "yes", "label-6": "Grade"}).url.path == "/admin/study"
    grades = pd.read_parquet(plain_console.site.host.path / "people.parquet")["grade"]
    assert grades.tolist() == OFFICERS["grade"].tolist()


def test_a_file_can_be_read_in_another_way(plain_console: Operating) -> None:
    table = TABLE.assign(amount=[f"{k + 1},000" for k in range(len(TABLE))]).to_csv(index=False, sep=";")
    page = send(plain_console, table.replace("town", "miasto").replace("Town", "Łódź").encode("cp1250"))
    path = page.url.path.removeprefix("/admin")
    assert "Windows-1252" in page.text
    assert ">1000<" in page.text  # thousands
    page = plain_console.post(path, encoding="cp1250", separator=";", decimal=",")
    assert "Łódź" in page.text
    assert ">1.0<" in page.text
    page = plain_console.post(path, encoding="cp1250", separator="\t", decimal=",")
    assert "2 people" not in page.text
    assert "There is only one column" in page.text
    assert "Yes, go on" not in page.text


def test_what_cannot_become_a_study_is_said_at_once(plain_console: Operating) -> None:
    page = send(plain_console, csv(TABLE[["age", "good"]].assign(age=7)))
    assert "No column is different for everyone" in page.text
    page = send(plain_console, csv(TABLE[["person", "same"]]))
    assert "No column is filled in for everyone with two values" in page.text
    assert "Yes, go on" in page.text


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "people.csv", "people.csv: the file is empty"),
        (b"id,age\n", "people.csv", "people.csv: only a header"),
        (b"PK\x03\x04" + b"x" * 100, "people.csv", "an Excel workbook or a zip archive"),
        (b"id,age\n1,\x00\n", "people.csv", "people.csv, line 2: a binary file, not CSV text"),
        (b"id,town\n1,K\x81ln\n", "people.csv", "people.csv: cannot be read as Windows-1252"),
        (b"id,age\n1,2,3\n", "people.csv", "people.csv, line 2: 3 cells where the header has 2"),
        (b"id,id\n1,2\n", "people.csv", "columns given twice"),
        (b"PAR1 and so on", "people.parquet", "people.parquet: a damaged Parquet file"),
        (b"PK\x03\x04" + b"x" * 100, "people.xlsx", "people.xlsx: not an Excel workbook (.xlsx), or a damaged one"),
        (b"id,age\n1,2\n", "people.exe", "people.exe: tables are taken from files that end in .xlsx"),
        (b"id,age\n1,2\n", "../../../etc/passwd", "passwd: tables are taken from"),
        (("k" * 5 + "\n").encode() + b"x" * (1 << 21), "people.csv", "longer than"),
        ((",".join(f"c{k}" for k in range(501)) + "\n" + "1," * 500 + "1\n").encode(), "wide.csv", "501 columns"),
    ],
)
def test_files_that_are_no_tables(unchanged_console: Operating, content: bytes, name: str, said: str) -> None:
    page = send(unchanged_console, content, name)
    assert page.status_code == 422
    assert said in problem(page)
    assert left(unchanged_console) == {"secret.key"}


def test_more_people_than_anyone_should_wait_for(plain_console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_PEOPLE", 29)
    assert "30 people; at most 29 are taken here" in problem(send(plain_console, csv()))
    assert left(plain_console) == {"secret.key"}


def test_a_name_is_only_a_name(plain_console: Operating) -> None:
    path = uploaded(plain_console, name='..\\..\\<script>alert(1)</script>".csv')
    page = plain_console.get(path)
    assert "<script>alert" not in page.text
    home = plain_console.site.host.path
    assert {file.split("/")[-1] for file in left(plain_console)} == {
        "secret.key",
        "received",
        "table",
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
    routes = [replace(route, most_bytes=route.most_bytes and 2_000_000) for route in making.StudyWizardPages.routes]
    monkeypatch.setattr(making.StudyWizardPages, "routes", tuple(routes))
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


def test_an_operator_has_two_uploads_and_a_study_so_many_bytes(
    plain_console: Operating, monkeypatch: pytest.MonkeyPatch
) -> None:
    def there() -> list[int]:
        return [plain_console.get(path).status_code for path in paths]

    paths = [uploaded(plain_console) for _ in range(4)]
    assert there() == [404, 404, 200, 200]
    assert plain_console.client.post("/admin/new", data={"csrf": "made up"}, files={"file": ("a.csv", csv())}).is_error
    assert there() == [404, 404, 200, 200]  # a form of somebody else's displaces nothing

    plain_console.add("Bob", "owner")
    plain_console.log_in("Bob")
    paths += [uploaded(plain_console), uploaded(plain_console)]
    assert there() == [404, 404, 200, 200, 200, 200]

    folder = plain_console.site.host.path / ".uploads" / paths[-1].rpartition("/")[2]
    monkeypatch.setattr(uploads, "MOST_KEPT_BYTES", 2 * sum(file.stat().st_size for file in folder.iterdir()) + 999)
    paths.append(uploaded(plain_console))
    assert there() == [404, 404, 404, 200, 404, 200, 200]


def test_an_upload_that_newer_ones_replace_ends(plain_console: Operating, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two newer ones arrive while it is received."""
    made: list[str] = []
    receive = uploads.receive_file

    async def slow(request: Any, into: Path, check: Any) -> str:
        called = await receive(request, into, check)
        made.append(into.parent.name)
        if len(made) == 1:
            for _ in range(2):
                plain_console.site.host.path.joinpath(".uploads", f"{request.state.operator.id}-newer{_}").mkdir()
            uploads.Uploads(plain_console.site.host.path).make_room(request.state.operator.id)
        return called

    monkeypatch.setattr(making, "receive_file", slow)
    assert "You uploaded other files meanwhile" in problem(send(plain_console, csv(), "people.csv"))
    assert plain_console.get(uploaded(plain_console)).status_code == 200


def test_an_upload_that_is_deleted_before_it_is_read_ends(
    plain_console: Operating, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newer ones arrive while it waits for its turn, whether it is read for the first time or again."""
    run, there = Turns.run, uploads.Uploads(plain_console.site.host.path)

    async def late(turns: Turns, *work: Any) -> Any:
        there.discard_all()
        return await run(turns, *work)

    path = uploaded(plain_console)
    monkeypatch.setattr(Turns, "run", late)
    again = plain_console.post(f"{path}/file", encoding="cp1252", separator=",", decimal=".")
    for page in (again, send(plain_console, csv(), "people.csv")):
        assert page.status_code == 422
        assert "You uploaded other files meanwhile" in problem(page)


def test_columns_that_are_nearly_numbers_or_dates_are_named(plain_console: Operating) -> None:
    """Of random columns, as in a fit: one value that is no number makes all of them categories."""
    rng = np.random.default_rng(0)
    expected: dict[str, str] = {}
    columns: dict[str, Any] = {}
    for k in range(200):
        numbers = rng.integers(0, 900, len(TABLE)).astype(str).astype(object)
        dates = (np.datetime64("2000-01-01") + rng.integers(0, 9000, len(TABLE))).astype(str).astype(object)
        kind = str(rng.choice(["number", "number, odd", "date", "date, odd", "words"]))
        cells = {"n": numbers, "d": dates, "w": rng.choice(["Ulm", "3"], len(TABLE)).astype(object)}[kind[0]]
        if "odd" in kind:
            cells[rng.choice(len(TABLE), 2)] = "?"
        columns[f"c{k}"] = cells
        expected |= {f"c{k}": kind[:4]} if kind not in ("number", "words") else {}
    page = send(plain_console, csv(TABLE.assign(**columns))).text
    named = re.findall(
        r"“<bdi>(c\d+)</bdi>” (is read as text, because some [^“]*such as “<bdi>\?</bdi>”|holds dates)", page
    )
    assert {name: "date" if "dates" in said else "numb" for name, said in named} == expected
    assert len(set(expected.values())) == 2


def test_an_upload_is_read_in_a_process_that_can_be_given_up(
    plain_console: Operating, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def give_up(_turns: Turns, *_: object) -> tuple[None, bytes]:
        return None, b""

    monkeypatch.setattr(Turns, "run", give_up)
    page = send(plain_console, csv())
    assert page.status_code == 422
    assert "people.csv: cannot be read within 20 seconds and 512 MB of memory" in problem(page)
    assert left(plain_console) == {"secret.key"}
