"""The passes over dask workers give the numbers that they give here, also when a worker dies in the middle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from tests.support.parts_of_people import N_PARTS, N_PEOPLE, dying, part_of_people

from fairwise import Judgments, PairwiseFairClassifier

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS: dict[str, Any] = {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 60, "gamma": 0.2}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.concat([part_of_people(number) for number in range(N_PARTS)])


@pytest.fixture(scope="module")
def judgments() -> Judgments:
    pairs = np.random.default_rng(0).permutation(N_PEOPLE)[:200].reshape(-1, 2) + 1
    return Judgments(pd.DataFrame({"judge": "u", "a": pairs[:, 0], "b": pairs[:, 1], "answer": "same"}))


@pytest.fixture(scope="module")
def here(table: pd.DataFrame, judgments: Judgments) -> PairwiseFairClassifier:
    return PairwiseFairClassifier(**SETTINGS).fit([table], "paid", judgments=judgments)


def assert_same(model: PairwiseFairClassifier, other: PairwiseFairClassifier) -> None:
    for name, values in other.classifiers_.state().items():
        assert np.array_equal(model.classifiers_.state()[name], values)
    assert model.certificate_ == other.certificate_
    assert model.prices_.equals(other.prices_)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "chunks", "dask"])
def test_workers_give_the_same_numbers(
    kind: str, table: pd.DataFrame, judgments: Judgments, here: PairwiseFairClassifier, client: Any, tmp_path: Path
) -> None:
    source: Any = [table[:200_000], table[200_000:]]
    if kind == "parquet":
        source = tmp_path / "people.parquet"
        table.to_parquet(source, row_group_size=90_000)
    elif kind == "dask":
        source = dask.dataframe.from_map(part_of_people, range(N_PARTS))
    model = PairwiseFairClassifier(**SETTINGS).fit(source, "paid", judgments=judgments, client=client)
    assert_same(model, here)


@pytest.mark.slow
@pytest.mark.parametrize(("a_pass", "at"), [("first", 9), ("second", 14)])
def test_a_worker_killed_in_a_pass_changes_nothing(
    a_pass: str,
    at: int,
    table: pd.DataFrame,
    judgments: Judgments,
    here: PairwiseFairClassifier,
    client: Any,
    tmp_path: Path,
) -> None:
    # Five partitions are looked at once for their lengths, two of them for the first block, then five in each pass.
    people = dask.dataframe.from_map(part_of_people, range(N_PARTS))
    people = people.map_partitions(dying, str(tmp_path), at, meta=table.iloc[:0])
    before = {worker["pid"] for worker in _workers(client)}
    model = PairwiseFairClassifier(**SETTINGS).fit(people, "paid", judgments=judgments, client=client)
    assert len(list(tmp_path.iterdir())) > at, f"nobody was killed in the {a_pass} pass"
    client.wait_for_workers(2)
    assert {worker["pid"] for worker in _workers(client)} != before
    assert_same(model, here)


def _workers(client: Any) -> list[dict[str, Any]]:
    found: dict[str, int] = client.run(os.getpid)
    return [{"pid": pid} for pid in found.values()]
