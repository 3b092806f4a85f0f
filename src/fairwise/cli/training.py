"""What `fit`, `frontier` and `report` have in common: people, judgments and a model that fit together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairwise.cli.learning_options import require_direction

if TYPE_CHECKING:
    import pandas as pd

    from fairwise.cli.imported_answers import Account
    from fairwise.cli.judgments_options import JudgmentsOptions
    from fairwise.cli.learning_options import LearningOptions
    from fairwise.cli.people_options import PeopleOptions, TrainingPeople
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a fit needs, read and checked."""

    people: TrainingPeople
    judgments: Judgments
    account: Account | None
    settings: dict[str, Any]
    sensitive: pd.DataFrame | None
    seed: int

    @classmethod
    def read(
        cls, people: PeopleOptions, judgments: JudgmentsOptions, learning: LearningOptions, *, to_fit: bool = True
    ) -> Task:
        """Read both files and check every setting, before any long work."""
        known = people.read()
        settings = learning.settings(known)
        said, account = judgments.read(known.features)
        if to_fit:
            require_direction(learning.favorable_label, known, said.has_ordered)
        return cls(known, said, account, settings, learning.sensitive_features(known), learning.seed)

    def model(self) -> PairwiseFairClassifier:
        """Return a model with these settings, not fitted yet."""
        from fairwise.learning.estimator import PairwiseFairClassifier

        return PairwiseFairClassifier(**self.settings)

    def fitted(self, client: Any = None) -> PairwiseFairClassifier:
        """Return the model, fitted; by a dask cluster where there is a client of one."""
        return self.model().fit(
            self.people.features,
            self.people.outcome,
            judgments=self.judgments,
            sensitive_features=self.sensitive,
            client=client,
        )
