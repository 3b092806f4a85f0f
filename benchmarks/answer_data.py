"""Answers to learn from: simulated panels, and people's real answers from a folder that is not ours to pass on.

``FAIRWISE_ANSWER_DATA`` names that folder; it holds ``mcelfresh2020/study_2_indecisive.csv`` and
``wang2019/judgments.csv``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairwise import Judgments
from fairwise.datasets import load_compas
from fairwise.judgments import Answer
from fairwise.simulation import draw_respondents, simulate_panel

DATA = "FAIRWISE_ANSWER_DATA"
COLUMNS = [str(answer) for answer in Answer]


class Said(NamedTuple):
    """Answers in the order given, the people they are about, and each judge's kind, if it is known."""

    frame: pd.DataFrame
    people: pd.DataFrame
    kinds: dict[str, str] | None = None

    @property
    def given(self) -> list[str]:
        """The answers that occur."""
        return [answer for answer in COLUMNS if (self.frame["answer"] == answer).any()]

    def judgments(self, rows: np.ndarray, *, told: bool = False) -> Judgments:
        """Return some of the rows, with the kinds of judges as an attribute or without."""
        kinds = {judge: {"kind": kind} for judge, kind in (self.kinds or {}).items()} if told else None
        return Judgments(self.frame[rows], people=self.people, judge_attributes=kinds)


def simulated(judges: int = 43, pairs: int = 50, seed: int = 0) -> Said:
    people = load_compas()[0]
    respondents = draw_respondents(people, judges, seed=seed)
    panel = simulate_panel(people, judges, pairs, answers="four", seed=seed, respondents=respondents)
    kinds = {each.name: each.kind for each in respondents}
    return Said(panel.frame[["judge", "a", "b", "answer"]], people, kinds)


def real() -> dict[str, Said]:
    """People's answers, if the folder is named."""
    folder = os.environ.get(DATA)
    return {"mcelfresh2020": mcelfresh(Path(folder)), "wang2019": wang(Path(folder))} if folder else {}


def mcelfresh(folder: Path) -> Said:
    """In these files 0 is the left patient, 1 the right one, 2 the coin."""
    rows = pd.read_csv(folder / "mcelfresh2020" / "study_2_indecisive.csv").sort_values(["user_id", "decision_rank"])
    sides = [rows[[f"{side}_{number}" for number in (1, 2, 3)]].to_numpy() for side in ("left", "right")]
    people = pd.DataFrame(np.vstack(sides), columns=["age", "drinks", "children"]).drop_duplicates(ignore_index=True)
    place = {tuple(values): number for number, values in enumerate(people.to_numpy().tolist())}
    frame = pd.DataFrame({"judge": rows["user_id"].to_numpy()})
    frame["a"], frame["b"] = ([place[tuple(values)] for values in side.tolist()] for side in sides)
    frame["answer"] = rows["decision"].map({0: "a_at_least_b", 1: "b_at_least_a", 2: "same"}).to_numpy()
    return Said(_once(frame), people)


def wang(folder: Path) -> Said:
    frame = pd.read_csv(folder / "wang2019" / "judgments.csv")
    return Said(_once(frame), load_compas()[0].loc[pd.unique(frame[["a", "b"]].to_numpy().ravel())])


def _once(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the few pairs that somebody saw twice."""
    sides = np.sort(frame[["a", "b"]].to_numpy(), axis=1)
    key = pd.DataFrame({"judge": frame["judge"], "low": sides[:, 0], "high": sides[:, 1]})
    kept = np.flatnonzero(~key.duplicated().to_numpy() & (sides[:, 0] != sides[:, 1]))
    return frame.iloc[kept].reset_index(drop=True)


def last_third(said: Said) -> np.ndarray:
    """Which answers are in the last third of their judge's."""
    number = said.frame.groupby("judge")["judge"].transform("size")
    return np.asarray(said.frame.groupby("judge").cumcount() >= np.ceil(number * 2 / 3))


def random_third(said: Said, seed: int) -> np.ndarray:
    """Which answers are in a third drawn by lot, of judges of whom others are left."""
    test = np.random.default_rng(seed).random(len(said.frame)) < 1 / 3
    return np.asarray(test & said.frame["judge"].isin(said.frame["judge"][~test]).to_numpy(), dtype=bool)
