"""Which types a model file may hold, beside plain values, arrays and scikit-learn's own estimators.

skops opens the latter by itself. These here hold settings and numbers, too: making one runs nothing that the file
brings, and what compiled code reads of it is checked after loading (:mod:`fairwise.learning.member_checks`).
"""

from __future__ import annotations

_DISTANCES = ("Chebyshev", "Euclidean", "Haversine", "Manhattan", "Minkowski")
_KERNELS = (
    *("CompoundKernel", "ConstantKernel", "DotProduct", "Exponentiation", "ExpSineSquared", "Hyperparameter"),
    *("Matern", "PairwiseKernel", "Product", "RationalQuadratic", "RBF", "Sum", "WhiteKernel"),
)
_SELECTION = ("chi2", "f_classif", "f_regression", "r_regression")
_SCORES = (
    *("accuracy_score", "balanced_accuracy_score", "brier_score_loss", "f1_score", "jaccard_score", "log_loss"),
    *("matthews_corrcoef", "precision_score", "recall_score"),
)
_SPLITS = (
    *("GroupKFold", "KFold", "LeaveOneOut", "RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit"),
    *("StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit"),
)
_FUNCTIONS = ("amax", "amin", "around", "clip", "max", "mean", "median", "min", "nan_to_num", "round", "std")
_KINDS_OF_COLUMNS = ("floating", "generic", "inexact", "integer", "number")

SCIKIT_LEARN = frozenset(
    (
        "builtins.object",
        "functools.partial",
        "numpy.dtype",
        *(f"numpy.{name}" for name in (*_FUNCTIONS, *_KINDS_OF_COLUMNS)),
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "scipy.interpolate._bsplines.BSpline",
        "scipy.interpolate._bsplines._BSpline",  # of SciPy 1.18 and later: what the one above holds
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        *(f"sklearn.feature_selection._univariate_selection.{name}" for name in _SELECTION),
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
        *(f"sklearn.metrics._classification.{name}" for name in _SCORES),
        *(f"sklearn.metrics._dist_metrics.{name}Distance64" for name in _DISTANCES),
        "sklearn.metrics._ranking.average_precision_score",
        "sklearn.metrics._ranking.roc_auc_score",
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        *(f"sklearn.model_selection._split.{name}" for name in _SPLITS),
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        "sklearn.utils.validation.check_array",
    )
)
"""Parts of fitted scikit-learn classifiers and of what stands before them in a Pipeline."""

FAIRLEARN = frozenset(
    f"fairlearn.reductions._moments.utility_parity.{name}"
    for name in (
        "DemographicParity",
        "EqualizedOdds",
        "ErrorRateParity",
        "FalsePositiveRateParity",
        "TruePositiveRateParity",
    )
)
"""Rules for groups, as they are given to ``group_constraints``."""


def trusted_types(kind: str) -> frozenset[str]:
    """What a model of this kind may hold: only one of scikit-learn's classifiers needs any of scikit-learn's types."""
    return FAIRLEARN | SCIKIT_LEARN if kind == "scikit-learn" else FAIRLEARN
