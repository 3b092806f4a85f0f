"""A fitted model and what one may do with it: predict, look inside, simplify, save."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairwise.constraints.pairs import Weighting
from fairwise.errors import InputError, NotKeptError
from fairwise.judgments import Judgments
from fairwise.learning import inputs
from fairwise.learning.amounts import Amounts
from fairwise.learning.large.table import is_in_parts
from fairwise.learning.model import description
from fairwise.learning.model.deterministic import best_deterministic_rule
from fairwise.learning.model.draws import LabelPredictions
from fairwise.learning.model.mixture import (
    Columns,
    Measurement,
    Mixture,
    broken_rules,
    exceeded_limits,
    group_rule_table,
)
from fairwise.learning.model.rules import Explanation, ModelRules, label_words, table_of_one, values_of
from fairwise.learning.model.smaller import refuse_other_groups, refuse_other_training, smaller_mixture
from fairwise.learning.oracles.base import Classifiers, FloatArray, Rows
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.preparation import PreparedFit, PreparedProblem, prepare
from fairwise.learning.problem import Problem
from fairwise.learning.settings import count, share
from fairwise.learning.solvers.solution import Solution
from fairwise.messages import Message
from fairwise.results.certificate import Certificate
from fairwise.results.simpler_models import Derandomization, Simplification
from fairwise.tables.columns import to_pandas, used_columns

if TYPE_CHECKING:
    from onnx import ModelProto

Training: TypeAlias = tuple[PreparedProblem, Solution]
"""What a fit was made from, and what it found."""


class FittedMixture(LabelPredictions, ClassifierMixin, BaseEstimator):
    """A randomised classifier, its certificate, and the rules it was learned under; a subclass fits it."""

    gamma: float
    eta: float | None
    weighting: Weighting
    amounts_of_labels: Amounts | None = None  # what its labels are, where it is the model of a regressor

    def set_solution(self, X: object, prepared: PreparedProblem, solution: Solution) -> Self:
        validate_data(self, X, skip_check_array=True)  # remembers the columns' names and number
        self.classes_ = prepared.classes
        columns = X.columns.tolist() if isinstance(X, pd.DataFrame) else range(self.n_features_in_)
        self.features_ = used_columns(columns, prepared.settings.features)
        self._encoder, self._seed = prepared.encoder, prepared.seed
        self._column_kinds = None if self._encoder is not None else inputs.column_kinds(prepared.problem.points.rows)
        self._threshold: float | None = None
        for told in ("derandomization_", "simplification_"):
            self.__dict__.pop(told, None)
        # What the fit was made from, kept in memory for simplifying the model, never saved.
        self._training: Training | None = (prepared, solution)
        self._set_mixture(Mixture(solution.classifiers, solution.weights, len(self.classes_)), solution.error)
        return self

    @property
    def classifiers_(self) -> Classifiers:
        """The classifiers of the mixture."""
        return self._fitted("_mixture").classifiers  # type: ignore[no-any-return]

    @property
    def weights_(self) -> FloatArray:
        """How often each classifier decides."""
        return self._fitted("_mixture").weights  # type: ignore[no-any-return]

    @property
    def rules_(self) -> ModelRules:
        """The mixture as rules in words: ``print(model.rules_)``; in the file of a loaded model, too."""
        mixture, named = self._fitted("_mixture"), hasattr(self, "feature_names_in_")
        kinds = getattr(self, "_column_kinds", None)  # pickles of 0.1.0 have none
        return ModelRules.of(mixture, self._encoder, self._threshold, self.classes_, named=named, kinds=kinds)

    @property
    def columns_(self) -> pd.DataFrame:
        """Table of how each column was read, by its name: kind, categories, missing.

        The kind is number, date, duration or category, of which ``categories`` is the number; ``missing`` is whether
        training had missing values. A Pipeline reads columns itself: then there is only the kind, number or text.
        """
        check_is_fitted(self)
        if self._encoder is not None:
            return self._encoder.described()
        kinds = pd.Series(getattr(self, "_column_kinds", None) or {}, dtype=object)
        return pd.DataFrame({"kind": kinds}).rename_axis("column")

    def explain(self, person: object, rules: ModelRules | None = None) -> Explanation:
        """Which rules apply to this person, a row such as ``people.loc["p7"]`` or a table of one, and what they say.

        ``rules`` are the model's own in other words, such as ``model.rules_.for_people()``.
        """
        check_is_fitted(self)
        person = table_of_one(person)
        table = self._table(person)
        labels = self.classifiers_.labels(self._rows(person))[:, 0]
        rules = self.rules_ if rules is None else rules
        return rules.explained(table.index[0], values_of(table, rules.asked, self._encoder), labels)

    @property
    def prices_(self) -> pd.DataFrame:
        """What each judgment costs and what became of it: judge, a, b, answer, price, violation, excess, status.

        A model that was loaded has none, unless :meth:`load` is told where they were saved.
        """
        prices = self._fitted("_prices")
        if prices is None:
            raise NotKeptError(
                "This model was loaded from a file, and a model file holds no single judgment, so there are no prices. "
                "Save them beside it right after the fit, save('model.skops', prices='prices.parquet'), and load both: "
                "load('model.skops', prices='prices.parquet')."
            )
        return pd.DataFrame(prices)

    @property
    def trajectory_(self) -> pd.DataFrame:
        """One row per round or iteration: error, max_violation, gap."""
        columns = self._fitted("_trajectory")
        index = pd.RangeIndex(1, 1 + len(columns["error"]), name="round")
        return pd.DataFrame(columns, index=index, dtype=float)

    @property
    def n_iter_(self) -> int:
        """How many rounds or iterations the solver took."""
        return len(self._fitted("_trajectory")["error"])

    @property
    def group_rules_(self) -> pd.DataFrame:
        """The statistical rules on the training people: rule, value, limit, price (error per unit of the limit).

        ``value`` is fairlearn's signed gamma of the mixture (``+``: the group's rate less everyone's, ``-``: the other
        way round, the first of the two times the ratio where a ratio is bounded); ``limit`` is the difference bound, or
        the slack of the ratio bound, that was asked for.
        """
        numbers = dict.fromkeys(("value", "limit", "price"), float)  # also where there is no rule
        return pd.DataFrame(self._fitted("_group_rules")).astype({"rule": str, **numbers})

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
        """A model of fewer classifiers: the best found of at most ``max_classifiers`` that keeps the same rules.

        Without ``max_classifiers``, the fewest found that give up no more than ``tol`` of the error. Rules are kept as
        far as this model keeps them. What it costs is told in ``simplification_`` of the model returned.

        Right after a fit nothing else is needed. For a model that was loaded, give what it was fitted to again; what
        the fit found besides is then found again, which takes as long as the fit.
        """
        check_is_fitted(self)
        count(optional=True).check("max_classifiers", max_classifiers)
        prepared, solution = self._training_with(X, y, judgments, sample_weight, sensitive_features)
        smaller = self._twin((prepared, replace(solution, max_classifiers=max_classifiers)))
        if self._threshold is None:  # one rule otherwise
            smaller._set_mixture(*smaller_mixture(prepared, solution, self._mixture, max_classifiers))
        counts = len(self.weights_), len(smaller.weights_)
        smaller.simplification_ = Simplification.between(self.certificate_, smaller.certificate_, counts)
        return smaller

    def derandomize(
        self,
        X: object = None,
        y: object = None,
        *,
        judgments: Judgments | None = None,
        sample_weight: object = None,
        sensitive_features: object = None,
        mean_violation: float | None = None,
    ) -> Self:
        """A model that decides everyone for certain, where chance is not acceptable.

        Picks one rule among all classifiers that the fit found, all thresholds on the mixture's probability and both
        constants: one that keeps every statistical rule if there is any, that violates the judgments no more on
        average than ``mean_violation`` (None: than this model does), and of these the most accurate. What this adds,
        and each rule and how many judgments it breaks, is told in ``derandomization_`` of the model returned. Of more
        than two labels there are no thresholds: it is one of the classifiers, or one label for everyone.

        The rest is as in :meth:`simplify`: needed only for a model that was loaded.
        """
        check_is_fitted(self)
        share(optional=True).check("mean_violation", mean_violation)
        prepared, solution = self._training_with(X, y, judgments, sample_weight, sensitive_features)
        single = self._twin((prepared, solution))
        single.__dict__.pop("simplification_", None)
        before = single._measured().mean_answer_violation()
        allowed = before if mean_violation is None else float(mean_violation)
        labels = label_words(self.classes_)
        rule = best_deterministic_rule(
            prepared.problem, prepared.pairs, self._mixture, solution.pool, allowed, labels, prepared.oracle.constants()
        )
        single._threshold = rule.threshold
        single._set_mixture(rule.mixture, rule.error)
        broken = broken_rules(prepared.problem, single._reached(prepared.problem)[1])
        below = None
        if rule.outside_class and single.certificate_.gap < 0:
            below = Message("a threshold on a mixture is outside that class")
            below = Message("it breaks the rules and {why}", why=below) if any(broken) else below
        single.certificate_ = replace(single.certificate_, rule=rule.description, below_because=below)
        single.derandomization_ = Derandomization.between(
            rule.description,
            self.certificate_,
            single.certificate_,
            mean_violation=(before, rule.mean_violation),
            allowed=allowed,
            broken=broken,
            prices=single.prices_,
        )
        return single

    def card(self) -> str:
        """A model card in Markdown: what decides, who was asked, settings, what is proved, what is followed.

        It has the sections of skops' template, names no judge and no person, and works for a loaded model, too. What
        only you can say, such as what the model is for, is marked ``[More Information Needed]``.
        """
        from fairwise.learning.model.card import card  # skops is slow to load

        check_is_fitted(self)
        return card(self)

    def save(self, path: str | PathLike[str], *, prices: str | PathLike[str] | None = None) -> None:
        """Write the model as plain arrays (a ``.skops`` file, no pickle), so that :meth:`load` can read it.

        The file holds no single judgment. ``prices_``, which names who said what, is written to the file ``prices``
        (Parquet) if one is given. Where the model holds types of your own, a warning says which ones :meth:`load` must
        be told to trust.
        """
        from fairwise.learning.model.files import save  # skops is slow to load, and files are of models

        check_is_fitted(self)
        save(self, path, prices)

    @classmethod
    def load(
        cls, path: str | PathLike[str], trusted: list[str] | None = None, *, prices: str | PathLike[str] | None = None
    ) -> Self:
        """Read a model written by :meth:`save`; types that are neither plain nor scikit-learn's must be ``trusted``.

        ``prices`` is the file of its ``prices_``; without it the model has none.
        """
        from fairwise.learning.model.files import load  # as in save

        return load(cls, path, trusted, prices)

    def to_onnx(self, *, missing: str = "") -> ModelProto:
        """One ONNX graph from the people's own columns to ``probabilities`` ``(n, labels)``, as :meth:`predict_proba`.

        Each column is an input ``(n, 1)`` of its name: doubles for numbers, with NaN where one is missing, and text for
        everything else, with ``missing`` in its place. Needs the extra ``onnx``; ``docs/howto/onnx.md`` has an example.
        """
        from fairwise.learning.onnx import to_onnx  # an extra

        check_is_fitted(self)
        return to_onnx(self, missing)

    def _set_mixture(self, mixture: Mixture, error: float) -> Self:
        """Make this mixture the model, and measure it anew."""
        prepared, solution = self._after_fit()
        self._mixture = mixture
        measured, gamma = self._measured(), float(self.gamma)
        values = self._row_values(measured)
        certificate = measured.certificate(gamma, self.eta, self.weighting, error=error, amounts=self.amounts_of_labels)
        exceeded = exceeded_limits(prepared.problem, values, prepared.settings.tol)
        self.certificate_: Certificate = replace(certificate, warnings=(*certificate.warnings, *exceeded))
        columns = measured.price_columns(gamma).items()  # lists of a Series are made at once, of its array one by one
        self._prices: Columns | None = {name: pd.Series(column).tolist() for name, column in columns}
        self._trajectory = solution.trajectory
        self._group_rules = group_rule_table(prepared.problem, values, solution)
        return self

    def _measured(self) -> Measurement:
        prepared, solution = self._after_fit()
        is_solution = self._threshold is None and self._mixture.weights is solution.weights
        return Measurement(prepared, solution, None if is_solution else self._probability(prepared.judged_rows))

    def _row_values(self, measured: Measurement) -> FloatArray:
        """The value of every row ``(len(problem),)``; those of pairs are known without asking about anyone else."""
        problem = self._after_fit()[0].problem
        return measured.pair_values() if problem.groups is None else self._reached(problem)[1]

    def _reached(self, problem: Problem) -> tuple[float, FloatArray]:
        """Error, and the value of every row ``(len(problem),)``."""
        if self._threshold is not None:  # known only of people in memory
            labels = self._probability(problem.points.rows).astype(np.uint8)
            errors, values = problem.evaluate_labels(labels[None])
            return float(errors[0]), np.asarray(values[0], dtype=float)
        errors, values = problem.evaluate(self._mixture.classifiers)
        return float(self._mixture.weights @ errors), np.asarray(self._mixture.weights @ values)

    def _twin(self, training: Training) -> Self:
        twin = copy(self)
        twin._training = training
        return twin

    def label_probabilities(self, X: object) -> FloatArray:
        """As in :class:`LabelPredictions`; of trees only the columns that they look at are encoded."""
        trees = self._fitted("_mixture").classifiers
        if self._encoder is None or not isinstance(trees, TreeClassifiers):
            return super().label_probabilities(X)
        table = self._table(X)
        rows, mixture = self._encoder.unchanged(table), self._mixture
        if rows is None:
            used = trees.columns
            rows, mixture = (
                self._encoder.encode(table, order="F", only=used),
                replace(mixture, classifiers=trees.over(used)),
            )
        return self._decided(mixture.probabilities(rows))

    def _rows(self, X: object) -> Rows:
        """People as the classifiers see them."""
        table = self._table(X)
        return inputs.with_nan(table) if self._encoder is None else self._encoder.encode(table)

    def _table(self, X: object) -> pd.DataFrame:
        """People with the columns that the model uses."""
        check_is_fitted(self)
        if is_in_parts(X):
            raise InputError(
                "People are predicted for as a table in memory; a larger one part by part, such as "
                "people.map_partitions(model.predict_proba) with dask."
            )
        X = to_pandas(X)
        table = inputs.as_table(X, finite=self._encoder is not None)
        only_some = len(self.features_) < self.n_features_in_
        if not (only_some and isinstance(X, pd.DataFrame)):  # columns that are not used need not be there
            validate_data(self, X, reset=False, skip_check_array=True)
        if only_some:
            used_columns(table.columns, self.features_)  # refuses a table without one of them
            table = table[self.features_]
        return table

    def _probability(self, rows: Rows) -> FloatArray:
        return self._decided(self._mixture.probabilities(rows))

    def _decided(self, probability: FloatArray) -> FloatArray:
        """The same, or 0 and 1 where a threshold decides for certain."""
        return probability if self._threshold is None else (probability >= self._threshold).astype(float)

    def _fitted(self, name: str) -> Any:
        check_is_fitted(self)
        return getattr(self, name)

    def _after_fit(self) -> Training:
        if self._training is None:
            raise InputError(
                "A model that was saved, copied or fitted in blocks has no training people in memory. Give what it was "
                "fitted to again, as a table in memory: people, outcome, judgments=…"
            )
        return self._training

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram and, once fitted, the model and what is proved about it."""
        diagram: str = super()._html_repr()
        return f"{diagram}{description.to_html(self)}" if self.__sklearn_is_fitted__() else diagram

    def _get_fitted_attr_html(self, doc_link: str = "") -> dict[str, Any]:  # noqa: ARG002
        """Nothing in the diagram: scikit-learn would evaluate every attribute, tables of judgments among them."""
        return {}

    def _training_with(
        self, X: object, y: object, judgments: Judgments | None, sample_weight: object, sensitive_features: object
    ) -> tuple[PreparedFit, Solution]:
        """What the fit was made from and what it found; where that is given again, found again."""
        if X is None:
            if any(part is not None for part in (y, judgments, sample_weight, sensitive_features)):
                raise InputError("Give the training people, too: people, outcome, judgments=…; or nothing after a fit.")
            prepared, solution = self._after_fit()
            assert isinstance(prepared, PreparedFit), "of people in memory"
            return prepared, solution
        from fairwise.learning.solvers.dispatch import solve_with_context  # compiled code, slow to load

        if is_in_parts(X):
            raise InputError("The training people are needed as a table in memory, not one that is read in blocks.")
        if np.ndim(X := to_pandas(X)) != 2:
            raise InputError(
                "First come the training people, as a table; numbers are given by name: mean_violation=0.1."
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        settings = self.get_params(deep=False)
        given = judgments, sample_weight, sensitive_features
        prepared = prepare(settings, X, y, *given, encoder=self._encoder, amounts=self.amounts_of_labels)
        if not np.array_equal(prepared.classes, self.classes_):
            raise InputError(f"The outcomes are {prepared.classes.tolist()}, this model's {self.classes_.tolist()}.")
        solution = solve_with_context(prepared)
        again = self._twin((prepared, solution))
        error, _ = again._reached(prepared.problem)
        measured = again._measured()
        here = measured.certificate(float(self.gamma), self.eta, self.weighting, error=error)
        refuse_other_training(self.certificate_, here)
        values = again._row_values(measured)
        refuse_other_groups(self._group_rules, group_rule_table(prepared.problem, values, solution))
        return prepared, solution

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_mixture")

    def __getstate__(self) -> dict[str, Any]:
        """Without the training people: they are nobody's business but the fit's."""
        return {**super().__getstate__(), "_training": None}
