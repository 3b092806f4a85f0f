"""What the page of a model says beside its numbers, and the three choices of how far to follow."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from fairwise.errors import InputError
from fairwise.results.fits import FrontierPoint
from fairwise.web.console import scoring
from fairwise.web.console.fit_form import aims_of, choices_of
from fairwise.web.console.scoring import MOST_WAITING, person_fields, person_of, results_by_group
from fairwise.web.shared.requests import Form

CURVE = [(0.0, 0.40), (0.02, 0.31), (0.05, 0.30), (0.1, 0.28), (0.2, 0.28)]
POINTS = [
    FrontierPoint(0.1, eta, error, 0.5, 0.1, eta, error, "exact", 20 - k, k, ()) for k, (eta, error) in enumerate(CURVE)
]


def test_the_three_choices_are_the_ends_of_the_frontier_and_its_bend() -> None:
    everything, balanced, accuracy = aims_of(POINTS)
    assert (everything.eta, everything.error) == (0.0, 0.40)
    assert (balanced.eta, balanced.error, balanced.not_followed, balanced.asked) == (0.02, 0.31, 1, 20)
    assert accuracy.eta == 0.1  # where nothing more is gained


def test_before_a_frontier_is_known_nothing_is_said_about_costs() -> None:
    assert [(aim.name, aim.eta, aim.error) for aim in aims_of([])] == [
        ("everything", 0.0, None),
        ("accuracy", None, None),
    ]
    assert [aim.eta for aim in aims_of(POINTS[:1])] == [0.0]


@pytest.mark.parametrize(("aim", "eta"), [("everything", 0.0), ("balanced", 0.02), ("accuracy", 0.1), ("own", 0.07)])
def test_a_choice_decides_the_allowance(make_study: Any, aim: str, eta: float) -> None:
    form = {"aim": aim, "eta": "0.07", "gamma": "0.1", "estimator": "tree", "max_depth": "2"}
    chosen = choices_of(Form({**form, "favorable_label": "outcome-1-never"}), make_study(), POINTS)
    assert chosen.eta == eta
    assert chosen.name == {"everything": "Follow everything", "own": "Decision tree"}.get(aim, chosen.name)


def test_a_choice_that_is_no_longer_offered_is_asked_for_again(make_study: Any) -> None:
    form = {"aim": "balanced", "gamma": "0.1", "estimator": "tree", "max_depth": "2"}
    with pytest.raises(InputError, match="the choices have changed"):
        choices_of(Form({**form, "favorable_label": "outcome-1-never"}), make_study(), POINTS[:1])


def test_groups(make_study: Any) -> None:
    study = make_study()
    good = {person: k / 11 for k, person in enumerate(study.person_ids)}
    age, town = results_by_group(study, good, "outcome-1-never")
    assert [group.name for group in age.groups] == ["20–22", "23–25", "26–28", "29–31"]
    assert [group.people for group in age.groups] == [3, 3, 3, 3]
    assert age.groups[0].good == pytest.approx((0 + 1 + 2) / 3 / 11)
    assert len(town.groups) == 3
    wrong = sum(1 - share if k % 2 else share for k, share in enumerate(good.values())) / 12
    assert sum(group.wrong * group.people for group in town.groups) / 12 == pytest.approx(wrong)


def test_a_person_is_read_from_a_form(make_study: Any) -> None:
    study = make_study()
    age, town = fields = person_fields(study)
    assert (age.is_number, age.options, len(town.options)) == (True, (), 3)
    person = person_of(Form({"value-0": "31,5", "value-1": ""}), fields, study.people())
    assert person == {"age": 31.5, "town": None}
    for text in ("old", "nan", "inf", "1e999", "1_000", "12.3.4", "٣"):
        with pytest.raises(InputError, match=f"Age: {text} is not a number"):
            person_of(Form({"value-0": text}), fields, study.people())


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("2,400", ".", None),
        ("2.400", ",", None),
        ("2,400.5", ".", None),
        ("2.400", ".", 2.4),
        ("2,400", ",", 2.4),
        ("2 400", ".", 2400),
        ("31,5", ".", 31.5),
        ("-3", ".", -3),
    ],
)
def test_what_could_be_two_numbers_is_asked_for_again(
    make_study: Any, text: str, decimal: str, number: float | None
) -> None:
    study = make_study()
    fields = person_fields(study)
    if number is None:
        with pytest.raises(InputError, match=f"Age: write {text} without a mark between thousands"):
            person_of(Form({"value-0": text}), fields, study.people(), decimal)
    else:
        assert person_of(Form({"value-0": text}), fields, study.people(), decimal)["age"] == number


def test_one_process_at_a_time_scores_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty requests at once: a few wait for their turn, the others are told to try again; none leaves a process."""
    running = most = started = 0

    class Process:
        returncode: int | None = None

        async def communicate(self, _question: bytes) -> tuple[bytes, bytes]:
            nonlocal running, most, started
            running, started = running + 1, started + 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            self.returncode = 0
            return json.dumps({"probabilities": {"1": 0.25}, "region": None, "rules": []}).encode(), b""

    async def start(*_: object, **__: object) -> Process:
        return Process()

    async def ask() -> list[Any]:
        requests = (scoring.score(Path("model.skops"), {}, {}, "1", "en") for _ in range(20))
        return await asyncio.gather(*requests, return_exceptions=True)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    for _ in range(2):
        outcomes = asyncio.run(ask())
        scores = [one.good for one in outcomes if isinstance(one, scoring.Score)]
        refusals = [str(one) for one in outcomes if isinstance(one, InputError)]
        assert (most, len(scores), set(scores)) == (1, MOST_WAITING, {0.25})
        assert len(refusals) == 16
        assert "try it again" in refusals[0]
    assert started == 2 * MOST_WAITING


def test_a_request_that_ends_ends_its_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also while nobody reads the answer any more."""
    begun, pids = asyncio.Event(), list[int]()
    start = asyncio.create_subprocess_exec

    async def slow(*_: object, **streams: Any) -> asyncio.subprocess.Process:
        process = await start(sys.executable, "-c", "input()", **{**streams, "stdin": asyncio.subprocess.PIPE})

        async def communicate(_question: bytes) -> tuple[bytes, bytes]:
            pids.append(process.pid)
            begun.set()
            await process.wait()
            return b"", b""

        process.communicate = communicate  # type: ignore[method-assign, assignment]
        return process

    async def ask() -> None:
        task = asyncio.create_task(scoring.score(tmp_path / "model.skops", {}, {}, "1", "en"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not psutil.pid_exists(pids[0])

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
    asyncio.run(ask())


def test_nobody_waits_longer_than_a_proxy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that never answers: those in line wait no longer than the one whose turn it is."""
    killed = []

    class Process:
        returncode: int | None = None

        async def communicate(self, _question: bytes) -> tuple[bytes, bytes]:
            await asyncio.Event().wait()
            raise AssertionError

        def kill(self) -> None:
            self.returncode = -9
            killed.append(self)

        async def wait(self) -> None:
            pass

    async def start(*_: object, **__: object) -> Process:
        return Process()

    async def ask() -> list[Any]:
        requests = (scoring.score(Path("model.skops"), {}, {}, "1", "en") for _ in range(MOST_WAITING))
        return await asyncio.gather(*requests, return_exceptions=True)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.setattr(scoring, "LONGEST_SECONDS", 0.05)
    assert ["took too long" in str(one) for one in asyncio.run(ask())] == [True] * MOST_WAITING
    assert len(killed) <= 2, "whose time was over before their turn starts nothing"


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="only Linux has classes of priority")
def test_scores_load_what_is_slow_at_a_low_priority() -> None:
    """But not in the idle class, in which they would not end while the machine is busy: somebody waits for them."""
    program = (
        "import os, sys; from fairwise.jobs import score; score.lower_priority();"
        "print(os.nice(0), os.sched_getscheduler(0), {'numpy', 'pandas', 'pyarrow', 'sqlalchemy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{min(os.nice(0) + 5, 19)} {os.sched_getscheduler(0)} set()"
