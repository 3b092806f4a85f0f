"""Parquet files from anywhere: read whole and checked to the last byte of text, or refused."""

from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fairwise.errors import InputError

# Whatever a damaged file makes its readers raise; arrow's own errors are of all these kinds, and of one more.
DAMAGES = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, pa.ArrowException)
MOST_CELLS = 2_000_000_000
"""A column of one value repeated takes a few bytes in a file, however many rows it has, but not in memory."""


def read(file: BinaryIO, most_cells: int = MOST_CELLS) -> pd.DataFrame:
    """Return the table in a file; raises one of `DAMAGES`, also for what would fill the memory."""
    frame: pd.DataFrame = _read(file, most_cells).to_pandas()
    return frame


def read_parquet(file: Path) -> pa.Table:
    """Return the table in a file of a study; errors name the file."""
    try:
        return _read(file, MOST_CELLS)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read as Parquet: {' '.join(str(error).split())}") from None


def _read(file: BinaryIO | Path, most_cells: int) -> pa.Table:
    with pq.ParquetFile(file) as parquet:
        known = parquet.metadata
        if known.num_rows * known.num_columns > most_cells:
            raise ValueError(f"{known.num_rows:,} rows of {known.num_columns:,} columns are more than can be read")
        table = parquet.read()
        table.validate(full=True)  # text that is no text would otherwise show later, wherever it is first looked at
        _ = table.column_names  # and so would a name that is none
    return table
