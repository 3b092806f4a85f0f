"""Check active pairs: every choice is made again, from the model it names, the answers before it, and the seed.

What this cannot show: that the models follow from the answers. They were also learned from people who withdrew, whose
answers are in no bundle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairwise.archive.bundles.contents import ANSWER_MODELS, ANSWERS, SCHEDULE
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.study.active import ACTIVE
from fairwise.study.active.chooser import Situation
from fairwise.study.active.model import GivenAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from fairwise.archive.bundles.archive import Bundle
    from fairwise.study.active.chooser import StudyChooser
    from fairwise.study.designs import ShownPair

    Row = Mapping[str, str]

# Sums of the same numbers differ in the last digits between machines.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class ActiveChoices:
    """All that a bundle says about how its active pairs were chosen."""

    path: Path
    nobody: StudyChooser
    models: Mapping[str, StudyChooser]
    """By number; nothing had been learned under the empty one."""

    @classmethod
    def of(cls, path: Path, bundle: Bundle, nobody: StudyChooser) -> ActiveChoices:
        """Read the models; refuse a bundle that cannot say how its pairs were chosen."""
        if ANSWER_MODELS not in bundle.files:
            raise InputError(f"{path}: {ANSWER_MODELS} is missing, without which active pairs cannot be checked")
        for name, columns in ((SCHEDULE, ("answer_model", "answers_known")), (ANSWERS, ("sequence",))):
            missing = [column for column in columns if column not in bundle.table(name)]
            if missing:
                raise InputError(f"{path}: {name} has no column {missing[0]!r}: active pairs cannot be checked")
        models = {"": nobody}
        for row in bundle.table(ANSWER_MODELS).to_dict("records"):
            try:
                models[row["number"]] = nobody.restored(row["parameters"], int(row["learned_from"]))
            except (InputError, ValueError) as error:
                raise InputError(f"{path}: model {row['number']} of {ANSWER_MODELS}: {error}") from None
        return cls(path, nobody, models)

    def check_order(self, said: Sequence[Row]) -> None:
        """Refuse answers whose order is not clear, or that came before what they replace."""
        came = sorted(said, key=lambda row: _whole(row["sequence"]))
        versions: dict[tuple[str, str], int] = {}
        for at, row in enumerate(came, start=1):
            place = row["number"], row["position"]
            versions[place] = versions.get(place, 0) + 1
            if row["sequence"] != str(at) or row["version"] != str(versions[place]):
                raise InputError(
                    f"{self.path}: the answer of participant {place[0]} to pair {place[1]} came as number "
                    f"{row['sequence']!r}, which cannot be"
                )

    def check(self, number: str, places: Sequence[ShownPair | None], shown: Sequence[Row], said: Sequence[Row]) -> None:
        """Refuse the first of a participant's active pairs that was not chosen as it is said to be."""
        answers = sorted(said, key=lambda row: int(row["sequence"]))
        begun = {int(row["position"]) for row in answers}
        chosen = {int(row["position"]): row for row in shown if row["design"] == ACTIVE}
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
        own = [GivenAnswer("", *laid_out[at], answer) for at, answer in sorted(current.items())]
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


def rows_of(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a table, every cell a text."""
    names = [str(name) for name in table.columns]
    return [dict(zip(names, cells, strict=True)) for cells in table.itertuples(index=False, name=None)]


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
