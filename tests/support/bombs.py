"""Small files of tables that would fill the memory, or take for ever, if they were believed."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEADER = '<row r="1"><c t="inlineStr"><is><t>id</t></is></c><c t="inlineStr"><is><t>x</t></is></c></row>'
ROW = "<row><c><v>1</v></c><c><v>2</v></c></row>"


def workbook(rows: str, texts: str | None = None, *, doctype: str = "", packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A workbook of one sheet; its rows and shared texts are XML."""
    made = io.BytesIO()

    def relations(**kinds: str) -> str:
        each = "".join(
            f'<Relationship Id="{kind}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for kind, target in kinds.items()
        )
        return f'<Relationships xmlns="{_PACKAGE}">{each}</Relationships>'

    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", relations(officeDocument="xl/workbook.xml"))
        sheets = f'<sheets><sheet name="s" sheetId="1" xmlns:r="{_OFFICE}" r:id="worksheet"/></sheets>'
        archive.writestr("xl/workbook.xml", f"<workbook {_MAIN}>{sheets}</workbook>")
        others = {} if texts is None else {"sharedStrings": "texts.xml"}
        archive.writestr("xl/_rels/workbook.xml.rels", relations(worksheet="sheet.xml", **others))
        if texts is not None:
            archive.writestr("xl/texts.xml", f"<sst {_MAIN}>{texts}</sst>")
        sheet = f"{doctype}<worksheet {_MAIN}><sheetData>{rows}</sheetData></worksheet>"
        archive.writestr("xl/sheet.xml", sheet, packed)
    return made.getvalue()


def _swollen(part: bytes, before: str, times: int) -> bytes:
    """A workbook with a part of the sheet repeated so often, which takes little memory to make."""
    start, end = workbook(f"{before}MIDDLE"), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(start)) as old, zipfile.ZipFile(end, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            left, _, right = old.read(name).partition(b"MIDDLE")
            with new.open(name, "w", force_zip64=True) as file:
                file.write(left)
                if right:
                    piece = part * max(1, (1 << 20) // len(part))
                    for _ in range(max(1, times * len(part) >> 20)):
                        file.write(piece)
                file.write(right)
    return end.getvalue()


def _parquet(values: pa.Array, times: int, *, compression: str = "zstd", pages: int = 20) -> bytes:
    """Ids, and a column of values repeated so often in each of many pages."""
    made = io.BytesIO()
    schema = pa.schema([("id", pa.int64()), ("x", values.type)])
    with pq.ParquetWriter(made, schema, compression=compression) as writer:
        for page in range(pages):
            column = values.take(pa.array(np.zeros(times, np.int64)))
            writer.write_table(pa.table([pa.array(np.full(times, page)), column], schema))
    return made.getvalue()


def _csv(columns: int, rows: int) -> bytes:
    header = ",".join(f"{number:x}" for number in range(columns))
    return f"{header}\n".encode() + (b"," * (columns - 1) + b"\n") * rows


BOMBS: dict[str, Callable[[], bytes]] = {
    "far row.xlsx": lambda: workbook(f'{HEADER}<row r="1000000000000000"><c><v>1</v></c></row>'),
    "far columns.xlsx": lambda: workbook(HEADER + '<row><c r="ZZZ9"/></row>' * 20_000),
    "one row often.xlsx": lambda: workbook(HEADER + '<row r="2"/>' * 20_000),
    "bz2.xlsx": lambda: workbook(HEADER + ROW * 1000, packed=zipfile.ZIP_BZIP2),
    "lzma.xlsx": lambda: workbook(HEADER + ROW * 1000, packed=zipfile.ZIP_LZMA),
    "entities.xlsx": lambda: workbook(
        f'{HEADER}<row><c t="str"><v>&b;</v></c></row>', doctype='<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>'
    ),
    "blank texts.xlsx": lambda: workbook(HEADER + ROW, "<si/>" * 5_000_000),
    "blank cells.xlsx": lambda: _swollen(b"<row>" + b"<c/>" * 16_000 + b"</row>", HEADER, 800),
    "blank rows.xlsx": lambda: _swollen(b"<row/>", HEADER, 2_000_000),
    "one text often.xlsx": lambda: workbook(
        HEADER + '<row><c t="s"><v>0</v></c><c><v>1</v></c></row>' * 20_000, f"<si><t>{'x' * 100_000}</t></si>"
    ),
    "long text.xlsx": lambda: _swollen(b"x" * 1024, f'{HEADER}<row><c t="str"><v>', 400_000),
    "wide rows.xlsx": lambda: workbook(
        "<row>" + "".join(f'<c t="str"><v>c{number}</v></c>' for number in range(9000)) + "</row>" + ROW * 20_000
    ),
    "one text often.parquet": lambda: _parquet(pa.array(["x" * 20_000]), 2000),
    "one binary often.parquet": lambda: _parquet(pa.array([b"x" * 20_000]), 2000),
    "lists.parquet": lambda: _parquet(pa.array([["x" * 30_000]]), 2000),
    "one number often.parquet": lambda: _parquet(pa.array([7]), 100_000, pages=100),
    "long pages.parquet": lambda: _parquet(pa.array(["x" * 30_000_000]), 1, pages=6),
    "columns.csv": lambda: _csv(30_000, 10),
    "columns alone.csv": lambda: b"," * 1_000_000,
    "wide.csv": lambda: _csv(9_000, 100),
    "blank rows.csv": lambda: b"id,x\n1,2\n" + b"\n" * 1_000_000,
    "quotes.csv": lambda: b'id,x\n"' + b'""' * 450_000 + b'",1\n',
    "blank cells.csv": lambda: b"id,x\n" + b",\n" * 300_000,
}
"""By the name of the file; none has more than 1 MB."""
