"""Bundles: a study with all its answers in one file, to keep, to hand on, to be checked by someone else.

Nothing in it would let one answer in another's name.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
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
from fairwise.store.tables import (
    AnyColumn,
    Query,
    answer_models,
    answers,
    appearances,
    ballots,
    closings,
    consent_texts,
    counters,
    exclusions,
    participants,
    question_answers,
    reasons,
    round_pairs,
    votes,
)
from fairwise.store.votes import shown_votes
from fairwise.study.cards import IMAGES
from fairwise.study.folder import CONSENT, StudyFolder, version_of

MANIFEST = "bundle.json"
FORMAT = 3  # of 1, texts are as they were written; of 2, a ' is before those that begin like a formula
_FORMATS = (1, 2, FORMAT)
_FORMULA_OF_2 = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n']")
_LONGEST_CELL = 1 << 26  # models are long
_MOST_ROWS, _MOST_COLUMNS = 5_000_000, 100
_ROWS_AT_ONCE = 10_000

PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS = "participants.csv", "schedule.csv", "answers.csv", "closings.csv"
ANSWER_MODELS, EXCLUSIONS, CONSENTS = "answer_models.csv", "exclusions.csv", "consents.csv"
QUESTIONS, ROUND_PAIRS, REASONS = "questions.csv", "round_pairs.csv", "reasons.csv"
VOTES, BALLOTS = "votes.csv", "ballots.csv"
TABLES = (PARTICIPANTS, SCHEDULE, ANSWERS, CLOSINGS)
"""Those that every bundle has."""

LATER_TABLES = (ANSWER_MODELS, EXCLUSIONS, CONSENTS, QUESTIONS, ROUND_PAIRS, REASONS, VOTES, BALLOTS)
"""Those that older bundles do not have."""

_WRITTEN = {"why", "rules", "expressible", "comments", "reason", "written"}
"""Columns of what participants and operators wrote."""

_TYPED = {*_WRITTEN, "answer"}
"""Columns in which a spreadsheet might find a formula: also the options of questions, which are an operator's words."""

_FIELDS = {
    "format": int,
    "fairwise": str,
    "made_at": str,
    "fingerprint": str,
    "seed": int,
    "consent_version": str,
    "files": dict,
}
_LATER_FIELDS = {"numpy": str, "last_number": int, "coarse": bool}
_KINDS = {int: "a whole number", str: "a text", dict: "a list of files", bool: "true or false"}


def _check_manifest(path: Path, manifest: Manifest) -> None:
    if manifest["format"] not in _FORMATS:
        known = ", ".join(map(str, _FORMATS))
        raise InputError(f"{path}: a bundle of format {manifest['format']!r}; this version reads formats {known}")
    for name, kind in (_FIELDS | _LATER_FIELDS).items():
        if name in _FIELDS and name not in manifest:
            raise InputError(f"{path}: {MANIFEST} has no {name!r}")
        if name in manifest and type(manifest[name]) is not kind:
            raise InputError(f"{path}: {MANIFEST}: {name!r} is {manifest[name]!r}; needed: {_KINDS[kind]}")


BUNDLE = ContainerKind(
    name="bundle",
    manifest=MANIFEST,
    most_bytes=2 << 30,  # a study of a million answers has a tenth of it
    members=re.compile("|".join([f"{STUDY}.*", *map(re.escape, TABLES + LATER_TABLES)]), re.DOTALL),
    check_manifest=_check_manifest,
    belongs=is_study_file,
    folder=STUDY,
    unsafe="{name!r} is not the name of a file in a bundle",
    missing="{name} was taken away after the bundle was made",
    added="{name} was added after the bundle was made",
    changed="{name} was changed after the bundle was made",
    damaged="{name!r} is damaged: {error}",
)


class _Pieces(io.RawIOBase):
    """The content of a file as one that is open."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class _Files(Mapping[str, bytes]):
    """The files of a bundle by name; each is unpacked when it is asked for, and checked again."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path, self._names = path, frozenset(names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file piece by piece."""
        if name not in self._names:
            raise KeyError(name)
        with open_container(self._path, BUNDLE) as container:
            yield from container.pieces(name)


@dataclass(frozen=True, eq=False)
class Bundle:
    """The files of a bundle, checked against its list."""

    path: Path
    manifest: Manifest
    files: _Files

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables, every cell a text; none if it is not there. It is read row by row, and kept by column."""
        if name not in self.files:
            return pd.DataFrame(dtype=object)
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            with io.TextIOWrapper(io.BufferedReader(_Pieces(self.files.pieces(name))), "utf-8", newline="") as text:
                rows = csv.reader(text, strict=True)
                columns = next(rows, [])
                if not columns:
                    raise InputError(f"{self.path}: {name} is empty; needed: at least the names of its columns")
                if len(columns) > _MOST_COLUMNS:
                    raise InputError(f"{self.path}: {name}: {len(columns):,} columns; no table has so many")
                checked = self._checked(name, columns, rows)
                parts = [_columns_of(batch) for batch in iter(lambda: list(islice(checked, _ROWS_AT_ONCE)), [])]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{self.path}: {name} cannot be read as a table: {error}") from None
        finally:
            csv.field_size_limit(limit)
        kept = [pa.chunked_array(column, pa.large_string()) for column in zip(*parts, strict=True)]
        frame = pd.DataFrame({place: column.to_pandas() for place, column in enumerate(kept)})
        return frame.set_axis(columns, axis="columns") if kept else pd.DataFrame(columns=columns, dtype=object)

    def _checked(self, name: str, columns: Sequence[str], rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the rows, texts as they were written."""
        typed = [place for place, column in enumerate(columns) if column in _TYPED]
        for at, row in enumerate(rows, start=2):
            if at > _MOST_ROWS + 1:
                raise InputError(f"{self.path}: {name}: more than {_MOST_ROWS:,} rows; no bundle has so many")
            if len(row) != len(columns):
                raise InputError(f"{self.path}: {name}, row {at}: {len(row)} cells; needed: {len(columns)}")
            for place in filter(row.__getitem__, typed):  # nothing is as it was written
                row[place] = self._as_written(row[place], f"{name}, row {at}, column {columns[place]}")
            yield row

    def study_files(self) -> dict[str, Iterator[bytes]]:
        """The study's own files, piece by piece, by their names within its folder."""
        return {name.removeprefix(STUDY): self.files.pieces(name) for name in self.files if name.startswith(STUDY)}

    def rows(self, name: str) -> list[Mapping[str, str]]:
        """The rows of a table by column."""
        return rows_of(self.table(name))

    def _as_written(self, cell: str, where: str) -> str:
        if self.manifest["format"] == 1:
            return cell
        if self.manifest["format"] == 2:
            text = cell.removeprefix("'")
            expected = f"'{text}" if _FORMULA_OF_2.match(text) else text
        else:
            text = as_written(cell)
            expected = defused(text)
        if expected != cell:
            raise InputError(
                f"{self.path}: {where}: needed: a ' before what a spreadsheet takes for a formula, and only there"
            )
        return text


def _columns_of(rows: Sequence[Sequence[str]]) -> list[pa.Array]:
    return [pa.array(cells, pa.large_string()) for cells in zip(*rows, strict=True)]


def rows_of(table: pd.DataFrame) -> list[Mapping[str, str]]:
    """Return the rows of a table, every cell a text."""
    names = [str(name) for name in table.columns]
    return [dict(zip(names, cells, strict=True)) for cells in table.itertuples(index=False, name=None)]


def read_bundle(path: Path) -> Bundle:
    """Read and check every file; what was added, taken away or changed is named, and what does not belong there."""
    with open_container(path, BUNDLE) as container:
        for name in container.names:
            for _ in container.pieces(name):  # compared with the list as it is read
                pass
        return Bundle(path, container.manifest, _Files(path, container.names))


def write_bundle(path: Path, study: StudyFolder, connection: sa.Connection, *, coarse: bool = False) -> Manifest:
    """Write settings, texts, people, schedule and answers, and nothing else of the folder. Returns the list.

    A ``coarse`` one tells days in the place of times and whole seconds of thinking, and nothing that anyone wrote.
    """
    ours = [*sorted(study_files(study.settings)), *(f"{IMAGES}/{name}" for name in sorted(study.pictures))]
    files = {f"{STUDY}{name}": (study.path / name).read_bytes() for name in ours if (study.path / name).is_file()}
    rows = tables(connection)
    files |= {name: _as_csv(_coarsened(table) if coarse else table) for name, table in rows.items()}
    about = {
        "format": FORMAT,
        "fairwise": version("fairwise"),
        "numpy": version("numpy"),  # whose use of the stream of chance active pairs follow from
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


def _coarsened(table: pd.DataFrame) -> pd.DataFrame:
    """Nothing that people are known by who saw somebody answer, and no words. What came first still does."""
    changes = {name: "" for name in table.columns if name in _WRITTEN}
    days = {name: table[name].map(_day) for name in table.columns if name.endswith("_at")}
    seconds = {"seconds": table["seconds"].map(_whole_seconds)} if "seconds" in table else {}
    return table.assign(**changes, **days, **seconds)


def _day(moment: str) -> str:
    """Midnight before a time, or nothing."""
    return f"{moment[:10]}T00:00:00+00:00" if moment else ""


def _whole_seconds(seconds: str) -> str:
    return repr(float(round(float(seconds)))) if seconds else ""


def _as_csv(table: pd.DataFrame) -> bytes:
    table = table.assign(**{name: table[name].map(defused) for name in table.columns if name in _TYPED})
    # A text with old line ends (\r) would otherwise fall apart.
    return table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL).encode()


# What is taken out of the database.

# A participant's number stands for them. Hashes of their links, the keys of their pairs, and who they are to a panel or
# in a room stay where they are.
_LEFT_OUT = {"id", "token_hash", "key", "nonce", "participant_id", "appearance_id"}
_LEFT_OUT |= {"panel_id", "panel_session", "panel_signed", "room_id"}
# Which operator excluded someone, or released a reason, is nobody else's business.
_LEFT_OUT |= {"excluded_by", "included_by", "decided_by", "answer_id"}
# Ids have gaps where someone withdrew; these are counted without.
_LEFT_OUT |= {"answer_model_id"}
_models = sa.select(
    answer_models.c.id, sa.func.row_number().over(order_by=answer_models.c.id).label("number")
).subquery()
# Ballots of a vote that is open are nobody's to read.
_ended_votes = (
    sa.select(votes.c.id, sa.func.row_number().over(order_by=votes.c.id).label("vote"))
    .where(votes.c.closed_at.is_not(None))
    .subquery()
)
_of_vote = ("rule", "options", "opened_at", "closed_at", "tally", "chosen", "why", "decided_at")
_order_of_answers = sa.func.row_number().over(order_by=answers.c.id).label("sequence")


def last_number(connection: sa.Connection) -> int:
    """The last number that a participant was given, who may have withdrawn since."""
    last = sa.select(counters.c.value).where(counters.c.name == "participants")
    return int(connection.execute(last).scalar_one())


def tables(connection: sa.Connection) -> dict[str, pd.DataFrame]:
    """Every row that is kept, in a fixed order, by the name of its file."""
    number, position = participants.c.number, appearances.c.position
    of_participant = participants.join(appearances, appearances.c.participant_id == participants.c.id)
    queries = {
        PARTICIPANTS: sa.select(*_columns(participants)).order_by(number),
        SCHEDULE: sa.select(number, *_columns(appearances), _models.c.number.label("answer_model"))
        .select_from(of_participant.outerjoin(_models, _models.c.id == appearances.c.answer_model_id))
        .order_by(number, position),
        ANSWERS: sa.select(number, position, *_columns(answers), _order_of_answers)
        .select_from(of_participant.join(answers, answers.c.appearance_id == appearances.c.id))
        .order_by(number, position, answers.c.version),
        CLOSINGS: sa.select(number, *_columns(closings))
        .select_from(participants.join(closings, closings.c.participant_id == participants.c.id))
        .order_by(number),
        ANSWER_MODELS: sa.select(_models.c.number, *_columns(answer_models))
        .select_from(answer_models.join(_models, _models.c.id == answer_models.c.id))
        .order_by(answer_models.c.id),
        EXCLUSIONS: sa.select(number, *_columns(exclusions))
        .select_from(participants.join(exclusions, exclusions.c.participant_id == participants.c.id))
        .order_by(number, exclusions.c.id),
        CONSENTS: sa.select(consent_texts).order_by(consent_texts.c.version),
        QUESTIONS: sa.select(number, *_columns(question_answers))
        .select_from(participants.join(question_answers, question_answers.c.participant_id == participants.c.id))
        .order_by(number, question_answers.c.question),
        ROUND_PAIRS: sa.select(
            round_pairs.c.rank, round_pairs.c.a, round_pairs.c.b, round_pairs.c.reason.label("chosen_as")
        ).order_by(round_pairs.c.rank),
        REASONS: sa.select(number, position, answers.c.version, *_columns(reasons))
        .select_from(
            of_participant.join(answers, answers.c.appearance_id == appearances.c.id).join(
                reasons, reasons.c.answer_id == answers.c.id
            )
        )
        .order_by(number, position, answers.c.version),
        VOTES: sa.select(_ended_votes.c.vote, *(votes.c[name] for name in _of_vote))
        .select_from(votes.join(_ended_votes, _ended_votes.c.id == votes.c.id))
        .order_by(_ended_votes.c.vote),
        BALLOTS: sa.select(number, _ended_votes.c.vote, ballots.c.ballot, ballots.c.cast_at)
        .select_from(
            participants.join(ballots, ballots.c.participant_id == participants.c.id).join(
                _ended_votes, _ended_votes.c.id == ballots.c.vote_id
            )
        )
        .where(_ended_votes.c.id.in_(shown_votes(connection)))
        .order_by(_ended_votes.c.vote, number),
    }
    return {name: _table(connection, query) for name, query in queries.items()}


def _columns(table: sa.Table) -> list[AnyColumn]:
    return [column for column in table.c if column.name not in _LEFT_OUT]


def _table(connection: sa.Connection, query: Query) -> pd.DataFrame:
    rows = connection.execute(query)
    return pd.DataFrame([[as_text(value) for value in row] for row in rows], columns=list(rows.keys()), dtype=object)
