"""Results of making a model simpler: what it costs to decide without chance, or with fewer classifiers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairwise.constraints.pairs import JUDGE
from fairwise.constraints.violations import ASKS_NOTHING, NOT_FOLLOWED
from fairwise.messages import Message, marked
from fairwise.results.base import Result
from fairwise.results.certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd

_EQUAL = 1e-9  # smaller differences between two rules are rounding
_MEASURED = ("error", "max_violation", "mean_violation", "mean_excess")


_RATES = {
    ("DemographicParity", "all"): marked("share with label 1"),
    ("ErrorRateParity", "all"): marked("error rate"),
    ("TruePositiveRateParity", "label=1"): marked("true positive rate"),
    ("FalsePositiveRateParity", "label=0"): marked("false positive rate"),
    ("EqualizedOdds", "label=1"): marked("true positive rate"),
    ("EqualizedOdds", "label=0"): marked("false positive rate"),
}


def group_rule(name: str) -> str:
    """Describe a statistical rule of fairlearn, as in "false positive rate: Female above everyone".

    Its name is ``moment sign event group``; other rules keep their names.
    """
    moment, sign, event, group = (*name.split(" ", 3), "", "", "")[:4]
    if (moment, event) not in _RATES or sign not in ("+", "-"):
        return name
    rate = Message(_RATES[moment, event])
    if sign == "+":
        return Message("{rate}: {group} above everyone", rate=rate, group=group)
    return Message("{rate}: {group} below everyone", rate=rate, group=group)


@dataclass(frozen=True)
class Derandomization(Result):
    """Costs of deciding without chance: the rule, what it adds to error and violations, and what it breaks.

    Attributes
    ----------
    mean_violation, mean_violation_allowed
        Weighted mean over all judgments that ask for something (a certificate's is over the ``same`` answers alone),
        and what it was to be at most.
    group_rules_broken
        By how much each statistical rule that is broken is over its limit.
    budgets_broken
        By how much each budget (``panel`` is eta's) is overspent.
    judgments_broken, judgments_counted
        How many judgments are broken beyond gamma, of how many that ask for something.
    largest_excess
        By how much beyond gamma, at most.
    """

    rule: str
    error: float
    error_added: float
    max_violation: float
    max_violation_added: float
    mean_violation: float
    mean_violation_added: float
    mean_violation_allowed: float
    mean_excess: float
    mean_excess_added: float
    group_rules_broken: dict[str, float]
    budgets_broken: dict[str, float]
    judgments_broken: int
    judgments_counted: int
    largest_excess: float

    @classmethod
    def between(
        cls,
        rule: str,
        before: Certificate,
        after: Certificate,
        *,
        mean_violation: tuple[float, float],
        allowed: float,
        broken: tuple[dict[str, float], dict[str, float]],
        prices: pd.DataFrame,
    ) -> Derandomization:
        """Compare the certificates of both models, their mean violations, and what the new model breaks.

        ``broken`` are the statistical rules and the budgets, ``prices`` is the new model's table of judgments.
        """
        return cls(
            rule=rule,
            error=after.error,
            error_added=after.error - before.error,
            max_violation=after.max_violation,
            max_violation_added=after.max_violation - before.max_violation,
            mean_violation=mean_violation[1],
            mean_violation_added=mean_violation[1] - mean_violation[0],
            mean_violation_allowed=allowed,
            mean_excess=after.mean_excess,
            mean_excess_added=after.mean_excess - before.mean_excess,
            group_rules_broken=broken[0],
            budgets_broken=broken[1],
            judgments_broken=int((prices["status"] == NOT_FOLLOWED).sum()),
            judgments_counted=int((prices["status"] != ASKS_NOTHING).sum()),
            largest_excess=float(prices["excess"].max()) if len(prices) else 0.0,
        )

    def without_judges(self) -> Derandomization:
        """Return the same without the names of judges, for a file that others read."""
        single = {name: by for name, by in self.budgets_broken.items() if getattr(name, "template", "") == JUDGE}
        others = {name: by for name, by in self.budgets_broken.items() if name not in single}
        worst = Message.plural("the worst of {count:,} judge", "the worst of {count:,} judges", len(single))
        return replace(self, budgets_broken=others | ({worst: max(single.values())} if single else {}))

    def __str__(self) -> str:
        promise = f"{self.mean_violation_added:+z.4f}; allowed {self.mean_violation_allowed:.4f}"
        if self.mean_violation > self.mean_violation_allowed + _EQUAL:
            promise += ", which no rule found keeps together with the group rules"
        lines = [
            f"Decides without chance         {self.rule}",
            f"Error on the training people   {self.error:.4f}   ({self.error_added:+z.4f})",
            f"Mean violation of judgments    {self.mean_violation:.4f}   ({promise})",
            f"Judgments broken               {self.judgments_broken} of {self.judgments_counted}"
            + (f", by at most {self.largest_excess:.4f} beyond gamma" if self.judgments_broken else ""),
            f"Group rules broken             {_listed(self.group_rules_broken)}",
            f"Budgets broken                 {_listed(self.budgets_broken)}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Simplification(Result):
    """Costs of fewer classifiers: how many are left, and what that adds to error and violations.

    Every rule that the model kept is kept, and none is broken by more: a violation that is added is within gamma, or
    within what a budget allows.
    """

    classifiers: int
    classifiers_removed: int
    error: float
    error_added: float
    max_violation: float
    max_violation_added: float
    mean_violation: float
    mean_violation_added: float
    mean_excess: float
    mean_excess_added: float

    @classmethod
    def between(cls, before: Certificate, after: Certificate, counts: tuple[int, int]) -> Simplification:
        """Compare the certificates of both models, which have so many classifiers."""
        measured = {name: getattr(after, name) for name in _MEASURED}
        added = {f"{name}_added": getattr(after, name) - getattr(before, name) for name in _MEASURED}
        return cls(classifiers=counts[1], classifiers_removed=counts[0] - counts[1], **measured, **added)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Classifiers                    {self.classifiers}   ({self.classifiers_removed} fewer)",
                f"Error on the training people   {self.error:.4f}   ({self.error_added:+z.4f})",
                f"Largest violation of a pair    {self.max_violation:.4f}   ({self.max_violation_added:+z.4f})",
                f"Mean violation of 'same'       {self.mean_violation:.4f}   ({self.mean_violation_added:+z.4f})",
                f"Mean excess over gamma         {self.mean_excess:.4f}   ({self.mean_excess_added:+z.4f})",
            ]
        )


def _listed(broken: dict[str, float]) -> str:
    return ", ".join(f"{name} by {by:.4f}" for name, by in broken.items()) or "none"
