"""The judges of a study as a group: who they are, how far they agree, and how steady they are.

Also rules of a committee side by side: what each costs, and who is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.auditing import checks
from fairwise.auditing.audit import audit
from fairwise.errors import InputError
from fairwise.judgments import (
    check_failures,
    find_conflicts,
    krippendorff_alpha,
    position_bias,
    repeat_consistency,
)

if TYPE_CHECKING:
    from fairwise.judgments import Judgments
    from fairwise.judgments.aggregation import Rule
    from fairwise.judgments.agreement import Agreement
    from fairwise.judgments.conflicts import Conflicts
    from fairwise.judgments.reliability import CheckFailures, PositionBias, RepeatConsistency
    from fairwise.learning.estimator import PairwiseFairClassifier

EVERYONE = "everyone"


@dataclass(frozen=True, eq=False)
class Panel:
    """The judges as a group.

    ``n_simulated`` of the judges are programs. ``n_affected`` of the others are affected by such decisions, as far as
    the attribute ``affected`` says; it is not known of ``n_not_known``. ``designs`` counts rows by how their pair was
    chosen; ``n_not_counted`` of the rows only measure reliability or were answered anew.
    """

    n_judges: int
    n_simulated: int
    n_rows: int
    n_not_counted: int
    designs: dict[str, int]
    n_affected: int
    n_not_known: int
    agreement: Agreement
    agreement_on_same: Agreement
    conflicts: Conflicts
    repeats: RepeatConsistency
    sides: PositionBias
    checks: CheckFailures

    @property
    def all_simulated(self) -> bool:
        """Whether there are judges, and no real person is among them."""
        return 0 < self.n_judges == self.n_simulated

    @classmethod
    def of(cls, judgments: Judgments, *, simulated: bool = False) -> Panel:
        frame, affected = judgments.frame, [] if simulated else list(judgments.affected.values())
        return cls(
            n_judges=judgments.n_judges,
            n_simulated=judgments.n_judges if simulated else len(judgments.simulated),
            n_rows=len(frame),
            n_not_counted=len(frame) - len(judgments.counted()),
            designs={str(name): int(count) for name, count in frame["design"].value_counts().items()},
            n_affected=affected.count(True),
            n_not_known=affected.count(None),
            agreement=krippendorff_alpha(judgments),
            agreement_on_same=krippendorff_alpha(judgments, "same or not"),
            conflicts=find_conflicts(judgments),
            repeats=repeat_consistency(judgments),
            sides=position_bias(judgments),
            checks=check_failures(judgments),
        )


def compare_rules(
    model: PairwiseFairClassifier,
    people: pd.DataFrame,
    outcome: object,
    judgments: Judgments,
    rules: Mapping[str, Rule | None],
    *,
    by: str | None = None,
) -> pd.DataFrame:
    """Compare models learned under different rules of a committee: what they cost and whom they follow.

    Parameters
    ----------
    model : PairwiseFairClassifier
        Settings of every fit; it is not fitted itself.
    people, outcome, judgments
        As for ``fit``, with people as a DataFrame.
    rules : mapping
        By a name of your own: a rule of :meth:`fairwise.Judgments.aggregated`, or None, with which every judgment
        counts by itself and ``eta`` says how much may be left aside.
    by : str, optional
        An attribute of the judges: also say it for each of its values.

    Returns
    -------
    DataFrame
        By rule and group of judges (``"everyone"``, then the values of ``by``): ``error`` of the model; ``pairs``, how
        many pairs are in force under the rule; ``share_followed``, the share of what the group's judges asked for that
        the model follows, whatever the rule made of it; ``least_followed``, the same of who gets least among them.
    """
    judgments = checks.some_judgments(judgments)
    attributes = judgments.judge_attributes
    if by is not None and by not in attributes:
        known = ", ".join(map(repr, attributes.columns)) or "none"
        raise InputError(f"by={by!r}: the judges have no such attribute; there is {known}")
    if not rules:
        raise InputError('rules: none given; allowed: {"all": None, "majority": "majority"}, one or more by name')
    lines = []
    for name, rule in rules.items():
        in_force = judgments if rule is None else judgments.aggregated(rule)
        fitted = type(model)(**model.get_params(deep=False)).fit(people, outcome, judgments=in_force)
        scores = pd.Series(fitted.predict_proba(people)[:, 1], index=people.index)
        favorable = None if fitted.favorable_label_ is None else list(fitted.classes_).index(fitted.favorable_label_)
        judges = audit(scores, judgments.asked(), float(model.gamma), favorable).by_judge.set_index("judge")
        groups = {EVERYONE: judges}
        if by is not None:
            groups |= {str(value): judges.loc[list(who)] for value, who in attributes.groupby(by).groups.items()}
        asked = fitted.prices_[fitted.prices_["status"] != "asks nothing"]
        for group, table in groups.items():
            lines.append(
                {
                    "rule": name,
                    "group": group,
                    "error": fitted.certificate_.error,
                    "pairs": len({frozenset(pair) for pair in zip(asked["a"], asked["b"], strict=True)}),
                    "share_followed": table["followed"].sum() / max(table["in_force"].sum(), 1),
                    "least_followed": table["share_followed"].min(),
                }
            )
    return pd.DataFrame(lines).set_index(["rule", "group"])
