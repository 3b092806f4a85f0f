"""Prices of a fit's judgments by judge, pair and person, how uneven they are, and what giving some up saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from fairwise.auditing.error_measure import is_of_amounts
from fairwise.auditing.scores import positions_of
from fairwise.constraints.pairs import PairRows, price_table
from fairwise.constraints.violations import PRECISION, STATUSES
from fairwise.errors import InputError
from fairwise.judgments import Answer
from fairwise.learning.solvers.progress import raise_interrupts

if TYPE_CHECKING:
    from fairwise.auditing.error_measure import Model
    from fairwise.judgments import Judgments
    from fairwise.learning.estimator import PairwiseFairClassifier


Trained = TypeVar("Trained", bound="Model")


def followed_by_judge(prices: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each judge, the most expensive first; ``prices`` is a model's ``prices_``.

    Columns: ``pairs`` shown; answers ``followed``, ``not_followed`` and ``asks_nothing``; ``excess``, summed over the
    judge's pairs; ``mean_excess``, that over twice the pairs, which is what the judge's own budget bounds; ``price``.
    """
    table = _with_pairs(prices)
    # A pair shown twice counts once: the excess of all that was asked of it is the largest of its answers'.
    excess = table.groupby(["judge", "pair"])["excess"].max().groupby("judge")
    lines = pd.DataFrame({"pairs": excess.size()}).join(_status_counts(table, "judge"))
    lines["excess"] = excess.sum()
    lines["mean_excess"] = lines["excess"] / (2 * lines["pairs"])
    lines["price"] = table.groupby("judge")["price"].sum()
    return lines.sort_values("price", ascending=False, kind="stable")


def followed_by_pair(prices: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each pair, the most expensive first; ``prices`` is a model's ``prices_``.

    Columns: answers ``followed``, ``not_followed`` and ``asks_nothing``; the largest ``violation`` and ``excess``; the
    sum of the ``price``.
    """
    table = _with_pairs(prices)
    grouped = table.groupby("pair", sort=False)
    sums = grouped.agg(violation=("violation", "max"), excess=("excess", "max"), price=("price", "sum"))
    return _status_counts(table, "pair").join(sums).sort_values("price", ascending=False, kind="stable")


def price_by_person(prices: pd.DataFrame) -> pd.Series[float]:
    """Sum of the prices of the judgments each person is in; a judgment counts for both of its people."""
    both = pd.concat([prices.set_index("a")["price"], prices.set_index("b")["price"]])
    by_person: pd.Series[float] = both.groupby(level=0).sum().rename_axis("person")
    return by_person.sort_values(ascending=False, kind="stable")


def lorenz(values: object) -> pd.DataFrame:
    """Return the Lorenz curve of values: ``share`` of the values, largest first, and of the ``total``.

    >>> lorenz([3.0, 1.0, 0.0, 0.0])["total"].tolist()
    [0.0, 0.75, 1.0, 1.0, 1.0]
    """
    largest_first = np.sort(np.asarray(values, dtype=float))[::-1]
    if not (np.isfinite(largest_first) & (largest_first >= 0)).all():
        raise InputError("A Lorenz curve needs finite numbers that are not negative.")
    if len(largest_first):  # in units of a power of two, so that the total is a number
        largest_first = np.ldexp(largest_first, -int(np.frexp(largest_first[0])[1]))
    running = np.concatenate([[0.0], np.cumsum(largest_first)])
    share = np.arange(len(running)) / max(len(largest_first), 1)
    return pd.DataFrame({"share": share, "total": running / running[-1] if running[-1] > 0 else running})


def spread_over_pairs(prices: pd.DataFrame, unit: float = 1.0) -> dict[str, pd.DataFrame]:
    """Return the Lorenz curves of ``price`` and ``excess`` over the pairs, without rounding.

    ``unit`` is what one decision can cost at most, in which prices are counted.
    """
    pairs = followed_by_pair(prices.assign(price=prices["price"] / unit))
    # A solver's rounding is neither a price nor a disappointment.
    return {name: lorenz(pairs[name].where(pairs[name] > PRECISION, 0.0)) for name in ("price", "excess")}


def removal_saving(
    model: PairwiseFairClassifier,
    people: object,
    outcome: object,
    judgments: Judgments,
    n: int = 5,
    **fit_params: object,
) -> pd.DataFrame:
    """Refit without each of the ``n`` most expensive pairs; return its price and the error really saved.

    Giving a pair up means that what was said about it asks for nothing any more; it was still shown, so every other
    weight stays. By convexity the saving is at most ``bound = price * max(0, new violation - gamma) + gap``, where the
    certificate is exact; ``gap`` is its own. After a heuristic search nothing bounds it, nor after the no-regret
    dynamics, whose refits may break other rules.
    """
    bounded = model.certificate_.kind == "exact" and model.solver == "column-generation"
    gap = max(model.certificate_.gap, 0.0) if bounded else np.nan
    dearest = followed_by_pair(model.prices_).head(n)
    lines = []
    for pair, price, violation in zip(dearest.index, dearest["price"], dearest["violation"], strict=True):
        refitted = _refit_without(model, people, outcome, judgments, [pair], fit_params)
        again = followed_by_pair(_prices_about(refitted, people, judgments))["violation"].to_dict()
        new_violation = float(again[pair])
        lines.append(
            {
                "pair": pair,
                "price": price,
                "violation": violation,
                "new_violation": new_violation,
                "bound": price * max(0.0, new_violation - model.gamma) + gap,
                "saving": model.certificate_.error - refitted.certificate_.error,
            }
        )
    return pd.DataFrame(lines)


def error_without_dearest(
    model: PairwiseFairClassifier,
    people: object,
    outcome: object,
    judgments: Judgments,
    shares: Sequence[float] = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0),
    **fit_params: object,
) -> pd.DataFrame:
    """Error after giving up the dearest share of the pairs in force, by refitting: ``share``, ``pairs``, ``error``."""
    ranked = followed_by_pair(model.prices_[model.prices_["answer"] != Answer.NO_CONSTRAINT])
    lines = []
    for share in shares:
        dropped = list(ranked.index[: round(share * len(ranked))])
        refitted = _refit_without(model, people, outcome, judgments, dropped, fit_params)
        lines.append({"share": share, "pairs": len(dropped), "error": refitted.certificate_.error})
    return pd.DataFrame(lines)


def plain_error(model: Model, people: object, outcome: object) -> float:
    """Least error of the same kind of model that listens to nobody.

    The least, because a fit with judgments has the least that keeps them. The plain model of ``linear`` itself is
    chosen for other people and has a higher one.
    """
    error = model.certificate_.plain_error
    if np.isnan(error):
        error = plain_clone(model).fit(people, np.asarray(outcome)).certificate_.plain_error
    return float(error)


def plain_clone(model: Trained) -> Trained:
    """Return an unfitted model with the same settings but for those that need judgments or groups."""
    needless = {"group_constraints", "judge_budgets", "favorable_label"} & set(model.get_params(deep=False))
    plain: Trained = _clone(model).set_params(**dict.fromkeys(needless))
    return plain


def unbound_model(model: Model, people: Any, outcome: object, judgments: Judgments) -> Model:
    """Return a model of the same kind without judgments and rules about groups, of the least error found."""
    free = {"gamma": 1.0, "eta": None, "group_constraints": None, "judge_budgets": None}
    labels = np.asarray(outcome) if is_of_amounts(model) else model.classes_[np.asarray(outcome, dtype=int)]
    about = judgments.about(people)  # they may carry other columns of these people
    fitted: Model = _clone(model).set_params(**free).fit(people, labels, judgments=about)
    return fitted


def _with_pairs(prices: pd.DataFrame) -> pd.DataFrame:
    """Add a column for the two people, in one order whichever side they stood on."""
    pairs = [(a, b) if str(a) <= str(b) else (b, a) for a, b in zip(prices["a"], prices["b"], strict=True)]
    return prices.assign(pair=pd.Series(pairs, index=prices.index, dtype=object))


def _status_counts(table: pd.DataFrame, by: str) -> pd.DataFrame:
    is_status = {status.replace(" ", "_"): table["status"] == status for status in STATUSES}
    return pd.DataFrame(is_status).groupby(table[by], sort=False).sum()


@raise_interrupts()
def _refit_without(
    model: PairwiseFairClassifier,
    people: object,
    outcome: object,
    judgments: Judgments,
    pairs: list[tuple[object, object]],
    fit_params: dict[str, Any],
) -> PairwiseFairClassifier:
    rest = judgments.giving_up(pairs)
    return _clone(model).fit(people, outcome, judgments=rest, **fit_params)


def _clone(model: Trained) -> Trained:
    return type(model)(**model.get_params(deep=False))  # a fit leaves its settings as they are


def _prices_about(model: PairwiseFairClassifier, people: Any, judgments: Judgments) -> pd.DataFrame:
    """The violations of all judgments under another model (its prices are of no interest here)."""
    rows = PairRows.from_judgments(judgments)
    complete = judgments if judgments.people is not None else judgments.about(people)
    if not len(rows):  # nothing is asked of anyone
        return price_table(rows, np.zeros(0), np.zeros(0), float(model.gamma))
    rows_of_judged = complete.people_rows(rows.people)
    if model.label_values is not None:
        favorable = model.predict_value(rows_of_judged)
    else:
        of_label_1 = model.predict_proba(rows_of_judged)[:, 1]
        favorable = 1.0 - of_label_1 if model.favorable_label_ == model.classes_[0] else of_label_1
    return price_table(rows, np.zeros(len(rows)), favorable, float(model.gamma))


# A price below this is a solver's rounding.
_NO_PRICE = 1e-6
# Prices closer than this are one price: within an allowance all pairs not followed cost the same.
_ONE_PRICE = 9


@dataclass(frozen=True)
class ExpensivePair:
    """Two people, what was said about them and by whom, what they get, and what that costs.

    ``features`` has ``(name, value of a, value of b)``; ``gets_a`` and ``gets_b`` are their probabilities of the
    outcome that is compared. ``answers`` has each answer with the judges who gave it.
    """

    a: str
    b: str
    features: tuple[tuple[str, object, object], ...]
    answers: tuple[tuple[Answer, tuple[str, ...]], ...]
    gets_a: float
    gets_b: float
    price: float
    violation: float
    excess: float
    not_followed: bool
    price_low: float = np.nan
    price_high: float = np.nan
    """Band of the price with answers of another day, where that is known."""

    def on_other_days(self, bands: pd.DataFrame | None) -> ExpensivePair:
        """Return the pair with its band of :class:`~fairwise.auditing.answer_bands.AnswerBands`, where there is one."""
        key = min(self.a, self.b), max(self.a, self.b)
        if bands is None or key not in bands.index:
            return self
        line = bands[["price", "low", "high"]].to_numpy(dtype=float)[bands.index.get_indexer(pd.Index([key]))[0]]
        price, low, high = map(float, line)
        return replace(self, price_low=max(self.price + low - price, 0.0), price_high=self.price + high - price)


def expensive_pairs(
    pairs: pd.DataFrame,
    prices: pd.DataFrame,
    by_pair: pd.DataFrame,
    people: pd.DataFrame,
    n: int,
    unit: float = 1.0,
) -> tuple[ExpensivePair, ...]:
    """The ``n`` pairs of the highest price above zero; of equal prices, the most disappointed first.

    ``unit`` is what one decision can cost at most: what is a solver's rounding depends on it.
    """
    costly = pairs[pairs["price"] > unit * _NO_PRICE]
    order = costly.assign(rank=(costly["price"] / unit).round(_ONE_PRICE)).sort_values(
        ["rank", "excess"], ascending=False, kind="stable"
    )
    gets = {
        frozenset((str(a), str(b))): {str(a): float(of_a), str(b): float(of_b)}
        for a, b, of_a, of_b in by_pair[["a", "b", "favorable_a", "favorable_b"]].itertuples(index=False, name=None)
    }
    dear = []
    for (a, b), line in zip(order.index, order.head(n).to_dict("records"), strict=False):
        at_a, at_b = positions_of(people.index, pd.Index([a, b]), "people")
        each = gets[frozenset((str(a), str(b)))]
        dear.append(
            ExpensivePair(
                a=str(a),
                b=str(b),
                features=tuple((str(name), row.iloc[at_a], row.iloc[at_b]) for name, row in people.items()),
                answers=_answers_about(prices, a, b),
                gets_a=each[str(a)],
                gets_b=each[str(b)],
                price=float(line["price"]),
                violation=float(line["violation"]),
                excess=float(line["excess"]),
                not_followed=bool(line["not_followed"]),
            )
        )
    return tuple(dear)


def _answers_about(prices: pd.DataFrame, a: object, b: object) -> tuple[tuple[Answer, tuple[str, ...]], ...]:
    """Each answer about the two as if ``a`` had stood on the left, and who gave it."""
    as_shown = prices[(prices["a"] == a) & (prices["b"] == b)]
    turned = prices[(prices["a"] == b) & (prices["b"] == a)]
    who: dict[Answer, list[str]] = {answer: [] for answer in Answer}
    for judge, answer in zip(as_shown["judge"], as_shown["answer"], strict=True):
        who[Answer(answer)].append(str(judge))
    for judge, answer in zip(turned["judge"], turned["answer"], strict=True):
        who[Answer(answer).swapped()].append(str(judge))
    return tuple((answer, tuple(judges)) for answer, judges in who.items() if judges)
