"""CSV without quotation marks, blank lines or anything odd: there Arrow may split at every separator, and fast.

Whatever is odd is left to the careful reader, which is slow but can say what is wrong and where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
from pyarrow import csv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_BLOCK = 1 << 20


def read_plain(path: Path, header: Sequence[str], separator: str) -> pa.Table | None:
    """Return the rows below the header on line 1, every cell as text, or None where the file is not as plain."""
    with path.open("rb") as file:
        try:
            table = csv.read_csv(
                file,
                read_options=csv.ReadOptions(column_names=list(header), skip_rows=1, block_size=_BLOCK),
                parse_options=csv.ParseOptions(delimiter=separator, quote_char=False),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(header, pa.large_string()), strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid:  # cells missing or too many, not UTF-8, a line longer than a block
            return None
        file.seek(0)
        return table if table.num_rows + 1 == _plain_lines(file) else None


def _plain_lines(file: BinaryIO) -> int | None:
    """Return how many lines there are, or None if there is a quotation mark, a NUL or a line end of its own kind."""
    ends = returns = both = 0
    last = b"\n"
    while block := file.read(_BLOCK):
        if b'"' in block or b"\0" in block:
            return None
        joined = last + block
        ends += block.count(b"\n")
        returns += block.count(b"\r")
        both += joined.count(b"\r\n")
        last = block[-1:]
    return ends + (last != b"\n") if returns == both else None
