"""Which types a model file may hold, and checks of those whose content compiled code reads.

skops opens plain values, arrays and scikit-learn's own estimators by itself. The types named here hold settings and
numbers, too: making one runs nothing that the file brings. But compiled code looks up children, columns and classes in
memory without asking whether they are there: a changed number ends the interpreter, or reads what is none of its
business. So all of them are looked at once, after loading.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline, _bsplines
from scipy.sparse import issparse, sparray, spmatrix
from sklearn.compose import ColumnTransformer
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.neighbors import BallTree, KDTree
from sklearn.neighbors._base import NeighborsBase
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import TREE_LEAF, Tree
from sklearn.utils.validation import check_array

from fairwise.learning.oracles.base import IntArray
from fairwise.learning.settings import PARITIES

_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)
_BITS = 256  # of a set of categories
_NUMBERS_OF_SPLINE = getattr(_bsplines, "_BSpline", BSpline)  # since SciPy 1.18 in an object inside


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
    """What a model of this kind may hold: only one of scikit-learn's classifiers needs any of scikit-learn's types."""
    return FAIRLEARN | SCIKIT_LEARN if kind == "scikit-learn" else FAIRLEARN


def require(condition: object, sentence: str) -> None:
    if not condition:
        raise ValueError(sentence)


def check_members(members: object) -> None:
    """Raise a ValueError for the first part, however deep inside, that compiled code could stumble over."""
    for part in parts_of(members):
        for kind, check in _CHECKS:
            if isinstance(part, kind):
                check(part)


def parts_of(whole: object) -> Iterator[object]:
    """Every object that can be reached from here, once; code is not looked into."""
    seen: dict[int, object] = {}  # kept, so that no other object gets the number of one that is gone
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, _CODE):
            continue
        seen[id(part)] = part
        yield part
        if isinstance(part, np.ndarray) and part.dtype.hasobject:  # arrays do not tell the collector what they hold
            waiting += part.ravel().tolist()
        waiting += gc.get_referents(part)


def _check_children(where: IntArray, children: list[IntArray], n_nodes: int, what: str) -> None:
    """Children come after their parents, as scikit-learn writes them: so all are there, and no path is endless."""
    for child in children:
        require(((child > where) & (child < n_nodes)).all(), f"{what} has a child that is no node, or an endless path")


def _within(values: ArrayLike, n: int) -> bool:
    """Whether all are whole numbers from 0 to n - 1."""
    given = np.asarray(values)
    return given.dtype.kind in "iu" and bool(((given >= 0) & (given < n)).all())


def _check_tree(tree: Tree) -> None:
    # Before anything of it is read: attributes are views of so many nodes, whether they are there or not.
    require(1 <= tree.node_count <= tree.capacity, "a decision tree has more nodes than are written, or none")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = np.flatnonzero(left != TREE_LEAF)
    _check_children(inner, [left[inner], right[inner]], tree.node_count, "a decision tree")
    require(_within(feature[inner], tree.n_features), "a decision tree looks at a column that is not there")


def _check_decision_tree(model: BaseDecisionTree) -> None:
    fitted = vars(model)
    if "tree_" in fitted:
        require(isinstance(fitted["tree_"], Tree), "a decision tree has no tree")
        # What scikit-learn checks of the rows it is given, and only if it is known.
        require(
            fitted.get("n_features_in_") == fitted["tree_"].n_features,
            "a decision tree was made for another number of columns",
        )


def _check_gradient_boosting(model: BaseGradientBoosting) -> None:
    fitted = vars(model)
    if "estimators_" in fitted:
        trees = fitted["estimators_"]
        require(
            isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.shape[0] >= 1 and trees.shape[1] == 1,
            "boosted trees are not one in each step",
        )
        for tree in trees.ravel().tolist():
            require(
                isinstance(tree, BaseDecisionTree)
                and fitted.get("n_features_in_") == vars(tree).get("n_features_in_")
                and "tree_" in vars(tree),
                "a boosted tree was made for another number of columns",
            )


def _check_histogram_boosting(model: BaseHistGradientBoosting) -> None:
    fitted = vars(model)
    if "_predictors" not in fitted:
        return
    require(not fitted.get("_in_fit"), "boosted trees say that their fit is not over")
    n_columns, bins = fitted["n_features_in_"], vars(fitted["_bin_mapper"])
    categorical = np.asarray(bins["is_categorical_"], dtype=bool)
    known = bins["bin_thresholds_"]
    require(
        type(n_columns) is int and categorical.shape == (n_columns,) and len(known) == n_columns,
        "boosted trees know bins of another number of columns",
    )
    for column in np.flatnonzero(categorical):
        values = np.asarray(known[column], dtype=float)
        require(((values >= 0) & (values < _BITS)).all(), "a category's number is above 255")
    _check_encoded_columns(fitted["_preprocessor"], n_columns)
    for trees in fitted["_predictors"]:
        for tree in trees:
            _check_predictor(vars(tree), categorical)


def _check_encoded_columns(encoder: ColumnTransformer | None, n_columns: int) -> None:
    """What boosted trees put before themselves turns as many columns into as many."""
    if encoder is None:
        return
    require(type(encoder) is ColumnTransformer, "boosted trees encode columns in another way than scikit-learn's")
    (_, ordinal, first), (_, function, second), *rest = encoder.transformers_
    require(
        type(ordinal) is OrdinalEncoder
        and type(function) is FunctionTransformer
        and getattr(function.func, "func", None) is check_array
        and all(transformer == "drop" for _, transformer, _ in rest)
        and np.array_equal(np.asarray(first), ~np.asarray(second))
        and np.asarray(first).dtype == bool
        and np.asarray(first).shape == (n_columns,),
        "boosted trees encode columns in another way than scikit-learn's",
    )


def _check_predictor(tree: dict[str, Any], categorical: NDArray[np.bool_]) -> None:
    nodes, sets = tree["nodes"], tree["raw_left_cat_bitsets"]
    require(nodes.ndim == 1 and len(nodes) >= 1, "a boosted tree has no nodes")
    require(sets.ndim == 2 and sets.shape[1] * sets.itemsize * 8 == _BITS, "a boosted tree's sets are too small")
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    _check_children(inner, [nodes["left"][inner], nodes["right"][inner]], len(nodes), "a boosted tree")
    require(
        _within(nodes["feature_idx"][inner], len(categorical)), "a boosted tree looks at a column that is not there"
    )
    by_category = nodes[inner][nodes["is_categorical"][inner] != 0]
    require(
        _within(by_category["bitset_idx"], len(sets)) and categorical[by_category["feature_idx"]].all(),
        "a boosted tree asks for categories that it does not know",
    )


def _build_anew(tree: KDTree | BallTree) -> None:
    """The order of points and the boxes around them follow from the points: the file's are not used."""
    points, _, _, _, leaf_size, *_, metric, weight = tree.__getstate__()
    require(np.isfinite(points).all(), "a search tree has points that are no numbers")
    tree.__setstate__(type(tree)(points, leaf_size=leaf_size, metric=metric, sample_weight=weight).__getstate__())


def _check_neighbors(model: NeighborsBase) -> None:
    fitted = vars(model)
    if "_fit_X" not in fitted:
        return
    points = fitted["_fit_X"]
    require(
        points.ndim == 2
        and points.shape == (fitted["n_samples_fit_"], fitted["n_features_in_"])
        and (fitted.get("n_neighbors") or 0) <= len(fitted.get("_y", range(points.shape[0]))),
        "neighbours are of another number of columns, or too few",
    )
    if "classes_" in fitted:
        require(
            np.shape(fitted["_y"]) == (points.shape[0],) and _within(fitted["_y"], len(fitted["classes_"])),
            "a neighbour has a class that is not there",
        )


def _check_support_vectors(model: BaseLibSVM) -> None:
    fitted = vars(model)
    if "support_vectors_" not in fitted:
        return
    counts, support, vectors = fitted["_n_support"], fitted["support_"], fitted["support_vectors_"]
    k, n = len(counts), len(support)
    pairs_of_classes = k * (k - 1) // 2
    classifies = "classes_" in fitted
    coefficients = fitted["_dual_coef_"]
    require(
        k >= 2
        and (not classifies or (k == len(fitted["classes_"]) and (counts >= 0).all() and counts.sum(dtype=int) == n))
        and coefficients.size == (k - 1) * n  # of a sparse one: what is stored
        and coefficients.shape == (k - 1, n)
        and np.shape(fitted["_intercept_"]) == (pairs_of_classes,)
        and all(np.shape(fitted[name]) in {(0,), (pairs_of_classes,)} for name in ("_probA", "_probB"))
        and np.shape(fitted["_probA"]) == np.shape(fitted["_probB"])
        and _within(support, fitted["shape_fit_"][0])
        and issparse(vectors) == bool(fitted["_sparse"])
        and (fitted["kernel"] == "precomputed" or vectors.shape == (n, fitted["n_features_in_"])),
        "support vectors, their classes and their coefficients are of different numbers",
    )


def _check_one_hot(encoder: OneHotEncoder) -> None:
    """Each category has a column: of sparse rows, compiled code looks up columns by these numbers."""
    fitted = vars(encoder)
    if "categories_" not in fitted:
        return
    categories, dropped = fitted["categories_"], fitted["_drop_idx_after_grouping"]
    groups = fitted.get("_default_to_infrequent_mappings") or [None] * len(categories)
    require(
        list(fitted["_n_features_outs"]) == encoder._compute_n_features_outs() and len(groups) == len(categories),
        "categories and their columns are of different numbers",
    )
    for column, known in enumerate(categories):
        numbers = known[~np.isnan(known)] if known.dtype.kind == "f" else known
        require(
            known.dtype.kind == "O" or (numbers[1:] > numbers[:-1]).all(), "categories are there twice, or in no order"
        )
        left_out = None if dropped is None else dropped[column]
        n_columns = encoder._n_features_outs[column] + (left_out is not None)
        require(left_out is None or _within(left_out, n_columns), "a category that is not there is left out")
        require(
            n_columns == len(known)
            if groups[column] is None
            else len(groups[column]) == len(known) and _within(groups[column], n_columns),
            "a category is in a group that is not there",
        )


def _check_spline(spline: BSpline) -> None:
    """Knots in order and as many coefficients as they ask for: what its own constructor checks."""
    fresh = type(spline)(spline.t, spline.c, spline.k, extrapolate=spline.extrapolate, axis=spline.axis)
    spline.__dict__.update(fresh.__dict__)


def _check_sparse(matrix: object) -> None:
    if hasattr(matrix, "check_format"):  # csr and csc, the only ones that are opened unasked
        matrix.check_format(full_check=True)


_CHECKS: tuple[tuple[type, Callable[[Any], None]], ...] = (
    (Tree, _check_tree),
    (BaseDecisionTree, _check_decision_tree),
    (BaseGradientBoosting, _check_gradient_boosting),
    (BaseHistGradientBoosting, _check_histogram_boosting),
    (KDTree, _build_anew),
    (BallTree, _build_anew),
    (NeighborsBase, _check_neighbors),
    (BaseLibSVM, _check_support_vectors),
    (BSpline, _check_spline),
    (_NUMBERS_OF_SPLINE, _check_spline),
    (OneHotEncoder, _check_one_hot),
    (sparray, _check_sparse),
    (spmatrix, _check_sparse),
)
