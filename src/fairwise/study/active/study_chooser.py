"""A study's active pairs: the same choice in the running study and years later, when somebody checks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairwise.study.active.chooser import ActiveChooser
from fairwise.study.active.features import is_number
from fairwise.study.active.parameters import restored
from fairwise.study.designs.draws import Purpose, stream
from fairwise.study.folder import PEOPLE
from fairwise.study.people_cards import ID

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fairwise.study.active.model import GivenAnswer
    from fairwise.study.designs import ShownPair
    from fairwise.study.folder import StudyFolder


@dataclass(frozen=True)
class Situation:
    """All that a choice follows from, beside the study and what all participants have in common."""

    participant_number: int
    position: int
    """Of the pair to choose."""

    own: Sequence[GivenAnswer]
    """The participant's current answers, in the order of positions: sums of numbers depend on it in the last digit."""

    laid_out: Collection[tuple[str, str]]
    """All pairs that this participant was shown or will be."""


@dataclass(frozen=True, eq=False)
class StudyChooser:
    """Knows a study and what was learned last; chance follows from the seed, the participant and the position."""

    chooser: ActiveChooser
    seed: int
    scores: Mapping[str, float] | None

    @classmethod
    def of(cls, study: StudyFolder) -> StudyChooser:
        """Return one that has learned nothing yet; it sees what participants see."""
        people = pd.read_parquet(study.path / PEOPLE).set_index(ID)
        for place, name in enumerate(people.columns):
            if not is_number(people[name]):
                people[name] = [card.rows[place].text for card in study.cards.values()]
        records = {person: card.rows for person, card in study.cards.items()}
        chooser = ActiveChooser.of(people, study.settings.allowed_answers, records)
        return cls(chooser, study.settings.seed, study.scores)

    def learned(self, answers: Sequence[GivenAnswer]) -> StudyChooser:
        """Return one that has learned from all these answers, and from no others."""
        return replace(self, chooser=self.chooser.learned(answers))

    def restored(self, parameters: str, learned_from: int) -> StudyChooser:
        """Return one that knows what was once learned."""
        return replace(self, chooser=restored(self.chooser, parameters, learned_from))

    def choose(self, now: Situation) -> ShownPair:
        """Return the pair; asked again, the same."""
        chance = stream(Purpose.ACTIVE, self.seed, now.participant_number, now.position)
        return self.chooser.choose(np.random.Generator(chance), now.own, also_shown=now.laid_out, scores=self.scores)
