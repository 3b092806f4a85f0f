from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
import pytest

from fairwise import Judgments, PairwiseFairClassifier
from fairwise.cli.training import Estimator, Solver, Weighting
from fairwise.learning import settings
from fairwise.learning.oracles.tree import TreeOracle
from fairwise.learning.solvers import progress
from fairwise.learning.solvers.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Study
    from typer.testing import Result

FAST = ["--no-held-out"]


def in_python(study: Study, **options: Any) -> PairwiseFairClassifier:
    people = study.people_frame().set_index("person")
    outcome = people.pop("returned")
    judgments = Judgments.read(study.judgments, people=people)
    chosen = {"estimator": "tree", "max_depth": 1, "favorable_label": 1, "random_state": 0, **options}
    return PairwiseFairClassifier(**chosen).fit(people, outcome, judgments=judgments)


def test_the_certificate_is_that_of_the_same_fit_in_python(study: Study, answer: Callable[..., dict[str, Any]]) -> None:
    printed = answer("fit", *study.to_fit, "--gamma", "0.2", "--eta", "none", *FAST)
    expected = in_python(study, gamma=0.2, eta=None).certificate_
    assert printed["certificate"]["error"] == pytest.approx(expected.error, abs=1e-9)
    assert printed["certificate"]["eta"] is None
    assert printed["held_out"] is None
    strict = answer("fit", *study.to_fit, "--gamma", "0", *FAST)["certificate"]
    assert strict["max_violation"] < 1e-6 < printed["certificate"]["max_violation"]


def test_it_prints_certificate_and_held_out_error_and_keeps_the_model(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "model.skops"
    said = run("fit", *study.to_fit, "--splits", "2", "--out", out).stdout
    assert "Proven lower bound" in said
    assert "Held out by pair" in said
    assert "2 random splits" in said
    assert f"Model kept in {out}" in said
    people = study.people_frame().set_index("person").drop(columns="returned")
    np.testing.assert_allclose(
        PairwiseFairClassifier.load(out).predict_proba(people), in_python(study).predict_proba(people), atol=1e-9
    )


def test_predicted_judgments_are_used_and_counted_apart(
    study: Study, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]
) -> None:
    plain = answer("fit", *study.to_fit, *FAST)
    printed = answer("fit", *study.to_fit, "--predicted", "10", "--coverage", "0.5", *FAST)
    assert 0 < printed["predicted"] <= 10
    assert printed["answers"] == plain["answers"]
    assert printed["certificate"]["n_predicted"] == printed["predicted"]
    assert plain["predicted"] == 0
    told = run("fit", *study.to_fit, "--predicted", "10", "--coverage", "0.5", "--splits", "1").stdout
    assert "predicted, not asked for" in told
    assert "+ predicted   difference, 95% interval" in told
    assert "Predicted for each refit from its own part of the answers" in told


def test_nothing_is_written_that_was_not_asked_for(study: Study, run: Callable[..., Result]) -> None:
    before = sorted(study.folder.iterdir())
    run("fit", *study.to_fit, *FAST)
    assert sorted(study.folder.iterdir()) == before
    run("fit", *study.to_fit, *FAST, "--out", study.folder / "m.skops")
    assert sorted(study.folder.iterdir()) == sorted([*before, study.folder / "m.skops"])


def test_too_few_judgments_to_split_are_told_not_an_error(study: Study, run: Callable[..., Result]) -> None:
    study.judgments_frame().head(1).to_csv(study.judgments, index=False)
    result = run("fit", *study.to_fit)
    assert "Error on the training people" in result.stdout
    assert "Held-out error not measured" in result.stderr


def test_the_files_own_labels(study: Study, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]) -> None:
    numbers = answer("fit", *study.to_fit, *FAST)
    frame = study.people_frame()
    frame["returned"] = frame["returned"].map({0: "no", 1: "yes"})
    frame.to_csv(study.people, index=False)
    words = answer("fit", *study.files, "--favorable-label", "yes", "--estimator", "tree", "--max-depth", "1", *FAST)
    assert words["classes"] == ["no", "yes"]
    assert words["certificate"] == numbers["certificate"]
    said = run("fit", *study.files, "--favorable-label", "1", code=1).stderr
    assert "column returned: '1' is not one of the outcomes no and yes" in said
    said = run("fit", *study.files, code=1).stderr
    assert "give --favorable-label no or yes" in said


def test_rules_for_groups_also_of_columns_that_are_not_learnt_from(
    study: Study, answer: Callable[..., dict[str, Any]], run: Callable[..., Result]
) -> None:
    options = [*study.to_fit, "--drop", "town", "--group-constraint", "dp:0.01:town", *FAST]
    rules = answer("fit", *options)["group_rules"]
    assert len(rules) == 4
    assert all(rule["value"] <= rule["limit"] + 1e-6 for rule in rules)
    assert "Rules for groups" in run("fit", *options).stdout
    said = run("fit", *study.to_fit, "--group-constraint", "dp:0.1:city", code=1).stderr
    assert "there is no column 'city'" in said
    said = run("fit", *options, "--group-constraint", "fpr:0.1:age", code=2).stderr
    assert "must name the same columns" in said


def test_the_columns_to_learn_from(study: Study, run: Callable[..., Result]) -> None:
    for options, used in (
        ([], ["age", "score", "town"]),
        (["--drop", "town,score"], ["age"]),
        (["--features", "town,age"], ["age", "town"]),
    ):
        said = run("fit", *study.to_fit, *FAST, *options, "--out", study.folder / "m.skops").stdout
        assert PairwiseFairClassifier.load(study.folder / "m.skops").features_ == used
        assert f" people, {len(used)} columns." in said
    said = run("fit", *study.to_fit, "--features", "age,twon", code=1).stderr
    assert "there is no column 'twon' (did you mean 'town'?)" in said
    assert (
        "there is no column 'score'; allowed: 'age', 'town'"
        in run("fit", *study.to_fit, "--features", "score", "--drop", "score", code=1).stderr
    )
    assert "no column 'twon' (did you mean 'town'?)" in run("fit", *study.to_fit, "--drop", "twon", code=1).stderr
    assert "no column is left" in run("fit", *study.to_fit, "--drop", "town,score,age", code=1).stderr


def test_every_setting_reaches_the_model(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "m.skops"
    options = {
        "--gamma": "0.3",
        "--eta": "0.2",
        "--judge-budget": "0.4",
        "--weighting": "panel",
        "--max-thresholds": "3",
        "--solver": "no-regret",
        "--rounds": "7",
        "--tol": "0.01",
        "--seed": "5",
    }
    run("fit", *study.to_fit, *FAST, "--out", out, *(word for pair in options.items() for word in pair))
    kept = PairwiseFairClassifier.load(out).get_params(deep=False)
    expected = {
        "gamma": 0.3,
        "eta": 0.2,
        "judge_budgets": 0.4,
        "weighting": "panel",
        "max_thresholds": 3,
        "solver": "no-regret",
        "n_rounds": 7,
        "tol": 0.01,
        "random_state": 5,
        "estimator": "tree",
        "max_depth": 1,
        "favorable_label": 1,
    }
    assert {name: kept[name] for name in expected} == expected


@pytest.mark.parametrize(("written", "meant"), [("all", None), ("auto", "auto"), ("7", 7), (None, "auto")])
def test_thresholds_are_a_number_or_a_word(
    study: Study, run: Callable[..., Result], written: str | None, meant: object
) -> None:
    out = study.folder / "m.skops"
    given = () if written is None else ("--max-thresholds", written)
    run("fit", *study.to_fit, *FAST, *given, "--out", out)
    assert PairwiseFairClassifier.load(out).get_params()["max_thresholds"] == meant


def test_other_thresholds_are_refused(study: Study, run: Callable[..., Result]) -> None:
    for wrong in ("0", "-1", "2.5", "none"):
        said = run("fit", *study.to_fit, "--max-thresholds", wrong, code=2).stderr
        assert f"{wrong!r} is not a whole number of at least 1, auto or all." in said


@pytest.fixture
def press_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str, int], None]:
    """Interrupts the call of a method that has this number."""

    def arrange(owner: type, method: str, number: int) -> None:
        original, calls = getattr(owner, method), iter(range(1, 10**6))

        def interrupted(*given: Any, **more: Any) -> Any:
            if next(calls) == number:
                raise KeyboardInterrupt
            return original(*given, **more)

        monkeypatch.setattr(owner, method, interrupted)

    monkeypatch.setattr(progress, "_SOON", 0.0)
    return arrange


@pytest.mark.filterwarnings("ignore:The search ended")  # as the command line does
def test_interrupted_it_keeps_the_best_so_far_and_says_so(
    study: Study, run: Callable[..., Result], press_ctrl_c: Callable[[type, str, int], None]
) -> None:
    press_ctrl_c(TreeOracle, "_answer", 3)
    out = study.folder / "m.skops"
    result = run("fit", *study.to_fit, "--gamma", "0", "--tol", "1e-9", "--out", out)
    assert "The search ended because it was interrupted" in result.stdout
    assert f"Model kept in {out}" in result.stdout
    assert "Held-out error not measured: the search was interrupted." in result.stderr
    assert PairwiseFairClassifier.load(out).certificate_.stopped == "interrupted"


@pytest.mark.parametrize("again", [False, True], ids=["before there is a model", "twice"])
def test_interrupted_too_early_or_twice_it_keeps_nothing(
    study: Study, run: Callable[..., Result], press_ctrl_c: Callable[[type, str, int], None], again: bool
) -> None:
    press_ctrl_c(TreeOracle, "_answer", 3 if again else 1)
    if again:
        press_ctrl_c(Pool, "rebuilt", 1)
    out = study.folder / "m.skops"
    result = run("fit", *study.to_fit, "--gamma", "0", "--tol", "1e-9", "--out", out, code=130)
    assert result.stderr.splitlines()[-1] == "fairwise: interrupted"
    assert not out.exists()


def test_while_it_measures_held_out_parts_it_is_interrupted_as_usual(
    study: Study, run: Callable[..., Result], press_ctrl_c: Callable[[type, str, int], None]
) -> None:
    press_ctrl_c(TreeOracle, "_answer", 25)  # the fit itself has asked less often
    out = study.folder / "m.skops"
    run("fit", *study.to_fit, "--out", out, code=130)
    assert PairwiseFairClassifier.load(out).certificate_.stopped == "gap"


def test_the_choices_are_those_of_the_learner() -> None:
    assert get_args(Estimator) == settings.ESTIMATORS
    assert get_args(Solver) == settings.SOLVERS
    assert get_args(Weighting) == settings.WEIGHTINGS


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--gamma", "2"], "number from 0 to 1"),
        (["--eta", "much"], "number from 0 to 1"),
        (["--estimator", "forest"], "forest"),
        (["--max-depth", "9"], "--max-depth"),
        (["--group-constraint", "x:1:town"], "dp, tpr, fpr, eo, error"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage(study: Study, run: Callable[..., Result], options: list[str], part: str) -> None:
    assert part in run("fit", *study.to_fit, *options, code=2).stderr


def test_a_tolerance_that_no_fit_can_use(study: Study, run: Callable[..., Result]) -> None:
    assert "tol=0.0 is not allowed" in run("fit", *study.to_fit, "--tol", "0", code=1).stderr


@pytest.mark.parametrize(
    ("out", "part"),
    [("none/m.skops", "there is no such folder"), ("m.txt", "must end in .skops"), ("d.skops", "is a folder")],
)
def test_where_it_cannot_write_is_told_before_the_work(
    study: Study, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, out: str, part: str
) -> None:
    (study.folder / "d.skops").mkdir()
    monkeypatch.setattr(PairwiseFairClassifier, "fit", lambda *_, **__: pytest.fail("the work began"))
    assert part in run("fit", *study.to_fit, "--out", study.folder / out, code=1).stderr


def test_parquet_is_as_good_as_csv(study: Study, answer: Callable[..., dict[str, Any]]) -> None:
    expected = answer("fit", *study.to_fit, *FAST)
    people, judgments = study.folder / "p.parquet", study.folder / "j.parquet"
    study.people_frame().to_parquet(people)
    study.judgments_frame().to_parquet(judgments)
    swap = {str(study.people): str(people), str(study.judgments): str(judgments)}
    assert answer("fit", *(swap.get(word, word) for word in study.to_fit), *FAST) == expected


def test_missing_cells_are_no_obstacle(study: Study, run: Callable[..., Result]) -> None:
    frame = study.people_frame().astype({"age": "Int64"})
    frame.loc[[1, 5], "age"] = pd.NA
    frame.loc[[2, 6], "town"] = None
    frame.to_csv(study.people, index=False)
    assert "Proven lower bound" in run("fit", *study.to_fit, *FAST).stdout


def test_at_most_so_many_classifiers(study: Study, answer: Callable[..., dict[str, Any]]) -> None:
    few = answer("fit", *study.to_fit, "--max-classifiers", "1", *FAST)
    assert few["classifiers"] == 1
    assert few["certificate"]["max_classifiers"] == 1
    assert few["certificate"]["error"] == pytest.approx(in_python(study, max_classifiers=1).certificate_.error)


def test_a_model_without_chance_says_what_that_breaks(study: Study, run: Callable[..., Result]) -> None:
    out = study.folder / "certain.skops"
    said = run("fit", *study.to_fit, "--deterministic", "--splits", "1", "--out", out).stdout
    expected = in_python(study).derandomize()
    assert str(expected.derandomization_) in said
    assert "Held out by pair" in said
    certain = PairwiseFairClassifier.load(out)
    people = study.people_frame().set_index("person").drop(columns="returned")
    np.testing.assert_array_equal(certain.predict_proba(people), expected.predict_proba(people))


@pytest.fixture
def tiers(study: Study) -> Study:
    """The same people with three outcomes, and a file of how good each is."""
    frame = study.people_frame()
    frame["returned"] = pd.cut(frame["age"], [0, 30, 45, 99], labels=["deny", "conditions", "release"])
    frame.to_csv(study.people, index=False)
    (study.folder / "values.csv").write_text("label,value\ndeny,0\nconditions,0.6\nrelease,1\n")
    return study


def test_outcomes_may_be_more_than_two(tiers: Study, run: Callable[..., Result]) -> None:
    values, out, scores = (tiers.folder / name for name in ("values.csv", "model.skops", "scores.csv"))
    asked = [*tiers.files, "--estimator", "tree", "--max-depth", "1", "--label-values", values]
    said = run("fit", *asked, "--splits", "2", "--out", out).stdout
    assert "Proven lower bound" in said
    assert "Held out by pair" in said
    said = run("predict", "--model", out, *tiers.who, "--out", scores).stdout
    assert "how well each is treated" in said
    table = pd.read_csv(scores)
    chances = table[["probability conditions", "probability deny", "probability release"]]
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.allclose(chances.to_numpy() @ [0.6, 0.0, 1.0], table["score"])
    model = PairwiseFairClassifier.load(out)
    assert model.label_values == {"deny": 0, "conditions": 0.6, "release": 1}
    assert np.array_equal(
        table["label"], model.predict(tiers.people_frame().set_index("person")[["age", "score", "town"]])
    )


def test_a_file_of_values_is_checked(tiers: Study, run: Callable[..., Result]) -> None:
    values = tiers.folder / "values.csv"
    asked = [*tiers.files, "--estimator", "tree", "--label-values", values]
    said = run("fit", *tiers.files, "--estimator", "tree", "--favorable-label", "release", code=1).stderr
    assert "3 different values" in said
    assert "--label-values" in said
    for text, told in (
        ("label,value\ndeny,low\n", "line 2: value 'low' is no number"),
        ("decision,value\ndeny,0\n", "line 2: the columns are label and value"),
        ("label,value\ndeny,0\nrelease,1\n", "does not say how good the outcome 'conditions' is"),
        ("", "no label is there; the columns are label and value"),
        ("label,value\ndeny,0\nrelease,1\ndeny,0.5\n", "line 4: 'deny' is there twice"),
        ("label,value\ndeny,0\nconditions,2\nrelease,1\n", "from 0 to 1 and not all alike"),
    ):
        values.write_text(text)
        assert told in run("fit", *asked, code=1).stderr
    values.unlink()
    assert "cannot be read" in run("fit", *asked, code=1).stderr
