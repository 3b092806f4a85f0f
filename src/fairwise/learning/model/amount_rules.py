"""A mixture of models of amounts as rules in words: what is predicted is the mean of what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from fairwise.learning.model.questions import Person, Wording
from fairwise.learning.model.rules import ModelRules
from fairwise.learning.oracles.base import LabelArray


class AmountRules(ModelRules):
    """The rules of a model of amounts, each with its share: the amount of a person is the mean of what they say.

    The text is exact: whoever follows it in double precision gets the amounts of ``predict``, up to the rounding of a
    sum.
    """

    @classmethod
    def of(cls, *args: Any, **options: Any) -> Self:
        rules = super().of(*args, **options)
        return rules.in_language(str, str, tuple(rules.wording.number(float(str(one))) for one in rules.classes))

    @property
    def lead(self) -> str:
        """How the rules make an amount, in a sentence."""
        if len(self) == 1:
            return self.wording.say("The model gives an amount without chance, by one rule.")
        text = self.wording.say(
            "The model gives an amount without chance: the mean of what {count} rules say, each weighted by its share."
        )
        return text.format(count=len(self))

    def explained(self, name: object, person: Person, labels: LabelArray) -> AmountExplanation:  # type: ignore[override]
        """What the rules say about one person, to whom they give the amounts at these places of the grid ``(k,)``."""
        amounts = [float(str(self.classes[label])) for label in labels]
        rows = [
            {"rule": number, "weight": weight, "amount": amount, "because": rule.reason(person)}
            for number, ((weight, rule), amount) in enumerate(zip(self, amounts, strict=True), 1)
        ]
        mean = sum(weight * amount for weight, amount in zip(self.weights, amounts, strict=True))
        values = {column: person[column] for column in self.asked}
        return AmountExplanation(name, values, mean, pd.DataFrame(rows), self.wording)


@dataclass(frozen=True, eq=False, repr=False)
class AmountExplanation:
    """Why a person gets the amount that they get; ``str()`` for people, :meth:`to_frame` for programs.

    Attributes
    ----------
    person
        Their id, as in the table.
    values
        What is known of them in the columns that the rules ask about, None where it is missing.
    amount
        The mean of what the rules say, as ``predict`` has it.
    rules
        DataFrame with rule, weight, amount, because: what each rule says about them, and why.
    """

    person: object
    values: Person
    amount: float
    rules: pd.DataFrame
    wording: Wording

    def to_frame(self) -> pd.DataFrame:
        """A row for each rule: rule, weight, amount, because."""
        return self.rules.copy()

    def __str__(self) -> str:
        words = self.wording
        values = ", ".join(f"{words.column(name)} {words.value(name, value)}" for name, value in self.values.items())
        lines = [
            f"Person {self.person}: {words.number(self.amount)}.",
            *([f"What the rules ask about: {values}."] if values else []),
            "",
        ]
        for row in self.rules.to_dict("records"):
            because = f": {row['because']}" if row["because"] else ""
            said = words.number(row["amount"])
            lines.append(f"Rule {row['rule']}, share {words.share(row['weight'])}, says {said}{because}")
        return "\n".join(lines)

    __repr__ = __str__
