"""Displays in scikit-learn's style: a frontier, the prices of judgments, an audit, each on axes of one's own.

A display holds numbers. matplotlib, of the extra ``report``, is needed only to plot them; figures are drawn as in the
report, in the light or the dark of the axes they are drawn on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd

from fairwise.auditing.audit import Audit, audit
from fairwise.auditing.checks import one_of
from fairwise.auditing.error_measure import ErrorMeasure
from fairwise.auditing.frontier import Curve, frontier
from fairwise.auditing.prices import spread_over_pairs
from fairwise.auditing.scores import binary_classes, second_class_probability
from fairwise.errors import InputError
from fairwise.judgments import Judgments
from fairwise.judgments.table import are_simulated
from fairwise.judgments.validation import as_people
from fairwise.loading import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairwise.learning.estimator import PairwiseFairClassifier

__all__ = ["AuditDisplay", "FrontierDisplay", "JudgmentPricesDisplay"]

Measure = Literal["share_followed", "mean_excess"]


class _Display:
    """What displays share: after :meth:`plot`, ``ax_`` and ``figure_`` are where they are drawn."""

    ax_: Axes
    figure_: Figure

    def _draw(self, ax: Axes | None, paint: Callable[[Axes], object], *, simulated: bool) -> Self:
        from fairwise.reporting.drawing import draw_on  # matplotlib, of an extra

        self.ax_ = draw_on(ax, paint, simulated=simulated)
        self.figure_ = self.ax_.figure.get_figure(root=True)
        return self


class FrontierDisplay(_Display):
    """What each degree of following costs: error against gamma or eta, with the model's own point if there is one.

    Parameters
    ----------
    curve : Curve
        As :meth:`from_estimator` and :meth:`from_frame` make it.
    plain_error : float or None
        Error of the model without judgments, drawn as a line.
    simulated : bool
        Whether the judges are simulated: the title then says so.
    measure : ErrorMeasure
        What an error is: a share of people, or with a ``loss`` a mean cost.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure, once plotted

    Examples
    --------
    >>> import pandas as pd
    >>> curve = pd.DataFrame({"judge": "panel", "gamma": [0.0, 0.5, 1.0], "eta": 0.0, "error": [0.4, 0.35, 0.3]})
    >>> FrontierDisplay.from_frame(curve).ax_.get_ylabel()
    'People decided wrongly'
    """

    def __init__(
        self,
        curve: Curve,
        *,
        plain_error: float | None = None,
        simulated: bool = False,
        measure: ErrorMeasure | None = None,
    ) -> None:
        self.curve, self.plain_error, self.simulated = curve, plain_error, simulated
        self.measure = measure or ErrorMeasure()

    @classmethod
    def from_estimator(
        cls,
        estimator: PairwiseFairClassifier,
        people: Any,
        outcome: Any,
        judgments: Judgments,
        *,
        gammas: Sequence[float] | None = None,
        etas: Sequence[float | None] | None = None,
        ax: Axes | None = None,
        line_kwargs: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Trace the frontier of a fitted model's people, judgments and settings, and plot it with the model marked.

        ``gammas`` (from 0 to 1 in steps of 0.1) vary at the model's eta, or ``etas`` at its gamma; further ``options``
        are those of :func:`~fairwise.frontier`, such as ``n_jobs`` or ``by``, and ``line_kwargs`` of :meth:`plot`.
        """
        require("report", cls.__name__)
        settings = estimator.get_params(deep=False)
        gamma, eta = settings.pop("gamma"), settings.pop("eta")
        if etas is None:
            etas = [eta]
        elif gammas is None:
            gammas = [gamma]
        table = frontier(people, outcome, judgments, gammas=gammas, etas=etas, start=estimator, **settings, **options)
        curve = Curve.of(table, estimator, n_people=len(people))
        error = float(estimator.certificate_.plain_error)
        drawn = cls(
            curve,
            plain_error=None if math.isnan(error) else error,
            simulated=judgments.all_simulated,
            measure=ErrorMeasure.of(estimator.loss),
        )
        return drawn.plot(ax, **line_kwargs or {})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, ax: Axes | None = None, **line_kwargs: Any) -> Self:
        """Plot a table that :func:`~fairwise.frontier` returned; of a grid of gamma and eta, its first curve."""
        require("report", cls.__name__)
        curve = Curve.of(frame)
        return cls(curve, simulated=are_simulated(curve.judges["judge"])).plot(ax, **line_kwargs)

    def plot(self, ax: Axes | None = None, **line_kwargs: Any) -> Self:
        """Plot on ``ax`` or a new figure; ``line_kwargs`` are matplotlib's, for the line of the panel."""
        require("report", type(self).__name__)
        from fairwise.reporting.annex_figures import draw_frontier  # matplotlib, of an extra
        from fairwise.reporting.words import ErrorWords

        def paint(axes: Axes) -> None:
            draw_frontier(axes, self.curve, self.plain_error, ErrorWords(self.measure), **line_kwargs)
            knob = {"gamma": "γ", "eta": "η"}[self.curve.knob]
            axes.set_title(f"Error as {knob} varies{', 95 % interval' if self.curve.has_interval else ''}")

        return self._draw(ax, paint, simulated=self.simulated)


class JudgmentPricesDisplay(_Display):
    """How unevenly price and excess are spread over the pairs: what share of the total the largest make up.

    Parameters
    ----------
    prices : DataFrame
        A model's ``prices_``.

    Attributes
    ----------
    spread : dict of DataFrame
        The Lorenz curves of ``price`` and ``excess``: ``share`` of the pairs and of the ``total``.
    ax_, figure_ : matplotlib's Axes and Figure, once plotted
    """

    def __init__(self, prices: pd.DataFrame) -> None:
        missing = [name for name in ("judge", "a", "b", "status", "violation", "excess", "price") if name not in prices]
        if missing:
            raise InputError(f"prices: missing column {missing[0]!r}; give a model's prices_")
        self.prices, self.spread = prices, spread_over_pairs(prices)

    @classmethod
    def from_estimator(cls, estimator: PairwiseFairClassifier, *, ax: Axes | None = None, **line_kwargs: Any) -> Self:
        """Plot the prices of a fitted model."""
        return cls.from_frame(estimator.prices_, ax=ax, **line_kwargs)

    @classmethod
    def from_frame(cls, prices: pd.DataFrame, *, ax: Axes | None = None, **line_kwargs: Any) -> Self:
        """Plot a table of prices."""
        return cls(prices).plot(ax, **line_kwargs)

    def plot(self, ax: Axes | None = None, **line_kwargs: Any) -> Self:
        """Plot on ``ax`` or a new figure; ``line_kwargs`` are matplotlib's, for both curves."""
        require("report", type(self).__name__)
        from fairwise.reporting.annex_figures import draw_spread, has_any  # matplotlib, of an extra

        if not any(map(has_any, self.spread.values())):
            raise InputError("There is nothing to plot: no judgment has a price or an excess.")
        simulated = are_simulated(self.prices["judge"].unique())

        def paint(axes: Axes) -> None:
            draw_spread(axes, self.spread, **line_kwargs)
            axes.set_title("How few pairs bear the cost")

        return self._draw(ax, paint, simulated=simulated)


class AuditDisplay(_Display):
    """What each judge gets: the share of their judgments that is followed, or their mean excess.

    Parameters
    ----------
    audit : Audit
        As :func:`~fairwise.audit` returns it.

    Attributes
    ----------
    ax_, figure_ : matplotlib's Axes and Figure, once plotted
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        people: Any,
        judgments: Judgments,
        *,
        id: str | None = None,  # noqa: A002
        gamma: float | None = None,
        favorable_label: object = None,
        measure: Measure = "share_followed",
        ax: Axes | None = None,
        **dot_kwargs: Any,
    ) -> Self:
        """Audit any fitted classifier of two classes on these people, and plot it.

        ``id`` is their column of ids where these are in no index, as in frames of polars and pyarrow. ``gamma`` and
        ``favorable_label`` are the estimator's own where it has them (else gamma is 0.1).
        """
        table: Any = as_people(people, id, judgments.by)
        if judgments.by == "id" and not isinstance(table, pd.DataFrame):
            raise InputError(f"people: a frame with everyone's id is needed, not {type(people).__name__}")
        own = float(getattr(estimator, "gamma", 0.1)) if gamma is None else gamma
        good = getattr(estimator, "favorable_label_", None) if favorable_label is None else favorable_label
        probability = second_class_probability(estimator, table)
        scores = pd.Series(probability, index=table.index) if judgments.by == "id" else probability
        classes = binary_classes(estimator)
        result = audit(scores, judgments, own, good, classes=classes)
        return cls(result).plot(ax, measure=measure, **dot_kwargs)

    @classmethod
    def from_predictions(
        cls,
        scores: pd.Series | np.ndarray[Any, Any],
        judgments: Judgments,
        *,
        gamma: float = 0.1,
        favorable_label: object = None,
        classes: Sequence[object] | None = None,
        measure: Measure = "share_followed",
        ax: Axes | None = None,
        **dot_kwargs: Any,
    ) -> Self:
        """Audit scores of any model, as :func:`~fairwise.audit` takes them, and plot it."""
        result = audit(scores, judgments, gamma, favorable_label, classes=classes)
        return cls(result).plot(ax, measure=measure, **dot_kwargs)

    def plot(self, ax: Axes | None = None, *, measure: Measure = "share_followed", **dot_kwargs: Any) -> Self:
        """Plot one measure on ``ax`` or a new figure; ``dot_kwargs`` are matplotlib's, for the dots."""
        require("report", type(self).__name__)
        from fairwise.reporting.annex_figures import (
            JUDGE_MEASURES,
            MOST_NAMED,
            asking_judges,
            draw_judges,
        )  # matplotlib, of an extra
        from fairwise.reporting.drawing import percent_axis

        one_of("measure", measure, JUDGE_MEASURES)
        judges = asking_judges(self.audit.by_judge)
        if judges.empty:
            raise InputError("There is nothing to plot: no judgment asks for anything.")

        def paint(axes: Axes) -> None:
            draw_judges(axes, judges, measure, **dot_kwargs)
            axes.set_xlabel(axes.get_xlabel().replace("Participants", "Judges"))  # as they are called in Python
            axes.set_title(f"{JUDGE_MEASURES[measure]}, by judge")
            if measure == "share_followed":
                percent_axis(axes.xaxis if len(judges) <= MOST_NAMED else axes.yaxis)

        return self._draw(ax, paint, simulated=are_simulated(judges["judge"]))
