"""People whose columns are odd: scales, constants, copies, types, missing and endless numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.torture_fits import ESTIMATORS, FOUR, HALVES, Fit, fit_case, for_each_estimator
from tests.support.torturing import (
    Case,
    Refused,
    hold_on_one_and_two_threads,
    hold_to_what_is_expected,
    hold_when_done_again,
    parametrised,
)

from fairwise import PairwiseFairClassifier


def fit_of(people: Any, outcome: Any = HALVES, **more: Any) -> Any:
    """A fit of these people by whichever estimator."""
    return lambda estimator: Fit(people, outcome, settings={"estimator": estimator}, **more)


def predicted(people: Any, others: Any, outcome: Any = HALVES, estimator: Any = "tree") -> Any:
    """P(label 1) of others by a model of these people."""

    def run() -> list[float]:
        model = PairwiseFairClassifier(estimator).fit(people, list(outcome))
        return list(model.predict_proba(others)[:, 1])

    return run


def x(*values: Any, dtype: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(list(values), dtype=dtype)})


SAME_ENDS = (("u", 0, 3, "same"),)
SCALES = (1e9, 1e-9, 1e150, 1e-150, 1e300, 1e-300, 5e307, 5e-324)

# A line cuts the halves apart at any scale and any distance from 0.
CASES = [case for scale in SCALES for case in for_each_estimator(f"numbers times {scale:g}", fit_of(FOUR * scale), 0.0)]
CASES += [
    case
    for far in (1e9, -1e9, 1e15, -(2.0**52))
    for case in for_each_estimator(f"numbers plus {far:g}", fit_of(FOUR + far), 0.0)
]
# With "same" about the ends both must be labelled alike on average: half of either is lost among trees, and the
# cheapest threshold labels leave one of four wrong half of the time as well.
CASES += [fit_case(f"numbers times {scale:g} and a rule", Fit(FOUR * scale, said=SAME_ENDS), 0.25) for scale in SCALES]
CASES += [
    *for_each_estimator("the labels' own order, turned", fit_of(-FOUR), 0.0),
    *for_each_estimator("minus zero is zero", fit_of(x(-0.0, 0.0, 1.0, 1.0)), 0.0),
    *for_each_estimator("numbers one rounding apart", fit_of(x(1.0, 1.0, np.nextafter(1, 2), np.nextafter(1, 2))), 0.0),
    *for_each_estimator("a constant column", fit_of(x(0.1, 0.1, 0.1, 0.1), (0, 1, 0, 0)), 0.25),
    *for_each_estimator("a huge constant column", fit_of(x(1e300, 1e300, 1e300, 1e300), (0, 1, 1, 1)), 0.25),
    *for_each_estimator("a constant beside a good column", fit_of(FOUR.assign(c=7.0)), 0.0),
    *for_each_estimator("a column twice", fit_of(FOUR.assign(y=FOUR["x"])), 0.0),
    *for_each_estimator("collinear columns", fit_of(FOUR.assign(y=3 * FOUR["x"] + 1, z=-FOUR["x"] / 7)), 0.0),
    *for_each_estimator(
        "1e300 beside 1e-300", fit_of(pd.DataFrame({"x": FOUR["x"] * 1e300, "y": FOUR["x"] * 1e-300})), 0.0
    ),
    *for_each_estimator("everyone alike, labels opposed", fit_of(x(5.0, 5.0, 5.0, 5.0)), 0.5),
    *for_each_estimator("pairs of twins with opposite labels", fit_of(x(0.0, 0.0, 1.0, 1.0), (0, 1, 0, 1)), 0.5),
    *for_each_estimator("three alike, one label against two", fit_of(x(2.0, 2.0, 2.0), (1, 1, 0)), 1 / 3),
    *for_each_estimator("two people", fit_of(x(0.0, 1.0), (0, 1)), 0.0),
    *for_each_estimator("two people and a rule", fit_of(x(0.0, 1.0), (0, 1), said=(("u", 0, 1, "same"),)), 0.5),
    *for_each_estimator("two people who are one row", fit_of(x(1.0, 1.0), (0, 1)), 0.5),
    *for_each_estimator("more columns than people", fit_of(pd.DataFrame(np.eye(4, 40))), 0.0),
    *for_each_estimator("all missing", fit_of(x(np.nan, np.nan, np.nan, np.nan), (0, 1, 0, 0)), 0.25),
    *for_each_estimator("missing is what tells", fit_of(x(np.nan, np.nan, 1.0, 1.0)), 0.0),
    *for_each_estimator("yes and no", fit_of(x(True, True, False, False)), 0.0),
    *for_each_estimator("yes, no and nothing", fit_of(x(True, True, None, None, dtype="boolean")), 0.0),
    *for_each_estimator("whole numbers with a gap", fit_of(x(1, 1, None, None, dtype="Int64")), 0.0),
    *for_each_estimator("decimals", fit_of(x(Decimal("0.1"), Decimal("0.2"), Decimal("1e9"), Decimal("2e9"))), 0.0),
    *for_each_estimator("numbers of several types", fit_of(x(Decimal("0.5"), 1, 2.5, np.float32(3))), 0.0),
    *for_each_estimator("one category", fit_of(x("a", "a", "a", "a"), (1, 1, 0, 1)), 0.25),
    *for_each_estimator("two categories", fit_of(x("a", "a", "b", "b")), 0.0),
    *for_each_estimator("a category and nothing", fit_of(x("a", "a", None, None)), 0.0),
    *for_each_estimator("text and numbers in one column", fit_of(x("a", "a", 2, 2)), 0.0),
    *for_each_estimator("a category nobody has", fit_of(x("a", "a", "b", "b", dtype="category")), 0.0),
    *for_each_estimator("2**53, the last exact whole number", fit_of(x(-(2**53), -5, 2**53 - 1, 2**53)), 0.0),
    *for_each_estimator("2**60, exact by chance", fit_of(x(0, 2**59, 2**60, 2**61)), 0.0),
]
# Depth 2 can label any four numbers as it likes; one cut of the column cannot. Without judgments `linear` takes no cut
# that gains no more than four tosses of a coin would.
CASES += [
    fit_case("labels in turn, tree", Fit(FOUR, (0, 1, 0, 1)), 0.0),
    fit_case("labels in turn, one cut", Fit(FOUR, (0, 1, 0, 1), settings={"estimator": "linear"}), 0.5),
    fit_case("labels in turn, stump", Fit(FOUR, (0, 1, 0, 1), settings={"max_depth": 1}), 0.25),
    fit_case("±1.7e308, tree", Fit(x(-1.7e308, -1e308, 1e308, 1.7e308)), 0.0),
    fit_case("1e308 and missing, tree", Fit(x(1e308, 1.7e308, np.nan, np.nan)), 0.0),
    fit_case("-1e308, 1e308 and missing, tree", Fit(x(-1e308, 1e308, np.nan, np.nan)), 0.0),
    fit_case("more thresholds than numbers", Fit(FOUR, settings={"max_thresholds": 10**30}), 0.0),
    fit_case("one threshold of three", Fit(FOUR, settings={"max_thresholds": 1}), 0.0),
    fit_case("an array by position", Fit(FOUR.to_numpy(), said=SAME_ENDS), 0.25),
    fit_case("labels that are words", Fit(FOUR, ("no", "no", "yes", "yes"), settings={"favorable_label": "yes"}), 0.0),
    fit_case(
        "labels that are 2**60",
        Fit(FOUR, (2**60, 2**60, 2**60 + 1, 2**60 + 1), settings={"favorable_label": None}),
        0.0,
    ),
    fit_case("labels that are yes and no", Fit(FOUR, (False, False, True, True)), 0.0),
]

BIG = 2**53 + 1  # becomes 2**53
# What, people, labels, and the words of the refusal.
REFUSED: list[tuple[str, Any, Any, str]] = [
    ("infinity", x(0.0, 1.0, np.inf, 3.0), HALVES, "Column 'x' is infinity for person 2. Numbers must be finite"),
    ("minus infinity", x(0.0, -np.inf, 2.0, 3.0), HALVES, "Column 'x' is infinity for person 1"),
    ("a decimal infinity", x(Decimal("Infinity"), 1, 2, 3), HALVES, "Column 'x' is infinity for person 0"),
    ("a whole number beyond 2**53", x(0, 1, 2, BIG), HALVES, rf"Column 'x' is {BIG} for person 3.*2\*\*53"),
    ("a negative one", x(-BIG, 1, 2, 3), HALVES, f"Column 'x' is -{BIG} for person 0.*larger units"),
    ("one with gaps", x(None, 1, 2, BIG, dtype="Int64"), HALVES, f"Column 'x' is {BIG} for person 3"),
    ("one among objects", x(0, 1, 10**30, 3, dtype=object), HALVES, f"Column 'x' is {10**30} for person 2"),
    ("10**400", x(0, 1, 2, 10**400, dtype=object), HALVES, "Column 'x' holds a number that is too large for a float"),
    ("one in an array", np.array([[0], [1], [2], [BIG]]), HALVES, rf"Input X is {BIG} in row 3, column 0.*2\*\*53"),
    ("NaN in an array", np.array([[0.0], [np.nan], [2], [3]]), HALVES, r"NaN \(row 1, column 0.*Give a DataFrame"),
    ("infinity in an array", np.array([[0.0], [1], [2], [-np.inf]]), HALVES, r"infinity \(row 3, column 0"),
    ("an array of text", np.array([["a"], ["b"], ["c"], ["d"]]), HALVES, "A plain array must hold numbers"),
    ("dates beyond 2**53", x(*pd.to_datetime(["2300-01-01 00:00:00.000001"] * 4)), HALVES, "times are told apart by"),
    ("complex numbers", x(0j, 1j, 2j, 3j), HALVES, "Column 'x' holds complex numbers"),
    ("nobody", FOUR.iloc[:0], (), r"0 sample\(s\)"),
    ("no column", FOUR[[]], HALVES, r"0 feature\(s\)"),
    ("two columns of one name", pd.concat([FOUR, FOUR], axis=1), HALVES, "two columns called 'x'"),
    ("names of two kinds", FOUR.assign(y=0).set_axis(["x", 1], axis=1), HALVES, "names are of mixed types"),
    ("1001 categories", x(*(f"c{i}" for i in range(1001))), (0, 1) * 500 + (0,), "1001 different values in 1001 rows"),
    ("one person", FOUR.iloc[:1], (1,), "Everyone has the same outcome, 1: with one class"),
    ("one label", FOUR, (0, 0, 0, 0), "Everyone has the same outcome, 0"),
    ("zero and minus zero as labels", FOUR, (0.0, -0.0, 0.0, -0.0), "Everyone has the same outcome"),
    ("a missing label", FOUR, (0, 0, 1, np.nan), "NaN, None or infinity: an outcome is missing"),
    ("an endless label", FOUR, (0, 0, 1, np.inf), "NaN, None or infinity"),
    ("too few labels", FOUR, (0, 1), "4 people but 2 outcomes"),
    ("continuous labels", FOUR, (0.1, 0.2, 0.3, 0.4), "Unknown label type|binary"),
]
CASES += [
    Case(f"refused: {name}", Fit(people, outcome, settings={"favorable_label": None}), Refused(words))
    for name, people, outcome, words in REFUSED
]
CASES += [
    Case(
        "refused: three labels of unknown value and a rule",
        Fit(FOUR, (0, 1, 2, 2), said=SAME_ENDS, settings={"favorable_label": None}),
        Refused("3 different outcomes, 0, 1, 2: .* give label_values="),
    ),
]
WIDE = fit_of(x(-1.7e308, 0.0, 1.0, 1.7e308))
CASES += [
    Case(f"refused: ±1.7e308, {which}", WIDE(estimator), Refused("Column 'x' holds numbers too large to be scaled"))
    for which, estimator in ESTIMATORS.items()
    if which != "tree"
]
AB = x("a", "a", "b", "b")
GAPS = Fit(x(np.nan, 1, 2, 3), settings={"estimator": make_pipeline(StandardScaler(), LogisticRegression())})
CASES += [
    Case("predict: the midpoint decides between two numbers", predicted(FOUR, x(1.49, 1.51)), [0, 1]),
    Case("predict: far outside", predicted(FOUR, x(-1e300, 1e300)), [0, 1]),
    Case("predict: far outside, by a line", predicted(FOUR, x(-1e300, 1e300), estimator="linear"), [0, 1]),
    Case("predict: missing is the mean of training", predicted(x(0, 0, 0, 1), x(np.nan), (0, 0, 0, 1)), [0]),
    Case("predict: missing beside 1e308", predicted(x(1e308, 1e308, 1e308, 1.7e308), x(np.nan), (0, 0, 0, 1)), [0]),
    Case("predict: missing as it was in training", predicted(x(np.nan, np.nan, 1, 1), x(np.nan, 1.0)), [0, 1]),
    Case("predict: a known category", predicted(AB, x("b", "a")), [1, 0]),
    Case("predict: 1 for yes", predicted(x(True, True, False, False), x(1, 0)), [0, 1]),
    Case("predict refused: infinity", predicted(FOUR, x(np.inf)), Refused("Column 'x' is infinity for person 0")),
    Case("predict refused: beyond 2**53", predicted(FOUR, x(BIG)), Refused(f"Column 'x' is {BIG} for person 0")),
    Case("predict refused: text", predicted(FOUR, x("old")), Refused("was numbers in training, but now holds text")),
    Case("predict refused: nobody", predicted(FOUR, FOUR.iloc[:0]), Refused(r"0 sample\(s\)")),
    Case(
        "predict refused: too far from training",
        predicted(FOUR * 1e-9, x(1e308), estimator="linear"),
        Refused(r"Column 'x' is 1e\+308 for person 0.*too far from the training people"),
    ),
    Case("refused: missing numbers in a Pipeline that fills none", GAPS, Refused("Pipeline could not be fitted.*NaN")),
]


@parametrised(CASES)
def test_odd_columns_give_the_right_answer_or_a_clear_refusal(case: Case) -> None:
    hold_to_what_is_expected(case)


@pytest.mark.slow
@parametrised(CASES)
def test_odd_columns_give_the_same_when_done_again(case: Case) -> None:
    hold_when_done_again(case)


@pytest.mark.slow
@parametrised(CASES[::3])
def test_odd_columns_give_the_same_on_one_and_two_threads(case: Case) -> None:
    hold_on_one_and_two_threads(case)


def test_an_unseen_category_is_none_of_the_known_ones_and_told() -> None:
    model = PairwiseFairClassifier("tree").fit(AB, list(HALVES))
    with pytest.warns(UserWarning, match="Column 'x': 'c' was never seen in training"):
        assert model.predict_proba(x("c"))[0, 1] in {0.0, 1.0}
