"""Amounts and several decisions on the command line, from the fit to the audit and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.support.three_decisions import VALUES, make_tiers

from fairwise import Judgments, PairwiseFairRegressor, audit, frontier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, tiers = tmp_path_factory.mktemp("amounts"), make_tiers()
    sums = 100 * tiers.people["income"].clip(0, 5) + tiers.people["age"]
    people = tiers.people.assign(sum=sums, tier=tiers.outcome).rename_axis("id")
    people.to_csv(folder / "people.csv")
    people.assign(sum=sums.astype(object).where(people.index != 3, "much")).to_csv(folder / "bad.csv")
    tiers.judgments.write(folder / "judgments.csv")
    pd.DataFrame({"label": list(VALUES), "value": list(VALUES.values())}).to_csv(folder / "values.csv", index=False)
    return folder


def of(files: Path, outcome: str, people: str = "people.csv") -> list[Any]:
    other = {"sum": "tier", "tier": "sum"}[outcome]
    given = ["--people", files / people, "--id", "id", "--outcome", outcome, "--drop", other]
    return [*given, "--judgments", files / "judgments.csv", "--estimator", "tree", "--max-depth", "1"]


AMOUNT = ["--outcome-kind", "amount", "--outcome-range", "0", "600", "--better", "more"]


def test_amounts_from_the_fit_to_the_audit(files: Path, tmp_path: Path, answer: Callable[..., dict[str, Any]]) -> None:
    model, scores = tmp_path / "model.skops", tmp_path / "scores.csv"
    fitted = answer("fit", *of(files, "sum"), *AMOUNT, "--out", model)
    assert fitted["amounts"][-1] == 600
    assert fitted["held_out"] is None
    people = pd.read_csv(files / "people.csv", index_col="id")
    said = Judgments.read(files / "judgments.csv")
    own = PairwiseFairRegressor(max_depth=1, outcome_range=(0, 600), larger_is_better=True, random_state=0)
    known = people.drop(columns=["sum", "tier"])
    own.fit(known, people["sum"], judgments=said.about(known))
    assert fitted["certificate"]["error"] == pytest.approx(own.certificate_.error)
    told = answer("predict", "--model", model, "--people", files / "people.csv", "--id", "id", "--out", scores)
    assert told["range"] == [0, 600]
    table = pd.read_csv(scores, index_col="id")
    np.testing.assert_allclose(table["amount"], own.predict(known))
    np.testing.assert_allclose(table["score"], table["amount"] / 600)
    options = ["--scores", scores, "--score", "amount", "--judgments", files / "judgments.csv"]
    groups = ["--people", files / "people.csv", "--groups", "town"]
    printed = answer("audit", *options, "--range", "0", "600", "--better", "more", *groups)
    expected = audit(table["score"], said, 0.1, 1)
    assert printed["overall"]["value"]["max_violation"] == pytest.approx(expected.overall["max_violation"]["value"])
    means = table["amount"].groupby(people["town"]).mean()
    assert {row["group"]: row["mean_score"] for row in printed["by_group"]} == pytest.approx(means.to_dict())


def test_no_group_is_missed_by_more(
    files: Path, tmp_path: Path, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]
) -> None:
    model, asked = tmp_path / "model.skops", [*of(files, "sum"), *AMOUNT, "--tol", "1e-7"]
    bound = 67.0
    ruled = [*asked, "--group-constraint", f"error:{bound:g}:town"]
    prices = tmp_path / "prices.parquet"
    fitted = answer("fit", *ruled, "--out", model, "--prices", prices)
    values = {row["rule"].split()[-1]: row["value"] for row in fitted["group_rules"]}
    people = pd.read_csv(files / "people.csv", index_col="id")
    kept = PairwiseFairRegressor.load(model)
    missed = (people["sum"] - kept.predict(people.drop(columns=["sum", "tier"]))).abs().groupby(people["town"]).mean()
    assert max(values.values()) == pytest.approx(bound, abs=1e-6)  # it binds
    assert all(missed[town] <= value + 1e-6 for town, value in values.items())
    assert values.keys() == set(missed.index)
    free = answer("fit", *asked)
    assert free["certificate"]["error"] < fitted["certificate"]["error"]
    curve = answer("frontier", *ruled, "--gammas", "0.1,1", "--out", tmp_path / "curve.csv")["curves"]
    assert curve[0]["error"] == pytest.approx(fitted["certificate"]["error"], abs=1e-6 * 600**2)
    answer("report", *ruled, "--model", model, "--prices", prices, "--out", tmp_path / "report.html")
    over = run("fit", *of(files, "tier"), "--group-constraint", "error:1.5:town", code=2)
    assert "1.5 is not a number from 0 to 1" in over.stderr


def test_a_frontier_of_amounts(files: Path, tmp_path: Path, answer: Callable[..., dict[str, Any]]) -> None:
    people = pd.read_csv(files / "people.csv", index_col="id")
    known = people.drop(columns=["sum", "tier"])
    said = Judgments.read(files / "judgments.csv").about(known)
    told = answer("frontier", *of(files, "sum"), *AMOUNT, "--gammas", "0.1,1", "--out", tmp_path / "curve.csv")
    own = PairwiseFairRegressor(max_depth=1, outcome_range=(0, 600), larger_is_better=True, random_state=0)
    expected = frontier(known, people["sum"], said, gammas=[0.1, 1.0], model=own)
    written = pd.read_csv(tmp_path / "curve.csv")
    assert [row["error"] for row in told["curves"]] == pytest.approx(expected["error"].tolist())
    assert written["mean_error"].tolist() == pytest.approx(expected["mean_error"].tolist())


def test_a_report_of_amounts(
    files: Path, tmp_path: Path, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]
) -> None:
    model, prices, curve = tmp_path / "model.skops", tmp_path / "prices.parquet", tmp_path / "curve.csv"
    asked = [*of(files, "sum"), *AMOUNT]
    fitted = answer("fit", *asked, "--out", model, "--prices", prices)
    answer("frontier", *asked, "--gammas", "0.1,1", "--out", curve)
    page = tmp_path / "report.html"
    given = ["--model", model, "--prices", prices, "--frontier", curve, "--groups", "town", "--unit", "€"]
    answer("report", *asked, *given, "--out", page)
    text = page.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert f"{fitted['certificate']['error']:,.0f} €²" in text
    assert "Who gets how much" in text
    answer("report", *asked, "--language", "de", "--out", tmp_path / "now.html")  # fitted now, without a curve
    result = run(
        "report", *asked, "--gamma", "0.2", "--frontier", curve, "--outcome-range", "0", "700", "--out", page, code=1
    )
    assert "outcome_range" in result.stderr


def test_several_decisions_from_the_fit_to_the_report(
    files: Path, tmp_path: Path, answer: Callable[..., dict[str, Any]]
) -> None:
    model, prices, curve = tmp_path / "model.skops", tmp_path / "prices.parquet", tmp_path / "curve.csv"
    asked = [*of(files, "tier"), "--outcome-kind", "tiers", "--label-values", files / "values.csv"]
    fitted = answer("fit", *asked, "--out", model, "--prices", prices, "--splits", "1")
    assert fitted["held_out"]["error"]["held_out"] > 0
    answer("frontier", *asked, "--gammas", "0.1,1", "--out", curve)
    page = tmp_path / "report.html"
    given = ["--model", model, "--prices", prices, "--frontier", curve, "--groups", "town", "--out", page]
    answer("report", *asked, *given)
    assert "What is decided" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        (["--outcome-kind", "amount"], "give --better more or --better less", 1),
        (["--outcome-kind", "amount", "--favorable-label", "1"], "--favorable-label is for labels", 2),
        (["--better", "more"], "--better goes with --outcome-kind amount", 2),
        (["--outcome-kind", "tiers"], "needs --label-values", 2),
        ([*AMOUNT, "--deterministic"], "no matter of chance", 1),
        ([*AMOUNT, "--group-constraint", "dp:0.1:town"], "dp is a rate of labels", 2),
        ([*AMOUNT, "--group-constraint", "error:1:town"], "loosen the rules about groups", 1),
        ([*AMOUNT, "--group-constraint", "error:-1:town"], "'-1' is not a number from 0 up", 2),
        ([*AMOUNT, "--estimator", "linear"], "needs --estimator tree", 2),
        (
            ["--outcome-kind", "amount", "--outcome-range", "0", "10", "--better", "more"],
            "does not hold the outcome",
            1,
        ),
    ],
)
def test_what_does_not_go_together(
    files: Path, run: Callable[..., Result], options: list[str], told: str, code: int
) -> None:
    result = run("fit", *of(files, "sum"), *options, "--no-held-out", code=code)
    assert told in " ".join(result.stderr.split())


def test_what_is_no_amount_is_named_with_its_line(files: Path, run: Callable[..., Result]) -> None:
    result = run("fit", *of(files, "sum", "bad.csv"), *AMOUNT, code=1)
    assert "is no amount" in result.stderr
    assert "much" in result.stderr


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        (["--better", "more"], "--better goes with --range", 2),
        (["--range", "0", "600"], "give --better more or --better less", 1),
        (["--range", "0", "9", "--favorable-label", "1"], "--range is for amounts", 2),
        (["--range", "600", "0", "--better", "less"], "--range 600 0: the least comes first", 1),
        (["--range", "0", "9", "--better", "less"], "is no amount of --range; allowed: a number from 0 to 9", 1),
    ],
)
def test_audits_of_amounts_that_cannot_be(
    files: Path, run: Callable[..., Result], options: list[str], told: str, code: int
) -> None:
    given = ["--scores", files / "people.csv", "--score", "sum", "--judgments", files / "judgments.csv"]
    result = run("audit", *given, *options, code=code)
    assert told in " ".join(result.stderr.split())
