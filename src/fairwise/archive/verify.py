"""Check a bundle: pairs and arms are those that the seed asks for, and answers and ballots are possible ones."""

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
    VOTES,
    Bundle,
    checked_tables,
    read_bundle,
    rows_of,
)
from fairwise.archive.container import unpack_study
from fairwise.archive.verify_answers import ActivePairCheck, AnswerCheck
from fairwise.errors import InputError
from fairwise.judgments.answer import PairDesign
from fairwise.store.study_state import FIRST
from fairwise.store.votes import LEAST_OPTIONS, MOST_OPTIONS, Option
from fairwise.study.active import StudyChooser
from fairwise.study.deliberation import CastBallot, Rule, Tally, is_ballot
from fairwise.study.folder import StudyFolder, version_of
from fairwise.study.schedules import ArmTurns, ShownPair
from fairwise.study.settings import Stage

_MOST_NUMBERS = 2**31  # that databases count to
_CLOSE = 1e-9  # the last digits of a division may be another machine's
_OPTION_NUMBERS = {field.name for field in fields(Option)}


@dataclass(frozen=True)
class Verified:
    """Counts of a bundle in which everything is in order."""

    participants: int
    finished: int
    pairs: int
    active: int
    """Number of active pairs among them; each was chosen again with the same result."""

    answers: int
    versions: int
    excluded: int
    """Number of excluded participants, whose answers are in the bundle too."""

    without_text: int
    """Number of participants who agreed to a text that is in no file."""

    fairwise: str
    fingerprint: str
    arms: int = 0
    """Number of participants with an arm; each was drawn again with the same result."""

    arms_kept: int = 0
    """Number of these who began again under the same panel id, and skipped turns to stay in their arm."""

    ballots: int = 0
    """Number of ballots of votes that have ended; each is one that its vote's rule can count."""

    coarse: bool = False
    """Whether it has days instead of times, and nothing that anyone wrote."""


def verify_bundle(path: Path) -> Verified:
    """Refuse a bundle with anything wrong in it, and name the first thing."""
    return verify(read_bundle(path))


def verify(bundle: Bundle) -> Verified:
    """Check a bundle that was read already."""
    path = bundle.path
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
        arms=_check_arms(path, study, people, versions, bundle.manifest["last_number"]),
        arms_kept=int((people["arm_kept"] == "yes").sum()),
        ballots=_check_votes(path, people, tables[VOTES], tables[BALLOTS], tables[EXCLUSIONS]["number"]),
        coarse=bundle.manifest["coarse"],
    )


def unpacked_study(bundle: Bundle, folder: Path) -> StudyFolder:
    """Write the study's files into a new folder, with a secret of its own."""
    folder.mkdir(mode=0o700)
    return unpack_study(bundle.path, BUNDLE, bundle.study_files(), folder)


def _check_manifest(bundle: Bundle, study: StudyFolder, people: pd.DataFrame) -> None:
    """Check that the manifest agrees with the study."""
    manifest = bundle.manifest
    for name, found in (("seed", study.settings.seed), ("consent_version", study.consent_version)):
        if manifest[name] != found:
            raise InputError(f"{bundle.path}: {MANIFEST}: {name!r} is {manifest[name]!r}, but its study has {found!r}")
    try:
        datetime.fromisoformat(manifest["made_at"])
    except ValueError:
        raise InputError(f"{bundle.path}: {MANIFEST}: 'made_at' is {manifest['made_at']!r}; needed: a time") from None
    last = max(map(int, people["number"]), default=0)
    if not last <= manifest["last_number"] < _MOST_NUMBERS:
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
    """Check that pairs drawn at the start have the probability they were drawn with, and no model."""
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
        if row["answer_model"] or row["answers_known"]:
            raise InputError(f"{who}: pair {row['position']} names a model or answers, but was not chosen on the way")


def _check_active(
    active: ActivePairCheck, study: StudyFolder, people: pd.DataFrame, schedule: pd.DataFrame, versions: pd.DataFrame
) -> None:
    """Choose every active pair again."""
    active.check_order(rows_of(versions))
    shown_to, said_by = (
        {str(number): rows_of(rows) for number, rows in table.groupby("number")} for table in (schedule, versions)
    )
    for number, slot in zip(people["number"], people["slot"], strict=True):
        places = study.places(int(number), int(slot))
        active.check(number, places, shown_to.get(number, []), said_by.get(number, []))


def _check_exclusions(path: Path, people: pd.DataFrame, exclusions: pd.DataFrame) -> int:
    """Check that exclusions are of participants and do not overlap; return how many are in force."""
    known, ended = set(people["number"]), dict[str, str]()
    for number, begun, taken_back in zip(
        exclusions["number"], exclusions["excluded_at"], exclusions["included_at"], strict=True
    ):
        if number not in known:
            raise InputError(f"{path}: {EXCLUSIONS} has participant {number}, who is not in {PARTICIPANTS}")
        if not _are_in_order([ended.get(number, begun), begun, taken_back or begun]):
            raise InputError(f"{path}: participant {number} was excluded at {begun!r}, which cannot be")
        ended[number] = taken_back
    return sum(not at for at in ended.values())


def _check_consents(path: Path, study: StudyFolder, people: pd.DataFrame, texts: pd.DataFrame) -> int:
    """Check that texts have their versions; return how many participants agreed to a text that is not there."""
    for version, text in zip(texts["version"], texts["text"], strict=True):
        if version != version_of(text):
            raise InputError(f"{path}: {CONSENTS}: the text of version {version!r} is another: {version_of(text)!r}")
    known = {*texts["version"], *(edition.consent_version for edition in study.editions.values())}
    return int((~people["consent_version"].isin(known)).sum())


def _check_reasons(path: Path, versions: pd.DataFrame, reasons: pd.DataFrame) -> None:
    """Check that only reasons of the first round were released or hidden."""
    names = ["number", "position", "version"]
    first = versions[versions["round"] == str(FIRST)]
    given = set(first[names].itertuples(index=False, name=None))
    for row in reasons[names].itertuples(index=False, name=None):
        if row not in given:
            raise InputError(
                f"{path}: {REASONS} is about version {row[2]} of the answer of participant {row[0]} to pair {row[1]}, "
                "which is none of the first round"
            )


def _check_questions(path: Path, study: StudyFolder, people: pd.DataFrame, answers: pd.DataFrame) -> None:
    """Check that answers to the study's own questions are of participants, and allowed."""
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


def _are_in_order(moments: list[str]) -> bool:
    try:
        read = [datetime.fromisoformat(at) for at in moments]
        return read == sorted(read)
    except (ValueError, TypeError):  # not a moment, or one that knows its zone beside one that does not
        return False


def _check_votes(
    path: Path, people: pd.DataFrame, votes: pd.DataFrame, ballots: pd.DataFrame, excluded: Iterable[str]
) -> int:
    """Check votes, ballots and tallies; return the number of ballots."""
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
    groups = people[["number", "relation", "arm"]].set_index("number")
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
    for vote, text in zip(votes["vote"], votes["tally"], strict=True):
        _check_tally(f"{path}: {VOTES}: vote {vote}", text, cast[vote], rules[vote], set(excluded))
    return len(ballots)


def _check_tally(
    where: str, text: str, cast: list[CastBallot], rule: tuple[int, Rule], excluded: Collection[str]
) -> None:
    """Count again, unless ballots are missing after a withdrawal, or a voter was ever excluded."""
    try:
        tally = Tally.from_json(text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(f"{where}: its tally cannot be read") from None
    if not cast or any(str(one.number) in excluded for one in cast):
        return
    if tally.everyone is None or tally != Tally.of(cast, *rule):
        raise InputError(f"{where}: its tally is not that of its {len(cast)} ballots")


def _option_count(options: str, where: str) -> int:
    """Return the number of options, each with the numbers that were shown."""
    try:
        read = json.loads(options)
        good = isinstance(read, list) and all(isinstance(one, dict) and one.keys() == _OPTION_NUMBERS for one in read)
        good = good and all(isinstance(value, int | float) for one in read for value in one.values())
    except ValueError:
        good = False
    if not good or not LEAST_OPTIONS <= len(read) <= MOST_OPTIONS:
        raise InputError(f"{where}: its options cannot be read; needed: {LEAST_OPTIONS} to {MOST_OPTIONS} as JSON")
    return len(read)


# Arms: everyone is in the one that the seed asks for

_LATE_SECONDS = 60.0
"""Largest lag of a time behind that of a participant recorded later."""


def _check_arms(path: Path, study: StudyFolder, people: pd.DataFrame, versions: pd.DataFrame, last_number: int) -> int:
    """Draw everyone's arm again from the seed and their turn, and check the turn; return how many have one."""
    if not study.settings.arms:
        if (people[["arm", "arm_turn"]] != "").any(axis=None):
            raise InputError(f"{path}: {PARTICIPANTS} has arms, but this study has none")
        return 0
    late = study.arms_at_start is None
    if not late:
        _check_slots(path, people)
    _check_turns(path, study, people, late=late)
    if not late or _clock_is_monotonic(versions):
        turns = study.arms_at_start or study.arms_at_end
        assert turns is not None
        _check_turn_order(path, people, turns, last_number - len(people), late=late)
    return int((people["arm"] != "").sum())


def _check_turns(path: Path, study: StudyFolder, people: pd.DataFrame, *, late: bool) -> None:
    """Check that turns are the slots or, if `late`, those of participants who finished, and that each gives its arm."""
    turns = study.arms_at_start or study.arms_at_end
    assert turns is not None
    taken: dict[str, str] = {}
    for number, slot, ended, arm, turn in zip(
        *(people[name] for name in ("number", "slot", "finished_at", "arm", "arm_turn")), strict=True
    ):
        who = f"{path}: participant {number}"
        if late:
            if bool(turn) != bool(ended):
                needed = "one, as they finished" if ended else "none, as they did not finish"
                raise InputError(f"{who} has the turn {turn!r} in the order of the arms; needed: {needed}")
            if turn and taken.setdefault(turn, number) != number:
                raise InputError(
                    f"{who} has the turn {turn} in the order of the arms, as participant {taken[turn]} has"
                )
        elif turn != slot:
            raise InputError(f"{who} has the turn {turn!r} in the order of the arms; needed: their slot, {slot}")
        expected = turns[int(turn)] if turn else ""
        if arm != expected:
            seed = study.settings.seed
            raise InputError(f"{who} is in the arm {arm!r}, not in the one that seed {seed} asks for: {expected!r}")


def _check_slots(path: Path, people: pd.DataFrame) -> None:
    """Check that no slot is used after someone finished in it: else one could choose an arm by its slot."""
    finished: dict[str, tuple[datetime, str]] = {}
    for number, slot, ended in zip(people["number"], people["slot"], people["finished_at"], strict=True):
        if ended:
            at = datetime.fromisoformat(ended)
            finished[slot] = min(finished.get(slot, (at, number)), (at, number))
    for number, slot, begun in zip(people["number"], people["slot"], people["consented_at"], strict=True):
        begun_at = datetime.fromisoformat(begun)
        at, holder = finished.get(slot, (begun_at, number))
        if holder != number and at < begun_at:
            raise InputError(
                f"{path}: participant {number} has slot {slot}, in which participant {holder} had finished before"
            )


def _check_turn_order(path: Path, people: pd.DataFrame, turns: ArmTurns, gone: int, *, late: bool) -> None:
    """Check that everyone took the lowest free turn: else people could be exchanged between arms by their turns.

    Someone who began again under the same id of a panel took the lowest turn of the arm that was kept for them. A turn
    is passed over if nobody is known to have had it when someone took a higher one; one of those who are `gone` may
    have. The beginning is ordered by number, the end by times, which are not exact.
    """
    there = people[people["arm_turn"] != ""]
    moments = there["finished_at"].map(_seconds) if late else there["number"].map(float)
    kept = there["arm_kept"] == "yes"
    later, first, first_not_kept = _LATE_SECONDS if late else 0.0, dict[int, float](), dict[int, float]()
    for turn, moment, is_kept in zip(there["arm_turn"].map(int), moments, kept, strict=True):
        first[turn] = min(first.get(turn, math.inf), moment)
        if not is_kept:
            first_not_kept[turn] = min(first_not_kept.get(turn, math.inf), moment)
    passed_over = max(first, default=-1) + 1 - len(first)
    if passed_over <= gone + int(kept.sum()) * turns.longest_wait:  # a made-up turn in the billions ends here
        passed_over, soonest, soonest_of = 0, math.inf, dict[str, float]()
        for turn in range(max(first, default=-1), -1, -1):
            arm = turns[turn]
            limit = min(soonest, soonest_of.get(arm, math.inf)) + later
            passed_over += limit < math.inf and first.get(turn, math.inf) > limit
            soonest = min(soonest, first_not_kept.get(turn, math.inf))
            soonest_of[arm] = min(soonest_of.get(arm, math.inf), first.get(turn, math.inf))
    if passed_over > gone:
        raise InputError(
            f"{path}: turns in the order of the arms that were passed over: {passed_over}; allowed: {gone}, as many as "
            "participants are gone. Somebody has another's turn, and so another's arm"
        )


def _clock_is_monotonic(versions: pd.DataFrame) -> bool:
    """Return whether answers have times in the order in which they were recorded; else times prove nothing."""
    order = versions["sequence"].map(int).argsort()
    times = versions["answered_at"].iloc[order].map(_seconds)
    return bool((times >= times.cummax() - _LATE_SECONDS).all())


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
