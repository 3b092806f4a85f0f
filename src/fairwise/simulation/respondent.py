"""One simulated person: a rule for any two people, human weaknesses on top of it, and how long they take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.tables.columns import is_numeric

# What a simulated person sees of two people, when they are close enough to be the same, and which comes first.

Floats: TypeAlias = NDArray[np.float64]

# What one unit of a number, or each value of a category, is worth.
Worth: TypeAlias = float | Mapping[str, float]


@dataclass(frozen=True)
class Discount:
    """Counts only a part of some numbers for everybody except one group."""

    columns: tuple[str, ...]
    group: str
    except_for: object
    factor: float = 0.5

    def applied(self, people: pd.DataFrame) -> pd.DataFrame:
        """Return the table as the person sees it."""
        need([self.group, *self.columns], people)
        factor = np.where(people[self.group] == self.except_for, 1.0, self.factor)
        return people.assign(**{name: people[name] * factor for name in self.columns})

    def describe(self) -> str:
        """Say it in words."""
        return f"counts {self.factor:.0%} of {listed(self.columns)} where {self.group} is not {self.except_for}"


def gap(left: pd.Series, right: pd.Series) -> Floats:
    """Return how far apart two columns are: the absolute difference, or 0 and 1 for categories.

    Two missing values are equal; a missing number is infinitely far from any number.
    """
    nothing, nothing_else = left.isna().to_numpy(), right.isna().to_numpy()
    if is_numeric(left):
        distances = np.nan_to_num(np.abs(_floats(left) - _floats(right)))
        distances[nothing != nothing_else] = np.inf
        return distances
    differ = np.asarray(left.astype(object).to_numpy() != right.astype(object).to_numpy(), dtype=bool)
    differ[nothing | nothing_else] = (nothing != nothing_else)[nothing | nothing_else]
    return differ.astype(np.float64)


def worth(column: pd.Series, points: Worth) -> Floats:
    """Return what each value is worth; a missing or unlisted value is worth 0."""
    if isinstance(points, Mapping):
        return np.array([points.get(value, 0.0) for value in column], dtype=np.float64)
    return np.nan_to_num(_floats(column)) * points


def need(columns: Iterable[str], people: pd.DataFrame) -> None:
    """Refuse a table without these columns."""
    missing = [name for name in columns if name not in people.columns]
    if missing:
        raise InputError(f"people: no column {listed(missing)}; there are {listed(people.columns)}")


def listed(names: Iterable[str]) -> str:
    """Return names as one says them: x, y and z."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)


def _floats(column: pd.Series) -> Floats:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


ALWAYS = np.inf
NEVER = -1.0


@dataclass(frozen=True)
class Closeness:
    """Same when the distance is at most `threshold`.

    The distance of x and x' is ``Σ_k weights[k] · |x_k - x'_k|``, or the largest of these terms; between two
    different categories the difference is 1. A weight is therefore per unit of its column. Columns of weight
    0 are ignored, and so are those not listed. `categories` says which columns are to be described as such.
    """

    weights: Mapping[str, float]
    threshold: float
    combine: Literal["sum", "largest"] = "sum"
    categories: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that matter."""
        return tuple(name for name, weight in self.weights.items() if weight > 0)

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that were looked at and found to be no reason."""
        return tuple(name for name, weight in self.weights.items() if weight <= 0)

    def distance(self, left: pd.DataFrame, right: pd.DataFrame) -> Floats:
        """Return the distance of each row of `left` to the same row of `right`."""
        need(self.columns, left)
        terms = [self.weights[name] * gap(left[name], right[name]) for name in self.columns]
        if not terms:
            return np.zeros(len(left))
        combined: Floats = np.sum(terms, axis=0) if self.combine == "sum" else np.max(terms, axis=0)
        return combined

    def describe(self) -> str:
        """Say it in words."""
        if self.threshold == ALWAYS:
            return "everybody is the same"
        if self.threshold < 0:
            return "nobody is the same as anybody else"
        ignored = f"ignores {listed(self.ignored)}; " if self.ignored else ""
        if not self.columns:
            return f"{ignored}everybody is the same"
        return f"{ignored}same {', '.join(self._conditions())}"

    def _conditions(self) -> Iterator[str]:
        numbers = [name for name in self.columns if name not in self.categories]
        equal = [name for name in self.columns if name in self.categories and self.weights[name] > self.threshold]
        if numbers:
            limits = listed(f"{self.threshold / self.weights[name]:.3g} of {name}" for name in numbers)
            note = " together" if self.combine == "sum" else " each"
            yield f"within {limits}{note if len(numbers) > 1 else ''}"
        if equal:
            yield f"with equal {listed(equal)}"
        for name in self.columns:
            if name in self.categories and name not in equal:
                room = self.weights[name] / self.threshold if self.combine == "sum" else 0
                yield f"{name} may differ" + (f" (that takes {room:.0%} of the room)" if room else "")


@dataclass(frozen=True)
class Merit:
    """One score for everybody; an order is due where two scores differ by more than the margin."""

    points: Mapping[str, Worth]
    margin: float = 0.0

    def leaning(self, left: pd.DataFrame, right: pd.DataFrame) -> NDArray[np.int8]:
        """Return 1 where the left one is due at least as much, -1 for the right one, 0 for no order."""
        need(self.points, left)
        lead = np.zeros(len(left))
        for name, points in self.points.items():
            lead += worth(left[name], points) - worth(right[name], points)
        return _direction(lead, self.margin)

    def describe(self) -> str:
        """Say it in words."""
        return f"at least as good treatment is due to {listed(map(_wish, self.points, self.points.values()))}"


@dataclass(frozen=True)
class Step:
    """One column, what it is worth, and the smallest difference in worth that goes unnoticed no more."""

    column: str
    points: Worth
    unnoticed: float


@dataclass(frozen=True)
class FirstNoticeable:
    """The first column with a noticeable difference decides alone.

    Differences that are too small one by one add up over a chain of people, so that A can be put before B, B
    before C and C before A.
    """

    steps: tuple[Step, ...]

    def leaning(self, left: pd.DataFrame, right: pd.DataFrame) -> NDArray[np.int8]:
        """Return 1 where the left one is due at least as much, -1 for the right one, 0 for no order."""
        need([step.column for step in self.steps], left)
        leaning = np.zeros(len(left), dtype=np.int8)
        for step in self.steps:
            lead = worth(left[step.column], step.points) - worth(right[step.column], step.points)
            leaning = np.where(leaning == 0, _direction(lead, step.unnoticed), leaning)
        return leaning

    def describe(self) -> str:
        """Say it in words."""
        order = listed(_wish(step.column, step.points) for step in self.steps)
        return f"the first noticeable difference decides: {order}, in this order"


def _direction(lead: NDArray[np.float64], unnoticed: float) -> NDArray[np.int8]:
    # Scores are sums of products: what differs only by rounding does not differ.
    return np.where(np.abs(lead) > unnoticed + 1e-9, np.sign(lead), 0).astype(np.int8)


def _wish(column: str, points: Worth) -> str:
    if isinstance(points, Mapping):
        return f"{column} {max(points, key=lambda value: points[value])}"
    return f"{'more' if points > 0 else 'less'} {column}"


Pairs: TypeAlias = Sequence[tuple[Any, Any]]
Scale: TypeAlias = Literal["two", "four"]
SIMULATED = "Written by a simulated participant, not by a person."
SCALES: dict[Scale, tuple[Answer, ...]] = {"two": (Answer.SAME, Answer.NO_CONSTRAINT), "four": tuple(Answer)}


@dataclass(frozen=True)
class Respondent:
    """A simulated person whose preferences are known.

    Sees the table through `discount`; says "same" where `closeness` finds two people close; otherwise asks
    for the `order` that is due, if any; otherwise for nothing.

    Parameters
    ----------
    name : str
        Begins with "simulated", so that nobody takes it for a real person's.
    closeness, order, discount
        The preferences.
    noise : float
        The probability that an answer is drawn at random from those allowed.
    fatigue : float
        What each answer given adds to that probability.
    position_bias : float
        The probability of favouring the left one where neither sameness nor an order is due. It shows only
        where ordered answers are allowed.
    kind : str
        What the person was made as, for tables and figures.
    principle : str
        The preferences as the person would put them; empty where nobody has put them into words.
    """

    name: str
    closeness: Closeness
    order: Merit | FirstNoticeable | None = None
    discount: Discount | None = None
    noise: float = 0.0
    fatigue: float = 0.0
    position_bias: float = 0.0
    kind: str = "custom"
    principle: str = ""

    def __post_init__(self) -> None:
        if not self.name.startswith("simulated"):
            raise InputError(f"respondent {self.name!r}: the name must begin with 'simulated'")
        for what in ("noise", "fatigue", "position_bias"):
            value = getattr(self, what)
            if not 0 <= value <= 1:
                raise InputError(f"respondent {self.name!r}: {what}={value!r}; allowed: 0 to 1")

    def opinions(self, left: pd.DataFrame, right: pd.DataFrame) -> NDArray[np.object_]:
        """Return what the person really thinks of each row of `left` beside the same row of `right`."""
        if self.discount is not None:
            left, right = self.discount.applied(left), self.discount.applied(right)
        leaning = np.zeros(len(left), dtype=np.int8)
        if self.order is not None:
            leaning = self.order.leaning(left, right)
        close = self.closeness.distance(left, right) <= self.closeness.threshold
        return np.select(
            [close, leaning > 0, leaning < 0],
            [_cell(Answer.SAME), _cell(Answer.A_AT_LEAST_B), _cell(Answer.B_AT_LEAST_A)],
            _cell(Answer.NO_CONSTRAINT),
        )

    def answers(
        self,
        people: pd.DataFrame,
        pairs: Pairs,
        rng: np.random.Generator,
        *,
        scale: Scale = "four",
        already: int = 0,
    ) -> list[Answer]:
        """Return the answers to pairs of ids, in the order shown, after `already` earlier ones."""
        if scale not in SCALES:
            raise InputError(f"scale={scale!r}; allowed: {' or '.join(map(repr, SCALES))}")
        left, right = (_rows(people, [pair[side] for pair in pairs]) for side in (0, 1))
        answers = self.opinions(left, right)
        # Three numbers for every pair, used or not, so that one person's habits do not move another's luck.
        luck = rng.random((3, len(answers)))
        unsure = answers == Answer.NO_CONSTRAINT
        answers = np.where(unsure & (luck[0] < self.position_bias), _cell(Answer.A_AT_LEAST_B), answers)
        if scale == "two":
            answers = np.where(answers == Answer.SAME, answers, _cell(Answer.NO_CONSTRAINT))
        careless = luck[1] < self.noise + self.fatigue * (already + np.arange(len(answers)))
        allowed = SCALES[scale]
        picks = np.array([*allowed], dtype=object)[(luck[2] * len(allowed)).astype(np.intp)]
        return list(np.where(careless, picks, answers))

    def describe(self) -> str:
        """Return who this is in one sentence."""
        weaknesses = [
            (self.noise, f"answers at random {self.noise:.0%} of the time"),
            (self.fatigue, f"{self.fatigue:.1%} more with every answer"),
            (self.position_bias, f"favours the left one {self.position_bias:.0%} of the time when unsure"),
        ]
        parts = [
            self.discount.describe() if self.discount else "",
            self.closeness.describe(),
            self.order.describe() if self.order else "",
            *(text for size, text in weaknesses if size > 0),
        ]
        return f"{self.name} ({self.kind}): {'; '.join(part for part in parts if part)}."

    def reason(self) -> str:
        """Return why this person answers so, without saying who it is: others may read it."""
        columns = self.closeness.columns if NEVER < self.closeness.threshold < ALWAYS else ()
        if self.principle:
            reason = f"I hold that {self.principle}"
        elif columns:
            reason = f"What matters to me: {listed(columns)}"
        else:
            reason = f"To me, {self.closeness.describe()}"
        return f"{reason}. {SIMULATED}"

    def closing_words(self) -> dict[str, str]:
        """Return what is written at the end of a study, by the question."""
        return {
            "rules": f"{f'I hold that {self.principle}.' if self.principle else self.describe()} {SIMULATED}",
            "expressible": f"{self.name} has no opinion on this. {SIMULATED}",
            "comments": f"{self.name} has none. {SIMULATED}",
        }


def _cell(answer: Answer) -> NDArray[np.object_]:
    """Return one object, so that numpy does not turn the answer into fixed-width text."""
    cell = np.empty((), dtype=object)
    cell[()] = answer
    return cell


def _rows(people: pd.DataFrame, ids: list[Any]) -> pd.DataFrame:
    positions = people.index.get_indexer(pd.Index(ids, dtype=people.index.dtype))
    if (positions < 0).any():
        raise InputError(f"people: nobody with the id {ids[int((positions < 0).argmax())]!r}")
    return people.iloc[positions].reset_index(drop=True)


USUAL_SECONDS = 10.0
PACE_SPREAD, THOUGHT_SPREAD = 0.3, 0.5
"""Standard deviations of the logarithm: of people's usual thoughts, and of one person's thoughts about pairs."""

_RANGE = (0.05, 0.95)
_N_SAMPLES = 4_000


@dataclass(frozen=True)
class Minutes:
    """Seconds of one participant: half take less than the ``median``, nine in ten between ``low`` and ``high``."""

    low: float
    median: float
    high: float


def minutes_for(n_pairs: int, seconds: float = USUAL_SECONDS, *, seed: int = 0) -> Minutes:
    """Return how long one participant takes for so many pairs.

    Everyone has a usual thought of their own, lognormal about ``seconds``; each thought is lognormal about it. So some
    people are slow in all they do, and everyone dwells on some pairs.

    >>> minutes_for(50, 10).low < minutes_for(50, 10).median < minutes_for(50, 10).high
    True
    """
    if n_pairs < 1:
        raise InputError(f"n_pairs={n_pairs}; allowed: 1 or more")
    if not 0 < seconds < np.inf:
        raise InputError(f"seconds={seconds!r}; allowed: above 0")
    rng = np.random.default_rng(seed)
    usual = seconds * rng.lognormal(0.0, PACE_SPREAD, size=_N_SAMPLES)
    thoughts = rng.lognormal(0.0, THOUGHT_SPREAD, size=(_N_SAMPLES, n_pairs)).sum(axis=1)
    low, median, high = np.quantile(usual * thoughts / 60, [_RANGE[0], 0.5, _RANGE[1]])
    return Minutes(float(low), float(median), float(high))
