"""Check a bundle: that the pairs are those the seed asks for, and that every answer is to one of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairwise.elicitation.bundles.archive import read_bundle
from fairwise.elicitation.bundles.contents import ANSWERS, CLOSINGS, PARTICIPANTS, SCHEDULE, TABLES
from fairwise.elicitation.folder import SECRET, SECRET_BYTES, StudyFolder
from fairwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.elicitation.bundles.archive import Bundle


@dataclass(frozen=True)
class Verified:
    """What was found to be in order."""

    participants: int
    finished: int
    pairs: int
    answers: int
    versions: int
    fairwise: str
    fingerprint: str


def verify_bundle(path: Path) -> Verified:
    """Refuse the first thing that is not as it must be, naming it."""
    bundle = read_bundle(path)
    missing = [name for name in TABLES if name not in bundle.files]
    if missing:
        raise InputError(f"{path}: {missing[0]} is missing")
    with tempfile.TemporaryDirectory() as folder:
        study = unpacked_study(bundle, Path(folder) / "study")
    if study.fingerprint != bundle.manifest["fingerprint"]:
        raise InputError(f"{path}: its people or settings are not those that its answers are about")
    people, shown, said = (bundle.table(name) for name in (PARTICIPANTS, SCHEDULE, ANSWERS))
    _check_schedule(path, study, people, shown)
    current = _check_answers(path, study, shown, said)
    _check_ends(path, people, shown, current, bundle.table(CLOSINGS))
    return Verified(
        participants=len(people),
        finished=int((people["stage"] == "finished").sum()),
        pairs=len(shown),
        answers=len(current),
        versions=len(said),
        fairwise=str(bundle.manifest["fairwise"]),
        fingerprint=study.fingerprint,
    )


def unpacked_study(bundle: Bundle, folder: Path) -> StudyFolder:
    """The study's files in a folder, with a secret of its own."""
    import secrets

    folder.mkdir(mode=0o700)
    for name, data in bundle.study_files().items():
        (folder / name).write_bytes(data)
    secret = folder / SECRET
    secret.touch(mode=0o600)
    secret.write_bytes(secrets.token_bytes(SECRET_BYTES))
    return StudyFolder.open(folder)


def _check_schedule(path: Path, study: StudyFolder, people: pd.DataFrame, shown: pd.DataFrame) -> None:
    by_number = {str(number): rows for number, rows in shown.groupby("number", sort=False)}
    strangers = by_number.keys() - set(people["number"])
    if strangers:
        raise InputError(f"{path}: {SCHEDULE} has pairs of participant {min(strangers)}, who is not in {PARTICIPANTS}")
    for who in people.to_dict("records"):
        expected = study.schedule(int(who["number"]), int(who["slot"]))
        found = by_number.get(who["number"])
        rows = (
            [] if found is None else list(zip(found["position"], found["a"], found["b"], found["design"], strict=True))
        )
        wanted = [(str(at), pair.a, pair.b, pair.design) for at, pair in enumerate(expected, start=1)]
        if rows != wanted:
            at = next((k for k, (one, other) in enumerate(zip(rows, wanted, strict=False)) if one != other), len(rows))
            raise InputError(
                f"{path}: participant {who['number']} was not shown what seed {study.settings.seed} asks for, "
                f"beginning with pair {at + 1}"
            )


def _check_answers(path: Path, study: StudyFolder, shown: pd.DataFrame, said: pd.DataFrame) -> set[tuple[str, str]]:
    """Every answer is to a pair that was shown, is allowed, and its versions are numbered without a gap."""
    places = set(zip(shown["number"], shown["position"], strict=True))
    allowed = {str(answer) for answer in study.settings.allowed_answers}
    versions: dict[tuple[str, str], int] = {}
    for row in said.to_dict("records"):
        place = (row["number"], row["position"])
        where = f"{path}: the answer of participant {place[0]} to pair {place[1]}"
        if place not in places:
            raise InputError(f"{where} is to a pair that was not shown")
        if row["answer"] not in allowed:
            raise InputError(f"{where} is {row['answer']!r}; allowed: {', '.join(sorted(allowed))}")
        if row["version"] != str(versions.get(place, 0) + 1):
            raise InputError(f"{where} has version {row['version']} where {versions.get(place, 0) + 1} was expected")
        versions[place] = versions.get(place, 0) + 1
    return set(versions)


def _check_ends(
    path: Path, people: pd.DataFrame, shown: pd.DataFrame, current: set[tuple[str, str]], closings: pd.DataFrame
) -> None:
    """Who finished has answered everything and closed; nobody else has closed."""
    finished = set(people.loc[people["stage"] == "finished", "number"])
    for number, position in zip(shown["number"], shown["position"], strict=True):
        if number in finished and (number, position) not in current:
            raise InputError(f"{path}: participant {number} finished, but pair {position} has no answer")
    odd = finished.symmetric_difference(closings["number"])
    if odd:
        raise InputError(f"{path}: participant {min(odd)} finished without closing, or closed without finishing")
