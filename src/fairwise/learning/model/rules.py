"""A mixture as rules in words, and what they say about one person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isnan
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import pandas as pd

from fairwise.errors import InputError
from fairwise.learning.encoding import NumberColumn, TableEncoder, numbers_of
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.model.point_rules import MostPointsRule, PointsRule, linear_rule, most_points_rule, readable
from fairwise.learning.model.questions import Person, Wording, quoted
from fairwise.learning.model.tree_rules import Labels, TreeRule, encoded_columns, merged, roots
from fairwise.learning.oracles.base import ClassArray, LabelArray
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.messages import Message
from fairwise.results.fits import RuleText
from fairwise.tables.columns import kind_of, to_pandas

if TYPE_CHECKING:
    from fairwise.learning.model.estimator_rules import EstimatorRule

Rule: TypeAlias = "TreeRule | PointsRule | MostPointsRule | EstimatorRule"


@dataclass(frozen=True, eq=False, repr=False)
class ModelRules:
    """A model as rules in words: ``str()`` for people, :meth:`to_frame` for programs; iterates over (weight, rule).

    The text is exact: whoever follows it in double precision, adding weights in the order of the rules, gets the
    probabilities of ``predict_proba`` for anyone, whatever their values (rules that name an estimator of one's own
    aside). Trees are shown merged into the regions that get the same probability, where that is shorter.

    Attributes
    ----------
    weights, rules
        The classifiers of the mixture, in its order.
    threshold
        None where the model decides by lot. Otherwise label 1 is for those for whom the weights of the rules that say
        so, added in their order, are at least this.
    """

    weights: tuple[float, ...]
    rules: tuple[Rule, ...]
    threshold: float | None
    classes: tuple[object, ...]
    wording: Wording

    @classmethod
    def of(
        cls,
        mixture: Mixture,
        encoder: TableEncoder | None,
        threshold: float | None,
        classes: ClassArray,
        *,
        named: bool,
        kinds: Mapping[str, str] | None = None,
    ) -> ModelRules:
        """The rules of a fitted model; columns without names of their own are called x0, x1 and so on.

        ``kinds`` says of each column whether it is "number" or "text" where there is no encoder.
        """
        names = list(kinds or ()) if encoder is None else [column.name for column in encoder.columns]
        columns = () if encoder is None else encoder.columns
        times = {column.name: column.kind for column in columns if isinstance(column, NumberColumn)}
        wording = Wording(
            label_words(classes),
            {} if named else {name: f"x{name}" for name in names},
            {name: kind for name, kind in times.items() if kind != "number"},
        )
        weights = tuple(map(float, mixture.weights))
        return cls(
            weights, tuple(_rules(mixture, encoder, kinds, wording)), threshold, tuple(classes.tolist()), wording
        )

    def for_people(self, columns: Mapping[str, str] | None = None, labels: tuple[str, ...] | None = None) -> Self:
        """The same with words for columns and labels where there are any, and long numbers rounded."""
        named = {**self.wording.columns, **(columns or {})}
        return self._worded(replace(self.wording, columns=named, labels=labels or self.wording.labels, exact=False))

    def in_language(
        self, say: Callable[[str], str], decimal: Callable[[str], str], labels: tuple[str, ...] | None = None
    ) -> Self:
        """The same in another language; what ``say`` and ``decimal`` do is told in :class:`Wording`."""
        return self._worded(replace(self.wording, say=say, decimal=decimal, labels=labels or self.wording.labels))

    def _worded(self, wording: Wording) -> Self:
        return replace(self, wording=wording, rules=tuple(replace(rule, wording=wording) for rule in self.rules))

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[tuple[float, Rule]]:
        return zip(self.weights, self.rules, strict=True)

    @cached_property
    def regions(self) -> TreeRule | None:
        """All rules in one, which gives everyone their probability; None where that is longer, or they are no trees.

        Of more than two labels rules are not merged.
        """
        if len(self.classes) > 2:
            only = self.rules[0] if len(self) == 1 else None
            return only if isinstance(only, TreeRule) else None
        certain = self.threshold is not None or self.weights == (1.0,)
        everyone = self._decided([None] * len(self))
        if everyone is not None:  # a threshold that nobody is below, or nobody reaches
            return TreeRule(everyone, self.wording, gives_labels=certain)
        trees = [rule.root for rule in self.rules if isinstance(rule, TreeRule)]
        root = merged(trees, self._decided) if len(trees) == len(self) else None
        if root is None:
            return None
        one = TreeRule(root, self.wording, gives_labels=certain)
        separate = sum(len(rule.lines()) + 2 for rule in self.rules)  # with a heading and an empty line
        return one if len(one.lines()) < separate else None

    def _decided(self, labels: Labels) -> float | None:
        """The probability of label 1 if these labels leave no doubt. Sums of more are more, also rounded."""
        least, most = (self._probability([other if label is None else label for label in labels]) for other in (0, 1))
        if self.threshold is not None:
            return 1.0 if least >= self.threshold else 0.0 if most < self.threshold else None
        return least if None not in labels else None

    def _probability(self, labels: Sequence[float]) -> float:
        """As :meth:`Mixture.probabilities` adds them."""
        total = 0.0
        for weight, label in zip(self.weights, labels, strict=True):
            total += weight * label
        return min(total, 1.0)

    @cached_property
    def columns(self) -> pd.Series[float]:
        """How much each column matters, from 0 to 1, the most important first.

        Of trees, how often a rule decides that asks about it: the total weight of those rules. Of points, which part of
        them it decides: of a number, the points for a step of about a standard deviation; of a category, the points
        between the best and the worst; as a share of all columns', averaged over the rules by weight. Empty for
        estimators that go by name, and for points of numbers that a Pipeline leaves unscaled: how far they spread is
        not known.
        """
        total = defaultdict[str, float](float)
        one = self.regions if self.threshold is not None else None
        for weight, rule in self if one is None else [(1.0, one)]:
            for column, share in rule.column_shares().items():
                if isfinite(share):
                    total[column] += weight * share
        ordered = sorted(total.items(), key=lambda one: (-one[1], one[0]))
        index = pd.Index([column for column, _ in ordered], name="column", dtype=object)
        return pd.Series([share for _, share in ordered], index, dtype=float, name="share")

    @property
    def asked(self) -> list[str]:
        """The columns that any rule asks about, the most important first."""
        named = (column for rule in self.rules for column in rule.column_shares())
        return list(dict.fromkeys([*map(str, self.columns.index), *named]))

    def to_frame(self) -> pd.DataFrame:
        """A row for each statement of each rule of the mixture: rule, weight, when, points, label.

        A tree has a row for each of its regions, with the label there; points have one for each column or category,
        then what follows from their sum.
        """
        rows = [
            (number, weight, one.when, one.points, None if one.label is None else self.classes[one.label])
            for number, (weight, rule) in enumerate(self, 1)
            for one in rule.statements()
        ]
        return pd.DataFrame(rows, columns=["rule", "weight", "when", "points", "label"]).astype({"label": object})

    # The text, in parts

    @property
    def lead(self) -> str:
        """How the rules decide, in a sentence."""
        say, merged_rule = self.wording.say, self.regions
        *others, last = self.wording.labels[::-1]
        which = say("{labels} or {last}").format(labels=", ".join(others), last=last)
        names = {"which": which, "one": self.wording.label(1), "zero": last, "count": len(self)}
        if merged_rule is not None and merged_rule.gives_labels and merged_rule.head:
            return say("The model decides without chance: everyone gets the same label.")
        if len(self) == 1:
            text = say("The model decides without chance, by one rule: {which}.")
        elif self.threshold is not None:
            names["limit"] = self.wording.number(self.threshold)
            text = (
                say(
                    "The model decides without chance, by {count} rules: {one} where the shares of those that say so, "
                    "added in their order, are at least {limit}; otherwise {zero}."
                )
                if merged_rule is None
                else say(
                    "The model decides without chance, by {count} rules that are merged here: {one} where the shares "
                    "of those that say so, added in their order, are at least {limit}; otherwise {zero}."
                )
            )
        elif merged_rule is None:
            text = say("The model decides by lot among {count} rules, each as often as its share: {which}.")
        else:
            text = say(
                "The model decides by lot among {count} rules, which are merged here into the probability of {one}."
            )
        return text.format(**names)

    def texts(self) -> list[RuleText]:
        """The rules, or the one that they are merged into."""
        if self.regions is not None:
            return [RuleText(1, None, self.regions.head, tuple(self.regions.lines()))]
        return [
            RuleText(number, weight, rule.head, tuple(rule.lines())) for number, (weight, rule) in enumerate(self, 1)
        ]

    def heaviest(self, most: int) -> list[RuleText]:
        """At most so many of the texts, those first that decide most often."""
        return sorted(self.texts(), key=lambda text: -(text.share or 0.0))[:most]

    def notes(self) -> list[str]:
        """What missing values count as, and which columns matter."""
        rules = self.rules if self.regions is None else (self.regions,)
        fills = {column: fill for rule in rules for column, fill in rule.fills().items()}
        say, percent = self.wording.say, replace(self.wording, exact=False).share
        counted = ", ".join(
            f"{self.wording.column(name)} {self.wording.value(name, fill)}" for name, fill in fills.items()
        )
        shares = ", ".join(f"{self.wording.column(str(name))} {percent(share)}" for name, share in self.columns.items())
        if any(isinstance(rule, PointsRule | MostPointsRule) for rule in self.rules):
            text = say("Columns, with the share of the points that each decides: {columns}")
        else:
            text = say("Columns, with the share of rules that ask about each: {columns}")
        return [
            *([say("Missing values count as: {columns}").format(columns=counted)] if counted else []),
            *([text.format(columns=shares)] if shares else []),
        ]

    def __str__(self) -> str:
        parts = [self.lead]
        for text in self.texts():
            head, indent = text.head, 0
            if text.share is not None:
                head, indent = f"Rule {text.number}, share {self.wording.share(text.share)}: {head}".rstrip(), 1
            lines = ("    " * (indent + depth) + line for depth, line in text.lines)
            parts.append("\n".join(filter(None, [head, *lines])))
        return "\n\n".join([*parts, *filter(None, ["\n".join(self.notes())])])

    __repr__ = __str__

    def explained(self, name: object, person: Person, labels: LabelArray) -> Explanation:
        """What the rules say about one person, to whom they give these labels ``(k,)``."""
        votes = [float(label) for label in labels]
        probability = self._probability([float(vote == 1) for vote in votes])
        chances = [self._probability([float(vote == label) for vote in votes]) for label in range(len(self.classes))]
        rows = [
            {"rule": number, "weight": weight, "label": self.classes[int(label)], "because": rule.reason(person)}
            for number, ((weight, rule), label) in enumerate(zip(self, votes, strict=True), 1)
        ]
        return Explanation(
            person=name,
            values={column: person[column] for column in self.asked},
            probability=probability if self.threshold is None else float(probability >= self.threshold),
            share=probability,
            threshold=self.threshold,
            region=None
            if self.regions is None
            else self.regions.reason(person) or self.wording.say("that holds for everyone"),
            rules=pd.DataFrame(rows),
            wording=self.wording,
            chances=tuple(chances),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a person gets what they get; ``str()`` for people, :meth:`to_frame` for programs.

    Attributes
    ----------
    person
        Their id, as in the table.
    values
        What is known of them in the columns that the rules ask about, None where it is missing.
    probability
        Of label 1, as ``predict_proba`` has it; 0 or 1 of a model that decides without chance.
    share, threshold
        What the weights of the rules that say label 1 add up to; and what they must reach, None where a lot decides.
    region
        Which region of the merged rules they are in; None where the rules are not merged.
    rules
        DataFrame with rule, weight, label, because: what each rule says about them, and why.
    chances
        Of every label, where there are more than two; then ``share`` and ``probability`` are of the second.
    """

    person: object
    values: Person
    probability: float
    share: float
    threshold: float | None
    region: str | None
    rules: pd.DataFrame
    wording: Wording
    chances: tuple[float, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """A row for each rule: rule, weight, label, because."""
        return self.rules.copy()

    def __str__(self) -> str:
        words, one = self.wording, self.wording.label(1)
        if len(words.labels) > 2:
            named = [(words.label(label), chance) for label, chance in enumerate(self.chances) if chance > 0]
            told = ", ".join(f"{label} with probability {words.share(chance)}" for label, chance in named)
            outcome = told if len(named) > 1 else f"{named[0][0]}, for certain"
        elif self.probability in (0.0, 1.0) or len(set(self.rules["label"])) == 1:  # weights add to 1 up to rounding
            outcome = f"{words.label(round(self.probability))}, for certain"
        else:
            outcome = f"{one} with probability {words.share(self.probability)}"
        values = ", ".join(f"{words.column(name)} {words.value(name, value)}" for name, value in self.values.items())
        lines = [
            f"Person {self.person}: {outcome}.",
            *([f"What the rules ask about: {values}."] if values else []),
            *([f"Because {self.region}."] if self.region else []),
            "",
        ]
        for row in self.rules.to_dict("records"):
            because = f": {row['because']}" if row["because"] else ""
            lines.append(
                f"Rule {row['rule']}, share {words.share(row['weight'])}, says {_label(row['label'])}{because}"
            )
        if len(words.labels) > 2:
            return "\n".join(lines)
        limit = "" if self.threshold is None else f"; at least {words.number(self.threshold)} are needed for it"
        total = f"The shares of the rules that say {one} add up to {words.share(self.share)}{limit}."
        return "\n".join([*lines, total])

    __repr__ = __str__


def table_of_one(person: object) -> object:
    """One person as a table of one row, from that or from a row of a table."""
    if isinstance(person, pd.Series):
        return person.to_frame().T.infer_objects()
    person = to_pandas(person)
    shape = person.shape if isinstance(person, pd.DataFrame) else np.asarray(person).shape
    if len(shape) != 2:
        raise InputError('explain takes one person, a table of one row such as people.loc[["p7"]].')
    if shape[0] != 1:
        raise InputError(f"explain takes one person, a table of one row; this one has {shape[0]}.")
    return person


def values_of(table: pd.DataFrame, names: Collection[str], encoder: TableEncoder | None) -> Person:
    """The first person of a table in the columns of these names, as the encoder reads them or as they are."""
    person: dict[str, float | str | None] = {}
    for position, name in enumerate(map(str, table.columns)):
        if name not in names:
            continue
        series = table.iloc[:1, position]
        own = None if encoder is None else encoder.columns[position]
        if isinstance(own, NumberColumn) or (encoder is None and kind_of(series) == "number"):
            number = float(numbers_of(series, own.kind if isinstance(own, NumberColumn) else "number")[0])
            person[name] = None if isnan(number) else number
        else:
            person[name] = None if series.isna().iloc[0] else str(series.astype(str).iloc[0])
    return person


def _rules(
    mixture: Mixture, encoder: TableEncoder | None, kinds: Mapping[str, str] | None, wording: Wording
) -> Iterator[Rule]:
    classifiers = mixture.classifiers
    if encoder is not None and isinstance(classifiers, TreeClassifiers):
        yield from (TreeRule(root, wording) for root in roots(classifiers, encoder))
    elif encoder is not None and isinstance(classifiers, LinearClassifiers):
        for coef, intercept in zip(classifiers.coef, classifiers.intercept, strict=True):
            if coef.ndim > 1:
                yield most_points_rule(coef, intercept, list(encoded_columns(encoder)), wording)
                continue
            yield linear_rule(*readable(coef, float(intercept)), 0.0, encoded_columns(encoder), wording)
    else:
        from fairwise.learning.model.estimator_rules import estimator_rules  # scikit-learn's models are slow to load
        from fairwise.learning.oracles.scikit_learn import FittedClassifiers

        if isinstance(classifiers, FittedClassifiers):
            yield from estimator_rules(classifiers, encoder, kinds, wording)


def label_words(classes: ClassArray) -> tuple[str, ...]:
    """What labels are called."""
    return tuple(map(_label, classes.tolist()))


def _label(label: object) -> str:
    return quoted(label) if isinstance(label, str) else Message("label {name}", name=str(label))
