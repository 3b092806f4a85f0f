"""Every bad file, given to any command as any of its files, is one line and exit code 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Study
    from typer.testing import Result

BAD: dict[str, bytes] = {
    "empty": b"",
    "header only": b"person,judge,a,b,answer,score\n",
    "wrong columns": b"x,y\n1,2\n",
    "wrong encoding": "person,a\n1,é\n".encode("latin-1"),
    "binary": bytes(range(256)),
    "ragged": b"person,judge,a,b,answer,score\n1,2\n",
    "column twice": b"person,person\n1,2\n",
    "enormous line": b"x" * 2_000_000,
}


@pytest.fixture(params=BAD)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "bad.csv"
    path.write_bytes(BAD[request.param])
    return path


def commands(study: Study, people: Any, judgments: Any, scores: Any) -> dict[str, list[Any]]:
    known = ["--people", people, "--id", "person"]
    said = ["--judgments", judgments, "--favorable-label", "1"]
    fit = [*known, "--outcome", "returned", *said]
    return {
        "check": [*known, "--judgments", judgments],
        "fit": fit,
        "frontier": [*fit, "--out", study.folder / "f.csv"],
        "report": [*fit, "--out", study.folder / "r.html"],
        "audit": ["--scores", scores, "--id", "person", *said],
    }


def test_bad_files_in_every_place(study: Study, bad: Path, run: Callable[..., Result]) -> None:
    scores = study.folder / "scores.csv"
    study.people_frame()[["person"]].assign(score=0.5).to_csv(scores, index=False)
    places = {
        "people": (bad, study.judgments, scores),
        "judgments": (study.people, bad, scores),
        "scores": (study.people, study.judgments, bad),
    }
    before = sorted(study.folder.iterdir())
    tried = 0
    for place, files in places.items():
        for name, options in commands(study, *files).items():
            if bad in options:
                result = run(name, *options, code=1)
                assert len(result.stderr.splitlines()) == 1, (place, name, result.stderr)
                assert str(bad) in result.stderr
                tried += 1
    assert tried == 10  # four commands read people, five judgments, one scores
    assert sorted(study.folder.iterdir()) == before


def test_files_that_are_not_there(study: Study, run: Callable[..., Result]) -> None:
    assert "there is no such file" in run("check", *study.who, "--judgments", "none.csv", code=1).stderr
    assert "a folder" in run("check", *study.who, "--judgments", _folder(study), code=1).stderr


def _folder(study: Study) -> Path:
    folder = study.folder / "folder.csv"
    folder.mkdir()
    return folder
