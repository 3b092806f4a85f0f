"""Every command in the README and the docs can be typed as it stands; most are run, on a small study."""

from __future__ import annotations

import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import typer
from tests.support.pages import PAGES, commands, name_of
from tests.support.visits import hidden, visiting
from typer.testing import CliRunner

from fairwise.cli.app import app
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from pathlib import Path

_COMMANDS: Any = typer.main.get_command(app)
_TYPED = re.compile(rf"(?:^|\s|/)fairwise (?P<words>(?:{'|'.join(_COMMANDS.commands)})\b.*)")
# These are run by tests of their own: they serve, take minutes, or need other machines.
_ELSEWHERE = re.compile(r"^(serve|bots|demo)\b|--dask|--simulate|--database|/var/lib|--version")
_OUTCOMES = ("y", "reoffended", "two_year_recid", "paid", "paid_back")


def _words(line: str) -> list[str] | None:
    found = _TYPED.search(line)
    return None if found is None else shlex.split(found["words"])


ALL = [(page, words) for page in PAGES for line in commands(page) if (words := _words(line))]


@pytest.mark.parametrize(("page", "words"), [pytest.param(p, w, id=f"{name_of(p)} {' '.join(w)}") for p, w in ALL])
def test_it_can_be_typed(page: Path, words: list[str]) -> None:  # noqa: ARG001 - told when it fails
    command = _COMMANDS
    context = command.context_class(command, info_name="fairwise")
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        command, words = command.commands[words[0]], words[1:]
        context = command.context_class(command, parent=context)
    _, left, _ = command.make_parser(context).parse_args(list(words))
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    assert left == [] or len(left) <= len(arguments)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files and a study under the names that the pages use."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 60
    people = pd.DataFrame({"id": range(n), "sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 60, n)})
    people["race"] = rng.choice(["a", "b"], n)
    for name in ("priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count"):
        people[name] = rng.integers(0, 4, n)
    people["c_charge_degree"] = rng.choice(["F", "M"], n)
    people.iloc[40:, 1:] = people.iloc[:20, 1:].to_numpy()  # so that some look the same
    for name in _OUTCOMES:
        people[name] = (people["priors_count"] + rng.integers(0, 3, n) > 2).astype(int)
    people.to_csv("people.csv", index=False)
    answers = ["same", "a_at_least_b", "b_at_least_a", "no_constraint"]
    said = [(f"p{k % 3:05d}", 2 * k, 2 * k + 1, answers[k % 4], "uniform") for k in range(24)]
    pd.DataFrame(said, columns=["judge", "a", "b", "answer", "design"]).to_csv("judgments.csv", index=False)
    pd.DataFrame({"judge": ["p00000", "p00001", "p00002"]}).to_csv("judges.csv", index=False)
    pd.DataFrame({"id": people["id"], "score": rng.random(n)}).to_csv("scores.csv", index=False)
    pd.DataFrame({"name": ["First", "Second"]}).to_csv("class.csv", index=False)
    for name in ("my-study", "rehearsal"):
        file = PeopleFile.read(tmp_path / "people.csv", "id")
        settings = {"title": "A study", "treated_well": "to be let in", "pairs": 3, "retention_days": 90}
        study = new_study(tmp_path / name, file, ["sex", "age"], settings, outcome="y")
        with visiting(study, study.path / "study.sqlite") as visit:
            mine = visit.begin()
            for position in (1, 2, 3):
                pair = f"{mine}/pair/{position}"
                visit.post(pair, **hidden(visit.get(pair)), answer="same")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if any(page == one for one, _ in ALL)], ids=name_of)
def test_it_does_what_it_says(page: Path, prepared: Path) -> None:
    for words in (words for one, words in ALL if one == page):
        line = " ".join(words)
        if _ELSEWHERE.search(line):
            continue
        if words[:2] == ["study", "new"]:
            shutil.rmtree(prepared / words[2], ignore_errors=True)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"fairwise {line}\n{done.output}"
