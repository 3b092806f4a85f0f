"""What a model decides: its labels in words, what each costs, and who gets which, or how large an amount."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairwise.auditing.error_measure import is_of_amounts
from fairwise.errors import InputError
from fairwise.messages import Message
from fairwise.numbers import record_number
from fairwise.tables.columns import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairwise.auditing.error_measure import Model
    from fairwise.constraints.pairs import FloatArray
    from fairwise.learning.estimator import PairwiseFairClassifier
    from fairwise.learning.regressor import PairwiseFairRegressor

    Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Labels:
    """Words for the labels; ``favorable`` is the position of the best one, None where nobody ordered a pair.

    ``label_values`` says how good each is, from 0 to 1; None of two labels of which one is good and the other is not.
    """

    words: tuple[str, ...]
    favorable: int | None
    label_values: tuple[float, ...] | None = None

    @classmethod
    def of(cls, model: Model, words: Mapping[object, str] | None) -> Labels:
        """The labels of a model, in these words where there are any; of amounts those of its grid."""
        if is_of_amounts(model):
            return cls._of_amounts(model, words)
        classes = list(model.classes_)
        own_words = {} if words is None else dict(words)
        unknown = [label for label in own_words if label not in classes]
        if unknown:
            raise InputError(f"labels: {unknown[0]!r} is no outcome of the model, whose outcomes are {model.classes_}")
        # A number says nothing without a word beside it; text speaks for itself.
        words_of: dict[object, str] = {
            label: Message("label {name}", name=str(label)) for label in classes if not isinstance(label, str)
        }
        words_of |= {label: str(text) for label, text in own_words.items()}
        favorable = None if model.favorable_label_ is None else classes.index(model.favorable_label_)
        return cls(tuple(words_of.get(label, str(label)) for label in classes), favorable, _values(model))

    @classmethod
    def _of_amounts(cls, model: PairwiseFairRegressor, words: Mapping[object, str] | None) -> Labels:
        if words:
            raise InputError("labels: a model of amounts has none; say what they are counted in by unit=.")
        grid, more = model.amounts_, model.larger_is_better
        favorable = None if more is None else len(grid) - 1 if more else 0
        return cls(tuple(map(record_number, grid)), favorable, tuple(map(float, model.amounts.shares(grid))))

    @property
    def treated(self) -> str:
        """Of two, the outcome whose probability is compared: the good one, or label 1 where no direction is needed."""
        return self.words[1 if self.favorable is None else self.favorable]

    @property
    def positive(self) -> str:
        """Of two, the outcome that rates of groups are about, whichever is good."""
        return self.words[1]

    @property
    def by_value(self) -> list[tuple[str, float]]:
        """Each label with how good it is, the best first; none where only one of two is good."""
        pairs = zip(self.words, self.label_values or (), strict=False)
        return sorted(pairs, key=lambda pair: -pair[1])

    def treatment(self, probability: FloatArray) -> FloatArray:
        """How well people are treated ``(n,)``, from the probabilities of all labels ``(n, k)``."""
        if self.label_values is not None:
            return np.asarray(probability @ np.array(self.label_values))
        return probability[:, 0] if self.favorable == 0 else probability[:, 1]


def _values(model: PairwiseFairClassifier) -> tuple[float, ...] | None:
    if model.label_values is None:
        return None
    from fairwise.learning.labels import class_values  # scikit-learn, a second to load

    values = class_values(model.label_values, model.classes_)
    return None if len(values) == 2 and set(values) == {0.0, 1.0} else tuple(float(value) for value in values)


def chances(model: Model, people: object) -> FloatArray:
    """``(n, k)`` how likely each label, or each amount of a model's grid, is for each person."""
    if is_of_amounts(model):
        return np.asarray(model.amount_probabilities(people))
    return np.asarray(model.predict_proba(people))


def outcome_numbers(outcome: object, people: pd.DataFrame, model: Model) -> pd.Series[Any]:
    """Which of the model's labels each outcome is, or each amount, in the order of people; a Series goes by id."""
    series = outcome if isinstance(outcome, pd.Series) else pd.Series(outcome, index=people.index)
    if not series.index.equals(people.index):
        missing = people.index.difference(series.index)
        if len(missing):
            raise InputError(f"outcome: nothing for {len(missing)} people, such as {missing[0]!r}")
        series = series.loc[people.index]
    if is_of_amounts(model):
        numbers = pd.to_numeric(series, errors="coerce").astype(float)
        if not np.isfinite(numbers).all():
            raise InputError(f"outcome: {series[~np.isfinite(numbers)].iloc[0]!r} is no amount")
        return numbers
    unknown = sorted({str(value) for value in series.unique()} - {str(label) for label in model.classes_})
    codes = series.map({label: place for place, label in enumerate(model.classes_.tolist())})
    if unknown or codes.isna().any():
        first = unknown[0] if unknown else series[codes.isna()].iloc[0]
        raise InputError(f"outcome: {first!r} is no outcome of the model, whose outcomes are {model.classes_}")
    return codes.astype(int)


def person_costs(model: Model, probability: FloatArray, codes: Codes) -> FloatArray:
    """What is decided about each person costs in the mean ``(n,)``; with no ``loss`` the chance of a wrong label.

    ``probability`` is that of all labels ``(n, k)``, ``codes`` which of ``classes_`` is right; of amounts how much is.
    """
    return np.asarray((probability * label_costs(model, codes)).sum(axis=1))


def constant_costs(model: Model, codes: Codes) -> FloatArray:
    """``(k,)`` the error of deciding each label for everyone."""
    return np.asarray(label_costs(model, codes).mean(axis=0))


def label_costs(model: Model, codes: Codes) -> FloatArray:
    """``(n, k)`` what each label, or amount of the grid, costs each person."""
    if is_of_amounts(model):
        return np.asarray(model.amounts.unit * model.amounts.losses(np.asarray(codes, dtype=float)))
    from fairwise.learning.labels import loss_matrix  # as above

    return np.asarray(loss_matrix(model.loss, model.classes_)[np.asarray(codes, dtype=np.intp)])


def decision_table(probability: FloatArray, codes: Codes | None, groups: pd.DataFrame | None) -> pd.DataFrame:
    """Who gets which decision: a line for each label and everyone (no ``attribute``), then for each group.

    ``decision`` is the place of the label; ``given`` the mean chance of getting it. With outcomes ``codes``:
    ``really``, for how many it is right; ``right``, of those who get it, for how many it is right; ``reached``, of
    those for whom it is right, how many get it (NaN where there is nobody).
    """
    lines = []
    for attribute, group, members in parts_of(len(probability), groups):
        for decision, chance in enumerate(probability[members].T):
            line: dict[str, Any] = {"attribute": attribute, "group": group, "decision": decision}
            line |= {"people": len(chance), "given": float(chance.mean())}
            if codes is not None:
                is_right = np.asarray(codes)[members] == decision
                both, given, really = float(chance[is_right].sum()), float(chance.sum()), int(is_right.sum())
                line |= {
                    "really": float(is_right.mean()),
                    "right": both / given if given > 0 else np.nan,
                    "reached": both / really if really else np.nan,
                }
            lines.append(line)
    return pd.DataFrame(lines)


def parts_of(n_people: int, groups: pd.DataFrame | None) -> Iterator[tuple[str, str, Any]]:
    """Everyone, then each group of each column: its column, its name, and who is in it ``(n,)``."""
    yield "", "", np.ones(n_people, dtype=bool)
    for name, values in () if groups is None else groups.items():
        texts = values.astype(str)
        for group in in_order(texts.unique()):
            yield str(name), group, (texts == group).to_numpy()


@dataclass(frozen=True, eq=False)
class AmountsGiven:
    """The range of a model's amounts, what they are counted in, and who gets how much.

    ``table`` has a line for everyone (no ``attribute``), then for each group: ``people``, ``given`` (their mean
    amount), ``value`` (how well they are treated, from 0 to 1); with outcomes ``recorded``, the mean of those, and
    ``loss``, what the amounts given miss them by, squared or absolute, on average.
    """

    low: float
    high: float
    size: int
    unit: str
    larger_is_better: bool | None
    table: pd.DataFrame

    @classmethod
    def of(
        cls, model: Model, people: Any, outcome: pd.Series[float] | None, groups: pd.DataFrame | None, unit: str
    ) -> AmountsGiven | None:
        """None for a model of labels."""
        if not is_of_amounts(model):
            return None
        amounts, given = model.amounts, model.predict(people)
        lines = []
        for attribute, group, members in parts_of(len(given), groups):
            line: dict[str, Any] = {"attribute": attribute, "group": group, "people": int(members.sum())}
            line |= {"given": float(given[members].mean()), "value": float(amounts.shares(given[members]).mean())}
            if outcome is not None:
                own = np.asarray(outcome)[members]
                line |= {"recorded": float(own.mean())}
                line |= {"loss": amounts.mean_loss(own, given[members], np.ones(len(own)))}
            lines.append(line)
        ends = amounts.low, amounts.high, amounts.size
        return cls(*ends, unit, amounts.larger_is_better, pd.DataFrame(lines))

    @property
    def grid(self) -> FloatArray:
        """``(k,)`` the amounts that the model mixes."""
        return np.linspace(self.low, self.high, self.size)

    def amount(self, value: float) -> float:
        """The amount of someone who is treated so well, from 0 to 1."""
        share = 1.0 - value if self.larger_is_better is False else value
        return self.low + (self.high - self.low) * share
