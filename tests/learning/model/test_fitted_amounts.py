"""What one may do with a fitted model of amounts: save and load it, read it, simplify it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import skops.io
from fairlearn.reductions import AbsoluteLoss, BoundedGroupLoss, SquareLoss
from tests.support.crafted_models import crafted
from tests.support.rule_reader import RuleReader

from fairwise import Judgments, PairwiseFairClassifier, PairwiseFairRegressor
from fairwise.errors import InputError, ModelFileError, NotKeptError
from fairwise.learning.model.files import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # inside fairlearn, about pandas
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


class Loans:
    """People with numbers, text and gaps, the amounts that they were lent, and what a judge said."""

    def __init__(self, n: int = 80) -> None:
        rng = np.random.default_rng(0)
        self.people = pd.DataFrame(
            {
                "age": rng.integers(18, 70, n),
                "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 1, n).round(1)),
                "city": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            },
            index=pd.Index([f"p{number}" for number in range(n)]),
        )
        self.amount = (100 * self.people["age"] + 500 * rng.random(n)).round(0)
        self.group = self.people["city"] == "Ulm"
        said = [
            {"judge": "secret", "a": f"p{a}", "b": f"p{b}", "answer": "same"}
            for a, b in rng.integers(0, n, (8, 2))
            if a != b
        ]
        self.judgments = Judgments(said, people=self.people)

    def fit(self, **settings: Any) -> PairwiseFairRegressor:
        model = PairwiseFairRegressor(**({"gamma": 0.02, "grid": 9} | settings))
        groups = self.group if "group_constraints" in settings else None
        return model.fit(self.people, self.amount, judgments=self.judgments, sensitive_features=groups)


@pytest.fixture(scope="module")
def loans() -> Loans:
    return Loans()


@pytest.fixture(scope="module")
def model(loans: Loans) -> PairwiseFairRegressor:
    return loans.fit()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"estimator": "linear-regression", "max_iter": 5},
        {"loss": "absolute", "larger_is_better": False, "outcome_range": (0, 9000), "features": ["age", "city"]},
        {
            "group_constraints": [BoundedGroupLoss(SquareLoss(0, 9000), upper_bound=9e6)],
            "judge_budgets": {"secret": 0.1},
        },
        {"group_constraints": [BoundedGroupLoss(AbsoluteLoss(0, 9000), upper_bound=9e3)], "loss": "absolute"},
        {"grid": 2},
    ],
    ids=["plain", "linear", "absolute", "rules", "absolute rules", "two amounts"],
)
def test_a_file_holds_the_whole_model(loans: Loans, settings: dict[str, Any], tmp_path: Path) -> None:
    made = loans.fit(**settings)
    path, prices = tmp_path / "model.skops", tmp_path / "prices.parquet"
    made.save(path, prices=prices)
    read = PairwiseFairRegressor.load(path, prices=prices)
    assert np.array_equal(read.predict(loans.people), made.predict(loans.people))
    assert np.array_equal(read.predict_value(loans.people), made.predict_value(loans.people))
    assert repr(read.certificate_) == repr(made.certificate_)  # NaN is no equal
    assert str(read.rules_) == str(made.rules_)
    pd.testing.assert_frame_equal(read.group_rules_, made.group_rules_)
    pd.testing.assert_frame_equal(read.prices_, made.prices_)
    pd.testing.assert_frame_equal(read.trajectory_, made.trajectory_)
    assert np.array_equal(read.amounts_, made.amounts_)
    assert read.feature_names_in_.tolist() == ["age", "income", "city"]
    for name, value in made.get_params().items():
        if name != "group_constraints":
            assert read.get_params()[name] == value


def test_prices_are_not_in_the_file(loans: Loans, model: PairwiseFairRegressor, tmp_path: Path) -> None:
    model.save(tmp_path / "model.skops")
    read = PairwiseFairRegressor.load(tmp_path / "model.skops")
    with pytest.raises(NotKeptError, match="there are no prices"):
        _ = read.prices_
    with pytest.raises(InputError, match="Give what it was fitted to again"):
        read.simplify()
    assert "secret" not in read.card()
    with ZipFile(tmp_path / "model.skops") as file:
        inside = b"".join(file.read(name) for name in file.namelist())
    assert b"secret" not in inside
    someone = str(loans.people.index[3])
    assert f'"{someone}"'.encode() not in inside  # in JSON
    assert someone.encode("utf-32-le") not in inside  # in an array of texts


def test_labels_and_amounts_are_not_mistaken_for_each_other(
    loans: Loans, model: PairwiseFairRegressor, tmp_path: Path
) -> None:
    model.save(tmp_path / "amounts.skops")
    with pytest.raises(ModelFileError, match=r"a model of amounts; open it with PairwiseFairRegressor\.load"):
        PairwiseFairClassifier.load(tmp_path / "amounts.skops")
    PairwiseFairClassifier("tree").fit(loans.people, loans.amount > 4000).save(tmp_path / "labels.skops")
    with pytest.raises(ModelFileError, match=r"a model of labels; open it with PairwiseFairClassifier\.load"):
        PairwiseFairRegressor.load(tmp_path / "labels.skops")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["amounts"].update(low=float("nan")), "from no number to another"),
        (lambda d: d["amounts"].update(high=-1e9), "from no number to another"),
        (lambda d: d["amounts"].update(high=10**400), "from no number to another|too large"),
        (lambda d: d["amounts"].update(size=8), "decides between other amounts"),
        (lambda d: d["amounts"].update(size=10**9), "number of its amounts is none"),
        (lambda d: d["amounts"].update(loss="absolute"), "its loss is none, or another than it says"),
        (lambda d: d["amounts"].update(larger_is_better=2), "which amounts are better"),
        (lambda d: d["amounts"].update(more=1), "more"),
        (lambda d: d.pop("certificate"), "certificate"),
        (lambda d: d.update(amounts=3), "damaged or changed"),
        (lambda d: d.update(classes=list("abcdefghi")), "decides between other amounts"),
        (lambda d: d.update(classes=d["classes"][:5]), "what is no outcome|other amounts"),
        (lambda d: d["settings"].update(label_values={"a": 1}), "label_values"),
        (lambda d: d["classifiers"].update(leaf=d["classifiers"]["leaf"] + 9), "decides what is no outcome"),
    ],
)
def test_a_file_with_parts_that_do_not_fit_is_refused(
    model: PairwiseFairRegressor, tmp_path: Path, change: Callable[[Any], Any], message: str
) -> None:
    path = tmp_path / "model.skops"
    model.save(path)
    document = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    change(document)
    skops.io.dump(document, path)
    with pytest.raises(ModelFileError, match=message):
        PairwiseFairRegressor.load(path)


@pytest.mark.filterwarnings("ignore::fairwise.errors.ModelVersionWarning")  # of a changed version
def test_any_changed_number_is_refused_or_gives_amounts_of_the_range(
    loans: Loans, model: PairwiseFairRegressor, tmp_path: Path
) -> None:
    path, refused = tmp_path / "model.skops", 0
    model.save(path)
    whole = path.read_bytes()
    for seed in range(60):
        path.write_bytes(crafted(whole, Random(seed)))
        try:
            read = load(PairwiseFairRegressor, path)
        except ModelFileError:
            refused += 1
            continue
        amounts = read.predict(loans.people)
        assert np.isfinite(amounts).all()
        assert amounts.min() >= read.amounts_[0] - 1e-6
        assert amounts.max() <= read.amounts_[-1] + 1e-6
    assert refused > 20


def test_a_file_of_format_1_still_opens(loans: Loans, model: PairwiseFairRegressor, tmp_path: Path) -> None:
    """It kept a certificate in shares of the loss, and one in its units beside the amounts."""
    path = tmp_path / "model.skops"
    model.save(path)
    document = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    own = {name: document[name] for name in ("amounts", "certificate", "simplification")}
    shares = document["certificate"] | {"error": document["certificate"]["error"] / model.amounts.unit}
    skops.io.dump(document | {"fairwise_model": 1, "amounts": own, "certificate": shares}, path)
    read = PairwiseFairRegressor.load(path)
    assert read.certificate_.error == model.certificate_.error
    assert np.array_equal(read.predict(loans.people), model.predict(loans.people))


def test_a_type_from_elsewhere_is_refused(model: PairwiseFairRegressor, tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    model.save(path)
    document = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    document["settings"]["random_state"] = Random(0).shuffle
    skops.io.dump(document, path)
    with pytest.raises(ModelFileError, match=r"not known to be safe|not a fairwise model"):
        PairwiseFairRegressor.load(path)


def test_rules_in_words_are_what_is_predicted(loans: Loans, model: PairwiseFairRegressor) -> None:
    text, wording = str(model.rules_), model.rules_.wording
    assert text.startswith("The model gives an amount without chance: the mean of what")
    mean = np.zeros(len(loans.people))
    for amount in model.amounts_:
        mean += amount * RuleReader(text, one=wording.number(amount)).probability(loans.people)
    assert mean == pytest.approx(model.predict(loans.people), rel=1e-12)


def test_an_explanation_has_the_amount(loans: Loans, model: PairwiseFairRegressor) -> None:
    for person in range(6):
        told = model.explain(loans.people.iloc[[person]])
        assert told.amount == pytest.approx(model.predict(loans.people.iloc[[person]])[0], rel=1e-12)
        rules = told.to_frame()
        assert (rules["weight"] * rules["amount"]).sum() == pytest.approx(told.amount, rel=1e-12)
        assert str(told).startswith(f"Person p{person}: {model.rules_.wording.number(told.amount)}.")
    assert "Person p0: " in str(model.explain(loans.people.iloc[[0]], model.rules_.for_people()))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_smaller_model_says_what_it_costs_in_units_of_the_loss(loans: Loans, loss: str, tmp_path: Path) -> None:
    made = loans.fit(loss=loss)
    assert len(made.weights_) > 2
    small = made.simplify(max_classifiers=2)
    assert len(small.weights_) <= 2
    power = 2 if loss == "squared" else 1
    drawn = small.amounts_[small.classifiers_.labels(small._rows(loans.people))]
    gaps = np.abs(drawn - loans.amount.to_numpy()) ** power
    assert small.certificate_.error == pytest.approx(float(small.weights_ @ gaps.mean(axis=1)), rel=1e-9)
    missed = np.abs(small.predict(loans.people) - loans.amount.to_numpy()) ** power
    assert small.certificate_.mean_error == pytest.approx(missed.mean(), rel=1e-9)
    told = small.simplification_
    assert told.error_added == pytest.approx(small.certificate_.error - made.certificate_.error, rel=1e-9)
    assert small.certificate_.max_violation <= 0.02 + 1e-6
    assert not hasattr(made, "simplification_")
    made.save(tmp_path / "model.skops")
    read = PairwiseFairRegressor.load(tmp_path / "model.skops")
    again = read.simplify(loans.people, loans.amount, judgments=loans.judgments, max_classifiers=2)
    assert again.certificate_.error == pytest.approx(small.certificate_.error, rel=1e-9)
    again.save(tmp_path / "small.skops")
    assert PairwiseFairRegressor.load(tmp_path / "small.skops").simplification_ == again.simplification_
    with pytest.raises(InputError, match="not the people, outcomes, judgments"):
        read.simplify(loans.people, np.roll(loans.amount, 1), judgments=loans.judgments)
    with pytest.raises(InputError, match="The outcomes are "):
        read.simplify(loans.people, 2.0 * loans.amount, judgments=loans.judgments)


def test_the_card_is_about_amounts(loans: Loans, model: PairwiseFairRegressor) -> None:
    card = model.card()
    assert "A model of amounts learned with Fairwise" in card
    assert f"without chance, by the mean of {len(model.weights_)} rules" in card
    assert "model = PairwiseFairRegressor.load" in card
    assert f"Learned from {len(loans.people)} people; solver column-generation" in card
    assert "by lot" not in card
    assert "secret" not in card
    rules = loans.fit(group_constraints=[BoundedGroupLoss(SquareLoss(0, 9000), upper_bound=9e6)]).card()
    assert "BoundedGroupLoss" in rules
