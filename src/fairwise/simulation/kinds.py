"""Kinds of simulated people, and principles of fairness that parts of a panel hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.simulation.respondent import (
    ALWAYS,
    NEVER,
    Closeness,
    Discount,
    FirstNoticeable,
    Floats,
    Merit,
    Respondent,
    Step,
    Worth,
    gap,
    need,
    worth,
)
from fairwise.tables.columns import is_numeric

_DEMOGRAPHICS = ("sex", "age", "race")
_MAJORITY = {"race": "Caucasian"}
_CATEGORY_POINTS = {"c_charge_degree": {"M": 1.0}}


@dataclass(frozen=True)
class Roles:
    """Meaning of the columns of a table of people; COMPAS names are the defaults where they fit.

    Parameters
    ----------
    demographics : columns, optional
        What one is born with; by default those of sex, age and race that are there.
    record : columns, optional
        What one has done; by default every other column. More of a number is worse.
    majority : {column: value}, optional
        The group whose records nobody discounts; by default race Caucasian, if there is such a column.
    category_points : {column: {value: points}}, optional
        Which values of a category are better; by default a misdemeanour is better than a felony.
    """

    demographics: tuple[str, ...] | None = None
    record: tuple[str, ...] | None = None
    majority: Mapping[str, object] | None = None
    category_points: Mapping[str, Mapping[str, float]] | None = None

    def within(self, people: pd.DataFrame) -> "Roles":
        """Return the same with nothing left out; columns that were named must be there."""
        named = [*(self.demographics or ()), *(self.record or ()), *(self.majority or ())]
        need([*named, *(self.category_points or ())], people)
        demographics = self.demographics
        if demographics is None:
            free = set(people.columns).difference(self.record or ())
            demographics = tuple(name for name in _DEMOGRAPHICS if name in free)
        record = self.record
        if record is None:
            record = tuple(name for name in people.columns if name not in demographics)
        majority, points = self.majority, self.category_points
        if majority is None:
            majority = {name: value for name, value in _MAJORITY.items() if name in people.columns}
        if points is None:
            points = {name: value for name, value in _CATEGORY_POINTS.items() if name in people.columns}
        return Roles(demographics, record, majority, points)


@dataclass(frozen=True)
class Kind:
    """Features that the people of one kind share.

    Parameters
    ----------
    portion : float
        Their part of a panel.
    matters : function of the roles
        The columns they care about. Where there is none, the table has no room for this kind.
    attention : int, optional
        To how many of these columns one person pays attention; otherwise to all.
    same_share : (low, high), optional
        What part of random pairs they call the same; otherwise the panel decides.
    first_difference : bool
        Whether the first noticeable difference decides alone, instead of all of them together.
    discounts : bool
        Whether they discount the records of minorities.
    noise, fatigue, position_bias : float
        Their weaknesses, as in `Respondent`.
    """

    portion: float
    matters: Callable[[Roles], tuple[str, ...]]
    attention: int | None = None
    same_share: tuple[float, float] | None = None
    first_difference: bool = False
    discounts: bool = False
    noise: float = 0.0
    fatigue: float = 0.0
    position_bias: float = 0.0


def _record(roles: Roles) -> tuple[str, ...]:
    return roles.record or ()


def _demographics(roles: Roles) -> tuple[str, ...]:
    return roles.demographics or ()


def _everything(roles: Roles) -> tuple[str, ...]:
    return _demographics(roles) + _record(roles)


def _age(roles: Roles) -> tuple[str, ...]:
    return tuple(name for name in _everything(roles) if name == "age")


KINDS: Mapping[str, Kind] = {
    "ignores-demographics": Kind(0.25, _record, attention=3, noise=0.02),
    "ignores-record": Kind(0.12, _demographics, attention=2, noise=0.02),
    "discounts-minorities": Kind(0.12, _record, attention=2, discounts=True, noise=0.02),
    "weighs-everything": Kind(0.19, _everything, noise=0.02),
    "age-focused": Kind(0.05, _age, noise=0.02),
    "first-difference": Kind(0.09, _everything, attention=4, first_difference=True, same_share=(0.2, 0.5)),
    "noisy": Kind(0.07, _everything, attention=4, noise=0.2, fatigue=0.002, position_bias=0.5),
    "strict": Kind(0.02, _everything, same_share=(0.02, 0.12)),
    "all-same": Kind(0.07, _everything, same_share=(1.0, 1.0)),
    "anything-goes": Kind(0.02, _everything, same_share=(0.0, 0.0), noise=0.08),
}


# How much two people of one kind differ in what matters to them: standard deviation of log weights.
_TASTE = 0.5
# Of the pairs that are seen in order to draw a person, how many are too even for an order.
_TOO_EVEN = 0.3
_COUNTED_OF_A_DISCOUNTED_RECORD = 0.5
_TRIES = 8
_CLOSE_ENOUGH = 0.02


@dataclass(frozen=True)
class Setting:
    """People to judge: the roles of the columns, and random pairs of rows for scales."""

    roles: Roles
    left: pd.DataFrame
    right: pd.DataFrame
    deviations: Mapping[str, float]

    @classmethod
    def of(cls, people: pd.DataFrame, roles: Roles, pairs: NDArray[np.int64]) -> "Setting":
        """Look at pairs of row positions of the table."""
        left, right = (people.iloc[side].reset_index(drop=True) for side in pairs.T)
        numbers = {str(name): column for name, column in people.items() if is_numeric(column)}
        deviations = {name: float(column.std()) for name, column in numbers.items()}
        varied = {name: deviation for name, deviation in deviations.items() if deviation > 0}
        return cls(roles.within(people), left, right, varied)

    def discount(self) -> Discount | None:
        """Return the discount on minorities' records, if the table has both."""
        records = tuple(name for name in self.roles.record or () if is_numeric(self.left[name]))
        groups = list((self.roles.majority or {}).items())
        return Discount(records, *groups[0], _COUNTED_OF_A_DISCOUNTED_RECORD) if records and groups else None

    def has_room_for(self, kind: Kind) -> bool:
        """Whether the table shows what people of this kind look at."""
        return bool(kind.matters(self.roles)) and not (kind.discounts and self.discount() is None)


def draw_respondent(name: str, setting: Setting, kind_name: str, share: float, rng: np.random.Generator) -> Respondent:
    """Return a person who calls about this share of random pairs the same, in the way of the kind.

    Counts and categories allow only some shares: a person who misses theirs is drawn again, a few times.
    """
    kind = KINDS[kind_name]
    discount = setting.discount() if kind.discounts else None
    left, right = setting.left, setting.right
    if discount is not None:
        left, right = discount.applied(left), discount.applied(right)
    misses: list[tuple[float, Closeness]] = []
    while len(misses) < _TRIES and not (misses and misses[-1][0] <= _CLOSE_ENOUGH):
        blank = _tastes(setting, kind, rng)
        distances = blank.distance(left, right)
        closeness = replace(blank, threshold=_threshold(distances, share))
        misses.append((abs(float((distances <= closeness.threshold).mean()) - share), closeness))
    _, closeness = min(misses, key=itemgetter(0))
    order = _order(setting, kind, closeness, (left, right), rng) if 0 < share < 1 else None
    weaknesses = kind.noise, kind.fatigue, kind.position_bias
    return Respondent(name, closeness, order, discount, *weaknesses, kind=kind_name)


def _tastes(setting: Setting, kind: Kind, rng: np.random.Generator) -> Closeness:
    """Return what matters to one person, and how much.

    Weights are drawn on standardised columns and then kept per unit of each column, so that the answer about
    two people does not depend on who else is in a table.
    """
    tastes = {name: np.exp(rng.normal(0, _TASTE)) for name in _noticed_columns(setting, kind, rng)}
    columns = [str(name) for name in setting.left.columns]
    return Closeness(
        weights={name: float(tastes.get(name, 0.0)) / setting.deviations.get(name, 1.0) for name in columns},
        threshold=NEVER,
        combine="largest" if kind.first_difference else "sum",
        categories=tuple(name for name in columns if not is_numeric(setting.left[name])),
    )


def _order(
    setting: Setting,
    kind: Kind,
    closeness: Closeness,
    pairs: tuple[pd.DataFrame, pd.DataFrame],
    rng: np.random.Generator,
) -> Merit | FirstNoticeable | None:
    points = _points(setting, closeness.weights, rng)
    if not points:
        return None
    if kind.first_difference:
        columns = [str(name) for name in rng.permutation(list(points))]
        return FirstNoticeable(tuple(Step(name, points[name], closeness.threshold) for name in columns))
    left, right = pairs
    leads = [worth(left[name], each) - worth(right[name], each) for name, each in points.items()]
    return Merit(points, margin=float(np.quantile(np.abs(np.sum(leads, axis=0)), _TOO_EVEN)))


def _noticed_columns(setting: Setting, kind: Kind, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the columns one person looks at: what tells people apart most often, then some others."""
    columns = kind.matters(setting.roles)
    if kind.attention is None or len(columns) <= 1:
        return columns
    telling = np.array([(gap(setting.left[name], setting.right[name]) > 0).mean() for name in columns])
    luck = rng.random(len(columns)) ** (1 / np.maximum(telling, 1e-9))  # a draw without replacement, by weight
    luck[telling.argmax()] = 1.0
    # Who lets the first difference decide needs a second column for it to be the first.
    how_many = rng.integers(1 + kind.first_difference, kind.attention + 1)
    chosen = np.argsort(-luck, kind="stable")[:how_many]
    return tuple(columns[position] for position in sorted(chosen))


def _threshold(distances: Floats, share: float) -> float:
    """Return a threshold that about this share of the distances stays below, well apart from all of them."""
    if share >= 1:
        return ALWAYS
    if share <= 0:
        return NEVER
    below = float(np.quantile(distances, share, method="inverted_cdf"))
    beyond = distances[distances > below + 1e-9]
    return below + min(1.0, float(beyond.min() - below) / 2 if beyond.size else 1.0)


def _points(setting: Setting, weights: Mapping[str, float], rng: np.random.Generator) -> dict[str, Worth]:
    """Return what each column that matters is worth: less of a record is better, of a trait either way."""
    points: dict[str, Worth] = {}
    category_points = setting.roles.category_points or {}
    for name, weight in weights.items():
        if weight <= 0:
            continue
        if name in category_points:
            points[name] = {value: weight * each for value, each in category_points[name].items()}
        elif name in setting.deviations:
            is_demographic = name in (setting.roles.demographics or ())
            points[name] = weight * (rng.choice([-1.0, 1.0]) if is_demographic else -1.0)
    return points


_CHARGE = "c_charge_degree"
_JUVENILE = ("juv_fel_count", "juv_misd_count", "juv_other_count")
_COLUMNS = ("sex", "age", "race", "priors_count", *_JUVENILE, _CHARGE)
_CATEGORIES = ("sex", "race", _CHARGE)
# How much two who hold the same principle differ in what they overlook: standard deviation of its logarithm.
_PRINCIPLE_TASTE = 0.15
_NOISE = 0.03


@dataclass(frozen=True)
class Principle:
    """Principle of a part of the panel, in words and in numbers.

    Attributes
    ----------
    statement
        In words, after "they hold that".
    portion
        Their part of the panel.
    weights
        How many earlier offences one unit of a column weighs, or a felony more than a misdemeanour; other columns
        are no reason for anything.
    same_within
        Two people whose columns differ by so much in all are to be treated the same.
    order_beyond
        A difference of more than this asks that the better record be treated at least as well.
    """

    statement: str
    portion: float
    weights: Mapping[str, float]
    same_within: float
    order_beyond: float

    def respondent(self, name: str, kind: str, patience: float) -> Respondent:
        """Return one who holds it, and overlooks so many times what the principle says."""
        points: dict[str, Worth] = {column: -weight for column, weight in self.weights.items()}
        if _CHARGE in points:
            points[_CHARGE] = {"misdemeanour": self.weights[_CHARGE]}
        weights = {column: self.weights.get(column, 0.0) for column in _COLUMNS}
        closeness = Closeness(weights, self.same_within * patience, categories=_CATEGORIES)
        order = Merit(points, self.order_beyond * patience) if points else None
        return Respondent(name, closeness, order, noise=_NOISE, kind=kind, principle=self.statement)


PRINCIPLES: Mapping[str, Principle] = {
    "like-cases-alike": Principle(
        "like records and charges deserve the same, and a clearly better record nothing worse",
        0.35,
        {"priors_count": 1, **dict.fromkeys(_JUVENILE, 1), _CHARGE: 1},
        same_within=2,
        order_beyond=3,
    ),
    "youth-forgiven": Principle(
        "what someone did as a minor is no longer held against them",
        0.25,
        {"priors_count": 1, _CHARGE: 1},
        same_within=2,
        order_beyond=3,
    ),
    "how-often": Principle(
        "it matters how often someone offended, not what they are charged with",
        0.20,
        {"priors_count": 1, **dict.fromkeys(_JUVENILE, 1)},
        same_within=2,
        order_beyond=4,
    ),
    "gravity": Principle(
        "felonies weigh far more than anything else",
        0.12,
        {"priors_count": 1, "juv_fel_count": 3, _CHARGE: 3},
        same_within=3,
        order_beyond=4,
    ),
    "everyone-alike": Principle("before a trial everyone is to be treated the same", 0.08, {}, 1, 1),
}


def draw_panel(n: int = 43, *, seed: int = 0) -> list[Respondent]:
    """Draw simulated people who hold the principles in their portions; the same seed gives the same people."""
    rng = np.random.default_rng(seed)
    upto = np.cumsum([principle.portion for principle in PRINCIPLES.values()])
    width = max(2, len(str(n)))
    panel = []
    for number, place in enumerate(rng.permutation((np.arange(n) + 0.5) / n), start=1):
        kind = list(PRINCIPLES)[min(int(np.searchsorted(upto, place)), len(upto) - 1)]
        patience = float(np.exp(rng.normal(0, _PRINCIPLE_TASTE)))
        panel.append(PRINCIPLES[kind].respondent(f"simulated-{number:0{width}}", kind, patience))
    return panel
