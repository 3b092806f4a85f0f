"""Check the answers of a bundle: each is to a pair that was shown, by someone who could give it, when they could.

Active pairs are chosen again, from the model that each names, the answers before it, and the seed. This cannot show
that the models follow from the answers: they were also learned from people who withdrew, whose answers are in no
bundle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.archive.bundle import ANSWER_MODELS, Bundle
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.judgments.answer import PairDesign
from fairwise.study.active import ParticipantAnswer, Situation, StudyChooser
from fairwise.study.folder import StudyFolder
from fairwise.study.quality import contradictions
from fairwise.study.schedules import PairAnswer, ShownPair
from fairwise.study.settings import ANSWERING, Stage

if TYPE_CHECKING:
    Row = Mapping[str, str]
    Place = tuple[str, str]
    """Number of a participant, and position of a pair."""

# Sums of the same numbers differ in the last digits between machines.
_CLOSE = 1e-6
_ANSWERED = (*ANSWERING, Stage.FINISHED)


@dataclass(frozen=True, eq=False)
class AnswerCheck:
    """Participants, their pairs and answers, with every cell checked already."""

    path: Path
    study: StudyFolder
    people: pd.DataFrame
    schedule: pd.DataFrame
    versions: pd.DataFrame
    closings: pd.DataFrame
    discussed: Collection[frozenset[str]] = ()
    """Pairs of the study's second round, if it had one: then nobody had a second look of their own."""

    @cached_property
    def current(self) -> set[Place]:
        """Places that have an answer."""
        return set(zip(self.versions["number"], self.versions["position"], strict=True))

    def check(self) -> None:
        """Refuse the first answer that cannot be."""
        self._check_versions()
        self._check_stages_and_times()
        self._check_rounds()
        self._check_ends()

    def _refuse(self, place: Place, why: str) -> InputError:
        return InputError(f"{self.path}: the answer of participant {place[0]} to pair {place[1]} {why}")

    def _check_versions(self) -> None:
        """Check that every answer is to a pair that was shown, with versions numbered without gaps."""
        places = set(zip(self.schedule["number"], self.schedule["position"], strict=True))
        counts: dict[Place, int] = {}
        for number, position, version in zip(
            *(self.versions[c] for c in ("number", "position", "version")), strict=True
        ):
            place = number, position
            if place not in places:
                raise self._refuse(place, "is to a pair that was not shown")
            counts[place] = counts.get(place, 0) + 1
            if version != str(counts[place]):
                raise self._refuse(place, f"has version {version} where {counts[place]} was expected")

    def _check_stages_and_times(self) -> None:
        """Check that participants who answered had come to the pairs, and did nothing before they agreed."""
        stages = dict(zip(self.people["number"], self.people["stage"], strict=True))
        agreed = {
            number: datetime.fromisoformat(at)
            for number, at in zip(self.people["number"], self.people["consented_at"], strict=True)
        }
        for number, position, at in zip(
            *(self.versions[c] for c in ("number", "position", "answered_at")), strict=True
        ):
            if stages[number] not in _ANSWERED:
                raise self._refuse((number, position), f"is of someone who had only come to {stages[number]!r}")
            if datetime.fromisoformat(at) < agreed[number]:
                raise self._refuse((number, position), f"came at {at}, before they agreed to take part")
        for number, ended in zip(self.people["number"], self.people["finished_at"], strict=True):
            who = f"{self.path}: participant {number}"
            if (stages[number] == Stage.FINISHED) != (ended != ""):
                raise InputError(f"{who} is at {stages[number]!r}, and finished at {ended!r}, which cannot be")
            if ended and datetime.fromisoformat(ended) < agreed[number]:
                raise InputError(f"{who} finished at {ended}, before they agreed to take part")

    def _check_rounds(self) -> None:
        """Check that a second round follows a first one, of someone who came to it, about pairs they were shown again.

        The study's present setting of second looks does not matter: it may have been switched off since.
        """
        # Rooms talk about the fixed pairs.
        in_rooms = self.study.schedules.fixed if self.study.settings.deliberation.rooms else ()
        discussed = self.discussed or {frozenset(two) for two in in_rooms}
        first: dict[Place, str] = {}
        again: dict[str, list[Place]] = {
            number: [] for number in self.people.loc[self.people["stage"] == Stage.SECOND_LOOK, "number"]
        }
        finished = set(self.people.loc[self.people["stage"] == Stage.FINISHED, "number"])
        for number, position, turn, answer in zip(
            *(self.versions[c] for c in ("number", "position", "round", "answer")), strict=True
        ):
            place = number, position
            second = again.get(number, [])
            if turn == "1" and place in second:
                raise self._refuse(place, "is of round 1 where round 2 was expected")
            came = number in again or number in finished or bool(discussed)
            if turn == "2" and (place not in first or not came):
                raise self._refuse(place, "is of round 2 where round 1 was expected")
            if turn == "1":
                first[place] = answer
            else:
                again.setdefault(number, []).append(place)
        for number, places in again.items():
            if discussed:
                self._check_discussed(places, discussed)
            else:
                self._check_shown_again(number, places, first)

    def _check_discussed(self, places: list[Place], discussed: Collection[frozenset[str]]) -> None:
        people = zip(*(self.schedule[c] for c in ("number", "position", "a", "b")), strict=True)
        shown = {(number, position): frozenset(two) for number, position, *two in people}
        for place in places:
            if shown[place] not in discussed:
                raise self._refuse(place, "is of a second round that was not about that pair")

    def _check_shown_again(self, number: str, places: list[Place], first: dict[Place, str]) -> None:
        mine = self.schedule[self.schedule["number"] == number]
        rows = sorted(zip(mine["position"], mine["a"], mine["b"], strict=True), key=lambda row: int(row[0]))
        missing = [position for position, _, _ in rows if (number, position) not in first]
        if missing:
            raise InputError(
                f"{self.path}: participant {number} came to the second look, but pair {missing[0]} has no answer"
            )
        arms = dict(zip(self.people["number"], self.people["arm"], strict=True))
        cards = self.study.first.in_arm(arms[number] or None).cards
        looks = {person: cards[person].rows for _, a, b in rows for person in (a, b)}
        first_answers = [PairAnswer(int(position), a, b, Answer(first[number, position])) for position, a, b in rows]
        found = contradictions(first_answers, looks)
        if not found:
            raise InputError(f"{self.path}: participant {number} came to a second look, but had nothing to look at")
        shown_again = {str(pair.position) for one in found for pair in one.pairs}
        for place in places:
            if place[1] not in shown_again:
                raise self._refuse(place, "is of a second look, in which that pair was not shown")

    def _check_ends(self) -> None:
        """Check that exactly those who finished have closing answers, and have answered everything."""
        finished = set(self.people.loc[self.people["stage"] == Stage.FINISHED, "number"])
        for number, position in zip(self.schedule["number"], self.schedule["position"], strict=True):
            if number in finished and (number, position) not in self.current:
                raise InputError(f"{self.path}: participant {number} finished, but pair {position} has no answer")
        odd = finished.symmetric_difference(self.closings["number"])
        if odd:
            raise InputError(
                f"{self.path}: participant {min(odd)} finished without closing, or closed without finishing"
            )


@dataclass(frozen=True, eq=False)
class ActivePairCheck:
    """Models of a bundle that chose its active pairs."""

    path: Path
    nobody: StudyChooser
    models: Mapping[str, StudyChooser]
    """Models by number; the empty one had learned nothing."""

    @classmethod
    def of(cls, path: Path, bundle: Bundle, nobody: StudyChooser) -> ActivePairCheck:
        """Read the models that chose them."""
        models = {"": nobody}
        for row in bundle.table(ANSWER_MODELS).to_dict("records"):
            try:
                models[row["number"]] = nobody.restored(row["parameters"], int(row["learned_from"]))
            except (InputError, ValueError) as error:
                raise InputError(f"{path}: model {row['number']} of {ANSWER_MODELS}: {error}") from None
        return cls(path, nobody, models)

    def check_order(self, versions: Sequence[Row]) -> None:
        """Refuse answers whose order is not clear, or that came before what they replace."""
        came = sorted(versions, key=lambda row: _whole(row["sequence"]))
        counts: dict[Place, int] = {}
        for at, row in enumerate(came, start=1):
            place = row["number"], row["position"]
            counts[place] = counts.get(place, 0) + 1
            if row["sequence"] != str(at) or row["version"] != str(counts[place]):
                raise InputError(
                    f"{self.path}: the answer of participant {place[0]} to pair {place[1]} came as number "
                    f"{row['sequence']!r}, which cannot be"
                )

    def check(
        self, number: str, places: Sequence[ShownPair | None], schedule: Sequence[Row], versions: Sequence[Row]
    ) -> None:
        """Refuse the first of a participant's active pairs that was not chosen as it is said to be."""
        answers = sorted(versions, key=lambda row: int(row["sequence"]))
        begun = {int(row["position"]) for row in answers}
        chosen = {int(row["position"]): row for row in schedule if row["design"] == PairDesign.ACTIVE}
        for place, pair in enumerate(places, start=1):
            if pair is None and (place in chosen) != (place - 1 in begun):
                said_so = "is missing" if place - 1 in begun else "was chosen before the one before it was answered"
                raise InputError(f"{self._where(number, place)} {said_so}")
        laid_out = {at: (pair.a, pair.b) for at, pair in enumerate(places, start=1) if pair is not None}
        for place, row in sorted(chosen.items(), key=lambda item: _whole(item[1]["answers_known"])):
            self._check_one(number, place, row, answers, laid_out)
            laid_out[place] = row["a"], row["b"]

    def _check_one(
        self, number: str, place: int, row: Row, answers: Sequence[Row], laid_out: Mapping[int, tuple[str, str]]
    ) -> None:
        where, known = self._where(number, place), _whole(row["answers_known"])
        last = answers[known - 1] if 0 < known <= len(answers) else None
        if last is None or (last["position"], last["version"]) != (str(place - 1), "1"):
            raise InputError(
                f"{where} is said to be chosen after {row['answers_known']!r} answers, the last of which is not the "
                f"first to pair {place - 1}"
            )
        if row["answer_model"] not in self.models:
            raise InputError(f"{where} names model {row['answer_model']!r}, which is not in {ANSWER_MODELS}")
        current = {int(answer["position"]): Answer(answer["answer"]) for answer in answers[:known]}
        own = [ParticipantAnswer("", *laid_out[at], answer) for at, answer in sorted(current.items())]
        again = self.models[row["answer_model"]].choose(Situation(int(number), place, own, [*laid_out.values()]))
        if (row["a"], row["b"]) != (again.a, again.b):
            raise InputError(
                f"{where} is not what its model, the answers before it and the seed ask for: "
                f"{row['a']!r} and {row['b']!r} in place of {again.a!r} and {again.b!r}"
            )
        if not math.isclose(_number(row["selection_probability"]), again.selection_probability or 0.0, rel_tol=_CLOSE):
            raise InputError(
                f"{where} was drawn with probability {again.selection_probability!r}, not "
                f"{row['selection_probability']}"
            )

    def _where(self, number: str, place: int) -> str:
        return f"{self.path}: participant {number}: the active pair {place}"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
