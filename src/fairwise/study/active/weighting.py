"""What pairs that were not drawn alike say about all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairwise.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def mean_over_pairs(values: ArrayLike, selection_probabilities: ArrayLike, n_pairs: int) -> float:
    """Estimate, without bias, the mean of something over all pairs from those one participant was shown.

    Draw t was of pair i with probability p_t, given all that came before, among those not yet shown. Then
    (Σ_{s<t} y_s + y_t / p_t) / N is an unbiased estimate of the mean of y over all N pairs, whatever was learned
    from earlier answers; this is the mean of these estimates over t (Des Raj's estimator, with the two-phase
    probability p = q · M / N in place of the exact one, which is not known).

    Parameters
    ----------
    values : (T,)
        Such as 1 where the answer was `same`, for every pair shown, in the order in which they were.
    selection_probabilities : (T,)
        As `ActiveChooser.choose` returned them; NaN for pairs of other designs, which then only count as seen.
    n_pairs : int
        N, how many pairs of people differ in what is shown.
    """
    y, p = np.asarray(values, dtype=np.float64), np.asarray(selection_probabilities, dtype=np.float64)
    drawn = ~np.isnan(p)
    if y.shape != p.shape or y.ndim != 1 or not drawn.any():
        raise InputError(
            f"mean_over_pairs: {y.shape} values, {p.shape} probabilities; needed: one each, one of them known"
        )
    if not ((p[drawn] > 0) & (p[drawn] <= 1)).all():
        raise InputError("mean_over_pairs: selection probabilities must be above 0 and at most 1")
    seen_before = np.cumsum(y) - y
    return float(np.mean((seen_before + y / np.where(drawn, p, 1.0))[drawn]) / n_pairs)
