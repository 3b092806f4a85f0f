"""People to learn from: three bundled datasets with their cards, and made-up people of any number.

Nothing is downloaded. The cards lie beside the tables in ``data``; a table is read only if it is the one on its card.
:func:`card` says where a dataset comes from and what to keep in mind when using it.
"""

import bz2
import hashlib
import io
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from numbers import Integral
from typing import Literal

import numpy as np
import pandas as pd

from fairwise.errors import FairwiseError, InputError

__all__ = ["Column", "DatasetCard", "card", "load_adult", "load_compas", "load_german_credit", "make_people"]

INDEX = "id"
_NAMES = ("adult", "compas", "german_credit")
_POINTS_A_PRIOR, _POINTS_A_YEAR = 17, 5  # the ratio of a logistic regression of new arrests on both
_ADULT_TRAINING = 32_561  # so many people come first: adult.data, and behind them adult.test


@dataclass(frozen=True)
class Column:
    """One column of a table of people: its name there, and what it means in a line of plain words."""

    name: str
    meaning: str


@dataclass(frozen=True)
class DatasetCard:
    """Description of a bundled dataset: source, content and caveats.

    Attributes
    ----------
    name, title
        What :func:`fairwise.datasets.card` knows it by; and for people to read.
    provenance, licence
        Who collected it, where and when, and what was changed since; and on which terms it may be used.
    rows, columns
        The number of people, and the columns of the table, in order.
    outcome
        The column to predict, 0 or 1; its meaning is that of label 1.
    favorable_label, favorable_meaning
        The label that is good for the person, and what it says about them.
    caveats
        What can mislead, one sentence or two each.
    file, sha256
        The bundled file and its checksum.
    raw_file, raw_sha256
        The file it was made from and its checksum; of two files, that of one followed by the other.
    """

    name: str
    title: str
    provenance: str
    licence: str
    rows: int
    columns: tuple[Column, ...]
    outcome: Column
    favorable_label: int
    favorable_meaning: str
    caveats: tuple[str, ...]
    file: str
    sha256: str
    raw_file: str
    raw_sha256: str


@cache
def card(name: str) -> DatasetCard:
    """Say where a bundled dataset comes from, what is in it and what to keep in mind.

    Parameters
    ----------
    name
        ``"adult"``, ``"compas"`` or ``"german_credit"``; any other name is an InputError.

    Examples
    --------
    >>> card("compas").favorable_label
    0
    """
    if name not in _NAMES:
        raise InputError(f"there is no bundled dataset {name!r}; allowed: {', '.join(map(repr, _NAMES))}")
    facts = tomllib.loads(data_folder().joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    facts["columns"] = tuple(Column(*each) for each in facts["columns"].items())
    facts["outcome"] = Column(*next(iter(facts["outcome"].items())))
    facts["caveats"] = tuple(facts["caveats"])
    return DatasetCard(**facts)


def load_adult(part: Literal["train", "test"] = "train") -> tuple[pd.DataFrame, pd.Series]:
    """Load people of the US census of 1994, and whether each had an income above 50,000 dollars.

    Label 1, above 50,000, is the favourable one. Unknown values are missing values. Provenance and caveats are in
    ``card("adult")``: ``census_weight`` says for how many others a person was asked, which a model hardly ought to use.
    A bundled file that is missing or has been changed is a FairwiseError.

    Parameters
    ----------
    part
        ``"train"``: the 32,561 people of the source's training file, ``"test"``: the 16,281 of its test file. Their
        ids do not overlap.

    Returns
    -------
    people : DataFrame
        14 columns, integers and words, index ``id`` = 1 … 32561 or 32562 … 48842 in file order.
    outcome : Series
        0 or 1, name ``income_above_50k``, same index.

    Examples
    --------
    >>> people, outcome = load_adult()
    >>> people.shape, round(float(outcome.mean()), 4)
    ((32561, 14), 0.2408)
    """
    if part not in ("train", "test"):
        raise InputError(f"part={part!r} is not allowed; allowed: 'train', 'test'")
    chosen = slice(None, _ADULT_TRAINING) if part == "train" else slice(_ADULT_TRAINING, None)
    people, outcome = read_people_and_outcome(card("adult"))
    return people.iloc[chosen].copy(), outcome.iloc[chosen].copy()


def load_compas(outcome: Literal["two_year_recid", "risk"] = "two_year_recid") -> tuple[pd.DataFrame, pd.Series]:
    """Load 5,829 people scored by COMPAS, and whether each was arrested again within two years.

    Label 1, arrested again, is the bad one: the favourable label is 0. Provenance and caveats are in
    ``card("compas")``. A bundled file that is missing or has been changed is a FairwiseError.

    Parameters
    ----------
    outcome
        ``"two_year_recid"``, or ``"risk"`` for an outcome of three levels. The bundled table does not have the levels
        that COMPAS itself gave. These are made from two columns by a fixed rule, 17 points for each prior charge less 5
        for each year of age, whose deciles are called as COMPAS calls its own: 1 to 4 low, 5 to 7 medium, 8 to 10 high.

    Returns
    -------
    people : DataFrame
        5829 rows, 8 columns: sex, age, race, juv_fel_count, juv_misd_count, juv_other_count, priors_count,
        c_charge_degree, with values as in the source; index ``id``, ProPublica's own, in file order.
    outcome : Series
        0 or 1, name ``two_year_recid``, same index; or low, medium, high, name ``risk``.

    Examples
    --------
    >>> people, outcome = load_compas()
    >>> people.shape, round(float(outcome.mean()), 4)
    ((5829, 8), 0.4606)
    """
    if outcome not in ("two_year_recid", "risk"):
        raise InputError(f"outcome={outcome!r} is not allowed; allowed: 'two_year_recid', 'risk'")
    people, again = read_people_and_outcome(card("compas"))
    if outcome == "two_year_recid":
        return people, again
    points = _POINTS_A_PRIOR * people["priors_count"] - _POINTS_A_YEAR * people["age"]
    decile = np.ceil(10 * points.rank(method="max") / len(points)).astype(int)
    level = np.select([decile <= 4, decile <= 7], ["low", "medium"], "high")
    return people, pd.Series(level, index=people.index, name="risk")


def load_german_credit(outcome: Literal["good_credit", "amount"] = "good_credit") -> tuple[pd.DataFrame, pd.Series]:
    """Load 1,000 borrowers of a German bank in the 1970s, and whether each paid back the loan.

    Label 1, paid back, is the favourable one. The words for the categories come from a code book with known
    mistakes: see the caveats in ``card("german_credit")``. A bundled file that is missing or has been changed is a
    FairwiseError.

    Parameters
    ----------
    outcome
        ``"good_credit"``, or ``"amount"`` for how much each was lent, in Deutschmarks; that column is then not among
        those of the people.

    Returns
    -------
    people : DataFrame
        1000 rows, 20 columns, integers and words, index ``id`` = 1 … 1000 in file order.
    outcome : Series
        0 or 1, name ``good_credit``, same index; or Deutschmarks, name ``amount_dm``.

    Examples
    --------
    >>> people, outcome = load_german_credit()
    >>> people.shape, int(outcome.sum())
    ((1000, 20), 700)
    """
    if outcome not in ("good_credit", "amount"):
        raise InputError(f"outcome={outcome!r} is not allowed; allowed: 'good_credit', 'amount'")
    people, good = read_people_and_outcome(card("german_credit"))
    return (people, good) if outcome == "good_credit" else (people.drop(columns="amount_dm"), people["amount_dm"])


def data_folder() -> Traversable:
    return resources.files("fairwise.datasets").joinpath("data")


def read_people_and_outcome(card: DatasetCard) -> tuple[pd.DataFrame, pd.Series]:
    """Return the table's features and its outcome, both indexed by person, in file order."""
    try:
        content = data_folder().joinpath(card.file).read_bytes()
    except FileNotFoundError:
        raise FairwiseError(f"the bundled data file {card.file} is missing; install fairwise again") from None
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != card.sha256:
        raise FairwiseError(
            f"the bundled data file {card.file} is not the original: its SHA-256 is {checksum}, "
            f"expected {card.sha256}; install fairwise again"
        )
    # What is not known is empty; a category called "none" or "NA" stays a word.
    text = io.BytesIO(bz2.decompress(content))
    table = pd.read_csv(text, index_col=INDEX, keep_default_na=False, na_values=[""])
    outcome = table.pop(card.outcome.name)
    return table, outcome


# Made-up people, as many as one likes.

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
