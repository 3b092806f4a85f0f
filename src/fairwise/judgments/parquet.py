"""Parquet files from anywhere: read whole and checked to the last byte of text, or refused."""

from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

# Whatever a damaged file makes its readers raise; arrow's own errors are of all these kinds, and of one more.
DAMAGES = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, pa.ArrowException)
MOST_CELLS = 2_000_000_000
"""A column of one value repeated takes a few bytes in a file, however many rows it has, but not in memory."""


def read(file: BinaryIO, most_cells: int = MOST_CELLS) -> pd.DataFrame:
    """Return the table in a file; raises one of `DAMAGES`, also for what would fill the memory."""
    with pq.ParquetFile(file) as parquet:
        known = parquet.metadata
        if known.num_rows * known.num_columns > most_cells:
            raise ValueError(f"{known.num_rows:,} rows of {known.num_columns:,} columns are more than can be read")
        table = parquet.read()
    table.validate(full=True)  # text that is no text would otherwise show later, wherever it is first looked at
    frame: pd.DataFrame = table.to_pandas()
    return frame
