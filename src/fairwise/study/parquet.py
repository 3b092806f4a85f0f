"""Tables of a study on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


def read_parquet(file: Path) -> pa.Table:
    """Read a table; errors name the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            table = parquet.read()
            table.validate(full=True)  # damaged text would otherwise show later
            _ = table.column_names
            return table
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file") from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as Parquet: {' '.join(str(error).split())}") from None
