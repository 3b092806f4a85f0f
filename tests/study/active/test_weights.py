"""What docs/active.md tells to do with an export of a mixed study gives the truth; forgetting the weights does not."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise.judgments import Answer, Judgments
from fairwise.judgments.answer import PairDesign
from fairwise.study.active import ParticipantAnswer, Situation, StudyChooser

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairwise.study.folder import StudyFolder

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "active.md").read_text(encoding="utf-8")


def share_of_same() -> Any:
    """As it is written there."""
    names: dict[str, Any] = {"__name__": "page"}
    snippet = next(text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def share_of_same" in text)
    exec(compile(snippet, "active.md", "exec"), names)
    return names["share_of_same"]


def said_of(a: str, b: str) -> Answer:
    """Everyone agrees: whoever is at most three years apart is the same."""
    ages = (int(person.removeprefix("known-as-")) for person in (a, b))
    return Answer.SAME if abs(next(ages) - next(ages)) <= 3 else Answer.NO_CONSTRAINT


def export_of(study: StudyFolder, chooser: StudyChooser, number: int) -> list[dict[str, Any]]:
    """The rows of one participant, who goes from place to place."""
    places = study.places(number, number)
    laid_out = {at: (pair.a, pair.b) for at, pair in enumerate(places, start=1) if pair is not None}
    rows = []
    for at, pair in enumerate(places, start=1):
        if pair is None:
            own = [ParticipantAnswer("", *laid_out[k], said_of(*laid_out[k])) for k in range(1, at)]
            pair = chooser.choose(Situation(number, at, own, [*laid_out.values()]))  # noqa: PLW2901
            laid_out[at] = pair.a, pair.b
        chance = pair.selection_probability
        rows.append({"judge": f"p{number}", "a": pair.a, "b": pair.b, "answer": said_of(pair.a, pair.b).value,
                     "design": pair.design, "selection_probability": chance})  # fmt: skip
    return rows


@pytest.mark.parametrize("participants", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_weighted_shares_of_a_mixed_study_are_right(make_study: Callable[..., StudyFolder], participants: int) -> None:
    study = make_study(pairs=9, design={"anchors": 2, "anchor_pool": 5, "repeats": 1, "active": 4}, answers="two")
    nobody = StudyChooser.of(study)
    every = list(combinations(study.person_ids, 2))
    known = nobody.learned([ParticipantAnswer(str(k), a, b, said_of(a, b)) for k in range(3) for a, b in every])
    choosy = replace(known, chooser=replace(known.chooser, answers_so_far=10_000))
    truth = np.mean([said_of(a, b) == Answer.SAME for a, b in every])
    share, plain, weighted = share_of_same(), [], []
    for number in range(1, participants + 1):
        table = pd.DataFrame(export_of(study, choosy, number))
        weighted.append(share(Judgments(table), len(study.pairs)))
        plain.append((table.loc[table["design"] == PairDesign.ACTIVE, "answer"] == "same").mean())
    errors = [(np.mean(found) - truth) / (np.std(found) / len(found) ** 0.5) for found in (weighted, plain)]
    assert abs(errors[0]) < 3
    assert abs(errors[1]) > 5
