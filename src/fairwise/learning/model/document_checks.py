"""Checks of a model file: types that are safe to open, and parts that fit each other.

Fairwise's own classifiers are arrays, whose shapes and values are checked. Classifiers of scikit-learn are opened by
skops, whose types run nothing that the file brings. Their numbers are not checked, and scikit-learn's compiled code
trusts them: open such files only if you trust their author.
"""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from fairwise.learning.encoding import MAX_CATEGORIES, NumberColumn, TableEncoder
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, unpack
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.settings import LOSSES, MOST_AMOUNTS, PARITIES, Params
from fairwise.learning.target import AmountTarget

Document = dict[str, Any]
"""Content of a model file by name."""

_ROUNDING = 1e-6  # by how much the weights of a mixture may miss 1

_TRUSTED = {
    "builtins": "object",
    "functools": "partial",
    "numpy": (
        "amax amin around clip dtype floating generic inexact integer max mean median min nan_to_num number round std"
    ),
    "scipy._lib.array_api_compat.numpy._aliases": "asarray",
    "scipy.interpolate._bsplines": "BSpline _BSpline",  # the second of SciPy 1.18 and later: what the first holds
    "scipy.sparse._csc": "csc_array csc_matrix",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose._column_transformer": "make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.feature_selection._mutual_info": "mutual_info_classif",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression r_regression",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": (
        "CompoundKernel ConstantKernel DotProduct ExpSineSquared Exponentiation Hyperparameter Matern "
        "PairwiseKernel Product RBF RationalQuadratic Sum WhiteKernel"
    ),
    "sklearn.metrics._classification": (
        "accuracy_score balanced_accuracy_score brier_score_loss f1_score jaccard_score log_loss "
        "matthews_corrcoef precision_score recall_score"
    ),
    "sklearn.metrics._dist_metrics": (
        "ChebyshevDistance64 EuclideanDistance64 HaversineDistance64 ManhattanDistance64 MinkowskiDistance64"
    ),
    "sklearn.metrics._ranking": "average_precision_score roc_auc_score",
    "sklearn.metrics._scorer": "_CurveScorer _PassthroughScorer _Scorer",
    "sklearn.model_selection._split": (
        "GroupKFold KFold LeaveOneOut RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold "
        "StratifiedKFold StratifiedShuffleSplit"
    ),
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
    "sklearn.utils._bunch": "Bunch",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    "sklearn.utils.validation": "check_array",
}
SCIKIT_LEARN = frozenset(f"{module}.{name}" for module, names in _TRUSTED.items() for name in names.split())
"""Parts of fitted scikit-learn classifiers and of what stands before them in a Pipeline."""

FAIRLEARN = frozenset(
    f"fairlearn.reductions{module}.{name}"
    for module, names in {
        "._moments.utility_parity": PARITIES.values(),
        "._moments.bounded_group_loss": ("BoundedGroupLoss", "SquareLoss", "AbsoluteLoss"),
        "": ("AbsoluteLoss",),  # where it says that it is from, other than those beside it
    }.items()
    for name in names
)
"""Rules for groups, as they are given to ``group_constraints``."""


def trusted_types(kind: str) -> frozenset[str]:
    """Return the types that a model of this kind may hold; only models of scikit-learn's classifiers hold its types."""
    return FAIRLEARN | SCIKIT_LEARN if kind == "scikit-learn" else FAIRLEARN


def require(condition: object, sentence: str) -> None:
    """Raise a ValueError with this sentence unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


def check_document(document: Document, features: list[Any], encoder: TableEncoder | None, mixture: Mixture) -> None:
    """Raise a ValueError for the first part of a model file that does not fit the others."""
    n_columns, names, threshold = document["n_features"], document["feature_names"], document["threshold"]
    require(type(n_columns) is int and n_columns >= 1, "the number of columns is none")
    require(len(names) in {0, n_columns}, "there are more or fewer columns than names of columns")
    require(
        isinstance(features, list)
        and 1 <= len(features) <= n_columns
        and all(type(name) in (str, int) for name in features)
        and len(set(features)) == len(features)
        and (not names or set(features) <= set(names)),
        "it does not say which columns are used",
    )
    kinds = document.get("column_kinds")
    require(kinds is None or set(kinds.values()) <= {"number", "text"}, "a column is neither numbers nor text")
    classes = document["classes"]
    require(len(set(classes)) == len(classes) >= 2, "the outcomes are not two or more")
    require(threshold is None or len(classes) == 2, "a threshold is of two outcomes")
    require(type(document["seed"]) is int, "the seed is no whole number")
    require(threshold is None or (type(threshold) is float and not isnan(threshold)), "the threshold is no number")
    if encoder is not None:
        require(len(encoder.columns) == len(features), "more or fewer columns are encoded than are used")
        _check_encoder(encoder, features if names else [])
    _check_mixture(mixture, encoder)
    for table in (document["trajectory"], document["group_rules"]):
        require(len({len(column) for column in table.values()}) <= 1, "a table has columns of different lengths")


def _check_encoder(encoder: TableEncoder, names: list[str]) -> None:
    require(not names or names == [column.name for column in encoder.columns], "columns are encoded by other names")
    for column in encoder.columns:
        require(type(column.marks_missing) is bool, f"column {column.name!r} does not say whether values were missing")
        if isinstance(column, NumberColumn):
            numbers = (column.shift, column.scale, column.fill)
            require(
                all(type(number) is float and isfinite(number) for number in numbers) and column.scale > 0,
                f"column {column.name!r} is shifted or scaled by what is no number",
            )
            require(column.kind in ("number", "date", "duration"), f"column {column.name!r} is of no known kind")
        else:
            require(
                all(type(category) is str for category in column.categories)
                and len(set(column.categories)) == len(column.categories) <= MAX_CATEGORIES,
                f"column {column.name!r} has categories that are no text, or twice there, or too many",
            )


def _check_mixture(mixture: Mixture, encoder: TableEncoder | None) -> None:
    weights, classifiers = mixture.weights, mixture.classifiers
    require(
        isinstance(weights, np.ndarray)
        and weights.dtype == np.float64
        and weights.shape == (len(classifiers),)
        and len(weights) >= 1
        and bool((weights >= 0).all())
        and abs(float(weights.sum()) - 1.0) <= _ROUNDING,
        "the weights are not one for each classifier, from 0 up, and 1 together",
    )
    if isinstance(classifiers, FittedClassifiers):
        require(
            classifiers.thresholds.shape == (len(classifiers.members),)
            and all(
                0 <= member < mixture.n_labels if type(member) is int else hasattr(member, "predict")
                for member in classifiers.members
            ),
            "a classifier is none, or has no threshold",
        )
        return
    require(encoder is not None, "it is not said how columns are encoded")
    width = len(encoder.outputs) if encoder else 0
    if isinstance(classifiers, TreeClassifiers):
        require(classifiers.feature.max() < width, "a tree looks at a column that is not there")
        require(classifiers.leaf.max() < mixture.n_labels, "a tree decides what is no outcome")
    if isinstance(classifiers, LinearClassifiers):
        coef, intercept = classifiers.coef, classifiers.intercept
        labels = () if mixture.n_labels == 2 else (mixture.n_labels - 1,)
        require(
            coef.shape == (len(weights), *labels, width) and intercept.shape == (len(weights), *labels),
            "coefficients are not one for each column",
        )
        require(np.isfinite(coef).all() and np.isfinite(intercept).all(), "a coefficient is no number")


def members_of(packed: list[Any], transformers: list[Any], uses: Any) -> list[Any]:
    """Pipelines with their transformers; a ValueError where they are not those of :func:`pack`."""
    require(
        isinstance(uses, np.ndarray)
        and uses.dtype.kind in "iu"
        and uses.shape == (len(packed),)
        and bool(((uses >= -1) & (uses < len(transformers))).all())
        and all(type(member) is Pipeline for member, place in zip(packed, uses, strict=True) if place >= 0),
        "a Pipeline's transformers are not there",
    )
    return unpack(packed, transformers, uses)


def check_amounts(amounts: AmountTarget, settings: Params, classes: list[Any]) -> None:
    """Raise a ValueError for amounts that are none, or other than those that the classifier decides between."""
    low, high, size = amounts.low, amounts.high, amounts.size
    require(
        all(type(end) is float and isfinite(end) for end in (low, high)) and low < high and isfinite(high - low),
        "its amounts are from no number to another",
    )
    require(type(size) is int and 2 <= size <= MOST_AMOUNTS, "the number of its amounts is none")
    require(amounts.loss in LOSSES and amounts.loss == settings["loss"], "its loss is none, or another than it says")
    require(
        any(amounts.larger_is_better is allowed for allowed in (None, True, False))
        and amounts.larger_is_better == settings["larger_is_better"],
        "which amounts are better is not said, or twice",
    )
    require(
        len(classes) == size
        and all(type(one) is float for one in classes)
        and np.allclose(classes, amounts.classes, rtol=1e-9, atol=1e-9 * (high - low)),
        "it decides between other amounts",
    )
