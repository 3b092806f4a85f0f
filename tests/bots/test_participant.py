"""Simulated people go the whole way over HTTP, and what they think is what is then exported."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import uvicorn
from tests.support.two_rounds import beside

from fairwise.bots.browser import Page, checked_address
from fairwise.bots.participant import BotParticipant, BotRun, play
from fairwise.errors import InputError
from fairwise.judgments import find_conflicts
from fairwise.simulation import draw_respondents
from fairwise.simulation.respondent import SIMULATED
from fairwise.store import export
from fairwise.store.places import IDENTITY_FILE
from fairwise.store.store import snapshot
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile
from fairwise.web.app import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

RELATIONS = [{"name": name, "words": name, "most": most} for name, most in (("no", 0), ("one", None), ("other", None))]
ALWAYS_ON = {
    **dict.fromkeys(("comprehension_check", "mark_differences", "ask_why", "ask_confidence"), True),
    "relations": RELATIONS,
    "questions": [
        {"name": "town", "words": "Where?", "options": ["Here", "There"], "required": True},
        {"name": "speaks", "words": "What?", "kind": "several", "options": ["Dutch", "French"], "required": True},
        {"name": "trust", "words": "How much?", "kind": "scale", "required": True, "when": "after"},
        {"name": "age", "words": "How old?", "kind": "number", "least": 18, "required": True, "when": "after"},
        {"name": "more", "words": "More?", "kind": "text", "required": True, "when": "after"},
    ],
}


def make(home: Path, name: str = "study", pairs: int = 6, **choices: Any) -> StudyFolder:
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 60, 30),
            "priors": rng.choice([0.0, 1.5, np.nan], 30),
            "employed": rng.choice([True, False], 30),
            "town": rng.choice(["<b>Aa</b> & co", "  =1+1 ", "Bé\n\n😀", "x" * 600], 30),
        },
        index=[f"person {i}" for i in range(30)],
    )
    people.to_csv(home / f"{name}.csv", index_label="who")
    file = PeopleFile.read(home / f"{name}.csv", "who")
    return new_study(home / name, file, list(people.columns), {"title": "Bots <&>", "pairs": pairs, **choices})


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Serve a study on a free port of this machine; returns its address."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(study: StudyFolder, database: str | Path, prefix: str = "") -> str:
        (study.path / IDENTITY_FILE).unlink(missing_ok=True)  # one study is served with several databases here
        app = Site(study.path, database, prefix)

        async def proxy(scope: Any, receive: Any, send: Any) -> None:
            """Takes the prefix away, as a reverse proxy does."""
            if scope["type"] == "http":
                inside = scope["path"].startswith(f"{prefix}/")
                scope = {**scope, "path": scope["path"].removeprefix(prefix) if inside else "/outside"}
            await app(scope, receive, send)

        server = uvicorn.Server(uvicorn.Config(proxy, port=0, log_level="error", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(20)


def played(study: StudyFolder, url: str, count: int = 4, *, noise: bool = False, **how: Any) -> BotRun:
    return beside(play(study, checked_address(url), panel(study, count, noise=noise), **how))


def panel(study: StudyFolder, count: int, *, noise: bool = False) -> list[Any]:
    drawn = draw_respondents(study.people(), count, seed=3)
    return drawn if noise else [replace(who, noise=0.0, fatigue=0.0, position_bias=0.0) for who in drawn]


@pytest.mark.parametrize(
    "choices",
    [
        pytest.param({}, id="four", marks=pytest.mark.slow),
        pytest.param({"answers": "two", "practice": False}, id="two"),
        pytest.param(ALWAYS_ON, id="all"),
        pytest.param({"arms": [{"name": "usual"}, {"name": "other", "buttons": "reversed", "text": "Hm."}]}, id="arms"),
    ],
)
def test_what_they_think_is_what_is_exported(
    tmp_path: Path, serve: Callable[..., str], new_database: Callable[[], str | Path], choices: dict[str, Any]
) -> None:
    study, database = make(tmp_path, **choices), new_database()
    told: list[tuple[int, int]] = []
    result = played(study, serve(study, database), progress=lambda done, total: told.append((done, total)))
    assert result.answers == 24 == told[-1][0] == told[-1][1]
    assert len(set(result.receipts.values())) == 4

    with snapshot(database) as connection:
        said = export.judgments(connection, finished_only=True).frame
        texts = export.texts(connection)
        assert export.participant_counts(connection) == export.ParticipantCounts(4, 4, 0, study.fingerprint, 4, 4)
    assert len(said) == 24
    assert texts["text"].str.contains(SIMULATED, regex=False).all()
    people, by_name = study.people(), {who.name: who for who in panel(study, 4)}
    rules = texts[texts["about"] == "rules"].set_index("judge")["text"]
    assert {text.split()[0] for text in rules} == set(by_name)
    for judge, rows in said.groupby("judge"):
        opinions = by_name[rules[judge].split()[0]].opinions(
            people.loc[rows["a"]].reset_index(drop=True), people.loc[rows["b"]].reset_index(drop=True)
        )
        wanted = [str(opinion) for opinion in opinions]
        if choices.get("answers") == "two":
            wanted = [opinion if opinion == "same" else "no_constraint" for opinion in wanted]
        assert rows["answer"].tolist() == wanted
    assert len(set(said["answer"])) > 1


def test_those_of_an_arm_recognise_people_by_what_it_shows(tmp_path: Path, serve: Callable[..., str]) -> None:
    study = make(tmp_path, arms=[{"name": "usual"}, {"name": "few", "columns": ["age", "town"]}])
    assert played(study, serve(study, tmp_path / "study.sqlite"), 8).answers == 48
    with snapshot(tmp_path / "study.sqlite") as connection:
        assert sorted(export.judges(connection, finished_only=True)["arm"]) == ["few"] * 4 + ["usual"] * 4


def test_the_same_seed_says_the_same_to_the_same_pairs(tmp_path: Path, serve: Callable[..., str]) -> None:
    study, frames = make(tmp_path), []
    for name in ("one.sqlite", "two.sqlite"):
        url = serve(study, tmp_path / name)
        played(study, url, noise=True, concurrency=1, seed=5)
        with snapshot(tmp_path / name) as connection:
            frames.append(export.judgments(connection).frame[["judge", "a", "b", "answer"]])
    pd.testing.assert_frame_equal(frames[0], frames[1])


def test_they_keep_their_answers_when_asked_to_look_again(tmp_path: Path, serve: Callable[..., str]) -> None:
    study = make(tmp_path, pairs=12, second_look=True, design={"repeats": 6})
    played(study, serve(study, tmp_path / "study.sqlite"), noise=True)
    with snapshot(tmp_path / "study.sqlite") as connection:
        said = export.judgments(connection, finished_only=True)
    assert said.n_judges == 4
    assert set(said.frame["round"]) == {1}
    assert not find_conflicts(said).contradictions.empty  # so that some were asked


def test_behind_a_prefix(tmp_path: Path, serve: Callable[..., str]) -> None:
    study = make(tmp_path, pairs=2)
    url = serve(study, tmp_path / "s.sqlite", prefix="/study")
    assert played(study, f"{url}/study/", count=1).answers == 2
    with pytest.raises(InputError, match="404"):
        played(study, url)


def test_humans_take_their_time(tmp_path: Path, serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    study, slept = make(tmp_path, pairs=3), []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    url = serve(study, tmp_path / "s.sqlite")
    # Theirs alone: the server and workers in this process go on sleeping as they did.
    monkeypatch.setattr("fairwise.bots.participant.asyncio", SimpleNamespace(**(vars(asyncio) | {"sleep": sleep})))
    played(study, url, count=2, thinking=True)
    assert len(slept) >= 2 * (3 + 4)
    assert 1 < float(np.median(slept)) < 10
    assert max(slept) <= 20


def test_another_study_is_noticed(tmp_path: Path, serve: Callable[..., str]) -> None:
    study = make(tmp_path)
    other = pd.DataFrame({"age": [1, 2, 3, 4, 5]})
    other.to_csv(tmp_path / "other.csv", index_label="who")
    elsewhere = new_study(
        tmp_path / "other", PeopleFile.read(tmp_path / "other.csv", "who"), ["age"], {"title": "O", "pairs": 2}
    )
    with pytest.raises(InputError, match="not in this study's folder"):
        played(study, serve(elsewhere, tmp_path / "o.sqlite"))


@pytest.mark.parametrize("problem", [InputError("stuck"), KeyError("a mistake in the code")], ids=["stuck", "mistake"])
def test_the_first_problem_comes_out_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """It stops the others and is not wrapped into a group, on any Python."""
    ended: list[str] = []

    async def take_part(self: BotParticipant, *_: Any) -> str:
        try:
            await asyncio.sleep(0 if self._respondent.name == wrong else 3600)
        finally:
            ended.append(self._respondent.name)
        raise problem

    study = make(tmp_path)
    names = [who.name for who in panel(study, 3)]
    wrong = names[1]
    monkeypatch.setattr(BotParticipant, "take_part", take_part)
    with pytest.raises(type(problem)) as raised:
        played(study, "http://127.0.0.1:9", count=3)
    assert raised.value is problem
    assert ended[0] == wrong
    assert sorted(ended) == sorted(names)


def test_nobody_there() -> None:
    page = Page.read("<h1>Lost</h1><form method=post action=/x><button name=a value=b disabled></button></form>")
    assert (page.heading, page.forms[0].buttons, page.receipt) == ("Lost", [], "")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8000", "http://127.9.9.9/x/", "http://[::1]:80", "https://localhost:8443", "HTTP://LOCALHOST."],
)
def test_this_machine(url: str) -> None:
    assert not str(checked_address(url)).endswith("/")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "http://127.0.0.1@example.org",
        "http://127.0.0.1.example.org",
        "http://10.0.0.1:8000",
        "http://0.0.0.0:8000",
        "http://localhost.example.org",
        "http://[2001:db8::1]/",
    ],
)
def test_other_machines_only_if_asked_for(url: str) -> None:
    with pytest.raises(InputError, match="--allow-remote"):
        checked_address(url)
    assert checked_address(url, allow_remote=True).host


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://127.0.0.1", "file:///etc/passwd", "http://"])
def test_no_address(url: str) -> None:
    with pytest.raises(InputError, match="address"):
        checked_address(url, allow_remote=True)
