"""How many judges: the formula, and simulated studies that agree with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fairwise.auditing import judge_correlation, plan
from fairwise.auditing.plan import PLANNING_MODEL, Cost, _seed, design_effect, simulate_answers, simulate_study
from fairwise.errors import InputError
from fairwise.judgments import krippendorff_alpha, repeat_consistency
from fairwise.learning.estimator import PairwiseFairClassifier
from fairwise.study.folder import OUTCOME
from fairwise.study.new_study import new_study
from fairwise.tables.files import PeopleFile

if TYPE_CHECKING:
    from fairwise.study.folder import StudyFolder


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5, 1.0])
def test_simulated_studies_agree_with_the_formula(correlation: float) -> None:
    table = plan([40, 160], [10, 50], correlation=correlation, n_simulations=2000)
    assert table["simulated_half_width"].to_numpy() == pytest.approx(table["half_width"].to_numpy(), rel=0.1)


def test_the_design_effect() -> None:
    assert design_effect(50, 0) == 1
    assert design_effect(50, 1) == 50
    line = plan(20, 50, correlation=0.2, n_simulations=0).iloc[0]
    assert line["answers"] == 1000
    assert line["independent_answers"] == pytest.approx(1000 / 10.8)
    assert np.isnan(line["simulated_half_width"])


def test_the_judges_needed_are_just_enough() -> None:
    needed = int(plan(pairs=25, wanted=0.04, n_simulations=0)["judges"].iloc[0])
    table = plan([needed - 1, needed], 25, wanted=0.04, n_simulations=0)
    assert table["enough"].tolist() == [False, True]
    assert table["half_width"].iloc[1] <= 0.04 < table["half_width"].iloc[0]
    assert table["judges_needed"].tolist() == [needed, needed]


def test_more_pairs_help_less_and_less() -> None:
    table = plan(pairs=[1, 10, 100, 1000], correlation=0.1, n_simulations=0)
    assert table["judges"].is_monotonic_decreasing
    assert table["judges"].iloc[-1] > 0.1 * table["judges"].iloc[0] - 1  # rho of the judges remain needed


def test_the_guarantee_counts_judges_only() -> None:
    table = plan(43, [1, 50], n_simulations=0)
    assert table["guaranteed_half_width"].iloc[0] == table["guaranteed_half_width"].iloc[1]
    assert (table["guaranteed_half_width"] > table["half_width"]).all()


def test_a_study_of_ones_own_is_simulated() -> None:
    table = plan(
        10, 5, simulate=lambda judges, pairs, rng: float(rng.random() * judges * pairs / 50), n_simulations=4000
    )
    assert table["simulated_half_width"].iloc[0] == pytest.approx(0.475, abs=0.02)


def test_correlation_is_recovered_from_a_pilot_study() -> None:
    rng = np.random.default_rng(0)
    rates = rng.beta(0.25 * 4, 0.75 * 4, 400)  # correlation 1 / (1 + 4)
    judge = np.repeat(np.arange(400), 20)
    pilot = pd.DataFrame({"judge": judge, "excess": (rng.random(8000) < rates[judge]).astype(float)})
    assert judge_correlation(pilot) == pytest.approx(0.2, abs=0.04)
    alike = pilot.assign(excess=pilot["judge"] / 400)
    assert judge_correlation(alike) == pytest.approx(1.0)
    assert judge_correlation(pilot.assign(excess=0.0)) == 0.0
    unlike = pilot.assign(excess=np.tile([0.0, 1.0], 4000))
    assert judge_correlation(unlike) == 0.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"judges": 0}, "judges=0 is not allowed: it must be a whole number of at least 1"),
        ({"pairs": [10, 2.5]}, "pairs=2.5"),
        ({"wanted": 0}, "wanted=0"),
        ({"rate": 1}, "rate=1"),
        ({"correlation": 1.1}, "correlation=1.1"),
        ({"confidence": 95}, "confidence=95"),
        ({"n_simulations": -1}, "n_simulations=-1"),
    ],
)
def test_refusals(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**changed)


def test_one_judge_has_no_correlation() -> None:
    with pytest.raises(InputError, match="at least two judges"):
        judge_correlation(pd.DataFrame({"judge": [1, 1], "excess": [0.1, 0.2]}))


MIXED = {"anchors": 6, "repeats": 3, "checks": 0}


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., StudyFolder]:
    rng = np.random.default_rng(1)
    n = 300
    table = pd.DataFrame(
        {
            "person": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 70, n),
            "priors": rng.poisson(2, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    table["again"] = (table["priors"] - table["age"] / 20 + rng.normal(0, 1.5, n) > 0).astype(int)
    source = tmp_path_factory.mktemp("people") / "people.csv"
    table.to_csv(source, index=False)

    def study(**choices: Any) -> StudyFolder:
        folder = tmp_path_factory.mktemp("studies") / "study"
        people = PeopleFile.read(source, "person")
        return new_study(folder, people, ["age", "priors", "sex"], {"pairs": 14, **choices}, outcome="again")

    return study


@pytest.fixture(scope="module")
def mixed(make: Callable[..., StudyFolder]) -> StudyFolder:
    return make(design=MIXED, seed=5)


def test_everyone_is_shown_the_pairs_of_the_study(mixed: StudyFolder) -> None:
    frame = simulate_answers(mixed, mixed.people(), 7, seed=2).frame
    for number, (_, rows) in enumerate(frame.groupby("judge", sort=True)):
        expected = [(pair.a, pair.b, pair.design) for pair in mixed.schedule(number + 1, number)]
        assert list(rows[["a", "b", "design"]].itertuples(index=False, name=None)) == expected
    assert frame["judge"].str.startswith("simulated-").all()
    assert frame["judge"].nunique() == 7


def test_only_the_answers_that_the_study_offers(make: Callable[..., StudyFolder]) -> None:
    two, four = make(answers="two"), make(answers="four")
    assert not simulate_answers(two, two.people(), 10).has_ordered
    assert simulate_answers(four, four.people(), 10).has_ordered


def test_the_same_seed_gives_the_same_answers(mixed: StudyFolder) -> None:
    people = mixed.people()
    first, again, other = (simulate_answers(mixed, people, 6, seed=seed).frame for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert (first["answer"] != other["answer"]).any()
    pd.testing.assert_frame_equal(first.drop(columns="answer"), other.drop(columns="answer"))


def test_numbers_are_averages_of_what_single_studies_show(mixed: StudyFolder) -> None:
    people = mixed.people()
    [row] = simulate_study(mixed, people, [9], n_studies=3, confidence=0.9, seed=4).panels.to_dict("records")
    played = [simulate_answers(mixed, people, 9, seed=_seed(4, repetition)) for repetition in range(3)]
    alphas = [krippendorff_alpha(said, confidence=0.9) for said in played]
    again = [repeat_consistency(said, confidence=0.9).overall for said in played]
    assert row["shared_pairs"] == 6
    assert row["alpha"] == pytest.approx(np.mean([alpha.alpha for alpha in alphas]))
    assert row["alpha_low"] == pytest.approx(np.mean([alpha.low for alpha in alphas]))
    assert row["half_width"] == pytest.approx(np.mean([(alpha.high - alpha.low) / 2 for alpha in alphas]))
    assert row["same_again"] == pytest.approx(np.mean([share.share for share in again]))
    assert (row["repeated"], row["answers"], row["measured"]) == (27, 126, 3)
    assert len({alpha.alpha for alpha in alphas}) == 3  # other people each time


def test_more_judges_know_agreement_better(mixed: StudyFolder) -> None:
    widths = simulate_study(mixed, mixed.people(), [10, 40], n_studies=4).panels["half_width"]
    assert widths[1] < 0.7 * widths[0]


def test_without_shared_pairs_there_is_no_agreement(make: Callable[..., StudyFolder]) -> None:
    study = make(pairs=5)
    [row] = simulate_study(study, study.people(), [5], n_studies=2).panels.to_dict("records")
    assert (row["shared_pairs"], row["measured"], row["repeated"]) == (0, 0, 0)
    assert np.isnan([row["alpha"], row["half_width"], row["same_again"], row["error"]]).all()


def test_outcomes_are_left_alone_unless_asked_for(make: Callable[..., StudyFolder]) -> None:
    study = make(design=MIXED)
    (study.path / OUTCOME).unlink()
    found = simulate_study(study, study.people(), [4], n_studies=1)
    assert found.n_fits == 0
    assert np.isnan(found.error_without_judgments)


def test_cost_is_that_of_fits_to_the_first_studies(mixed: StudyFolder) -> None:
    people, outcome = mixed.people(), mixed.outcome()
    cost = Cost(outcome, gamma=0.2, eta=0.01, favorable_label=0, n_fits=2)
    found = simulate_study(mixed, people, [5, 8], cost=cost, n_studies=3, seed=6)
    for row in found.panels.to_dict("records"):
        errors = [
            PairwiseFairClassifier(**PLANNING_MODEL, gamma=0.2, eta=0.01, favorable_label=0)
            .fit(people, outcome, judgments=simulate_answers(mixed, people, row["judges"], seed=_seed(6, repetition)))
            .certificate_.error
            for repetition in range(2)
        ]
        assert row["error"] == pytest.approx(np.mean(errors))
        assert (row["error_lowest"], row["error_highest"]) == (min(errors), max(errors))
        assert row["error_lowest"] > found.error_without_judgments
    assert found.error_of_one_label == pytest.approx(min(outcome.mean(), 1 - outcome.mean()))


def test_what_asks_for_nothing_costs_nothing(mixed: StudyFolder) -> None:
    cost = Cost(mixed.outcome(), gamma=1.0, favorable_label=0, n_fits=9)
    found = simulate_study(mixed, mixed.people(), [4], cost=cost, n_studies=2)
    assert found.n_fits == 2
    assert found.panels["error"].item() == pytest.approx(found.error_without_judgments)


def test_progress_is_told(mixed: StudyFolder) -> None:
    told: list[tuple[str, int, int]] = []
    cost = Cost(mixed.outcome(), favorable_label=0, n_fits=1)
    simulate_study(mixed, mixed.people(), [2, 3], cost=cost, n_studies=2, progress=lambda *step: told.append(step))
    assert [(done, total) for _, done, total in told] == [(1, 4), (2, 4), (3, 4), (4, 4), (1, 2), (2, 2)]


def test_pairs_that_nobody_knows_beforehand_are_not_passed_over(mixed: StudyFolder) -> None:
    more = replace(mixed, settings=mixed.settings.model_copy(update={"pairs": 20}))
    with pytest.raises(InputError, match="only 14 of the 20 pairs"):
        simulate_answers(more, mixed.people(), 3)


@pytest.mark.parametrize("asked", [{"judges": [0]}, {"n_studies": 0}])
def test_refused(mixed: StudyFolder, asked: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not allowed"):
        simulate_study(mixed, mixed.people(), **{"judges": [3], "n_studies": 1, **asked})
