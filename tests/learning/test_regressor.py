"""Amounts: the regressor against linear programmes over every tree, and what its grid costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.reductions import AbsoluteLoss, BoundedGroupLoss, DemographicParity, SquareLoss
from scipy.optimize import linprog
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairwise import Judgments, PairwiseFairRegressor, audit
from fairwise.datasets import load_german_credit
from fairwise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside fairlearn, about pandas


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [PairwiseFairRegressor(), PairwiseFairRegressor("linear-regression", loss="absolute", grid=8)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_own_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_there_is_no_chance_to_take_out() -> None:
    with pytest.raises(InputError, match="predicts the mean of its mixture, which is no matter of chance already"):
        PairwiseFairRegressor().derandomize()


GROUPS = ("f", "m")


class Shops:
    """A few people with two columns, an amount, and judgments about pairs."""

    def __init__(self, seed: int, n: int = 10) -> None:
        rng = np.random.default_rng(seed)
        self.people = pd.DataFrame({"x": rng.integers(3, size=n), "z": rng.integers(2, size=n)}).astype(float)
        self.amount = pd.Series(10 * rng.random(n).round(3) + 5 * self.people["x"])
        self.weight = rng.choice([1.0, 2.0], n)
        self.group = pd.Series(rng.choice(["f", "m"], n))
        self.group[:2] = ["f", "m"]
        pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(4)}
        self.pairs = [(a, b, str(rng.choice(["same", "a_at_least_b"]))) for a, b in sorted(pairs)]
        rows = [{"judge": "j", "a": a, "b": b, "answer": answer} for a, b, answer in self.pairs]
        self.judgments = Judgments(rows, people=self.people)
        self.gamma = float(rng.choice([0.0, 0.05, 0.2]))
        self.loss = ["squared", "absolute"][int(rng.integers(2))]

    @property
    def span(self) -> float:
        return float(np.ptp(self.amount))

    def fit(self, **more: Any) -> PairwiseFairRegressor:
        settings: dict[str, Any] = {"max_depth": 1, "gamma": self.gamma, "loss": self.loss, "grid": 6, "tol": 1e-10}
        model = PairwiseFairRegressor(larger_is_better=True, **(settings | more))
        sensitive = self.group if "group_constraints" in more else None
        return model.fit(
            self.people,
            self.amount,
            judgments=self.judgments,
            sample_weight=self.weight,
            sensitive_features=sensitive,
        )

    def sides(self) -> list[Any]:
        table = self.people.to_numpy()
        return [np.ones(len(table), dtype=bool), *(c <= cut for c in table.T for cut in np.unique(c)[:-1])]

    def missed(self, amounts: Any, loss: str | None = None) -> Any:
        gap = np.abs(amounts - self.amount.to_numpy())
        return gap**2 if (loss or self.loss) == "squared" else gap

    def mean_of(self, group: str, missed: Any) -> Any:
        """The weighted mean over a group's people of numbers ``(…, n)``."""
        own = self.weight * (self.group == group).to_numpy()
        return missed @ own / own.sum()

    def drawn_losses(self, model: PairwiseFairRegressor, loss: str) -> dict[str, float]:
        """The loss of each group where everyone's amount is drawn from the mixture, tree by tree."""
        drawn = model.amounts_[model.classifiers_.labels(self.people.to_numpy())]
        return {g: float(model.weights_ @ self.mean_of(g, self.missed(drawn, loss))) for g in GROUPS}

    def least_on_grid(
        self, size: int, bounds: dict[str, float] | None = None, rule: str | None = None, gamma: float | None = None
    ) -> float:
        """Over every tree of depth 1 with two amounts of the grid in its leaves; ``rule`` is the loss bounded."""
        grid = np.linspace(self.amount.min(), self.amount.max(), size)
        amounts = np.array([np.where(side, one, two) for side in self.sides() for one in grid for two in grid])
        share = self.weight / self.weight.sum()
        rows, limits = list[Any](), list[float]()
        for a, b, answer in self.pairs:
            gap = amounts[:, b] - amounts[:, a]
            rows += [gap, -gap] if answer == "same" else [gap]
            allowed = self.gamma if gamma is None else gamma
            limits += [allowed * self.span] * (2 if answer == "same" else 1)
        for group, bound in (bounds or {}).items():
            rows.append(self.mean_of(group, self.missed(amounts, rule)))
            limits.append(bound)
        errors = self.missed(amounts) @ share
        sizes = np.maximum(np.abs(rows).max(axis=1), 1e-300)  # whatever the units, to the same number of digits
        found = linprog(
            errors / errors.max(),
            A_ub=rows / sizes[:, None],
            b_ub=limits / sizes,
            A_eq=np.ones((1, len(errors))),
            b_eq=[1.0],
        )
        return float(errors @ found.x) if found.x is not None else np.inf

    def least_of_any_amounts(self) -> float:
        """Over mixtures of every tree of depth 1 with any amounts in its leaves, for absolute loss: one programme.

        A tree has a weight ``w`` and its leaves the amounts times ``w``, so that losses and means are linear.
        """
        sides, y, n = self.sides(), self.amount.to_numpy(), len(self.amount)
        share = self.weight / self.weight.sum()
        width = 3 + n  # weight, two leaves, and what is missed by each person
        size = width * len(sides)
        cost, rows, limits, treated = np.zeros(size), list[Any](), list[float](), np.zeros((n, size))
        for number, side in enumerate(sides):
            first = width * number
            cost[first + 3 : first + width] = share
            for leaf in (1, 2):
                for bound, sign in ((y.max(), 1.0), (y.min(), -1.0)):
                    row = np.zeros(size)
                    row[first + leaf], row[first] = sign, -sign * bound
                    rows.append(row)
                    limits.append(0.0)
            for i in range(n):
                leaf = first + (1 if side[i] else 2)
                treated[i, leaf] = 1.0
                for sign in (1.0, -1.0):
                    row = np.zeros(size)
                    row[leaf], row[first], row[first + 3 + i] = sign, -sign * y[i], -1.0
                    rows.append(row)
                    limits.append(0.0)
        for a, b, answer in self.pairs:
            gap = treated[b] - treated[a]
            rows += [gap, -gap] if answer == "same" else [gap]
            limits += [self.gamma * self.span] * (2 if answer == "same" else 1)
        once = np.zeros(size)
        once[::width] = 1.0
        leaves = [(0, None), (None, None), (None, None), *[(0, None)] * n]
        found = linprog(cost, A_ub=rows, b_ub=limits, A_eq=once[None], b_eq=[1.0], bounds=leaves * len(sides))
        assert found.x is not None
        return float(cost @ found.x)


@pytest.mark.parametrize("seed", range(100))
def test_no_mixture_on_the_grid_is_better(seed: int) -> None:
    shops = Shops(seed)
    proved = shops.fit().certificate_
    scale = shops.span ** (2 if shops.loss == "squared" else 1)
    assert proved.kind == "exact"
    assert proved.error == pytest.approx(shops.least_on_grid(6), abs=1e-8 * scale)
    finer = shops.least_on_grid(26)  # five times as fine, and all of the grid's own amounts are among them
    assert proved.lower_bound - proved.grid_gap - 1e-8 * scale <= finer <= proved.error + 1e-8 * scale
    assert proved.mean_error <= proved.error + 1e-8 * scale


@pytest.mark.parametrize("seed", range(12))
def test_amounts_between_those_of_the_grid_gain_no_more_than_is_said(seed: int) -> None:
    shops = Shops(seed)
    shops.loss = "absolute"
    least = shops.least_of_any_amounts()
    for size in (3, 9):
        proved = shops.fit(grid=size).certificate_
        assert proved.grid_gap == pytest.approx(shops.span / (size - 1) / 2)
        assert proved.lower_bound - proved.grid_gap - 1e-7 <= least <= proved.error + 1e-7


@pytest.mark.parametrize("seed", range(220))
def test_amounts_between_gain_no_more_than_is_said_with_rules_about_groups(seed: int) -> None:
    """Rounding to the grid raises the loss of groups, too; where no mixture on it keeps the rules, another may."""
    shops = Shops(seed)
    rule = ["squared", "absolute"][seed // 2 % 2]
    size, finer = [(3, 13), (6, 21)][seed % 2]
    worst = max(shops.drawn_losses(shops.fit(grid=size), rule).values())
    bound = worst * (0.7 + 0.25 * float(np.random.default_rng(seed).random()))
    loss = {"squared": SquareLoss, "absolute": AbsoluteLoss}[rule](shops.amount.min(), shops.amount.max())
    rules = [BoundedGroupLoss(loss, upper_bound=bound)]
    least = shops.least_on_grid(finer, dict.fromkeys(GROUPS, bound), rule)
    if np.isinf(shops.least_on_grid(size, dict.fromkeys(GROUPS, bound), rule)):
        with pytest.raises(InputError, match=f"deciding between {size} amounts that keeps every rule exists"):
            shops.fit(grid=size, group_constraints=rules)
        return
    proved = shops.fit(grid=size, group_constraints=rules).certificate_
    scale = shops.span ** (2 if shops.loss == "squared" else 1)
    assert proved.lower_bound - proved.grid_gap - 1e-7 * scale <= least <= proved.error + 1e-7 * scale
    assert proved.grid_gap < proved.lower_bound + scale  # a number that says something
    assert f"lower the bound by at most {proved.grid_gap:.4g}" in str(proved)


@pytest.mark.parametrize("seed", range(15))
def test_no_groups_loss_is_above_its_bound(seed: int) -> None:
    shops = Shops(seed)
    shops.loss = "squared"
    lowest, highest = float(shops.amount.min()), float(shops.amount.max())
    for share in (0.3, 0.6):
        bound = share * float(shops.fit().certificate_.error) + (1 - share) * 0.02 * shops.span**2
        rule = BoundedGroupLoss(SquareLoss(lowest, highest), upper_bound=bound)
        least = shops.least_on_grid(6, dict.fromkeys(GROUPS, bound))
        if np.isinf(least):
            with pytest.raises(InputError, match=r"No mixture of decision trees .* that keeps every rule exists"):
                shops.fit(group_constraints=[rule])
            continue
        model = shops.fit(group_constraints=[rule])
        assert model.certificate_.error == pytest.approx(least, abs=1e-6 * shops.span**2)
        missed = (model.predict(shops.people) - shops.amount) ** 2
        for group in GROUPS:
            own = (shops.group == group).to_numpy()
            assert np.average(missed[own], weights=shops.weight[own]) <= bound + 1e-6 * shops.span**2


@pytest.mark.parametrize("rule", ["squared", "absolute"])
@pytest.mark.parametrize("seed", range(30))
def test_group_rules_are_in_the_units_of_the_loss_that_is_bounded(seed: int, rule: str) -> None:
    shops = Shops(seed)
    shops.amount = shops.amount * [0.01, 1.0, 1000.0][seed % 3] - 7.0
    grid = [2, 6, 6][seed // 3 % 3]
    scale, scale_of_rule = (shops.span ** (2 if loss == "squared" else 1) for loss in (shops.loss, rule))
    loss = {"squared": SquareLoss, "absolute": AbsoluteLoss}[rule](shops.amount.min(), shops.amount.max())
    worst = max(shops.drawn_losses(shops.fit(grid=grid), rule).values())
    tried = [(bound, shops.least_on_grid(grid, dict.fromkeys(GROUPS, bound), rule)) for bound in _tighter(worst)]
    bound, least = next((bound, least) for bound, least in tried if np.isfinite(least))
    model = shops.fit(grid=grid, group_constraints=[BoundedGroupLoss(loss, upper_bound=bound)])
    rules = model.group_rules_.set_index("rule")
    drawn = shops.drawn_losses(model, rule)
    assert set(rules.index) == {f"BoundedGroupLoss {group}" for group in GROUPS}
    means = shops.missed(model.predict(shops.people), rule)
    for group in GROUPS:
        value, limit = (float(rules[name][f"BoundedGroupLoss {group}"]) for name in ("value", "limit"))
        assert limit == bound
        assert value == pytest.approx(drawn[group], abs=1e-9 * scale_of_rule)
        assert value <= limit + 1e-6 * scale_of_rule
        assert shops.mean_of(group, means) <= value + 1e-9 * scale_of_rule
    assert model.certificate_.error == pytest.approx(least, abs=1e-6 * scale)

    # Prices are a slope of the least loss, which is convex in the bounds and gamma: nowhere is it below their line.
    prices = {group: float(rules["price"][f"BoundedGroupLoss {group}"]) for group in GROUPS}
    of_pairs = float(model.prices_["price"].sum())
    assert min(prices.values()) >= 0
    for by_f, by_m, by_gamma in _MOVES:
        moved = {"f": bound + by_f * scale_of_rule, "m": bound + by_m * scale_of_rule}
        there = shops.least_on_grid(grid, moved, rule, gamma=shops.gamma + by_gamma)
        line = sum(prices[group] * (bound - moved[group]) for group in GROUPS) - of_pairs * by_gamma
        assert there - least >= line - 1e-6 * scale

    # Where it has one slope only, they are it.
    step = 1e-4 * scale_of_rule
    for group in GROUPS:
        less, more = (
            shops.least_on_grid(grid, dict.fromkeys(GROUPS, bound) | {group: bound + by}, rule) for by in (-step, step)
        )
        if np.isfinite(less) and (less - least) - (least - more) < 1e-7 * scale:
            assert prices[group] * step == pytest.approx((less - more) / 2, abs=1e-6 * scale)


_MOVES = [(0.01, 0, 0), (0, 0.01, 0), (-0.01, 0, 0), (0, -0.01, 0), (0.2, -0.01, 0), (0, 0, 0.05), (0.3, 0.3, 0.1)]


def _tighter(worst: float) -> list[float]:
    """Bounds below the loss of the worst group, and as a last resort that loss itself."""
    return [share * worst for share in (0.7, 0.8, 0.9, 0.97, 1.0 + 1e-9)]


@pytest.fixture(scope="module")
def borrowers() -> tuple[pd.DataFrame, pd.Series, Judgments]:
    people, amount = load_german_credit(outcome="amount")
    rng = np.random.default_rng(0)
    rows = [{"judge": "j", "a": a, "b": b, "answer": "a_at_least_b"} for a, b in rng.choice(people.index, (30, 2))]
    return people, amount, Judgments([row for row in rows if row["a"] != row["b"]], people=people)


@pytest.mark.parametrize("larger_is_better", [True, False])
def test_an_audit_of_the_amounts_says_what_the_certificate_says(borrowers: Any, larger_is_better: bool) -> None:
    people, amount, judgments = borrowers
    model = PairwiseFairRegressor(gamma=0.02, larger_is_better=larger_is_better, grid=16)
    model.fit(people, amount, judgments=judgments)
    treated = pd.Series(model.predict_value(people), index=people.index)
    overall = audit(treated, judgments, gamma=0.02, favorable_label=1).overall
    numbers = overall.iloc[:, 0] if "max_violation" in overall.index else overall.iloc[0]
    assert float(numbers["max_violation"]) == pytest.approx(model.certificate_.max_violation, abs=1e-9)
    assert float(numbers["max_violation"]) <= 0.02 + 1e-6
    low, high = amount.min(), amount.max()
    expected = (model.predict(people) - low) / (high - low)
    assert np.allclose(treated, expected if larger_is_better else 1 - expected)
    assert model.prices_["price"].max() > 0
    assert "Rule 1" in str(model.rules_)
    assert "Error of the mean" in str(model.certificate_)


def test_the_same_person_gets_the_same_amount_in_any_batch(borrowers: Any) -> None:
    people, amount, judgments = borrowers
    model = PairwiseFairRegressor(gamma=0.05, larger_is_better=True).fit(people, amount, judgments=judgments)
    assert np.array_equal(model.predict(people)[::7], model.predict(people.iloc[::7]))
    assert model.score(people, amount) > 0
    assert len(model.amounts_) == 32


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"larger_is_better": None}, "larger_is_better=True or False"),
        ({"loss": "huber"}, "loss='huber' is not allowed"),
        ({"estimator": "linear"}, "Allowed: 'tree', 'linear-regression'"),
        ({"grid": 1}, "whole number from 2 to 128"),
        ({"outcome_range": (0, 100)}, r"outcome_range=\(0, 100\) does not hold the outcome"),
        ({"outcome_range": (5, 1)}, "the least comes first"),
        ({"outcome_range": 7}, r"give \(least, largest\)"),
        ({"outcome_range": (None, 5)}, r"give \(least, largest\)"),
        ({"outcome_range": (0, 1e200)}, "losses over such a range cannot be counted"),
        ({"larger_is_better": 0}, "True, False or None"),
        ({"larger_is_better": "yes"}, "True, False or None"),
        ({"group_constraints": DemographicParity()}, "Give fairlearn's BoundedGroupLoss with a bound"),
        ({"gamma": 2}, "gamma=2 is not allowed"),
    ],
)
def test_what_is_not_allowed_is_told(borrowers: Any, settings: dict[str, Any], message: str) -> None:
    people, amount, judgments = borrowers
    with pytest.raises(InputError, match=message):
        PairwiseFairRegressor(**({"larger_is_better": True} | settings)).fit(people, amount, judgments=judgments)


def test_outcomes_are_amounts(borrowers: Any) -> None:
    people, amount, _ = borrowers
    with pytest.raises(InputError, match="'much' is no number"):
        PairwiseFairRegressor().fit(people, amount.astype(object).where(amount > 1000, "much"))
    with pytest.raises(InputError, match="Everyone has the same outcome, 3"):
        PairwiseFairRegressor().fit(people, amount * 0 + 3)
    with pytest.raises(InputError, match="they are times: give numbers"):
        PairwiseFairRegressor().fit(people, pd.Series(pd.date_range("2020", periods=len(people)), index=people.index))


def test_a_bounded_loss_counts_all_amounts(borrowers: Any) -> None:
    """Fairlearn's losses clip: over (0, 1) every amount would be the same, and any bound kept."""
    people, amount, _ = borrowers
    rule = BoundedGroupLoss(SquareLoss(0, 1), upper_bound=0.5)
    with pytest.raises(InputError, match=r"SquareLoss\(0, 1\) counts what lies beyond as 0 or 1, but the amounts are"):
        PairwiseFairRegressor(group_constraints=[rule]).fit(people, amount, sensitive_features=people["age"] < 30)


def test_numpys_words_for_what_is_better_are_the_same(borrowers: Any) -> None:
    """As a search over settings gives them."""
    people, amount, judgments = borrowers
    less: list[Any] = [False, np.False_]
    one, other = (
        PairwiseFairRegressor(gamma=0.02, max_depth=1, larger_is_better=word).fit(people, amount, judgments=judgments)
        for word in less
    )
    assert np.array_equal(one.predict(people), other.predict(people))
    assert np.array_equal(one.predict_value(people), other.predict_value(people))


def test_a_search_that_ended_early_says_in_units_of_the_loss_what_may_be_left(borrowers: Any) -> None:
    people, amount, judgments = borrowers
    model = PairwiseFairRegressor(gamma=0.0, larger_is_better=True, max_iter=1)
    with pytest.warns(UserWarning):  # noqa: PT030 - both are looked at below
        model.fit(people, amount, judgments=judgments)
    found = model.certificate_
    ended, constant = found.warnings
    assert f"up to {found.gap:.4f} of the error may be left to gain" in ended
    assert found.gap > 1
    assert constant.startswith("One amount for everyone")
    assert "one amount for everyone" in str(found)
