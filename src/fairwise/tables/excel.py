"""Excel workbooks: the first sheet as rows of text, as a CSV file of it would have them."""

import warnings
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any, BinaryIO

from fairwise.errors import InputError
from fairwise.extras import require
from fairwise.tables.ids import text_of
from fairwise.tables.row_errors import cut

_MOST_BYTES = 1 << 30  # unpacked: a sheet of a million rows has a fifth of it


def excel_rows(name: str, file: BinaryIO) -> list[tuple[int, list[str]]]:
    """Return every row that is not blank, the header first, with its number in the workbook, all as wide as the header.

    A number is written in full, a date as ISO 8601, and nothing as the empty text.
    """
    require("excel", f"{name}: an Excel file")
    try:
        _refuse_bombs(name, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and menus, which are not read
            return list(_rows(name, file))
    except InputError:
        raise
    except Exception as error:  # a damaged workbook fails in any way inside openpyxl
        raise InputError(f"{name}: not an Excel workbook (.xlsx), or a damaged one: {cut(str(error))}") from error


def _refuse_bombs(name: str, file: BinaryIO) -> None:
    with zipfile.ZipFile(file) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
            raise InputError(f"{name}: more than {_MOST_BYTES >> 30} GiB when unpacked; save the table as Parquet")


def _rows(name: str, file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    from openpyxl import load_workbook  # an extra
    from openpyxl.cell.cell import ERROR_CODES

    sheet = load_workbook(file, read_only=True, data_only=True).worksheets[0]
    header, width = 0, 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        texts = [_text(cell) for cell in cells]
        used = max((k + 1 for k, text in enumerate(texts) if text), default=0)
        if not used:
            continue
        header, width = header or number, width or used
        if used > width:
            raise InputError(
                f"{name}, row {number}: {used} cells where the header has {width}; "
                f"row {header} was read as the header: delete whatever stands above the names of the columns"
            )
        wrong = next((text for text in texts if text in ERROR_CODES), None)
        if wrong is not None:
            raise InputError(f"{name}, row {number}: {wrong} is an error of the workbook; correct the cell or empty it")
        yield number, [*texts[:used], *[""] * (width - used)]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return text_of(cell)
