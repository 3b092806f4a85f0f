"""People in parts, as dask workers read them; here, as workers find only what is on the path of the tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pandas as pd

from fairwise.datasets import make_people

N_PARTS, PART = 5, 100_000
N_PEOPLE = N_PARTS * PART  # eight blocks


def part_of_people(number: int) -> pd.DataFrame:
    people, outcome = make_people(PART, 3, seed=number)
    return people.assign(paid=outcome).set_axis(pd.RangeIndex(1 + PART * number, 1 + PART * (number + 1), name="id"))


def dying(part: pd.DataFrame, folder: str, at: int) -> pd.DataFrame:
    """The rows as they are; but the worker that looks at some for the ``at``-th time is killed."""
    if len(part) < 1000:  # dask looks at a few made-up rows to learn the columns
        return part
    for call in range(10_000):
        try:
            os.close(os.open(Path(folder) / str(call), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        if call == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return part
    raise AssertionError
