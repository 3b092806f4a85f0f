"""Makes a study from a table of people: a folder that appears whole or not at all."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fairwise.errors import InputError
from fairwise.study import folder as study
from fairwise.study import translations
from fairwise.study.cards import ID, cards_of, columns_shown
from fairwise.study.decisions import check_outcome
from fairwise.study.designs import Schedules
from fairwise.study.folder import CONSENT, SETTINGS, TASK, GivenScores, named
from fairwise.study.languages import SOURCE, available, language
from fairwise.study.pictures import IMAGES, check_pictures, read_picture
from fairwise.study.settings import StudySettings
from fairwise.study.telling import NEVER_SHOWN, telling_columns
from fairwise.study.texts import TITLE_DRAFT, consent_draft, task_draft
from fairwise.study.toml import Plain
from fairwise.tables.columns import arrow_column
from fairwise.tables.files import PeopleFile
from fairwise.tables.rows import text_of

_WORDS = re.compile(r"[\s_.\-]+|(?<=[a-z])(?=[A-Z])")
_OF_MORE = "; of more, say how good each is, --label-values or [[decisions]], or that they are amounts, --amount-range"


def new_study(
    folder: Path,
    people: PeopleFile,
    show: Sequence[str],
    choices: Plain,
    *,
    outcome: str | None = None,
    scores: GivenScores | None = None,
    texts: Mapping[str, str] | None = None,
) -> study.StudyFolder:
    """Make a study about these people; only the columns to `show` are kept, the outcome in a file of its own.

    `choices` are settings; a title, labels and units of columns may be left for later, and a seed is drawn if none is
    given. `scores` of a current model are for active pairs alone. `texts` by the names of their files are there
    instead of our drafts. The folder must not be there, or be empty.
    """
    home = _free(folder)
    draft_name = f".{home.name}."
    with _drafted(home.parent, draft_name, people, show, choices, outcome=outcome, scores=scores, texts=texts) as draft:
        draft.rename(home)
    return study.StudyFolder.open(folder)


@contextmanager
def drafted_study(
    home: Path,
    people: PeopleFile,
    show: Sequence[str],
    choices: Plain,
    *,
    outcome: str | None = None,
    texts: Mapping[str, str] | None = None,
) -> Iterator[StudyDraft]:
    """Make a study for a folder that is there already, with a secret of its own; it appears there when asked to."""
    secret = (home / study.SECRET).read_bytes()
    with _drafted(home, ".study.", people, show, choices, outcome=outcome, secret=secret, texts=texts) as draft:
        yield StudyDraft(study.StudyFolder.open(draft), home)


@dataclass(frozen=True)
class StudyDraft:
    """A study that is whole and checked, and not yet where it belongs."""

    study: study.StudyFolder
    home: Path

    def appear(self) -> None:
        """Move every file to its place, the settings last: with them the study is there. Done twice it is done once."""
        draft = self.study.path
        if not (draft / SETTINGS).exists():
            return
        if (self.home / SETTINGS).exists():
            raise InputError(f"{self.home}: there is a study already")
        for name in (study.OUTCOME, study.SCORES):  # of a study that never appeared
            (self.home / name).unlink(missing_ok=True)
        names = {file.name for file in draft.iterdir()} - {study.SECRET, SETTINGS}
        for name in (*sorted(names), SETTINGS):
            (draft / name).replace(self.home / name)


@contextmanager
def _drafted(
    beside: Path,
    prefix: str,
    people: PeopleFile,
    show: Sequence[str],
    choices: Plain,
    *,
    outcome: str | None = None,
    scores: GivenScores | None = None,
    secret: bytes | None = None,
    texts: Mapping[str, str] | None = None,
) -> Iterator[Path]:
    """Check everything, then fill a folder that only its owner can open; it is gone afterwards unless it was moved."""
    settings = StudySettings.checked(_with_columns(show, choices), "study")
    for name in columns_shown(settings.columns):
        _refuse_hidden(people, name, outcome)
    ids = pa.array([text_of(person) for person in people.table.index], pa.string())
    table = _table(ids, {name: arrow_column(people.column(name)) for name in columns_shown(settings.columns)}, people)
    cards = cards_of(table, settings.columns, people.source.where(), language(settings.languages[0]))
    beside_people = Path(people.source.file or "").parent
    pictures = check_pictures(beside_people, cards, language(settings.languages[0]).translate("not known"))
    Schedules({person: card.rows for person, card in cards.items()}, settings, people.source.where())
    results = None
    if outcome is not None:
        results = _table(ids, {outcome: pa.array(_outcome(people, outcome, settings))}, people)
        _refuse_telling(table, results, people, amounts=settings.outcome_kind == "amount")
    if scores is not None and not settings.design.active:
        raise InputError("scores are for active pairs, and the design has none; add some, such as: 10 active")
    hidden = {study.OUTCOME: results, study.SCORES: None if scores is None else scores.table(ids)}
    draft = None
    try:
        draft = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=beside))
        written = dict(_texts(settings, translations.words_in(settings, table))) | dict(texts or {})
        _write(draft, written, table, hidden, secret or secrets.token_bytes(study.SECRET_BYTES))
        for name in sorted(pictures):
            content, _ = read_picture(beside_people, name)
            (draft / IMAGES).mkdir(exist_ok=True)
            (draft / IMAGES / name).write_bytes(content)
        yield draft
    except OSError as error:
        raise InputError(f"{beside}: cannot be written: {error.strerror or error}") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _outcome(people: PeopleFile, name: str, settings: StudySettings) -> pd.Series[Any]:
    """The outcomes, as the decisions of the study have them."""
    kind = settings.outcome_kind
    column = (
        people.column(name) if kind == "amount" else people.outcome(name, several=kind == "tiers", of_more=_OF_MORE)
    )
    return check_outcome(column, people.source, settings.decisions, settings.amount)


def _with_columns(show: Sequence[str], choices: Plain) -> Plain:
    """The choices with a title, a seed, and columns whose labels are their names, unless they say otherwise."""
    alt = choices.get("pictures", {})
    choices = {name: value for name, value in choices.items() if name != "pictures"}
    labels = [readable(name) for name in show]
    columns = [
        {"name": name, "label": name if labels.count(label) > 1 else label, "alt": alt.get(name, "")}
        for name, label in zip(show, labels, strict=True)
    ]
    own = choices.get("languages", [SOURCE])[0]
    title = language(own).translate(TITLE_DRAFT) if own in available() else TITLE_DRAFT
    return {"title": title, "seed": drawn_seed(), "columns": columns, **choices}


def drawn_seed() -> int:
    """A seed that nobody guesses: whoever knows it knows into which arm the next one comes."""
    return secrets.randbits(63)


def readable(name: str) -> str:
    """Return a column's name as a label.

    >>> readable("priors_count"), readable("yearsOfSchool"), readable("IQ")
    ('Priors count', 'Years of school', 'IQ')
    """
    words = [word if word.isupper() else word.lower() for word in _WORDS.split(name) if word]
    text = " ".join(words) or name
    return text[:1].upper() + text[1:]


def _free(folder: Path) -> Path:
    """Return the folder's real place, if nothing is there yet."""
    home = folder.resolve()
    if home == Path.cwd():
        raise InputError(f"{folder}: is the folder you are in; give the name of a new one")
    if home.exists() and not home.is_dir():
        raise InputError(f"{folder}: is a file; a study is a folder")
    if home.is_dir() and any(home.iterdir()):
        raise InputError(f"{folder}: is not empty; a study needs a folder of its own")
    if not home.parent.is_dir():
        raise InputError(f"{home.parent}: there is no such folder; make it first")
    return home


def _refuse_hidden(people: PeopleFile, name: str, outcome: str | None) -> None:
    """Neither the id nor the outcome is for participants to see."""
    hidden = {people.table.index.name: "the id", outcome: "the outcome"}
    if name in hidden:
        raise InputError(f"{people.source.where(column=name)}: this is {hidden[name]}, {NEVER_SHOWN}")


def _refuse_telling(people: pa.Table, results: pa.Table, file: PeopleFile, *, amounts: bool) -> None:
    """Participants must not read the outcome from a column that says the same under another name, or in numbers."""
    outcome = results.column_names[1]
    for name, reason in telling_columns(people, outcome, results[outcome], amounts=amounts).items():
        raise InputError(f"{file.source.where(column=name)}: {reason}")


def _table(ids: pa.Array, columns: Mapping[str, pa.Array], people: PeopleFile) -> pa.Table:
    if ID in columns:
        raise InputError(
            f"{people.source.where(column=ID)}: this name is kept for people's ids, which are not shown; "
            "give the column another name"
        )
    return pa.table({ID: ids, **columns})


def _texts(settings: StudySettings, values: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Name and content of every file that is to be edited."""
    own, *others = settings.languages
    yield SETTINGS, settings.toml()
    for code in others:
        yield named(SETTINGS, code), translations.draft(settings, code, values)
    for code in settings.languages:
        other = None if code == own else code
        yield named(CONSENT, other), consent_draft(language(code))
        yield named(TASK, other), task_draft(language(code))


def _write(
    draft: Path, texts: Mapping[str, str], people: pa.Table, hidden: Mapping[str, pa.Table | None], secret: bytes
) -> None:
    for name, text in texts.items():
        (draft / name).write_text(text, encoding="utf-8", newline="\n")
    pq.write_table(people, draft / study.PEOPLE)
    (draft / study.SECRET).touch(mode=0o600)
    (draft / study.SECRET).write_bytes(secret)
    for name, table in hidden.items():
        if table is not None:
            (draft / name).touch(mode=0o600)
            pq.write_table(table, draft / name)
