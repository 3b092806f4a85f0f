"""A study with two arms and two rounds: one arm sees how others answered and why, the other is only asked again."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from fairwise.bots.browser import checked_address
from fairwise.bots.participant import BotReturn, BotRun, come_back, play
from fairwise.simulation import SecondThoughts, draw_respondents
from fairwise.store import deliberation
from fairwise.store.engine import database_url, writing_engine
from fairwise.store.operators import Operator
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from fairwise.study.folder import StudyFolder

TALKED, ALONE = "talked", "asked again"
FIXED = 4
T = TypeVar("T")


def two_armed_study(home: Path, **choices: Any) -> StudyFolder:
    """Made in a folder of its own; everyone is asked about the same four pairs."""
    rng = np.random.default_rng(1)
    age, priors = rng.integers(18, 70, 60), rng.poisson(2, 60)
    table = {"age": age, "priors": priors, "work": rng.choice(["employed", "looking for work"], 60)}
    again = (priors + rng.normal(0, 1, 60) > 2).astype(int)
    pd.DataFrame({**table, "again": again}).to_csv(home / "people.csv", index_label="number")
    told: dict[str, Any] = {
        "title": "Who goes home",
        "treated_well": "to go home until the trial",
        "pairs": FIXED,
        "practice": False,
        "ask_why": True,
        "simulated": True,
        "seed": 7,
        "design": {"fixed": FIXED},
        "deliberation": {"on": True},
        "arms": [{"name": TALKED}, {"name": ALONE, "reasons": False}],
    }
    people = PeopleFile.read(home / "people.csv", "number")
    return new_study(home / "study", people, list(table), told | choices, outcome="again")


def play_first_round(study: StudyFolder, address: str, count: int) -> BotRun:
    respondents = draw_respondents(study.people(), count, seed=3)
    return beside(play(study, checked_address(address), respondents, seed=3))


def play_second_round(study: StudyFolder, address: str, run: BotRun, thoughts: SecondThoughts) -> BotReturn:
    return beside(come_back(study.settings, checked_address(address), run.links, thoughts, seed=1))


def beside(visits: Coroutine[None, None, T]) -> T:
    """Run in a thread of its own: a browser of these tests may have an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, visits).result()


def open_second_round(database: Path) -> None:
    """End the first round, open the second and release all reasons, without the console."""
    engine, now = writing_engine(database_url(database)), datetime.now(UTC)
    with engine.begin() as connection:
        deliberation.end_first_round(connection, now)
        deliberation.open_second_round(connection, now, None, {})
        pairs = [pair.two for pair in deliberation.round_list(connection)]
        names = {one.answer_id: "ABCD" for one in deliberation.reasons_about(connection, pairs)}
        deliberation.decide_reasons(connection, names, deliberation.RELEASED, Operator(1, "Ada", "owner"), now)
    engine.dispose()
    time.sleep(1.1)  # pages go by what was known a second ago at most
