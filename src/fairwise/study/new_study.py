"""New studies from a table of people: a folder that appears whole or not at all; and the sample study."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fairwise.datasets import load_compas
from fairwise.errors import InputError
from fairwise.study import translations
from fairwise.study.cards import ID, IMAGES, card_columns, cards_of, check_pictures, read_picture
from fairwise.study.design import check_outcome
from fairwise.study.folder import (
    CONSENT,
    OUTCOME,
    PEOPLE,
    SCORES,
    SECRET,
    SECRET_BYTES,
    SETTINGS,
    TASK,
    GivenScores,
    StudyFolder,
    named,
)
from fairwise.study.schedules import Schedules
from fairwise.study.settings import StudySettings
from fairwise.study.texts import SOURCE, TITLE_DRAFT, available, consent_draft, language, task_draft
from fairwise.study.toml import Plain
from fairwise.tables.columns import arrow_column
from fairwise.tables.files import PeopleFile
from fairwise.tables.rows import text_of

Codes = NDArray[np.intp]

# Two columns that split so many people alike are one column under two names.
_NO_COINCIDENCE = 20
# So many people on either side are not parted by accident.
_NO_ACCIDENT = 8
_NOT_VISIBLE = "which participants never see; leave it out of what is shown"


def telling_columns(
    people: pa.Table, outcome: str, results: pa.ChunkedArray, *, amounts: bool = False
) -> dict[str, str]:
    """Return every column from which the outcome can be read, and how, as the end of a sentence.

    Where outcomes are ``amounts``, two columns in which everybody differs do not yet say the same.
    """
    reasons = {}
    values: NDArray[np.object_] = np.array(results.to_pylist(), dtype=object)
    codes, kinds = pd.factorize(values, use_na_sentinel=False)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64) if amounts else None
    for name in people.column_names:
        column = people[name]
        if _says_the_same(_split(column), codes):
            reasons[name] = f"this tells everyone's outcome, {outcome!r}, {_NOT_VISIBLE}"
        elif numbers is not None:
            if (above := _threshold_of_amounts(column, numbers)) is not None:
                more, amount = above
                reasons[name] = (
                    f"everyone with {outcome} above {amount:g} has a {more} number here than everyone else, so that "
                    f"one threshold tells much of the outcome, {_NOT_VISIBLE}"
                )
        elif (parted := _threshold_of_labels(column, codes)) is not None:
            higher, lower = (_listed(outcome, kinds, side) for side in parted)
            reasons[name] = (
                f"everyone with {higher} has a higher number here than everyone with {lower}, so that one threshold "
                f"tells the outcome, {_NOT_VISIBLE}"
            )
        elif len(kinds) > 2 and (side := _split_by_a_value(_split(column), codes)) is not None:
            reasons[name] = (
                f"whether it is {_listed(outcome, kinds, side)} can be read from it for certain, {_NOT_VISIBLE}"
            )
    return reasons


def _says_the_same(column: Codes, outcome: Codes) -> bool:
    """Whether both split people alike, into groups that are not just single people."""
    groups = outcome.max(initial=-1) + 1
    return len(outcome) >= max(_NO_COINCIDENCE, 2 * groups) and bool((column == outcome).all())


def _threshold_of_labels(column: pa.ChunkedArray, outcome: Codes) -> tuple[Codes, Codes] | None:
    """Return the outcomes above and below a number, if none is on both sides of it, and there are enough people."""
    order, cuts = _cuts(column)
    if not len(cuts):
        return None
    codes = outcome[order]
    kinds, first = np.unique(codes, return_index=True)
    last = len(codes) - 1 - np.unique(codes[::-1], return_index=True)[1]
    ends = np.zeros(len(codes) + 1, dtype=np.intp)  # a cut at k is between k - 1 and k
    np.add.at(ends, first + 1, 1)
    np.add.at(ends, last + 1, -1)
    clean = cuts[np.cumsum(ends)[cuts] == 0]
    return (kinds[first >= clean[0]], kinds[last < clean[0]]) if len(clean) else None


def _threshold_of_amounts(column: pa.ChunkedArray, amounts: NDArray[np.float64]) -> tuple[str, float] | None:
    """Return whether numbers are higher or lower for everyone above an amount, and that amount."""
    order, cuts = _cuts(column)
    for more, sign in (("higher", 1.0), ("lower", -1.0)):
        ordered = sign * amounts[order]
        below, above = np.maximum.accumulate(ordered), np.minimum.accumulate(ordered[::-1])[::-1]
        clean = cuts[below[cuts - 1] < above[cuts]]
        if len(clean):
            return more, float(below[clean[0] - 1] if more == "higher" else -above[clean[0]])
    return None


def _cuts(column: pa.ChunkedArray) -> tuple[Codes, Codes]:
    """Return rows with a number in ascending order, and places where a cut leaves enough people on both sides."""
    nobody = np.empty(0, dtype=np.intp)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return nobody, nobody
    numbers = column.to_pandas().to_numpy(dtype=np.float64)
    with_number = np.flatnonzero(~np.isnan(numbers))
    order = with_number[np.argsort(numbers[with_number], kind="stable")]
    places = np.flatnonzero(np.diff(numbers[order]) > 0) + 1
    return order, places[(places >= _NO_ACCIDENT) & (places <= len(order) - _NO_ACCIDENT)]


def _split_by_a_value(column: Codes, outcome: Codes) -> Codes | None:
    """Return the outcomes of those with one of the values, if nobody else has these, and there are enough of both."""
    if len(column) < _NO_COINCIDENCE:
        return None
    pairs, people = np.unique(np.stack([column, outcome]), axis=1), np.bincount(column)
    for value in np.flatnonzero((people >= _NO_ACCIDENT) & (people <= len(column) - _NO_ACCIDENT)):
        theirs: Codes = pairs[1][pairs[0] == value]
        if not np.isin(pairs[1][pairs[0] != value], theirs).any():
            return theirs
    return None


def _split(column: pa.ChunkedArray) -> Codes:
    """Return 0 for those with the first value, missing or not, 1 for those with the second, and so on."""
    codes, _ = pd.factorize(np.array(column.to_pylist(), dtype=object), use_na_sentinel=False)
    return codes


def _listed(outcome: str, kinds: NDArray[np.object_], chosen: Codes) -> str:
    return f"{outcome} = {' or '.join(text_of(kinds[code]) for code in chosen)}"


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
) -> StudyFolder:
    """Make a study about these people; only the columns to `show` are kept, the outcome in a file of its own.

    `choices` are settings; a title, labels and units of columns may be left for later, and a seed is drawn if none is
    given. `scores` of a current model are for active pairs alone. `texts` by the names of their files are there
    instead of our drafts. The folder must not be there, or be empty.
    """
    home = _free(folder)
    draft_name = f".{home.name}."
    with _drafted(home.parent, draft_name, people, show, choices, outcome=outcome, scores=scores, texts=texts) as draft:
        draft.rename(home)
    return StudyFolder.open(folder)


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
    secret = (home / SECRET).read_bytes()
    with _drafted(home, ".study.", people, show, choices, outcome=outcome, secret=secret, texts=texts) as draft:
        yield StudyDraft(StudyFolder.open(draft), home)


@dataclass(frozen=True)
class StudyDraft:
    """A study that is whole and checked, and not yet where it belongs."""

    study: StudyFolder
    home: Path

    def appear(self) -> None:
        """Move every file to its place, the settings last: with them the study is there. Done twice it is done once."""
        draft = self.study.path
        if not (draft / SETTINGS).exists():
            return
        if (self.home / SETTINGS).exists():
            raise InputError(f"{self.home}: there is a study already")
        for name in (OUTCOME, SCORES):  # of a study that never appeared
            (self.home / name).unlink(missing_ok=True)
        names = {file.name for file in draft.iterdir()} - {SECRET, SETTINGS}
        for name in (*sorted(names), SETTINGS):
            (draft / name).replace(self.home / name)


@contextmanager
def _drafted(
    parent: Path,
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
    for name in card_columns(settings.columns):
        _refuse_hidden(people, name, outcome)
    ids = pa.array([text_of(person) for person in people.table.index], pa.string())
    table = _table(ids, {name: arrow_column(people.column(name)) for name in card_columns(settings.columns)}, people)
    cards = cards_of(table, settings.columns, people.source.where(), language(settings.languages[0]))
    picture_folder = Path(people.source.file or "").parent
    pictures = check_pictures(picture_folder, cards, language(settings.languages[0]).translate("not known"), new=True)
    Schedules({person: card.rows for person, card in cards.items()}, settings, people.source.where())
    results = None
    if outcome is not None:
        results = _table(ids, {outcome: pa.array(_outcome(people, outcome, settings))}, people)
        _refuse_telling(table, results, people, amounts=settings.outcome_kind == "amount")
    if scores is not None and not settings.design.active:
        raise InputError("scores are for active pairs, and the design has none; add some, such as: 10 active")
    hidden = {OUTCOME: results, SCORES: None if scores is None else scores.table(ids)}
    draft = None
    try:
        draft = Path(tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=parent))
        written = dict(_texts(settings, translations.words_in(settings, table))) | dict(texts or {})
        _write(draft, written, table, hidden, secret or secrets.token_bytes(SECRET_BYTES))
        for name in sorted(pictures):
            content, _ = read_picture(picture_folder, name)
            (draft / IMAGES).mkdir(exist_ok=True)
            (draft / IMAGES / name).write_bytes(content)
        yield draft
    except OSError as error:
        raise InputError(f"{parent}: cannot be written: {error.strerror or error}") from None
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
    return {"title": title, "seed": random_seed(), "columns": columns, **choices}


def random_seed() -> int:
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
        raise InputError(f"{people.source.where(column=name)}: this is {hidden[name]}, {_NOT_VISIBLE}")


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
    own, *other_codes = settings.languages
    yield SETTINGS, settings.toml()
    for code in other_codes:
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
    pq.write_table(people, draft / PEOPLE)
    (draft / SECRET).touch(mode=0o600)
    (draft / SECRET).write_bytes(secret)
    for name, table in hidden.items():
        if table is not None:
            (draft / name).touch(mode=0o600)
            pq.write_table(table, draft / name)


SAMPLE_OUTCOME = "two_year_recid"
SAMPLE_FAVORABLE, SAMPLE_UNFAVORABLE = "no new arrest", "rearrested"
"""The two outcomes, within two years; in the alphabet as 0 and 1 are, so that rates stay about arrests."""

SAMPLE_COLUMNS = {
    "age": ("Age", "years"),
    "sex": ("Sex", ""),
    "race": ("Ethnic group", ""),
    "c_charge_degree": ("Current charge", ""),
    "priors_count": ("Earlier adult offences", ""),
    "juv_fel_count": ("Felonies as a minor", ""),
    "juv_misd_count": ("Misdemeanours as a minor", ""),
    "juv_other_count": ("Other offences as a minor", ""),
}
_CHARGES = {"F": "felony", "M": "misdemeanour"}
_SEXES = {"Female": "female", "Male": "male"}

_SAMPLE_CONSENT = """\
# Before you begin

This is a **sample study**. It shows how people can be asked what they consider fair, and what a model learns from their
answers. Simulated people have answered it; whatever you answer stays in this copy of the study.

You will see pairs of people who were arrested in Broward County, Florida, in 2013 and 2014, and say how a court should
treat the two, compared with each other, when it decides who waits for the trial at home. The facts are from public
records. You will not be shown their names, nor what became of them.

## What is kept

- Your answers, and what you write if you choose to write something.
- When you answered, and how long it took.

Your name and your IP address are not kept. The answers are seen by whoever runs this copy, and are used to show how a
model changes when it has to follow them.

## You decide

Taking part is your own choice. You can stop at any time, and you can withdraw at any time: everything you answered is
then deleted. You need not say why, and nothing bad follows from it for you.
"""
_SAMPLE_TASK = """\
Someone has been arrested. Until the trial a court may **release** them, or keep them in **jail**. Some courts ask a
model how likely someone is to be arrested again, and such a model treats some people better than others.

You will see two people at a time, side by side: age, sex, ethnic group, what they are charged with, and what they
were charged with before. A *felony* is a serious offence, a *misdemeanour* a lesser one.

Say how the two should be treated, compared with each other. There are no right or wrong answers: we would like to
know what **you** consider fair. Take as much time as you like.
"""


_SAMPLE_TEXTS = {CONSENT: _SAMPLE_CONSENT, TASK: _SAMPLE_TASK}


def sample_people() -> tuple[pd.DataFrame, pd.Series]:
    """The bundled COMPAS people and whether each was arrested again within two years, with values in words."""
    people, outcome = load_compas()
    worded = people.assign(c_charge_degree=people["c_charge_degree"].map(_CHARGES), sex=people["sex"].map(_SEXES))
    return worded[list(SAMPLE_COLUMNS)], outcome.map({0: SAMPLE_FAVORABLE, 1: SAMPLE_UNFAVORABLE})


def make_sample(home: Path, *, seed: int = 0) -> StudyFolder:
    """Make the sample study in a new folder: 50 pairs for everyone, some shared, some shown again."""
    return new_study(home, **_sample_arguments(seed))


def drafted_sample(home: Path, *, seed: int = 0) -> AbstractContextManager[StudyDraft]:
    """Make the same for a folder that is there already; it appears there when asked to."""
    return drafted_study(home, **_sample_arguments(seed))


def _sample_arguments(seed: int) -> dict[str, Any]:
    """Arguments of `new_study` and `drafted_study` for the sample."""
    people, outcome = sample_people()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        people.assign(**{SAMPLE_OUTCOME: outcome}).to_csv(file, index_label="id")
        people_file = PeopleFile.read(file, "id")
    choices = {
        "title": "Fair decisions before trial",
        "question": "Until their trials, how should these two people be treated, compared with each other?",
        "treated_well": "being released until the trial",
        "pairs": 50,
        "seed": seed,
        "simulated": True,
        "design": {"anchors": 8, "repeats": 4, "checks": 2},
        "columns": [{"name": name, "label": label, "unit": unit} for name, (label, unit) in SAMPLE_COLUMNS.items()],
    }
    return {
        "people": people_file,
        "show": list(SAMPLE_COLUMNS),
        "choices": choices,
        "outcome": SAMPLE_OUTCOME,
        "texts": _SAMPLE_TEXTS,
    }
