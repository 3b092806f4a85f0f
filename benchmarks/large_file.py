"""A Parquet file of made-up people, written part by part, and judgments about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fairwise import Judgments
from fairwise.datasets import make_people

if TYPE_CHECKING:
    from pathlib import Path

PART = 1 << 20


def write(path: Path, n: int, d: int) -> None:
    """People 1 to ``n`` with ``d`` features, their id and their outcome, in row groups of a million and some."""
    writer = None
    for start in range(0, n, PART):
        people, outcome = make_people(min(PART, n - start), d, seed=start)
        frame = people.reset_index(drop=True).assign(outcome=outcome.to_numpy())
        frame.insert(0, "id", np.arange(start + 1, start + len(frame) + 1))
        part = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def judgments(n: int, count: int, seed: int = 0) -> Judgments:
    """One judge calls ``count`` random pairs of ``n`` people the same."""
    draw = np.random.default_rng(seed)
    pairs = np.unique(np.sort(draw.integers(1, n + 1, size=(count + count // 100 + 10, 2)), axis=1), axis=0)
    pairs = draw.permutation(pairs[pairs[:, 0] < pairs[:, 1]])[:count]
    return Judgments(pd.DataFrame({"judge": "simulated", "a": pairs[:, 0], "b": pairs[:, 1], "answer": "same"}))


def read(path: Path) -> None:
    """Just read every row group, on all cores."""
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            file.read_row_group(number)


def read_as_tables(path: Path) -> None:
    """Read the file as DataFrames, block by block."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1 << 16):
            batch.to_pandas()
