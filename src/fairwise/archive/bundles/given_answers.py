"""Check the answers of a bundle: each is to a pair that was shown, by someone who was there, when it could be given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.study.second_thoughts import Said, second_thoughts
from fairwise.study.stages import ANSWERING, Stage

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from fairwise.study.folder import StudyFolder

    Place = tuple[str, str]
    """The number of a participant, and the position of a pair."""

_ANSWERED = (*ANSWERING, Stage.FINISHED)


@dataclass(frozen=True, eq=False)
class GivenAnswers:
    """Who was there, what they were shown and what they said, every cell checked already."""

    path: Path
    study: StudyFolder
    people: pd.DataFrame
    shown: pd.DataFrame
    said: pd.DataFrame
    closings: pd.DataFrame

    @cached_property
    def current(self) -> set[Place]:
        """What was answered."""
        return set(zip(self.said["number"], self.said["position"], strict=True))

    def check(self) -> None:
        """Refuse the first thing that cannot be."""
        self._check_versions()
        self._check_stages_and_times()
        self._check_rounds()
        self._check_ends()

    def _refuse(self, place: Place, why: str) -> InputError:
        return InputError(f"{self.path}: the answer of participant {place[0]} to pair {place[1]} {why}")

    def _check_versions(self) -> None:
        """Every answer is to a pair that was shown, and its versions are numbered without a gap."""
        places = set(zip(self.shown["number"], self.shown["position"], strict=True))
        versions: dict[Place, int] = {}
        for number, position, version in zip(*(self.said[c] for c in ("number", "position", "version")), strict=True):
            place = number, position
            if place not in places:
                raise self._refuse(place, "is to a pair that was not shown")
            versions[place] = versions.get(place, 0) + 1
            if version != str(versions[place]):
                raise self._refuse(place, f"has version {version} where {versions[place]} was expected")

    def _check_stages_and_times(self) -> None:
        """Who answered had come to the pairs, and nobody did anything before they agreed."""
        stages = dict(zip(self.people["number"], self.people["stage"], strict=True))
        agreed = {
            number: datetime.fromisoformat(at)
            for number, at in zip(self.people["number"], self.people["consented_at"], strict=True)
        }
        for number, position, at in zip(*(self.said[c] for c in ("number", "position", "answered_at")), strict=True):
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
        """A second round follows a first one, of someone who came to it, and is about what they were shown again.

        Whether the study has a second look now does not matter: it may have been switched off since.
        """
        if "round" not in self.said:  # made before there were rounds
            return
        first: dict[Place, str] = {}
        again: dict[str, list[Place]] = {
            number: [] for number in self.people.loc[self.people["stage"] == Stage.SECOND_LOOK, "number"]
        }
        finished = set(self.people.loc[self.people["stage"] == Stage.FINISHED, "number"])
        for number, position, turn, answer in zip(
            *(self.said[c] for c in ("number", "position", "round", "answer")), strict=True
        ):
            place = number, position
            second = again.get(number, [])
            if turn == "1" and place in second:
                raise self._refuse(place, "is of round 1 where round 2 was expected")
            if turn == "2" and (place not in first or not (number in again or number in finished)):
                raise self._refuse(place, "is of round 2 where round 1 was expected")
            if turn == "1":
                first[place] = answer
            else:
                again.setdefault(number, []).append(place)
        for number, places in again.items():
            self._check_shown_again(number, places, first)

    def _check_shown_again(self, number: str, places: list[Place], first: dict[Place, str]) -> None:
        mine = self.shown[self.shown["number"] == number]
        rows = sorted(zip(mine["position"], mine["a"], mine["b"], strict=True), key=lambda row: int(row[0]))
        missing = [position for position, _, _ in rows if (number, position) not in first]
        if missing:
            raise InputError(
                f"{self.path}: participant {number} came to the second look, but pair {missing[0]} has no answer"
            )
        looks = {person: self.study.cards[person].rows for _, a, b in rows for person in (a, b)}
        said = [Said(int(position), a, b, Answer(first[number, position])) for position, a, b in rows]
        thoughts = second_thoughts(said, looks)
        if not thoughts:
            raise InputError(f"{self.path}: participant {number} came to a second look, but had nothing to look at")
        shown_again = {str(pair.position) for thought in thoughts for pair in thought.pairs}
        for place in places:
            if place[1] not in shown_again:
                raise self._refuse(place, "is of a second look, in which that pair was not shown")

    def _check_ends(self) -> None:
        """Who finished has answered everything and closed; nobody else has closed."""
        finished = set(self.people.loc[self.people["stage"] == Stage.FINISHED, "number"])
        for number, position in zip(self.shown["number"], self.shown["position"], strict=True):
            if number in finished and (number, position) not in self.current:
                raise InputError(f"{self.path}: participant {number} finished, but pair {position} has no answer")
        odd = finished.symmetric_difference(self.closings["number"])
        if odd:
            raise InputError(
                f"{self.path}: participant {min(odd)} finished without closing, or closed without finishing"
            )
