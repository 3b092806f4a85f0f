"""Made-up people, as many as one likes."""

from numbers import Integral

import numpy as np
import pandas as pd

from fairwise.errors import InputError

NOISE = 0.5  # standard deviation; the signal's is 1


def make_people(n: int, d: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Make up people whose outcome can be learned, for tests and benchmarks of any size.

    They are drawn by a random number generator and stand for nobody.

    Parameters
    ----------
    n
        Number of people, at least 2.
    d
        Number of features, at least 1.
    seed
        At least 0. The same seed gives the same table, on the same version of numpy; a smaller ``n`` with
        the same seed gives other people.

    Returns
    -------
    people : DataFrame
        ``n`` rows, ``d`` columns, float64, columns ``feature_1`` … ``feature_d``, index ``id`` = 1 … ``n``.
    outcome : Series
        0 or 1, name ``outcome``, same index. ``n // 2`` people have 1.

    Raises
    ------
    InputError
        If ``n``, ``d`` or ``seed`` is too small or not an integer.

    Notes
    -----
    Features are independent standard normal. The outcome is 1 for the upper half of w·x + ε, where
    w ∝ (1, -1/2, 1/3, -1/4, …) has length 1 and ε is normal with standard deviation 0.5. So the best
    classifier is linear and wrong for about arctan(0.5) / π = 14.8 % of the people.
    """
    _require_integer("n", n, at_least=2)
    _require_integer("d", d, at_least=1)
    _require_integer("seed", seed, at_least=0)
    generator = np.random.default_rng(seed)
    features = np.empty((d, n))
    tendency = generator.normal(scale=NOISE, size=n)
    # One feature at a time: nothing larger than a column is held beside the table itself.
    for feature, weight in zip(features, signal_weights(d), strict=True):
        generator.standard_normal(out=feature)
        tendency += weight * feature
    index = pd.RangeIndex(1, n + 1, name="id")
    names = [f"feature_{number}" for number in range(1, d + 1)]
    people = pd.DataFrame(features.T, index=index, columns=names, copy=False)
    # The median rather than 0 as threshold: even two people then have different outcomes.
    upper_half = (tendency > np.median(tendency)).astype(np.int64)
    return people, pd.Series(upper_half, index=index, name="outcome")


def signal_weights(d: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the weight of each feature in the outcome of :func:`make_people`, as a vector of length 1."""
    position = np.arange(1, d + 1)
    weights = np.where(position % 2 == 1, 1.0, -1.0) / position
    return weights / np.linalg.norm(weights)


def _require_integer(name: str, value: object, at_least: int) -> None:
    if not isinstance(value, Integral) or int(value) < at_least:
        raise InputError(f"{name} is {value!r}; allowed: an integer of at least {at_least}")
