"""A wheel, made from the sdist, that works outside of the checkout."""

from __future__ import annotations

import os
import re
import shlex
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import fairwise

_ROOT = Path(__file__).parents[1]
_UV = Path(sys.executable).with_name("uv")
pytestmark = pytest.mark.slow


def _run(*words: str | Path, cwd: Path) -> str:
    """As someone does who has never heard of this checkout."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False, env=known)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    _run(_UV, "build", "--offline", "--no-build-isolation", "--python", sys.executable, "--out-dir", out, cwd=_ROOT)
    assert [file.name for file in out.glob("*.tar.gz")] == [f"fairwise-{fairwise.__version__}.tar.gz"]
    [made] = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another environment: with the packages of this one, but not with its link to the checkout."""
    home = tmp_path_factory.mktemp("elsewhere") / "venv"
    _run(_UV, "venv", "--offline", "--python", sys.executable, home, cwd=home.parent)
    [packages] = home.glob("lib/python*/site-packages")
    [ours] = (path for path in site.getsitepackages() if path.endswith("site-packages"))
    (packages / "borrowed.pth").write_text(ours, encoding="utf-8")
    _run(_UV, "pip", "install", "--offline", "--no-deps", "--python", home / "bin" / "python", wheel, cwd=home.parent)
    return home / "bin"


def test_everything_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    source = _ROOT / "src"
    tracked = {
        str(file.relative_to(source))
        for file in (source / "fairwise").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == tracked
    assert "fairwise/py.typed" in packed


def test_it_works_elsewhere(elsewhere: Path, tmp_path: Path) -> None:
    assert _run(elsewhere / "fairwise", "--version", cwd=tmp_path).strip() == f"fairwise {fairwise.__version__}"
    where = _run(elsewhere / "python", "-c", "import fairwise; print(fairwise.__file__)", cwd=tmp_path)
    assert where.startswith(str(elsewhere.parent))
    lines = ["id,age,outcome", *(f"{k},{20 + k},{k % 2}" for k in range(8))]
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    words = shlex.split("study new my-study --people people.csv --id id --outcome outcome --show age --pairs 5")
    _run(elsewhere / "fairwise", *words, cwd=tmp_path)
    said = ["judge,a,b,answer", "1,0,1,same", "1,2,3,a_at_least_b"]
    (tmp_path / "judgments.csv").write_text("\n".join(said), encoding="utf-8")
    words = shlex.split("--people people.csv --id id --outcome outcome --judgments judgments.csv --favorable-label 1")
    _run(elsewhere / "fairwise", "fit", *words, "--estimator", "tree", "--out", "model.skops", cwd=tmp_path)
    _run(elsewhere / "fairwise", "report", *words, "--estimator", "tree", "--out", "report.html", cwd=tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_its_types_are_known_elsewhere(elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text("from fairwise import Judgments\nreveal_type(Judgments.read)\n", encoding="utf-8")
    words: list[str | Path] = [sys.executable, "-m", "mypy", "--python-executable", elsewhere / "python", "user.py"]
    told = _run(*words, "--cache-dir", tmp_path / "cache", cwd=tmp_path)
    assert re.search(r"Revealed type is .*fairwise\.judgments\.table\.Judgments", told)


def test_one_version_everywhere() -> None:
    citation = (_ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {fairwise.__version__}\n" in citation
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(fairwise.__version__)}\b", changelog, re.MULTILINE)
