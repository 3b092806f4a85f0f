"""Models in MLflow, with the real package in an environment of its own: its versions and ours exclude each other."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

import fairwise

UV = Path(sys.executable).with_name("uv")
REQUIREMENTS = Path(__file__).with_name("requirements-mlflow.txt")
PROGRAM = """
from pathlib import Path
import mlflow
import numpy as np
from fairwise import PairwiseFairClassifier
from fairwise.datasets import make_people
from fairwise.integrations.mlflow import log_model, save_model
from fairwise.simulation import simulate_panel

people, outcome = make_people(60, 3, seed=5)
judgments = simulate_panel(people, n_judges=2, n_pairs=5, seed=2)
model = PairwiseFairClassifier("tree", max_depth=1, gamma=0.1).fit(people, outcome, judgments=judgments)
expected = model.predict_proba(people)

save_model(model, "saved")
mlflow.set_tracking_uri(Path("runs").absolute().as_uri())
with mlflow.start_run():
    logged = log_model(model, "fair", metadata={"study": "none"})

for address in ("saved", logged.model_uri):
    answer = mlflow.pyfunc.load_model(address).predict(people)
    assert list(answer.columns) == model.classes_.tolist()
    assert answer.index.equals(people.index)
    assert np.array_equal(answer.to_numpy(), expected)

files = [file for file in Path("saved").rglob("*") if file.is_file()]
assert [file.name for file in files if file.suffix in {".skops", ".pkl", ".pickle"}] == ["model.skops"]
assert "fairwise==" in Path("saved/requirements.txt").read_text()
print("as predicted")
"""


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # A store of files is enough for a test; MLflow's own needs a database.
    more = {"MLFLOW_ALLOW_FILE_STORE": "true"}
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False, env=known | more)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with MLflow before the packages of this environment."""
    home = tmp_path_factory.mktemp("mlflow") / "venv"
    made = run(UV, "venv", "--offline", "--python", sys.executable, home, cwd=home.parent)
    assert made.returncode == 0, made.stderr
    interpreter = home / "bin" / "python"
    sync = ("pip", "sync", "--system-certs", "--python", interpreter, "--require-hashes", REQUIREMENTS)
    installed = run(UV, *sync, cwd=home.parent)
    if installed.returncode:
        pytest.skip(f"MLflow could not be installed: {installed.stderr.strip()}")
    [packages] = home.glob("lib/python*/site-packages")
    [ours] = (path for path in site.getsitepackages() if path.endswith("site-packages"))
    source = Path(fairwise.__file__).parents[1]
    (packages / "borrowed.pth").write_text(f"{source}\n{ours}\n", encoding="utf-8")
    return interpreter


@pytest.mark.slow
def test_a_model_comes_back_from_mlflow_as_it_was_and_nothing_is_pickled(python: Path, tmp_path: Path) -> None:
    done = run(python, "-c", PROGRAM, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("as predicted")
