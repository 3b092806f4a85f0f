"""What the rules say in words is what the model does: read back by a program that knows nothing but the text."""

from __future__ import annotations

import re
import warnings
from copy import copy
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from tests.support.rule_reader import RuleReader

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.datasets import load_adult, load_compas, load_german_credit
from fairwise.errors import InputError
from fairwise.learning.encoding import CategoryColumn, NumberColumn, TableEncoder
from fairwise.learning.model import classifier_rules
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.model.rules import ModelRules
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, linear_scores
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.simulation import simulate_panel

if TYPE_CHECKING:
    from pathlib import Path

DATA: dict[str, Any] = {"compas": load_compas, "german": load_german_credit}
MODELS: dict[str, Any] = {
    "tree": {"estimator": "tree"},
    "linear": {"estimator": "linear", "max_iter": 15},
    "linear-regression": {"estimator": "linear-regression", "solver": "no-regret", "n_rounds": 20},
    "logistic": {"estimator": LogisticRegression(max_iter=1000), "max_iter": 5},
}


def fitted(people: pd.DataFrame, outcome: Any, **settings: Any) -> PairwiseFairClassifier:
    judgments = simulate_panel(people, 4, 15, answers="two", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a search was cut short
        return PairwiseFairClassifier(**{"gamma": 0.1, **settings}).fit(people, outcome, judgments=judgments)


@pytest.fixture(scope="module", params=[(data, kind) for data in DATA for kind in MODELS], ids="-".join)
def model_and_people(request: pytest.FixtureRequest) -> tuple[PairwiseFairClassifier, pd.DataFrame]:
    people, outcome = DATA[request.param[0]]()
    return fitted(people, outcome, **MODELS[request.param[1]]), people


def strangers(people: pd.DataFrame, model: PairwiseFairClassifier, n: int = 1000) -> pd.DataFrame:
    """People whom nobody trained on: far off, at the very thresholds and beside them, of unknown kinds, with gaps."""
    rng = np.random.default_rng(0)
    near = np.array([float(limit) for limit in re.findall(r"is at most (\S+?):", str(model.rules_))])
    near = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), [-1e9, 1e9, 0.1]])
    columns = {}
    for name, column in people.items():
        numbers = pd.api.types.is_numeric_dtype(column)
        known = column.dropna()
        others = near if numbers else np.array(["never heard of", "missing", None], dtype=object)
        pool = np.concatenate([known.to_numpy(float) if numbers else known.astype(str).to_numpy(object), others])
        drawn = rng.choice(pool, n)
        gap: Any = np.nan if numbers else None
        columns[name] = np.where(rng.random(n) < 0.05, gap, drawn)
    return pd.DataFrame(columns)


def assert_same(model: PairwiseFairClassifier, people: pd.DataFrame, one: str = "label 1") -> RuleReader:
    read = RuleReader(str(model.rules_), one)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a category was never seen
        expected = model.predict_proba(people)[:, 1]
    np.testing.assert_allclose(read.probability(people), expected, rtol=0, atol=1e-12)
    return read


def test_the_text_gives_the_probabilities(
    model_and_people: tuple[PairwiseFairClassifier, pd.DataFrame], tmp_path: Path
) -> None:
    model, people = model_and_people
    assert len(model.weights_) > 1
    assert_same(model, people)
    assert_same(model, strangers(people, model))
    model.save(tmp_path / "model.skops")
    assert str(PairwiseFairClassifier.load(tmp_path / "model.skops").rules_) == str(model.rules_)


@pytest.mark.parametrize("kind", MODELS)
def test_the_text_gives_the_probabilities_of_everyone_in_adult(kind: str) -> None:
    """Fitted to some, which is quicker; said of all of them, with values that training never had."""
    people, outcome = load_adult()
    some = people.sample(2000, random_state=0)
    model = fitted(some, outcome[some.index], **MODELS[kind])
    assert_same(model, people)
    assert_same(model, strangers(some, model))


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 1.0, 2.0])
def test_a_threshold_is_said_right(
    model_and_people: tuple[PairwiseFairClassifier, pd.DataFrame], threshold: float
) -> None:
    model, people = model_and_people
    single = copy(model)
    probabilities = np.unique(model.predict_proba(people)[:, 1])
    inside = 0.0 < threshold <= 1.0
    single._threshold = float(np.quantile(probabilities, threshold, method="lower")) if inside else threshold
    assert_same(single, people)
    assert "without chance" in single.rules_.lead
    if not inside:
        assert f"\n\nlabel {int(threshold == 0)} for everyone" in str(single.rules_)
        assert single.rules_.columns.empty


def of_few_answers() -> tuple[PairwiseFairClassifier, pd.DataFrame]:
    """Three answers make a mixture of few trees, which is shorter when merged."""
    people, outcome = load_compas()
    said = [{"judge": "j", "a": a, "b": b, "answer": "same"} for a, b in [(3, 4), (10, 411), (24, 30)]]
    model = PairwiseFairClassifier("tree", gamma=0.1)
    return model.fit(people, outcome, judgments=Judgments(said, people=people)), people


def test_merged_and_separate_trees_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model, people = of_few_answers()
    crowd = strangers(people, model)
    merged = assert_same(model, crowd)
    assert "merged" in merged.lead
    assert model.rules_.regions is not None
    separate_lines = sum(len(rule.lines()) for _, rule in model.rules_)
    assert len(model.rules_.regions.lines()) < separate_lines + 2 * len(model.rules_)
    monkeypatch.setattr(classifier_rules, "_MOST_STEPS", 0)
    separate = assert_same(model, crowd)
    assert "by lot among" in separate.lead
    assert "merged" not in separate.lead
    assert np.array_equal(merged.probability(crowd), separate.probability(crowd))


ENCODER = TableEncoder(
    (
        NumberColumn("age", shift=0.0, scale=1.0, fill=2.5, marks_missing=True),
        NumberColumn("debt", shift=0.0, scale=1.0, fill=1.0, marks_missing=False),
        CategoryColumn("job", ("none", "part", "whole"), marks_missing=True),
    )
)


@pytest.mark.parametrize("seed", range(30))
def test_any_trees_merged_decide_as_the_mixture(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    k, depth = rng.integers(1, 6), rng.integers(1, 4)
    limits = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, np.inf], (k, 2**depth - 1))
    leaves = rng.integers(2, size=(k, 2**depth), dtype=np.uint8)
    trees = TreeClassifiers(rng.integers(len(ENCODER.outputs), size=limits.shape), limits, leaves)
    mixture = Mixture(trees, rng.dirichlet(np.ones(k)) if k > 1 else np.ones(1))
    threshold = None if seed % 2 else float(rng.random())
    ages, debts = [None, -1.0, 0.0, 0.5, 0.7, 1.0, 2.0, 2.5, 2.6, 3.0, 9.0], [None, 0.0, 1.0, 2.0, 2.5, 4.0]
    crowd = pd.DataFrame(
        [*product(ages, debts, ["none", "part", "whole", None, "other"])], columns=["age", "debt", "job"]
    ).astype({"age": float, "debt": float})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a category was never seen
        expected = mixture.probabilities(ENCODER.encode(crowd))
    if threshold is not None:
        expected = (expected >= threshold).astype(float)

    def read() -> RuleReader:
        return RuleReader(str(ModelRules.of(mixture, ENCODER, threshold, np.array([0, 1]), named=True)))

    assert np.array_equal(np.minimum(read().probability(crowd), 1.0), expected)
    monkeypatch.setattr(ModelRules, "regions", None)
    assert np.array_equal(np.minimum(read().probability(crowd), 1.0), expected)


ODD = ['a "b" is', "is", "naïve: 3", "x\\y", "line\nbreak", "if z"]


@pytest.fixture(scope="module", params=["tree", "linear"])
def odd_model(request: pytest.FixtureRequest) -> tuple[PairwiseFairClassifier, pd.DataFrame]:
    """Names and categories that look like the text around them, gaps everywhere, and words for labels."""
    rng = np.random.default_rng(3)
    n = 300
    people = pd.DataFrame(
        {
            ODD[0]: rng.normal(size=n).round(1),
            ODD[1]: rng.choice(["missing", "not", "at most 3", 'q"', "", "if: 2"], n),
            ODD[2]: rng.choice([0.1, 0.2, 0.1 + 0.2, 1e-7], n),
            ODD[3]: rng.choice(["label 1", "a, b", "“"], n),
        }
    )
    for name in people:
        people.loc[rng.random(n) < 0.15, name] = None
    score = people[ODD[0]].fillna(1) + (people[ODD[1]] == "missing") - (people[ODD[3]] == "a, b")
    outcome = pd.Series(np.where(score + rng.normal(size=n) > 0, "to: go", "stay"))
    pairs = [{"judge": "j", "a": a, "b": a + 1, "answer": "same"} for a in range(0, 80, 2)]
    model = PairwiseFairClassifier(request.param, gamma=0.05)
    return model.fit(people, outcome, judgments=Judgments(pairs, people=people)), people


def test_any_name_and_any_gap_can_be_read_back(odd_model: tuple[PairwiseFairClassifier, pd.DataFrame]) -> None:
    model, people = odd_model
    assert model.classes_.tolist() == ["stay", "to: go"]
    assert_same(model, people, '"to: go"')
    assert_same(model, strangers(people, model), '"to: go"')


def test_rules_iterate_as_the_mixture_and_become_a_table(
    odd_model: tuple[PairwiseFairClassifier, pd.DataFrame],
) -> None:
    rules = odd_model[0].rules_
    assert repr(rules) == str(rules)
    assert [weight for weight, _ in rules] == odd_model[0].weights_.tolist()
    table = rules.to_frame()
    assert list(table.columns) == ["rule", "weight", "when", "points", "label"]
    assert table["rule"].unique().tolist() == list(range(1, len(rules) + 1))
    assert set(table["label"].dropna()) <= {"stay", "to: go"}
    for number, (_, rule) in enumerate(rules, 1):
        text = str(rule)
        numbers = table.loc[table["rule"] == number, "points"].dropna()
        assert all(repr(points).removesuffix(".0") in text for points in numbers)


def test_columns_that_matter_are_those_asked_about() -> None:
    people = pd.DataFrame({"age": [1.0, 2, 3, 4] * 5, "noise": [1.0] * 20, "group": ["u", "v"] * 10})
    model = PairwiseFairClassifier("tree", max_depth=1).fit(people, [0, 0, 1, 1] * 5)
    assert model.rules_.columns.to_dict() == {"age": 1.0}
    assert str(model.rules_).split("\n\n")[1] == "if age is at most 2.5: label 0\notherwise: label 1"
    linear = PairwiseFairClassifier("linear").fit(people, [0, 0, 1, 1] * 5).rules_
    assert linear.columns.index[0] == "age"
    assert linear.columns.sum() == pytest.approx(1)
    assert "noise" not in linear.columns


def test_an_explanation_adds_up(model_and_people: tuple[PairwiseFairClassifier, pd.DataFrame]) -> None:
    model, people = model_and_people
    for place in (0, 7, 100):
        person = people.iloc[[place]]
        told = model.explain(person)
        assert told.person == person.index[0]
        assert told.probability == model.predict_proba(person)[0, 1]
        said = told.to_frame()
        assert said["weight"].tolist() == model.weights_.tolist()
        assert (said["label"] == 1).tolist() == model.classifiers_.labels(model._rows(person))[:, 0].tolist()
        assert said.loc[said["label"] == 1, "weight"].sum() == pytest.approx(told.probability, abs=1e-12)
        assert str(told).startswith(f"Person {person.index[0]}: ")


def test_the_region_of_an_explanation_holds_for_the_person() -> None:
    model, people = of_few_answers()
    regions = model.rules_.regions
    assert regions is not None
    values = dict(regions.leaves())
    for place in range(0, 2000, 101):
        told = model.explain(people.iloc[[place]])
        assert values[told.region or ""] == told.probability


def test_only_one_person_is_explained() -> None:
    people, outcome = load_compas()
    model = PairwiseFairClassifier("tree", max_depth=1).fit(people, outcome)
    with pytest.raises(InputError, match="one person, a table of one row; this one has 2"):
        model.explain(people.iloc[:2])
    for nobody in (people.index[0], {"age": 30}, "p7"):
        with pytest.raises(InputError, match=r"a table of one row such as people\.loc\["):
            model.explain(nobody)
    assert str(model.explain(people.iloc[2])) == str(model.explain(people.iloc[[2]]))


def test_what_all_rules_say_is_certain_although_shares_are_rounded() -> None:
    people = pd.DataFrame({"age": [1.0, 2.0, 3.0]})
    encoder = TableEncoder((NumberColumn("age", 0.0, 1.0, 0.0, False),))
    trees = TreeClassifiers(
        np.zeros((3, 1), np.intp), np.array([[0.5], [1.5], [2.5]]), np.array([[0, 1]] * 3, np.uint8)
    )
    mixture = Mixture(trees, np.array([0.7, 0.2, 0.1 - 1e-16]))
    rules = ModelRules.of(mixture, encoder, None, np.array([0, 1]), named=True)
    assert rules.explained(1, {"age": 3.0}, trees.labels(people.to_numpy())[:, 2]).probability < 1.0
    assert "label 1, for certain" in str(rules.explained(1, {"age": 3.0}, trees.labels(people.to_numpy())[:, 2]))


def columns_apart(numbers: Any, texts: Any, **settings: Any) -> ColumnTransformer:
    by_kind = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    return make_column_transformer((numbers, by_kind[0]), (texts, by_kind[1]), **settings)


ONE_HOT = OneHotEncoder(handle_unknown="ignore")
DENSE = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
FILLED = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first", handle_unknown="ignore"))
IN_WORDS: dict[str, Any] = {
    "ridge": RidgeClassifier(),
    "svc": LinearSVC(),
    "tree": DecisionTreeClassifier(max_depth=4),
    "scaled-logistic": make_pipeline(
        columns_apart(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), FILLED), LogisticRegression()
    ),
    "sparse-logistic": make_pipeline(
        columns_apart(make_pipeline(SimpleImputer(), RobustScaler()), ONE_HOT, sparse_threshold=1.0),
        LogisticRegression(),
    ),
    "gaps-marked": make_pipeline(
        columns_apart(make_pipeline(SimpleImputer(add_indicator=True)), DENSE), LogisticRegression(max_iter=1000)
    ),
    "centred-only": make_pipeline(
        columns_apart(make_pipeline(SimpleImputer(), StandardScaler(with_std=False)), "drop"), SGDClassifier()
    ),
    "selected": make_pipeline(
        columns_apart(make_pipeline(SimpleImputer(), MaxAbsScaler()), DENSE), SelectKBest(k=4), LogisticRegression()
    ),
    "scaled-tree": make_pipeline(columns_apart(StandardScaler(), DENSE), DecisionTreeClassifier(max_depth=4)),
    "filled-tree": make_pipeline(
        columns_apart(make_pipeline(SimpleImputer(), StandardScaler(with_mean=False)), FILLED),
        DecisionTreeClassifier(max_depth=5),
    ),
    "sparse-tree": make_pipeline(
        columns_apart(SimpleImputer(strategy="constant", fill_value=-1), ONE_HOT, sparse_threshold=1.0),
        ExtraTreeClassifier(max_depth=5),
    ),
}


@pytest.fixture(scope="module")
def gappy() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(5)
    n = 240
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "debt, total": rng.normal(size=n) * 1e4,
            "job": rng.choice(["clerk", "cook at sea", "missing", "3"], n),
            "home": rng.choice(["own", "rent"], n),
        }
    )
    for name in ("age", "debt, total", "job"):
        people.loc[rng.random(n) < 0.15, name] = None
    score = people["age"].fillna(60) / 20 + (people["job"] == "clerk") + people["debt, total"].fillna(0) / 1e4
    return people, pd.Series(score + rng.normal(size=n) > 2.5).astype(int)


@pytest.mark.parametrize("kind", IN_WORDS)
def test_trees_and_linear_models_of_scikit_learn_are_in_words(
    kind: str, gappy: tuple[pd.DataFrame, pd.Series], tmp_path: Path
) -> None:
    people, outcome = gappy
    model = fitted(people, outcome, estimator=IN_WORDS[kind], max_iter=4)
    assert len(model.weights_) > 1
    assert_same(model, people)
    crowd = strangers(people, model)
    assert_same(model, crowd)
    for place in (0, 7, 50):
        told = model.explain(crowd.iloc[[place]])
        assert told.probability == model.predict_proba(crowd.iloc[[place]])[0, 1]
        assert set(told.values) == set(model.rules_.asked)
    model.save(tmp_path / "model.skops")
    assert str(PairwiseFairClassifier.load(tmp_path / "model.skops").rules_) == str(model.rules_)


def test_sums_at_the_limit_fall_on_the_side_that_the_text_says() -> None:
    """A matrix product adds in another order with other numbers of rows, and would round to either side."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 40))
    member = LogisticRegression().fit(rows, rows[:, 0] > 0)
    member.classes_ = np.array([0, 1])
    thresholds = linear_scores([member], rows)[0]
    classifiers = FittedClassifiers([member] * len(rows), thresholds)
    encoder = TableEncoder(tuple(NumberColumn(f"c{at}", 0.0, 1.0, 0.0, False) for at in range(40)))
    people = pd.DataFrame(rows, columns=[f"c{at}" for at in range(40)])
    rules = ModelRules.of(Mixture(classifiers, np.full(100, 0.01)), encoder, None, np.array([0, 1]), named=True)
    labels = classifiers.labels(rows)
    assert np.array_equal(np.concatenate([classifiers.labels(rows[[at]]) for at in range(50)], axis=1), labels[:, :50])
    read = RuleReader(str(rules))
    assert np.array_equal(np.stack([rule(people) for rule in read._rules]), labels)


BY_NAME: dict[str, Any] = {
    "other": GaussianNB(),
    "forest": RandomForestClassifier(3),
    "large-tree": DecisionTreeClassifier(),
    "multiplied": make_pipeline(MinMaxScaler(), LogisticRegression(C=0.5)),
    "twice": make_pipeline(StandardScaler(), StandardScaler(), LogisticRegression(C=0.5)),
    "mixed": make_pipeline(StandardScaler(), PCA(2), LogisticRegression(C=0.5)),
    "own": make_pipeline(FunctionTransformer(np.log1p), LogisticRegression(C=0.5)),
    "numbers-as-categories": make_pipeline(ONE_HOT, LogisticRegression(C=0.5)),
    "gaps-as-two-things": make_pipeline(
        make_column_transformer((SimpleImputer(), ["age"]), (SimpleImputer(strategy="median"), ["age"])),
        LogisticRegression(C=0.5),
    ),
}


@pytest.mark.parametrize("kind", BY_NAME)
def test_what_has_no_exact_words_goes_by_its_name(kind: str) -> None:
    people, outcome = load_compas()
    numbers = people.select_dtypes("number")
    numbers, outcome = (numbers[:1000], outcome[:1000]) if kind != "large-tree" else (numbers, outcome)
    model = fitted(numbers, outcome, estimator=BY_NAME[kind], max_iter=3)
    last = BY_NAME[kind].steps[-1][1] if isinstance(BY_NAME[kind], Pipeline) else BY_NAME[kind]
    assert type(last).__name__ in str(model.rules_)
    assert model.rules_.columns.empty
    assert model.explain(numbers.iloc[[3]]).probability == model.predict_proba(numbers.iloc[[3]])[0, 1]


def test_a_number_that_nobody_knows_is_not_said_to_be_above_a_limit(gappy: tuple[pd.DataFrame, pd.Series]) -> None:
    people, outcome = gappy
    pipeline = make_pipeline(columns_apart("passthrough", "drop"), DecisionTreeClassifier(max_depth=3))
    model = fitted(people, outcome, estimator=pipeline, max_iter=3)
    table = model.rules_.to_frame()
    rng = np.random.default_rng(1)
    for place in rng.integers(len(people), size=40):
        told = model.explain(people.iloc[[place]]).to_frame()
        for rule, because in zip(told["rule"], told["because"].astype(str), strict=True):
            assert because in table.loc[table["rule"] == rule, "when"].tolist() or because == ""
            if pd.isna(people["age"].iloc[place]):
                assert not re.search(r"age is (at most|above) [\d.]+( and|$)", because)
            else:
                assert "age is missing" not in because


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_missing_text_is_missing_in_any_kind_of_column(kind: Any, gappy: tuple[pd.DataFrame, pd.Series]) -> None:
    people, outcome = gappy
    model = fitted(people[["job", "home"]], outcome, estimator=make_pipeline(ONE_HOT, LogisticRegression()), max_iter=3)
    assert "where job is missing" in str(model.rules_)
    others = people[["job", "home"]].astype({"job": kind})
    if kind is object:
        others["job"] = others["job"].where(others["job"].notna(), None)
    assert np.array_equal(model.predict_proba(others), model.predict_proba(people[["job", "home"]]))
    assert_same(model, others)


def test_gaps_are_refused_where_a_linear_model_refuses_them(gappy: tuple[pd.DataFrame, pd.Series]) -> None:
    people, outcome = gappy
    ages = people[["age"]].fillna(40)
    model = fitted(ages, outcome, estimator=make_pipeline(StandardScaler(), LogisticRegression()), max_iter=3)
    with pytest.raises(ValueError, match="NaN"):
        model.predict_proba(people[["age"]])


def test_columns_without_names_are_numbered() -> None:
    people, outcome = load_compas()
    model = PairwiseFairClassifier("tree", max_depth=1).fit(people[["age", "priors_count"]].to_numpy(), outcome)
    assert "if x1 is at most" in str(model.rules_)


def test_words_for_people_are_rounded_and_unquoted(odd_model: tuple[PairwiseFairClassifier, pd.DataFrame]) -> None:
    rules = odd_model[0].rules_.for_people({ODD[2]: "Third"}, ("no", "yes"))
    text = str(rules)
    assert ODD[2] not in text
    assert "to: go" not in text
    assert "0.30000000000000004" not in text
    assert odd_model[0].rules_.to_frame()["weight"].tolist() == rules.to_frame()["weight"].tolist()


@pytest.mark.parametrize("kind", ["tree", "linear"])
def test_the_text_of_dates_and_durations_gives_the_probabilities(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for case in range(50):
        n, unit = 24, [1, 10**6, 86_400_000_000][case % 3]
        whole = rng.integers(-(2**43), 2**43, size=n) // unit * unit
        dates = pd.Series(np.datetime64("2001-02-03", "us") + whole.astype("m8[us]"))
        spells = pd.Series(rng.integers(0, 2**41, size=n).astype("m8[us]"))
        people = pd.DataFrame({"born": dates.mask(rng.random(n) < 0.1 * (case % 2)), "spell": spells})
        model = PairwiseFairClassifier(kind, max_depth=1).fit(
            people, (whole + rng.normal(size=n) * 2**42 > 0).astype(int)
        )
        later = people.sample(n, replace=True, random_state=case)
        moved = later + pd.to_timedelta(rng.integers(-2, 3, size=n), unit="us").to_numpy()[:, None]
        assert_same(model, later)
        assert_same(model, moved)
        assert not re.search(r"(?<![.\d])\d{13}", str(model.rules_)), "microseconds are for programs"
    model.save(tmp_path / "model.skops")
    again = PairwiseFairClassifier.load(tmp_path / "model.skops")
    assert str(again.rules_) == str(model.rules_)
    assert again.columns_.equals(model.columns_)
    assert np.array_equal(again.predict_proba(people), model.predict_proba(people))
    assert re.search(r"born (19|20)\d\d-\d\d-\d\d", str(again.explain(people.dropna().iloc[[0]])))
