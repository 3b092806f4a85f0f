"""The scikit-learn estimator: validation and delegation, no mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from fairwise.constraints.pairs import Weighting
from fairwise.errors import InputError, quote, warn
from fairwise.judgments import Judgments
from fairwise.learning.large.passes import joblib_on
from fairwise.learning.large.table import LargeTable, large_table
from fairwise.learning.model.fitted import FittedMixture
from fairwise.learning.preparation import prepare
from fairwise.learning.settings import JudgeBudgets, LabelValues, MaxThresholds, Params, warn_of_unused
from fairwise.learning.solvers.progress import FitProgress, Watch
from fairwise.results.certificate import EXCEEDED, Certificate
from fairwise.tables.columns import to_pandas

if TYPE_CHECKING:
    from distributed import Client


class PairwiseFairClassifier(FittedMixture):
    """The most accurate randomised classifier that respects what people said about pairs.

    Parameters
    ----------
    estimator : {"linear", "linear-regression", "tree"} or scikit-learn classifier or Pipeline
        What is mixed. ``"linear"`` (the default): linear thresholds by coordinate descent on the 0/1 cost, that is on
        the error on the training people. A lower training error is not a lower error on others: measure that on people
        who were held out (``docs/oracles.md`` has a table). ``"linear-regression"``: the paper's heuristic;
        ``"tree"``: decision trees, proven optimal. A Pipeline gets the people's own columns, everything else gets them
        encoded (one-hot, scaled, missing values marked).
    max_depth : int
        Of ``"tree"``: 1 to 4.
    max_thresholds : int, None or "auto"
        How many thresholds a column of a ``"tree"`` may have, spread over the people by quantiles. None: every
        midpoint between two values, for a proof over all of them. ``"auto"``: the same where all columns together
        have at most 1,200 (16,384 at depth 1, 200 at depth 3, 150 beyond), otherwise so many of each that they do.
        The certificate's ``hypothesis_class`` says over how many.
    gamma : float
        By how much the probabilities of the favourable label may differ against a judgment.
    eta : float or None
        How much mean excess beyond gamma the panel may suffer in all; None for no panel budget.
    favorable_label
        The good outcome's label; needed as soon as an answer is ordered.
    label_values : dict or None
        How good each label is for the person, from 0 to 1: ``{"deny": 0, "conditions": 0.6, "release": 1}``. Needed
        for more than two labels as soon as there are judgments: these are then about ``sum_k P(label k) value_k``.
        Names every outcome as it is in ``y``; labels that are nobody's outcome may be decided, too. Where scikit-learn
        numbers labels before it fits, as ``cross_val_predict`` of probabilities and ``VotingClassifier`` do, name them
        by these numbers, ``{0: 0, 1: 1}``; of two labels it is needed there instead of ``favorable_label``.
    loss : DataFrame or None
        What deciding the label of a column costs where the outcome of the row is right, from 0 up; None: 1 for any
        other than the right one. The certificate's errors are then mean costs, ``tol`` and prices in the same units.
    features : list of columns or None
        The columns that the model may use, of those of the people's table (of an array: their positions); None: all.
        Whatever else is in the table, such as what judges were shown, plays no part in the model.
    group_constraints : list of fairlearn moments, dict of such lists by label, or None
        Statistical rules in the same fit, such as ``[FalsePositiveRateParity(difference_bound=0.02)]``; they need
        ``sensitive_features`` in :meth:`fit`. Their rates are about label 1, whatever is favourable; of more than two
        labels about "the label is this one" for each in turn. ``{"deny": [DemographicParity(…)]}``: for that label.
        ``{"value": [DemographicParity(…)]}``: for how well people are treated on average.
    judge_budgets : float or dict or None
        How much mean excess any single judge may suffer (or each judge by name). ``{"relation": {"affected": 0.01}}``:
        how much the judges with that attribute may, as a group; counted like ``eta``, as if they were the panel.
    weighting : {"answers", "panel"}
        How mean excess is counted when judges saw different pairs; ``"panel"`` is the paper's letter.
    solver : {"column-generation", "no-regret"}
        ``"no-regret"`` is the paper's; ``n_rounds``, ``lambda_bound``, ``tau_bound`` and ``nu`` are its settings.
    tol : float
        Gap at which column generation stops, whatever the estimator: between the error reached and the bound or, where
        the search is a heuristic, what it found nothing below.
    max_iter : int or None
        How many iterations column generation may take, each with one to three calls of the oracle (fits, for an
        estimator of one's own); None: 2,000 for ``"tree"``, 200 where the search is a heuristic.
    time_limit : float or None
        Seconds after which either solver asks for no more; a fit of an estimator under way is
        finished. It keeps the best so far, and the certificate says so.
    max_classifiers : int or None
        The best mixture found of at most so many classifiers; the certificate's bound is about any number of them.
        None: as few as can be found without giving up more than ``tol`` of the error.
    verbose : {0, 1, 2}
        What :meth:`fit` prints on stderr while it runs: nothing, a line now and then, or one for each iteration. The
        same lines go to the logger ``"fairwise"``, whatever ``verbose`` is: those of 1 as INFO, the others as DEBUG.
    random_state : int, RandomState or None
        Key of the draws in :meth:`predict` (None: 0) and seed of estimators that use chance.

    Attributes
    ----------
    classes_ : ndarray of the labels that may be decided, sorted
    features_ : the columns that the model uses; ``n_features_in_`` and ``feature_names_in_`` are those of the table
    columns_ : DataFrame with kind (number, date, duration or category), categories and missing: how each was read
    favorable_label_ : the good one of them, None where nothing says so
    classifiers_, weights_ : the mixture
    rules_ : the mixture as rules in words; ``str()`` for people, ``to_frame()`` for programs
    certificate_ : Certificate
    prices_ : DataFrame with judge, a, b, answer, price, violation, excess, status
    group_rules_ : DataFrame with rule, value, limit, price
    trajectory_ : DataFrame, one row per round or iteration: error, max_violation, gap

    Examples
    --------
    >>> from fairwise import Judgments, PairwiseFairClassifier
    >>> from fairwise.datasets import load_compas
    >>> people, outcome = load_compas()
    >>> said = [{"judge": "j", "a": 3, "b": 4, "answer": "same"}]
    >>> model = PairwiseFairClassifier("tree", gamma=0.1)
    >>> model.fit(people, outcome, judgments=Judgments(said, people=people)).certificate_.kind
    'exact'
    """

    def __init__(
        self,
        estimator: object = "linear",
        *,
        max_depth: int = 2,
        max_thresholds: MaxThresholds = "auto",
        gamma: float = 0.1,
        eta: float | None = 0.0,
        favorable_label: object = None,
        label_values: LabelValues | None = None,
        loss: pd.DataFrame | None = None,
        features: Sequence[Any] | None = None,
        group_constraints: object = None,
        judge_budgets: JudgeBudgets | None = None,
        weighting: Weighting = "answers",
        solver: str = "column-generation",
        n_rounds: int = 1000,
        lambda_bound: float = 1.0,
        tau_bound: float = 1.0,
        nu: float | None = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        time_limit: float | None = None,
        max_classifiers: int | None = None,
        verbose: int = 0,
        random_state: object = None,
    ) -> None:
        self.estimator = estimator
        self.max_depth = max_depth
        self.max_thresholds = max_thresholds
        self.gamma = gamma
        self.eta = eta
        self.favorable_label = favorable_label
        self.label_values = label_values
        self.loss = loss
        self.features = features
        self.group_constraints = group_constraints
        self.judge_budgets = judge_budgets
        self.weighting = weighting
        self.solver = solver
        self.n_rounds = n_rounds
        self.lambda_bound = lambda_bound
        self.tau_bound = tau_bound
        self.nu = nu
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.max_classifiers = max_classifiers
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: object,
        y: object,
        *,
        judgments: Judgments | None = None,
        sample_weight: object = None,
        sensitive_features: object = None,
        client: Client | None = None,
        callback: Callable[[FitProgress], object] | None = None,
    ) -> Self:
        """Learn from people, their outcomes, and judgments; without judgments and rules, the plain model.

        Tables may be of pandas, polars, pyarrow or any other make that narwhals or Arrow knows. Frames without an index
        have no ids: with judgments by id these must carry the people (``Judgments(…, people=people, id="column")``).

        With judgments or rules the *training* error is what is least, among mixtures that keep them; its difference to
        another model's says little about other people. The plain model of ``"linear"``, unless read in blocks, is
        chosen for other people: its training error is not the least, which is ``certificate_.plain_error``.

        People who do not fit into memory are given as a :class:`~fairwise.LargeTable`, a path to a Parquet file, a dask
        DataFrame or an iterator of DataFrames, and their outcome as the name of a column (``docs/large_data.md``).
        ``client`` is that of a dask cluster, whose workers then share the work.

        ``callback`` is called after every iteration at the gamma asked for, with a
        :class:`~fairwise.learning.solvers.progress.FitProgress`; if it returns True, the search ends with what is known
        by then. So it does at Ctrl-C: once there is a mixture, the best so far is kept, with a warning and
        ``certificate_.stopped == "interrupted"``, and ``fit`` returns. What is proved of it is as true as of any other.
        A second Ctrl-C within two seconds stops everything.

        Nothing of an earlier fit is touched unless this one succeeds.
        """
        from fairwise.learning.compiler import compilation_announced  # numba is slow to load

        params = self.get_params(deep=False)
        if not (callback is None or callable(callback)):
            raise InputError(
                f"callback={quote(callback)} is not allowed: it must be a function of one argument, or None."
            )
        watch = Watch(verbose=self.verbose, callback=callback)
        large = large_table(X, y)
        with compilation_announced():
            if large is not None:
                self._fit_large(params, large, judgments, sample_weight, sensitive_features, client, watch)
            else:
                from fairwise.learning.solvers.dispatch import solve_with_context  # compiled code, slow to load

                X = to_pandas(X)
                prepared = prepare(params, X, y, judgments, sample_weight, sensitive_features)
                with joblib_on(client):
                    solution = solve_with_context(prepared, watch)
                self.n_people_ = len(prepared.people)
                self.set_solution(X, prepared, solution)
        watch.ended(self.certificate_.stopped)
        warn_of_unused(params, judgments, sensitive_features)
        warn_of(self.certificate_)
        return self

    def _fit_large(
        self,
        params: Params,
        table: LargeTable,
        judgments: Judgments | None,
        weight: object,
        sensitive: object,
        client: Client | None,
        watch: Watch,
    ) -> None:
        from fairwise.learning.large.fit import fit_in_blocks  # compiled code, slow to load

        for name, value in (("sample_weight", weight), ("sensitive_features", sensitive)):
            if value is not None:
                raise InputError(f"{name}= needs the whole table in memory, not one that is read in blocks.")
        prepared, solution, self.n_people_ = fit_in_blocks(params, table, judgments, client, watch)
        self.set_solution(pd.DataFrame(columns=list(table.features)), prepared, solution)
        self._training = None  # nobody is in memory to simplify the model on

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def warn_of(certificate: Certificate) -> None:
    """Give a certificate's warnings; of a proven optimum, which says the others itself, only of exceeded limits."""
    proven = certificate.kind == "exact" and certificate.stopped == "gap"
    for warning in certificate.warnings:
        if not proven or getattr(warning, "template", "") == EXCEEDED:
            warn(warning, ConvergenceWarning)
