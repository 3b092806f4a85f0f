from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Study
    from typer.testing import Result


def test_a_report_with_everything(
    study: Study, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    out, figures, curve = (study.folder / name for name in ("r.html", "figures", "f.csv"))
    model, question = study.folder / "m.skops", study.folder / "question.txt"
    question.write_text("Should these two be treated alike?\n", encoding="utf-8")
    run("fit", *study.to_fit, "--no-held-out", "--out", model)
    run("frontier", *study.to_fit, "--gammas", "0,0.1,1", "--out", curve)
    options = ["--model", model, "--frontier", curve, "--groups", "town", "--title", "Our <study>", "--simulated"]
    options += ["--design", "Neighbours in a list."]
    printed = answer("report", *study.files, *options, "--question", f"@{question}", "--figures", figures, "--out", out)
    assert printed["report"] == str(out)
    page = out.read_text(encoding="utf-8")
    assert "Should these two be treated alike?" in page
    assert "Our &lt;study&gt;" in page
    assert "Neighbours in a list." in page
    assert "simulated" in page.lower()
    assert list(figures.glob("*.svg"))
    assert not list(study.folder.glob(".*.part"))


def test_a_report_that_fits_itself(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "r.html"
    said = run("report", *study.to_fit, "--question", "Who is like whom?", "--out", out).stdout
    assert f"Report written to {out}." in said
    assert "Who is like whom?" in out.read_text(encoding="utf-8")
    assert sorted(path.name for path in study.folder.iterdir()) == ["judgments.csv", "people.csv", "r.html"]


def test_groups_of_a_column_that_the_model_does_not_learn_from(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "r.html"
    run("report", *study.to_fit, "--drop", "town", "--groups", "town", "--out", out)
    page = out.read_text(encoding="utf-8")
    assert "Aa" in page
    assert "Be" in page


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--question", "@none.txt"], "none.txt: cannot be read"),
        (["--model", "none.skops"], "none.skops: no such file"),
        (["--frontier", "none.csv"], "none.csv: there is no such file"),
        (["--groups", "city"], "city"),
        (["--figures", "no/where/at/all"], "there is no such folder"),
    ],
)
def test_what_is_not_there(study: Study, run: Callable[..., Result], options: list[str], part: str) -> None:
    out = study.folder / "r.html"
    assert part in run("report", *study.to_fit, *options, "--out", out, code=1).stderr
    assert not out.exists()


def test_a_table_that_is_no_frontier(study: Study, run: Callable[..., Result]) -> None:
    curve, out = study.folder / "f.csv", study.folder / "r.html"
    said = run("report", *study.to_fit, "--frontier", study.people, "--out", out, code=1).stderr
    assert f"{study.people}: there is no column 'judge'" in said
    curve.write_text("judge;gamma;eta;error\npanel;0.1;;0.3\npanel;0,2;;0.3\n", encoding="utf-8")
    said = run("report", *study.to_fit, "--frontier", curve, "--out", out, code=1).stderr
    assert f"{curve}, line 3, column gamma: '0,2' is not a number" in said
    curve.write_text("judge,gamma,eta,error\npanel,0.1,,\n", encoding="utf-8")
    said = run("report", *study.to_fit, "--frontier", curve, "--out", out, code=1).stderr
    assert f"{curve}, line 2, column error: empty is not a number" in said


def test_people_of_whom_not_everything_is_known(study: Study, run: Callable[..., Result]) -> None:
    people = study.people_frame().astype({"age": "Int64"})
    people.loc[people["person"].isin({f"p{i}" for i in range(0, 20, 2)}), ["age", "town"]] = None
    people.to_csv(study.people, index=False)
    out = study.folder / "r.html"
    run("report", *study.to_fit, "--gamma", "0", "--groups", "town", "--out", out)
    assert "not known" in out.read_text(encoding="utf-8")
