"""A fitted model of amounts and what one may do with it: predict, look inside, simplify, save."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.amounts import Amounts, numbers_of
from fairwise.learning.model.amount_rules import AmountExplanation, AmountRules
from fairwise.learning.model.draws import of_all_labels
from fairwise.learning.oracles.base import Classifiers, FloatArray
from fairwise.learning.problem import mean_value
from fairwise.results.certificate import Certificate
from fairwise.results.simpler_models import Simplification
from fairwise.tables.columns import to_pandas

if TYPE_CHECKING:
    from onnx import ModelProto

    from fairwise.learning.estimator import PairwiseFairClassifier


@dataclass(frozen=True, eq=False)
class AmountsOfPeople:
    """People with their amounts ``(n,)`` and how much each counts ``(n,)``."""

    table: Any
    amounts: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, X: object, y: object, sample_weight: object) -> AmountsOfPeople:
        X = to_pandas(X)
        table = inputs.as_table(X)
        return cls(X, numbers_of(y, table), inputs.person_weights(sample_weight, table))


class FittedAmounts(RegressorMixin, BaseEstimator):
    """A mixture of models of amounts: a fitted classifier whose labels are those of a grid; a subclass fits it."""

    loss: str
    larger_is_better: bool | None
    estimator: str

    def set_model(self, model: PairwiseFairClassifier, people: AmountsOfPeople) -> Self:
        """Make this fitted classifier the model, and say in units of the loss what is known about it."""
        self.set_parts(model)
        # Kept in memory for measuring a simpler model, never saved.
        self._people: AmountsOfPeople | None = people
        amounts = self.amounts
        self.certificate_: Certificate = replace(
            amounts.in_units(model.certificate_),
            mean_error=amounts.mean_loss(people.amounts, self.predict(people.table), people.weights),
        )
        return self

    def set_parts(self, model: PairwiseFairClassifier) -> None:
        """The classifier, which knows its amounts, and what scikit-learn wants to know of its columns."""
        self._model, self._people = model, None
        self.__dict__.pop("simplification_", None)
        self.n_features_in_, self.features_, self.amounts_ = model.n_features_in_, model.features_, self.amounts.grid
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_

    @property
    def amounts(self) -> Amounts:
        """The grid, its range, and what missing an amount costs."""
        amounts = self._fitted.amounts_of_labels
        assert amounts is not None, "the classifier of a regressor has them"
        return amounts

    def predict(self, X: object) -> FloatArray:
        """The mean amount of the mixture for each person ``(n,)``: the same for whoever is the same to the model."""
        amounts = self.amounts
        share = mean_value(self._model.label_probabilities(X), amounts.values)
        return np.asarray(amounts.low + (amounts.high - amounts.low) * share)

    def amount_probabilities(self, X: object) -> FloatArray:
        """``(n, k)`` how likely the mixture draws each of ``amounts_`` for each person; :meth:`predict` is its mean."""
        return of_all_labels(self._fitted.label_probabilities(X))

    def predict_value(self, X: object) -> FloatArray:
        """How well each person is treated, ``(n,)`` from 0 to 1: their amount as a share of the range, or 1 less it."""
        return self.amounts.shares(self.predict(X))

    def simplify(
        self,
        X: object = None,
        y: object = None,
        *,
        judgments: Judgments | None = None,
        sample_weight: object = None,
        sensitive_features: object = None,
        max_classifiers: int | None = None,
    ) -> Self:
        """A model of fewer rules, as :meth:`fairwise.PairwiseFairClassifier.simplify` makes one.

        What is kept and what it costs is about the mixture that draws amounts, in units of the loss.
        """
        given: dict[str, Any] = {"judgments": judgments, "sample_weight": sample_weight}
        smaller = self._fitted.simplify(
            X, y, **given, sensitive_features=sensitive_features, max_classifiers=max_classifiers
        )
        people = self._people if X is None else AmountsOfPeople.of(X, y, sample_weight)
        assert people is not None, "a model without its people is refused by now"
        twin = copy(self).set_model(smaller, people)
        counts = len(self.weights_), len(twin.weights_)
        twin.simplification_ = Simplification.between(self.certificate_, twin.certificate_, counts)
        return twin

    def derandomize(self, *_: object, **__: object) -> NoReturn:
        """Refused: what :meth:`predict` gives is no matter of chance."""
        raise InputError(
            "derandomize is for labels, which are drawn by lot. A model of amounts predicts the mean of its mixture, "
            "which is no matter of chance already."
        )

    def card(self) -> str:
        """A model card in Markdown, as that of a classifier: it names no judge and no person."""
        from fairwise.learning.model.card import card  # skops is slow to load

        check_is_fitted(self)
        return card(self)

    def to_onnx(self, *, missing: str = "") -> ModelProto:
        """One ONNX graph from the people's own columns to ``amounts`` ``(n, 1)``, as :meth:`predict`.

        Inputs are those of :meth:`fairwise.PairwiseFairClassifier.to_onnx`.
        """
        from fairwise.learning.onnx import amounts_to_onnx  # an extra

        return amounts_to_onnx(self._fitted, self.amounts, missing)

    def save(self, path: str | PathLike[str], *, prices: str | PathLike[str] | None = None) -> None:
        """Write the model as plain arrays (a ``.skops`` file, no pickle), so that :meth:`load` can read it.

        The file holds no single judgment; ``prices`` is where ``prices_`` go, as Parquet.
        """
        from fairwise.learning.model.files import save  # skops is slow to load, and files are of models

        check_is_fitted(self)
        save(self, path, prices)

    @classmethod
    def load(cls, path: str | PathLike[str], *, prices: str | PathLike[str] | None = None) -> Self:
        """Read a model written by :meth:`save`, and its ``prices_`` if their file is given."""
        from fairwise.learning.model.files import load  # as in save

        return load(cls, path, None, prices)

    @property
    def classifiers_(self) -> Classifiers:
        """The models of the mixture, by the place of each amount in the grid."""
        return self._fitted.classifiers_

    @property
    def weights_(self) -> FloatArray:
        """How much each of them counts."""
        return self._fitted.weights_

    @property
    def columns_(self) -> pd.DataFrame:
        """Table of how each column was read, as in :attr:`fairwise.PairwiseFairClassifier.columns_`."""
        return self._fitted.columns_

    @property
    def rules_(self) -> AmountRules:
        """The mixture as rules in words, which say amounts."""
        rules = self._fitted.rules_
        amounts = tuple(map(rules.wording.number, self.amounts_))
        told = AmountRules(rules.weights, rules.rules, rules.threshold, rules.classes, rules.wording)
        return told.in_language(str, str, amounts)

    def explain(self, person: object, rules: AmountRules | None = None) -> AmountExplanation:
        """Which rules apply to this person, and what they say.

        ``rules`` are the model's own in other words, such as ``model.rules_.for_people()``.
        """
        return self._fitted.explain(person, self.rules_ if rules is None else rules)  # type: ignore[return-value]

    @property
    def prices_(self) -> pd.DataFrame:
        """What each judgment costs, as loss per unit of gamma, and what became of it; none after :meth:`load` alone."""
        prices = self._fitted.prices_
        return prices.assign(price=prices["price"] * self.amounts.unit)

    @property
    def trajectory_(self) -> pd.DataFrame:
        """One row per iteration: error, max_violation, gap."""
        table = self._fitted.trajectory_
        return table.assign(error=table["error"] * self.amounts.unit, gap=table["gap"] * self.amounts.unit)

    @property
    def n_iter_(self) -> int:
        """How many iterations the search took."""
        return self._fitted.n_iter_

    @property
    def group_rules_(self) -> pd.DataFrame:
        """The loss of each group on the training people: rule, value, limit, price (loss per unit of the limit).

        ``value`` is the mean loss, as the rule's own loss counts it, of amounts drawn from the mixture; that of
        :meth:`predict`, which gives their means, is not above it. ``limit`` is the bound that was asked for.
        """
        rules = self._fitted.group_rules_
        return rules.assign(price=rules["price"] * self.amounts.unit)

    @property
    def _fitted(self) -> PairwiseFairClassifier:
        check_is_fitted(self)
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __getstate__(self) -> dict[str, Any]:
        """Without the training people: they are nobody's business but the fit's."""
        return {**super().__getstate__(), "_people": None}
