"""Check a bundle: that the pairs are those the seed asks for, and that every answer is to one of them.

Of votes: that every ballot is of someone who could vote, and one that the vote's rule can count.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

import pandas as pd

from fairwise.archive.bundle import (
    ANSWER_MODELS,
    ANSWERS,
    BALLOTS,
    BUNDLE,
    CLOSINGS,
    CONSENTS,
    EXCLUSIONS,
    MANIFEST,
    PARTICIPANTS,
    QUESTIONS,
    REASONS,
    ROUND_PAIRS,
    SCHEDULE,
    TABLES,
    VOTES,
    Bundle,
    read_bundle,
    rows_of,
)
from fairwise.archive.bundle_answers import ActivePairCheck, AnswerCheck
from fairwise.archive.bundle_arms import check_arms
from fairwise.archive.bundle_tables import checked_tables
from fairwise.archive.container import unpack_study
from fairwise.errors import InputError
from fairwise.judgments.answer import PairDesign
from fairwise.store.study_state import FIRST
from fairwise.store.votes import LEAST_OPTIONS, MOST_OPTIONS, Option
from fairwise.study.active import StudyChooser
from fairwise.study.deliberation import CastBallot, Rule, Tally, is_ballot
from fairwise.study.folder import StudyFolder, version_of
from fairwise.study.schedules import ShownPair
from fairwise.study.settings import Stage

_MOST_NUMBERS = 2**31  # that databases count to
_CLOSE = 1e-9  # the last digits of a division may be another machine's
_OPTION_NUMBERS = {field.name for field in fields(Option)}


@dataclass(frozen=True)
class Verified:
    """What was found to be in order."""

    participants: int
    finished: int
    pairs: int
    active: int
    """Of these, pairs that were chosen on the way; each was chosen again with the same result."""

    answers: int
    versions: int
    excluded: int
    """Of the participants, those whom an operator left out; their answers are in the bundle all the same."""

    without_text: int
    """Of the participants, those who agreed to a text that was not kept, as studies did not before."""

    fairwise: str
    fingerprint: str
    arms: int = 0
    """Of the participants, those who were assigned to an arm; each was drawn again with the same result."""

    arms_kept: int = 0
    """Number of these who began again under the same panel id, and skipped turns to stay in their arm."""

    ballots: int = 0
    """In votes that have ended; each is one that its vote's rule can count."""

    coarse: bool = False
    """Whether it has days in the place of times, and nothing that anyone wrote."""


def verify_bundle(path: Path) -> Verified:
    """Refuse the first thing that is not as it must be, naming it."""
    return verify(read_bundle(path))


def verify(bundle: Bundle) -> Verified:
    """The same for a bundle that was read already."""
    path = bundle.path
    missing = [name for name in TABLES if name not in bundle.files]
    if missing:
        raise InputError(f"{path}: {missing[0]} is missing")
    with tempfile.TemporaryDirectory() as folder:
        study = unpacked_study(bundle, Path(folder) / "study")
        nobody = StudyChooser.of(study) if study.settings.design.active else None
    if study.fingerprint != bundle.manifest["fingerprint"]:
        raise InputError(f"{path}: its people or settings are not those that its answers are about")
    tables = checked_tables(bundle, study.settings)
    people, schedule, versions = (tables[name] for name in (PARTICIPANTS, SCHEDULE, ANSWERS))
    _check_manifest(bundle, study, people)
    _check_schedule(path, study, people, schedule)
    discussed = [frozenset(two) for two in zip(tables[ROUND_PAIRS]["a"], tables[ROUND_PAIRS]["b"], strict=True)]
    answer_check = AnswerCheck(path, study, people, schedule, versions, tables[CLOSINGS], discussed)
    answer_check.check()
    if nobody is not None:
        _check_active(ActivePairCheck.of(path, bundle, nobody), study, people, schedule, versions)
    elif len(tables[ANSWER_MODELS]):
        raise InputError(f"{path}: {ANSWER_MODELS} has models, but this study has no active pairs")
    _check_questions(path, study, people, tables[QUESTIONS])
    _check_reasons(path, versions, tables[REASONS])
    return Verified(
        participants=len(people),
        finished=int((people["stage"] == Stage.FINISHED).sum()),
        pairs=len(schedule),
        active=int((schedule["design"] == PairDesign.ACTIVE).sum()),
        answers=len(answer_check.current),
        versions=len(versions),
        excluded=_check_exclusions(path, people, tables[EXCLUSIONS]),
        without_text=_check_consents(path, study, people, tables[CONSENTS]),
        fairwise=bundle.manifest["fairwise"],
        fingerprint=study.fingerprint,
        arms=check_arms(path, study, people, versions, bundle.manifest.get("last_number")),
        arms_kept=int((people.get("arm_kept", people["number"]) == "yes").sum()),
        ballots=check_votes(path, people, tables[VOTES], tables[BALLOTS], tables[EXCLUSIONS]["number"]),
        coarse=bundle.manifest.get("coarse", False),
    )


def unpacked_study(bundle: Bundle, folder: Path) -> StudyFolder:
    """The study's files in a new folder, with a secret of its own."""
    folder.mkdir(mode=0o700)
    return unpack_study(bundle.path, BUNDLE, bundle.study_files(), folder)


def _check_manifest(bundle: Bundle, study: StudyFolder, people: pd.DataFrame) -> None:
    """What it says about the study is what the study says."""
    manifest = bundle.manifest
    for name, found in (("seed", study.settings.seed), ("consent_version", study.consent_version)):
        if manifest[name] != found:
            raise InputError(f"{bundle.path}: {MANIFEST}: {name!r} is {manifest[name]!r}, but its study has {found!r}")
    try:
        datetime.fromisoformat(manifest["made_at"])
    except ValueError:
        raise InputError(f"{bundle.path}: {MANIFEST}: 'made_at' is {manifest['made_at']!r}; needed: a time") from None
    last = max(map(int, people["number"]), default=0)
    if "last_number" in manifest and not last <= manifest["last_number"] < _MOST_NUMBERS:
        raise InputError(
            f"{bundle.path}: {MANIFEST}: 'last_number' is {manifest['last_number']}; needed: at least {last}, the last "
            f"in {PARTICIPANTS}"
        )


def _check_schedule(path: Path, study: StudyFolder, people: pd.DataFrame, schedule: pd.DataFrame) -> None:
    by_number = {str(number): rows for number, rows in schedule.groupby("number", sort=False)}
    strangers = by_number.keys() - set(people["number"])
    if strangers:
        raise InputError(f"{path}: {SCHEDULE} has pairs of participant {min(strangers)}, who is not in {PARTICIPANTS}")
    for number, slot in zip(people["number"], people["slot"], strict=True):
        expected = study.places(int(number), int(slot))
        found = by_number.get(number)
        rows = (
            [] if found is None else list(zip(found["position"], found["a"], found["b"], found["design"], strict=True))
        )
        # Active pairs are checked by themselves; here, only whether they are where they may be, each once.
        actives = {str(at) for at, pair in enumerate(expected, start=1) if pair is None}
        chosen = {row[0]: row for row in rows if row[3] == PairDesign.ACTIVE and row[0] in actives}
        laid_out = [row for row in rows if chosen.get(row[0]) != row]
        expected_rows = [(str(at), pair.a, pair.b, pair.design) for at, pair in enumerate(expected, start=1) if pair]
        if laid_out != expected_rows or len(rows) != len(laid_out) + len(chosen):
            first = next((one for one, other in zip_longest(expected_rows, laid_out) if one != other), None)
            raise InputError(
                f"{path}: participant {number} was not shown what seed {study.settings.seed} asks for"
                + ("" if first is None else f", beginning with pair {first[0]}")
            )
        if found is not None:
            _check_chances(f"{path}: participant {number}", found, expected)


def _check_chances(who: str, found: pd.DataFrame, expected: Sequence[ShownPair | None]) -> None:
    """Pairs that were laid out at the start have the probability that they were drawn with, and no model."""
    for row in found.to_dict("records"):
        pair = expected[int(row["position"]) - 1]
        if pair is None:
            continue
        chance, cell = pair.selection_probability, row["selection_probability"]
        if (cell == "") != (chance is None) or not math.isclose(float(cell or 0), chance or 0, rel_tol=_CLOSE):
            raise InputError(
                f"{who} was shown pair {row['position']} with selection_probability {cell!r}, not "
                f"{'nothing' if chance is None else repr(chance)}"
            )
        if row.get("answer_model") or row.get("answers_known"):
            raise InputError(f"{who}: pair {row['position']} names a model or answers, but was not chosen on the way")


def _check_active(
    active: ActivePairCheck, study: StudyFolder, people: pd.DataFrame, schedule: pd.DataFrame, versions: pd.DataFrame
) -> None:
    """Every active pair is chosen again."""
    active.check_order(rows_of(versions))
    shown_to, said_by = (
        {str(number): rows_of(rows) for number, rows in table.groupby("number")} for table in (schedule, versions)
    )
    for number, slot in zip(people["number"], people["slot"], strict=True):
        places = study.places(int(number), int(slot))
        active.check(number, places, shown_to.get(number, []), said_by.get(number, []))


def _check_exclusions(path: Path, people: pd.DataFrame, exclusions: pd.DataFrame) -> int:
    """Each is of a participant, and none begins before the one before it was taken back; returns how many hold."""
    known, ended = set(people["number"]), dict[str, str]()
    for number, begun, taken_back in zip(
        exclusions["number"], exclusions["excluded_at"], exclusions["included_at"], strict=True
    ):
        if number not in known:
            raise InputError(f"{path}: {EXCLUSIONS} has participant {number}, who is not in {PARTICIPANTS}")
        if not _follow_each_other([ended.get(number, begun), begun, taken_back or begun]):
            raise InputError(f"{path}: participant {number} was excluded at {begun!r}, which cannot be")
        ended[number] = taken_back
    return sum(not at for at in ended.values())


def _check_consents(path: Path, study: StudyFolder, people: pd.DataFrame, texts: pd.DataFrame) -> int:
    """Every text has the version it is kept under; returns how many agreed to one that is not there."""
    for version, text in zip(texts["version"], texts["text"], strict=True):
        if version != version_of(text):
            raise InputError(f"{path}: {CONSENTS}: the text of version {version!r} is another: {version_of(text)!r}")
    known = {*texts["version"], *(edition.consent_version for edition in study.editions.values())}
    return int((~people["consent_version"].isin(known)).sum())


def _check_reasons(path: Path, versions: pd.DataFrame, reasons: pd.DataFrame) -> None:
    """Only a reason of the first round can have been released to others, or hidden from them."""
    names = ["number", "position", "version"]
    first = versions[versions["round"] == str(FIRST)] if "round" in versions else versions
    given = set(first[names].itertuples(index=False, name=None))
    for row in reasons[names].itertuples(index=False, name=None):
        if row not in given:
            raise InputError(
                f"{path}: {REASONS} is about version {row[2]} of the answer of participant {row[0]} to pair {row[1]}, "
                "which is none of the first round"
            )


def _check_questions(path: Path, study: StudyFolder, people: pd.DataFrame, answers: pd.DataFrame) -> None:
    """Every answer to one of the study's own questions is of a participant, and one that the question allows."""
    questions, known = {question.name: question for question in study.settings.questions}, set(people["number"])
    for number, name, answer, written in zip(
        *(answers[column] for column in ("number", "question", "answer", "written")), strict=True
    ):
        where = f"{path}: {QUESTIONS}: the answer of participant {number} to {name!r}"
        if number not in known:
            raise InputError(f"{where}: there is no such participant in {PARTICIPANTS}")
        kept, empty = (written, answer) if questions[name].kind == "text" else (answer, written)
        if empty or not questions[name].allows(kept):
            raise InputError(f"{where} is {(answer or written)[:100]!r}, which it does not allow")


def _follow_each_other(moments: list[str]) -> bool:
    try:
        read = [datetime.fromisoformat(at) for at in moments]
        return read == sorted(read)
    except (ValueError, TypeError):  # not a moment, or one that knows its zone beside one that does not
        return False


def check_votes(
    path: Path, people: pd.DataFrame, votes: pd.DataFrame, ballots: pd.DataFrame, excluded: Iterable[str]
) -> int:
    """Refuse votes, ballots and tallies that cannot be; returns how many ballots there are."""
    rules: dict[str, tuple[int, Rule]] = {}
    cast = defaultdict[str, list[CastBallot]](list)
    for row in votes.to_dict("records"):
        where = f"{path}: {VOTES}: vote {row['vote']}"
        options = _option_count(row["options"], where)
        if row["chosen"] and int(row["chosen"]) >= options:
            raise InputError(f"{where}: option {row['chosen']} was chosen; allowed: 0 to {options - 1}")
        if row["chosen"] and not row["decided_at"]:
            raise InputError(f"{where}: an option was chosen, but it is not said when")
        rules[row["vote"]] = options, Rule(row["rule"])
    finished = set(people["number"][people["stage"] == Stage.FINISHED])
    groups = people.reindex(columns=["number", "relation", "arm"], fill_value="").set_index("number")
    for number, vote, ballot in zip(ballots["number"], ballots["vote"], ballots["ballot"], strict=True):
        where = f"{path}: {BALLOTS}: the ballot of participant {number}"
        if vote not in rules:
            raise InputError(f"{where} is of vote {vote}, which is not in {VOTES}")
        if number not in finished:
            raise InputError(f"{where}: nobody of this number in {PARTICIPANTS} has finished, and only those can vote")
        named = ballot.split(",") if ballot else []
        if not all(option.isascii() and option.isdigit() and len(option) == 1 for option in named) or not is_ballot(
            [int(option) for option in named], *rules[vote]
        ):
            raise InputError(f"{where} is {ballot[:100]!r}, which the rule of vote {vote} cannot count")
        relation, arm = (cell or None for cell in groups.loc[number])
        cast[vote].append(CastBallot(int(number), relation, arm, tuple(map(int, named))))
    for vote, text in zip(votes["vote"], votes["tally"], strict=True) if "tally" in votes else ():
        _check_tally(f"{path}: {VOTES}: vote {vote}", text, cast[vote], rules[vote], set(excluded))
    return len(ballots)


def _check_tally(
    where: str, text: str, cast: list[CastBallot], rule: tuple[int, Rule], excluded: Collection[str]
) -> None:
    """Count again, unless ballots are gone with somebody who withdrew, or somebody was excluded, before or since."""
    try:
        tally = Tally.from_json(text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(f"{where}: its tally cannot be read") from None
    if not cast or any(str(one.number) in excluded for one in cast):
        return
    if tally.everyone is None or tally != Tally.of(cast, *rule):
        raise InputError(f"{where}: its tally is not that of its {len(cast)} ballots")


def _option_count(options: str, where: str) -> int:
    """How many options there are, each with the numbers that were shown."""
    try:
        read = json.loads(options)
        good = isinstance(read, list) and all(isinstance(one, dict) and one.keys() == _OPTION_NUMBERS for one in read)
        good = good and all(isinstance(value, int | float) for one in read for value in one.values())
    except ValueError:
        good = False
    if not good or not LEAST_OPTIONS <= len(read) <= MOST_OPTIONS:
        raise InputError(f"{where}: its options cannot be read; needed: {LEAST_OPTIONS} to {MOST_OPTIONS} as JSON")
    return len(read)
