"""Models of version 0.1 hold the prices of single answers: these are moved beside them, where erasing reaches them."""

from __future__ import annotations

import json
import logging
import zipfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from fairwise.store.export import judge_name
from fairwise.store.job_files import JOBS, MODEL, MODEL_PRICES, MODEL_SCHEMA, PRICES, REPORT, WITH_ANSWERS
from fairwise.store.tables import participants
from fairwise.tables.safe_files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from fairwise.store.store import Store

_log = logging.getLogger("fairwise")


def move_prices_out(study: Path, store: Store) -> None:
    """Rewrite every model file of a study that holds prices; they are kept if everyone in them still takes part."""
    files = sorted((study / JOBS).glob(f"*/{MODEL}"))
    if not files:
        return
    everyone = store.read_now(_judges)
    for file in files:
        try:
            _move(file, everyone)
        except Exception as error:  # noqa: BLE001 - whatever is in it, the study is served
            _log.error(
                "%s: may hold single answers, and could not be rewritten without them, so it is neither handed out nor "
                "put into backups: %s",
                file,
                error,
            )


def _judges(connection: Connection) -> set[str]:
    return set(map(judge_name, connection.execute(sa.select(participants.c.number)).scalars()))


def _move(file: Path, everyone: set[str]) -> None:
    with zipfile.ZipFile(file) as archive:
        schema = json.loads(archive.read(MODEL_SCHEMA))
        node = schema["content"].get(MODEL_PRICES)
        if not node or not node["content"]:
            return
        others = {name: archive.read(name) for name in archive.namelist() if name != MODEL_SCHEMA}
    prices = {
        name: [json.loads(cell["content"]) for cell in column["content"]] for name, column in node["content"].items()
    }
    # Without the report somebody was erased since, and with them all that names single answers.
    if not everyone.issuperset(prices["judge"]):
        for name in WITH_ANSWERS:
            file.with_name(name).unlink(missing_ok=True)
    elif (file.parent / REPORT).exists():
        write_whole(
            file.with_name(PRICES), lambda draft: pq.write_table(pa.table(prices), draft), private=True, lasting=True
        )
    node["content"], node["key_types"]["content"] = {}, []
    write_whole(file, lambda draft: _write(draft, schema, others), private=True, lasting=True)


def _write(draft: Path, schema: Any, others: dict[str, bytes]) -> None:
    with zipfile.ZipFile(draft, "w") as archive:
        for name, content in {**others, MODEL_SCHEMA: json.dumps(schema, indent=2).encode()}.items():
            archive.writestr(name, content)
