"""Bundles: a study with all its answers in one file, to archive, to hand on, to be checked by someone else.

Nothing in it would let one answer in another's name. Which columns it has, and what they may hold, is said in
:mod:`fairwise.store.schema`.
"""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import sqlalchemy as sa

from fairwise.archive.container import (
    STUDY,
    ContainerKind,
    ContainerWriter,
    Manifest,
    as_text,
    is_study_file,
    open_container,
    study_files,
)
from fairwise.errors import InputError
from fairwise.store.export import as_written, defused
from fairwise.store.schema import (
    AnyColumn,
    answer_models,
    answers,
    appearances,
    ballots,
    closings,
    consent_texts,
    counters,
    exclusions,
    metadata,
    participants,
    question_answers,
    reasons,
    round_pairs,
    votes,
)
from fairwise.store.votes import shown_votes
from fairwise.study.cards import IMAGES
from fairwise.study.folder import CONSENT, StudyFolder, version_of
from fairwise.study.settings import StudySettings
from fairwise.study.texts import available

MANIFEST = "bundle.json"
FORMAT = 3
_LONGEST_CELL = 1 << 26  # models are long
_MOST_ROWS, _MOST_COLUMNS = 5_000_000, 100
_ROWS_AT_ONCE = 10_000
_LARGEST_INTEGER = 2**31 - 1  # of databases
_LONGEST_NAME = 100

BUNDLED_TABLES = {table.info["file"]: table for table in metadata.sorted_tables if "file" in table.info}
"""Tables by the names of their files. A table that others refer to comes before them."""

PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS, ANSWER_MODELS, EXCLUSIONS = (
    table.info["file"] for table in (participants, appearances, answers, closings, answer_models, exclusions)
)
CONSENTS, QUESTIONS, ROUND_PAIRS, REASONS, VOTES, BALLOTS = (
    table.info["file"] for table in (consent_texts, question_answers, round_pairs, reasons, votes, ballots)
)

_FIELDS = {
    "format": int,
    "fairwise": str,
    "numpy": str,
    "made_at": str,
    "fingerprint": str,
    "seed": int,
    "consent_version": str,
    "last_number": int,
    "coarse": bool,
    "files": dict,
}
_TYPE_NAMES = {int: "a whole number", str: "a text", dict: "a list of files", bool: "true or false"}


def _check_manifest(path: Path, manifest: Manifest) -> None:
    if manifest["format"] != FORMAT:
        raise InputError(f"{path}: a bundle of format {manifest['format']!r}; this version reads format {FORMAT}")
    for name, kind in _FIELDS.items():
        if name not in manifest:
            raise InputError(f"{path}: {MANIFEST} has no {name!r}")
        if type(manifest[name]) is not kind:
            raise InputError(f"{path}: {MANIFEST}: {name!r} is {manifest[name]!r}; needed: {_TYPE_NAMES[kind]}")


BUNDLE = ContainerKind(
    name="bundle",
    manifest=MANIFEST,
    most_bytes=2 << 30,  # a study of a million answers has a tenth of it
    members=re.compile("|".join([f"{STUDY}.*", *map(re.escape, BUNDLED_TABLES)]), re.DOTALL),
    check_manifest=_check_manifest,
    belongs=is_study_file,
    folder=STUDY,
    unsafe="{name!r} is not the name of a file in a bundle",
    missing="{name} was taken away after the bundle was made",
    added="{name} was added after the bundle was made",
    changed="{name} was changed after the bundle was made",
    damaged="{name!r} is damaged: {error}",
)


# Read


class _PiecesFile(io.RawIOBase):
    """Pieces of a file's content as an open file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


@dataclass(frozen=True, eq=False)
class Bundle:
    """Files of a bundle, compared with its manifest. Each is unpacked when it is read, and compared again."""

    path: Path
    manifest: Manifest
    names: frozenset[str]

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file piece by piece."""
        with open_container(self.path, BUNDLE) as container:
            yield from container.pieces(name)

    def study_files(self) -> dict[str, Iterator[bytes]]:
        """Return the study's own files, piece by piece, by their names within its folder."""
        return {name.removeprefix(STUDY): self.pieces(name) for name in self.names if name.startswith(STUDY)}

    def rows(self, name: str) -> list[Mapping[str, str]]:
        """Return the rows of a table by column."""
        return rows_of(self.table(name))

    def table(self, name: str) -> pd.DataFrame:
        """Return one of the tables, every cell a text. It is read row by row, and stored by column."""
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            with io.TextIOWrapper(io.BufferedReader(_PiecesFile(self.pieces(name))), "utf-8", newline="") as text:
                rows = csv.reader(text, strict=True)
                columns = next(rows, [])
                if not columns:
                    raise InputError(f"{self.path}: {name} is empty; needed: at least the names of its columns")
                if len(columns) > _MOST_COLUMNS:
                    raise InputError(f"{self.path}: {name}: {len(columns):,} columns; no table has so many")
                checked = self._restore_texts(name, columns, rows)
                parts = [
                    [pa.array(cells, pa.large_string()) for cells in zip(*batch, strict=True)]
                    for batch in iter(lambda: list(islice(checked, _ROWS_AT_ONCE)), [])
                ]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self.path}: {name} cannot be read as a table: {error}") from None
        finally:
            csv.field_size_limit(limit)
        chunked = [pa.chunked_array(column, pa.large_string()) for column in zip(*parts, strict=True)]
        frame = pd.DataFrame({place: column.to_pandas() for place, column in enumerate(chunked)})
        return frame.set_axis(columns, axis="columns") if chunked else pd.DataFrame(columns=columns, dtype=object)

    def _restore_texts(self, name: str, columns: Sequence[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the rows with texts as they were before they were defused."""
        defusable = _columns_with(BUNDLED_TABLES[name], "words", "options")
        places = [place for place, column in enumerate(columns) if column in defusable]
        for at, row in enumerate(rows, start=2):
            if at > _MOST_ROWS + 1:
                raise InputError(f"{self.path}: {name}: more than {_MOST_ROWS:,} rows; no bundle has so many")
            if len(row) != len(columns):
                raise InputError(f"{self.path}: {name}, row {at}: {len(row)} cells; needed: {len(columns)}")
            for place in filter(row.__getitem__, places):
                text = as_written(row[place])
                if defused(text) != row[place]:
                    raise InputError(
                        f"{self.path}: {name}, row {at}, column {columns[place]}: needed: a ' before what a "
                        "spreadsheet takes for a formula, and only there"
                    )
                row[place] = text
            yield row


def rows_of(table: pd.DataFrame) -> list[Mapping[str, str]]:
    """Return the rows of a table by column."""
    names = [str(name) for name in table.columns]
    return [dict(zip(names, cells, strict=True)) for cells in table.itertuples(index=False, name=None)]


def read_bundle(path: Path) -> Bundle:
    """Open a bundle after every file was compared with the manifest; name what was added, removed or changed."""
    with open_container(path, BUNDLE) as container:
        for name in container.names:
            for _ in container.pieces(name):
                pass
        missing = [name for name in BUNDLED_TABLES if name not in container.names]
        if missing:
            raise InputError(f"{path}: {missing[0]} is missing")
        return Bundle(path, container.manifest, frozenset(container.names))


# Write


def write_bundle(path: Path, study: StudyFolder, connection: sa.Connection, *, coarse: bool = False) -> Manifest:
    """Write settings, texts, people, schedule and answers, and nothing else of the folder; return the manifest.

    A ``coarse`` one has days instead of times, whole seconds of thinking, and nothing that anyone wrote.
    """
    names = [*sorted(study_files(study.settings)), *(f"{IMAGES}/{name}" for name in sorted(study.pictures))]
    files = {f"{STUDY}{name}": (study.path / name).read_bytes() for name in names if (study.path / name).is_file()}
    for name, table in tables(connection).items():
        files[name] = _as_csv(BUNDLED_TABLES[name], _coarsened(BUNDLED_TABLES[name], table) if coarse else table)
    about = {
        "format": FORMAT,
        "fairwise": version("fairwise"),
        "numpy": version("numpy"),  # active pairs follow from its use of the stream of random numbers
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": study.fingerprint,
        "seed": study.settings.seed,
        "consent_version": version_of(files[f"{STUDY}{CONSENT}"].decode()),
        "coarse": coarse,
        "last_number": last_number(connection),  # of a participant, so that no number is given again
    }
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            writer = ContainerWriter(archive, BUNDLE)
            for name, data in files.items():
                writer.add(name, [data])
            return writer.end(about)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None


def _columns_with(table: sa.Table, *marks: str) -> set[str]:
    """Return the columns of a table's file that are marked so in the schema."""
    marked = (column for column in table.c if any(column.info.get(mark) for mark in marks))
    return {name for column in marked for name in column.info["bundle"]}


def _coarsened(schema: sa.Table, table: pd.DataFrame) -> pd.DataFrame:
    """Remove words, and what would identify a participant to someone who saw them answer. The order stays."""

    def whole_seconds(cell: str) -> str:
        return repr(float(round(float(cell)))) if cell else ""

    changes: dict[str, Any] = dict.fromkeys(_columns_with(schema, "words"), "")
    for name in table.columns:
        if name.endswith("_at"):
            changes[name] = table[name].map(lambda moment: f"{moment[:10]}T00:00:00+00:00" if moment else "")
    if "seconds" in table:
        changes["seconds"] = table["seconds"].map(whole_seconds)
    return table.assign(**changes)


def _as_csv(schema: sa.Table, table: pd.DataFrame) -> bytes:
    table = table.assign(**{name: table[name].map(defused) for name in _columns_with(schema, "words", "options")})
    # Without quotes, a text with old line ends (\r) would fall apart.
    return table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL).encode()


def last_number(connection: sa.Connection) -> int:
    """Return the last number that a participant was given, who may have withdrawn since."""
    last = sa.select(counters.c.value).where(counters.c.name == "participants")
    return int(connection.execute(last).scalar_one())


def tables(connection: sa.Connection) -> dict[str, pd.DataFrame]:
    """Return every row of the database that travels in a bundle, in a fixed order, by the name of its file."""
    # Nobody reads ballots of an open vote, or of one whose tally is hidden.
    conditions = {votes: votes.c.closed_at.is_not(None), ballots: ballots.c.vote_id.in_(shown_votes(connection))}
    keys: dict[sa.Table, dict[object, tuple[object, ...]]] = {}
    frames = {}
    for file, table in BUNDLED_TABLES.items():
        query = sa.select(table).where(conditions.get(table, sa.true())).order_by(*table.primary_key)
        rows = [
            _as_cells(table, row, number, keys) for number, row in enumerate(connection.execute(query).mappings(), 1)
        ]
        unique = table.info["unique"]
        key = unique[0] if unique else ("number",)
        if "id" in table.c and unique:
            ids = connection.execute(query.with_only_columns(table.c.id)).scalars()
            keys[table] = {row_id: tuple(cells[name] for name in key) for row_id, cells in zip(ids, rows, strict=True)}
        rows.sort(key=lambda cells: tuple(cells[name] for name in key))
        texts = [[as_text(value) for value in cells.values()] for cells in rows]
        frames[file] = pd.DataFrame(texts, columns=_file_columns(table), dtype=object)
    return frames


def _as_cells(
    table: sa.Table, row: sa.RowMapping, number: int, keys: Mapping[sa.Table, Mapping[object, tuple[object, ...]]]
) -> dict[str, object]:
    """Return a row by the columns of the table's file; `number` counts the rows."""
    cells: dict[str, object] = {}
    for column in table.c:
        names = column.info.get("bundle", ())
        value = row[column]
        if not names:
            continue
        if column.foreign_keys and value is not None:
            cells |= zip(names, keys[next(iter(column.foreign_keys)).column.table][value], strict=True)
        else:
            cells[names[0]] = number if column.name == "id" else value
    return cells


def _file_columns(table: sa.Table) -> list[str]:
    return [name for column in table.c for name in column.info.get("bundle", ())]


# Check cells


@dataclass(frozen=True)
class _CellRule:
    """What a cell may hold."""

    allowed: str
    fits: Callable[[str], bool]


def _one_of(values: Iterable[object]) -> _CellRule:
    allowed = [str(value) for value in values]
    return _CellRule(", ".join(allowed), allowed.__contains__)


def _whole_number(least: int) -> _CellRule:
    def fits(cell: str) -> bool:
        is_plain = cell.isascii() and cell.isdigit() and len(cell) <= len(str(_LARGEST_INTEGER))
        return is_plain and str(int(cell)) == cell and least <= int(cell) <= _LARGEST_INTEGER

    return _CellRule(f"a whole number from {least}", fits)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) and float(cell) >= 0
    except ValueError:
        return False


def _is_moment(cell: str) -> bool:
    try:
        return datetime.fromisoformat(cell).tzinfo is not None
    except ValueError:
        return False


def _cell_rule(column: AnyColumn, settings: StudySettings) -> _CellRule:
    """Return what a column's cells may hold, from its type in the schema and from the settings."""
    info, kind = column.info, column.type.python_type
    of_settings: dict[AnyColumn, Iterable[object]] = {
        participants.c.language: available(),
        consent_texts.c.language: available(),
        participants.c.arm: [arm.name for arm in settings.arms],
        answers.c.answer: settings.allowed_answers,
        question_answers.c.question: [question.name for question in settings.questions],
    }
    if settings.relations:  # without any, participants may have been asked before the question was removed
        of_settings[participants.c.relation] = [relation.name for relation in settings.relations]
    values = of_settings.get(column, info.get("one_of") or info.get("range"))
    if values is not None:
        rule = _one_of(values)
    elif column.foreign_keys or column.name == "id":
        rule = _whole_number(1)
    elif kind is bool:
        rule = _one_of(("yes", "no"))
    elif kind is int:
        rule = _whole_number(info.get("least", 0))
    elif kind is float:
        rule = _CellRule("a number from 0", _is_number)
    elif kind is datetime:
        rule = _CellRule("a time such as 2026-01-31T12:00:00+00:00", _is_moment)
    elif (longest := getattr(column.type, "length", None)) is not None:
        least = info.get("least", 1)
        rule = _CellRule(
            f"{least} to {longest} characters", lambda cell: "\0" not in cell and least <= len(cell) <= longest
        )
    else:
        rule = _CellRule("a text", lambda cell: "\0" not in cell)
    if column.nullable and not info.get("required"):
        return _CellRule(f"{rule.allowed}, or nothing", lambda cell: cell == "" or rule.fits(cell))
    return rule


def checked_tables(bundle: Bundle, settings: StudySettings) -> dict[str, pd.DataFrame]:
    """Return all tables by name; refuse the first cell that cannot be."""
    frames = {}
    for name, table in BUNDLED_TABLES.items():
        frames[name] = bundle.table(name)
        rules = {cells: _cell_rule(column, settings) for column in table.c for cells in column.info.get("bundle", ())}
        _check_table(f"{bundle.path}: {name}", frames[name], rules, table.info["unique"])
    return frames


def _check_table(
    where: str, table: pd.DataFrame, rules: Mapping[str, _CellRule], unique: Sequence[tuple[str, ...]]
) -> None:
    names = list(table.columns)
    for column in rules:
        if column not in names:
            raise InputError(f"{where} has no column {column!r}")
    for column in names:
        if column not in rules or names.count(column) > 1:
            raise InputError(f"{where} has a column {column!r} that does not belong there, or is there twice")
        wrong = {cell for cell in table[column].unique() if not rules[column].fits(cell)}
        if wrong:
            row = next(at for at, cell in enumerate(table[column], start=2) if cell in wrong)
            cell = _short(table[column].iloc[row - 2])
            raise InputError(f"{where}, row {row}, column {column}: {cell}; allowed: {rules[column].allowed}")
    for key in unique:
        repeated = table.duplicated(list(key))
        if repeated.any():
            row = int(repeated.to_numpy().argmax())
            about = ", ".join(f"{column} {_short(table[column].iloc[row])}" for column in key)
            raise InputError(f"{where}, row {row + 2}: {about} is there twice; allowed: once")


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= _LONGEST_NAME else f"{cell[:_LONGEST_NAME]}…")
