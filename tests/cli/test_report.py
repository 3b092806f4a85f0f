from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fairlearn.reductions import DemographicParity

from fairwise import Judgments, PairwiseFairClassifier, reporting
from fairwise.auditing import held_out_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Study
    from typer.testing import Result

    from fairwise.auditing.findings import Findings


def test_a_report_with_everything(
    study: Study, run: Callable[..., Result], answer: Callable[..., dict[str, Any]]
) -> None:
    out, figures, curve = (study.folder / name for name in ("r.html", "figures", "f.csv"))
    model, question = study.folder / "m.skops", study.folder / "question.txt"
    question.write_text("Should these two be treated alike?\n", encoding="utf-8")
    prices = study.folder / "m.prices.parquet"
    run("fit", *study.to_fit, "--no-held-out", "--out", model, "--prices", prices)
    run("frontier", *study.to_fit, "--gammas", "0,0.1,1", "--out", curve)
    without = run("report", *study.files, "--model", model, "--out", out, code=1).stderr
    assert "a report needs what each judgment costs, which no model file holds" in " ".join(without.split())
    options = [
        "--model",
        model,
        "--prices",
        prices,
        "--frontier",
        curve,
        "--groups",
        "town",
        "--title",
        "Our <study>",
        "--simulated",
    ]
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


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--group-constraint", "dp:0.2:town"]])
def test_a_report_measures_on_people_left_out(
    study: Study, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    given: list[Findings] = []
    write = reporting.write_report

    def written(content: Findings, *to: Any, **how: Any) -> None:
        given.append(content)
        write(content, *to, **how)

    monkeypatch.setattr(reporting, "write_report", written)
    people, outcome = study.people_frame().set_index("person").drop(columns="returned"), study.people_frame()
    out, model, prices = (study.folder / name for name in ("r.html", "m.skops", "m.prices.parquet"))
    run("report", *study.to_fit, *more, "--out", out)
    run("report", *study.to_fit, *more, "--no-held-out", "--out", out)
    run("fit", *study.to_fit, *more, "--no-held-out", "--out", model, "--prices", prices)
    run("report", *study.files, *more, "--model", model, "--prices", prices, "--out", out)
    measured, left_out, of_model = (content.held_out for content in given)
    rules = [DemographicParity(difference_bound=0.2)] if more else None
    by_hand = held_out_errors(
        PairwiseFairClassifier("tree", max_depth=1, favorable_label=1, group_constraints=rules),
        people,
        outcome.set_index("person")["returned"],
        Judgments.read(study.judgments, people=people),
        fit_params={"sensitive_features": people["town"]} if more else None,
    )
    assert measured == by_hand
    assert left_out is None
    assert of_model == by_hand


def test_a_report_says_why_nothing_is_measured(study: Study, run: Callable[..., Result]) -> None:
    """Refits of a kept model with rules about groups need to know the groups."""
    out, model, prices = (study.folder / name for name in ("r.html", "m.skops", "m.prices.parquet"))
    rule = ["--group-constraint", "dp:0.2:town"]
    run("fit", *study.to_fit, *rule, "--no-held-out", "--out", model, "--prices", prices)
    kept = ["--model", model, "--prices", prices]
    assert "Nothing is measured on people left out: " in run("report", *study.files, *kept, "--out", out).stderr
    assert out.exists()


def test_groups_of_a_column_that_the_model_does_not_learn_from(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "r.html"
    run("report", *study.to_fit, "--drop", "town", "--groups", "town", "--language", "de", "--out", out)
    page = out.read_text(encoding="utf-8")
    assert "Aa" in page
    assert "Be" in page
    assert '<html lang="de"' in page
    assert "Wer gewinnt, wer verliert" in page


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--question", "@none.txt"], "none.txt: cannot be read"),
        (["--model", "none.skops"], "none.skops: no such file"),
        (["--frontier", "none.csv"], "none.csv: there is no such file"),
        (["--groups", "city"], "city"),
        (["--language", "xx"], "--language: no report in 'xx'; there are en, de"),
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


def other_answer(study: Study) -> None:
    frame = study.judgments_frame()
    frame.loc[0, "answer"] = "same" if frame.loc[0, "answer"] != "same" else "a_at_least_b"
    frame.to_csv(study.judgments, index=False)


def older_people(study: Study) -> None:
    study.people_frame().assign(age=lambda people: people["age"] + 1).to_csv(study.people, index=False)


def other_outcomes(study: Study) -> None:
    people = study.people_frame()
    people.loc[:1, "returned"] = 1 - people.loc[:1, "returned"]
    people.to_csv(study.people, index=False)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_frontier_of_the_same(study: Study, run: Callable[..., Result], ending: str) -> None:
    curve, out = study.folder / f"f{ending}", study.folder / "r.html"
    run("frontier", *study.to_fit, "--gammas", "0,1", "--out", curve)
    run("report", *study.to_fit, "--frontier", curve, "--gamma", "1", "--out", out)
    assert out.exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("change", "more", "part"),
    [
        (other_answer, [], "was made with other judgments"),
        (older_people, [], "was made with other people"),
        (other_outcomes, [], "was made with other outcomes"),
        (None, ["--max-depth", "2"], "was made with max_depth = 1, where the model has 2"),
        (None, ["--drop", "score"], "was made with other people, other columns"),
    ],
)
def test_a_frontier_of_something_else(
    study: Study,
    run: Callable[..., Result],
    change: Callable[[Study], None] | None,
    more: list[str],
    part: str,
    ending: str,
) -> None:
    curve, model, out = (study.folder / name for name in (f"f{ending}", "m.skops", "r.html"))
    run("frontier", *study.to_fit, "--gammas", "0,1", "--out", curve)
    if change is not None:
        change(study)
    said = run("report", *study.to_fit, *more, "--frontier", curve, "--out", out, code=1).stderr
    assert f"{curve}: this curve is not the model's, but" in said
    assert part in said
    prices = study.folder / "m.prices.parquet"
    run("fit", *study.to_fit, *more, "--no-held-out", "--out", model, "--prices", prices)
    options = ["--model", model, "--prices", prices, "--frontier", curve, "--out", out]
    assert part in run("report", *study.files, *options, code=1).stderr
    assert not out.exists()


def test_a_frontier_that_does_not_say_what_it_was_made_from(study: Study, run: Callable[..., Result]) -> None:
    curve, out = study.folder / "f.csv", study.folder / "r.html"
    curve.write_text("judge,gamma,eta,error\npanel,0.1,0,0.3\n", encoding="utf-8")  # as 0.1.0 wrote it
    said = run("report", *study.to_fit, "--frontier", curve, "--out", out, code=1).stderr
    assert f"{curve}: does not say in a column made_from" in said
    assert "Trace it again with fairwise frontier" in said


def test_people_of_whom_not_everything_is_known(study: Study, run: Callable[..., Result]) -> None:
    people = study.people_frame().astype({"age": "Int64"})
    people.loc[people["person"].isin({f"p{i}" for i in range(0, 20, 2)}), ["age", "town"]] = None
    people.to_csv(study.people, index=False)
    out = study.folder / "r.html"
    curve = study.folder / "f.csv"
    run("frontier", *study.to_fit, "--gammas", "0,1", "--out", curve)
    run("report", *study.to_fit, "--gamma", "0", "--groups", "town", "--frontier", curve, "--out", out)
    assert "not known" in out.read_text(encoding="utf-8")
