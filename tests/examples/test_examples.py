"""Every example runs as a script with warnings as errors, and what it prints is so; notebooks run to their end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

from fairwise import PairwiseFairClassifier

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
STUDY, TO_ONNX = EXAMPLES / "paper_study.ipynb", EXAMPLES / "polars_to_onnx.ipynb"
MAKERS = ("make_hiring", "make_hiring_judgments")


def run(script: Path, folder: Path, *words: str) -> str:
    """What a script prints, with one space wherever there are several."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:FigureCanvasAgg is non-interactive", script, *words],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return re.sub(" +", " ", done.stdout)


def number(after: str, printed: str) -> float:
    found = re.search(rf"{re.escape(after)} (\d+\.\d+)", printed)
    assert found, f"{after!r} is not in\n{printed}"
    return float(found[1])


def table(first_column: str, printed: str) -> pd.DataFrame:
    """The lines of numbers under the heading that begins with this column."""
    found = re.search(rf"^ ?({first_column} .*)\n((?:[\d. -]+\n)+)", printed, re.MULTILINE)
    assert found, f"no table of {first_column!r} in\n{printed}"
    rows = [[float(cell) for cell in line.split()] for line in found[2].splitlines()]
    return pd.DataFrame(rows, columns=found[1].split())


def is_proven_and_above_the_plain_model(printed: str) -> None:
    error, bound = number("Error on the training people", printed), number("Proven lower bound", printed)
    assert bound <= error <= bound + 2e-4  # the tolerance of a fit, rounded as it is printed
    assert number("Error without judgments", printed) < error


def check_loans(printed: str, out: Path) -> None:
    assert not out.exists()
    is_proven_and_above_the_plain_model(printed)
    assert number("Largest violation of a pair", printed) == 0.3
    curve = table("gamma", printed)
    errors = dict(zip(curve["gamma"], curve["error"], strict=True))
    assert curve["error"].is_monotonic_decreasing
    assert curve["mean_violation"].iloc[0] == 0
    assert errors[0.3] == number("Error on the training people", printed)
    assert errors[1.0] == number("Error without judgments", printed)


def check_hiring(printed: str, out: Path) -> None:
    is_proven_and_above_the_plain_model(printed)
    before = number("without judgments mean violation", printed)
    assert number("with simulated judgments mean violation", printed) < before / 2
    assert "judgments followed 1.00" in printed
    people = pd.read_csv(EXAMPLES / "hiring.csv", index_col="id").drop(columns="hired_and_stayed")
    model = PairwiseFairClassifier.load(out / "hiring.skops")
    scores = pd.read_csv(out / "scores.csv", index_col="id")
    np.testing.assert_allclose(scores["score"], model.predict_proba(people)[:, 1])
    assert (scores["label"] == model.predict(people)).all()
    first, older = scores["score"][[1, 393]]  # but for their age they are alike
    assert abs(first - older) <= 0.1 + 1e-6
    assert "eight simulated judges" in (out / "report.html").read_text(encoding="utf-8")


def check_recidivism(printed: str, out: Path) -> None:
    assert "43 simulated judges" in printed
    assert (out / "compas_correcting.svg").stat().st_size > 5000
    measured = pd.read_csv(out / "compas_correcting.csv", index_col="model")
    kept = measured[(measured["mean_excess"] <= 0.06 + 1e-4) & (measured["largest_fpr_gap"] <= 0.04 + 1e-4)]
    assert list(kept.index) == ["Both"]
    page = (EXAMPLES.parent / "docs" / "group_fairness.md").read_text(encoding="utf-8")
    for name, values in measured.iterrows():
        (line,) = re.findall(rf"^\| {name} \| ([\d. |]+) \|$", page, re.MULTILINE | re.IGNORECASE)
        np.testing.assert_allclose([float(cell) for cell in line.split("|")], values, atol=0.002)


def check_gradient_boosting(printed: str, out: Path) -> None:
    assert not out.exists()
    assert "No proof of optimality: heuristic search over HistGradientBoostingClassifier behind a Pipeline" in printed
    alone, judged = (
        [float(cell) for cell in re.findall(rf"^{name} ([\d.]+) ([\d.]+)$", printed, re.MULTILINE)[0]]
        for name in ("boosting alone", "with judgments")
    )
    assert alone[0] < judged[0] < 0.3  # the error of granting everyone a loan
    assert judged[1] < alone[1]  # also for judges whom no model was fitted to
    search = table("param_eta", printed)
    best = search["mean_test_violation"].argmax()
    assert number("chosen: eta =", printed) == search["param_eta"].iloc[best]


def check_neural_network(printed: str, out: Path) -> None:
    assert not out.exists()
    assert "fit takes sample_weight: False" in printed
    assert "No proof of optimality: heuristic search over SmallNetwork" in printed
    assert number("Error on the training people", printed) < 0.3
    assert number("network alone mean excess", printed) > 0.05
    assert number("with judgments mean excess", printed) <= 0.01


def check_unasked_pairs(printed: str, out: Path) -> None:
    assert not out.exists()
    assert ", and 400 predicted" in printed
    asked, more = (table("error", part).to_numpy().T for part in printed.split("with predicted"))
    at = np.linspace(max(asked[0].min(), more[0].min()), min(asked[0].max(), more[0].max()), 9)
    assert np.interp(at, *more).mean() < 0.9 * np.interp(at, *asked).mean()  # less violation at equal error


def check_committee_rules(printed: str, _: Path) -> None:
    lines = re.findall(r"everyone +([\d.]+) +(\d+) +([\d.]+) +([\d.]+)$", printed, re.MULTILINE)
    (every, quarter, majority, veto, _groups) = (tuple(map(float, line)) for line in lines)
    assert every[2] == every[3] == 1.0  # nothing may be left aside
    assert every[0] > quarter[0] > majority[0] >= veto[0]  # the less is in force, the less it costs
    assert quarter[2] > majority[2]
    assert veto[1] < majority[1]


def check_tiers(printed: str, _: Path) -> None:
    is_proven_and_above_the_plain_model(printed)
    curve = table("gamma", printed)
    assert curve["error"].is_monotonic_decreasing
    assert (curve["max_violation"] <= curve["gamma"] + 1e-4).all()
    assert curve["error"].iloc[-1] == pytest.approx(number("Error without judgments", printed), abs=2e-4)


def check_amounts(printed: str, _: Path) -> None:
    error, bound = number("Error on the training people", printed), number("Proven lower bound", printed)
    assert bound <= error <= bound + 1e-4 * 20_000**2
    assert number("Error without judgments", printed) < error
    assert number("Error of the mean, as predicted", printed) < error


CHECKS = {
    "plot_amounts": check_amounts,
    "plot_committee_rules": check_committee_rules,
    "plot_gradient_boosting": check_gradient_boosting,
    "plot_hiring": check_hiring,
    "plot_loans": check_loans,
    "plot_neural_network": check_neural_network,
    "plot_recidivism": check_recidivism,
    "plot_tiers": check_tiers,
    "plot_unasked_pairs": check_unasked_pairs,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CHECKS))
def test_example_runs_and_what_it_prints_is_so(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    out = tmp_path / "out"
    wanted = [str(out)] if "sys.argv" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8") else []
    CHECKS[name](run(EXAMPLES / f"{name}.py", folder, *wanted), out)
    assert not list(folder.iterdir())  # nothing is written unasked


def test_every_script_is_checked_and_says_that_judges_are_simulated() -> None:
    assert {script.stem for script in EXAMPLES.glob("*.py")} == {*CHECKS, *MAKERS}
    for name in CHECKS:
        introduction = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").split('"""')[1]
        assert "**simulated**" in introduction


def test_the_made_up_files_are_those_that_the_scripts_make(tmp_path: Path) -> None:
    for name in MAKERS:
        shutil.copy(EXAMPLES / f"{name}.py", tmp_path)
        run(tmp_path / f"{name}.py", tmp_path)
    for name in ("hiring.csv", "hiring_judgments.csv"):
        assert (tmp_path / name).read_bytes() == (EXAMPLES / name).read_bytes()


def read_notebook(file: Path) -> Any:
    return nbformat.reads(file.read_text(encoding="utf-8"), as_version=4)


def code_cell(source: str) -> Any:
    return nbformat.v4.new_code_cell(source)


@pytest.mark.parametrize("file", [STUDY, TO_ONNX], ids=lambda file: file.stem)
def test_a_notebook_was_saved_whole(file: Path) -> None:
    notebook = read_notebook(file)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert "simulated" in notebook.cells[0].source
    assert file.stat().st_size < 200_000


def pictures(notebook: Any) -> int:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def run_to_end(file: Path, folder: Path, found: str) -> Any:
    """The notebook with its outputs, warnings being errors and what was ``found`` being so."""
    notebook = read_notebook(file)
    strict = code_cell("import warnings\nwarnings.simplefilter('error')")
    notebook.cells = [strict, *notebook.cells, code_cell(f"{found}print('all of it is so')")]
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    assert notebook.cells[-1].outputs[0].text == "all of it is so\n"
    return notebook


@pytest.mark.slow
def test_the_study_runs_from_top_to_end(tmp_path: Path) -> None:
    found = (
        "assert (curves.diff().dropna() <= 1e-9).all(axis=None)\n"
        "assert (each['error'] - each['lower_bound']).between(-1e-9, 1.1e-4).all()\n"
        "assert panel['error'].is_monotonic_decreasing and panel['error'].iloc[0] > panel['error'].iloc[-1]\n"
        "assert abs(panel['error'].iloc[-1] - free['error']) < 2e-3\n"
        "assert (panel['mean_excess'] <= panel['eta'] + 1e-6).all()\n"
        "held = by_judge.overall.loc['mean_violation']\n"
        "assert held['training'] < held['held_out'] and held['independent_units'] <= 5\n"
    )
    assert pictures(run_to_end(STUDY, tmp_path, found)) == 4


@pytest.mark.slow
def test_the_way_from_polars_to_onnx_runs_to_its_end(tmp_path: Path) -> None:
    found = (
        "assert difference <= 1e-6\n"
        "assert np.array_equal(loaded.predict_proba(some), model.predict_proba(people.drop('id')))\n"
        "assert len(smaller.weights_) <= 2 and smaller.certificate_.gap >= -1e-9\n"
        "assert set(np.unique(certain.predict_proba(some))) <= {0.0, 1.0}\n"
        "assert model.features_ == [name for name in some.columns if name in USED]\n"
    )
    assert pictures(run_to_end(TO_ONNX, tmp_path, found)) == 3
