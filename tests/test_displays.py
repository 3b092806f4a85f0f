"""Displays: the numbers they are given, on the axes they are given, in the light and in the dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, astuple
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sklearn.linear_model import LogisticRegression

from fairwise import Judgments, PairwiseFairClassifier, frontier, loading
from fairwise import audit as audit_of
from fairwise.datasets import make_people
from fairwise.displays import AuditDisplay, FrontierDisplay, JudgmentPricesDisplay
from fairwise.errors import InputError, MissingExtraError
from fairwise.reporting import drawing, findings
from fairwise.reporting.annex_figures import lorenz_figure
from fairwise.reporting.words import ENGLISH
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    people, outcome = make_people(80, 3, seed=5)
    judgments = simulate_panel(people, n_judges=4, n_pairs=8, answers="four", seed=2)
    model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.2, eta=0.01, favorable_label=1)
    model.fit(people, outcome, judgments=judgments)
    return {"people": people, "outcome": outcome, "judgments": judgments, "model": model}


def line_with(ax: Axes, n: int) -> Any:
    [line] = [line for line in ax.lines if len(np.asarray(line.get_xdata())) == n]
    return line


def test_a_frontier_is_traced_and_the_model_marked_on_it(study: dict[str, Any]) -> None:
    people, outcome, judgments, model = (study[name] for name in ("people", "outcome", "judgments", "model"))
    gammas = [0.0, 0.2, 0.6, 1.0]
    shown = FrontierDisplay.from_estimator(model, people, outcome, judgments, gammas=gammas)
    line = line_with(shown.ax_, 4)
    assert list(line.get_xdata()) == gammas
    table = frontier(
        people, outcome, judgments, gammas=gammas, etas=[0.01], estimator="tree", max_depth=1, favorable_label=1
    )
    assert np.allclose(line.get_ydata(), table["error"], atol=2 * model.tol)
    assert shown.curve.chosen is not None
    assert (shown.curve.chosen.at, shown.curve.chosen.error) == (0.2, model.certificate_.error)
    assert shown.plain_error == model.certificate_.plain_error
    assert shown.figure_ is shown.ax_.figure


def test_a_frontier_over_eta_keeps_the_models_gamma(study: dict[str, Any]) -> None:
    shown = FrontierDisplay.from_estimator(
        study["model"], study["people"], study["outcome"], study["judgments"], etas=[0.0, 0.01, 0.1]
    )
    assert (shown.curve.knob, shown.curve.fixed) == ("eta", 0.2)


def test_a_table_is_drawn_without_a_model_and_with_the_settings_of_a_line() -> None:
    table = pd.DataFrame(
        {"judge": "panel", "gamma": [1.0, 0.0, 0.5] * 2, "eta": [0.0] * 3 + [0.1] * 3, "error": [3, 5, 4, 0, 0, 0]}
    )
    _, ax = plt.subplots()
    shown = FrontierDisplay.from_frame(table, ax=ax, color="red", linewidth=5)
    line = line_with(ax, 3)
    assert shown.ax_ is ax
    assert list(line.get_ydata()) == [5, 4, 3]  # by gamma, at the first eta
    assert (line.get_color(), line.get_linewidth()) == ("red", 5)
    assert shown.curve.chosen is None


def test_prices_are_spread_as_they_are(study: dict[str, Any]) -> None:
    shown = JudgmentPricesDisplay.from_estimator(study["model"])
    labels = [line.get_label() for line in shown.ax_.lines if not str(line.get_label()).startswith("_")]
    assert labels == ["price", "excess", "if spread evenly"]
    price = study["model"].prices_.groupby(["a", "b"])["price"].sum().sort_values(ascending=False)
    assert shown.spread["price"]["total"].iloc[1] == pytest.approx(price.iloc[0] / price.sum(), abs=1e-3)
    with pytest.raises(InputError, match="missing column 'judge'"):
        JudgmentPricesDisplay.from_frame(pd.DataFrame({"price": [1.0]}))


@pytest.mark.parametrize("measure", ["share_followed", "mean_excess"])
def test_an_audit_has_a_dot_for_each_judge(study: dict[str, Any], measure: Any) -> None:
    people, judgments, model = study["people"], study["judgments"], study["model"]
    scores = pd.Series(model.predict_proba(people)[:, 1], index=people.index)
    result = audit_of(scores, judgments, 0.2, 1)
    by_model = AuditDisplay.from_estimator(model, people, judgments, measure=measure)
    by_scores = AuditDisplay.from_predictions(scores, judgments, gamma=0.2, favorable_label=1, measure=measure)
    for shown in (by_model, by_scores, AuditDisplay(result).plot(measure=measure)):
        dots = line_with(shown.ax_, 4).get_xdata()
        assert sorted(dots) == pytest.approx(sorted(result.by_judge[measure]))
    names = {label.get_text() for label in by_model.ax_.get_yticklabels()}
    assert names == set(judgments.judges)


def test_any_classifier_can_be_audited(study: dict[str, Any]) -> None:
    plain = LogisticRegression().fit(study["people"], study["outcome"])
    shown = AuditDisplay.from_estimator(plain, study["people"], study["judgments"], favorable_label=1, color="green")
    assert shown.audit.gamma == 0.1
    assert line_with(shown.ax_, 4).get_color() == "green"


def test_people_of_another_make_are_audited_by_their_column_of_ids(study: dict[str, Any]) -> None:
    people, judgments, model = (study[name] for name in ("people", "judgments", "model"))
    expected = AuditDisplay.from_estimator(model, people, judgments).audit.by_judge
    for frame in (pl.from_pandas(people.rename_axis("who").reset_index()), people.rename_axis("who").reset_index()):
        assert AuditDisplay.from_estimator(model, frame, judgments, id="who").audit.by_judge.equals(expected)
    with pytest.raises(InputError, match="a polars DataFrame has no index to look ids up in; say which column"):
        AuditDisplay.from_estimator(model, pl.from_pandas(people), judgments)
    with pytest.raises(InputError, match="a frame with everyone's id is needed, not ndarray"):
        AuditDisplay.from_estimator(model, people.to_numpy(), judgments)


def test_many_judges_are_ranked_and_dollars_are_no_formulas() -> None:
    said = [{"judge": f"$x_{n}$", "a": 0, "b": 1, "answer": "same"} for n in range(30)]
    scores = pd.Series([0.2, 0.9])
    assert AuditDisplay.from_predictions(scores, Judgments(said)).ax_.get_xlabel().startswith("Judges")
    few = AuditDisplay.from_predictions(scores, Judgments(said[:3]))
    assert not any(label.get_parse_math() for label in few.ax_.get_yticklabels())


def test_simulated_judges_are_called_so(study: dict[str, Any]) -> None:
    people, outcome, judgments, model = (study[name] for name in ("people", "outcome", "judgments", "model"))
    real = Judgments(judgments.frame.assign(judge=judgments.frame["judge"].str.replace("simulated", "judge")))
    titles = [
        shown.ax_.get_title(loc="left")
        for panel in (judgments, real)
        for shown in (
            FrontierDisplay.from_estimator(model, people, outcome, panel, gammas=[0.2, 1.0]),
            AuditDisplay.from_estimator(model, people, panel),
        )
    ]
    assert ["(simulated people)" in title for title in titles] == [True, True, False, False]
    assert not any(title.startswith("(") for title in titles)  # what is shown comes first
    assert not JudgmentPricesDisplay.from_estimator(model).ax_.get_title(loc="left").startswith("(")


@pytest.mark.parametrize("n_judges", [3, 30])
def test_shares_are_told_in_per_cent(n_judges: int) -> None:
    said = [{"judge": n, "a": 0, "b": 1, "answer": "same"} for n in range(n_judges)]
    axes = AuditDisplay.from_predictions(pd.Series([0.2, 0.9]), Judgments(said)).ax_
    axis = axes.xaxis if n_judges == 3 else axes.yaxis
    assert {"0 %", "100 %"} <= {label.get_text() for label in axis.get_ticklabels()}


def test_what_cannot_be_plotted_is_refused(study: dict[str, Any]) -> None:
    nothing = Judgments([{"judge": "j", "a": 0, "b": 1, "answer": "no_constraint"}])
    with pytest.raises(InputError, match="no judgment asks for anything"):
        AuditDisplay.from_predictions(pd.Series([0.2, 0.9]), nothing)
    with pytest.raises(InputError, match="no judgment has a price or an excess"):
        JudgmentPricesDisplay.from_frame(study["model"].prices_.assign(price=0.0, excess=0.0))
    shown: Any = AuditDisplay.from_estimator(study["model"], study["people"], study["judgments"])
    with pytest.raises(InputError, match="measure='error' is not allowed"):
        shown.plot(measure="error")


def test_in_the_dark_every_role_has_its_other_colour(study: dict[str, Any]) -> None:
    with plt.style.context("dark_background"):
        dark: Any = JudgmentPricesDisplay.from_estimator(study["model"]).ax_
    light: Any = JudgmentPricesDisplay.from_estimator(study["model"]).ax_
    other = dict(zip(astuple(drawing.LIGHT), astuple(drawing.DARK), strict=True))
    assert [to_hex(line.get_color()) for line in dark.lines] == [other[line.get_color()] for line in light.lines]


def test_what_is_transparent_counts_as_what_is_behind_it() -> None:
    with plt.style.context("dark_background"):
        figure, ax = plt.subplots()
    ax.patch.set_alpha(0)
    assert drawing.palette_of(ax).accent == drawing.DARK.accent
    figure.patch.set_alpha(0)
    assert drawing.palette_of(ax) == drawing.LIGHT


def test_the_colours_in_the_dark_are_those_of_the_report() -> None:
    style = files("fairwise.reporting").joinpath("templates", "report.css").read_text(encoding="utf-8")
    _, dark = style.split("prefers-color-scheme: dark", 1)
    of_page = dict(re.findall(r"--(\w+): (#\w{6});", dark))
    assert asdict(drawing.DARK) == {role: of_page[role] for role in asdict(drawing.DARK)}


def test_a_report_stays_light_whatever_style_is_in_use(study: dict[str, Any]) -> None:
    found = findings(*(study[name] for name in ("model", "people", "judgments", "outcome")))
    light = lorenz_figure(found, ENGLISH)
    with plt.style.context("dark_background"):
        assert lorenz_figure(found, ENGLISH) == light


def test_without_matplotlib_the_extra_is_named(study: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(loading.EXTRAS, "report", ("no_such_matplotlib",))
    with pytest.raises(
        MissingExtraError, match=r"JudgmentPricesDisplay needs the extra report .*pip install 'fairwise"
    ):
        JudgmentPricesDisplay.from_estimator(study["model"])
